"""Where memory ends, every operation ends in a MemoryError, and the process lives on.

A forked child may have a little more memory than it has; another one still more, until the operation succeeds.
"""

from __future__ import annotations

import pytest
from helpers import run_python
from large import TREES

pytestmark = pytest.mark.unwatched

LIMITED = """
import ctypes, gc, os, resource, traceback

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

def ends_of(work):
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    ends, room = [], 1 << 12
    while 0 not in ends and room < 1 << 34:
        ends.append(end_of_work_with(room, work))
        room *= factor
    return ends
"""
SCRIPT = f"""{LIMITED}
from large import NOT_FOR, OPERATIONS, TREES

tree, twin = TREES[name](size), TREES[name](size)
wrong = {{}}
for operation, prepare in OPERATIONS.items():
    if operation in NOT_FOR.get(name, ()):
        continue
    prepare(tree, twin)()  # what it imports is there from now on
    ends = ends_of(prepare(tree, twin))
    if ends[-1] != 0 or set(ends) - {{0, 1}}:
        wrong[operation] = ends
assert not wrong, wrong
"""


@pytest.mark.parametrize("name", ["containers", "keys", "registered", "context"])
def test_every_operation_ends_in_a_memory_error(name):
    run_python(f"name, size, factor = {name!r}, 3000, 4\n{SCRIPT}", timeout=110)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", TREES)
def test_every_operation_ends_in_a_memory_error_wherever_that_is(name):
    run_python(f"name, size, factor = {name!r}, 40_000, 1.3\n{SCRIPT}", timeout=3500)


TEXTS = {
    "plain": "cp.MappingKey('a' * 10**7)",
    "escaped": "cp.MappingKey('\\n' * 10**7)",
    "of many tuples": "cp.MappingKey(((1, 'b'),) * 10**5)",
    "with its class": "cp.MappingKey(frozenset(range(10**5)))",
    "behind a dot": "cp.GetAttrKey('a' * 10**7)",
    "of another library": "type('Key', (), {'__str__': lambda self: 'a' * 10**7})()",
}


@pytest.mark.parametrize("key", TEXTS.values(), ids=TEXTS)
def test_a_long_key_is_written_or_a_memory_error(key):
    run_python(
        f"factor = 1.5\n{LIMITED}\nimport clika_pytree as cp\nkey = {key}\ncp.keystr((cp.MappingKey(('b',)),))\n"
        "ends = ends_of(lambda: cp.keystr((key, key)))\nassert {*ends} == {0, 1} and ends[-1] == 0, ends\n"
    )


def test_an_instance_with_thousands_of_fields_is_taken_apart_or_a_memory_error():
    run_python(
        f"factor = 1.5\n{LIMITED}\nimport clika_pytree as cp\nfrom dataclasses import make_dataclass\n"
        "Wide = make_dataclass('Wide', [f'f{i}' for i in range(3000)])\n"
        "half = [f'f{i}' for i in range(1500)]\n"
        "cp.register_dataclass(Wide, data_fields=half, meta_fields=[f'f{i}' for i in range(1500, 3000)])\n"
        "tree = [Wide(*range(3000)) for _ in range(300)]\ncp.tree_leaves([Wide(*range(3000))])\n"
        "ends = ends_of(lambda: cp.tree_flatten(tree))\nassert {*ends} == {0, 1} and ends[-1] == 0, ends\n"
    )
