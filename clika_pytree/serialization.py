"""Structures as JSON text and back."""

from __future__ import annotations

from ._native import PyTreeTypeError, PyTreeValueError, TreeSpec
from .typing import TYPE_CHECKING
from .wording import described

if TYPE_CHECKING:
    from typing import Any

    from .typing import Namespace

# What does the work is imported where it is used: most programs that import this package write no structures.

__all__ = ["SERIALIZATION_PROTOCOL", "treespec_dumps", "treespec_loads"]

SERIALIZATION_PROTOCOL = 1
"""The version that `treespec_dumps` writes; `treespec_loads` reads it and all before it."""


def treespec_dumps(spec: TreeSpec) -> str:
    """Write a structure as JSON text, for `treespec_loads`.

    Built-in containers and namedtuples need nothing. A registered class needs a `serialized_type_name`. Keys and
    contexts are None, booleans, numbers, str, bytes, and tuples of those (in a context, lists and dicts too), and keep
    their exact type; another context needs the functions `to_dumpable_context` and `from_dumpable_context` of its
    registration. A namedtuple class must be found by its module and name, so it can't be local to a function. The
    factory of a defaultdict is None, list, dict, set, tuple, int, float, str or bool.

    Args:
        spec: The structure.

    Returns:
        The text: an object with a member `"version"`, which is `SERIALIZATION_PROTOCOL`. It has no line breaks and
        only ASCII characters.

    Raises:
        PyTreeTypeError: (a `TypeError`) `spec` is not a TreeSpec.
        PyTreeValueError: (a `ValueError`) something in it can't be written; the message and `path` say which node.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.treespec_dumps(pytree.tree_structure({"a": [1, (2, None)], "b": 3}))
        '{"version":1,"none_is_leaf":true,"nodes":[{"dict":["a","b"]},{"list":2},"*",{"tuple":2},"**","*"]}'
    """
    import json

    if not isinstance(spec, TreeSpec):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PyTreeTypeError(f"treespec_dumps() expects a TreeSpec, got {described(spec)}; tree_structure() makes one")
    return json.dumps(written_document(spec), separators=(",", ":"))


def written_document(spec: TreeSpec, caller: str = "treespec_dumps()") -> dict[str, Any]:
    """What `treespec_dumps` writes, before it is text; `caller` is the function that errors name."""
    from .spec_json import written_nodes

    return {
        "version": SERIALIZATION_PROTOCOL,
        "none_is_leaf": spec.none_is_leaf,
        "nodes": written_nodes(spec, caller),
    }


def treespec_loads(text: str, namespace: Namespace = "") -> TreeSpec:
    """Read a structure from the text that `treespec_dumps` wrote, or from that of PyTorch's `treespec_dumps`.

    Nothing is imported and no code of the text runs: a namedtuple class is looked for in the loaded modules, a
    registered class among the registrations. The text may come from a stranger; what is wrong with it is an error.

    Args:
        text: The text.
        namespace: Where the registered classes are looked for, before the global registrations; a tuple of names is
            searched in order. Pass what the tree was flattened with.

    Returns:
        A spec equal to the one that was written.

    Raises:
        PyTreeTypeError: (a `TypeError`) `text` is not a str, or `namespace` is not a str or a tuple of str.
        PyTreeValueError: (a `ValueError`) the text is damaged or of a newer version, a class in it is unknown here, or
            has other fields than when it was written. The message and `path` say which node.

    Example:
        >>> from clika_pytree import pytree
        >>> spec = pytree.tree_structure({"a": [1, (2, None)], "b": 3})
        >>> pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
        True
        >>> pytree.treespec_loads('[1, {"type": null, "context": null, "children_spec": []}]')
        TreeSpec(*)
    """
    from .plain_values import exactly
    from .torch_json import read_torch

    document = parse(text)
    if exactly(document, list):
        return read_torch(document, namespace)
    return read_document(document, namespace)


def read_document(document: Any, namespace: Namespace, caller: str = "treespec_loads()") -> TreeSpec:
    """The structure of a document; `caller` is the function that errors name."""
    from .plain_values import Refused
    from .spec_builder import Builder
    from .spec_json import read_node

    check_document(document, caller)
    builder = Builder(caller, namespace, document["none_is_leaf"])
    number = 0
    try:
        for number, item in enumerate(document["nodes"]):  # noqa: B007
            read_node(builder, item)
        number += 1
        return builder.finish()
    except Refused as refusal:
        message = f"{caller} can't read node {number} of the text, {{place}}: {refusal}"
        raise builder.place.error(message) from None


def parse(text: Any) -> Any:
    """The JSON of a text."""
    from .plain_values import Refused
    from .spec_builder import read_json

    if not isinstance(text, str):
        way_out = "; decode it" if isinstance(text, (bytes, bytearray)) else ""
        raise PyTreeTypeError(f"treespec_loads() expects a str, got {described(text)}{way_out}")
    try:
        return read_json(text)
    except Refused as refusal:
        raise PyTreeValueError(f"treespec_loads() can't read the text: {refusal}") from None


def check_document(document: Any, caller: str) -> None:
    """Refuse what is no document of a version we know."""
    from .plain_values import exactly

    version: Any = document.get("version") if exactly(document, dict) else None
    if not exactly(version, int) or version < 1:
        raise PyTreeValueError(
            f'{caller} expects what treespec_dumps() wrote, got JSON without a "version"; '
            "is it the text of something else?"
        )
    if version > SERIALIZATION_PROTOCOL:
        raise PyTreeValueError(
            f"{caller} reads versions up to {SERIALIZATION_PROTOCOL}, and the text has version {version}: "
            "upgrade clika_pytree"
        )
    if document.keys() != {"version", "none_is_leaf", "nodes"}:
        raise PyTreeValueError(f"{caller} got a damaged text: its members are others than those of its version")
    if not exactly(document["none_is_leaf"], bool) or not exactly(document["nodes"], list):
        raise PyTreeValueError(f"{caller} got a damaged text: none_is_leaf or nodes has another type")
