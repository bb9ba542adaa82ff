"""Laws of key paths and their texts: what is written is read back, leads to its leaf, and belongs to one leaf."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import reference
from classes import Bag
from helpers import read, reading
from hypothesis import event, given
from hypothesis import strategies as st
from strategies import leaves, nodes, whole_modes
from test_key_paths import plain
from twins import NEAR_KEYS

import clika_pytree as cp
from clika_pytree import DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey

near = st.sampled_from([key for key in NEAR_KEYS if not isinstance(key, frozenset)])
wide = st.one_of(plain, near)
names = st.from_regex(r"[^\W\d]\w*", fullmatch=True).filter(str.isidentifier)
key_objects = st.one_of(
    st.builds(MappingKey, wide),
    st.builds(SequenceKey, st.integers()),
    st.builds(GetAttrKey, names),
    st.builds(DataclassKey, names),
    st.builds(FlattenedIndexKey, st.integers(0)),
)
paths = st.lists(key_objects, max_size=4).map(tuple)


@given(paths)
def test_every_path_is_written_and_read_back(path):
    text = cp.keystr(path)
    parsed = cp.parse_keystr(text)
    assert cp.keystr(parsed) == text
    assert [str(key) for key in parsed] == [str(key) for key in path]
    assert text == "".join(str(key) for key in path)


@given(paths, paths)
def test_the_text_of_a_path_is_that_of_its_parts(first, second):
    assert cp.keystr(first + second) == cp.keystr(first) + cp.keystr(second)
    both = cp.parse_keystr(cp.keystr(first) + cp.keystr(second))
    assert list(map(str, both)) == list(map(str, (*first, *second)))


# Parts of texts, and what would nearly be one.
PIECES = [
    "[0]", "[-1]", "[01]", "[+1]", "[1_0]", "[0x1]", "[1.5]", "[1.50]", "[1.]", "[.5]", "[1e5]", "[1e+16]", "[1e16]",
    "[1e-05]", "[1e-5]", "[inf]", "[-inf]", "[nan]", "[-nan]", "[NaN]", "[1j]", "[(1+2j)]", "[(1+-2j)]", "[1+2j]",
    "[-0j]", "[(-0-0j)]", "[(nan+infj)]", "[True]", "[true]", "[None]", "['a']", '["a"]', '["it\'s"]', "['it\\'s']",
    "['\\n']", "['\n']", "['\\x00']", "['\\x0']", "['\\0']", "['\\u0041']", "['\\ud800']", "['\\U0001f600']", "['😀']",
    "['\xa0']", "[b'a']", "[b\"'\"]", "[b'\\xff']", "[b'ÿ']", "[B'a']", "[()]", "[(1,)]", "[(1)]", "[(1,2)]",
    "[(1, 2)]", "[(1, 2,)]", "[((),)]", "[ 1]", "[1 ]", ".x", ".é", ".x1", "._", ".", ".1", ".x y", "x",
    "[<flat index 0>]", "[<flat index -1>]", "[<flat index 00>]", "[<flat  index 0>]", "[<Color <Color.RED: 2>>]", "",
    " ", "[", "]", "'", "\\", "(", ")", ",",
]  # fmt: skip
pieces = st.lists(st.sampled_from(PIECES), max_size=3).map("".join)
characters = st.sampled_from(list("[]().,'\"\\ <>0123456789e+-jnaifbTrueNoxuU\n\0é\ud800"))


@st.composite
def damaged(draw: Any) -> str:
    """The text of a path with a character or two put in, taken out or changed."""
    text = cp.keystr(draw(paths))
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.one_of(st.just(""), characters)) + text[at + draw(st.integers(0, 1)) :]
    return text


@given(st.one_of(pieces, damaged(), damaged()))
def test_whatever_text_is_read_is_written_again(text):
    try:
        parsed = cp.parse_keystr(text)
    except cp.PyTreeValueError:
        event("refused")
        return
    event("read")
    assert cp.keystr(parsed) == text
    assert cp.keystr(cp.parse_keystr(text)) == text
    assert list(map(str, cp.parse_keystr(cp.keystr(parsed)))) == list(map(str, parsed))


def wide_nodes(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.builds(Bag, st.dictionaries(st.one_of(wide, names), children, max_size=4))
    return st.one_of(nodes(children, wide), nodes(children, wide), named)


wide_trees = st.recursive(leaves, wide_nodes, max_leaves=12)


def leads_to_two(tree: Any, path: Any, mode: Any) -> bool:
    """Two NaNs may be two keys of one dict, which are equal where their bits are the same."""
    try:
        cp.key_get(tree, path, namespace=mode.namespace)
    except cp.StructureError as error:
        return "children that are written alike" in str(error)
    return False


def test_two_keys_that_are_nan_lead_to_two_children() -> None:
    tree = Bag({float("nan"): 1, float("nan"): 2, "a": 3})
    first, _, third = cp.tree_structure(tree).key_paths()
    with pytest.raises(
        cp.StructureError, match=r"the key \[nan\] leads to 2 children that are written alike at the root"
    ):
        cp.key_get(tree, first)
    assert cp.key_get(tree, third) == 3


@given(wide_trees, whole_modes)
def test_the_text_of_each_path_leads_to_its_leaf_and_to_no_other(tree, mode):
    read(tree, mode)
    options = {"none_is_leaf": mode.none_is_leaf, "namespace": mode.namespace}
    with reading(mode):
        pairs, spec = cp.tree_flatten_with_path(tree, **options)
        texts = [cp.keystr(path) for path, _ in pairs]
        assert [path for path, _ in pairs] == spec.key_paths()
        for text, times in Counter(texts).items():
            assert times == 1 or "nan" in text  # two NaNs of other bits are two keys
        for (path, leaf), text in zip(pairs, texts, strict=True):
            parsed = cp.parse_keystr(text)
            assert cp.keystr(parsed) == text
            if "nan" in text and leads_to_two(tree, path, mode):
                continue
            assert cp.key_get(tree, path, namespace=mode.namespace) is leaf
            if "nan" not in text:  # which NaN it was, a text does not say
                assert cp.key_get(tree, parsed, namespace=mode.namespace) is leaf
            for at in range(len(path) + 1):
                below = cp.key_get(tree, path[:at], namespace=mode.namespace)
                assert cp.key_get(below, path[at:], namespace=mode.namespace) is leaf


@given(wide_trees, whole_modes)
def test_the_texts_are_those_the_reference_writes(tree, mode):
    _, expected = read(tree, mode)
    with reading(mode):
        spec = cp.tree_structure(tree, none_is_leaf=mode.none_is_leaf, namespace=mode.namespace)
    assert list(map(cp.keystr, spec.key_paths())) == reference.path_texts(expected.root)
