"""Whether a file is what the caller takes it for."""

from __future__ import annotations

from clika_pytree._native import StructureError, dict_insertion_ordered, keystr, runtime_of, tree_flatten_with_path
from clika_pytree.runtimes.file_dtypes import NAMES
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import array_facts, leaf_text, shorten_middle

from .document import ROOT

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree._native import TreeSpec
    from clika_pytree.typing import Namespace

    from .opened import Opened

__all__ = ["check_like"]

# So many differences are written out.
MOST_LINES = 20


def check_like(opened: Opened, spec: TreeSpec | None, like: Any, namespace: Namespace) -> None:
    """Raise with every difference between a file and the tree that it should be."""
    with dict_insertion_ordered(True):
        pairs, structure = tree_flatten_with_path(like, namespace=namespace)
    if spec is not None and not (spec.num_children and structure.num_children):
        # Of a whole tree beside one leaf, or beside nothing, the leaves are no differences of their own.
        refuse(opened, structural(spec, structure))
    expected: dict[str, Any] = {}
    for path, leaf in pairs:
        key: Any = path[0] if len(path) == 1 else None
        is_key = spec is None and type(getattr(key, "key", None)) is str
        expected[key.key if is_key else keystr(path) or ROOT] = leaf
    found = leaves_of(opened)
    lines = [f"{name}: not in the file" for name in expected if name not in found]
    lines += [f"{name}: not in like" for name in found if name not in expected]
    for name, leaf in expected.items():
        if name in found:
            here, there = text_of_leaf(leaf), found[name]
            if here is None and name in opened.entries:
                here = leaf_text(leaf)
            if here is not None and here != there:
                lines.append(f"{name}: file {there}, like {here}")
    if not lines and spec is not None and spec != structure:
        lines = structural(spec, structure)
    refuse(opened, lines)


def structural(spec: TreeSpec, structure: TreeSpec) -> list[str]:
    """How two structures differ."""
    from clika_pytree.inspection import tree_diff

    return [
        f"{keystr(difference.path) or 'the root'}: {difference.what('the file', 'like')}"
        for difference in tree_diff(spec, structure)
    ] or ([] if spec == structure else [f"file {spec}, like {structure}"])


def refuse(opened: Opened, lines: list[str]) -> None:
    if lines:
        shown = "\n".join(f"  {shorten_middle(line, 160)}" for line in lines[:MOST_LINES])
        more = f"\n  and {len(lines) - MOST_LINES:,} more" if len(lines) > MOST_LINES else ""
        count = f"{len(lines):,} difference{'s' if len(lines) > 1 else ''}"
        raise StructureError(f"{opened.name} does not fit like ({count}):\n{shown}{more}")


def leaves_of(opened: Opened) -> dict[str, str]:
    """Each leaf of a file by name, in words."""
    document = opened.document
    texts = {name: tensor_text(NAMES[code], shape) for name, (_, code, shape, *_) in opened.entries.items()}
    if document is None:
        return texts
    if document.kind == "dict":
        return texts | {key: leaf_text(value) for _, key, value in document.values}
    leaves: dict[str, str] = {}
    for number, name in enumerate(opened.leaves):
        if number in document.values:
            leaves[name] = leaf_text(document.values[number])
        else:
            leaves[name] = texts[opened.leaves[document.ties.get(number, number)]]
    return leaves


def text_of_leaf(leaf: Any) -> str | None:
    """A leaf of the tree in the same words; None for a plain value, which may be another."""
    runtime = runtime_of(leaf)
    if runtime is not None:
        code, shape = runtime.stored_as(leaf)
        name: Any = NAMES.get(code, code)
        return tensor_text(name, shape)
    facts = array_facts(leaf)
    if facts is None:
        return None
    return tensor_text(facts[1], facts[0])


def tensor_text(dtype: str, shape: tuple[Any, ...]) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]"
