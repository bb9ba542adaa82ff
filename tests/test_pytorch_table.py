"""The table of docs/pytorch.md: what it says of this package, and the programs that show it."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any

import pytest
from pytorch_programs import EVERYWHERE, Program, all_programs
from pytorch_table import VERDICTS, Row, rows

from clika_pytree import pytree, typing

ROWS = rows()
ROW_OF = {name: row for row in ROWS for name in row.there}


def resolve(name: str) -> Any:
    """What a dotted name of the table stands for; an error where it is none."""
    module, _, rest = name.partition(".")
    return getattr(typing, rest) if module == "typing" else operator.attrgetter(name)(pytree)


def exists(name: str) -> bool:
    try:
        return resolve(name) is not None
    except AttributeError:
        return False


def refused(result: Any) -> bool:
    """Whether a program's result is nothing but errors."""
    return all(str(each).endswith("Error") for each in (result if isinstance(result, list) else [result]))


def test_each_name_has_one_row() -> None:
    assert [name for name, count in Counter(name for row in ROWS for name in row.there).items() if count > 1] == []
    assert len(ROWS) > 40


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_is_true_of_this_package(row: Row) -> None:
    assert row.verdict in VERDICTS
    assert row.there
    if row.verdict == "absent":
        assert row.here == []
        assert row.note.endswith(".")
        assert [name for name in row.there if exists(name)] == []
    else:
        named = row.here if row.verdict == "differs" else row.there
        assert named
        assert [name for name in named if not exists(name)] == []
        assert (row.here == []) is (row.verdict == "same")
        assert row.note.endswith(".") or row.verdict == "same"


@pytest.mark.parametrize("program", all_programs(), ids=str)
def test_a_program_goes_with_its_row(program: Program) -> None:
    """Results differ only where the table says so; what is "same" may take more than PyTorch does."""
    if program.row is None:
        assert repr(program.here) == repr(program.there)
    elif program.row != EVERYWHERE:
        assert ROW_OF[program.row].verdict != "same" or refused(program.there)


@pytest.mark.parametrize("row", [row for row in ROWS if row.verdict == "differs"], ids=str)
def test_a_program_shows_each_difference(row: Row) -> None:
    if not all(name.startswith("typing.") for name in row.here):
        assert any(program.row in row.there for program in all_programs())


@pytest.mark.parametrize("row", [row for row in ROWS if row.verdict == "same"], ids=str)
def test_programs_show_what_is_the_same(row: Row) -> None:
    used = set().union(*(program.names() for program in all_programs() if program.row is None))
    assert {name.rpartition(".")[2] for name in row.there} <= used
