"""Fingerprints: kept for ever, the same in every process, equal where structures are, refused where no name holds."""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Iterator
from typing import Any

import pytest
from classes import ALPHA, AlphaOnly, Color, Config, Methods, Point, Sample, Tagged
from deep import FULL_DEPTH, HALF_WAY, Chain
from fingerprinted import KEPT, fingerprints, structures
from helpers import SMALL_STACK, notes, registered, run_in_thread, run_python
from registering import clean_registry, make_pair, register  # noqa: F401
from test_pickle import ROLES, Fields

import clika_pytree as cp
from clika_pytree import pytree

structure = cp.tree_structure


def kept() -> dict[str, str]:
    return json.loads(KEPT.read_text(encoding="ascii"))


# --- everywhere the same ----------------------------------------------------------------------------------------------


def test_fingerprints_hold_for_ever():
    assert fingerprints() == kept()


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_fingerprints_are_those_of_every_process(seed):
    script = "import json, fingerprinted; print(json.dumps(fingerprinted.fingerprints()))"
    assert json.loads(run_python(script, PYTHONHASHSEED=seed).stdout) == kept()


def test_different_structures_have_different_fingerprints():
    specs = structures()
    digests = kept()
    assert all(re.fullmatch("[0-9a-f]{32}", digest) for digest in digests.values())
    for name, spec in specs.items():
        for other, other_spec in specs.items():
            assert (digests[name] == digests[other]) is (spec == other_spec), (name, other)
    assert len(set(digests.values())) >= len(digests) - 2  # those of namespaces that nothing was registered in


def test_a_fingerprint_does_not_depend_on_how_the_structure_was_made():
    for name, spec in structures().items():
        again = pickle.loads(pickle.dumps(spec))
        leaf = cp.treespec_leaf(none_is_leaf=spec.none_is_leaf)
        for twin in (
            again,
            spec.compose(leaf),
            leaf.compose(spec),
            spec.transform(lambda node: node),
            spec.broadcast(leaf),
        ):
            assert twin == spec
            assert twin.fingerprint() == spec.fingerprint(), name
        assert cp.treespec_list([spec]).child(0).fingerprint() == spec.fingerprint()


def test_the_original_order_of_a_dict_read_by_sorted_key_does_not_count():
    with cp.dict_insertion_ordered(False):
        one, other = structure({"b": 0, "a": [0]}), structure({"a": [0], "b": 0})
    assert one.fingerprint() == other.fingerprint() == structure({"a": [0], "b": 0}).fingerprint()


# --- classes ----------------------------------------------------------------------------------------------------------


def test_a_class_counts_by_its_serialized_name():
    one, other = make_pair(), make_pair()
    register(one, serialized_type_name="tests.counted")
    first = structure(one(1, 2)).fingerprint()
    cp.unregister_pytree_node(one)
    register(other, serialized_type_name="tests.counted")
    assert structure(other(3, 4)).fingerprint() == first
    register(one, serialized_type_name="tests.counted otherwise")
    assert structure(one(1, 2)).fingerprint() != first


def test_a_namespace_counts():
    Pair = make_pair()
    register(Pair, serialized_type_name="tests.everywhere")
    register(Pair, serialized_type_name="tests.everywhere", namespace="tests.here")
    register(Pair, serialized_type_name="tests.everywhere", namespace="tests.there")
    specs = [structure(Pair(1, 2), namespace=name) for name in ("", "tests.here", "tests.there")]
    assert len({spec.fingerprint() for spec in specs}) == 3


def test_the_fields_of_a_dataclass_count():
    seen: dict[str, Any] = {}
    for data, meta, dropped in ROLES:
        pytree.register_dataclass(Fields, data, meta, drop_fields=dropped)
        spec = structure([Fields()])
        cp.unregister_pytree_node(Fields)
        assert seen.setdefault(spec.fingerprint(), spec) == spec
    assert len(seen) == len(ROLES)


def test_the_fields_of_a_namedtuple_count(monkeypatch):
    seen = set()
    for fields in ("x y", "y x", "x z"):
        Row = namedtuple("Row", fields)
        monkeypatch.setattr(sys.modules[__name__], "Row", Row, raising=False)
        seen.add(structure(Row(1, 2)).fingerprint())
    assert len(seen) == 3


def test_entries_do_not_count_as_they_do_not_in_equality():
    specs = []
    for entries in (("a", "b"), ("b", "a"), (0, 1), None):
        Named = make_pair()
        rest = () if entries is None else (entries,)
        with registered(
            Named, lambda p, rest=rest: ((p.a, p.b), None, *rest), lambda *_: None, serialized_type_name="tests.entries"
        ):
            specs.append(structure(Named(1, 2)))
    assert len({spec.fingerprint() for spec in specs}) == 1


# --- contexts ---------------------------------------------------------------------------------------------------------


def dumping(dump: Any, context: Any = None) -> cp.TreeSpec:
    """A structure whose class makes plain values of its context with `dump`."""
    Dumping = make_pair()
    pytree.register_pytree_node(
        Dumping,
        lambda p: ((p.a,), context),
        lambda children, _: Dumping(*children, None),
        serialized_type_name="tests.dumping",
        to_dumpable_context=dump,
        from_dumpable_context=lambda dumped: dumped,
    )
    spec = structure({"x": Dumping(1, 2)})
    cp.unregister_pytree_node(Dumping)
    return spec


def test_a_context_counts_by_what_is_dumped_of_it():
    assert dumping(sorted, frozenset({2, 1})).fingerprint() == dumping(list, (1, 2)).fingerprint()
    assert dumping(sorted, {2, 1}).fingerprint() != dumping(sorted, {2, 3}).fingerprint()


def test_a_context_function_gets_a_copy():
    def spoil(context: dict) -> int:
        context["k"].append(3)
        context.clear()
        return 0

    spec = dumping(spoil, {"k": [1, 2]})
    first = spec.fingerprint()
    assert spec.child(0).context == {"k": [1, 2]}
    assert spec.fingerprint() == first


def test_an_exception_of_a_context_function_says_where():
    with pytest.raises(ZeroDivisionError) as caught:
        dumping(lambda _: 1 / 0).fingerprint()
    assert notes(caught.value) == "clika_pytree: raised by to_dumpable_context of Pair at ['x']"


def circle() -> list:
    around: list = []
    around.append({"k": (around,)})
    return around


def test_a_context_that_contains_itself_is_refused():
    words = r"the Methods at \[0\] has no fingerprint: its context .* holds a list that contains itself"
    with pytest.raises(cp.PyTreeValueError, match=words) as caught:
        structure([Methods([], circle())]).fingerprint()
    assert caught.value.path == "[0]"
    with pytest.raises(cp.PyTreeValueError, match=r"what to_dumpable_context returns .* a list that contains itself"):
        dumping(lambda _: circle()).fingerprint()


def test_common_parts_cost_nothing_twice():
    def doubled(times: int, wrap: Any) -> Any:
        value: Any = [1, 2]
        for _ in range(times):
            value = wrap(value)
        return value

    wraps = [lambda v: [v, v], lambda v: (v, 0, v), lambda v: {"a": v, "b": v}, lambda v: [[v], (v,)]]
    digests = set()
    for wrap in wraps:
        shared = dumping(lambda _, wrap=wrap: doubled(100, wrap)).fingerprint()
        assert shared == dumping(lambda _, wrap=wrap: doubled(100, wrap)).fingerprint()
        digests.add(shared)
        # What is one object here and two there is the same value.
    assert len(digests) == len(wraps)
    # What is one object in the one and two objects in the other is the same value.
    common = doubled(5, wraps[0])
    apart = json.loads(json.dumps(common))
    assert dumping(lambda _: common).fingerprint() == dumping(lambda _: apart).fingerprint()


def test_deep_contexts_and_deep_trees_on_a_small_stack():
    context: Any = ()
    for _ in range(HALF_WAY):
        context = (context,)
    specs = [structure(Methods([1], context)), structure(Chain("list", FULL_DEPTH).tree), structure({context: 0})]
    made = run_in_thread(lambda: [spec.fingerprint() for spec in specs], SMALL_STACK)
    assert len(set(made)) == 3


# --- refused ----------------------------------------------------------------------------------------------------------


class Moved(Methods):
    __qualname__ = "Elsewhere"


def refusals() -> Iterator[tuple[Any, str, str]]:
    Local = namedtuple("Local", "x")
    Unnamed = make_pair()
    register(Unnamed)
    pytree.register_pytree_node_class(Moved)
    unnamed_factory: Any = type("Factory", (), {"__call__": lambda self: 0, "__module__": None})()
    yield Local(1), "the Local", "test_fingerprint' has under the name 'Local', .* at the top of a module"
    yield Unnamed(1, 2), "the Pair", "make_pair.<locals>.Pair', .*; give it a serialized_type_name, or define it at"
    yield Moved([], None), "the Moved", "the name 'Elsewhere'"
    yield defaultdict(lambda: 0), "the defaultdict", "its factory .* '.*<lambda>'"
    yield defaultdict(unnamed_factory), "the defaultdict", "its factory is a Factory"
    yield {Color.RED: 0}, "the dict", "a key is more than plain values: it holds a Color"
    yield OrderedDict({(1, Color.RED): 0}), "the OrderedDict", "a key .* Color"
    yield {Point(1, 2): 0}, "the dict", "a key .* Point"
    yield Tagged(1, 2, Point(1, 2)), "the Tagged", "its context .* Point; register the class with a to_dumpable_context"
    yield Sample(1, 2, [slice(3)]), "the Sample", "its context .* slice; register"
    yield Methods([], structure(1)), "the Methods", "its context .* TreeSpec; register"
    yield Config(Color.RED), "the Config", "what to_dumpable_context returns is more .* a Color"


REFUSALS = range(12)


@pytest.mark.parametrize("number", REFUSALS)
def test_what_has_no_fingerprint_is_named_with_its_place(number):
    tree, name, words = list(refusals())[number]
    with pytest.raises(cp.PyTreeValueError, match=words) as caught:
        structure({"a": [0, tree]}).fingerprint()
    assert caught.value.path == "['a'][1]"
    assert str(caught.value).startswith(f"{name} at ['a'][1] has no fingerprint: ")
    assert len(str(caught.value)) < 300


def test_all_refusals_are_tested():
    assert len(list(refusals())) == len(REFUSALS)


def test_an_error_far_down_has_its_path():
    with pytest.raises(cp.PyTreeValueError, match=r"\[0\]\[0\]…\(99992 more\)…") as caught:
        structure(Chain("list", HALF_WAY, {frozenset({Color.RED}): 0}).tree).fingerprint()
    assert caught.value.path == "[0]" * HALF_WAY


def test_a_structure_outlives_its_registration():
    spec = structure(AlphaOnly(1, 2), namespace=ALPHA)
    Pair = make_pair()
    register(Pair, serialized_type_name="tests.gone")
    mixed = spec.compose(structure(Pair(1, 2)))
    before = mixed.fingerprint()
    cp.unregister_pytree_node(Pair)
    assert mixed.fingerprint() == before
