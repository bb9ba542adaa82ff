"""The tables of docs/pytorch.md as data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCUMENT = Path(__file__).parents[1] / "docs" / "pytorch.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
HEADER = "| PyTorch | here | | how, or why |"
VERDICTS = ("same", "differs", "absent")

(VERSION,) = re.findall(r"as of PyTorch (\d+\.\d+)", TEXT)
"""The release the table was written for."""


class Row(NamedTuple):
    there: list[str]
    here: list[str]
    verdict: str
    note: str

    def __str__(self) -> str:
        return self.there[0]


def rows() -> list[Row]:
    found = []
    for table in TEXT.split(HEADER)[1:]:
        for line in table.split("\n\n")[0].splitlines()[2:]:
            there, here, verdict, note = (cell.strip() for cell in line.strip("|").split("|"))
            found.append(Row(names(there), names(here), verdict, note))
    return found


def names(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)
