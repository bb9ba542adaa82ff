"""What an error is, what it says, where it says it happened, and that it says it briefly."""

from __future__ import annotations

import pickle
from collections import OrderedDict, defaultdict, deque
from typing import Any

import numpy as np
import pytest
from classes import Bag, Box, Color, Pair, Point, Sample, Tagged
from helpers import notes, registered

import clika_pytree as cp

FAMILY = {
    "PyTreeError": (Exception,),
    "PyTreeValueError": (cp.PyTreeError, ValueError),
    "PyTreeTypeError": (cp.PyTreeError, TypeError),
    "StructureError": (cp.PyTreeValueError,),
    "LeafCountError": (cp.StructureError,),
    "CircularTreeError": (cp.PyTreeValueError,),
    "KeyOrderError": (cp.PyTreeValueError,),
    "RegistrationError": (cp.PyTreeValueError,),
    "NodeError": (cp.PyTreeTypeError,),
    "ContextError": (cp.PyTreeTypeError,),
}


@pytest.mark.parametrize("name", FAMILY)
def test_the_family(name):
    error = getattr(cp, name)
    assert getattr(cp.pytree, name) is error
    assert error.__name__ == name
    for base in FAMILY[name]:
        assert issubclass(error, base)
    assert error("text").args == ("text",)
    assert str(error("text")) == "text"
    assert error("text").path is None


def mismatch(first: Any, second: Any, **options: Any) -> cp.StructureError:
    with pytest.raises(cp.StructureError) as caught:
        cp.tree_map(lambda *leaves: None, first, second, **options)
    return caught.value


def test_an_error_travels_with_its_path():
    error = mismatch({"a": [1]}, {"a": (1,)})
    loaded = pickle.loads(pickle.dumps(error))
    assert type(loaded) is type(error)
    assert str(loaded) == str(error)
    assert loaded.path == error.path == "['a']"


# --- paths ------------------------------------------------------------------------------------------------------------


class Odd:
    """Entries of all sorts."""

    entries: tuple = ("name", "not a name", 3, None, (1, "x"), b"b", 1.5)

    def __init__(self, *items: Any) -> None:
        self.items = items or (0,) * len(self.entries)


def test_paths_are_written_like_the_expression_that_reaches_the_place():
    tree = {
        "a": [0, (0,)],
        7: Point(0, Pair(0, 0)),
        "it's": deque([Sample(0, 0, "s")]),
        ("t", 1): Tagged(0, OrderedDict(k=0), "t"),
        None: defaultdict(int, {b"b": Bag({"x": 0, "not a name": 0})}),
    }
    expected = [
        "['a'][0]",
        "['a'][1][0]",
        "[7].x",
        "[7].y[<flat index 0>]",
        "[7].y[<flat index 1>]",
        '["it\'s"][0].weight',
        '["it\'s"][0].bias',
        "[('t', 1)].right['k']",
        "[('t', 1)].left",
        "[None][b'b'].x",
        "[None][b'b']['not a name']",
    ]
    assert cp.tree_structure(tree).num_leaves == len(expected)
    for index, path in enumerate(expected):
        second = cp.tree_structure(tree).unflatten([[0] if i == index else 0 for i in range(len(expected))])
        error = mismatch(tree, second)
        assert error.path == path
        assert path in str(error)


def test_entries_of_custom_nodes_in_paths():
    with registered(Odd, lambda odd: (odd.items, None, odd.entries), lambda children, _: Odd(*children)):
        others = [Odd(*([0] * index), [0], *([0] * (6 - index))) for index in range(len(Odd.entries))]
        paths = [mismatch(Odd(), other).path for other in others]
    assert paths == [".name", "['not a name']", "[3]", "[None]", "[(1, 'x')]", "[b'b']", "[1.5]"]


def test_keys_that_are_no_plain_values_are_written_with_their_type():
    for key, text in [
        (Color.RED, f"[<Color {Color.RED!r}>]"),
        ((Color.RED, 1), f"[<tuple {(Color.RED, 1)!r}>]"),
        (frozenset({1}), "[<frozenset frozenset({1})>]"),
        (Point(1, 2), "[<Point Point(x=1, y=2)>]"),
        (Ellipsis, "[<ellipsis Ellipsis>]"),
    ]:
        assert mismatch({key: 0}, {key: [0]}).path == text


def test_the_root_is_an_empty_path():
    assert mismatch([1], (1,)).path == ""
    with pytest.raises(cp.LeafCountError) as caught:
        cp.tree_structure([0]).unflatten([])
    assert caught.value.path in ("", None)


def test_a_long_path_is_whole_in_the_attribute_and_cut_in_the_message():
    first: Any = {"w": 0}
    second: Any = {"w": [0]}
    for i in reversed(range(100)):
        first, second = {f"key{i}": first}, {f"key{i}": second}
    error = mismatch(first, second)
    assert error.path == "".join(f"['key{i}']" for i in range(100)) + "['w']"
    message = str(error)
    assert len(message) < 1000
    for key in ("key0", "key3", "key98", "key99", "'w'"):
        assert key in message
    assert "key50" not in message
    with pytest.raises(LookupError) as caught:
        cp.tree_map(lambda leaf: {}["missing"], first)
    assert "key3" in notes(caught.value)
    assert "key50" not in notes(caught.value)
    assert "'w'" in notes(caught.value)


# --- what a mismatch says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([1], (1,), ["list", "tuple"]),
        ([1, 2], [1], ["2", "1"]),
        ({"a": 1}, {"b": 1}, ["'a'", "'b'"]),
        ({"a": 1, "b": 1}, {"a": 1}, ["'b'"]),
        ({"a": 1}, {"a": 1, "extra": 2}, ["'extra'"]),
        ({"a": 1, "b": 2}, {"b": 1, "a": 2}, ["order"]),
        ({"a": 1}, OrderedDict(a=1), ["dict", "OrderedDict"]),
        (defaultdict(int), defaultdict(list), ["int", "list"]),
        (deque(maxlen=3), deque(maxlen=4), ["maxlen", "3", "4"]),
        (Point(1, 2), (1, 2), ["Point", "tuple"]),
        (Tagged(1, 2, "red"), Tagged(1, 2, "blue"), ["Tagged", "'red'", "'blue'"]),
        (Sample(1, 2, "red"), Sample(1, 2, "blue"), ["Sample", "'red'", "'blue'"]),
        (1, [1], ["leaf", "list"]),
        ([1], 1, ["list"]),
        ({1: 0}, {True: 0}, ["1", "True"]),
    ],
)
def test_a_mismatch_names_what_stands_on_both_sides(first, second, words):
    tree, other = {"model": [0, {"layer": first}]}, {"model": [0, {"layer": second}]}
    error = mismatch(tree, other)
    assert error.path == "['model'][1]['layer']"
    for word in ["['model'][1]['layer']", *words]:
        assert word in str(error), word
    if second == 1 or first == 1:
        return
    with pytest.raises(cp.StructureError) as caught:
        cp.tree_structure(tree).flatten_up_to(other)
    assert caught.value.path == "['model'][1]['layer']"
    for word in ["['model'][1]['layer']", *words]:
        assert word in str(caught.value), word


def test_the_same_keys_in_another_order_are_said_as_such():
    message = str(mismatch({"a": 1, "b": 2, "c": 3}, {"c": 1, "a": 2, "b": 3}))
    assert "same keys" in message
    assert "order" in message


class Huge:
    """Its text is long, and making it is work that no error should cause more than a few times."""

    printed = 0

    def __repr__(self) -> str:
        Huge.printed += 1
        return "x" * 1_000_000


@pytest.mark.parametrize(
    "place",
    [
        lambda end: [*range(50), end],
        lambda end: {"k" * 10_000: end},
        lambda end: {f"key{i}": end if i == 999 else i for i in range(1000)},
        lambda end: {(1,) * 10_000: end},
        lambda end: Bag({"a": end}),
        lambda end: Tagged(1, end, "t" * 100_000),
        lambda end: Tagged(1, end, ("t" * 1000, list(range(10_000)))),
    ],
)
def test_messages_are_short_whatever_the_tree_holds(place):
    def tree(end: Any) -> Any:
        return {"model": place({"layers": [Huge(), {"w": end}]})}

    array = np.zeros(25_000_000, np.float32)  # 100 MB
    Huge.printed = 0
    for first, second in [
        ([array, Huge()], (array, Huge())),
        ([array], [array, array]),
        ({"a": Huge()}, {"b": Huge()}),
    ]:
        error = mismatch(tree(first), tree(second))
        assert len(str(error)) < 1000
        assert "['w']" in str(error)
        assert error.path.endswith("['layers'][1]['w']")
        with pytest.raises(cp.StructureError) as caught:
            cp.tree_structure(tree(first)).flatten_up_to(tree(second))
        assert len(str(caught.value)) < 1000
    assert Huge.printed < 10


def test_large_keys_contexts_and_factories_are_cut():
    for first, second in [
        ({"a" * 100_000: 1}, {"b" * 100_000: 1}),
        ({f"a{i}": 1 for i in range(10_000)}, {f"b{i}": 1 for i in range(10_000)}),
        (Tagged(1, 2, "x" * 100_000), Tagged(1, 2, "y" * 100_000)),
        (Tagged(1, 2, Huge()), Tagged(1, 2, Huge())),
        (dict.fromkeys([Huge() for _ in range(30)]), dict.fromkeys([Huge() for _ in range(30)])),
    ]:
        assert len(str(mismatch([first], [second]))) < 1000


def test_a_repr_that_fails_does_not_hide_the_error():
    class Unprintable:
        def __repr__(self) -> str:
            raise RuntimeError("no text today")

    assert mismatch([{Unprintable(): 1}], [{Unprintable(): 1}]).path == "[0]"
    assert mismatch([Tagged(1, 2, Unprintable())], [Tagged(1, 2, Unprintable())]).path == "[0]"
    assert mismatch([1, Unprintable()], [1, [Unprintable()]]).path == "[1]"


def test_two_trees_that_differ_four_levels_down():
    def tree(bottom: Any) -> Any:
        return {"encoder": [{"attention": (1, 2, {"w": 1, "b": bottom})} for _ in range(40)]}

    first, second = tree(1), tree(1)
    second["encoder"][37]["attention"][2]["b"] = [1, 2]
    error = mismatch(first, second)
    assert error.path == "['encoder'][37]['attention'][2]['b']"
    assert "['encoder'][37]['attention'][2]['b']" in str(error)
    assert "list" in str(error)
    assert "leaf" in str(error)


# --- exceptions of user code ------------------------------------------------------------------------------------------


class Node:
    def __init__(self, *items: Any) -> None:
        self.items = items


def fails(*args: Any) -> Any:
    raise LookupError("mine")


READERS = [cp.tree_flatten, cp.tree_leaves, cp.tree_structure, lambda tree: list(cp.tree_iter(tree)), cp.tree_sum]


@pytest.mark.parametrize(
    "reader", [*READERS, lambda tree: cp.tree_map(str, tree), lambda tree: cp.tree_map_(str, tree)]
)
def test_an_exception_in_a_flatten_function_is_located(reader):
    with (
        registered(Node, fails, lambda children, _: Node(*children)),
        pytest.raises(LookupError, match=r"^mine") as caught,
    ):
        reader({"model": [1, Node(2)]})
    assert type(caught.value) is LookupError
    assert "['model'][1]" in notes(caught.value)
    assert "Node" in notes(caught.value)


def test_an_exception_while_children_are_read_is_located():
    def children() -> Any:
        yield 1
        raise LookupError("mine")

    with (
        registered(Node, lambda node: (children(), None), lambda children, _: Node(*children)),
        pytest.raises(LookupError) as caught,
    ):
        cp.tree_leaves({"model": [1, Node(2)]})
    assert "['model'][1]" in notes(caught.value)
    assert "Node" in notes(caught.value)


def test_an_exception_in_an_unflatten_function_is_located():
    with registered(Node, lambda node: (node.items, None), fails):
        spec = cp.tree_structure({"model": [1, Node(2)]})
        rebuilders = [
            lambda: spec.unflatten([1, 2]),
            lambda: cp.tree_unflatten(spec, [1, 2]),
            lambda: cp.tree_map(str, {"model": [1, Node(2)]}),
            lambda: cp.tree_map(lambda x, y: x, {"model": [1, Node(2)]}, {"model": [1, Node(2)]}),
        ]
        for rebuild in rebuilders:
            with pytest.raises(LookupError) as caught:
                rebuild()
            assert type(caught.value) is LookupError
            assert "['model'][1]" in notes(caught.value)
            assert "Node" in notes(caught.value)


@pytest.mark.parametrize("reader", [cp.tree_flatten, cp.tree_leaves, cp.tree_structure, cp.tree_iter, cp.tree_sum])
def test_an_exception_in_is_leaf_is_located(reader):
    with pytest.raises(LookupError) as caught:
        list(reader({"model": [1, 2]}, is_leaf=lambda x: x == 2 and fails()))
    assert "['model'][1]" in notes(caught.value)


def test_an_exception_in_the_mapped_function_or_the_filter_is_located():
    tree = {"layers": [1, {"w": 3}]}
    calls = [
        lambda fn: cp.tree_map(fn, tree),
        lambda fn: cp.tree_map(lambda x, y: fn(x), tree, tree),
        lambda fn: cp.tree_map_(fn, tree),
        lambda fn: cp.tree_map_only(int, fn, tree),
        lambda fn: cp.tree_map_only_(int, fn, tree),
        lambda fn: cp.tree_map_only(fn, str, tree),
    ]
    for call in calls:
        with pytest.raises(LookupError) as caught:
            call(lambda x: x == 3 and fails())
        assert type(caught.value) is LookupError
        assert "['layers'][1]['w']" in notes(caught.value)
        assert "clika_pytree" in notes(caught.value)


def test_nested_calls_add_a_note_each():
    def inner(leaf: Any) -> Any:
        return cp.tree_map(fails, {"inner": leaf})

    with pytest.raises(LookupError) as caught:
        cp.tree_map(inner, {"outer": 1})
    assert "['inner']" in notes(caught.value)
    assert "['outer']" in notes(caught.value)


# --- what a flatten function may return -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "returned",
    [None, 3, "ab", (), ([1],), ([1], None, ("a",), 4), (3, None), (None, None), ([1], None, 5)],
    ids=repr,
)
def test_a_flatten_function_must_return_children_context_and_maybe_entries(returned):
    with registered(Node, lambda node: returned, lambda children, _: Node(*children)):
        for reader in READERS:
            with pytest.raises(TypeError, match="Node") as caught:
                reader({"model": [1, Node(2)]})
            assert isinstance(caught.value, cp.NodeError)
            assert caught.value.path == "['model'][1]"
            assert "['model'][1]" in str(caught.value)


@pytest.mark.parametrize("entries", [(), ("a",), ("a", "b", "c")], ids=len)
def test_a_wrong_number_of_entries_is_an_error_at_flatten(entries):
    with registered(Node, lambda node: (node.items, None, entries), lambda children, _: Node(*children)):
        for reader in READERS:
            with pytest.raises(cp.StructureError, match="Node") as caught:
                reader({"model": [1, Node(2, 3)]})
            assert caught.value.path == "['model'][1]"
            assert "2" in str(caught.value)
            assert str(len(entries)) in str(caught.value)


def test_specs_that_read_none_differently_do_not_mix():
    first, second = cp.tree_structure([1]), cp.tree_structure([1], none_is_leaf=False)
    for operation in (first.compose, first.is_prefix):
        with pytest.raises(ValueError, match="none_is_leaf") as caught:
            operation(second)
        assert isinstance(caught.value, cp.StructureError)
        assert "True" in str(caught.value)
        assert "False" in str(caught.value)
    for operation in (first.compose, first.is_prefix):
        with pytest.raises(TypeError):
            operation([1])


def test_a_box_is_not_needed_to_see_where():
    error = mismatch({"a": Box([1, 2])}, {"a": Box([1])})
    assert error.path == "['a'][<flat index 0>]"
