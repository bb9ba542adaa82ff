"""The public functions; what they do is imported when one of them is called."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree.typing import IsLeaf, Namespace

    from .difference import TreeDiff
    from .node_check import NodeReport
    from .table import TreeSummary

__all__ = ["check_node", "tree_diff", "tree_summary"]


def tree_diff(
    a: Any,
    b: Any,
    *,
    leaves: bool = False,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> TreeDiff:
    """Every difference in structure between two trees, and in their leaves where asked for, by key path.

    Below nodes of different classes the comparison goes on where their children can be paired: between lists, tuples
    and deques by place, between the kinds of dicts by key. Leaves are equal where their classes and values are; arrays
    of any library where their shapes, dtypes and elements are, NaN being equal to NaN.

    Two TreeSpecs are compared as the structures they stand for.

    Args:
        a: The first tree.
        b: The second tree.
        leaves: Whether leaves are compared too.
        is_leaf: Called with every object; where it gives a true value, the object is a leaf.
        none_is_leaf: Whether None is a leaf, or a node without children.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        A tuple of differences in the order of the trees, empty where there are none. Each has a `path`, a `kind` and
        the texts `a` and `b`. Printed, it is one line a difference, or for the same one in siblings that are told apart
        by a number. Where the line would be longer than 80 characters, both sides have a line below the place; the
        middle of what is longer still is left out, and what is behind the 30th.

    Raises:
        CircularTreeError: (a `ValueError`) a tree contains itself.
        PyTreeTypeError: (a `TypeError`) `leaves` or `none_is_leaf` is neither True nor False, `is_leaf` is no function,
            or `namespace` is no name.

    Example:
        >>> from clika_pytree import pytree
        >>> old = {"w": [1, 2], "b": 0, "name": "x"}
        >>> new = {"w": (1, 2, 3), "name": "y"}
        >>> pytree.tree_diff(old, new)
        2 differences:
          ['w']: a has a list of 2, b has a tuple of 3
          ['b']: only in a, which has 0
        >>> [difference.kind for difference in pytree.tree_diff(old, new, leaves=True)]
        ['type', 'only_a', 'leaf']
    """
    from .diff import difference_of

    return difference_of(a, b, leaves, is_leaf, none_is_leaf, namespace)


def tree_summary(
    tree: Any,
    *,
    max_rows: int | None = 50,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> TreeSummary:
    """A table of the leaves of a tree: paths, types, shapes, dtypes and bytes, with totals.

    Three or more siblings that look alike and are told apart by a number, such as the layers of a model, are one group
    of lines; their keys are written `[0…11]`, in a flat state dict `['h.0…11.weight']`. Of other siblings only long
    rows are put together. A container without children, such as an empty dict, has a line with its class and 0 leaves.
    Arrays are known by having a shape and a dtype, whichever library they are of, and none is
    asked for its values.

    Args:
        tree: The tree.
        max_rows: How many lines the table has at most; None for all.
        is_leaf: Called with every object; where it gives a true value, the object is a leaf.
        none_is_leaf: Whether None is a leaf, or a node without children.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        A `TreeSummary`, which prints as the table and shows as one in a notebook. It has `rows`, `num_leaves`,
        `num_arrays`, `num_elements` and `nbytes`.

    Raises:
        CircularTreeError: (a `ValueError`) the tree contains itself.
        PyTreeTypeError: (a `TypeError`) `max_rows` is neither a number nor None.
        PyTreeValueError: (a `ValueError`) `max_rows` is below 0.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_summary({"layers": [{"w": 0.5, "b": None}] * 12, "name": "net"})
        path                   leaves  type
        ['layers'][0…11]['w']      12  float
        ['layers'][0…11]['b']      12  NoneType
        ['name']                    1  str
        25 leaves, 0 arrays
    """
    from .summary import summary_of

    return summary_of(tree, max_rows, is_leaf, none_is_leaf, namespace)


def check_node(obj_or_cls: Any, example: Any = None, *, namespace: Namespace = "") -> NodeReport:
    """Test how a class is registered: whether its instances come apart and together again as every function expects.

    An instance is flattened, rebuilt, and rebuilt with other values in place of its children. The tests are:

    - flatten: the class is a node, and two flattens of one object give the same;
    - context: it has an `==` and a hash that go by value;
    - entries: each child has a name of its own, and names that are attributes name their own values;
    - key paths: `key_get` and `parse_keystr` lead to each child;
    - flatten_with_keys_fn: it agrees with `flatten_fn`, where both are given;
    - serialization: the two context functions undo each other, where they are given;
    - round trip: rebuilding gives a new object of the class, with the same children in the same places;
    - any values: rebuilding takes whatever stands in the place of a child, and leaves the first object alone.

    Args:
        obj_or_cls: An instance, or a class with an `example`.
        example: An instance of the class; one that is as full as they get tests the most.
        namespace: The name, or tuple of names, in which the registration is looked up before the global ones.

    Returns:
        A `NodeReport`: true where all is well, with `passed` and `problems`. Each problem has a `message` and the
        `change` that would mend it. Printed, it says both.

    Raises:
        PyTreeTypeError: (a `TypeError`) there is an `example` beside an instance, or `namespace` is no name.

    Example:
        >>> from clika_pytree import pytree
        >>> class Range:
        ...     def __init__(self, low, high):
        ...         self.low, self.high = low, high
        >>> pytree.register_pytree_node(
        ...     Range, lambda r: ((r.low, r.high), None, ("high", "low")), lambda children, _: Range(*children)
        ... )
        >>> report = pytree.check_node(Range(1, 2))
        >>> bool(report), report.problems[0].message
        (False, 'the entry .high names child 0, but the attribute high is child 1')
    """
    from .node_check import report_on

    return report_on(obj_or_cls, example, namespace)
