"""In the place of optree: `import clika_pytree.compat.optree as optree`.

None is a node without children unless `none_is_leaf=True`, dicts flatten by sorted key, `unflatten` functions take the
metadata first, further trees of `tree_map` may go deeper than the first, and may have other kinds of dicts. optree is
not imported, and knows nothing of what is registered here.

What differs:
    - Structures compare by exact type and value: `{1: x}` and `{True: x}` are two. They are `TreeSpec`s, print as such,
      with their methods: `broadcast` for `broadcast_to_common_suffix`, `num_leaves` for `len(spec)`; `kind` is text.
      Call `treespec.flatten_up_to(tree)` inside `clika_pytree.dict_insertion_ordered(False)`: outside of it the tree's
      dicts must have their keys in sorted order.
    - `dict_insertion_ordered` holds for its own thread and async task; in optree for the process.
    - `tree_transpose` holds the tree against the structures, optree the number of leaves. Where the two trees of
      `tree_broadcast_prefix` or `tree_broadcast_common` have their keys in another order, the results may, too.
    - Struct sequences, such as `time.struct_time`, are leaves. There is no limit of depth.
    - The empty namespace is the global one, which optree has under a private name.
    - Keys that have no order, such as frozensets, are an error; optree leaves them as they are.
    - The path of a field of a namedtuple is its name; in optree its index.
    - There are no accessors and entries (`tree_accessors`, `PyTreeAccessor`, `PyTreeEntry`, `path_entry_type=`): key
      paths of `clika_pytree` do that. Nor are there `prefix_errors`, `PyTreeKind`, and what is about struct sequences.

Example:
    >>> import clika_pytree.compat.optree as optree
    >>> optree.tree_flatten({"b": None, "a": [1, 2]})
    ([1, 2], TreeSpec({'a': [*, *], 'b': None}, none_is_leaf=False))
    >>> optree.tree_map(lambda x, y: (x, y), {"b": 1, "a": 2}, {"a": [3], "b": 4})
    {'b': (1, 4), 'a': (2, [3])}
"""

from __future__ import annotations

from clika_pytree import PyTree, TreeSpec, is_namedtuple, is_namedtuple_class, is_namedtuple_instance

from .order import dict_insertion_ordered
from .registration import (
    namedtuple_fields,
    register_pytree_node,
    register_pytree_node_class,
    unregister_pytree_node,
)
from .shapes import (
    broadcast_common,
    broadcast_prefix,
    tree_broadcast_common,
    tree_broadcast_map,
    tree_broadcast_map_with_path,
    tree_broadcast_prefix,
    tree_partition,
    tree_transpose,
    tree_transpose_map,
    tree_transpose_map_with_path,
)
from .specs import (
    treespec_child,
    treespec_children,
    treespec_defaultdict,
    treespec_deque,
    treespec_dict,
    treespec_entries,
    treespec_entry,
    treespec_from_collection,
    treespec_is_leaf,
    treespec_is_one_level,
    treespec_is_prefix,
    treespec_is_strict_leaf,
    treespec_is_suffix,
    treespec_leaf,
    treespec_list,
    treespec_namedtuple,
    treespec_none,
    treespec_one_level,
    treespec_ordereddict,
    treespec_paths,
    treespec_transform,
    treespec_tuple,
)
from .trees import (
    all_leaves,
    tree_all,
    tree_any,
    tree_flatten,
    tree_flatten_one_level,
    tree_flatten_with_path,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_,
    tree_map_with_path,
    tree_map_with_path_,
    tree_max,
    tree_min,
    tree_paths,
    tree_reduce,
    tree_replace_nones,
    tree_structure,
    tree_sum,
    tree_unflatten,
)

__all__ = [
    "NONE_IS_LEAF",
    "NONE_IS_NODE",
    "PyTree",
    "PyTreeDef",
    "PyTreeSpec",
    "all_leaves",
    "broadcast_common",
    "broadcast_prefix",
    "dict_insertion_ordered",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "namedtuple_fields",
    "register_pytree_node",
    "register_pytree_node_class",
    "tree_all",
    "tree_any",
    "tree_broadcast_common",
    "tree_broadcast_map",
    "tree_broadcast_map_with_path",
    "tree_broadcast_prefix",
    "tree_flatten",
    "tree_flatten_one_level",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_with_path",
    "tree_map_with_path_",
    "tree_max",
    "tree_min",
    "tree_partition",
    "tree_paths",
    "tree_reduce",
    "tree_replace_nones",
    "tree_structure",
    "tree_sum",
    "tree_transpose",
    "tree_transpose_map",
    "tree_transpose_map_with_path",
    "tree_unflatten",
    "treespec_child",
    "treespec_children",
    "treespec_defaultdict",
    "treespec_deque",
    "treespec_dict",
    "treespec_entries",
    "treespec_entry",
    "treespec_from_collection",
    "treespec_is_leaf",
    "treespec_is_one_level",
    "treespec_is_prefix",
    "treespec_is_strict_leaf",
    "treespec_is_suffix",
    "treespec_leaf",
    "treespec_list",
    "treespec_namedtuple",
    "treespec_none",
    "treespec_one_level",
    "treespec_ordereddict",
    "treespec_paths",
    "treespec_transform",
    "treespec_tuple",
    "unregister_pytree_node",
]

PyTreeSpec = PyTreeDef = TreeSpec
NONE_IS_NODE = False
NONE_IS_LEAF = True
