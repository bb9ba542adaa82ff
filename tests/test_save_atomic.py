"""A file is there as a whole or as it was: modes, links, full disks, killed writers, two writers, readers meanwhile."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import run_python
from tensor_files import names_in

import clika_pytree as cp

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and signals of POSIX")
TEMPORARY = re.compile(r"\.a\.safetensors\.[0-9a-f]{16}\.clika-tmp")
STATE = {"w": np.ones(4)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.safetensors"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_that_the_umask_leaves(mask, mode, path):
    before = os.umask(mask)
    try:
        cp.save(STATE, path)
    finally:
        os.umask(before)
    assert mode_of(path) == mode


def test_the_mode_of_the_file_that_was_there_stays(path):
    for mode in (0o640, 0o606, 0o755):
        cp.save(STATE, path)
        path.chmod(mode)
        cp.save(STATE, path)
        assert mode_of(path) == mode


def test_symbolic_links_stay_and_lead_to_the_new_file(tmp_path):
    (tmp_path / "real").mkdir()
    real, link, second = tmp_path / "real" / "a", tmp_path / "link", tmp_path / "second"
    link.symlink_to("real/a")
    second.symlink_to(link)
    for _ in range(2):  # at first it leads to nothing
        cp.save(STATE, second)
        assert link.is_symlink()
        assert second.is_symlink()
        assert real.is_file()
        assert names_in(tmp_path / "real") == ["a"]
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(OSError, match="links"):
        cp.save(STATE, loop)


def test_a_hard_link_keeps_the_old_file(path, tmp_path):
    cp.save(STATE, path)
    os.link(path, tmp_path / "other")
    cp.save({"w": np.zeros(1)}, path)
    assert cp.load(tmp_path / "other")["w"].tolist() == [1, 1, 1, 1]


def test_a_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"the folder {tmp_path}/no/where does not exist"):
        cp.save(STATE, tmp_path / "no" / "where" / "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is no folder"):
        cp.save(STATE, tmp_path / "file" / "a")
    with pytest.raises(IsADirectoryError):
        cp.save(STATE, tmp_path)


AS_NOBODY = """
import os, sys, numpy as np, clika_pytree as cp
cp.save({"w": np.ones(1)}, "/dev/null")  # what is imported may be closed to others
os.setgid(65534); os.setuid(65534)
try:
    cp.save({"w": np.ones(1)}, %r)
except PermissionError as error:
    print(error.filename)
"""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else")
def test_a_closed_folder_and_a_closed_file(tmp_path, path):
    folder = Path("/tmp") / f"clika-closed-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        file = folder / "a"
        assert run_python(AS_NOBODY % str(file)).stdout.strip() == str(file)
        assert names_in(folder) == []
        folder.chmod(0o777)
        cp.save(STATE, file)
        file.chmod(0o444)
        assert run_python(AS_NOBODY % str(file)).stdout.strip() == str(file)
        assert cp.load(file)["w"].sum() == 4
    finally:
        for name in names_in(folder):
            (folder / name).unlink()
        folder.rmdir()


def test_a_pipe_and_a_device_are_written_to(tmp_path, path):
    cp.save(STATE, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    cp.save(STATE, pipe)
    reader.join()
    cp.save(STATE, path)
    assert read == [path.read_bytes()]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


FULL = """
import resource, signal, sys, numpy as np, clika_pytree as cp
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    cp.save({"w": np.zeros(1 << 20)}, %r)
except OSError as error:
    print(type(error).__name__, error.filename)
"""


def test_a_file_that_gets_too_large_leaves_the_old_one(path, tmp_path):
    cp.save(STATE, path)
    assert run_python(FULL % str(path)).stdout.split() == ["OSError", str(path)]
    assert names_in(tmp_path) == ["a.safetensors"]
    assert cp.load(path)["w"].sum() == 4


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """A file system of its own, where one can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        cp.save(STATE, place / "a")
        with pytest.raises(OSError, match="No space left") as caught:
            cp.save({"w": np.zeros(1 << 20)}, place / "a")
        assert caught.value.filename == str(place / "a")
        assert names_in(place) == ["a"]
        assert cp.load(place / "a", mmap=False)["w"].sum() == 4
    finally:
        subprocess.run(["umount", str(place)], check=True)


class Broken(Exception):
    pass


def test_what_fails_half_way_leaves_the_old_file(path, tmp_path):
    cp.save(STATE, path)

    def stop(done: int, total: int) -> None:
        raise Broken

    with pytest.raises(Broken):
        cp.save({"w": np.zeros(1000)}, path, progress=stop)
    assert names_in(tmp_path) == ["a.safetensors"]
    assert cp.load(path)["w"].sum() == 4


def test_ctrl_c_leaves_the_old_file(path, tmp_path):
    cp.save(STATE, path)
    calls = []

    def interrupt(done: int, total: int) -> None:
        calls.append(done)
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10):  # at a jump back every interpreter looks
            pass

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs this beside others
    try:
        with pytest.raises(KeyboardInterrupt):
            cp.save({"w": np.zeros(40 << 20, np.uint8), "v": np.zeros(100 << 20, np.uint8)}, path, progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(calls) < 3
    assert names_in(tmp_path) == ["a.safetensors"]


def test_the_order_of_the_calls_of_the_system(path):
    """What is written reaches the disk before its name does, and the folder after."""
    source = f"import numpy as np, clika_pytree as cp; cp.save({{'w': np.ones(3)}}, {str(path)!r})"
    log = path.with_suffix(".log")
    try:
        command = ["strace", "-f", "-o", str(log), "-e", "trace=fsync,linkat,rename,renameat,renameat2"]
        subprocess.run([*command, sys.executable, "-c", source], check=True, cwd="/tmp", capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no strace")
    calls = [
        line.split("(")[0].split()[-1] for line in log.read_text().splitlines() if "(" in line and "SIG" not in line
    ]
    calls = [call.removesuffix("at2").removesuffix("at") for call in calls]
    assert calls in (["fsync", "link", "rename", "fsync"], ["fsync", "rename", "fsync"])


# --- others at the same time ------------------------------------------------------------------------------------------


def test_an_abandoned_temporary_is_removed_by_the_next_save(path, tmp_path):
    abandoned = tmp_path / ".a.safetensors.0123456789abcdef.clika-tmp"
    others = [".b.safetensors.0123456789abcdef.clika-tmp", ".a.safetensors.x.clika-tmp", "a.safetensors.bak"]
    for name in [abandoned.name, *others]:
        (tmp_path / name).write_text("x")
    cp.save(STATE, path)
    assert names_in(tmp_path) == sorted([*others, "a.safetensors"])


def test_a_reader_sees_whole_files_while_they_are_written(path):
    """Two writers, too: the last one wins, and nothing of the other is left."""
    cp.save({"w": np.zeros(50_000), "v": np.zeros(50_000)}, path)
    done = threading.Event()

    def write(number: int) -> None:
        while not done.is_set():
            cp.save({"w": np.full(50_000, number), "v": np.full(50_000, number)}, path, fsync=False)

    writers = [threading.Thread(target=write, args=(number,)) for number in (1, 2)]
    for writer in writers:
        writer.start()
    try:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            state = cp.load(path)
            assert len({*np.unique(state["w"]), *np.unique(state["v"])}) == 1
    finally:
        done.set()
        for writer in writers:
            writer.join()
    assert names_in(path.parent) == ["a.safetensors"]


WRITER = """
import sys, numpy as np, clika_pytree as cp
number = 0
print("begun", flush=True)
while True:
    number = (number + 1) %% 100
    cp.save({"w": np.full(200_000, number), "v": np.full(1000, number)}, %r, fsync=False)
"""


def killed(path: Path, rounds: int) -> int:
    """Kill writers at random moments; how often a temporary was left."""
    draw = np.random.default_rng(rounds)
    cp.save({"w": np.full(200_000, 0), "v": np.full(1000, 0)}, path)
    left = 0
    for _ in range(rounds):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER % str(path)],
            stdout=subprocess.PIPE,
            cwd=path.parents[1],
            start_new_session=True,
        )
        with process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(draw.uniform(0, 0.05))
            process.kill()
        state = cp.load(path)
        assert len({*np.unique(state["w"]), *np.unique(state["v"])}) == 1
        temporaries = [name for name in names_in(path.parent) if name != path.name]
        assert len(temporaries) <= 1
        assert all(TEMPORARY.fullmatch(name) for name in temporaries)
        left += len(temporaries)
    cp.save(STATE, path)
    assert names_in(path.parent) == [path.name]
    return left


def test_a_killed_writer_leaves_the_old_file_or_the_new_one(path):
    killed(path, 4)


@pytest.mark.slow
def test_two_hundred_killed_writers(path):
    killed(path, 200)


def test_writers_where_files_have_no_names_are_not_to_be_had(path, monkeypatch):
    """The same on file systems without unnamed files, such as overlays of old kernels: a process that sees no /proc."""
    source = f"""
import os, numpy as np, clika_pytree as cp
cp.save({{"w": np.ones(4)}}, {str(path)!r})
print(*sorted(os.listdir({str(path.parent)!r})))
"""
    with contextlib.suppress(FileNotFoundError):
        command = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none /proc && exec {sys.executable} -c "$SOURCE"']
        done = subprocess.run(
            command, env={**os.environ, "SOURCE": source}, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            assert done.stdout.split() == ["a.safetensors"]
            assert cp.load(path)["w"].sum() == 4
            return
    pytest.skip("no process without /proc can be started here")


def test_saving_lets_other_threads_run(path):
    """The GIL is not held while the system writes."""
    array = np.zeros(64 << 20, np.uint8)
    counted = [0]
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    cp.save({"w": array}, path)
    during = counted[0] - before
    done.set()
    thread.join()
    assert during > 1000


def test_memory_while_saving_is_little_more_than_the_tensors(path):
    source = f"""
import resource, numpy as np, clika_pytree as cp
tree = [np.ones(8 << 20, np.uint8) for _ in range(24)]
cp.save(tree[:1], {str(path)!r})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cp.save(tree, {str(path)!r})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    assert int(run_python(source).stdout) < 2048
