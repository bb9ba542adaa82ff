"""Following a key path into a tree, and reading one back from its text."""

from __future__ import annotations

from ._native import (
    DataclassKey,
    FlattenedIndexKey,
    GetAttrKey,
    MappingKey,
    PyTreeTypeError,
    PyTreeValueError,
    SequenceKey,
    StructureError,
    keystr,
    tree_flatten,
)
from .typing import TYPE_CHECKING
from .wording import class_of, described, key_text, listed, place, shorten, with_article

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from re import Pattern
    from typing import Any

    from .typing import IsLeaf, KeyPath, Namespace

__all__ = ["key_get", "parse_keystr"]

KEY_CLASSES = (MappingKey, SequenceKey, GetAttrKey, DataclassKey, FlattenedIndexKey)
PLAIN_CLASSES = (type(None), bool, int, float, complex, str, bytes, tuple)


def key_get(tree: Any, path: Iterable[Any], *, namespace: Namespace = "") -> Any:
    """What stands in a tree at the end of a key path: a leaf, or a container on the way to one.

    Each step flattens one level, so it works for every registered class, whether its children are attributes or not.
    A key finds the child whose key is equal to it; where there is none, the child whose key is written alike. So a
    path that `parse_keystr` read leads to the same leaf as the one that was written, `SequenceKey(1)` finds the key
    `1` of a dict, and the keys of other libraries are followed by their text.

    Args:
        tree: The tree to look into.
        path: The keys from the root down, as `tree_flatten_with_path` and `parse_keystr` give them; the empty path
            leads to the tree itself.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        The very object that stands there.

    Raises:
        StructureError: (a `ValueError`) a key leads nowhere, or to two children that are written alike. It says how
            far the path led, what stands there and which keys that has; `path` is that place.
        PyTreeTypeError: (a `TypeError`) the path is a str, or holds something that is no key.

    Example:
        >>> from clika_pytree import pytree
        >>> tree = {"layers": [{"w": 1.5}, {"w": 2.5}]}
        >>> pytree.key_get(tree, (pytree.MappingKey("layers"), pytree.SequenceKey(1), pytree.MappingKey("w")))
        2.5
        >>> pytree.key_get(tree, pytree.parse_keystr("['layers'][0]"))
        {'w': 1.5}
    """
    keys = checked_path(path)
    node = tree
    for depth, key in enumerate(keys):
        found = children_at(node, key, namespace)
        if len(found) != 1:
            raise leads_nowhere(node, keys, depth, len(found), namespace)
        node = found[0]
    return node


def checked_path(path: Any) -> Sequence[Any]:
    """The keys of a path; anything that is plainly no path is an error that says what to write."""
    if isinstance(path, (str, bytes)) or not hasattr(path, "__iter__"):
        hint = "; read a text with parse_keystr()" if isinstance(path, str) else ""
        single = "; put a single key into a tuple" if isinstance(path, KEY_CLASSES) else ""
        raise PyTreeTypeError(f"key_get() expects a tuple of keys as path, got {described(path)}{hint}{single}")
    keys: tuple[Any, ...] = tuple(path)
    for number, key in enumerate(keys):
        if issubclass(type(key), PLAIN_CLASSES):
            raise PyTreeTypeError(
                f"key_get() expects keys such as MappingKey('a'), SequenceKey(0) or GetAttrKey('x') in the path, got "
                f"{described(key)} as item {number}; tree_flatten_with_path() and parse_keystr() give paths of keys"
            )
    return keys


def children_at(node: Any, key: Any, namespace: Namespace) -> list[Any]:
    """The children of `node` that `key` means: one, where all is well."""
    cls, key_class = class_of(node), class_of(key)
    # The two usual steps, without a look at all the other children. Nobody can register these classes.
    if key_class is SequenceKey and cls in (list, tuple) and type(key.idx) is int:
        return [node[key.idx]] if 0 <= key.idx < len(node) else []
    if key_class is MappingKey and cls is dict and type(key.key) is str and key.key in node:
        return [node[key.key]]
    level = children_of(node, namespace=namespace)
    if level is None:
        return []
    keys, children = level
    found = [child for own, child in zip(keys, children, strict=True) if same_key(own, key)]
    text = str(key)
    if found or text.startswith("[<"):  # the repr of an object says too little to know it by
        return found
    return [child for own, child in zip(keys, children, strict=True) if str(own) == text]


def children_of(
    node: Any, *, is_leaf: IsLeaf = None, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[list[Any], list[Any]] | None:
    """The keys and the children of a node, one level down; None for a leaf."""
    from collections import OrderedDict, defaultdict

    if is_leaf is None and type(node) in (dict, OrderedDict, defaultdict):
        # The order of the keys is that of the dict, also where dict_insertion_ordered(False) could not sort them.
        pairs = list(node.items())
        return [MappingKey(key) for key, _ in pairs], [child for _, child in pairs]
    children, spec = tree_flatten(
        node, only_root(node, is_leaf), none_is_leaf=none_is_leaf or node is not None, namespace=namespace
    )
    return None if spec.is_leaf() else ([path[0] for path in spec.key_paths()], children)


def only_root(root: Any, is_leaf: IsLeaf = None) -> IsLeaf:
    """A predicate for one walk that stops it one level down: it says no once, for the root, then always yes."""
    from itertools import chain, repeat

    # Not by identity: a root may be a child of its own.
    answers = chain((is_leaf is not None and is_leaf(root),), repeat(True))
    return lambda _: next(answers)


def same_key(one: Any, other: Any) -> bool:
    try:
        return one is other or bool(one == other)
    except TypeError:  # a key that holds something without a usable ==
        return False


def leads_nowhere(node: Any, keys: Sequence[Any], depth: int, count: int, namespace: Namespace) -> StructureError:
    """The error for a key that means no child of `node`, or several."""
    level = children_of(node, namespace=namespace)
    name = type(node).__name__
    if level is None:
        stands = f"{described(node)} stands there, which is a leaf"
        stands += f" for namespace={namespace!r}" if namespace else ""
    else:
        own, children = level
        if not children:
            stands = f"{with_article(name)} without children stands there"
        else:
            stands = f"{with_article(name)} of {len(children)} stands there, with the keys "
            stands += listed(map(key_text, own), len(children))
    what = "leads nowhere" if count == 0 else f"leads to {count} children that are written alike"
    error = StructureError(f"key_get(): the key {key_text(keys[depth])} {what} {place(keys[:depth])}: {stands}")
    error.path = keystr(keys[:depth])
    return error


# --- reading a path --------------------------------------------------------------------------------------------------


def parse_keystr(text: str) -> KeyPath:
    """The key path that a text of `keystr` means, as far as the text says it.

    What was read is written the same again, `keystr(parse_keystr(text)) == text`, and `key_get` follows it to the leaf
    that the text was written for. Text does not tell all classes of keys apart: `[0]` is read as a `SequenceKey` and
    `.x` as a `GetAttrKey`, also where they came from a dict or a dataclass. Nor does it tell two NaNs in a dict apart.

    Args:
        text: What `keystr(path)` gave, without `simple` and `separator`: keys in brackets, `[0]` or `['a']`, names
            behind a dot. Keys are None, bools, numbers, str, bytes and tuples of those, written as Python does.

    Returns:
        A tuple of keys.

    Raises:
        PyTreeValueError: (a `ValueError`) the text is no key path, or has a key that is no plain value, such as
            `[<Color ...>]`; it says where in the text.
        PyTreeTypeError: (a `TypeError`) the argument is no str.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.parse_keystr("['a'][0].x")
        (MappingKey(key='a'), SequenceKey(idx=0), GetAttrKey(name='x'))
        >>> pytree.parse_keystr("[(1, -0.0)]")
        (MappingKey(key=(1, -0.0)),)
    """
    given: Any = text
    if not isinstance(given, str):
        raise PyTreeTypeError(f"parse_keystr() expects a str, got {described(given)}")
    text = str.__str__(given)  # a subclass of str may slice in its own way
    keys: list[Any] = []
    at = 0
    while at < len(text):
        key, end = read_key(text, at)
        # Python writes each value in one way. Any other is refused, so that what was read is written the same again.
        if written(key) != text[at:end]:
            raise no_path(text, at, f"{shorten(text[at:end])} is not how keystr() writes a key", written(key))
        keys.append(key)
        at = end
    return tuple(keys)


def written(key: Any) -> str | None:
    """The text of a key; None where Python cannot write it."""
    try:
        return str(key)
    except (RecursionError, MemoryError, ValueError):
        return None


def read_key(text: str, at: int) -> tuple[Any, int]:
    """The key that starts at a place of the text, and where it ends."""
    if text[at] == ".":
        end = at + 1
        while end < len(text) and text[end] not in ".[":
            end += 1
        name = text[at + 1 : end]
        if not name.isidentifier():
            what = f"{shorten(repr(name))} behind the dot is no name" if name else "no name follows the dot"
            raise no_path(text, at, what, None)
        return GetAttrKey(name), end
    if text[at] != "[":
        raise no_path(text, at, "a key starts with [ or with a dot", None)
    flat = pattern("flat").match(text, at)
    if flat:
        return FlattenedIndexKey(number(text, at, flat[1])), flat.end()
    if text.startswith("[<", at):
        raise no_path(text, at, "this key is an object of some class, and its text does not say which", None)
    value, end = read_value(text, at + 1)
    if not text.startswith("]", end):
        raise no_path(text, end, "the bracket is not closed here", None)
    return (SequenceKey(value) if type(value) is int else MappingKey(value)), end + 1


def read_value(text: str, at: int) -> tuple[Any, int]:
    """The plain value at a place of the text. Tuples are kept on a stack, however deep they are."""
    open_tuples: list[list[Any]] = []
    while True:
        if pattern("open").match(text, at):
            open_tuples.append([])
            at += 1
            if not text.startswith(")", at):
                continue
            value: Any = ()
        else:
            value, at = read_atom(text, at)
            if not open_tuples:
                return value, at
            open_tuples[-1].append(value)
        # A value ended; so do the tuples that close here.
        while True:
            separator = pattern("separator").match(text, at)
            if separator is None:
                raise no_path(text, at, "a comma or a closing parenthesis is missing", None)
            at = separator.end()
            if not separator[0].endswith(")"):
                break
            value = tuple(open_tuples.pop())
            if not open_tuples:
                return value, at
            open_tuples[-1].append(value)


def read_atom(text: str, at: int) -> tuple[Any, int]:
    match = pattern("atom").match(text, at)
    if match is None:
        raise no_path(text, at, "this is no plain value: None, bool, number, str, bytes or a tuple of those", None)
    if match["word"]:
        return {"None": None, "True": True, "False": False}[match["word"]], match.end()
    if match["text"]:
        return unescaped(text, at, match), match.end()
    if match["complex"]:
        return complex(match["complex"]), match.end()
    if match["int"]:
        return number(text, at, match["int"]), match.end()
    return float(match["float"]), match.end()


def number(text: str, at: int, digits: str) -> int:
    try:
        return int(digits)
    except ValueError as error:  # more digits than sys.get_int_max_str_digits() allows
        raise no_path(text, at, f"the number is too long to read ({len(digits)} digits)", None) from error


def unescaped(text: str, at: int, match: Any) -> str | bytes:
    """The value of a quoted text."""

    def character(escape: Any) -> str:
        code = escape[0][2:]
        return chr(int(code, 16)) if code else ESCAPES[escape[0][1]]

    try:
        value = pattern("escape").sub(character, match["text"][1:-1])
        return value.encode("latin-1") if match["prefix"] else value
    except (ValueError, UnicodeEncodeError) as error:
        raise no_path(text, at, "it holds a character that there is not", None) from error


def no_path(text: str, at: int, reason: str, better: str | None) -> PyTreeValueError:
    """The error for text that is no path, with the place in it."""
    start = max(0, at - 20) if len(text) > 60 else 0
    shown = ("…" if start else "") + text[start : start + 60] + ("…" if start + 60 < len(text) else "")
    hint = f"; write {shorten(better)}" if better is not None else ""
    return PyTreeValueError(
        f"parse_keystr() can't read {shown!r} from character {at} on: {reason}{hint}. A path is written as keystr() "
        "does, such as ['layers'][0].weight"
    )


ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
ESCAPE = r"""\\(?:[\\'"nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"""
DIGITS = r"(?:[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|inf|nan)"
SOURCES = {
    "flat": r"\[<flat index (-?[0-9]+)>\]",
    "open": rf"\((?!-?{DIGITS}[+-]{DIGITS}j\))",  # a complex number is written in parentheses too
    "separator": r",? ?\)|, ",
    "escape": ESCAPE,
    "atom": rf"""(?P<word>None|True|False)
        |(?P<prefix>b?)(?P<text>'(?:[^'\\]|{ESCAPE})*'|"(?:[^"\\]|{ESCAPE})*")
        |(?P<complex>\(-?{DIGITS}[+-]{DIGITS}j\)|-?{DIGITS}j)
        |(?P<int>-?[0-9]+)(?![0-9.einf])
        |(?P<float>-?{DIGITS})""",
}
PATTERNS: dict[str, Pattern[str]] = {}


def pattern(name: str) -> Pattern[str]:
    """A compiled expression; `re` is loaded when the first text is read, not at import."""
    if name not in PATTERNS:
        import re

        source = SOURCES[name]
        PATTERNS[name] = re.compile(source, re.VERBOSE if name == "atom" else 0)
    return PATTERNS[name]
