"""Where memory ends, every operation ends in a MemoryError, and the process lives on.

A forked child may have a little more memory than it has; another one still more, until the operation succeeds.
"""

from __future__ import annotations

import pytest
from helpers import run_python
from large import TREES

pytestmark = pytest.mark.unwatched

SCRIPT = """
import ctypes, gc, json, os, resource, traceback
from large import NOT_FOR, OPERATIONS, TREES

tree, twin = TREES[name](size), TREES[name](size)

def work_with(room, work):
    with open("/proc/self/statm") as statm:
        limit = int(statm.read().split()[0]) * resource.getpagesize() + int(room)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        work()
    except MemoryError:
        os._exit(1)
    os._exit(0)

def end_of_work_with(room, work):
    pid = os.fork()
    if pid == 0:
        try:
            work_with(room, work)
        except BaseException:
            traceback.print_exc()
        os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

wrong = {}
for operation, prepare in OPERATIONS.items():
    if operation in NOT_FOR.get(name, ()):
        continue
    prepare(tree, twin)()  # what it imports is there from now on
    work = prepare(tree, twin)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    ends, room = [], 1 << 12
    while 0 not in ends and room < 1 << 34:
        ends.append(end_of_work_with(room, work))
        room *= factor
    if ends[-1] != 0 or set(ends) - {0, 1}:
        wrong[operation] = ends
assert not wrong, wrong
"""


@pytest.mark.parametrize("name", ["containers", "registered", "context"])
def test_every_operation_ends_in_a_memory_error(name):
    run_python(f"name, size, factor = {name!r}, 3000, 4\n{SCRIPT}", timeout=110)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", TREES)
def test_every_operation_ends_in_a_memory_error_wherever_that_is(name):
    run_python(f"name, size, factor = {name!r}, 40_000, 1.3\n{SCRIPT}", timeout=3500)
