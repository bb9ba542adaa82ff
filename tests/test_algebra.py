"""Trees turned inside out, spread over one another, split and put together: rules, errors and laws."""

from __future__ import annotations

import gc
import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest
from classes import ALPHA, AlphaOnly, Box, Pair, Point, Sample
from deep import HALF_WAY, Chain
from helpers import identical, keywords, notes, read, reading, structure, tokens
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import small_modes, small_trees, trees, whole_modes

import clika_pytree as cp


def spec_of(tree: Any, **options: Any) -> cp.TreeSpec:
    return cp.tree_structure(tree, **options)


def is_tuple(obj: object) -> bool:
    return type(obj) is tuple


# --- transpose --------------------------------------------------------------------------------------------------------


def test_transpose_turns_a_tree_inside_out():
    outer, inner = spec_of({"a": 0, "b": Box(0)}), spec_of([0, (0, 0)])
    tree = {"a": [1, (2, 3)], "b": Box([4, (5, 6)])}
    left, (middle, right) = cp.tree_transpose(outer, inner, tree)
    assert [(each["a"], each["b"].item) for each in (left, middle, right)] == [(1, 4), (2, 5), (3, 6)]


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ([{"x": 1, "y": 2}, {"x": 3, "z": 4}], "[1]"),
        ([{"x": 1, "y": 2}, {"y": 3, "x": 4}], "[1]"),
        ([{"x": 1, "y": 2}, [3, 4]], "[1]"),
        ([[1, 2], {"x": 3, "y": 4}], "[0]"),
        ({"x": [1, 2], "y": [3, 4]}, ""),
        ([1, 2, 3, 4], ""),
        ([{"x": 1, "y": (2, 3)}, {"x": 4, "y": 5}], "[0]['y']"),
        ([{"x": 1, "y": ()}, {"x": 4, "y": (5, 6)}], "[0]['y']"),
        ([{"x": 1, "y": 2}], ""),
    ],
)
def test_transpose_compares_structures_not_counts(tree, path):
    outer, inner = spec_of([0, 0]), spec_of({"x": 0, "y": 0})
    with pytest.raises(cp.StructureError, match=re.escape(path) if path else "at the root") as caught:
        cp.tree_transpose(outer, inner, tree)
    assert caught.value.path == path
    assert isinstance(caught.value, ValueError)


def test_transpose_of_structures_without_leaves():
    nothing, two = spec_of(()), spec_of([0, 0])
    assert cp.tree_transpose(two, nothing, [(), ()]) == ()
    assert cp.tree_transpose(nothing, two, ()) == [(), ()]
    assert cp.tree_transpose(nothing, nothing, ()) == ()
    with pytest.raises(cp.StructureError, match="at \\[1\\]"):
        cp.tree_transpose(two, nothing, [(), []])


def test_transpose_stops_where_it_is_told():
    outer, inner = spec_of([0, 0]), spec_of({"x": 0})
    tree = [{"x": (1, 2)}, {"x": 3}]
    assert cp.tree_transpose(outer, inner, tree, is_leaf=is_tuple) == {"x": [(1, 2), 3]}
    with pytest.raises(cp.StructureError, match="a leaf, the tree has a tuple; give an inner that goes as deep"):
        cp.tree_transpose(outer, inner, tree)


def test_transpose_reads_trees_as_the_specs_say():
    outer = spec_of([0, None], none_is_leaf=False)
    inner = spec_of(AlphaOnly(0, 0), none_is_leaf=False, namespace=ALPHA)
    made = cp.tree_transpose(outer, inner, [AlphaOnly(1, 2), None])
    assert (type(made), made.a, made.b) == (AlphaOnly, [1, None], [2, None])
    with pytest.raises(cp.StructureError, match="none_is_leaf"):
        cp.tree_transpose(outer, spec_of(0), [1, None])


def test_transpose_wants_specs():
    with pytest.raises(cp.PyTreeTypeError, match="a TreeSpec as outer, got a list; tree_structure"):
        cp.tree_transpose([0], spec_of(0), [1])
    with pytest.raises(cp.PyTreeTypeError, match="a TreeSpec as inner, got None"):
        cp.tree_transpose(spec_of([0]), None, [1])


def test_transpose_map():
    assert cp.tree_transpose_map(divmod, {"a": 7, "b": 9}, {"a": 2, "b": 4}) == ({"a": 3, "b": 2}, {"a": 1, "b": 1})
    made = cp.tree_transpose_map(lambda x: {"sum": sum(x), "n": len(x)}, [(1, 2), (3,)], is_leaf=is_tuple)
    assert made == {"sum": [3, 3], "n": [2, 1]}


def test_transpose_map_with_an_inner_keeps_what_is_below():
    pair = spec_of((0, 0))
    assert cp.tree_transpose_map(lambda x: ([x] * x, x), {"a": 1, "b": 2}, inner=pair) == (
        {"a": [1], "b": [2, 2]},
        {"a": 1, "b": 2},
    )
    assert cp.tree_transpose_map(lambda x: (x, x), [], inner=pair) == ([], [])
    with pytest.raises(cp.StructureError, match="the leaf at \\['b'\\] does not have the structure of inner") as caught:
        cp.tree_transpose_map(lambda x: (x, x) if x < 2 else [x, x], {"a": 1, "b": 2}, inner=pair)
    assert caught.value.path == "['b']"


def test_transpose_map_wants_results_of_one_structure():
    with pytest.raises(cp.StructureError, match="structure of its first result") as caught:
        cp.tree_transpose_map(lambda x: {"k": (x,) * x}, {"a": 1, "b": [2]})
    assert caught.value.path == "['b'][0]['k']"
    with pytest.raises(cp.StructureError, match="pass an inner"):
        cp.tree_transpose_map(lambda x: [x] if x > 1 else x, [1, 2])
    with pytest.raises(cp.PyTreeValueError, match="pass inner="):
        cp.tree_transpose_map(lambda x: x, [])
    with pytest.raises(cp.StructureError, match=r"tree 2 .* at \['a'\]"):
        cp.tree_transpose_map(lambda x, y: x, {"a": 1}, {"a": [2]})
    with pytest.raises(cp.StructureError, match="none_is_leaf"):
        cp.tree_transpose_map(lambda x: x, [1], inner=spec_of(0, none_is_leaf=False))


@given(trees, trees, whole_modes)
def test_transposing_twice_changes_nothing(a, b, mode):
    read(a, mode), read(b, mode)
    outer, inner = structure(a, mode), structure(b, mode)
    leaves = tokens(outer.num_leaves * inner.num_leaves)
    with reading(mode):
        tree = outer.compose(inner).unflatten(leaves)
        other = cp.tree_transpose(outer, inner, tree)
        there, spec = cp.tree_flatten(other, **keywords(mode))
        assert spec == inner.compose(outer)
        width = inner.num_leaves
        assert identical(there, [leaf for i in range(width) for leaf in leaves[i::width]])
        back, spec = cp.tree_flatten(cp.tree_transpose(inner, outer, other), **keywords(mode))
    assert spec == outer.compose(inner)
    assert identical(back, leaves)


# --- broadcast --------------------------------------------------------------------------------------------------------


def test_a_leaf_is_a_prefix_of_every_tree():
    assert cp.tree_broadcast_prefix(1, {"a": [0, (0,)], "b": ()}) == {"a": [1, (1,)], "b": ()}
    assert cp.tree_broadcast_prefix(None, [0, 0]) == [None, None]
    assert cp.tree_broadcast_prefix([], []) == []


def test_a_prefix_is_spread_by_place():
    made = cp.tree_broadcast_prefix([1, Point(2, 3), 4], [(0, 0), Point(0, [0, [0]]), ()])
    assert made == [(1, 1), Point(2, [3, [3]]), ()]
    assert cp.tree_broadcast_prefix({"a": (1, 2)}, {"a": [0, 0]}, is_leaf=is_tuple) == {"a": [(1, 2), (1, 2)]}


def test_is_leaf_may_stop_in_the_tree_above_a_leaf_of_the_prefix():
    def stops(obj: object) -> bool:
        return type(obj) is list and len(obj) == 3

    assert cp.tree_broadcast_prefix({"a": [1, 2]}, {"a": [[0, 0], [0, 0, 0]]}, stops) == {"a": [[1, 1], 2]}
    assert cp.tree_broadcast_prefix([1, 2, [3, 3]], [0, 0, [0, 0]]) == [1, 2, [3, 3]]
    assert cp.tree_broadcast_prefix((1, 2), (0, [0]), lambda obj: obj == (0, [0])) == (1, [2])


@pytest.mark.parametrize(
    ("prefix", "tree", "path"),
    [
        ({"a": [1]}, {"a": (1,)}, "['a']"),
        ({"a": [1, 2]}, {"a": [1]}, "['a']"),
        ({"a": {"k": 1}}, {"a": 1}, "['a']"),
        ({"a": 1}, OrderedDict(a=1), ""),
        (Pair(1, [2]), Pair(1, {}), "[<flat index 1>]"),
    ],
)
def test_a_prefix_that_does_not_fit_is_an_error_with_a_path(prefix, tree, path):
    with pytest.raises(cp.StructureError) as caught:
        cp.tree_broadcast_prefix(prefix, tree)
    assert caught.value.path == path
    assert ": the prefix has a" in str(caught.value)


def test_common():
    first, second = cp.tree_broadcast_common({"a": 1, "b": (2, 3)}, {"a": [4, Box(5)], "b": 6})
    assert (first["a"][0], first["a"][1].item, first["b"]) == (1, 1, (2, 3))
    assert (second["a"][0], second["a"][1].item, second["b"]) == (4, 5, (6, 6))
    assert cp.tree_broadcast_common(1, [2, None], none_is_leaf=False) == ([1, None], [2, None])
    with pytest.raises(
        cp.StructureError, match=r"at \['b'\]\[0\]: the first has .*\[\*\].*, the second has .*\(\*,\)"
    ) as caught:
        cp.tree_broadcast_common({"a": 1, "b": [[1]]}, {"a": [1], "b": [(1,)]})
    assert caught.value.path == "['b'][0]"


def test_broadcast_map():
    assert cp.tree_broadcast_map(lambda a, b: (a, b), {"a": 1, "b": [2, 3]}, {"a": [4, 5], "b": 6}) == {
        "a": [(1, 4), (1, 5)],
        "b": [(2, 6), (3, 6)],
    }
    assert cp.tree_broadcast_map(lambda *leaves: sum(leaves), 1, [10, 20], 100, [1000, (1, 2)]) == [1111, (122, 123)]
    assert cp.tree_broadcast_map(abs, [-1, (-2,)]) == [1, (2,)]
    assert cp.tree_broadcast_map(lambda a, b: b, 1, {"a": ()}) == {"a": ()}
    assert cp.tree_broadcast_map(lambda a, b: a, [(1, 2)], [[0, 0]], is_leaf=is_tuple) == [[(1, 2), (1, 2)]]


@pytest.mark.parametrize("error", [ZeroDivisionError, StopIteration])
def test_an_exception_says_at_which_leaf(error):
    def fail(*leaves: int) -> int:
        if leaves[-1] == 3:
            raise error
        return 0

    with pytest.raises(error) as caught:
        cp.tree_broadcast_map(fail, {"a": 1, "b": 2}, {"a": 1, "b": [2, (3,)]})
    assert notes(caught.value) == "clika_pytree: raised by the mapped function at ['b'][1][0]"
    with pytest.raises(error) as caught:
        cp.tree_partition(fail, 3)
    assert notes(caught.value) == "clika_pytree: raised by the predicate at the root"


def test_only_functions_are_mapped():
    with pytest.raises(cp.PyTreeTypeError, match="a function as fn"):
        cp.tree_broadcast_map([1], [2])
    with pytest.raises(cp.PyTreeTypeError, match="a function as fn"):
        cp.tree_transpose_map(3, [2])


@given(trees, st.lists(trees, min_size=12, max_size=12), whole_modes)
def test_a_spread_prefix_has_the_leaf_of_the_prefix_everywhere_below(tree, parts, mode):
    for part in (tree, *parts):
        read(part, mode)
    above = structure(tree, mode)
    assume(above.num_leaves <= len(parts))
    parts, leaves = parts[: above.num_leaves], tokens(above.num_leaves)
    with reading(mode):
        made = cp.tree_broadcast_prefix(above.unflatten(leaves), above.unflatten(parts), **keywords(mode))
        for leaf, part, below in zip(leaves, parts, above.flatten_up_to(made), strict=True):
            found, spec = cp.tree_flatten(below, **keywords(mode))
            assert all(each is leaf for each in found)
            assert spec == structure(part, mode)


@given(small_trees, small_trees, small_modes)
def test_common_structure_is_the_least_with_both_as_prefix(a, b, mode):
    read(a, mode), read(b, mode)
    one, other = structure(a, mode), structure(b, mode)
    try:
        common = one.broadcast(other)
    except cp.StructureError as error:
        assert not one.is_prefix(other)
        assert not other.is_prefix(one)
        with reading(mode), pytest.raises(cp.StructureError) as caught:
            cp.tree_broadcast_common(a, b, **keywords(mode))
        assert caught.value.path == error.path
        return
    assert common == other.broadcast(one) == common.broadcast(one) == common.broadcast(other)
    assert one.is_prefix(common)
    assert other.is_prefix(common)
    if one.is_prefix(other):
        assert common == other
    with reading(mode):
        for made in cp.tree_broadcast_common(a, b, **keywords(mode)):
            assert structure(made, mode) == common


@given(small_trees, small_trees, small_trees, small_modes)
def test_compose_is_associative_with_the_leaf_as_identity(a, b, c, mode):
    for tree in (a, b, c):
        read(tree, mode)
    one, two, three = (structure(tree, mode) for tree in (a, b, c))
    assert one.compose(two).compose(three) == one.compose(two.compose(three))
    leaf = cp.treespec_leaf(none_is_leaf=mode.none_is_leaf)
    assert one.compose(leaf) == leaf.compose(one) == one


# --- partition --------------------------------------------------------------------------------------------------------


def test_partition():
    tree = {"w": 0.5, "n": [1, True], "s": "text"}
    assert cp.tree_partition(float, tree)[0] == {"w": 0.5, "n": [None, None], "s": None}
    assert cp.tree_partition((float, str), tree)[1] == {"w": None, "n": [1, True], "s": None}
    assert cp.tree_partition(int | str, tree, fillvalue=0)[1] == {"w": 0.5, "n": [0, 0], "s": 0}
    assert cp.tree_partition(lambda x: [], tree)[1] == tree
    assert cp.tree_partition(is_tuple, [(1, 2), 3], is_tuple) == ([(1, 2), None], [None, 3])
    with pytest.raises(cp.PyTreeTypeError, match="tree_partition"):
        cp.tree_partition("float", tree)


def test_combine():
    assert cp.tree_combine([None, 1, None], [2, 3, None], [4, 5, None]) == [2, 1, None]
    assert cp.tree_combine([1]) == [1]
    with pytest.raises(cp.PyTreeTypeError, match="one or more trees"):
        cp.tree_combine()
    with pytest.raises(cp.StructureError, match=r"tree 3 .* at \['a'\]") as caught:
        cp.tree_combine({"a": [1]}, {"a": [None]}, {"a": (None,)})
    assert caught.value.path == "['a']"


NAN = float("nan")


@pytest.mark.parametrize(
    ("fillvalue", "same", "other"),
    [
        (1000, int("1000"), 1000.0),
        (1, 1, True),
        ("no leaf", "".join(["no", " leaf"]), b"no leaf"),
        (0.0, float("0"), -0.0),
        (NAN, -float("inf") + float("inf"), 0.0),
        (b"x", bytes([120]), "x"),
    ],
)
def test_plain_holes_go_by_type_and_value(fillvalue, same, other):
    assert identical(cp.tree_combine([same, 5], ["leaf", same], fillvalue=fillvalue), ["leaf", 5])
    assert identical(cp.tree_combine([other], ["leaf"], fillvalue=fillvalue), [other])


def test_other_holes_go_by_identity():
    class Everything:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = object.__hash__

    hole = Everything()
    assert identical(cp.tree_combine([Everything], [1], fillvalue=hole), [Everything])
    assert identical(cp.tree_combine([hole], [1], fillvalue=hole), [1])


@pytest.mark.parametrize("hole", [None, (), [], Sample(1, 2, 3)], ids=repr)
@pytest.mark.parametrize("none_is_leaf", [True, False])
def test_holes_that_read_as_containers(hole, none_is_leaf):
    tree = {"a": [1, 2, None], "b": (3, {})}
    split = cp.tree_partition(lambda x: x != 2, tree, fillvalue=hole, none_is_leaf=none_is_leaf)
    assert cp.tree_combine(*split, fillvalue=hole, none_is_leaf=none_is_leaf) == tree
    assert cp.tree_combine(*reversed(split), fillvalue=hole, none_is_leaf=none_is_leaf) == tree


@given(trees, whole_modes, st.integers(0), st.booleans())
def test_combine_undoes_partition(tree, mode, mask, with_none):
    leaves, _ = read(tree, mode)
    spec = structure(tree, mode)
    order = iter(range(len(leaves)))
    fillvalue = None if with_none else object()
    with reading(mode):
        split = cp.tree_partition(lambda _: mask >> next(order) & 1, tree, fillvalue=fillvalue, **keywords(mode))
        if not with_none:
            for part, kept in zip(split, (1, 0), strict=True):
                here, part_spec = cp.tree_flatten(part, **keywords(mode))
                assert part_spec == spec
                expected = [leaf if (mask >> i & 1) == kept else fillvalue for i, leaf in enumerate(leaves)]
                assert identical(here, expected)
        for parts in (split, split[::-1]):
            made = cp.tree_combine(*parts, fillvalue=fillvalue, **keywords(mode))
            again, made_spec = cp.tree_flatten(made, **keywords(mode))
            assert made_spec == spec
            assert identical(again, leaves)


def test_nones_are_replaced():
    tree = {"a": None, "b": [1, (None, 0)], "c": {}}
    assert cp.tree_replace_nones(7, tree) == {"a": 7, "b": [1, (7, 0)], "c": {}}
    assert cp.tree_replace_nones([], None) == []
    assert cp.tree_replace_nones(7, [None, (None,)], is_tuple) == [7, (None,)]
    made = cp.tree_replace_nones(7, AlphaOnly(None, 1), namespace=ALPHA)
    assert (made.a, made.b) == (7, 1)
    assert tree["a"] is None


# --- depth ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()  # walking the chains in every collection takes most of the time
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("kind", ["list", "dict", "namedtuple", "custom", "dataclass"])
def test_deep_trees(kind):
    chain = Chain(kind, HALF_WAY)
    key = cp.keystr(spec_of(Chain(kind, 1).tree).key_paths()[0])
    spec, leaf, pair = spec_of(chain.tree), object(), spec_of((0, 0))
    assert chain.has_leaf(cp.tree_broadcast_prefix(leaf, chain.tree), leaf)
    assert all(chain.has_leaf(tree, leaf) for tree in cp.tree_broadcast_common(chain.tree, leaf)[1:])
    assert chain.has_leaf(cp.tree_broadcast_map(lambda a, b: leaf, chain.tree, 2), leaf)
    left, right = cp.tree_transpose(spec, pair, spec.unflatten([(leaf, 2)]))
    assert chain.has_leaf(left, leaf)
    assert chain.has_leaf(right, 2)
    assert chain.has_leaf(cp.tree_transpose_map(lambda x: (leaf, x), chain.tree)[0], leaf)
    split = cp.tree_partition(lambda x: False, chain.tree)
    assert chain.has_leaf(split[0], None)
    assert chain.has_leaf(cp.tree_combine(*split), chain.leaf)
    assert chain.has_leaf(cp.tree_replace_nones(leaf, split[0]), leaf)
    with pytest.raises(cp.StructureError, match="more\\)") as caught:
        cp.tree_broadcast_prefix(chain.tree, Chain(kind, HALF_WAY - 1).tree)
    assert caught.value.path.count(key) == HALF_WAY - 1
