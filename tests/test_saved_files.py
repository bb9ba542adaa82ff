"""Files that earlier versions wrote load for ever, and the present one writes the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tensor_files import same_tree
from write_saved import saved

import clika_pytree as cp

FOLDER = Path(__file__).parent / "saved_v1"
TREES = saved()


def test_there_is_a_file_of_each_kind():
    assert {path.stem for path in FOLDER.iterdir()} == {*TREES}


@pytest.mark.parametrize("name", [*TREES])
@pytest.mark.parametrize("mmap", [True, False])
def test_a_file_of_version_1_loads(name, mmap):
    assert same_tree(cp.load(FOLDER / f"{name}.safetensors", mmap=mmap), TREES[name])


@pytest.mark.parametrize("name", [*TREES])
def test_the_present_version_writes_the_same_bytes(name, tmp_path):
    cp.save(TREES[name], tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == (FOLDER / f"{name}.safetensors").read_bytes()
