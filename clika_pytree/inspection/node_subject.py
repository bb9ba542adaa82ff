"""The object that `check_node` tests, and what is wrong with it."""

from __future__ import annotations

from clika_pytree._native import lookup, tree_flatten
from clika_pytree.key_paths import only_root
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import key_text, short_name, with_article

from .sources import defined_at

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree._native import Registration, TreeSpec
    from clika_pytree.typing import Namespace


class Problem:
    """Something that is wrong with a registration.

    Attributes:
        check: The test that found it, such as "round trip".
        message: What is wrong.
        change: What to change, and where.
    """

    __slots__ = ("change", "check", "message")
    __match_args__ = ("check", "message", "change")
    check: str
    message: str
    change: str

    def __init__(self, check: str, message: str, change: str) -> None:
        self.check, self.message, self.change = check, message, change

    def __repr__(self) -> str:
        return f"Problem({self.check!r}, {self.message!r}, {self.change!r})"

    def __str__(self) -> str:
        return f"{self.check}: {self.message}\n   change: {self.change}"


class Subject:
    """The object under test and what is known of it so far."""

    flatten_fn: Any
    unflatten_fn: Any
    spec: TreeSpec
    children: list[Any]
    keys: list[Any]

    def __init__(self, cls: Any, obj: Any, namespace: Namespace) -> None:
        self.cls, self.obj, self.namespace = cls, obj, namespace
        self.name = short_name(cls)
        self.registration: Registration | None = lookup(cls, namespace)
        self.problems: list[Problem] = []
        self.check, self.skipped, self.ended = "", False, False
        self.same_children, self.rebuilds = True, True
        self.flatten_name, self.flatten_fn = "flatten_fn", None
        self.unflatten_name, self.unflatten_fn = f"rebuilding {with_article(self.name)}", None
        if self.registration is not None and self.registration.kind == "custom":
            self.name_functions(self.registration)

    def name_functions(self, registration: Registration) -> None:
        """What the functions are called in the user's code, and where they are."""
        cls: Any = self.cls
        self.flatten_fn, self.unflatten_fn = registration.flatten_fn, registration.unflatten_fn
        self.unflatten_name = "unflatten_fn"
        if registration.flatten_with_keys_fn is not None:
            self.flatten_name, self.flatten_fn = "flatten_with_keys_fn", registration.flatten_with_keys_fn
        elif registration.flatten_fn is getattr(cls, "__tree_flatten__", None):
            self.flatten_name, self.unflatten_name = f"{self.name}.__tree_flatten__", f"{self.name}.__tree_unflatten__"
            self.unflatten_fn = cls.__tree_unflatten__

    def has_problem(self, check: str) -> bool:
        return any(problem.check == check for problem in self.problems)

    def problem(self, message: str, change: str, *, end: bool = False) -> None:
        if any(problem.message == message for problem in self.problems):
            self.skipped = True  # an earlier test has said so
        else:
            self.problems.append(Problem(self.check, message, change))
        self.ended = self.ended or end

    def one_level(self, obj: Any) -> tuple[list[Any], TreeSpec]:
        return tree_flatten(obj, only_root(obj), none_is_leaf=obj is not None, namespace=self.namespace)

    def in_flatten(self, change: str) -> str:
        if self.registration is not None and self.registration.kind != "custom":
            return f"where {self.name} is registered or defined, {change}"
        return f"in {self.flatten_name}{defined_at(self.flatten_fn)}, {change}"

    def in_unflatten(self, change: str) -> str:
        if self.registration is not None and self.registration.kind == "dataclass":
            return f"in {self.name}{defined_at(self.cls)}, {change}"
        return f"in {self.unflatten_name}{defined_at(self.unflatten_fn)}, {change}"

    def child(self, number: int) -> str:
        return f"child {number} ({key_text(self.keys[number])})"
