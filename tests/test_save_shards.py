"""Trees in several files with an index: what is written, what is removed, and what a killed writer leaves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tensor_files import names_in, same_tree

import clika_pytree as cp

posix = pytest.mark.skipif(sys.platform == "win32", reason="locks and signals of POSIX")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def shards(folder: Path) -> list[str]:
    return [name for name in names_in(folder) if "-of-" in name]


@pytest.mark.parametrize("tree", [{f"t{n}": np.full(100, n) for n in range(5)}, [np.full(100, n) for n in range(5)]])
def test_shards_and_their_index(tree, tmp_path):
    path = tmp_path / "model.safetensors"
    cp.save(tree, path, max_shard_bytes=1700)
    assert len(shards(tmp_path)) == 3
    assert len(names_in(tmp_path)) == 4
    for place in (path, tmp_path, tmp_path / "model.safetensors.index.json"):
        assert same_tree(cp.load(place), tree)
        assert same_tree(cp.load(place, mmap=False), tree)
    found = cp.inspect(path)
    assert found.files == 3
    assert "3 files" in repr(found)


def test_saving_again_removes_what_was_there(tmp_path):
    path = tmp_path / "model.safetensors"
    tree = {f"t{n}": np.full(100, n) for n in range(5)} | {"step": 3}
    cp.save(tree, path, max_shard_bytes=1000)
    before = shards(tmp_path)
    cp.save(tree, path, max_shard_bytes=1700)
    assert len(shards(tmp_path)) == 3
    assert not {*before} & {*shards(tmp_path)}
    cp.save(tree, path, max_shard_bytes=1 << 20)
    assert names_in(tmp_path) == ["model.safetensors"]
    cp.save(tree, path, max_shard_bytes=1000)
    assert path.name not in names_in(tmp_path)
    assert same_tree(cp.load(path), tree)


def test_shards_of_others_stay(tmp_path):
    pytest.importorskip("safetensors.numpy").save_file({"a": np.ones(1)}, tmp_path / "model-00001-of-00001.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{"metadata": {"total_size": 8}, "weight_map": {"a": "model-00001-of-00001.safetensors"}}')
    assert [*cp.load(tmp_path)] == ["a"]
    before = names_in(tmp_path)
    cp.save({"b": np.ones(1)}, tmp_path / "model.safetensors")
    assert names_in(tmp_path) == sorted([*before, "model.safetensors"])


def test_what_fails_in_the_middle_of_shards_leaves_the_old_ones(tmp_path):
    path = tmp_path / "model.safetensors"
    tree = {f"t{n}": np.full(100, n) for n in range(5)}
    cp.save(tree, path, max_shard_bytes=1000)
    before = names_in(tmp_path)

    def stop(done: int, total: int) -> None:
        if done > 2000:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        cp.save({f"t{n}": np.full(100, -n) for n in range(5)}, path, max_shard_bytes=1000, progress=stop)
    assert names_in(tmp_path) == before
    assert same_tree(cp.load(path), tree)


BAD_INDEXES = {
    "no JSON": ("{", "the index is none of tensors"),
    "no map": ("{}", "no weight_map"),
    "a path": ('{"weight_map": {"a": "../b.safetensors"}}', "a file beside it should be named"),
    "an absolute path": ('{"weight_map": {"a": "/b.safetensors"}}', "a file beside it should be named"),
    "a number": ('{"weight_map": {"a": 3}}', "a file beside it should be named"),
    "another tensor": ('{"weight_map": {"b": "s.safetensors"}}', "'a' of s.safetensors is not in the index"),
    "one more tensor": ('{"weight_map": {"a": "s.safetensors", "b": "s.safetensors"}}', "has no tensor 'b'"),
    "a name twice": ('{"weight_map": {"a": "s.safetensors", "a": "s.safetensors"}}', "two members of one name"),
}


@pytest.mark.parametrize(("text", "words"), BAD_INDEXES.values(), ids=BAD_INDEXES.keys())
def test_an_index_that_does_not_fit(text, words, tmp_path):
    cp.save({"a": np.ones(1)}, tmp_path / "s.safetensors")
    index = tmp_path / "m.safetensors.index.json"
    index.write_text(text)
    with pytest.raises(cp.FileFormatError, match=words) as caught:
        cp.load(index)
    assert str(caught.value).startswith(f"{index}: ")


def test_a_file_of_an_index_that_is_missing(tmp_path):
    index = tmp_path / "m.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "s.safetensors"}}')
    with pytest.raises(FileNotFoundError) as caught:
        cp.load(index)
    assert caught.value.filename == str(tmp_path / "s.safetensors")


@pytest.mark.parametrize(
    ("most", "error"),
    [
        (0, cp.PyTreeValueError),
        (-1, cp.PyTreeValueError),
        (1.5, cp.PyTreeTypeError),
        ("1", cp.PyTreeTypeError),
        (True, cp.PyTreeTypeError),
    ],
)
def test_a_size_of_shards_is_a_number(most, error, path):
    with pytest.raises(error, match="as max_shard_bytes"):
        cp.save({"a": np.ones(1)}, path, max_shard_bytes=most)


# --- killed writers, and several at once ------------------------------------------------------------------------------


def constant(number: int, tensors: int = 6) -> dict:
    return {f"t{n}": np.full(200, number) for n in range(tensors)}


def number_in(path: Path) -> int:
    """The number that all tensors of a whole save are full of."""
    tree = cp.load(path, mmap=False)
    numbers = {int(number) for array in tree.values() for number in np.unique(array)}
    assert len(numbers) == 1, numbers
    return numbers.pop()


def indexed(path: Path) -> list[str]:
    index = path.with_name(path.name + ".index.json")
    return sorted({index.name, *json.loads(index.read_text())["weight_map"].values()})


TEMPORARY = re.compile(r"\.model(-[0-9a-f]{8}-\d{5}-of-\d{5})?\.safetensors(\.index\.json)?\.[0-9a-f]{16}\.clika-tmp")
WRITER = """
import numpy as np, clika_pytree as cp
number = 0
print("begun", flush=True)
while True:
    number += 1
    cp.save({f"t{n}": np.full(200, number) for n in range(6)}, %r, max_shard_bytes=2000, fsync=False)
"""


def killed(path: Path, rounds: int) -> None:
    draw = np.random.default_rng(rounds)
    cp.save(constant(0), path, max_shard_bytes=2000)
    for _ in range(rounds):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER % str(path)], stdout=subprocess.PIPE, cwd=Path(__file__).parent
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(draw.uniform(0, 0.05))
            process.kill()
        number_in(path)
        left = [name for name in names_in(path.parent) if name not in indexed(path)]
        assert len([name for name in left if "-of-" in name and name[0] != "."]) <= 6
        hidden = [name for name in left if name[0] == "."]
        assert len(hidden) <= 2  # the mark of who writes here, and one file
        assert all(TEMPORARY.fullmatch(name) for name in hidden)
    cp.save(constant(-1), path, max_shard_bytes=2000)
    assert number_in(path) == -1
    assert names_in(path.parent) == indexed(path)


@posix
def test_a_killed_writer_of_several_files_leaves_the_old_ones_or_the_new_ones(path):
    killed(path, 4)


@posix
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_hundred_killed_writers_of_several_files(path):
    killed(path, 200)


LEFT = [
    "model-01234567-00001-of-00002.safetensors",
    ".model-01234567-00002-of-00002.safetensors.0123456789abcdef.clika-tmp",
]
OTHERS = [
    "model-01234567-1-of-2.safetensors",
    "model-00001-of-00002.safetensors",
    "other-01234567-00001-of-00002.safetensors",
]


@posix
@pytest.mark.parametrize("most", [1000, None], ids=["several", "one"])
def test_what_a_killed_writer_left_is_removed_by_the_next_save(most, path):
    mark = ".model.safetensors.0000000000000000.clika-tmp"
    for name in [*LEFT, *OTHERS, mark]:
        path.with_name(name).write_bytes(b"")
    cp.save(constant(1), path, max_shard_bytes=most)
    own = [path.name] if most is None else indexed(path)
    assert names_in(path.parent) == sorted([*OTHERS, *own])


@posix
def test_files_that_an_index_of_another_name_names_stay(path):
    cp.save(constant(1), path, max_shard_bytes=1000)
    index = path.with_name(path.name + ".index.json")
    kept = index.rename(path.with_name("kept.safetensors.index.json"))
    cp.save(constant(2), path, max_shard_bytes=1000)
    assert (number_in(kept), number_in(path)) == (1, 2)


@posix
def test_nothing_is_removed_where_an_index_can_not_be_read(path):
    for name in LEFT:
        path.with_name(name).write_bytes(b"")
    path.with_name("other.safetensors.index.json").write_text("{")
    cp.save(constant(1), path, max_shard_bytes=1000)
    assert {*LEFT} < {*names_in(path.parent)}


@posix
def test_several_writers_to_one_path_leave_the_files_of_the_last(path):
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for _ in range(5):
                cp.save(constant(number), path, max_shard_bytes=2000, fsync=False)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    code = WRITER.replace("while True:", "for _ in range(10):") % str(path)
    command = [sys.executable, "-c", code]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=Path(__file__).parent) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for process in processes:
        assert process.wait() == 0
    assert not failures
    number_in(path)
    assert names_in(path.parent) == indexed(path)


@posix
def test_a_save_inside_a_save_to_the_same_path_does_not_wait_for_it(path):
    inner = []

    def save_too(done: int, total: int) -> None:
        if not inner:
            inner.append(total)
            cp.save(constant(2), path, max_shard_bytes=2000)

    cp.save(constant(1), path, max_shard_bytes=2000, progress=save_too)
    assert number_in(path) == 1
    cp.save(constant(3), path, max_shard_bytes=2000)
    assert names_in(path.parent) == indexed(path)
