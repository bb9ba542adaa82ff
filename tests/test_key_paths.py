"""Key paths as text, read back from it, and followed into a tree."""

from __future__ import annotations

import math
import unicodedata
from collections import defaultdict
from typing import Any

import pytest
import reference
from classes import ALPHA, AlphaOnly, Bag, Box, Color, Config, Nothing, Pair, Point, Sample, Switch, every_kind
from deep import WRAP, Chain
from helpers import SMALL_STACK, read, reading, registered, run_in_thread, run_python
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import numbers, plain_values, trees, whole_modes

import clika_pytree as cp
from clika_pytree import DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey

NAN = float("nan")

exact = st.one_of(
    plain_values.filter(lambda value: not isinstance(value, Color)),
    st.integers(),
    st.floats(),
    st.complex_numbers(allow_nan=True, allow_infinity=True),
    st.text(),
    st.binary(),
    st.sampled_from(
        [-0.0, NAN, math.inf, -math.inf, 1e16, 1e-5, 5e-324, -0j, complex(-0.0, 1), complex(NAN, -math.inf)]
    ),
)
plain = st.recursive(exact, lambda below: st.lists(below, max_size=3).map(tuple), max_leaves=6)


# --- texts ------------------------------------------------------------------------------------------------------------


def test_keystr_and_its_simple_form() -> None:
    path = (MappingKey("a"), SequenceKey(0), GetAttrKey("x"), DataclassKey("y"), FlattenedIndexKey(2))
    assert cp.keystr(path) == "['a'][0].x.y[<flat index 2>]"
    assert cp.keystr(path, separator="/") == "['a']/[0]/.x/.y/[<flat index 2>]"
    assert cp.keystr(path, simple=True) == "a0xy2"
    assert cp.keystr(path, simple=True, separator="/") == "a/0/x/y/2"
    assert cp.keystr(list(path)) == cp.keystr(iter(path)) == cp.keystr(path)
    assert cp.keystr(()) == cp.keystr((), simple=True, separator="/") == ""
    with pytest.raises(TypeError):
        cp.keystr(path, True)  # type: ignore[misc]


AWKWARD = ["", "[", "]", "['a']", ".", "x.y", "it's", '"', 'it\'s "so"', "a\nb", "\t", "\\", "\\n", "a'b\\n", "😀", "é"]
AWKWARD += ["\0", "\ud800", "\x7f", "\u2028", "__metadata__", "<flat index 0>", "None", "0", " ", "', '", "b'k'"]


@pytest.mark.parametrize("key", AWKWARD, ids=ascii)
def test_awkward_names_are_read_back(key: str) -> None:
    leaf = object()
    for tree in ({key: leaf}, {key: {key: [leaf]}}, Bag({key: leaf}), {(key, (key,)): leaf}):
        ((path, _),) = cp.tree_leaves_with_path(tree)
        text = cp.keystr(path)
        assert cp.keystr(cp.parse_keystr(text)) == text
        assert cp.key_get(tree, cp.parse_keystr(text)) is leaf
        assert text.isprintable() or not key.isprintable()


def test_texts_do_not_depend_on_the_version_of_python() -> None:
    """Which characters `repr` escapes does: a key written by one process is read by another."""
    known = unicodedata.ucd_3_2_0.category  # what every Python knows
    for start in range(0, 0x110000, 0x100):
        key = "".join(map(chr, range(start, start + 0x100)))
        text = cp.keystr((MappingKey(key),))
        assert cp.parse_keystr(text) == (MappingKey(key),)
        old = "".join(char for char in key if known(char) != "Cn")
        assert cp.keystr((MappingKey(old),)) == f"[{old!r}]"
    assert cp.keystr((MappingKey(("\U0001fae8", "\U000107ff")),)) == "[('\U0001fae8', '\U000107ff')]"


def test_a_tuple_nested_deeply_is_a_text() -> None:
    key: Any = "x"
    for _ in range(20_000):
        key = (key,)
    text = cp.keystr((MappingKey(key),))
    assert text == f"[{'(' * 20_000}'x'{',)' * 20_000}]"
    assert cp.parse_keystr(text) == (MappingKey(key),)


def test_a_dotted_name_and_a_nested_dict_are_told_apart() -> None:
    tree = {"x.y": 1, "x": {"y": 2}, "['x']['y']": 3}
    texts = [cp.keystr(path) for path, _ in cp.tree_leaves_with_path(tree)]
    assert texts == ["['x.y']", "['x']['y']", "[\"['x']['y']\"]"]
    assert [cp.key_get(tree, cp.parse_keystr(text)) for text in texts] == [1, 2, 3]


@given(st.lists(plain, max_size=3))
@example([NAN, -0.0, math.inf])
@example([(), ((),), (1,), (1, (2, 3)), ("a", b"b", None, True)])
@example([1j, -1j, complex(1, -2), complex(-0.0, 1), complex(NAN, math.inf), (1j, (2 + 3j,))])
@example([10**4000, -1, 1e300, 5e-324])
def test_plain_keys_are_read_back(values: list) -> None:
    path = tuple(MappingKey(value) for value in values)
    text = cp.keystr(path)
    parsed = cp.parse_keystr(text)
    assert cp.keystr(parsed) == text
    assert len(parsed) == len(path)
    for key, value in zip(parsed, values, strict=True):
        assert key == (SequenceKey(value) if type(value) is int else MappingKey(value)) or "nan" in str(key)


@given(plain, st.lists(plain, max_size=4))
def test_plain_keys_of_a_dict_lead_to_their_values(key: Any, others: list) -> None:
    tree = {other: object() for other in others}
    tree[key] = object()
    paths = cp.tree_structure(tree).key_paths()
    for path, leaf in cp.tree_leaves_with_path(tree):
        assert "nan" in cp.keystr(path) or cp.key_get(tree, path) is leaf
        if [cp.keystr(other) for other in paths].count(cp.keystr(path)) == 1:
            assert cp.key_get(tree, cp.parse_keystr(cp.keystr(path))) is leaf


@given(trees, whole_modes)
def test_every_path_leads_to_its_leaf(tree: Any, mode: reference.Mode) -> None:
    read(tree, mode)
    with reading(mode):
        pairs = cp.tree_leaves_with_path(tree, none_is_leaf=mode.none_is_leaf, namespace=mode.namespace)
        texts = [cp.keystr(path) for path, _ in pairs]
        assert len(set(texts)) == len(texts)
        for (path, leaf), text in zip(pairs, texts, strict=True):
            assert cp.key_get(tree, path, namespace=mode.namespace) is leaf
            if "[<Color" in text or "[<tuple" in text:
                with pytest.raises(cp.PyTreeValueError, match="parse_keystr"):
                    cp.parse_keystr(text)
                continue
            parsed = cp.parse_keystr(text)
            assert cp.keystr(parsed) == text
            assert cp.key_get(tree, parsed, namespace=mode.namespace) is leaf


@given(st.text(alphabet="[]().,'\"\\ <>0123e+-jnaifbTrueNox\n"))
@example("['a'")
@example("[(1)]")
@example("[" + "(" * 100_000)
@example("[" + "(" * 100_000 + "," * 100_000)
@example("[" + "((" * 20_000 + "),)" * 20_000 + "]")
@example("['" + "\\" * 9999 + "']")
@example("[0" + "1" * 9999 + "]")
def test_any_text_is_read_exactly_or_refused(text: str) -> None:
    try:
        path = cp.parse_keystr(text)
    except cp.PyTreeValueError as error:
        assert "from character" in str(error)
        assert len(str(error)) < 500
    else:
        assert cp.keystr(path) == text


REFUSED = {
    "a": (0, "starts with"),
    "p['a']": (0, "starts with"),
    "['a']x": (5, "starts with"),
    "['a'": (4, "not closed"),
    "['a]": (1, "no plain value"),
    "[a]": (1, "no plain value"),
    "[]": (1, "no plain value"),
    "[[1]]": (1, "no plain value"),
    "[{}]": (1, "no plain value"),
    "[1+1]": (2, "not closed"),
    "[ 1]": (1, "no plain value"),
    "[01]": (0, r"write \[1\]"),
    "[-0]": (0, r"write \[0\]"),
    "[1e3]": (0, r"write \[1000.0\]"),
    '["a"]': (0, r"write \['a'\]"),
    "[(1)]": (0, r"write \[\(1,\)\]"),
    "[(1,2)]": (3, "comma"),
    "[(1, 2]": (6, "comma"),
    "[1_0]": (2, "not closed"),
    "[0x10]": (2, "not closed"),
    "['\\d']": (1, "no plain value"),
    "['\\U00110000']": (1, "character"),
    "[b'\\u0100']": (1, "character"),
    "[r'a']": (1, "no plain value"),
    ".": (0, "name"),
    "..x": (0, "name"),
    ".a b": (0, "name"),
    ".0": (0, "name"),
    "['layers'].3": (10, "name"),
    "[<Color <Color.RED: 2>>]": (0, "object of some class"),
    "[<flat index x>]": (0, "object of some class"),
    "[<flat index 01>]": (0, r"write \[<flat index 1>\]"),
    "['a'] ": (5, "starts with"),
}


@pytest.mark.parametrize("text", REFUSED, ids=ascii)
def test_text_that_is_no_path(text: str) -> None:
    at, words = REFUSED[text]
    with pytest.raises(cp.PyTreeValueError, match=words) as caught:
        cp.parse_keystr(text)
    assert f"from character {at} on" in str(caught.value)


@pytest.mark.parametrize("value", [None, b"[0]", 0, (SequenceKey(0),)])
def test_only_text_is_parsed(value: Any) -> None:
    with pytest.raises(TypeError, match="expects a str"):
        cp.parse_keystr(value)


def test_parsing_works_in_a_fresh_interpreter() -> None:
    run_python(
        "import clika_pytree as cp; assert cp.keystr(cp.parse_keystr(\"['a'][(1, 2.5)].x\")) == \"['a'][(1, 2.5)].x\""
    )


# --- following --------------------------------------------------------------------------------------------------------


def test_containers_on_the_way_are_found_too() -> None:
    tree = every_kind()
    assert cp.key_get(tree, ()) is tree
    assert cp.key_get(tree, []) is tree
    assert cp.key_get(tree, (MappingKey("d"), MappingKey("y"), FlattenedIndexKey(0))) is tree["d"]["y"].a
    assert cp.key_get(tree, iter([MappingKey("a"), GetAttrKey("left")])) is tree["a"].left
    assert cp.key_get(5, ()) == 5


@pytest.mark.parametrize("key", [1, True, 1.0, "1"])
def test_a_dict_is_asked_for_the_exact_key(key: Any) -> None:
    tree = {key: "here"}
    for other in [1, True, 1.0, "1"]:
        path = (MappingKey(other),)
        if type(other) is type(key):
            assert cp.key_get(tree, path) == "here"
        else:
            with pytest.raises(cp.StructureError, match="leads nowhere"):
                cp.key_get(tree, path)


def test_keys_that_are_written_alike_do_for_each_other() -> None:
    assert cp.key_get({1: "one"}, (SequenceKey(1),)) == "one"
    assert cp.key_get(["zero", "one"], (MappingKey(1),)) == "one"
    assert cp.key_get(Sample(1, 2, ""), (GetAttrKey("bias"),)) == 2
    assert cp.key_get(Point(1, 2), (DataclassKey("y"),)) == 2
    assert cp.key_get({NAN: "nan"}, (MappingKey(float("nan")),)) == "nan"
    assert cp.key_get({Color.RED: 1}, (MappingKey(Color.RED),)) == 1

    class Foreign:
        def __str__(self) -> str:
            return "['a']"

    assert cp.key_get({"a": 1}, (Foreign(),)) == 1


def test_an_equal_key_comes_before_one_that_is_written_alike() -> None:
    class Both:
        pass

    entries = (MappingKey(1), SequenceKey(1))
    with registered(Both, lambda _: (("mapping", "sequence"), None, entries), lambda children, _: Both()):
        assert cp.key_get(Both(), (MappingKey(1),)) == "mapping"
        assert cp.key_get(Both(), (SequenceKey(1),)) == "sequence"


def test_keys_of_two_children_are_an_error() -> None:
    class Twins:
        pass

    two = pytest.raises(cp.StructureError, match="2 children that are written alike at the root")
    with registered(Twins, lambda _: ((1, 2), None, ("x", "x")), lambda children, _: Twins()), two:
        cp.key_get(Twins(), (GetAttrKey("x"),))


def test_objects_with_one_repr_are_not_taken_for_each_other() -> None:
    class Key:
        def __repr__(self) -> str:
            return "key"

    one, other = Key(), Key()
    assert cp.key_get({one: 1, other: 2}, (MappingKey(other),)) == 2
    with pytest.raises(cp.StructureError, match="leads nowhere"):
        cp.key_get({one: 1}, (MappingKey(other),))


MISSING = {
    "key of a dict": (
        {"a": {"b": 1, "c": 2}},
        "['a']['x']",
        "['a']",
        "a dict of 2 stands there, with the keys ['b'], ['c']",
    ),
    "index of a list": ([[1, 2]], "[0][2]", "[0]", "a list of 2 stands there, with the keys [0], [1]"),
    "negative index": ([1, 2], "[-1]", "", "a list of 2 stands there"),
    "leaf": ({"a": 1.5}, "['a'][0]", "['a']", "1.5 stands there, which is a leaf"),
    "None": ({"a": None}, "['a'].x", "['a']", "None stands there, which is a leaf"),
    "empty": ({"a": []}, "['a'][0]", "['a']", "a list without children stands there"),
    "namedtuple": (Point(1, 2), "[0]", "", "a Point of 2 stands there, with the keys .x, .y"),
    "unnamed": (Pair(1, 2), ".a", "", "with the keys [<flat index 0>], [<flat index 1>]"),
    "static": ([Config(1)], "[0].width", "[0]", "a Config without children stands there"),
    "another namespace": ([AlphaOnly(1, 2)], "[0].b", "[0]", "an AlphaOnly stands there, which is a leaf"),
}


@pytest.mark.parametrize("case", MISSING)
def test_a_key_that_leads_nowhere(case: str) -> None:
    tree, text, path, words = MISSING[case]
    with pytest.raises(cp.StructureError) as caught:
        cp.key_get(tree, cp.parse_keystr(text))
    assert caught.value.path == path
    assert words in str(caught.value)
    assert (f"at {path}" if path else "at the root") in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_errors_about_large_trees_are_short() -> None:
    tree: Any = {f"{'long' * 50}{number}": [0] * 1000 for number in range(1000)}
    for _ in range(50):
        tree = [tree]
    with pytest.raises(cp.StructureError) as caught:
        cp.key_get(tree, (*[SequenceKey(0)] * 50, MappingKey("x" * 10_000)))
    assert len(str(caught.value)) < 1000
    assert "…(42 more)…" in str(caught.value)
    assert caught.value.path == "[0]" * 50


@pytest.mark.parametrize(
    "path", ["['a']", b"a", 0, None, MappingKey("a"), ("a",), (0,), [MappingKey("a"), None], ((),)]
)
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(cp.PyTreeTypeError, match="key_get"):
        cp.key_get({"a": {None: 0}}, path)


def test_namespaces_are_searched() -> None:
    tree = [Switch(1, 2)]
    assert cp.key_get(tree, (SequenceKey(0), FlattenedIndexKey(0))) == 1
    assert cp.key_get(tree, (SequenceKey(0), GetAttrKey("b")), namespace=ALPHA) == 2
    assert cp.key_get(tree, (SequenceKey(0), GetAttrKey("b")), namespace=("x", ALPHA)) == 2


def test_dicts_without_an_order_are_followed_inside_the_block() -> None:
    tree = {frozenset({1}): [1], frozenset({2}): [2]}
    with cp.dict_insertion_ordered(False):
        assert cp.key_get(tree, (MappingKey(frozenset({2})), SequenceKey(0))) == 2


def test_only_the_levels_on_the_way_are_flattened() -> None:
    asked: list[Any] = []

    class Counted(Box):
        __slots__ = ()

    def flatten(node: Counted) -> Any:
        asked.append(node)
        return (node.item, 0), None, ("item", "zero")

    with registered(Counted, flatten, lambda children, _: Counted(children[0])):
        tree = Counted(Counted([Counted(1), 2]))
        path = (GetAttrKey("item"), GetAttrKey("item"), SequenceKey(1))
        assert cp.key_get(tree, path) == 2
        assert asked == [tree, tree.item]


def test_a_default_factory_is_not_called() -> None:
    tree: Any = defaultdict(list)
    with pytest.raises(cp.StructureError):
        cp.key_get(tree, (MappingKey("x"),))
    assert tree == {}


def test_a_circle_is_followed_as_far_as_the_path_goes() -> None:
    circle: list[Any] = [1]
    circle.append(circle)
    assert cp.key_get(circle, (SequenceKey(1),) * 5 + (SequenceKey(0),)) == 1
    box = Box(None)
    box.item = box
    assert cp.key_get(box, (FlattenedIndexKey(0),) * 3) is box


def test_an_error_of_a_flatten_function_comes_through() -> None:
    class Broken:
        pass

    def fail(_: Any) -> Any:
        raise KeyError("inner")

    with registered(Broken, fail, lambda children, _: Broken()), pytest.raises(KeyError, match="inner"):
        cp.key_get([Broken()], (SequenceKey(0), GetAttrKey("x")))


@pytest.mark.parametrize("kind", WRAP)
def test_deep_trees_are_followed_on_a_small_stack(kind: str) -> None:
    chain = Chain(kind, 20_000)

    def work() -> None:
        ((path, leaf),) = cp.tree_leaves_with_path(chain.tree)
        assert cp.key_get(chain.tree, path) is leaf
        text = cp.keystr(path)
        parsed = cp.parse_keystr(text)
        assert cp.keystr(parsed) == text
        assert cp.key_get(chain.tree, parsed) is leaf

    run_in_thread(work, SMALL_STACK)


def test_leaves_of_empty_containers_have_no_path() -> None:
    assert cp.tree_leaves_with_path([[], {}, Nothing(), Config(1)]) == []
    assert cp.tree_leaves_with_path(5) == [((), 5)]


@given(numbers)
def test_a_leaf_has_the_empty_path(leaf: Any) -> None:
    ((path, found),) = cp.tree_leaves_with_path(leaf)
    assert path == ()
    assert found is leaf
