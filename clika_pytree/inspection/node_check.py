"""Testing how a class is registered, and saying what to change."""

from __future__ import annotations

from clika_pytree._native import PyTreeTypeError, lookup
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, described

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


def report_on(obj_or_cls: Any, example: Any, namespace: Namespace) -> NodeReport:
    is_class = issubclass(class_of(obj_or_cls), type) and lookup(class_of(obj_or_cls), namespace) is None
    if example is not None and not is_class:
        raise PyTreeTypeError(
            "check_node() expects a class with an example of it, or an instance alone: "
            f"got {described(obj_or_cls)} and {described(example)}"
        )
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
