"""How much memory a call of each function keeps, whether it succeeds or fails.

    python tests/memory_growth.py [--calls 1000000] [function ...]

prints the bytes by which the process has grown, divided by the number of calls: 0.00 where nothing is kept. What takes
tenths of milliseconds is called a hundred times fewer.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import dataclasses
import gc
import pickle
import sys
import tempfile
import time
import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import boundary_calls
from boundary_calls import Boundaries
from classes import Bag, Box, Color, Config, Pair, Point, Sample, Tagged

import clika_pytree as cp

TREE = {"a": [1, (2,)], "p": Point(3, 4), "t": Tagged(5, 6, ("tag", [7]))}
LEAVES, SPEC = cp.tree_flatten(TREE)
OTHER = cp.tree_structure([1, 2])
WIDE = [
    TREE,
    OrderedDict(a=1),
    defaultdict(list, b=2),
    deque([3], 4),
    Sample(1, 2, "n"),
    Config(1),
    Bag({"x": 1}),
    Pair(1, 2),
]
TEXT = cp.treespec_dumps(SPEC)
STATE = SPEC.__reduce__()
PATH = cp.tree_leaves_with_path(TREE)[1][0]
LEAF = cp.treespec_leaf()
LOOP: list = []
LOOP.append(LOOP)


class Thing:
    pass


class Broken:
    """Neither compares nor hashes."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise LookupError("no ==")


def identity(leaf: Any, *others: Any) -> Any:
    return leaf


def fail(*args: Any) -> Any:
    raise LookupError("injected")


def sorted_keys(*keys: Any) -> Any:
    with cp.dict_insertion_ordered(False):
        return cp.tree_flatten(dict.fromkeys(keys, 0))


class Methods:
    def __tree_flatten__(self) -> Any:
        return (), None

    @classmethod
    def __tree_unflatten__(cls, context: Any, children: Any) -> Any:
        return cls()


@dataclasses.dataclass
class Data:
    value: Any


def register_and_forget(
    register: Callable[..., Any], cls: type, *args: Any, namespace: str = "", **options: Any
) -> None:
    register(cls, *args, namespace=namespace, **options)
    cp.tree_leaves(cls(*([1] if cls is Data else [])), namespace=namespace)
    cp.unregister_pytree_node(cls, namespace=namespace)


def adopt_and_end() -> None:
    cp.adopt("optree", namespace="tests.growth").end()


def is_namedtuple() -> Any:
    return cp.is_namedtuple(Point(1, 2)), cp.is_namedtuple_class(Point), cp.is_namedtuple_instance(Point(1, 2))


def new_class() -> Any:
    cls = type("Passing", (), {})
    cp.register_pytree_node(cls, lambda obj: ((1,), None), fail)
    leaves = cp.tree_leaves([cls()])
    cp.unregister_pytree_node(cls)
    return leaves


def half_iterated() -> Any:
    return next(cp.tree_iter(TREE))


CALLS: dict[str, Callable[[], Any]] = {
    "tree_flatten": lambda: cp.tree_flatten(TREE),
    "tree_flatten of every kind": lambda: cp.tree_flatten(WIDE),
    "tree_flatten, is_leaf": lambda: cp.tree_flatten(TREE, lambda x: type(x) is list, none_is_leaf=False),
    "tree_flatten, namespace": lambda: cp.tree_flatten(TREE, namespace=("tests.growth", "tests.more")),
    "tree_flatten, sorted": lambda: sorted_keys("b", "a", "c"),
    "tree_flatten, sorted enum": lambda: sorted_keys(Color.BLUE, Color.RED),
    "tree_leaves": lambda: cp.tree_leaves(TREE),
    "tree_structure": lambda: cp.tree_structure(TREE),
    "tree_iter": lambda: list(cp.tree_iter(TREE)),
    "tree_iter, half": half_iterated,
    "tree_paths": lambda: cp.tree_paths(TREE),
    "tree_flatten_with_path": lambda: cp.tree_flatten_with_path(TREE),
    "tree_leaves_with_path": lambda: cp.tree_leaves_with_path(TREE),
    "tree_flatten_one_level": lambda: cp.tree_flatten_one_level(TREE),
    "tree_is_leaf": lambda: cp.tree_is_leaf(TREE),
    "all_leaves": lambda: cp.all_leaves(LEAVES),
    "arg_tree_leaves": lambda: cp.arg_tree_leaves(TREE, named=TREE),
    "tree_unflatten": lambda: cp.tree_unflatten(SPEC, LEAVES),
    "tree_unflatten, iterator": lambda: cp.tree_unflatten(iter(LEAVES), SPEC),
    "tree_map": lambda: cp.tree_map(identity, TREE),
    "tree_map of every kind": lambda: cp.tree_map(identity, WIDE, WIDE),
    "tree_map_": lambda: cp.tree_map_(identity, TREE, TREE),
    "tree_map_with_path": lambda: cp.tree_map_with_path(identity, TREE),
    "tree_map_only": lambda: cp.tree_map_only(int, identity, TREE),
    "tree_map_only_": lambda: cp.tree_map_only_(lambda x: x == 2, identity, TREE),
    "tree_broadcast_map": lambda: cp.tree_broadcast_map(identity, [1, 2], [TREE, 3]),
    "tree_broadcast_prefix": lambda: cp.tree_broadcast_prefix([1, 2], [TREE, 3]),
    "tree_broadcast_common": lambda: cp.tree_broadcast_common([1, TREE], [TREE, 3]),
    "tree_all": lambda: cp.tree_all(TREE),
    "tree_any": lambda: cp.tree_any(TREE),
    "tree_all_only": lambda: cp.tree_all_only(int, bool, TREE),
    "tree_any_only": lambda: cp.tree_any_only(int, bool, TREE),
    "tree_reduce": lambda: cp.tree_reduce(identity, TREE, 0),
    "tree_sum": lambda: cp.tree_sum(TREE),
    "tree_max": lambda: cp.tree_max(TREE),
    "tree_min": lambda: cp.tree_min(TREE),
    "tree_transpose": lambda: cp.tree_transpose(OTHER, SPEC, [TREE, TREE]),
    "tree_transpose_map": lambda: cp.tree_transpose_map(lambda leaf: (leaf, leaf), TREE),
    "tree_partition": lambda: cp.tree_partition(lambda leaf: leaf == 2, TREE),
    "tree_combine": lambda: cp.tree_combine(TREE, TREE),
    "tree_replace_nones": lambda: cp.tree_replace_nones(0, [None, 1]),
    "tree_ravel": lambda: cp.tree_ravel([1.0, [2.0, 3.0]]),
    "tree_diff": lambda: str(cp.tree_diff(TREE, WIDE, leaves=True)),
    "tree_summary": lambda: str(cp.tree_summary(TREE)),
    "check_node": lambda: cp.check_node(Sample(1, 2, "n")),
    "key_get": lambda: cp.key_get(TREE, PATH),
    "keystr": lambda: cp.keystr(PATH),
    "parse_keystr": lambda: cp.parse_keystr("['a'][1][0].x"),
    "keys": lambda: (cp.MappingKey("a") == cp.MappingKey("b"), hash(cp.SequenceKey(1)), str(cp.GetAttrKey("x"))),
    "is_registered": lambda: cp.is_registered(Box),
    "is_namedtuple, is_namedtuple_class, is_namedtuple_instance": is_namedtuple,
    "register_pytree_node, unregister_pytree_node": lambda: register_and_forget(
        cp.register_pytree_node, Thing, lambda thing: ((), None), fail, serialized_type_name="tests.growth.Thing"
    ),
    "register_pytree_node, namespace": lambda: register_and_forget(
        cp.register_pytree_node, Thing, lambda thing: ((), None), fail, namespace="tests.growth"
    ),
    "register_pytree_node_class": lambda: register_and_forget(cp.register_pytree_node_class, Methods),
    "register_dataclass": lambda: register_and_forget(cp.register_dataclass, Data),
    "register_static": lambda: register_and_forget(cp.register_static, Thing),
    "a class that comes and goes": new_class,
    "adopt": adopt_and_end,
    "dict_insertion_ordered": lambda: sorted_keys("a"),
    "==": lambda: cp.tree_structure(WIDE) == cp.tree_structure(WIDE),
    "hash": lambda: hash(cp.tree_structure(WIDE)),
    "repr": lambda: repr(SPEC),
    "members": lambda: [(c.context, c.entries(), c.namespace, c.type) for c in SPEC.children()],
    "child": lambda: SPEC.child(-1),
    "key_paths": lambda: cp.tree_structure(TREE).key_paths(),
    "flatten_up_to": lambda: SPEC.flatten_up_to(TREE),
    "broadcast": lambda: OTHER.broadcast(cp.tree_structure([TREE, 1])),
    "compose": lambda: OTHER.compose(SPEC),
    "is_prefix": lambda: (SPEC.is_prefix(SPEC), SPEC < OTHER, SPEC >= SPEC),
    "transform": lambda: SPEC.transform(identity, identity),
    "walk": lambda: SPEC.walk(LEAVES, lambda cls, context, children: children, identity),
    "fingerprint": lambda: SPEC.fingerprint(),
    "treespec_dumps": lambda: cp.treespec_dumps(SPEC),
    "treespec_loads": lambda: cp.treespec_loads(TEXT),
    "pickle": lambda: pickle.loads(pickle.dumps(SPEC)),
    "copy": lambda: copy.deepcopy(SPEC),
    "treespec_from_collection": lambda: cp.treespec_from_collection({"a": LEAF, "b": [LEAF]}),
    "treespec_leaf, treespec_none": lambda: (cp.treespec_leaf(), cp.treespec_none(none_is_leaf=False)),
    "treespec_list, treespec_tuple": lambda: (cp.treespec_list([LEAF]), cp.treespec_tuple([LEAF])),
    "treespec_deque, treespec_namedtuple": lambda: (
        cp.treespec_deque([LEAF], 3),
        cp.treespec_namedtuple(Point(LEAF, LEAF)),
    ),
    "treespec_dict, treespec_ordereddict": lambda: (cp.treespec_dict(a=LEAF), cp.treespec_ordereddict(a=LEAF)),
    "treespec_defaultdict": lambda: cp.treespec_defaultdict(list, {"a": LEAF}),
    "Partial": lambda: cp.tree_map(identity, cp.Partial(fail, 1, b=2)),
}

FAILING: dict[str, Callable[[], Any]] = {
    "tree_flatten of a circle": lambda: cp.tree_flatten(LOOP),
    "tree_flatten, is_leaf raises": lambda: cp.tree_flatten(TREE, fail),
    "tree_flatten, flatten_fn raises": lambda: cp.tree_flatten([TREE, Bag(3)]),  # type: ignore[arg-type]
    "tree_flatten, namespace of another type": lambda: cp.tree_flatten(TREE, namespace=3),  # type: ignore[arg-type]
    "tree_flatten, too many arguments": lambda: cp.tree_flatten(TREE, None, 1),  # type: ignore[misc]
    "tree_flatten, keys without an order": lambda: sorted_keys(1j, 2j),
    "tree_iter, is_leaf raises": lambda: list(cp.tree_iter(TREE, fail)),
    "tree_unflatten, too few": lambda: cp.tree_unflatten(SPEC, LEAVES[1:]),
    "tree_unflatten, too many": lambda: cp.tree_unflatten(SPEC, iter([*LEAVES, 1])),
    "tree_unflatten, no spec": lambda: cp.tree_unflatten(LEAVES, LEAVES),
    "tree_unflatten, unflatten_fn raises": lambda: (
        cp.tree_structure(Bag({"a": 1, "b": 2})).compose(SPEC).unflatten([0])
    ),
    "tree_map, fn raises": lambda: cp.tree_map(fail, TREE),
    "tree_map, fn raises late": lambda: cp.tree_map(lambda leaf: 1 / (leaf - 7), [TREE, 7]),
    "tree_map, other structure": lambda: cp.tree_map(identity, TREE, {**TREE, "p": Pair(1, 2)}),
    "tree_map, other keys": lambda: cp.tree_map(identity, {"a": 1, "b": 2}, {"b": 1, "a": 2}),
    "tree_map_, fn raises": lambda: cp.tree_map_(fail, TREE, TREE),
    "tree_map_with_path, fn raises": lambda: cp.tree_map_with_path(fail, TREE),
    "tree_map_only, unfit filter": lambda: cp.tree_map_only(3, identity, TREE),  # type: ignore[call-overload]
    "tree_broadcast_prefix, unfit": lambda: cp.tree_broadcast_prefix([1, 2], [1]),
    "tree_broadcast_common, unfit": lambda: cp.tree_broadcast_common([1, 2], [1]),
    "tree_reduce, fn raises": lambda: cp.tree_reduce(fail, TREE),
    "tree_sum of strs": lambda: cp.tree_sum(["a", "b"]),
    "tree_max of nothing": lambda: cp.tree_max([]),
    "tree_transpose, unfit": lambda: cp.tree_transpose(OTHER, SPEC, [TREE, LEAVES]),
    "tree_ravel of strs": lambda: cp.tree_ravel(["a"]),
    "key_get, no such child": lambda: cp.key_get(TREE, [cp.MappingKey("zzz")]),
    "parse_keystr, no path": lambda: cp.parse_keystr("['a'"),
    "register_pytree_node, no class": lambda: cp.register_pytree_node(3, fail, fail),  # type: ignore[arg-type]
    "register_pytree_node, registered": lambda: cp.register_pytree_node(Box, fail, fail),
    "unregister_pytree_node, unknown": lambda: cp.unregister_pytree_node(Thing),
    "mirror, not registered": lambda: cp.mirror(Thing, "jax"),
    "adopt, unknown": lambda: cp.adopt("flax"),  # type: ignore[arg-type]
    "register_dataclass, no dataclass": lambda: cp.register_dataclass(Thing),
    "==, a context that raises": lambda: cp.tree_structure(Tagged(1, 2, Broken())) == SPEC,
    "hash, a context without one": lambda: hash(cp.tree_structure(Tagged(1, 2, Broken()))),
    "child, out of range": lambda: SPEC.child(17),
    "flatten_up_to, unfit": lambda: SPEC.flatten_up_to({**TREE, "t": 1}),
    "broadcast, unfit": lambda: SPEC.broadcast(OTHER),
    "compose, another mode": lambda: SPEC.compose(cp.tree_structure([1], none_is_leaf=False)),
    "transform, unfit": lambda: SPEC.transform(lambda node: OTHER),
    "walk, f_node raises": lambda: SPEC.walk(LEAVES, fail),
    "fingerprint of a local class": lambda: cp.tree_structure([Box(1), {Thing(): 1}]).fingerprint(),
    "treespec_dumps, unfit": lambda: cp.treespec_dumps(cp.tree_structure({Thing(): 1})),
    "treespec_loads, damaged": lambda: cp.treespec_loads(TEXT[:-9]),
    "pickle, damaged": lambda: STATE[0]((1, True, b"\x02\x01\x00\x00\x00", (), []), ()),
    "treespec_list of something else": lambda: cp.treespec_list([3]),  # type: ignore[list-item]
}


def failing(call: Callable[[], Any]) -> Callable[[], None]:
    """The call, which must fail; nothing of its exception is kept."""

    def attempt() -> None:
        try:
            call()
        except Exception:
            return
        raise AssertionError("this was to fail")

    return attempt


ALL_CALLS = {**CALLS, **{f"failing: {name}": failing(call) for name, call in FAILING.items()}}


class Mallinfo(ctypes.Structure):
    """What glibc says of its heap."""

    _fields_ = [(name, ctypes.c_size_t) for name in ["arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks"]] + [
        (name, ctypes.c_size_t) for name in ["fsmblks", "uordblks", "fordblks", "keepcost"]
    ]


def heap() -> tuple[int, int]:
    """The blocks that Python's allocator has given out, and the bytes that the C library has."""
    gc.collect()
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return sys.getallocatedblocks(), 0
    mallinfo.restype = Mallinfo
    said = mallinfo()
    return sys.getallocatedblocks(), said.uordblks + said.hblkhd


def resident() -> int:
    """The bytes of the process that lie in memory."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def repeat(call: Callable[[], Any], calls: int) -> None:
    for _ in range(calls):
        call()


FEWER = 100


def boundaries(folder: Path) -> Iterator[tuple[str, Callable[[], Any], bool]]:
    """The calls where a runtime meets a tree, by name, and whether they are costly."""
    parts = Boundaries(folder)
    for table, is_costly in ((boundary_calls.CALLS, False), (boundary_calls.COSTLY, True)):
        for name, call in table.items():
            yield name, partial(call, parts), is_costly
    for table, is_costly in ((boundary_calls.FAILING, False), (boundary_calls.FAILING_COSTLY, True)):
        for name, call in table.items():
            yield f"failing: {name}", failing(partial(call, parts)), is_costly


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("functions", nargs="*", metavar="function", help="a part of a name; without any, all")
    parser.add_argument("--calls", type=int, default=1_000_000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", cp.RecompileWarning)
    print(f"{'function':50} {'calls':>9} {'bytes kept':>10} {'microseconds':>12}   per call")
    with tempfile.TemporaryDirectory() as folder:
        for name, call, is_costly in [*((*item, False) for item in ALL_CALLS.items()), *boundaries(Path(folder))]:
            if arguments.functions and not any(part in name for part in arguments.functions):
                continue
            calls = max(arguments.calls // FEWER if is_costly else arguments.calls, 1)
            repeat(call, min(calls, 1000 if is_costly else 10_000))
            before, start = resident(), time.perf_counter()
            repeat(call, calls)
            took = (time.perf_counter() - start) / calls * 1e6
            print(f"{name:50} {calls:9} {(resident() - before) / calls:10.3f} {took:12.2f}", flush=True)


if __name__ == "__main__":
    main()
