"""Siblings that are written as one, in the table of `tree_summary` and in the lines of `tree_diff`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from classes import Bag, Box, Pair
from hypothesis import given
from hypothesis import strategies as st

import clika_pytree as cp


def paths(tree: Any) -> list[str]:
    return [row.path for row in cp.tree_summary(tree).rows]


def block(width: int) -> dict[str, Any]:
    zeros = {"ln_1": (width,), "attn.c_attn": (width, 3 * width), "mlp.c_fc": (width, 4 * width)}
    return {f"{name}.weight": np.zeros(shape, np.float32) for name, shape in zeros.items()}


def gpt2(layers: int) -> dict[str, Any]:
    """The names of a state dict of the transformers library."""
    tree = {"wte.weight": np.zeros((50, 4), np.float32)}
    tree |= {f"h.{i}.{name}": value for i in range(layers) for name, value in block(4).items()}
    return {**tree, "ln_f.weight": np.zeros(4, np.float32)}


FLAT = [
    "['wte.weight']",
    "['h.0…11.ln_1.weight']",
    "['h.0…11.attn.c_attn.weight']",
    "['h.0…11.mlp.c_fc.weight']",
    "['ln_f.weight']",
]


def test_a_flat_state_dict_is_folded_by_the_numbers_in_its_names() -> None:
    summary = cp.tree_summary(gpt2(12))
    assert [row.path for row in summary.rows] == FLAT
    assert [row.count for row in summary.rows] == [1, 12, 12, 12, 1]
    assert paths({"model": gpt2(12)}) == [f"['model']{path}" for path in FLAT]


def test_names_in_the_order_of_the_alphabet_are_folded_too() -> None:
    tree = dict(sorted(gpt2(12).items()))
    assert list(tree)[3].startswith("h.1.")
    assert list(tree)[6].startswith("h.10.")
    assert set(paths(tree)) == set(FLAT)


def test_several_numbers_in_one_name() -> None:
    experts = {f"h.{i}.experts.{j}.w{k}": 1.5 for i in range(4) for j in range(8) for k in (1, 2)}
    summary = cp.tree_summary(experts)
    assert [(row.path, row.count) for row in summary.rows] == [
        ("['h.0…3.experts.0…7.w1']", 32),
        ("['h.0…3.experts.0…7.w2']", 32),
    ]
    stages = {f"stage{i}.{j}.w": 1.5 for i, blocks in enumerate((3, 4, 2)) for j in range(blocks)}
    assert paths(stages) == ["['stage0.0…2.w']", "['stage1.0…3.w']", "['stage2.0.w']", "['stage2.1.w']"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["w1", "w2"], ["['w1']", "['w2']"]),
        (["w1", "w2", "w3"], ["['w1…3']"]),
        (["w09", "w10", "w11"], ["['w09…11']"]),
        (["w1", "w2", "w4", "w5", "w6", "w7"], ["['w1']", "['w2']", "['w4…7']"]),
        (["w1", "b1", "w2", "b2", "w3", "b3"], ["['w1']", "['b1']", "['w2']", "['b2']", "['w3']", "['b3']"]),
        (["a", "b", "c"], ["['a']", "['b']", "['c']"]),
        (["a1", "b2", "c3"], ["['a1']", "['b2']", "['c3']"]),
        ([3, 4, 5], ["[3…5]"]),
        ([5, 3, 4], ["[3…5]"]),
        ([-1, -2, -3], ["[-1]", "[-2]", "[-3]"]),
        ([0, "0", 0.5, None, (1,)], ["[0]", "['0']", "[0.5]", "[None]", "[(1,)]"]),
        (["it's 1", "it's 2", "it's 3"], ['["it\'s 1…3"]']),
    ],
)
def test_what_is_folded_by_number(names: list[Any], expected: list[str]) -> None:
    assert paths(dict.fromkeys(names, 1.5)) == expected


def test_a_name_of_very_many_digits() -> None:
    names = [digit * 5000 for digit in "123"]
    found = paths(dict.fromkeys(names, 1.5))
    assert len(found) == 3
    assert all(path.startswith(f"['{name[:40]}") and len(path) <= 80 for path, name in zip(found, names, strict=True))


def test_names_without_numbers_are_folded_where_there_are_very_many() -> None:
    words = {f"word{'x' * i}": 1.5 for i in range(30)}
    assert paths(words) == [f"['word'…'word{'x' * 29}']"]
    assert len(paths(dict(list(words.items())[:10]))) == 10
    scattered = {f"token{i * i}": 1.5 for i in range(30)}
    assert paths(scattered) == ["['token0'…'token841']"]


def test_nodes_of_classes() -> None:
    assert paths(Bag({"w0": 1, "w1": 2, "w2": 3})) == [".w0…2"]
    assert paths(Bag(dict.fromkeys("abc", 1))) == [".a", ".b", ".c"]
    assert paths([Pair(1, 1)] * 3) == ["[0…2][<flat index 0>]", "[0…2][<flat index 1>]"]
    assert paths([Box(i) for i in range(3)]) == ["[0…2][<flat index 0>]"]


def test_what_looks_alike_has_the_same_keys_classes_and_leaves() -> None:
    for other in (
        {"a": 1, "c": 2},
        {"a": 1, "b": "2"},
        {"b": 1, "a": 2},
        [1, 2],
        {"a": 1, "b": [2]},
        {True: 1, "b": 2},
    ):
        assert len(paths([{"a": 1, "b": 2}, other, {"a": 3, "b": 4}])) == 6
    assert len(paths([{1: 0}, {True: 0}, {1: 0}])) == 3
    assert paths([{1: 0}, {1: 1}, {1: 2}]) == ["[0…2][1]"]


numbered = st.builds(
    "{}{}{}{}".format, st.sampled_from("ab"), st.integers(0, 5), st.sampled_from(".x"), st.integers(0, 3)
)


@given(st.lists(numbered, unique=True, max_size=30), st.data())
def test_every_leaf_is_in_the_line_that_its_path_fits(names: list[str], data: Any) -> None:
    """A line that stands for several leaves has a range for each number in which they differ, and is full.

    Or it has the first and the last of so many neighbours that their names are left out.
    """
    tree = {name: data.draw(st.sampled_from([1.5, "x", None])) for name in names}
    summary = cp.tree_summary(tree, max_rows=None)
    covered: list[str] = []
    for row in summary.rows:
        found = [name for name in covering(row.path, names) if type(tree[name]).__name__ == row.type]
        assert len(found) == row.count, (row.path, found)
        covered += found
    assert sorted(covered) == sorted(names)


def covering(pattern: str, names: list[str]) -> list[str]:
    import re

    if ends := re.fullmatch(r"\['([^']*)'…'([^']*)'\]", pattern):
        return names[names.index(ends[1]) : names.index(ends[2]) + 1]
    return [name for name in names if fits(pattern, f"['{name}']")]


def fits(pattern: str, path: str) -> bool:
    import re

    pieces, own = re.split(r"([0-9]+…[0-9]+)", pattern), path
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            if not own.startswith(piece):
                return False
            own = own[len(piece) :]
            continue
        digits = re.match("[0-9]+", own)
        low, high = map(int, piece.split("…"))
        if digits is None or not low <= int(digits[0]) <= high:
            return False
        own = own[len(digits[0]) :]
    return not own


# --- differences ------------------------------------------------------------------------------------------------------


def lines(a: Any, b: Any, **options: Any) -> list[str]:
    return str(cp.tree_diff(a, b, **options)).splitlines()


def test_one_difference_in_every_layer_is_one_line() -> None:
    one = [{"w": np.zeros(3, np.float32), "b": 0} for _ in range(12)]
    other = [{"w": np.zeros(3, np.float16), "b": 0} for _ in range(12)]
    assert lines({"h": one}, {"h": other}, leaves=True) == [
        "12 differences:",
        "  ['h'][0…11]['w'] (12 places):",
        "    a has ndarray float32[3]",
        "    b has ndarray float16[3]",
    ]
    found = cp.tree_diff({"h": one}, {"h": other}, leaves=True)
    assert len(found) == 12
    assert [cp.keystr(difference.path) for difference in found] == [f"['h'][{i}]['w']" for i in range(12)]


def test_differences_that_are_not_in_every_sibling_or_not_the_same_keep_their_lines() -> None:
    one, other = [0] * 12, [0] * 12
    for place in (2, 3, 7):
        other[place] = 1
    assert len(lines(one, other, leaves=True)) == 4
    assert len(lines([0] * 5, [1, 2, 3, 4, 5], leaves=True)) == 6
    assert len(lines([0] * 2, [1] * 2, leaves=True)) == 3
    grid = [[0] * 4 for _ in range(3)]
    assert lines(grid, [[1] * 4] * 3, leaves=True) == ["12 differences:", "  [0…2][0…3] (12 places): a has 0, b has 1"]
    mixed = lines([0, 0, 0, "x"], [1, 1, 1, "y"], leaves=True)
    assert mixed[1:] == ["  [0…2] (3 places): a has 0, b has 1", "  [3]: a has 'x', b has 'y'"]


def test_the_lines_keep_the_order_of_the_trees() -> None:
    one = {"x1": 0, "y": 0, "x2": 0, "z": 0}
    other = {"x1": [], "y": [], "x2": [], "z": []}
    assert [line.split(":")[0].strip() for line in lines(one, other)[1:]] == ["['x1']", "['y']", "['x2']", "['z']"]
