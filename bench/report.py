"""What a person reads of the figures: the tables in Markdown, and the page that shows them."""

from pathlib import Path
from typing import Any

from figures import FLOOR, OURS, Cell, Curves, Row, exponent

PEERS = ["jaxlib", "optree", "dm-tree", "torch"]
# What is beside a compiled function, and how the table calls it.
BESIDE_COMPILED = {
    "jaxlib": "jax.jit",
    "mlx": "mx.compile",
    "torch": "torch.compile",
    "numpy": "eager numpy",
    "10 graphs": "among 10 graphs",
}
COMPILED = {"call", "jax_step", "mlx_step", "torch_step", "other_graph", "no_graph", "mlp", "chain"}
# And what is beside a file.
BESIDE_FILES = {"safetensors": "safetensors.numpy", "raw": "raw write"}
FILES = {"save", "save_synced", "load"}
# What is linear has an exponent of 1, what is quadratic of 2. Caches that end between a thousand leaves and ten million
# cost every engine some 0.3; beside the floor, which does nothing but walk, they cancel out.
STEEPEST, STEEPEST_BESIDE_FLOOR = 1.5, 0.2

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
README = Path(__file__).parents[1] / "README.md"
IN_README = [
    *(("flatten", "gpt12"), ("unflatten", "gpt12"), ("map", "gpt12"), ("with_path", "gpt12"), ("equal", "gpt12")),
    *(("flatten", "leaf"), ("flatten", "deep100"), ("flatten", "dataclasses100")),
]
# What a command writes into the page stands between two such lines.
MARKERS = {
    "times": ("<!-- written by: make bench ARGS=--docs -->", "<!-- end of the times -->"),
    "instructions": ("<!-- written by: make bench-instructions ARGS=--docs -->", "<!-- end of the instructions -->"),
}


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cell(found: Cell | None) -> str:
    """`5.3 (4)`: the ratio, and in brackets the one that is asked; a star where it is short of that."""
    if found is None:
        return "-"
    asked = "" if found.asked is None else f" ({found.asked:g})"
    return f"**{number(found.figure)}**{asked} \\*" if found.short else f"{number(found.figure)}{asked}"


def time_of(row: Row) -> str:
    limited = row.cells.get(OURS)
    micro = f"{row.ours * 1e6:.3f}" if row.ours < 1e-6 else number(row.ours * 1e6)
    if limited is None:
        return micro
    asked = f"{limited.asked / 1000:g}" if limited.asked else ""
    return f"**{micro}** (at most {asked}) \\*" if limited.short else f"{micro} (at most {asked})"


def aligned(lines: list[list[str]], names: int) -> str:
    """A table whose columns stand below each other in a terminal, too. The first ones are names, the others figures."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]

    def row(texts: list[str], fill: str = " ") -> str:
        padded = [
            text.ljust(widths[i], fill) if i < names else text.rjust(widths[i], fill) for i, text in enumerate(texts)
        ]
        return f"| {' | '.join(padded)} |"

    head, *body = lines
    rule = row(["-" if i < names else "-:" for i in range(len(widths))], "-")
    return "\n".join([row(head), rule, *(row(line) for line in body)]) + "\n"


def tables(found: list[Row]) -> str:
    """One of trees, one of compiled functions, and one of files."""
    of_trees = [row for row in found if row.operation not in COMPILED | FILES]
    of_functions = [row for row in found if row.operation in COMPILED]
    of_files = [row for row in found if row.operation in FILES]
    parts = [table(of_trees)] if of_trees or not (of_functions or of_files) else []
    if of_functions:
        parts.append(f"Compiled functions:\n\n{table_beside(BESIDE_COMPILED, of_functions)}")
    if of_files:
        parts.append(f"Files:\n\n{table_beside(BESIDE_FILES, of_files)}")
    return "\n".join(parts)


def table_beside(names: dict[str, str], found: list[Row]) -> str:
    beside = [name for name in names if any(name in row.cells for row in found)]
    lines = [["call", "on", "ours, µs", *[f"{names[name]} ÷ ours" for name in beside]]]
    for row in found:
        cells = [cell(row.cells.get(name)) for name in beside]
        lines.append([f"`{row.operation}`", f"`{row.tree}`", time_of(row), *cells])
    return aligned(lines, names=2)


def table(found: list[Row]) -> str:
    peers = [peer for peer in PEERS if any(peer in row.cells for row in found)]
    lines = [["operation", "tree", "ours, µs", *[f"{peer} ÷ ours" for peer in peers], "floor ÷ ours"]]
    for row in found:
        ratios = [cell(row.cells.get(engine)) for engine in [*peers, FLOOR]]
        lines.append([f"`{row.operation}`", f"`{row.tree}`", time_of(row), *ratios])
    return aligned(lines, names=2)


def in_words(operation: str, engine: str, short: Cell) -> str:
    if short.is_time:
        return f"{short.figure:.0f} ns where at most {short.asked:g} are asked"
    names = BESIDE_COMPILED if operation in COMPILED else BESIDE_FILES if operation in FILES else {}
    beside = names.get(engine, engine)
    return f"{number(short.figure)} of {short.asked:g} beside {beside}"


def verdict(found: list[Row], asked_of: list[dict[str, Any]]) -> str:
    """How many figures are reached, and which are not, with the floor's time beside ours."""
    asked = sum(each.asked is not None for row in found for each in row.cells.values())
    short = [row for row in found if row.short]
    lines = [f"{asked - sum(len(row.short) for row in short)} of {asked} figures are reached."]
    for row in short:
        told = [in_words(row.operation, engine, each) for engine, each in row.short.items()]
        floor = row.cells.get(FLOOR)
        beside = f"; the floor takes {number(floor.figure * row.ours * 1e6)} µs" if floor else ""
        lines.append(f"- Short: `{row.operation}` of `{row.tree}`, {', '.join(told)}{beside}.")
    measured = {engine for row in found for engine in row.cells}
    absent = [engine for engine in [*PEERS, FLOOR] if engine not in measured and any(engine in row for row in asked_of)]
    if absent:
        lines.append(f"- Not here, so nothing is said beside {' and '.join(absent)}.")
    return "\n".join(lines) + "\n"


def linear(curves: dict[str, Curves]) -> tuple[str, bool]:
    """How our times grow, and whether that is linear."""
    lines, straight = [], True
    for operation, engines in curves.items():
        points = engines.get(OURS, [])
        if len(points) < 2:
            continue
        power = exponent(points)
        (few, short), (many, long) = points[0], points[-1]
        each = f"{short / few * 1e9:.0f} ns a leaf at {few:,} leaves, {long / many * 1e9:.0f} at {many:,}"
        line = f"- `{operation}`: leaves to the power of {power:.2f}, {each}"
        steep = power > STEEPEST
        if FLOOR in engines:
            of_floor = exponent(engines[FLOOR])
            steep = steep or power - of_floor > STEEPEST_BESIDE_FLOOR
            line += f"; the floor to the power of {of_floor:.2f}"
        lines.append(f"{line}. **This is not linear.**" if steep else f"{line}.")
        straight = straight and not steep
    return "\n".join(lines) + "\n", straight


def short_table(page: str) -> str:
    """Some rows of the page's table of trees, for the README: our time and the ratios alone."""
    split = [[text.strip(" *\\") for text in line.strip("|").split("|")] for line in page.splitlines() if "|" in line]
    head = next(line for line in split if line[:2] == ["operation", "tree"])
    kept = [column for column, name in enumerate(head) if not name.startswith("floor")]
    body = {(line[0].strip("`"), line[1].strip("`")): line for line in split if len(line) == len(head)}
    lines = [head, *(body[row] for row in IN_README if row in body)]
    return aligned([[line[column].split(" (")[0].strip("*") for column in kept] for line in lines], names=2)


def machine(report: dict[str, Any], load: float) -> str:
    info = report["machine_info"]
    cpu = info.get("cpu", {}).get("brand_raw") or info["machine"]
    engines = ", ".join(f"{name} {version}" for name, version in info["versions"].items())
    commit = report.get("commit_info", {}).get("id", "")[:10] or "unknown"
    busy = "" if load < 0.5 else " **The machine was busy: only large differences mean anything.**"
    return (
        f"{report['datetime'][:10]}, {info['system']} on {info['cpus']} of {cpu}, load {load:.1f} at the start;"
        f" {info['python_implementation']} {info['python_version']} ({info['python_compiler']}), {engines};"
        f" {info['build_profile']} build of commit {commit}.{busy}\n"
    )


def fill(page: Path, part: str, text: str) -> None:
    """Put the text between the two markers of that part of the page."""
    begin, end = MARKERS[part]
    old = page.read_text()
    if old.count(begin) != 1 or old.count(end) != 1:
        raise ValueError(f"{page} does not have the lines {begin!r} and {end!r} once each")
    before, rest = old.split(begin)
    page.write_text(f"{before}{begin}\n\n{text}\n{end}{rest.split(end)[1]}")
