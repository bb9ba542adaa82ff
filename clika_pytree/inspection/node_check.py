"""Testing how a class is registered, and saying what to change."""

from __future__ import annotations

from clika_pytree._native import lookup
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .node_subject import Problem, Subject
from .node_tests import CHECKS
from .values import full_name

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree.typing import Namespace


class NodeReport:
    """What `check_node` found: true where all is well.

    Attributes:
        cls: The class that was tested.
        namespace: Where its registration was looked up.
        passed: The names of the tests that found nothing.
        problems: What is wrong.
    """

    cls: type
    namespace: Namespace
    passed: tuple[str, ...]
    problems: tuple[Problem, ...]

    def __init__(self, cls: type, namespace: Namespace) -> None:
        self.cls, self.namespace = cls, namespace
        self.passed, self.problems = (), ()

    def __bool__(self) -> bool:
        return not self.problems

    def __repr__(self) -> str:
        name = full_name(self.cls)
        count = len(self.problems)
        verdict = "all is well" if not count else f"{count} problem{'s' if count > 1 else ''}"
        where = f" in namespace {self.namespace!r}" if self.namespace else ""
        lines = [f"{name}{where}: {verdict}"]
        lines += [f"{number}. {problem}" for number, problem in enumerate(self.problems, 1)]
        if self.passed:
            lines.append(f"passed: {', '.join(self.passed)}")
        return "\n".join(lines)


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
    is_class = issubclass(class_of(obj_or_cls), type) and lookup(class_of(obj_or_cls), namespace) is None
    cls: Any = obj_or_cls if is_class else class_of(obj_or_cls)
    example = example if is_class else obj_or_cls
    report = NodeReport(cls, namespace)
    subject = Subject(cls, example, namespace)
    passed: list[str] = []
    for name, check in CHECKS:
        before = len(subject.problems)
        subject.check, subject.skipped = name, False
        check(subject)
        if len(subject.problems) == before and not subject.skipped:
            passed.append(name)
        if subject.ended:
            break
    report.passed, report.problems = tuple(passed), tuple(subject.problems)
    return report
