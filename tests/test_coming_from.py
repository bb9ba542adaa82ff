"""The tables of docs/from_jax.md and docs/from_optree.md name everything there is, and lead to what there is."""

from __future__ import annotations

import importlib
import operator
import re
from collections import Counter
from pathlib import Path

import pytest

import clika_pytree

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {"jax": ("from_jax.md", "JAX"), "optree": ("from_optree.md", "optree")}


def rows(library: str) -> list[tuple[list[str], list[str]]]:
    name, title = PAGES[library]
    table = (
        (DOCS / name).read_text(encoding="utf-8").split(f"| {title} | here | what is different |")[1].split("\n\n")[0]
    )
    cells = [line.strip("|").split("|")[:2] for line in table.splitlines()[2:]]
    return [(re.findall(r"`([\w.]+)`", there), re.findall(r"`([\w.]+)`", here)) for there, here in cells]


@pytest.mark.parametrize("library", PAGES)
def test_what_the_table_leads_to_is_there(library: str) -> None:
    importlib.import_module("clika_pytree.typing")
    assert len(rows(library)) > 25
    for _, here in rows(library):
        for name in here:
            assert operator.attrgetter(name)(clika_pytree) is not None


@pytest.mark.parametrize(("library", "module"), [("jax", "jax.tree_util"), ("optree", "optree")])
def test_the_table_has_every_name_once(library: str, module: str) -> None:
    other = pytest.importorskip(module, reason="the table is held against it")
    public = other.__all__ if hasattr(other, "__all__") else [name for name in dir(other) if not name.startswith("_")]
    counts = Counter(name for there, _ in rows(library) for name in there)
    assert set(counts) == set(public)
    assert set(counts.values()) == {1}
