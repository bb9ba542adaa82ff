"""The arithmetic of the tables: from pytest-benchmark's JSON to ratios, and what is asked of them."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OURS, FLOOR = "clika_pytree", "floor"
ASKED = Path(__file__).with_name("asked.json")

# (operation, tree) -> engine -> seconds of a call
Times = dict[tuple[str, str], dict[str, float]]


def best(reports: Iterable[dict[str, Any]]) -> Times:
    """The shortest time of a call in any of the reports; of what waits for a disk, the shortest median.

    Trees that grow have their own table.
    """
    times: Times = {}
    for report in reports:
        for measured in report["benchmarks"]:
            info = measured["extra_info"]
            if info["tree"] != "growing":
                row = times.setdefault((info["operation"], info["tree"]), {})
                seconds = measured["stats"][info.get("figure", "min")] / info["calls"]
                row[info["engine"]] = min(seconds, row.get(info["engine"], math.inf))
    return times


@dataclass(frozen=True)
class Cell:
    """A figure beside the one that is asked for: a ratio at least that, or a time at most that."""

    figure: float
    asked: float | None = None
    is_time: bool = False

    @property
    def short(self) -> bool:
        if self.asked is None:
            return False
        return self.figure > self.asked if self.is_time else self.figure < self.asked


@dataclass(frozen=True)
class Row:
    operation: str
    tree: str
    ours: float
    cells: dict[str, Cell]

    @property
    def short(self) -> dict[str, Cell]:
        return {engine: cell for engine, cell in self.cells.items() if cell.short}


def rows(times: Times, asked: list[dict[str, Any]]) -> list[Row]:
    """A row for each operation and tree that was measured: how many times as long as ours each engine takes."""
    wanted = {(each["operation"], each["tree"]): each for each in asked}
    found = []
    for (operation, tree), row in times.items():
        if OURS not in row:
            continue
        figures = wanted.get((operation, tree), {})
        cells = {engine: Cell(time / row[OURS], figures.get(engine)) for engine, time in row.items() if engine != OURS}
        if "nanoseconds" in figures:
            cells[OURS] = Cell(row[OURS] * 1e9, figures["nanoseconds"], is_time=True)
        found.append(Row(operation, tree, row[OURS], cells))
    return found


def in_question(found: list[Row], asked: list[dict[str, Any]]) -> list[Row]:
    """The rows of which something is asked, in that order."""
    by_name = {(row.operation, row.tree): row for row in found}
    names = [(each["operation"], each["tree"]) for each in asked]
    return [by_name[name] for name in names if name in by_name]


def load_asked() -> list[dict[str, Any]]:
    return json.loads(ASKED.read_text())


# engine -> (leaves, seconds), ascending
Curves = dict[str, list[tuple[int, float]]]


def growth(reports: Iterable[dict[str, Any]]) -> dict[str, Curves]:
    """Of each operation the times on trees that grow."""
    shortest: dict[str, dict[str, dict[int, float]]] = {}
    for report in reports:
        for measured in report["benchmarks"]:
            info = measured["extra_info"]
            if info["tree"] == "growing":
                points = shortest.setdefault(info["operation"], {}).setdefault(info["engine"], {})
                points[info["leaves"]] = min(measured["stats"]["min"], points.get(info["leaves"], math.inf))
    return {
        operation: {engine: sorted(points.items()) for engine, points in curves.items()}
        for operation, curves in shortest.items()
    }


def exponent(points: list[tuple[int, float]]) -> float:
    """p where the time grows like leaves ** p: the slope of the straight line through the logarithms."""
    x = [math.log(leaves) for leaves, _ in points]
    y = [math.log(seconds) for _, seconds in points]
    middle, height = sum(x) / len(x), sum(y) / len(y)
    return sum((a - middle) * (b - height) for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)
