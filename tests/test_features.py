"""The table of the README says the truth: each cell is computed with the library that it is about."""

from __future__ import annotations

import features
import pytest
from registering import clean_registry  # noqa: F401

TABLE = features.table()


@pytest.mark.parametrize("column", features.LIBRARIES)
def test_a_column_is_true(column: str) -> None:
    module = pytest.importorskip(features.LIBRARIES[column], reason="its column is computed where it is installed")
    assert {row: cells[column] for row, cells in TABLE.items()} == {
        row: compute(module) for row, compute in features.ROWS.items()
    }


def test_the_table_has_every_row_and_column() -> None:
    assert [*TABLE] == [*features.ROWS]
    assert all([*cells] == [*features.LIBRARIES] for cells in TABLE.values())
