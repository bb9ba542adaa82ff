"""What is printed for a terminal or a notebook: columns of letters that take two, names that would move its cursor."""

import re
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
from arrays import Array, Stand
from helpers import registered
from hypothesis import given
from hypothesis import strategies as st

import clika_pytree as cp
from clika_pytree.columns import columns, cut, cut_middle, one_line

WIDE = {
    "重み": Stand((3, 4)),
    "バイアス": Stand((4,)),
    "한국어": [Stand((3,))] * 3,
    "e\u0301te\u0301": 1.5,
    "🤖": None,
    "❤\ufe0f": 2,
    "שלום": 3,
    "plain": 4,
}
# What moves the cursor, clears the screen, sets its title, or turns the direction of writing.
EVIL = [
    "\x1b[2J\x1b[1;1H",
    "\x1b]0;title\x07",
    "a\rb",
    "\x9b31m",
    "x\u202etxt.exe",
    "\u2066in\u2069",
    "a\u200bb",
    "\x08",
]
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("abc", 3),
        ("重み", 4),
        ("ｱ", 1),
        ("\uff21", 2),
        ("한", 2),
        ("\u1112\u1161\u11ab", 2),
        ("e\u0301", 1),
        ("नि", 2),
        ("🤖", 2),
        ("❤", 1),
        ("❤\ufe0f", 2),
        ("é…", 2),
        ("\u20dd", 0),
    ],
)
def test_how_many_columns_a_text_takes(text, expected):
    assert columns(text) == expected


@given(st.text(), st.integers(4, 40))
def test_text_is_cut_to_columns(text, room):
    for shown in (cut(text, room), cut_middle(text, room)):
        assert columns(shown) <= room
        assert not HARMFUL.search(shown)
        assert "\n" not in shown
        assert shown == one_line(text) or "…" in shown


def test_both_ends_are_kept():
    assert cut("重みの行列", 6) == "重み…"
    assert cut("重みの行列", 10) == "重みの行列"
    assert cut_middle("重みの行列と重みの行列", 12) == "重みの…行列"
    assert cut_middle("abcdefghij", 7) == "abcd…ij"


def test_the_columns_of_a_summary_stand_below_each_other():
    lines = repr(cp.tree_summary(WIDE)).splitlines()[:-1]
    head, rows = lines[0], lines[1:-1]
    ends = [columns(row[: re.search(r"\d+(?=  \w)", row).end()]) for row in rows]
    assert set(ends) == {head.index("leaves") + len("leaves")}


def long_names(letter: str) -> dict:
    inner = {letter * 30: Stand((1024, 1024)), letter * 200: Stand((50257, 768))}
    return {letter * 25: {letter * 36: inner}, letter * 100: 1, "short": [Stand((3,))] * 12}


@pytest.mark.parametrize("letter", ["x", "重", "e\u0301", "🤖"])
def test_a_summary_of_long_names_has_80_columns(letter):
    tree = long_names(letter)
    lines = repr(cp.tree_summary(tree)).splitlines()
    assert max(map(columns, lines)) <= 80
    assert any(line.startswith(f"['{letter * 25}']") for line in lines)
    assert lines[-2].startswith("15 leaves, 3 arrays of ")


@pytest.mark.parametrize("name", ["Leaf" * 40, "重" * 60])
def test_a_summary_of_long_types_shapes_and_dtypes_has_80_columns(name):
    leaf = type(name, (), {})()
    records = np.zeros(2, [(f"{name}{place}", "f4") for place in range(3)])
    for tree in (
        {"w" * 50: np.ones((1,) * 20), "records": records, "b": leaf},
        {"k" * 100: {"重" * 100: leaf}},
        [np.ones((1,) * 30), records],
        [leaf, 1],
        [leaf],
    ):
        lines = repr(cp.tree_summary(tree)).splitlines()
        assert max(map(columns, lines)) <= 80
        assert lines[0].startswith("path")


def test_the_tables_of_a_compiled_function_have_80_columns():
    @cp.compile
    def step(p, x, 重み=None):
        return x * 2

    for size in (1, 2, 3):
        step(
            {"トランスフォーマーのデコーダーの層" * size: "自己注意機構の問い合わせ射影行列の重み" * size},
            np.ones(size),
        )
    step({"🤖": EVIL[0]}, np.ones(2), 重み="自己注意" * 30)
    explanation = step.explain({"🤖": EVIL[4]}, np.ones(2), 重み="問い合わせ" * 30)
    lines = [*repr(step.graphs()).splitlines(), *repr(explanation).splitlines()[1:]]
    assert max(map(columns, lines)) <= 80
    assert not HARMFUL.search("\n".join(lines))


class Key:
    """A key whose repr is anybody's."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def node_class(name):
    class Node:
        pass

    Node.__name__ = Node.__qualname__ = name
    return Node


@pytest.mark.parametrize("name", EVIL)
def test_no_name_writes_to_the_terminal(name):
    Node, Leaf, Point = node_class(name), node_class(name), namedtuple("Point", "x y")
    Point.__name__ = Point.__qualname__ = name
    with registered(Node, lambda node: ((1, 2), Key(name)), lambda children, context: SimpleNamespace()):
        tree = {name: [1, name], "leaf": Leaf(), "node": Node(), "point": Point(1, 2), 3: Array([2], name)}
        other = {name: [1, 2, 3], "leaf": Node(), "node": 5, "point": [Leaf()], 3: Array([2], "b")}
        spec = cp.tree_structure(tree)
        said = [
            repr(cp.tree_summary(tree)),
            cp.tree_summary(tree)._repr_html_(),
            repr(cp.tree_diff(tree, other, leaves=True)),
            repr(cp.tree_diff(other, tree, leaves=True)),
            repr(cp.check_node(Node())),
            spec._repr_html_(),
            cp.keystr(cp.tree_flatten_with_path(tree)[0][0][0]),
        ]
        for wrong in (lambda: cp.tree_map(max, tree, other), lambda: cp.tree_map(max, other, tree)):
            with pytest.raises(cp.StructureError) as info:
                wrong()
            said.append(str(info.value))
        with pytest.raises(cp.PyTreeError) as info:
            spec.fingerprint()
        said.append(str(info.value))
        assert [text for text in said if HARMFUL.search(text)] == []
        del tree["node"]
        assert not HARMFUL.search(repr(cp.tree_structure(tree)))


class Printer:
    """What IPython hands to `_repr_pretty_`."""

    def __init__(self):
        self.texts = []

    def text(self, text):
        self.texts.append(text)


def shown(spec):
    printer = Printer()
    spec._repr_pretty_(printer, False)
    return "".join(printer.texts)


def test_a_notebook_keeps_no_long_text():
    small = cp.tree_structure({"w": [1, 2]})
    assert shown(small) == repr(small)
    large = cp.tree_structure({"重み": [1] * 100_000})
    assert shown(large) == f"{repr(large)[:2000]}… (100000 leaves; print() shows all)"


def test_a_page_of_many_named_siblings_is_short():
    layers = {f"layer_{number}": {"w": 1, "b": (2, None)} for number in range(50_000)}
    html = cp.tree_structure({"model": layers, "few": {"a": [1], "b": [1], "c": [1]}})._repr_html_()
    assert "[&#x27;layer_0&#x27;] … [&#x27;layer_49999&#x27;] (50000 alike)</code> dict: 2 children, 3 leaves" in html
    assert html.count("<details") == html.count("</details>") == 8
    assert html.count("list: 1 child") == 3
    unlike = cp.tree_structure({f"layer_{number}": [1] * (number % 7 + 1) for number in range(1000)})._repr_html_()
    assert 10 < unlike.count("<details open>") <= 40
    assert unlike.count("<details") == unlike.count("</details>") < 500


def test_the_totals_of_many_leaves_are_right():
    layers = {f"layer_{number}": {"w": np.zeros((2, number % 5)), "b": number} for number in range(50_000)}
    summary = cp.tree_summary(layers)
    assert (summary.num_leaves, summary.num_arrays) == (100_000, 50_000)
    assert (summary.num_elements, summary.nbytes) == (200_000, 1_600_000)
    assert len(summary.rows) == 50
    assert len(repr(summary)) < 5000
    assert repr(summary).splitlines()[-1] == "100,000 leaves, 50,000 arrays of 200,000 elements, 1.5 MiB"
