"""Dataclasses that derive from classes written in C: rebuilding one never hands out an object that nobody made ready.

An object of such a class that is used without being made ready ends the process, so every case has one of its own.
"""

from __future__ import annotations

import pytest
from helpers import run_python

BASES = {
    "array": ("array.array", "super().__new__(cls, 'i', [1, 2])", "len(made), made.append(1), made.tolist()"),
    "partial": ("functools.partial", "super().__new__(cls, int)", "made.func, repr(made), made('7')"),
    "local": ("threading.local", "super().__new__(cls)", "made.__dict__, vars(made), setattr(made, 'more', 1)"),
    "StringIO": ("io.StringIO", "super().__new__(cls)", "made.write('a'), made.seek(0), made.read(), made.getvalue()"),
    "BytesIO": ("io.BytesIO", "super().__new__(cls)", "made.write(b'a'), made.getvalue()"),
    "Random": ("random.Random", "super().__new__(cls)", "made.random(), made.getstate()"),
    "Future": ("asyncio.Future", "super().__new__(cls)", "repr(made), made.done()"),
    "Struct": ("struct.Struct", "super().__new__(cls, 'i')", "made.size, made.pack(1)"),
    "Decimal": ("decimal.Decimal", "super().__new__(cls, '1.5')", "made + 1, repr(made)"),
    "count": ("itertools.count", "super().__new__(cls, 3)", "next(made), repr(made)"),
    "chain": ("itertools.chain", "super().__new__(cls, [1])", "list(made)"),
    "weakref": ("weakref.ref", "super().__new__(cls, Holder)", "made(), repr(made)"),
    "property": ("property", "super().__new__(cls)", "made.fget, made.getter(int)"),
    "module": ("types.ModuleType", "super().__new__(cls)", "made.__dict__, repr(made)"),
    "namespace": ("types.SimpleNamespace", "super().__new__(cls)", "repr(made), vars(made)"),
    "date": ("datetime.date", "super().__new__(cls, 2020, 1, 1)", "repr(made), made.year"),
    "SimpleQueue": ("queue.SimpleQueue", "super().__new__(cls)", "made.put(1), made.get()"),
    "RLock": ("threading._RLock", "super().__new__(cls)", "made.__class__"),
    "Element": (
        "xml.etree.ElementTree.Element",
        "super().__new__(cls)",
        "len(made), made.tag, made.attrib, repr(made)",
    ),
    "ndarray": ("numpy.ndarray", "super().__new__(cls, 3)", "made.shape, repr(made), made.sum()"),
    "exception": ("Exception", "super().__new__(cls)", "repr(made), made.args, str(made)"),
    "thread": ("threading.Thread", "super().__new__(cls)", "made.__class__"),
}
SETUP = """
import array, asyncio, dataclasses, datetime, decimal, functools, io, itertools, numpy, queue, random, struct
import sys, threading, types, weakref, xml.etree.ElementTree
import clika_pytree as cp
from clika_pytree import _native

class Holder: pass
def note(outcome): print(outcome, flush=True)
"""
CASE = """
def make(base):
    # No generated __init__, since that of the base takes other arguments.
    class Made(base):
        x: int = 0
        def __new__(cls, *args, **options): return {new}
        def __init__(self, *args): {init}
    Made = dataclasses.dataclass(eq=False, repr=False, init=False)(Made)
    made = Made()
    made.x = 5
    return Made, made

Made, original = make({base})
made = original
{use}
try:
    cp.register_dataclass(Made)
    leaves, spec = cp.tree_flatten([original])
    assert leaves == [5] and spec.num_nodes == 3, spec
    (made,) = spec.unflatten([7])
except TypeError as error:
    assert len(str(error)) > 20, error
    note("refused")
except cp.RegistrationError as error:
    assert "Made" in str(error), error
    note("refused")
else:
    assert type(made) is Made and made is not original and made.x == 7, (type(made), made.x)
    try:
        {use}
    except (ValueError, RuntimeError, AttributeError, struct.error) as error:
        # No `__init__` ran, and the class itself says so.
        assert "nitialized" in str(error) or "gauss_next" in str(error) or "-1 items" in str(error), error
    del made
    note("works")
"""


@pytest.mark.parametrize("name", BASES)
def test_a_dataclass_over_a_class_written_in_c_works_or_is_refused(name):
    base, new, use = BASES[name]
    init = "pass" if name in ("exception", "thread", "RLock") else "super().__init__()"
    if name in ("Future",):
        init = "super().__init__(loop=asyncio.new_event_loop())"
    if name == "Struct":
        init = "super().__init__('i')"
    if name in ("Element", "module"):
        init = "super().__init__('name')"
    if name in ("weakref", "date"):
        init = "pass"
    done = run_python(SETUP + CASE.format(base=base, new=new, init=init, use=use))
    assert done.stdout in ("works\n", "refused\n")


def test_common_bases_written_in_python_work():
    done = run_python(
        SETUP + "import abc, typing\n"
        "T = typing.TypeVar('T')\n"
        "class Slotted: __slots__ = ('s',)\n"
        "class Init:\n"
        "    def __init__(self): raise AssertionError('not called')\n"
        "class Subclass:\n"
        "    def __init_subclass__(cls, **options): cls.seen = True\n"
        "for base in (object, abc.ABC, typing.Generic[T], Slotted, Init, Subclass):\n"
        "    cls = cp.register_dataclass(dataclasses.make_dataclass('Made', ['x'], bases=(base,)))\n"
        "    assert cp.tree_map(lambda x: x + 1, cls(6)).x == 7\n"
        "note('work')\n"
    )
    assert done.stdout == "work\n"


NATIVE = [
    "types.CodeType", "types.FrameType", "types.GeneratorType", "types.CoroutineType", "types.AsyncGeneratorType",
    "types.ModuleType", "type", "object", "types.CellType", "types.MappingProxyType", "types.SimpleNamespace",
    "types.FunctionType", "types.BuiltinFunctionType", "types.MethodType", "types.TracebackType", "types.GenericAlias",
    "type(sys.flags)", "type(iter([]))", "type(None)", "type(...)", "slice", "range", "memoryview", "super", "property",
    "zip", "map", "enumerate", "type({}.keys())", "weakref.ref", "int", "list", "dict", "str", "float", "bytes", "set",
    "cp.TreeSpec", "_native.Registration", "_native.TreeIter", "cp.dict_insertion_ordered", "cp.SequenceKey",
    "cp.MappingKey", "cp.GetAttrKey", "cp.DataclassKey", "cp.FlattenedIndexKey", "functools.partial", "array.array",
    "threading.local", "io.StringIO", "numpy.ndarray", "numpy.float64", "numpy.dtype", "type(numpy.add)",
    "type(functools.lru_cache(int))", "itertools.count", "random.Random",
]  # fmt: skip


def test_no_record_however_made_leads_to_an_object_that_nobody_made_ready():
    """A pickle may ask for a record of any class, so the record itself, or the rebuild, has to refuse."""
    done = run_python(
        SETUP + f"classes = [{', '.join(NATIVE)}]\n"
        "import struct\n"
        "refused = 0\n"
        "for cls in classes:\n"
        "    note(cls)\n"
        "    try:\n"
        "        record = _native.Registration.dataclass(cls, '', (), (), (), False)\n"
        "        spec = _native.treespec_from_state((1, True, struct.pack('<BI', 10, 0), (record, ()), []))\n"
        "        made = spec.unflatten([])\n"
        "    except (TypeError, ValueError):\n"
        "        refused += 1\n"
        "        continue\n"
        "    assert type(made) is cls\n"
        "    repr(made)\n"
        "    try: names = dir(made)\n"
        "    except TypeError: names = ()  # of a module, on Python 3.10\n"
        "    for name in names:\n"
        "        try: repr(getattr(made, name))\n"
        "        except Exception: pass\n"
        "    del made\n"
        "assert 20 < refused < len(classes), refused\n"
        "note('end')\n"
    )
    assert done.stdout.endswith("end\n")
