"""The bench: its arithmetic, that a wrong result or a debug build ends it, and that it runs. No test of speed."""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clika_pytree import _native

BENCH = Path(__file__).parents[1] / "bench"
RELEASE = _native.build_profile == "release"


@pytest.fixture
def module(monkeypatch):
    """A module of bench/, whose files find each other by their bare names; they are gone again afterwards."""
    monkeypatch.syspath_prepend(str(BENCH))
    names = [path.stem for path in BENCH.glob("*.py")]
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    yield importlib.import_module
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(before)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # pytest-benchmark measures nothing where it believes that it runs in a worker of pytest-xdist.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=100)


def measured(operation: str, tree: str, engine: str, seconds: float, calls: int = 1, leaves: int = 1) -> dict:
    info = {"operation": operation, "tree": tree, "engine": engine, "calls": calls, "leaves": leaves}
    return {"extra_info": info, "stats": {"min": seconds}}


def test_the_best_round_counts_and_is_divided_by_its_calls(module):
    figures = module("figures")
    reports = [
        {"benchmarks": [measured("map", "leaf", "clika_pytree", 4e-6, calls=2)]},
        {"benchmarks": [measured("map", "leaf", "clika_pytree", 5e-6, calls=4)]},
        {"benchmarks": [measured("map", "growing", "clika_pytree", 1e-9)]},
    ]
    assert figures.best(reports) == {("map", "leaf"): {"clika_pytree": 1.25e-6}}


def test_a_row_is_short_where_a_ratio_is_below_the_one_asked_or_a_time_above(module):
    figures, report = module("figures"), module("report")
    times = {
        ("flatten", "leaf"): {"clika_pytree": 2e-6, "jaxlib": 5e-6, "optree": 6e-6, "floor": 1e-6},
        ("hash", "leaf"): {"clika_pytree": 61e-9},
        ("hash", "adam"): {"clika_pytree": 59e-9},
        ("leaves", "leaf"): {"clika_pytree": 1e-6, "optree": 2e-6},
        ("leaves", "adam"): {"optree": 2e-6},
    }
    asked = [
        {"operation": "hash", "tree": "adam", "nanoseconds": 60},
        {"operation": "flatten", "tree": "leaf", "jaxlib": 2.5, "optree": 4, "floor": 0.5},
        {"operation": "hash", "tree": "leaf", "nanoseconds": 60},
        {"operation": "equal", "tree": "leaf", "jaxlib": 25},
    ]
    every = figures.rows(times, asked)
    assert [(row.operation, row.tree, list(row.short)) for row in every] == [
        ("flatten", "leaf", ["optree"]),
        ("hash", "leaf", ["clika_pytree"]),
        ("hash", "adam", []),
        ("leaves", "leaf", []),
    ]
    of_question = figures.in_question(every, asked)
    assert [(row.operation, row.tree) for row in of_question] == [
        ("hash", "adam"),
        ("flatten", "leaf"),
        ("hash", "leaf"),
    ]
    assert report.table(of_question) == (
        "| operation | tree   |                    ours, µs | jaxlib ÷ ours |   optree ÷ ours | floor ÷ ours |\n"
        "| --------- | ------ | --------------------------: | ------------: | --------------: | -----------: |\n"
        "| `hash`    | `adam` |        0.059 (at most 0.06) |             - |               - |            - |\n"
        "| `flatten` | `leaf` |                        2.00 |    2.50 (2.5) | **3.00** (4) \\* |   0.50 (0.5) |\n"
        "| `hash`    | `leaf` | **0.061** (at most 0.06) \\* |             - |               - |            - |\n"
    )
    assert report.verdict(of_question, asked) == (
        "3 of 5 figures are reached.\n"
        "- Short: `flatten` of `leaf`, 3.00 of 4 beside optree; the floor takes 1.00 µs.\n"
        "- Short: `hash` of `leaf`, 61 ns where at most 60 are asked.\n"
    )
    alone = figures.rows({("flatten", "leaf"): {"clika_pytree": 1.0, "optree": 5.0}}, asked)
    assert report.verdict(alone, asked) == (
        "1 of 1 figures are reached.\n- Not here, so nothing is said beside jaxlib and floor.\n"
    )


def test_every_figure_that_is_asked_has_its_row(module):
    figures, trees, engines = module("figures"), module("trees"), module("engines")
    subjects, of_files, report = module("compiled").SUBJECTS, module("files").SUBJECTS, module("report")
    assert (set(subjects), set(of_files)) == (report.COMPILED, report.FILES)
    for row in figures.load_asked():
        operation, tree = row.pop("operation"), row.pop("tree")
        if operation in subjects:
            assert tree in subjects[operation][0]
            assert set(row) <= set(report.BESIDE_COMPILED)
        elif operation in of_files:
            assert tree in of_files[operation][0]
            assert set(row) <= {*report.BESIDE_FILES, "nanoseconds"}
        else:
            assert operation in engines.OPERATIONS
            assert tree in trees.TREES
            assert set(row) <= {"jaxlib", "optree", "floor", "nanoseconds"}
        assert all(value > 0 for value in row.values())


def test_compiled_functions_have_a_table_of_their_own(module):
    figures, report = module("figures"), module("report")
    times = {
        ("flatten", "leaf"): {"clika_pytree": 2e-6, "jaxlib": 5e-6},
        ("call", "leaf"): {"clika_pytree": 1e-6, "jaxlib": 8e-6},
        ("mlp", "batch1"): {"clika_pytree": 20e-6, "numpy": 18e-6},
    }
    asked = [
        {"operation": "call", "tree": "leaf", "jaxlib": 2},
        {"operation": "mlp", "tree": "batch1", "numpy": 0.95},
    ]
    rows = figures.rows(times, asked)
    assert report.tables(rows) == (
        f"{report.table(rows[:1])}\nCompiled functions:\n\n"
        "| call   | on       | ours, µs | jax.jit ÷ ours | eager numpy ÷ ours |\n"
        "| ------ | -------- | -------: | -------------: | -----------------: |\n"
        "| `call` | `leaf`   |     1.00 |       8.00 (2) |                  - |\n"
        "| `mlp`  | `batch1` |     20.0 |              - | **0.90** (0.95) \\* |\n"
    )
    assert report.verdict(figures.in_question(rows, asked), asked) == (
        "1 of 2 figures are reached.\n- Short: `mlp` of `batch1`, 0.90 of 0.95 beside eager numpy.\n"
    )


def test_files_have_a_table_of_their_own(module):
    figures, report = module("figures"), module("report")
    times = {
        ("save", "small10000"): {"clika_pytree": 0.01, "safetensors": 0.06, "raw": 0.003},
        ("load", "gibibyte"): {"clika_pytree": 0.003},
    }
    asked = [
        {"operation": "save", "tree": "small10000", "safetensors": 5, "raw": 0.5},
        {"operation": "load", "tree": "gibibyte", "nanoseconds": 2e6},
    ]
    rows = figures.rows(times, asked)
    assert report.tables(rows) == (
        "Files:\n\n"
        "| call   | on           |                   ours, µs | safetensors.numpy ÷ ours |  raw write ÷ ours |\n"
        "| ------ | ------------ | -------------------------: | -----------------------: | ----------------: |\n"
        "| `save` | `small10000` |                      10000 |                 6.00 (5) | **0.30** (0.5) \\* |\n"
        "| `load` | `gibibyte`   | **3000** (at most 2000) \\* |                        - |                 - |\n"
    )
    assert "`save` of `small10000`, 0.30 of 0.5 beside raw write." in report.verdict(rows, asked)


def test_the_median_counts_where_it_is_asked_for(module):
    figures = module("figures")
    row = measured("save", "small10000", "clika_pytree", 1e-3)
    row["extra_info"]["figure"], row["stats"]["median"] = "median", 2e-3
    assert figures.best([{"benchmarks": [row]}]) == {("save", "small10000"): {"clika_pytree": 2e-3}}


def test_what_is_saved_and_loaded_is_right(module, tmp_path):
    files = module("files")
    state = {f"a{n}": row for n, row in enumerate(np.arange(6, dtype=np.float32).reshape(3, 2))}
    for _, make in files.SUBJECTS.values():
        subject = make(state, tmp_path)
        assert "clika_pytree" in subject.calls
        for call in subject.calls.values():
            subject.before()
            assert subject.check(call())
    assert not subject.check(dict(reversed(state.items())))


def test_what_is_compiled_gives_what_is_right(module):
    compiled = module("compiled")
    for operation, (names, make) in compiled.SUBJECTS.items():
        subject = make(names[0], False)
        has = {name: importlib.util.find_spec(name) is not None for name in ("mlx", "torch")}
        counts = {"call": 1, "jax_step": 0, "mlx_step": 2 * has["mlx"], "torch_step": 2 * has["torch"]}
        assert len(subject.calls) == counts.get(operation, 2)
        for call in subject.calls.values():
            assert subject.check(call())
            assert subject.check(call())
        if operation in ("call", "mlp", "chain"):
            assert not subject.check(np.ones(3))


def test_what_is_compiled_by_jax_gives_what_is_right(module):
    pytest.importorskip("jax")
    for operation, name in (("call", "leaf"), ("jax_step", "tensors10")):
        subject = module("compiled").SUBJECTS[operation][1](name, True)
        assert len(subject.calls) == 2
        for call in subject.calls.values():
            assert subject.check(call())
    assert not subject.check({"layer0": {"w0": np.ones(2)}})


@pytest.mark.parametrize(
    ("power", "of_floor", "linear"),
    [(1, None, True), (1.3, 1.25, True), (1.3, 1, False), (1.3, None, True), (2, None, False), (2, 2, False)],
)
def test_growth_is_linear_or_not(module, power, of_floor, linear):
    figures, report = module("figures"), module("report")
    sizes = [10**3, 10**4, 10**5]
    of_growth = [measured("map", "growing", "clika_pytree", n**power * 1e-9, leaves=n) for n in reversed(sizes)]
    if of_floor is not None:
        of_growth += [measured("map", "growing", "floor", n**of_floor * 1e-9, leaves=n) for n in sizes]
    curves = figures.growth([{"benchmarks": [*of_growth, measured("map", "leaf", "clika_pytree", 1)]}])
    points = curves["map"]["clika_pytree"]
    assert [leaves for leaves, _ in points] == sizes
    assert figures.exponent(points) == pytest.approx(power)
    words, straight = report.linear(curves)
    assert straight == linear
    assert ("not linear" in words) == (not linear)
    assert f"to the power of {power:.2f}" in words


def test_the_page_is_filled_between_its_markers(module, tmp_path):
    report = module("report")
    page = tmp_path / "page.md"
    begin, end = report.MARKERS["times"]
    page.write_text(f"# Before\n{begin}\nold\n{end}\nafter\n")
    for text in ["first\n", "second\n"]:
        report.fill(page, "times", text)
        assert page.read_text() == f"# Before\n{begin}\n\n{text}\n{end}\nafter\n"
    page.write_text("no markers")
    with pytest.raises(ValueError, match="does not have the lines"):
        report.fill(page, "times", "text")
    assert page.read_text() == "no markers"
    docs = report.PAGE.read_text()
    assert all(docs.count(marker) == 1 for pair in report.MARKERS.values() for marker in pair)


@pytest.mark.parametrize("wrong", ["one leaf less", "another order", "an equal leaf"])
def test_a_wrong_result_has_no_time(module, wrong):
    checks = module("checks")
    tree = {"b": object(), "a": 1.5}
    leaves = list(tree.values())
    checks.check("clika_pytree", "leaves", leaves, tree)
    checks.check("optree", "leaves", leaves[::-1], tree)
    given = {"one leaf less": leaves[:1], "another order": leaves[::-1], "an equal leaf": [leaves[0], float("1.5")]}
    with pytest.raises(AssertionError):
        checks.check("clika_pytree", "leaves", given[wrong], tree)


def test_what_is_rebuilt_has_to_be_a_new_tree_of_the_same_leaves(module):
    checks = module("checks")
    tree = [object(), (object(),)]
    checks.check("clika_pytree", "map", [tree[0], (tree[1][0],)], tree)
    for wrong in [tree, [tree[0], [tree[1][0]]], [tree[0], (object(),)]]:
        with pytest.raises(AssertionError):
            checks.check("clika_pytree", "map", wrong, tree)


def test_a_debug_build_is_refused(module, monkeypatch):
    release = module("release")
    monkeypatch.setattr(_native, "build_profile", "debug")
    with pytest.raises(SystemExit, match="debug build of clika_pytree"):
        release.require_release()


def test_it_runs(tmp_path):
    pytest.importorskip("pytest_benchmark")
    operations = "--operations=flatten,unflatten,with_path,equal,hash,call,mlp"
    rows = ["--trees=leaf,classes100,batch1", operations, "--engines=clika_pytree"]
    done = run(tmp_path, str(BENCH / "run.py"), "--quick", "--into", "report", *rows, "--benchmark-max-time=0.001")
    if not RELEASE:
        assert done.returncode == 1
        assert "debug build" in done.stderr
        return
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "report" / "operations-1.json").read_text())
    assert len(report["benchmarks"]) == 13
    assert report["machine_info"]["build_profile"] == "release"
    assert set(report["machine_info"]["versions"]) == {"clika_pytree", "numpy"}
    assert (tmp_path / "report" / "table.md").read_text() in done.stdout
    assert "| `flatten` | `leaf`" in done.stdout
    assert "| `mlp`" in done.stdout
    assert "| `unflatten` | `classes100`" in (tmp_path / "report" / "all.md").read_text()


def test_what_is_counted_runs(tmp_path):
    done = run(tmp_path, str(BENCH / "counted.py"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "counted\n", "")


def test_counts_become_instructions_per_leaf(module, monkeypatch):
    instructions = module("instructions")
    every = [("floor", "list", "map", 10, 2, None), ("floor", "list", "map", 10, 4, None)]
    monkeypatch.setattr(instructions, "series", lambda: iter(every))
    # The start, two runs, what lies between, four runs; the series itself costs 7.
    assert instructions.per_leaf([10**6, 7 + 2 * 300, 50, 7 + 4 * 300]) == {"floor": {"list": {"map": 30.0}}}
    with pytest.raises(SystemExit, match="wrote 3 counts for 2 series"):
        instructions.per_leaf([1, 2, 3])


@pytest.mark.parametrize(
    ("figure", "stored", "word", "failed"),
    [
        (60, None, "within the limit of 70", False),
        (71, None, "SHORT of the limit of 70", False),
        (60, 59, "within the limit of 70", False),
        (60, 58, "at most 3 % is allowed", True),
        (60, 63, "store it with --record", False),
        (71, 70, "SHORT of the limit of 70", True),
        (100, 101, "SHORT of the limit of 70", False),
    ],
)
def test_more_instructions_than_stored_fail_and_so_does_a_limit_that_was_kept(module, figure, stored, word, failed):
    instructions = module("instructions")
    before = {} if stored is None else {"list": {"flatten": stored}}
    figures = {"clika_pytree": {"list": {"flatten": figure}}, "floor": {"list": {"flatten": 80}}}
    ((line, answer),) = instructions.compared(figures, before)
    assert f"{figure:.1f}     80.0  " in line
    assert word in line
    assert answer == failed


def test_stored_instructions_are_of_what_is_counted(module):
    instructions, counted = module("instructions"), module("counted")
    stored = json.loads(instructions.STORED.read_text())
    names = {(shape, operation) for engine, shape, operation, *_ in counted.series() if engine == counted.OURS}
    for figures in stored.values():
        assert {(shape, operation) for shape, row in figures.items() for operation in row} == names
        assert all(figure > 0 for row in figures.values() for figure in row.values())


def test_without_valgrind_it_says_so_and_does_not_fail(module, monkeypatch, capsys):
    if not RELEASE:
        pytest.skip("a debug build is refused first")
    instructions = module("instructions")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["instructions.py"])
    instructions.main()
    assert "valgrind is missing" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["instructions.py", "--record"])
    with pytest.raises(SystemExit, match="valgrind is missing"):
        instructions.main()


def test_the_floor_does_what_it_says(module):
    floor = module("floor").build_floor()
    if floor is None:
        pytest.skip("no C compiler")
    trees = module("trees")
    for tree in [trees.gpt12(), trees.adam(), trees.args(), trees.deep(), [], 1]:
        leaves, spec = floor.flatten(tree)
        assert floor.match(spec, tree) == leaves
        assert floor.unflatten(spec, leaves) == tree
        assert floor.map(lambda leaf: leaf, tree) == tree
    assert [floor.match(floor.flatten(tree)[1], [3]) for tree in ([1, 2], (1,), {0: 1})] == [None, None, None]


def test_the_rows_in_the_readme_are_those_of_the_page(module):
    report = module("report")
    begin, end = report.MARKERS["times"]
    table = report.short_table(report.PAGE.read_text(encoding="utf-8"))
    assert table.count("\n") == 2 + len(report.IN_README)
    assert report.README.read_text(encoding="utf-8").split(begin)[1].split(end)[0].strip() == table.strip()
