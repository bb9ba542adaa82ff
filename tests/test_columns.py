"""What is printed for a terminal or a notebook: columns of letters that take two, names that would move its cursor."""

import re
from collections import namedtuple
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest
from arrays import Array, Stand
from helpers import registered
from hypothesis import given
from hypothesis import strategies as st
from strategies import plain_keys

import clika_pytree as cp
from clika_pytree.boundary import Change
from clika_pytree.columns import columns, cut, cut_apart, cut_middle, filled, one_line

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
        (" \ufe0f", 1),
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
    assert cut("e\u0301te\u0301", 3) == cut_middle("e\u0301te\u0301", 3) == "e\u0301te\u0301"
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


# Letters of one, two and no columns, with marks that change the width of the one before them, and what is an escape.
LETTERS = st.sampled_from("ab_09.'重が한🤖❤\ufe0fe\u0301\u1161\u20dd\x1b\n\u202e")
TEXTS = st.one_of(st.text(LETTERS, max_size=8), st.text(LETTERS, min_size=30, max_size=120), st.text(max_size=200))
NAMES = st.builds(str.__add__, st.sampled_from(["", "重" * 50, "C" * 100]), TEXTS).filter(lambda name: "\0" not in name)


@given(TEXTS, TEXTS, TEXTS, st.integers(12, 40))
def test_texts_that_differ_are_cut_where_it_is_seen(head, one, other, room):
    shown = cut_apart(head + one, head + other, room)
    assert max(map(columns, shown)) <= room
    assert shown[0] != shown[1] or one_line(one) == one_line(other)


@given(st.lists(TEXTS), st.integers(12, 80))
def test_lines_are_filled_up(parts, width):
    lines = filled(parts, width)
    assert max(map(columns, lines), default=0) <= width
    if all(columns(part) <= width and part.isprintable() for part in parts):
        assert " ".join(lines) == " ".join(parts)


@pytest.fixture(scope="module")
def anything():
    """Leaves, and nodes of contexts and classes with any names."""

    class Node:
        def __init__(self, context, *children):
            self.context, self.children = context, children

    def named(name):
        return type("Leaf", (), {"__name__": name}) if not name else node_class(name)()

    def trees(leaves):
        return st.one_of(
            st.lists(leaves, max_size=3),
            st.dictionaries(st.one_of(TEXTS, TEXTS.map(Key), plain_keys), leaves, max_size=4),
            st.builds(Node, TEXTS, leaves),
        )

    shapes = st.lists(st.integers(0, 10**6), max_size=30).map(tuple)
    leaf = st.one_of(st.integers(), TEXTS, NAMES.map(named), st.builds(Described, shapes, TEXTS))
    with registered(
        Node, lambda node: (node.children, node.context), lambda children, context: Node(context, *children)
    ):
        yield st.recursive(leaf, trees, max_leaves=12)


class Described:
    """A stand-in for an array, whose dtype has any name."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


@given(st.data())
def test_what_is_printed_of_any_tree_has_80_columns(anything, data):
    one, other = data.draw(anything), data.draw(anything)
    keys = data.draw(st.lists(TEXTS, max_size=10))
    for key in reversed(keys):
        one, other = {key: one}, {key: other, "more": one}
    found = cp.tree_diff(one, other, leaves=True)
    for shown in (found, cp.tree_diff([one] * 3, [other] * 3), *found, cp.tree_summary(one), cp.tree_summary(other)):
        assert max(map(columns, str(shown).split("\n"))) <= 80
        assert not HARMFUL.search(str(shown))


@given(NAMES, st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=4), st.lists(TEXTS, max_size=4))
def test_what_is_printed_of_any_compiled_function_has_80_columns(name, calls, keys):
    def function(x, p, q=None):
        return x

    function.__name__ = name
    compiled = cp.compile(function)
    for key, value in calls:
        p = {key: value, "node": Key(value), "array": np.ones((1,) * len(keys))}
        for outer in keys:
            p = {outer: p}
        explanation = compiled.explain(np.ones(2), p, q=key)
        for shown in (explanation, *explanation.changes, compiled.graphs()):
            assert max(map(columns, str(shown).split("\n"))) <= 80
            assert not HARMFUL.search(str(shown))
        compiled(np.ones(2), p, q=key)
    assert max(map(columns, str(compiled.graphs()).split("\n"))) <= 80


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


def named_function(name):
    def function(x, options=None):
        return x

    function.__name__ = name
    return cp.compile(function)


def test_a_function_with_a_long_name_has_a_line_of_its_own():
    name = "apply_" * 12 + "step"
    compiled = named_function(name)
    assert repr(compiled.explain(1)).splitlines() == [f"{name}:", "this call needs a graph, there is none yet"]
    assert repr(compiled.graphs()).splitlines() == [f"{name}:", "0 graphs of at most 64, 0 hits, 0 misses"]
    compiled(np.ones(2))
    assert repr(compiled.explain(np.ones(2))).splitlines() == [
        f"{name}:",
        "a graph fits this call, none has to be made",
    ]
    compiled = named_function("step_of_training")
    for options in range(3):
        compiled(np.ones(2), options)
    assert repr(compiled.explain(np.ones(2), "abc")).splitlines()[:2] == [
        "step_of_training: this call needs a new graph;",
        "one thing differs from the closest of 3 graphs:",
    ]


@pytest.mark.parametrize("kind", ["static", "context", "order", "type"])
def test_a_change_whose_sides_print_alike_fits_a_line(kind):
    line = str(Change("p", "a" * 99, "a" * 99, kind))
    assert line.endswith("…, now another")
    assert columns(line) == 78


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
            cp.tree_diff(tree, other, leaves=True)._repr_html_(),
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


def cells(html):
    """The texts of a table by rows, the head among them."""
    assert html.count("<tr>") == html.count("</tr>")
    rows = [re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall("<tr>(.*?)</tr>", html)]
    return [[unescape(text) for text in row] for row in rows]


def test_differences_are_a_table_in_a_notebook():
    one, other = ({"<b>&": [{"w": leaf}] * 12, only: 1} for leaf, only in ((0, "old"), ("</td>", "new")))
    html = cp.tree_diff(one, other, leaves=True)._repr_html_()
    assert "<b>" not in html
    assert html.count("</td>") == 3 * 4
    assert cells(html) == [
        ["path", "difference", "a", "b"],
        ["['<b>&'][0…11]['w'] (12 places)", "leaf", "0", "'</td>'"],
        ["['old']", "only in a", "1", ""],
        ["['new']", "only in b", "", "1"],
    ]
    assert html.endswith("<p>14 differences</p>")
    many = cp.tree_diff(list(range(40)), ["x"] * 40, leaves=True)
    assert many._repr_html_().endswith("<p>… and 10 more<br>40 differences</p>")
    assert cp.tree_diff(1, [])._repr_html_().count("the root") == 1
    assert cp.tree_diff(1, 1)._repr_html_() == "<p>no differences</p>"


def test_graphs_are_a_table_in_a_notebook():
    compiled = named_function("<step>")
    assert compiled.graphs()._repr_html_() == "<p>&lt;step&gt;: 0 graphs of at most 64, 0 hits, 0 misses</p>"
    for options in (*EVIL[:3], "<i>", 1):
        compiled(np.ones(2), options)
    html = compiled.graphs()._repr_html_()
    assert html.startswith("<p>&lt;step&gt;: 5 graphs of at most 64, 0 hits, 5 misses</p><table>")
    assert "<i>" not in html
    assert not HARMFUL.search(html)
    head, *rows = cells(html)
    assert head == ["hits", "nodes", "compiled in", "for"]
    assert [row[3] for row in rows[:2]] == ["options: 1", "options: '<i>'"]


def test_a_table_has_no_colors_of_its_own():
    compiled = named_function("step")
    compiled(np.ones(2))
    for table in (cp.tree_diff(1, 2, leaves=True), compiled.graphs(), cp.tree_summary([1])):
        assert not re.search("color|background|font|<style|class=", table._repr_html_())


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
