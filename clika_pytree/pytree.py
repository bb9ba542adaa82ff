"""Every function and class for trees. `from clika_pytree import pytree` is the usual way in."""

from ._native import (
    CircularTreeError,
    ContextError,
    DataclassKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyOrderError,
    LeafCountError,
    MappingKey,
    NodeError,
    PyTreeError,
    PyTreeTypeError,
    PyTreeValueError,
    RegistrationError,
    SequenceKey,
    StructureError,
    TreeSpec,
    dict_insertion_ordered,
    is_registered,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_iter,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_only_,
    tree_map_with_path,
    tree_paths,
    tree_structure,
    tree_unflatten,
)
from .typing import TYPE_CHECKING, PyTree

# What is written in Python is loaded when one of its names is first asked for: a program that imports the package to
# map a function over a tree should not wait for the rest.
ON_FIRST_USE: dict[str, tuple[str, ...]] = {
    "algebra": (
        "tree_broadcast_common",
        "tree_broadcast_map",
        "tree_broadcast_prefix",
        "tree_transpose",
        "tree_transpose_map",
    ),
    "class_nodes": ("register_pytree_node_class", "register_static"),
    "conversion": (
        "treespec_from_jax",
        "treespec_from_optree",
        "treespec_from_torch",
        "treespec_to_jax",
        "treespec_to_optree",
        "treespec_to_torch",
    ),
    "dataclass_nodes": ("register_dataclass",),
    "inspection": ("check_node", "tree_diff", "tree_summary"),
    "key_paths": ("key_get", "parse_keystr"),
    "namedtuples": ("is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance"),
    "one_level": ("all_leaves", "arg_tree_leaves", "tree_flatten_one_level", "tree_is_leaf"),
    "other_libraries": ("adopt", "mirror"),
    "partial": ("Partial",),
    "partition": ("tree_combine", "tree_partition", "tree_replace_nones"),
    "ravel": ("tree_ravel",),
    "reductions": (
        "tree_all",
        "tree_all_only",
        "tree_any",
        "tree_any_only",
        "tree_max",
        "tree_min",
        "tree_reduce",
        "tree_sum",
    ),
    "registration": ("register_pytree_node", "unregister_pytree_node"),
    "serialization": ("SERIALIZATION_PROTOCOL", "treespec_dumps", "treespec_loads"),
    "treespecs": (
        "treespec_defaultdict",
        "treespec_deque",
        "treespec_dict",
        "treespec_from_collection",
        "treespec_leaf",
        "treespec_list",
        "treespec_namedtuple",
        "treespec_none",
        "treespec_ordereddict",
        "treespec_tuple",
    ),
}

# Checkers and editors read the imports instead; a test holds the two against each other.
if TYPE_CHECKING:
    from .algebra import (
        tree_broadcast_common,
        tree_broadcast_map,
        tree_broadcast_prefix,
        tree_transpose,
        tree_transpose_map,
    )
    from .class_nodes import register_pytree_node_class, register_static
    from .conversion import (
        treespec_from_jax,
        treespec_from_optree,
        treespec_from_torch,
        treespec_to_jax,
        treespec_to_optree,
        treespec_to_torch,
    )
    from .dataclass_nodes import register_dataclass
    from .inspection import check_node, tree_diff, tree_summary
    from .key_paths import key_get, parse_keystr
    from .namedtuples import is_namedtuple, is_namedtuple_class, is_namedtuple_instance
    from .one_level import all_leaves, arg_tree_leaves, tree_flatten_one_level, tree_is_leaf
    from .other_libraries import adopt, mirror
    from .partial import Partial
    from .partition import tree_combine, tree_partition, tree_replace_nones
    from .ravel import tree_ravel
    from .reductions import (
        tree_all,
        tree_all_only,
        tree_any,
        tree_any_only,
        tree_max,
        tree_min,
        tree_reduce,
        tree_sum,
    )
    from .registration import register_pytree_node, unregister_pytree_node
    from .serialization import SERIALIZATION_PROTOCOL, treespec_dumps, treespec_loads
    from .treespecs import (
        treespec_defaultdict,
        treespec_deque,
        treespec_dict,
        treespec_from_collection,
        treespec_leaf,
        treespec_list,
        treespec_namedtuple,
        treespec_none,
        treespec_ordereddict,
        treespec_tuple,
    )
else:

    def __getattr__(name):
        for module, names in ON_FIRST_USE.items():
            if name in names:
                from importlib import import_module

                value = globals()[name] = getattr(import_module(f"clika_pytree.{module}"), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = [
    "SERIALIZATION_PROTOCOL",
    "CircularTreeError",
    "ContextError",
    "DataclassKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyOrderError",
    "LeafCountError",
    "MappingKey",
    "NodeError",
    "Partial",
    "PyTree",
    "PyTreeError",
    "PyTreeTypeError",
    "PyTreeValueError",
    "RegistrationError",
    "SequenceKey",
    "StructureError",
    "TreeSpec",
    "adopt",
    "all_leaves",
    "arg_tree_leaves",
    "check_node",
    "dict_insertion_ordered",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_registered",
    "key_get",
    "keystr",
    "mirror",
    "parse_keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_static",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_broadcast_common",
    "tree_broadcast_map",
    "tree_broadcast_prefix",
    "tree_combine",
    "tree_diff",
    "tree_flatten",
    "tree_flatten_one_level",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_max",
    "tree_min",
    "tree_partition",
    "tree_paths",
    "tree_ravel",
    "tree_reduce",
    "tree_replace_nones",
    "tree_structure",
    "tree_sum",
    "tree_summary",
    "tree_transpose",
    "tree_transpose_map",
    "tree_unflatten",
    "treespec_defaultdict",
    "treespec_deque",
    "treespec_dict",
    "treespec_dumps",
    "treespec_from_collection",
    "treespec_from_jax",
    "treespec_from_optree",
    "treespec_from_torch",
    "treespec_leaf",
    "treespec_list",
    "treespec_loads",
    "treespec_namedtuple",
    "treespec_none",
    "treespec_ordereddict",
    "treespec_to_jax",
    "treespec_to_optree",
    "treespec_to_torch",
    "treespec_tuple",
    "unregister_pytree_node",
]
