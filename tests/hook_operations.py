"""Every operation of the library, on the parts of a world. The results are plain values or print by value."""

from __future__ import annotations

import contextlib
import copy
import inspect
import pickle
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from hook_boundaries import BOUNDARIES
from hook_classes import Group, HandedOut, Key, Leaf, Meta, Named
from hook_world import World

import clika_pytree as cp
from clika_pytree import _native

Operation = Callable[[World], Any]


def in_key_order(operation: Operation) -> Operation:
    def sorted_operation(w: World) -> Any:
        with cp.dict_insertion_ordered(False):
            return operation(w)

    return sorted_operation


def half(w: World) -> Any:
    leaves = cp.tree_iter(w.tree)
    return [next(leaves) for _ in range(20)]


def register_all_ways(w: World) -> Any:
    """Classes that are new each time, and gone afterwards."""
    spaces = [f"tests.hooks.{way}" for way in ("functions", "methods", "dataclass", "static")]

    class Methods(metaclass=Meta):
        def __tree_flatten__(self) -> Any:
            return (), None

        @classmethod
        def __tree_unflatten__(cls, context: Any, children: Any) -> Any:
            return cls()

    try:
        cp.register_pytree_node(Methods, lambda m: ((), None), lambda children, _: Methods(), namespace=spaces[0])
        cp.register_pytree_node_class(Methods, namespace=spaces[1])
        cp.register_dataclass(cp.Partial, [], ["func"], drop_fields=["args", "keywords"], namespace=spaces[2])
    except cp.PyTreeError:
        pass
    finally:
        for space in spaces:
            with contextlib.suppress(ValueError):
                cp.unregister_pytree_node(Methods, namespace=space)
    return cp.is_registered(Methods)


def keystrs(path: Any) -> Any:
    return [cp.keystr(HandedOut("path", path)), cp.keystr(path, simple=True, separator="/")]


def orders(spec: Any, twin: Any) -> Any:
    return spec.is_prefix(twin), spec <= twin, spec < twin, spec.is_suffix(twin)


def from_collection(w: World) -> Any:
    return cp.treespec_from_collection({w.one: cp.treespec_leaf(), w.two: [cp.treespec_leaf()]})


def spec_of_parts(w: World) -> Any:
    leaf = cp.treespec_leaf()
    pairs = HandedOut("pairs", [(w.one, leaf), (w.two, leaf)])
    return (
        cp.treespec_list(HandedOut("children", [leaf, leaf])),
        cp.treespec_tuple(HandedOut("children", [leaf, leaf])),
        cp.treespec_dict({w.one: leaf, w.two: leaf}),
        cp.treespec_ordereddict(OrderedDict(pairs)),
        cp.treespec_defaultdict(w.default.default_factory, {w.one: leaf}),
        cp.treespec_deque(deque([leaf]), maxlen=2),
        cp.treespec_namedtuple(Named((leaf, leaf))),
        cp.treespec_none(),
    )


SIGNATURE = inspect.signature(lambda x, y=1: None)


def guarded(w: World, detour: bool) -> Any:
    """A call whose entry is the one used last, or is found by its hash."""
    cache = _native.GuardCache(SIGNATURE, 4)
    call = cache.bind((w.tree,), {})
    cache.insert(call, "found")
    if detour:
        cache.insert(cache.bind((1,), {}), "detour")
    found = cache.lookup((), {"x": w.tree})
    return found is not None, len(call.names), [kind for *_, kind in cache.explain(call)]


OPERATIONS: dict[str, Operation] = {
    "tree_flatten": lambda w: cp.tree_flatten(w.tree),
    "tree_flatten, is_leaf": lambda w: cp.tree_flatten(w.tree, w.is_leaf, none_is_leaf=False),
    "tree_flatten, sorted": in_key_order(lambda w: cp.tree_flatten(w.tree)),
    "tree_flatten, namespaces": lambda w: cp.tree_flatten(w.tree, namespace=("tests.hooks.a", "tests.hooks.b")),
    "tree_leaves": lambda w: cp.tree_leaves(w.tree),
    "tree_leaves, is_leaf": lambda w: cp.tree_leaves(w.tree, w.is_leaf),
    "tree_leaves, sorted": in_key_order(lambda w: cp.tree_leaves(w.tree)),
    "tree_structure": lambda w: cp.tree_structure(w.tree),
    "tree_structure, is_leaf": lambda w: cp.tree_structure(w.tree, w.is_leaf),
    "tree_iter": lambda w: list(cp.tree_iter(w.tree)),
    "tree_iter, is_leaf": lambda w: list(cp.tree_iter(w.tree, w.is_leaf)),
    "tree_iter, sorted": in_key_order(lambda w: list(cp.tree_iter(w.tree))),
    "tree_iter, half": half,
    "tree_iter, shared": lambda w: [next(w.iterator), list(w.iterator)],
    "tree_paths": lambda w: cp.tree_paths(w.tree),
    "tree_flatten_with_path": lambda w: cp.tree_flatten_with_path(w.tree, w.is_leaf),
    "tree_leaves_with_path": lambda w: cp.tree_leaves_with_path(w.tree),
    "tree_flatten_one_level": lambda w: cp.tree_flatten_one_level(w.tree["group"]),
    "tree_is_leaf": lambda w: [cp.tree_is_leaf(node, w.is_leaf) for node in w.tree.values()],
    "all_leaves": lambda w: cp.all_leaves(HandedOut("leaves", w.tree["list"]), w.is_leaf),
    "arg_tree_leaves": lambda w: cp.arg_tree_leaves(w.tree, named=w.tree),
    "GuardCache": lambda w: guarded(w, detour=False),
    "GuardCache, by hash": lambda w: guarded(w, detour=True),
    "tree_unflatten": lambda w: cp.tree_unflatten(w.spec, w.leaves),
    "tree_unflatten, handed out": lambda w: cp.tree_unflatten(w.handed_out(), w.spec),
    "tree_unflatten, sorted": in_key_order(lambda w: cp.tree_structure(w.tree).unflatten(w.leaves)),
    "tree_unflatten, too many": lambda w: w.spec.unflatten(HandedOut("leaves", [*w.leaves, 0, 0])),
    "tree_unflatten, too few": lambda w: w.spec.unflatten(iter(w.leaves[1:])),
    "tree_map": lambda w: cp.tree_map(w.fn, w.tree),
    "tree_map, is_leaf": lambda w: cp.tree_map(w.fn, w.tree, is_leaf=w.is_leaf),
    "tree_map, sorted": in_key_order(lambda w: cp.tree_map(w.fn, w.tree)),
    "tree_map, two": lambda w: cp.tree_map(w.fn, w.tree, w.tree),
    "tree_map, two, is_leaf": lambda w: cp.tree_map(w.fn, w.tree, w.tree, is_leaf=w.is_leaf),
    "tree_map, two, sorted": in_key_order(lambda w: cp.tree_map(w.fn, w.tree, w.tree)),
    "tree_map, other keys": lambda w: cp.tree_map(w.fn, [w.keyed], [{w.two: 1, w.one: 2}]),
    "tree_map, other class": lambda w: cp.tree_map(w.fn, w.tree, {**w.tree, "strange": w.list}),
    "tree_map, other context": lambda w: cp.tree_map(w.fn, w.tree, {**w.tree, "group": Group(w.items, w.one)}),
    "tree_map, deeper": lambda w: cp.tree_map(w.fn, w.tree, {**w.tree, "last": [w.tree, w.tree]}),
    "tree_map_": lambda w: cp.tree_map_(w.fn, w.tree) is w.tree,
    "tree_map_, two": lambda w: cp.tree_map_(w.fn, w.tree, w.tree) is w.tree,
    "tree_map_with_path": lambda w: cp.tree_map_with_path(w.fn, w.tree, w.tree),
    "tree_map_only": lambda w: cp.tree_map_only(w.picks, w.fn, w.tree),
    "tree_map_only, class": lambda w: cp.tree_map_only(Leaf, w.fn, w.tree),
    "tree_map_only, classes": lambda w: cp.tree_map_only((Leaf, int), w.fn, w.tree),
    "tree_map_only_": lambda w: cp.tree_map_only_(w.picks, w.fn, w.tree) is w.tree,
    "tree_broadcast_map": lambda w: cp.tree_broadcast_map(w.fn, {**w.tree, "list": 1}, w.tree, is_leaf=w.is_leaf),
    "tree_broadcast_prefix": lambda w: cp.tree_broadcast_prefix({**w.tree, "list": 1}, w.tree),
    "tree_broadcast_common": lambda w: cp.tree_broadcast_common({**w.tree, "list": 1}, {**w.tree, "last": 2}),
    "tree_all": lambda w: cp.tree_all(w.tree, is_leaf=w.is_leaf),
    "tree_all, predicate": lambda w: cp.tree_all(w.picks, w.tree),
    "tree_any": lambda w: cp.tree_any(lambda leaf: not w.picks(leaf), w.tree),
    "tree_all_only": lambda w: cp.tree_all_only(Leaf, w.picks, w.tree),
    "tree_any_only": lambda w: cp.tree_any_only(Leaf, lambda leaf: not w.picks(leaf), w.tree),
    "tree_reduce": lambda w: cp.tree_reduce(w.fn, w.tree, is_leaf=w.is_leaf),
    "tree_sum": lambda w: cp.tree_sum(w.tree, Leaf("0")),
    "tree_max": lambda w: cp.tree_max(w.tree),
    "tree_min": lambda w: cp.tree_min(w.tree, default=None),
    "tree_transpose": lambda w: cp.tree_transpose(cp.tree_structure([0, 0]), w.spec, [w.tree, w.tree]),
    "tree_transpose, unfit": lambda w: cp.tree_transpose(w.spec, cp.tree_structure([0, 0]), w.tree),
    "tree_transpose_map": lambda w: cp.tree_transpose_map(lambda leaf: (w.fn(), leaf), w.tree),
    "tree_partition": lambda w: cp.tree_partition(w.picks, w.tree),
    "tree_combine": lambda w: cp.tree_combine(w.tree, w.tree),
    "tree_replace_nones": lambda w: cp.tree_replace_nones(0, w.tree, w.is_leaf),
    "tree_ravel": lambda w: cp.tree_ravel(w.tree),
    "tree_diff": lambda w: cp.tree_diff(w.tree, {**w.tree, "last": w.list}),
    "tree_diff, leaves": lambda w: cp.tree_diff(w.tree, {**w.tree, "last": [Leaf("z0"), Leaf("z9")]}, leaves=True),
    "tree_summary": lambda w: str(cp.tree_summary(w.tree)),
    "check_node": lambda w: [cp.check_node(w.tree[name]) for name in ("group", "record", "init", "static", "keys")],
    "key_get": lambda w: cp.key_get(w.tree, HandedOut("path", w.path)),
    "keystr": lambda w: keystrs(w.path),
    "keystr of odd keys": lambda w: [cp.keystr(path) for path in w.spec.key_paths()],
    "parse_keystr": lambda w: cp.parse_keystr(cp.keystr(w.path)),
    "keys compared": lambda w: (
        cp.MappingKey(w.one) == cp.MappingKey(Key("one")),
        hash(cp.MappingKey(w.one)),
    ),
    "key.get": lambda w: [cp.MappingKey(w.two).get(w.keyed), cp.GetAttrKey("plain").get(w.tree["record"])],
    "is_registered": lambda w: [cp.is_registered(type(node)) for node in w.tree.values()],
    "register and unregister": register_all_ways,
    "hash": lambda w: hash(w.spec) == hash(w.twin),
    "==": lambda w: w.spec == w.twin,
    "== of another": lambda w: w.spec == cp.tree_structure([w.tree, 0]),
    "in a dict": lambda w: len({w.spec: 0, w.twin: 1}),
    "repr": lambda w: repr(w.spec),
    "properties": lambda w: [
        (child.kind, child.type, child.context, child.entries(), child.namespace, child.num_nodes)
        for child in w.spec.children()
    ],
    "child": lambda w: w.spec.child(-4).child(0),
    "paths": lambda w: w.spec.paths(),
    "key_paths": lambda w: w.spec.key_paths(),
    "flatten_up_to": lambda w: w.spec.flatten_up_to(w.tree),
    "flatten_up_to, sorted": in_key_order(lambda w: cp.tree_structure(w.tree).flatten_up_to(w.tree)),
    "flatten_up_to, unfit": lambda w: w.spec.flatten_up_to({**w.tree, "group": Group(w.items, w.one)}),
    "broadcast": lambda w: w.spec.broadcast(w.twin),
    "compose": lambda w: cp.tree_structure([0, 0]).compose(w.spec).num_leaves,
    "is_prefix": lambda w: orders(w.spec, w.twin),
    "transform": lambda w: w.spec.transform(w.f_node, w.f_leaf),
    "walk": lambda w: w.spec.walk(w.handed_out(), w.f_node, w.f_leaf),
    "walk, rebuilding": lambda w: w.spec.walk(w.leaves, None, w.f_leaf),
    "fingerprint": lambda w: cp.tree_structure(w.plain).fingerprint(),
    "treespec_dumps": lambda w: cp.treespec_dumps(cp.tree_structure(w.plain)),
    "treespec_loads": lambda w: cp.treespec_loads(w.text),
    "pickle": lambda w: pickle.loads(pickle.dumps(w.spec)),
    "copy": lambda w: (copy.copy(w.spec) is w.spec, copy.deepcopy(w.spec) is w.spec),
    "treespec_from_collection": from_collection,
    "treespec_list and others": spec_of_parts,
    "treespec_dict, twice the key": lambda w: cp.treespec_dict({w.one: w.spec, w.two: w.twin}) == 0,
    "Partial": lambda w: cp.tree_map(lambda leaf: leaf, cp.Partial(w.fn, w.tree)),
    **BOUNDARIES,
}
