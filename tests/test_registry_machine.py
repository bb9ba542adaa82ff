"""Random sequences of registering, unregistering and using classes, beside a registry in plain Python."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import reference
from helpers import identical
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from reference import Mode, Spec, same_tree, structure_key
from registry_model import NAMESPACES, SEARCHED, classes_in, make_dataclass, make_namedtuple, manners_of

import clika_pytree as cp

numbers = st.integers(0, 1000)
values = st.sampled_from([0, True, "x", None, (1, "y"), 0.0, -0.0])
namespaces = st.sampled_from(NAMESPACES)
searched = st.sampled_from(SEARCHED)
SHARE = max(1, settings().max_examples // 100)  # 1, 3 or 50, as the profile says: a sequence is worth many examples
names = st.sampled_from([None, None, "machine.one", "machine.two"])


class RegistryMachine(RuleBasedStateMachine):
    """The reference's table of rules is the model; specs are kept and must stay what they were."""

    def __init__(self) -> None:
        super().__init__()
        self.classes: list[type] = []
        self.names: dict[tuple[str, str], type] = {}
        self.specs: list[tuple[cp.TreeSpec, Spec, list]] = []

    def some(self, number: int) -> type:
        return self.classes[number % len(self.classes)]

    @initialize()
    def begin(self) -> None:
        self.classes += [make_dataclass(), make_dataclass(), make_namedtuple()]

    @rule(make=st.sampled_from([make_dataclass, make_namedtuple]))
    def a_new_class(self, make: Callable[[], type]) -> None:
        """It may stand where a class was that died."""
        cls = make()
        assert not cp.is_registered(cls, SEARCHED[3])
        self.classes.append(cls)

    @rule(number=numbers, manner=numbers, namespace=namespaces, name=names)
    def register(self, number: int, manner: int, namespace: str, name: str | None) -> None:
        cls = self.some(number)
        manners = manners_of(cls)
        chosen = manners[manner % len(manners)]
        taken = name is not None and self.names.get((namespace, name), cls) is not cls
        if (namespace, cls) in reference.RULES or taken:
            with pytest.raises(cp.RegistrationError):
                chosen(cls, namespace=namespace, serialized_type_name=name)
            return
        reference.RULES[namespace, cls] = chosen(cls, namespace=namespace, serialized_type_name=name)
        if name is not None:
            self.names[namespace, name] = cls

    @rule(number=numbers, namespace=namespaces)
    def unregister(self, number: int, namespace: str) -> None:
        cls = self.some(number)
        if reference.RULES.pop((namespace, cls), None) is None:
            with pytest.raises(cp.RegistrationError, match="not registered"):
                cp.unregister_pytree_node(cls, namespace)
            return
        cp.unregister_pytree_node(cls, namespace)
        self.names = {key: owner for key, owner in self.names.items() if (key[0], owner) != (namespace, cls)}

    @rule(first=numbers, second=numbers, a=values, b=values, namespace=searched)
    def flatten(self, first: int, second: int, a: Any, b: Any, namespace: Any) -> None:
        tree = {"k": [self.some(first)(a, b), a], "l": (self.some(second)(b, {"m": b}),)}
        with contextlib.suppress(TypeError):  # a dict is no hashable context
            hash(cp.tree_structure(tree, namespace=namespace))
            self.keep(tree, namespace)

    def keep(self, tree: Any, namespace: Any) -> None:
        leaves, expected = reference.flatten(tree, Mode(namespace=namespace))
        found, spec = cp.tree_flatten(tree, namespace=namespace)
        assert identical(found, leaves)
        assert repr(spec) == reference.spec_repr(expected)
        assert same_tree(spec.unflatten(found), tree, namespace)
        self.specs.append((spec, expected, leaves))
        try:
            text = cp.treespec_dumps(spec)
        except cp.PyTreeValueError:
            return
        assert cp.treespec_loads(text, namespace) == spec

    @precondition(lambda self: self.specs)
    @rule(number=numbers)
    def an_old_spec_still_rebuilds(self, number: int) -> None:
        spec, expected, leaves = self.specs[number % len(self.specs)]
        rebuilt, again = spec.unflatten(leaves), reference.unflatten(expected, leaves)
        assert type(rebuilt["k"][0]) is type(again["k"][0])
        assert rebuilt == again
        assert repr(spec) == reference.spec_repr(expected)

    @precondition(lambda self: self.specs)
    @rule(first=numbers, second=numbers)
    def specs_compare_by_class_and_manner(self, first: int, second: int) -> None:
        (one, expected, _), (other, others, _) = (self.specs[at % len(self.specs)] for at in (first, second))
        same = structure_key(expected) == structure_key(others)
        assert (one == other) is (other == one) is same
        assert hash(one) == hash(other) or not same
        assert one.is_prefix(other) is reference.is_prefix(expected.root, others.root)

    @precondition(lambda self: len(self.classes) > 3)
    @rule(number=numbers)
    def a_class_dies(self, number: int) -> None:
        cls = self.some(number)
        for namespace in NAMESPACES:
            if reference.RULES.pop((namespace, cls), None):
                cp.unregister_pytree_node(cls, namespace)
        self.names = {key: owner for key, owner in self.names.items() if owner is not cls}
        self.classes.remove(cls)
        self.specs = [
            (spec, expected, leaves)
            for spec, expected, leaves in self.specs
            if cls not in classes_in(expected.root) and cls not in map(type, leaves)
        ]
        gone = weakref.ref(cls)
        del cls
        gc.collect()
        assert gone() is None

    @invariant()
    def both_tables_agree(self) -> None:
        for cls in self.classes:
            for namespace in SEARCHED:
                assert cp.is_registered(cls, namespace) is (reference.find_rule(cls, namespace) is not None)

    def teardown(self) -> None:
        for cls in self.classes:
            for namespace in NAMESPACES:
                if reference.RULES.pop((namespace, cls), None):
                    cp.unregister_pytree_node(cls, namespace)


RegistryMachine.TestCase.settings = settings(max_examples=SHARE * 30, stateful_step_count=40, deadline=None)
test_the_registry_does_what_the_model_does = pytest.mark.usefixtures("small_heap")(RegistryMachine.TestCase)


# --- threads ----------------------------------------------------------------------------------------------------------

# What a thread does, to one of its own classes or to one that all threads work on, in which namespace and manner.
steps = st.tuples(st.sampled_from(["register", "unregister", "flatten"]), st.booleans(), namespaces, st.integers(0, 3))
programs = st.lists(st.lists(steps, min_size=5, max_size=25), min_size=2, max_size=4)


class Worker:
    """One thread's program, and what each step did."""

    def __init__(self, program: list, shared: type, start: threading.Barrier) -> None:
        self.program, self.shared, self.start = program, shared, start
        self.own = make_dataclass()
        self.registered: set[str] = set()  # where its own class is
        self.balance: Counter[str] = Counter()  # of the shared class: registrations less unregistrations
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.start.wait()
            for deed, on_shared, namespace, manner in self.program * 4:
                getattr(self, deed)(self.shared if on_shared else self.own, namespace, manner)
        except BaseException as error:
            self.error = error

    def register(self, cls: type, namespace: str, manner: int) -> None:
        done = succeeds(lambda: manners_of(cls)[manner](cls, namespace=namespace))
        self.count(cls, namespace, done, 1)

    def unregister(self, cls: type, namespace: str, manner: int) -> None:
        self.count(cls, namespace, succeeds(lambda: cp.unregister_pytree_node(cls, namespace)), -1)

    def count(self, cls: type, namespace: str, done: bool, change: int) -> None:
        if cls is self.shared:
            self.balance[namespace] += change * done
            return
        assert done is ((namespace in self.registered) is (change < 0)), "its own class is no other thread's business"
        (self.registered.add if change > 0 else self.registered.discard)(namespace)

    def flatten(self, cls: type, namespace: str, manner: int) -> None:
        thing = cls(1, "b")
        leaves, spec = cp.tree_flatten([thing, 2], namespace=namespace)
        assert len(leaves) == spec.num_leaves
        assert spec.unflatten(leaves) == [thing, 2]
        assert spec.is_prefix(spec)
        if cls is self.own:
            assert spec.child(0).is_leaf() is not bool({namespace, ""} & self.registered)


def succeeds(call: Callable[[], Any]) -> bool:
    try:
        call()
    except cp.RegistrationError:
        return False
    return True


@given(programs)
@settings(max_examples=SHARE * 40, deadline=None)
def test_threads_that_register_at_once_leave_one_table(plans: list) -> None:
    shared, start = make_dataclass(), threading.Barrier(len(plans))
    workers = [Worker(plan, shared, start) for plan in plans]
    threads = [threading.Thread(target=worker.run) for worker in workers]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        left = {namespace for namespace in NAMESPACES if succeeds(lambda: cp.unregister_pytree_node(shared, namespace))}  # noqa: B023
        for worker in workers:
            for namespace in worker.registered:
                cp.unregister_pytree_node(worker.own, namespace)
    assert [worker.error for worker in workers if worker.error] == []
    balances: Counter[str] = Counter()
    for worker in workers:
        balances.update(worker.balance)
    assert {namespace for namespace, count in balances.items() if count} == left
    assert set(balances.values()) <= {0, 1}
