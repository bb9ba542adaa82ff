"""The tests of `check_node`, each a function that adds the problems it finds."""

from __future__ import annotations

from clika_pytree._native import (
    ContextError,
    DataclassKey,
    GetAttrKey,
    MappingKey,
    StructureError,
    keystr,
    tree_unflatten,
)
from clika_pytree.key_paths import key_get, parse_keystr
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import key_text, leaf_text, listed, value_text, with_article

from .sources import defined_at, raised_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clika_pytree._native import TreeSpec

    from .node_subject import Subject

MOST_CHILDREN = 200
MOST_READS = 20_000
ANY_VALUE = "set the attributes and check or convert nothing: tree functions put any value where the children were"
# What a context should be.
VALUES = {
    "custom": "make it a child, or put plain values (numbers, str, tuples of those) into the context",
    "dataclass": "make that field a data field, or put plain values (numbers, str, tuples of those) there",
    "static": "put plain values (numbers, str, tuples of those) into it",
}


def check_flatten(s: Subject) -> None:
    if type(s.obj) is not s.cls:
        given = "none" if s.obj is None else leaf_text(s.obj)
        s.problem(
            f"an instance of {s.name} is needed to test it, and {given} was given",
            f"call check_node({s.name}(...))",
            end=True,
        )
        return
    try:
        s.children, s.spec = s.one_level(s.obj)
        if s.spec.is_leaf():
            where = f" in namespace {s.namespace!r} or globally" if s.namespace else ""
            s.problem(
                f"instances of {s.name} are leaves, since the class is not registered{where}",
                f"register it with register_pytree_node({s.name}, flatten_fn, unflatten_fn) or register_dataclass, or "
                "call check_node with the namespace in which it is registered",
                end=True,
            )
            return
        s.keys = [path[0] for path in s.spec.key_paths()]
        again, _ = s.one_level(s.obj)
    except Exception as error:
        s.problem(f"{s.flatten_name} fails: {raised_at(error)}", s.in_flatten(what_to_return(s, error)), end=True)
        return
    s.same_children = all_same(s.children, again)
    if any(child is s.obj for child in s.children):
        s.problem(
            f"{with_article(s.name)} is among its own children, so a tree with it has no end",
            s.in_flatten("leave the object itself out"),
            end=True,
        )
    elif len(s.children) != len(again) or list(map(type, s.children)) != list(map(type, again)):
        s.problem(
            f"two flattens of one object give different children: {told(s.children)}, then {told(again)}",
            s.in_flatten("return what the object holds, without changing it"),
            end=True,
        )


def what_to_return(s: Subject, error: Exception) -> str:
    if isinstance(error, StructureError):
        return "give as many entries as children, in their order"
    if s.registration is not None and s.flatten_fn is s.registration.flatten_with_keys_fn:
        return "return (pairs of key and child, context) for every instance"
    return "return (children, context) or (children, context, entries) for every instance"


def check_context(s: Subject) -> None:
    """Equality and hash of the structure, which are those of the context."""
    from copy import deepcopy

    change = s.in_flatten(VALUES[s.registration.kind if s.registration is not None else "custom"])
    try:
        other = s.one_level(s.obj)[1]
        equal, hashes = s.spec == other, hash(s.spec) == hash(other)
    except ContextError as error:
        reason = str(error).partition(". ")[0].replace(" at the root", "", 1)
        s.problem(reason, change)
        return
    except Exception as error:
        s.problem(f"comparing or hashing the context fails: {raised_at(error)}", change)
        return
    if not equal:
        s.problem(
            f"two flattens of one object give contexts that are not equal, {value_text(s.spec.context)} and "
            f"{value_text(other.context)}, so every call would look like a new structure",
            f"{change}, or give what it holds an __eq__ and a __hash__ that go by value",
        )
    elif not hashes:
        s.problem(
            f"the context {value_text(s.spec.context)} is equal to itself and has two hashes",
            f"give what it holds a __hash__ that goes by the same values as its __eq__{defined_at(s.cls)}",
        )
    else:
        try:
            copied = MappingKey(deepcopy(s.spec.context)) == MappingKey(s.spec.context)
        except Exception:
            return  # no copy can be made, or a copy can't be compared: nothing is known
        if not copied:
            s.problem(
                f"the context {value_text(s.spec.context)} is compared by identity: a copy of it is not equal, so two "
                f"objects of {s.name} that look the same have different structures",
                f"{change}, or give what it holds an __eq__ and a __hash__ that go by value",
            )


def check_round_trip(s: Subject) -> None:
    order = "(children, context)" if s.unflatten_name == "unflatten_fn" else "(context, children)"
    if takes_them_swapped(s):
        s.rebuilds = False
        s.problem(
            f"{s.unflatten_name} works with its two arguments swapped, and is called with {order}",
            s.in_unflatten(f"take {order}, in this order"),
        )
        return
    take = f"take {order} as {s.flatten_name} gave them, and return {with_article(s.name)}"
    rebuilt = rebuild(s, s.children, "its own children", take if s.unflatten_fn is not None else ANY_VALUE)
    if rebuilt is None:
        s.rebuilds = False
        return
    obj, (children, spec) = rebuilt
    if obj is s.obj and s.children:
        s.problem(
            f"{s.unflatten_name} returns the very object that was flattened", s.in_unflatten("make a new instance")
        )
    if s.same_children and not all_same(children, s.children):
        report_changed(s, children, s.children)
        return
    if s.has_problem("context"):
        return
    try:
        same = spec == s.spec
    except Exception:
        return  # said by the test of the context
    if not same:
        s.problem(
            f"the rebuilt object has another structure: context {value_text(spec.context)} instead of "
            f"{value_text(s.spec.context)}",
            s.in_unflatten("give the context back to the new object unchanged"),
        )


def check_any_values(s: Subject) -> None:
    """Every tree function may put other values where the children were."""
    if not s.children or not s.rebuilds:
        s.skipped = True
        return
    makers: list[tuple[str, Callable[[], Any]]] = [
        ("plain objects", object),
        ("None", lambda: None),
        ("lists", lambda: [object()]),
    ]
    for what, make in makers:
        values = [make() for _ in s.children]
        rebuilt = rebuild(s, values, f"{what} in the place of its children", ANY_VALUE)
        if rebuilt is None:
            return
        if s.same_children and not all_same(rebuilt[1][0], values):
            s.skipped = s.has_problem("round trip")
            if not s.skipped:  # it says so already
                report_changed(s, rebuilt[1][0], values)
            return
    if s.same_children and not all_same(s.one_level(s.obj)[0], s.children):
        s.problem(
            "rebuilding with other values changes the object that was flattened",
            s.in_unflatten("make a new instance that shares nothing with another one; copy what the context holds"),
        )


def rebuild(s: Subject, values: list[Any], what: str, take: str) -> tuple[Any, tuple[list[Any], TreeSpec]] | None:
    """The object with these values in it, and its children and structure; None where that is a problem."""
    if s.registration is not None and s.registration.kind == "dataclass":
        take = 'take rebuild="init" away from register_dataclass, or check and convert nothing when an instance is made'
    try:
        obj = tree_unflatten(s.spec, list(values))
    except Exception as error:
        s.problem(f"{s.unflatten_name} fails with {what}: {raised_at(error)}", s.in_unflatten(take))
        return None
    if type(obj) is not s.cls:
        s.problem(
            f"{s.unflatten_name} returns {leaf_text(obj)}, not {with_article(s.name)}",
            s.in_unflatten(f"return an instance of {s.name} itself"),
        )
        return None
    try:
        return obj, s.one_level(obj)
    except Exception as error:
        s.problem(
            f"{s.flatten_name} fails on the object rebuilt with {what}: {raised_at(error)}",
            s.in_flatten("take the children out as they are, whatever they are"),
        )
        return None


def takes_them_swapped(s: Subject) -> bool:
    """Whether the function that rebuilds works with its two arguments in the other order only."""
    if s.unflatten_fn is None or not s.same_children:
        return False
    order = [tuple(s.children), s.spec.context]
    if s.unflatten_name != "unflatten_fn":  # a class method takes the context first
        order.reverse()

    def works(arguments: list[Any]) -> bool:
        try:
            obj = s.unflatten_fn(*arguments)
            return type(obj) is s.cls and all_same(s.one_level(obj)[0], s.children)
        except Exception:
            return False

    return not works(order) and works(order[::-1])


def report_changed(s: Subject, found: list[Any], expected: list[Any]) -> None:
    """Children that did not come back as they were put in."""
    if len(found) != len(expected):
        s.problem(
            f"{len(expected)} children were put in and {len(found)} came out of the rebuilt object",
            s.in_unflatten("put every child back"),
        )
        return
    number = next(i for i, (x, y) in enumerate(zip(found, expected, strict=True)) if x is not y)
    place = next((i for i, value in enumerate(found) if value is expected[number]), None)
    if place is not None:
        s.problem(
            f"{s.child(number)} comes back as {s.child(place)}",
            s.in_unflatten(f"take the children in the order in which {s.flatten_name} gives them"),
        )
    else:
        put, came = leaf_text(expected[number]), leaf_text(found[number])
        came = "another one of its kind" if put == came else came
        s.problem(
            f"{s.child(number)} comes back as another object: {put} was put in, {came} came out",
            s.in_unflatten("put the children in as they are, without converting or copying them"),
        )


def check_entries(s: Subject) -> None:
    seen: set[str] = set()
    twice: list[str] = []
    for text in map(key_text, s.keys):
        if text in seen:
            twice.append(text)
        seen.add(text)
    if twice:
        s.problem(
            f"several children have the entry {listed(twice, len(twice))}",
            s.in_flatten("give each child its own entry"),
        )
        return
    for number, key in enumerate(s.keys[:MOST_CHILDREN]):
        value = attribute(s.obj, key)
        if value is None or value is s.children[number] or not s.same_children:
            continue
        other = next((i for i, child in enumerate(s.children) if child is value), None)
        if other is not None:
            s.problem(
                f"the entry {key_text(key)} names child {number}, but the attribute {key.name} is child {other}",
                s.in_flatten("give the entries in the order of the children"),
            )
            return


def attribute(obj: Any, key: Any) -> Any:
    """What the object has under the name of a key; small values that are everywhere say nothing."""
    if type(key) not in (GetAttrKey, DataclassKey):
        return None
    try:
        return getattr(obj, key.name, None)
    except Exception:
        return None


def check_key_paths(s: Subject) -> None:
    if not s.keys or s.has_problem("entries"):
        s.skipped = True
        return
    # Each look-up may read all the children, so of very many only a few are looked up.
    for number, key in enumerate(s.keys[: max(2, min(MOST_CHILDREN, MOST_READS // len(s.keys)))]):
        try:
            found = key_get(s.obj, (key,), namespace=s.namespace)
            if found is not s.children[number] and s.same_children:
                raise ValueError(f"it leads to {leaf_text(found)}")
        except Exception as error:
            reason = str(error) if isinstance(error, ValueError) else raised_at(error)
            s.problem(
                f"key_get does not reach {s.child(number)}: {reason}", s.in_flatten("give each child its own entry")
            )
            return
        try:
            parsed = parse_keystr(keystr((key,)))
        except Exception:
            s.problem(
                f"the text of the entry of {s.child(number)} can't be read back by parse_keystr",
                s.in_flatten("use a str, a number, or a tuple of those as entry"),
            )
            return
        if len(parsed) != 1:
            s.problem(
                f"the entry of {s.child(number)} is written like a path of {len(parsed)} keys",
                s.in_flatten(f"use an identifier in {type(key).__name__}, or the plain str as entry"),
            )
            return


def check_with_keys(s: Subject) -> None:
    functions = s.registration
    if functions is None or functions.flatten_with_keys_fn is None or functions.flatten_fn is None:
        s.skipped = True
        return
    change = f"in flatten_with_keys_fn{defined_at(functions.flatten_with_keys_fn)} or in flatten_fn"
    change += f"{defined_at(functions.flatten_fn)}, return the same children and the same context"
    try:
        children, context, *_ = functions.flatten_fn(s.obj)
        children = list(children)
    except Exception as error:
        s.problem(f"flatten_fn fails where flatten_with_keys_fn works: {raised_at(error)}", change)
        return
    if len(children) != len(s.children) or (s.same_children and not all_same(children, s.children)):
        s.problem(
            f"flatten_with_keys_fn gives {told(s.children)}, flatten_fn gives {told(children)}"
            + ("" if len(children) != len(s.children) else " in another order or as other objects"),
            change,
        )
    try:
        same = MappingKey(context) == MappingKey(s.spec.context)
    except Exception:
        return
    if not same:
        s.problem(
            f"flatten_with_keys_fn gives the context {value_text(s.spec.context)}, flatten_fn gives "
            f"{value_text(context)}",
            change,
        )


def check_serialization(s: Subject) -> None:
    functions = s.registration
    if functions is None or functions.to_dumpable_context is None or functions.from_dumpable_context is None:
        s.skipped = True
        return
    to, back = functions.to_dumpable_context, functions.from_dumpable_context
    change = (
        f"in to_dumpable_context{defined_at(to)} or from_dumpable_context{defined_at(back)}, make one undo the other"
    )
    context = s.spec.context
    try:
        returned = back(to(context))
        same = MappingKey(returned) == MappingKey(context)
    except Exception as error:
        s.problem(f"the context {value_text(context)} does not go through them: {raised_at(error)}", change)
        return
    if not same:
        s.problem(f"the context {value_text(context)} comes back as {value_text(returned)}", change)


CHECKS: tuple[tuple[str, Callable[[Subject], None]], ...] = (
    ("flatten", check_flatten),
    ("context", check_context),
    ("entries", check_entries),
    ("key paths", check_key_paths),
    ("flatten_with_keys_fn", check_with_keys),
    ("serialization", check_serialization),
    # Last, since a wrong unflatten function may change the example.
    ("round trip", check_round_trip),
    ("any values", check_any_values),
)


def all_same(xs: list[Any], ys: list[Any]) -> bool:
    return len(xs) == len(ys) and all(x is y for x, y in zip(xs, ys, strict=True))


def told(children: list[Any]) -> str:
    if not children:
        return "no children"
    noun = "child" if len(children) == 1 else "children"
    return f"{len(children)} {noun} ({listed(map(leaf_text, children), len(children))})"
