"""The order of the house: which Rust room may use which, where unsafe code may be, and how long a file gets."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RUST = ROOT / "rust" / "src"
# From the ground up: a room uses those before it.
ROOMS = [
    "structure",
    "errors",
    "arguments",
    "memory",
    "limits",
    "ffi",
    "values",
    "keys",
    "registry",
    "spec",
    "walk",
    "guards",
    "files",
    "python",
    "faults",
]
UNSAFE = {
    "faults.rs",
    "ffi/mod.rs",
    "files/buffers.rs",
    "files/mapping.rs",
    "memory.rs",
    "walk/agenda.rs",
    "walk/cursor.rs",
    "walk/dive.rs",
    "walk/follow.rs",
    "walk/matching.rs",
    "walk/nodes.rs",
}
LONGEST_FILE = 450

rust_files = sorted(RUST.rglob("*.rs"))
python_files = sorted([*ROOT.glob("clika_pytree/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("bench/*.py")])


def room_of(path: Path) -> str:
    return path.relative_to(RUST).parts[0].removesuffix(".rs")


@pytest.mark.parametrize("path", [p for p in rust_files if p.name != "lib.rs"], ids=lambda p: str(p.relative_to(RUST)))
def test_a_room_uses_only_those_below_it(path):
    room = room_of(path)
    used = set(re.findall(r"\bcrate::(\w+)", path.read_text()))
    assert used <= set(ROOMS[: ROOMS.index(room) + 1])


def test_the_shape_of_a_tree_knows_no_python():
    assert all("pyo3" not in path.read_text() for path in rust_files if room_of(path) == "structure")


def test_unsafe_code_is_where_it_is_allowed():
    allowed = {str(p.relative_to(RUST)) for p in rust_files if "#![allow(unsafe_code)]" in p.read_text()}
    assert allowed == UNSAFE


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("clika_pytree/runtimes/**/*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_runtimes_know_nothing_of_the_boundaries(path):
    """The boundaries use runtimes; a recorder gets flat lists, and never sees a tree."""
    text = path.read_text()
    assert "boundary" not in re.findall(r"^ *from clika_pytree\.(\w+)", text, re.M)
    assert not re.search(r"\btree_(?!util\b)\w+|\bTreeSpec\b", text)


@pytest.mark.parametrize("path", rust_files + python_files, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_is_read_in_one_sitting(path):
    assert len(path.read_text().splitlines()) <= LONGEST_FILE
