"""Why a call needs a graph, which graphs there are, and the warning where there are too many."""

from __future__ import annotations

import dataclasses
import enum
import re
import warnings
from typing import Any

import numpy as np
import pytest

import clika_pytree as crt
from clika_pytree.boundary import Change, Explanation, GraphRow, GraphTable

X = np.arange(6.0).reshape(2, 3)


class Mode(enum.Enum):
    TRAIN = 1
    EVAL = 2


@crt.register_dataclass
@dataclasses.dataclass
class Layer:
    w: Any
    act: str = dataclasses.field(default="relu", metadata={"static": True})


def model() -> dict[str, Any]:
    return {"layers": [{"w": np.ones((3, 4)), "b": np.ones(4)} for _ in range(3)], "name": "net"}


def used(p: Any, x: Any, cfg: Any = None, *, mode: Any = "train", **more: Any) -> Any:
    return crt.tree_map(lambda leaf: leaf * 2, [p, x])


@pytest.fixture
def step() -> Any:
    compiled = crt.compile(used)
    compiled(model(), X)
    return compiled


# --- explain ----------------------------------------------------------------------------------------------------------


def test_before_there_is_a_graph_and_where_one_fits(step: Any) -> None:
    fresh = crt.compile(used)
    explanation = fresh.explain(1, 2)
    assert repr(explanation) == "used: this call needs a graph, there is none yet"
    assert (explanation.needs_graph, explanation.num_graphs, explanation.changes) == (True, 0, ())
    explanation = step.explain(x=X + 1, p=model())
    assert repr(explanation) == "used: a graph fits this call, none has to be made"
    assert (explanation.needs_graph, explanation.num_graphs, explanation.changes) == (False, 1, ())
    assert isinstance(explanation, Explanation)
    assert step.cache_info() == (0, 1, 64, 1)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda p: ((p, X), {"mode": "eval"}), ("mode", "'train'", "'eval'", "static")),
        (lambda p: ((p, X), {"mode": Mode.EVAL}), ("mode", "'train'", "<Mode.EVAL: 2>", "static")),
        (lambda p: ((p, X[:1]), {}), ("x", "float64[2, 3]", "float64[1, 3]", "tensor")),
        (lambda p: ((p, X.astype("f4")), {}), ("x", "float64[2, 3]", "float32[2, 3]", "tensor")),
        (lambda p: ((p, 3), {}), ("x", "float64[2, 3]", "3", "leaf")),
        (lambda p: (({**p, "name": "other"}, X), {}), ("p['name']", "'net'", "'other'", "static")),
        (
            lambda p: ((p | {"layers": tuple(p["layers"])}, X), {}),
            ("p['layers']", "a list of 3", "a tuple of 3", "type"),
        ),
        (lambda p: ((p | {"layers": p["layers"][:2]}, X), {}), ("p['layers']", "a list of 3", "a list of 2", "length")),
        (
            lambda p: (({"name": "net", "layers": p["layers"]}, X), {}),
            ("p", "'layers', 'name'", "'name', 'layers'", "order"),
        ),
    ],
)
def test_one_difference(step: Any, change: Any, wanted: tuple[str, ...]) -> None:
    args, kwargs = change(model())
    explanation = step.explain(*args, **kwargs)
    assert explanation.changes == (Change(*wanted),)
    assert repr(explanation).startswith("used: this call needs a new graph; one thing differs from the only graph:\n  ")
    assert step.cache_info() == (0, 1, 64, 1)
    step(*args, **kwargs)
    assert step.cache_info().currsize == 2
    assert not step.explain(*args, **kwargs).needs_graph


def test_all_differences_of_one_structure(step: Any) -> None:
    changed = crt.tree_map(lambda leaf: leaf.astype("f4") if isinstance(leaf, np.ndarray) else leaf, model())
    explanation = step.explain(changed, X[0], mode="eval")
    assert [change.path for change in explanation.changes] == [
        *(f"p['layers'][{i}]['{key}']" for i in range(3) for key in "wb"),
        "x",
        "mode",
    ]
    lines = repr(explanation).splitlines()
    assert lines[0] == "used: this call needs a new graph; 8 things differ from the only graph:"
    assert lines[1] == "  p['layers'][0]['w']: was float64[3, 4], now float32[3, 4]"
    assert lines[7:] == ["  x: was float64[2, 3], now float64[3]", "  mode: was 'train', now 'eval'"]


def test_leaves_that_only_one_side_has(step: Any) -> None:
    explanation = step.explain({"layers": model()["layers"], "n": 3}, X, extra=X)
    assert explanation.changes == (
        Change("p['name']", "'net'", None, "only_old"),
        Change("p['n']", None, "3", "only_new"),
        Change("more['extra']", None, "float64[2, 3]", "only_new"),
    )
    assert repr(explanation).splitlines()[1:] == [
        "  p['name']: gone, was 'net'",
        "  p['n']: new, 3",
        "  more['extra']: new, float64[2, 3]",
    ]
    (change,) = step.explain(model(), X, {"lr": 0.1}).changes
    assert change == Change("cfg", "None", "a dict with 1 key", "type")


def test_leaves_beside_a_difference_in_structure(step: Any) -> None:
    p = model()
    p["layers"][1]["w"] = np.ones((3, 4), "f4")
    explanation = step.explain(p, X[:1], {"lr": 0.1}, mode=Mode.EVAL)
    assert explanation.changes == (
        Change("cfg", "None", "a dict with 1 key", "type"),
        Change("p['layers'][1]['w']", "float64[3, 4]", "float32[3, 4]", "tensor"),
        Change("x", "float64[2, 3]", "float64[1, 3]", "tensor"),
        Change("mode", "'train'", "<Mode.EVAL: 2>", "static"),
    )
    explanation = step.explain({**model(), "layers": p["layers"][:2]}, 3, extra=X)
    assert [(change.path, change.kind) for change in explanation.changes] == [
        ("p['layers']", "length"),
        ("more['extra']", "only_new"),
        ("x", "leaf"),
    ]


def test_free_sizes_are_no_difference() -> None:
    f = crt.compile(lambda x, k: x * 2, dynamic=True)
    f(X, 1)
    assert [change.path for change in f.explain(X[:1], [1]).changes] == ["k"]
    assert [change.path for change in f.explain(X[0], [1]).changes] == ["k", "x"]


def test_the_closest_graph_is_compared(step: Any) -> None:
    step(model(), X, 5, mode="eval")
    step(model(), X[0], 7, mode="test")
    explanation = step.explain(model(), X, 6, mode="eval")
    assert explanation.changes == (Change("cfg", "5", "6", "static"),)
    assert "from the closest of 3 graphs" in repr(explanation)


def test_a_static_field(step: Any) -> None:
    step(Layer(X), X)
    explanation = step.explain(Layer(X, "tanh"), X)
    assert explanation.changes == (Change("p", "('relu',)", "('tanh',)", "context"),)
    assert repr(explanation).endswith("\n  p: its static part was ('relu',), now ('tanh',)")


def test_lines_fit_a_terminal() -> None:
    compiled = crt.compile(lambda **kw: kw["x"])
    compiled(x=X, **{"a" * 200: "b" * 300, "c": "short", "d": "e" * 300})
    changes = [("a" * 200, "f" * 300), ("c", "g" * 300), ("d", "short")]
    explanation = compiled.explain(x=X[0], **dict(changes))
    lines = repr(explanation).splitlines()
    assert len(lines) >= 4
    assert max(map(len, lines)) <= 80, lines
    assert "…" in lines[1]
    for kind in ("static", "context", "order", "type"):
        for old, new in (("a" * 99, "b" * 99), ("a", "b" * 99), ("a" * 99, "b"), (None, "b" * 99), ("a" * 99, None)):
            assert 40 < len(str(Change("path" * 30, old, new, kind))) <= 78
    many = compiled.explain(x=X, **{f"k{index}": index for index in range(100)})
    assert len(repr(many).splitlines()) <= 25
    assert "more" in repr(many).splitlines()[-1]


def test_it_says_where_a_size_is_used_as_a_number() -> None:
    @crt.compile(dynamic=True)
    def f(x: Any) -> Any:
        return np.zeros(x.shape[0]) + x.sum(1)

    f(X)
    text = repr(f.explain(X[:1]))
    assert "x: was float64[2, *], now float64[1, 3]" in text or "x: was float64[2, 3], now float64[1, 3]" in text
    assert re.search(r"\n  x\.shape\[0\] is used as a number at test_compile_explain\.py:\d+$", text), text
    assert not f.explain(X[:, :1]).needs_graph


def test_a_condition_on_a_size_is_told_by_the_name_of_the_argument() -> None:
    f = crt.compile(lambda p, x: x * 2 if x.shape[0] > 3 else x + p["w"].sum(), dynamic=True)
    f({"w": X}, X)
    (change,) = f.explain({"w": X}, np.ones((5, 3))).changes
    assert (change.path, change.old, change.new, change.kind) == ("(x.shape[0] > 3)", "False", "True", "condition")
    f({"w": X}, np.ones((5, 3)))
    assert [row.key["where"] for row in f.graphs()] == ["x.shape[0] > 3", "not (x.shape[0] > 3)"]


def test_explain_runs_nothing_of_the_user_but_repr() -> None:
    log: list[str] = []

    class Value:
        def __init__(self, number: int) -> None:
            self.number = number

        def __repr__(self) -> str:
            log.append("repr")
            return f"Value({self.number})"

    @crt.compile
    def f(x: Any, value: Any) -> Any:
        log.append("call")
        return x

    f(X, Value(1))
    log.clear()
    explanation = f.explain(X, Value(2))
    assert explanation.changes[0].path in ("value", "value.number")
    repr(explanation)
    assert set(log) <= {"repr"}


def test_a_call_that_would_be_refused_is_refused(step: Any) -> None:
    with pytest.raises(crt.GuardError):
        step.explain(model(), {1, 2})


# --- graphs -----------------------------------------------------------------------------------------------------------


def shown(compiled: Any) -> list[str]:
    """The table with the times left out."""
    return [re.sub(r" *[\d.]+ (ms|s) ", " TIME ", line) for line in repr(compiled.graphs()).splitlines()]


def test_the_table_of_graphs() -> None:
    f = crt.compile(lambda p, x, k=1: {"y": x @ p["w"] * k, "x": x})
    assert repr(f.graphs()) == "<lambda>: 0 graphs of at most 64, 0 hits, 0 misses"
    assert not f.graphs()
    p = {"w": np.ones((3, 4))}
    f(p, X)
    f(p, X)
    assert shown(f) == [
        "<lambda>: 1 graph of at most 64, 1 hit, 1 miss",
        "hits  nodes  compiled in  for",
        "   1      2 TIME  p['w']: float64[3, 4], x: float64[2, 3], k: 1",
    ]
    f(p, X, 3)
    f(p, X[:1], 3)
    assert shown(f) == [
        "<lambda>: 3 graphs of at most 64, 1 hit, 3 misses",
        "hits  nodes  compiled in  for",
        "   0      2 TIME  x: float64[1, 3], k: 3",
        "   0      2 TIME  x: float64[2, 3], k: 3",
        "   1      2 TIME  x: float64[2, 3], k: 1",
    ]
    rows = f.graphs()
    assert isinstance(rows, GraphTable)
    assert isinstance(rows[0], GraphRow)
    assert rows[0].key == {"p['w']": "float64[3, 4]", "x": "float64[1, 3]", "k": "3"}
    assert (rows[2].hits, rows[2].nodes) == (1, 2)
    assert 0 < rows[0].seconds < 60
    assert "def graph" in rows[0].program.text()


def test_structures_that_print_alike_by_path_are_told_apart() -> None:
    f = crt.compile(lambda x: x)
    f([X]), f((X,))
    assert [line.split("TIME")[1].strip() for line in shown(f)[2:]] == ["x as (*,)", "x as [*]"]


def test_free_sizes_are_stars() -> None:
    f = crt.compile(lambda x, unused: (x.sum(0), unused), dynamic=True)
    f(X, X)
    assert f.graphs()[0].key["x"] == "float64[*, *]"
    assert "float64" not in f.graphs()[0].key["unused"]


def test_long_tables_and_keys_fit_a_terminal() -> None:
    f = crt.compile(lambda **kw: kw["x"], max_graphs=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", crt.RecompileWarning)
        for index in range(70):
            f(x=X, **{f"{'name' * 9}{k}": f"{index}{'value' * 30}" for k in range(12)})
    lines = repr(f.graphs()).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "… and 6 more"
    assert "and 5 more" in "".join(lines)


# --- the warning ------------------------------------------------------------------------------------------------------


def warned(compiled: Any, calls: Any) -> list[str]:
    texts = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for args in calls:
            compiled(*args)
    for warning in caught:
        assert warning.category is crt.RecompileWarning
        assert warning.filename == __file__
        texts.append(str(warning.message))
    return texts


def test_one_warning_from_the_eighth_graph_on() -> None:
    f = crt.compile(lambda x, n: x * n)
    assert warned(f, [(X, n) for n in range(7)]) == []
    (text,) = warned(f, [(X, n) for n in range(7, 40)])
    assert text.startswith(
        "<lambda>() has made 8 graphs: what changed each time is n (0, 1, 2, …, 7). The value of every "
    )
    assert "pass it as a tensor" in text
    f.clear()
    assert warned(f, [(X, n) for n in range(7)]) == []
    assert len(warned(f, [(X, 7)])) == 1


@pytest.mark.parametrize(
    ("calls", "options", "words"),
    [
        (
            [({"x": np.ones((n, 2))},) for n in range(8)],
            {},
            ["each time is p['x'] (float64[0, 2], float64[1, 2], float64[2, 2], …, float64[7, 2])", "dynamic=True"],
        ),
        ([([X] * n,) for n in range(1, 9)], {}, ["each time is p (", "a list of 1", "keep it the same"]),
        ([({"f": lambda: 1, "x": X},) for _ in range(8)], {}, ["each time is p['f'] (<function", "made anew"]),
        ([({f"k{n}": X},) for n in range(8)], {}, ["each time is p, in one way or another", "keep it the same"]),
    ],
    ids=["sizes", "lengths", "functions", "keys"],
)
def test_the_warning_names_what_keeps_changing(calls: Any, options: Any, words: list[str]) -> None:
    f = crt.compile(lambda p: crt.tree_map_only(np.ndarray, lambda leaf: leaf * 2, p), **options)
    (text,) = warned(f, calls)
    assert all(word in text for word in words), text


def test_the_warning_about_a_size_used_as_a_number() -> None:
    f = crt.compile(lambda x: np.zeros(x.shape[0]) + x, dynamic=True)
    (text,) = warned(f, [(np.ones(n),) for n in range(8)])
    assert "A size that the function uses as a number is built into the graph" in text


def test_a_warning_that_is_an_error_loses_nothing() -> None:
    f = crt.compile(lambda x, n: x * n)
    with warnings.catch_warnings():
        warnings.simplefilter("error", crt.RecompileWarning)
        for n in range(7):
            f(X, n)
        with pytest.raises(crt.RecompileWarning):
            f(X, 7)
        assert (f(X, 7) == X * 7).all()
        assert (f(X, 8) == X * 8).all()
    assert f.cache_info() == (1, 9, 64, 9)


def test_a_key_that_is_gone_from_a_large_dict_is_found_by_looking_at_each_key_a_few_times():
    looks = 0

    class Key:
        def __init__(self, number: int) -> None:
            self.number = number

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and other.number == self.number

        def __hash__(self) -> int:
            nonlocal looks
            looks += 1
            return hash(self.number)

        def __repr__(self) -> str:
            return f"Key({self.number})"

    tree = {Key(number): np.ones(1) for number in range(400)}
    first = crt.compile(lambda tree: len(tree))
    first(tree)
    fewer = {key: array for key, array in tree.items() if key.number != 7}
    looks = 0
    (change,) = first.explain(fewer).changes
    assert (change.path, change.kind) == ("tree[<Key Key(7)>]", "only_old")
    assert looks <= 10 * len(tree)


def test_values_whose_texts_are_alike_are_said_to_be_others() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise ValueError

    class Alike:
        def __repr__(self) -> str:
            return "Alike()"

    for cls, text in ((Silent, "a Silent"), (Alike, "Alike()")):
        function = crt.compile(lambda x, options: x)
        function(X, cls())
        assert str(function.explain(X, cls())).splitlines()[1] == f"  options: was {text}, now another"


def test_values_that_differ_at_their_ends_are_cut_in_the_middle() -> None:
    function = crt.compile(lambda x, name: x)
    function(X, "layers/" * 8 + "first")
    line = str(function.explain(X, "layers/" * 8 + "second")).splitlines()[1]
    assert line == "  name: was 'layers/layers/layer…ers/first', now 'layers/layers/layer…rs/second'"
    assert len(line) <= 80


def test_ctrl_c_is_not_taken_for_a_repr_that_fails() -> None:
    """Also where a call that needs a graph notes what differs, for the warning to come."""

    class Slow:
        def __init__(self, method: str) -> None:
            self.method = method

        def run(self, method: str) -> None:
            if armed and self.method == method:
                raise KeyboardInterrupt

        def __repr__(self) -> str:
            self.run("repr")
            return "Slow()"

        def __hash__(self) -> int:
            return 7

        def __eq__(self, other: object) -> bool:
            self.run("eq")
            return self is other

    for method in ("repr", "eq"):
        armed = False
        function = crt.compile(lambda x, options: x)
        function(X, Slow(method))
        for attempt in (function.explain, function):
            armed = True
            with pytest.raises(KeyboardInterrupt):
                attempt(X, Slow(method))
            armed = False
        assert function.cache_info().currsize == 1
        assert function.explain(X, Slow(method)).changes
