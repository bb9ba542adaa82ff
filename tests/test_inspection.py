"""`tree_summary` and `check_node`: what they say, as data and printed."""

from __future__ import annotations

import dataclasses
import re
from collections import OrderedDict, defaultdict, deque
from typing import Any

import numpy as np
import pytest
from arrays import Array, Hostile, Stand
from classes import ALPHA, AlphaOnly, Bag, Box, Color, Config, Nothing, Pair, Point, Sample, every_kind
from deep import WRAP, Chain
from helpers import SMALL_STACK, registered, run_in_thread, run_python
from hypothesis import given
from strategies import trees

import clika_pytree as cp

# --- tree_summary -----------------------------------------------------------------------------------------------------


def model(layers: int) -> dict:
    def layer(number: int) -> Any:
        return {"w": np.zeros((4, 8), np.float32), "norm": Sample(np.ones(4), None, str(number))}

    return {"embed": np.zeros((10, 4), np.float16), "layers": [layer(i) for i in range(layers)], "step": 3}


def test_a_table_with_totals() -> None:
    summary = cp.tree_summary(model(12))
    assert str(summary) == repr(summary)
    assert str(summary).splitlines() == [
        "path                             leaves  type      shape    dtype      bytes",
        "['embed']                             1  ndarray   (10, 4)  float16     80 B",
        "['layers'][0…11]['w']                12  ndarray   (4, 8)   float32  1.5 KiB",
        "['layers'][0…11]['norm'].weight      12  ndarray   (4,)     float64    384 B",
        "['layers'][0…11]['norm'].bias        12  NoneType",
        "['step']                              1  int",
        "38 leaves, 25 arrays of 472 elements, 2.0 KiB",
    ]
    assert (summary.num_leaves, summary.num_arrays, summary.num_elements) == (38, 25, 40 + 12 * 36)
    assert summary.nbytes == sum(leaf.nbytes for leaf in cp.tree_leaves(model(12)) if isinstance(leaf, np.ndarray))
    row = summary.rows[1]
    assert (row.path, row.count, row.type) == ("['layers'][0…11]['w']", 12, "ndarray")
    assert (row.shape, row.dtype, row.nbytes) == ((4, 8), "float32", 128)


def encoder(layers: int) -> Any:
    def dense(*shape: int) -> Any:
        return {"weight": np.zeros(shape, np.float32), "bias": np.zeros(shape[0], np.float32)}

    def layer() -> Any:
        attention = {"self": {"query": dense(384, 384)}, "output": {"LayerNorm": dense(384)}}
        return {"attention": attention, "intermediate": {"dense": dense(1536, 384)}}

    return {"model": {"encoder": {"layer": [layer() for _ in range(layers)]}}}


def test_long_paths_have_their_first_keys_on_lines_of_their_own() -> None:
    summary = cp.tree_summary(encoder(6))
    assert str(summary).splitlines() == [
        "path                                   leaves  shape        dtype       bytes",
        "['model']['encoder']['layer'][0…5]['attention']",
        "          ['self']['query']['weight']       6  (384, 384)   float32   3.4 MiB",
        "              ['bias']                      6  (384,)       float32   9.0 KiB",
        "          ['output']",
        "            ['LayerNorm']['weight']         6  (384,)       float32   9.0 KiB",
        "              ['bias']                      6  (384,)       float32   9.0 KiB",
        "        ['intermediate']",
        "          ['dense']['weight']               6  (1536, 384)  float32  13.5 MiB",
        "            ['bias']                        6  (1536,)      float32  36.0 KiB",
        "36 leaves, 36 arrays of 4,439,808 elements, 16.9 MiB",
        "the type is ndarray in every line",
    ]
    assert summary.rows[0].path == "['model']['encoder']['layer'][0…5]['attention']['self']['query']['weight']"


@pytest.mark.parametrize("depth", [0, 1, 4, 9, 15])
def test_a_table_is_as_wide_as_a_terminal(depth: int) -> None:
    tree: Any = {"weight": np.zeros((1024, 1024), np.float32), "name": "w", "mask": None}
    for level in range(depth):
        tree = {f"layer_{level}_of_the_model": tree, "step": level}
    text = str(cp.tree_summary({"a": tree, "b": tree}))
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("['weight']") == text.count("1024") // 2 == 2
    assert text.count("step") == 2 * depth


def test_siblings_are_folded_only_where_they_look_alike() -> None:
    tree = {"layers": model(5)["layers"], "two": [1, 2], "names": {"a": 1, "b": 2, "c": 3}, "point": Point(1, "x")}
    tree["layers"][2]["w"] = np.zeros((4, 9), np.float32)
    paths = [row.path for row in cp.tree_summary(tree).rows]
    assert paths == [
        *[f"['layers'][{i}]{rest}" for i in range(5) for rest in ("['w']", "['norm'].weight", "['norm'].bias")],
        "['two'][0]",
        "['two'][1]",
        *("['names']['a']", "['names']['b']", "['names']['c']"),
        "['point'].x",
        "['point'].y",
    ]


@given(trees)
def test_every_leaf_is_in_one_row(tree: Any) -> None:
    summary = cp.tree_summary(tree, max_rows=None)
    assert sum(row.count for row in summary.rows) == summary.num_leaves == len(cp.tree_leaves(tree))
    assert summary.hidden_rows == 0
    ends = cp.tree_leaves_with_path(tree, is_leaf=lambda node: not cp.tree_structure(node).num_children)
    texts = [cp.keystr(path) for path, _ in ends]
    assert [row.path for row in summary.rows if "…" not in row.path] == [t for t in texts if t in {
        row.path for row in summary.rows
    }]  # fmt: skip
    short = cp.tree_summary(tree, max_rows=2)
    assert len(short.rows) + short.hidden_rows == len(summary.rows)
    assert len(short.rows) <= 2
    assert short.num_leaves == summary.num_leaves


def test_a_wide_tree_is_cut() -> None:
    tree = {f"k{i}": [0.5] * (i % 7) for i in range(10_000)}
    summary = cp.tree_summary(tree)
    assert len(summary.rows) == 50
    lines = str(summary).splitlines()
    assert len(lines) == 53
    assert lines[-2].startswith("… and ")
    assert lines[-2].endswith("more lines")
    assert summary.num_leaves == len(cp.tree_leaves(tree))
    assert len(cp.tree_summary([1.5] * 100_000).rows) == 1


def test_arrays_of_any_library_are_known_by_their_attributes() -> None:
    tree = [Array([1, 2]), Stand((3, 5), 2), np.float32(1), Hostile(), np.zeros, np.ndarray, Stand(("n", 2))]
    rows = cp.tree_summary(tree).rows
    assert [(row.type, row.shape, row.dtype, row.nbytes) for row in rows] == [
        ("Array", (2,), "float32", 8),
        ("Stand", (3, 5), "float16", 30),
        ("float32", (), "float32", 4),
        ("Hostile", None, None, None),
        (type(np.zeros).__name__, None, None, None),
        ("type", None, None, None),
        ("Stand", ("n", 2), "float32", None),
    ]


def test_an_array_in_several_places_counts_once() -> None:
    tied = np.zeros(10)
    summary = cp.tree_summary({"in": tied, "out": tied, "other": np.zeros(10)})
    assert (summary.num_leaves, summary.num_arrays, summary.num_elements, summary.nbytes) == (3, 2, 20, 160)
    assert "counted once (1 more place)" in str(summary)


def test_small_trees_and_none() -> None:
    assert str(cp.tree_summary([])).splitlines()[1:] == ["the root       0  list", "0 leaves, 0 arrays"]
    assert cp.tree_summary([[], 1], max_rows=0).hidden_rows == 2
    assert str(cp.tree_summary(3)).splitlines()[1:] == ["the root       1  int", "1 leaf, 0 arrays"]
    assert cp.tree_summary([None, 1], none_is_leaf=False).num_leaves == 1
    assert cp.tree_summary([(1, 2)], is_leaf=lambda node: type(node) is tuple).rows[0].type == "tuple"
    assert [row.path for row in cp.tree_summary(AlphaOnly(1, 2), namespace=ALPHA).rows] == ["[0]", ".b"]
    circle: list = []
    circle.append(circle)
    with pytest.raises(cp.CircularTreeError):
        cp.tree_summary(circle)


def test_a_container_without_children_has_a_line_without_leaves() -> None:
    layers = [{"w": 0.5, "hooks": {}, "args": ((), [])}] * 12
    tree = {"layers": layers, "stats": OrderedDict(), "chain": [Nothing(), {"a": {}}, Nothing()], "config": Config(1)}
    assert str(cp.tree_summary(tree)).splitlines() == [
        "path                         leaves  type",
        "['layers'][0…11]['w']            12  float",
        "['layers'][0…11]['hooks']         0  dict",
        "['layers'][0…11]['args'][0]       0  tuple",
        "['layers'][0…11]['args'][1]       0  list",
        "['stats']                         0  OrderedDict",
        "['chain'][0]                      0  Nothing",
        "['chain'][1]['a']                 0  dict",
        "['chain'][2]                      0  Nothing",
        "['config']                        0  Config",
        "12 leaves, 0 arrays",
    ]
    assert [(row.path, row.count, row.type) for row in cp.tree_summary([None, 1], none_is_leaf=False).rows] == [
        ("[0]", 0, "NoneType"),
        ("[1]", 1, "int"),
    ]


def test_the_form_for_notebooks_is_escaped() -> None:
    html = cp.tree_summary({"<script>alert('x')</script>": [1], "&": Array([1], "<b>")}, max_rows=2)._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;" in html
    assert "[&#x27;&amp;&#x27;]" in html
    assert html.count("<tr>") == 3
    assert "1 array of 1 element" in html
    assert "more lines" in cp.tree_summary({"a": 1, "b": ""}, max_rows=0)._repr_html_()


def test_nothing_is_imported_to_look() -> None:
    run_python(
        "import sys, clika_pytree as cp\n"
        "print(cp.tree_summary({'a': [1, 2]}), cp.tree_diff([1], [2], leaves=True), cp.check_node([1]))\n"
        "assert not {'numpy', 'jax', 'torch', 'mlx'} & set(sys.modules)\n"
    )


@pytest.mark.parametrize("kind", WRAP)
def test_a_deep_tree_on_a_small_stack(kind: str) -> None:
    chain = Chain(kind, 20_000, 1.5)

    def work() -> None:
        summary = cp.tree_summary(chain.tree)
        assert (summary.num_leaves, len(summary.rows)) == (1, 1)
        assert len(str(summary)) < 500
        assert cp.check_node(chain.tree)

    run_in_thread(work, SMALL_STACK)


# --- check_node -------------------------------------------------------------------------------------------------------


GOOD: list[Any] = [
    *every_kind().values(),
    every_kind(),
    *([1], (1, [2]), (), None, deque([1], 2), OrderedDict(a=1), defaultdict(list, a=1), Nothing(), Point(1, 2)),
    *(cp.Partial(max, 1, [2], key=abs), cp.Partial(cp.Partial(max, 1), default=0), cp.Partial(len)),
    *(Pair(1, 2), Bag({"a": 1, "x y": 2, 3: 3}), Box(np.zeros(2)), Sample(1, 2, "s"), Config(1)),
]


@pytest.mark.parametrize("example", GOOD, ids=lambda value: type(value).__name__)
def test_a_good_registration_passes(example: Any) -> None:
    report = cp.check_node(example)
    assert report, str(report)
    assert report.problems == ()
    assert {"flatten", "context", "round trip"} <= set(report.passed)
    assert str(report).splitlines()[0].endswith(": all is well")
    assert cp.check_node(type(example), example)


def test_namespaces_and_examples() -> None:
    assert cp.check_node(AlphaOnly(1, 2), namespace=ALPHA)
    (problem,) = cp.check_node(AlphaOnly(1, 2)).problems
    assert (problem.check, "is not registered" in problem.message) == ("flatten", True)
    assert "register_pytree_node(AlphaOnly" in problem.change
    for report in (cp.check_node(Pair), cp.check_node(Pair, Box(1))):
        (problem,) = report.problems
        assert "an instance of Pair is needed" in problem.message
        assert problem.change == "call check_node(Pair(...))"


class Vec:
    def __init__(self, a: Any, b: Any, tag: Any = "t") -> None:
        self.a, self.b, self.tag = a, b, tag


def flatten(vec: Any) -> tuple:
    return (vec.a, vec.b), vec.tag, ("a", "b")


def unflatten(children: Any, tag: Any) -> Vec:
    return Vec(*children, tag)


def refuse_none(children: Any, tag: Any) -> Vec:
    if None in children:
        raise ValueError("a vector needs numbers")
    return Vec(*children, tag)


def without_entries(vec: Any) -> tuple:
    return (vec.a, vec.b), vec.tag


SENTINEL = object()
BROKEN: dict[str, tuple[Any, Any, dict, list[tuple[str, str, str]]]] = {
    "arguments swapped": (flatten, lambda tag, c: Vec(*c, tag), {}, [
        ("round trip", "works with its two arguments swapped", r"take \(children, context\), in this order"),
    ]),
    "nothing is rebuilt": (flatten, lambda c, tag: 1 / 0, {}, [
        ("round trip", "fails with its own children: ZeroDivisionError", r"take .* as flatten_fn gave them"),
    ]),
    "its own child": (lambda v: ((v,), None), lambda c, _: c[0], {}, [
        ("flatten", "a Vec is among its own children", "leave the object itself out"),
    ]),
    "keys are no pairs": (flatten, unflatten, {"flatten_with_keys_fn": lambda v: ((v.a, v.b), v.tag)}, [
        ("flatten", "must return .pairs of key and child", "return .pairs of key and child, context"),
    ]),
    "children swapped": (flatten, lambda c, tag: Vec(c[1], c[0], tag), {}, [
        ("round trip", r"child 0 \(.a\) comes back as child 1 \(.b\)", "in unflatten_fn .*in the order"),
    ]),
    "child lost": (lambda v: ([v.a] + [v.b] * bool(v.b), v.tag), lambda c, tag: Vec(c[0], None, tag), {}, [
        ("round trip", "2 children were put in and 1 came out", "put every child back"),
    ]),
    "child copied": (flatten, lambda c, tag: Vec(list(c[0]) if type(c[0]) is list else c[0], c[1], tag), {}, [
        ("round trip", "comes back as another object", "without converting or copying"),
    ]),
    "no instance": (flatten, lambda c, tag: c, {}, [("round trip", "returns a tuple of 2, not a Vec", "return an")]),
    "validates": (flatten, refuse_none, {}, [
        ("any values", "fails with None .*a vector needs numbers .*test_inspection.py, line", "check or convert"),
    ]),
    "context lost": (flatten, lambda c, tag: Vec(*c, "other"), {}, [
        ("round trip", "context 'other' instead of 't'", "give the context back"),
    ]),
    "context is an array": (lambda v: ((v.b,), np.zeros(2)), lambda c, tag: Vec(1, *c), {}, [
        ("context", "numpy.ndarray, which has no usable hash", "in flatten_fn .*plain values"),
    ]),
    "context made anew": (lambda v: ((v.a, v.b), object()), lambda c, _: Vec(*c), {}, [
        ("context", "two flattens of one object give contexts that are not equal", "__eq__"),
    ]),
    "context by identity": (lambda v: ((v.a, v.b), SENTINEL), lambda c, _: Vec(*c), {}, [
        ("context", "is compared by identity", "__eq__ and a __hash__"),
    ]),
    "entries swapped": (lambda v: ((v.a, v.b), v.tag, ("b", "a")), unflatten, {}, [
        ("entries", "entry .b names child 0, but the attribute b is child 1", "order of the children"),
    ]),
    "entries alike": (lambda v: ((v.a, v.b), v.tag, ("a", "a")), unflatten, {}, [
        ("entries", "several children have the entry .a", "its own entry"),
    ]),
    "too few entries": (lambda v: ((v.a, v.b), v.tag, ("a",)), unflatten, {}, [
        ("flatten", "1 entry for 2 children", "in flatten_fn.* as many entries as children"),
    ]),
    "entries that are objects": (lambda v: ((v.a, v.b), v.tag, (Color.RED, "b")), unflatten, {}, [
        ("key paths", "can't be read back", "a str, a number"),
    ]),
    "entries like paths": (lambda v: ((v.a, v.b), v.tag, (cp.GetAttrKey("p.q"), "b")), unflatten, {}, [
        ("key paths", "like a path of 2 keys", "GetAttrKey"),
    ]),
    "flatten raises": (lambda v: 1 / 0, unflatten, {}, [("flatten", "ZeroDivisionError", "in flatten_fn")]),
    "flatten is no pair": (lambda v: [v.a], unflatten, {}, [("flatten", "NodeError", r"\(children, context\)")]),
    "counts while flattening": (lambda v: ([v.a] * len(v.b.append(0) or v.b), v.tag), unflatten, {}, [
        ("flatten", "two flattens of one object give different children", "without changing"),
    ]),
    "keys disagree": (flatten, unflatten, {"flatten_with_keys_fn": lambda v: ([("b", v.b), ("a", v.a)], v.tag)}, [
        ("flatten_with_keys_fn", "in another order", "the same children"),
        ("round trip", "child 0", "flatten_with_keys_fn gives"),
    ]),
    "keys, another context": (flatten, unflatten, {"flatten_with_keys_fn": lambda v: ([("a", v.a), ("b", v.b)], 0)}, [
        ("flatten_with_keys_fn", "gives the context 0, flatten_fn gives 't'", "the same context"),
    ]),
    "serialization": (
        flatten, unflatten, {"to_dumpable_context": lambda c: [c], "from_dumpable_context": lambda c: c},
        [("serialization", r"'t' comes back as \['t'\]", "undo the other")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_said(case: str) -> None:
    take_apart, put_together, options, expected = BROKEN[case]
    with registered(Vec, take_apart, put_together, **options):
        report = cp.check_node(Vec([1], [2]))
    assert not report
    found = {problem.check: problem for problem in report.problems}
    for check, message, change in expected:
        assert check in found
        assert re.search(message, found[check].message), found[check].message
        assert re.search(change, found[check].change), found[check].change
        assert check not in report.passed
    if expected[0][0] == "flatten":
        assert not set(report.passed) - {"context", "entries", "key paths", "round trip", "any values"}
    # One cause is said once.
    assert not found.keys() >= {"round trip", "any values"} or case == "validates"
    text = str(report)
    assert all(problem.message in text and problem.change in text for problem in report.problems)
    assert len(text) < 3000
    assert text.splitlines()[0] == f"{__name__}.Vec: {len(report.problems)} problem{'s' * (len(report.problems) > 1)}"


def test_an_object_that_is_reused() -> None:
    def reuse(children: Any, context: Any) -> Vec:
        context.vec.a, context.vec.b = children
        return context.vec

    class Context:
        vec = Vec([1], [2])

    with registered(Vec, lambda v: ((v.a, v.b), Context), reuse):
        report = cp.check_node(Context.vec)
    assert [problem.check for problem in report.problems] == ["round trip", "any values"]
    assert "the very object" in report.problems[0].message
    assert "changes the object that was flattened" in report.problems[1].message


def test_a_dataclass_that_checks_itself() -> None:
    @dataclasses.dataclass
    class Strict:
        w: Any

        def __post_init__(self) -> None:
            if self.w is None:
                raise ValueError("w is missing")

    cp.register_dataclass(Strict, rebuild="init")
    try:
        (problem,) = cp.check_node(Strict(1)).problems
    finally:
        cp.unregister_pytree_node(Strict)
    assert "w is missing" in problem.message
    assert 'take rebuild="init" away' in problem.change


def test_methods_are_called_by_their_names() -> None:
    @cp.register_pytree_node_class
    class Whole:
        def __init__(self, items: Any) -> None:
            self.items = items

        def __tree_flatten__(self) -> Any:
            return self.items, None

        @classmethod
        def __tree_unflatten__(cls, context: Any, children: Any) -> Any:
            return cls([int(child) for child in children])

    try:
        problem = cp.check_node(Whole([1, 2])).problems[-1]
    finally:
        cp.unregister_pytree_node(Whole)
    assert problem.message.startswith("Whole.__tree_unflatten__ fails with plain objects")
    assert problem.change.startswith("in Whole.__tree_unflatten__ (test_inspection.py, line ")


def test_a_method_that_takes_its_arguments_swapped() -> None:
    @cp.register_pytree_node_class
    class Swapped:
        def __init__(self, item: Any) -> None:
            self.item = item

        def __tree_flatten__(self) -> Any:
            return (self.item,), "context"

        @classmethod
        def __tree_unflatten__(cls, children: Any, context: Any) -> Any:
            return cls(children[0])

    try:
        (problem,) = cp.check_node(Swapped([1])).problems
    finally:
        cp.unregister_pytree_node(Swapped)
    assert problem.change.startswith("in Swapped.__tree_unflatten__ (test_inspection.py, line ")
    assert problem.change.endswith("take (context, children), in this order")
