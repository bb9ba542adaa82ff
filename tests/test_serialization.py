"""Structures written as JSON and read again: every kind, every value, deep ones, in another process."""

from __future__ import annotations

import json
import math
import struct
import sys
from collections import OrderedDict, defaultdict, deque
from pathlib import Path
from typing import Any

import pytest
from classes import (
    ALPHA,
    BETA,
    AlphaOnly,
    Bag,
    BetaOnly,
    Cell,
    Color,
    Config,
    Labelled,
    Methods,
    Nothing,
    Pair,
    Point,
    Sample,
    Switch,
    Tagged,
    every_kind,
)
from deep import FULL_DEPTH, HALF_WAY, RECURSIVELY_FREED, Chain
from helpers import SMALL_STACK, read, reading, run_in_thread, run_python, structure
from hypothesis import given
from hypothesis import strategies as st
from registering import clean_registry, make_pair, register  # noqa: F401
from strategies import trees, whole_modes

import clika_pytree as cp
from clika_pytree import pytree

DOCUMENTS = Path(__file__).parent / "serialized_v1"


def there_and_back(spec: cp.TreeSpec, namespace: Any = "") -> cp.TreeSpec:
    return cp.treespec_loads(cp.treespec_dumps(spec), namespace=namespace)


# --- documents that load for ever -------------------------------------------------------------------------------------


def sorted_dicts() -> cp.TreeSpec:
    with cp.dict_insertion_ordered(False):
        return cp.tree_structure({"b": 1, "c": 2, "a": defaultdict(list, y=1, x=2)})


PLAIN = (None, True, 7, -(2**70), 0.5, -0.0, math.inf, math.nan, 1 - 0j, "ü", "\ud800\udc00", b"\0", ("in", ()))

WHAT_THEY_ARE: dict[str, Any] = {
    "leaf": lambda: cp.tree_structure(0),
    "none": lambda: cp.tree_structure([None, 1, None], none_is_leaf=False),
    "list": lambda: cp.tree_structure([1, [], [2, 3, [4]]]),
    "tuple": lambda: cp.tree_structure((1, (), (2,))),
    "dict": lambda: cp.tree_structure({"b": 1, "a": {}, 3: 2, (1, "k"): 0}),
    "ordereddict": lambda: cp.tree_structure(OrderedDict(b=1, a=OrderedDict())),
    "defaultdict": lambda: cp.tree_structure([defaultdict(int, b=1), defaultdict(None)]),
    "deque": lambda: cp.tree_structure([deque([1, 2], 3), deque()]),
    "namedtuple": lambda: cp.tree_structure([Point(1, Labelled(2, 3)), Nothing()]),
    "custom": lambda: cp.tree_structure(Pair(1, Tagged(2, Bag({"n": 3, "not a name": 4}), "t"))),
    "dataclass": lambda: cp.tree_structure([Sample(1, 2, "s"), Cell((1, 2), 3)]),
    "static": lambda: cp.tree_structure([Config(1, "fast"), 0]),
    "namespaces": lambda: cp.tree_structure([Switch(1, 2), AlphaOnly(3, 4), BetaOnly(5, "m")], namespace=(ALPHA, BETA)),
    "values": lambda: cp.tree_structure(Methods([1], [PLAIN, {"k": [], 1.5: ()}])),
    "sorted_dicts": sorted_dicts,
}


@pytest.mark.parametrize("name", WHAT_THEY_ARE)
def test_a_document_of_version_1_loads(name: str) -> None:
    text = (DOCUMENTS / f"{name}.json").read_text(encoding="ascii")
    expected = WHAT_THEY_ARE[name]()
    loaded = cp.treespec_loads(text, namespace=(ALPHA, BETA))
    assert loaded == expected
    assert repr(loaded) == repr(expected)
    assert loaded.paths() == expected.paths()
    # True as long as version 1 is what is written.
    assert cp.treespec_dumps(loaded) + "\n" == text


def test_a_document_of_pytorch_loads() -> None:
    text = (DOCUMENTS / "pytorch.json").read_text(encoding="ascii")
    assert cp.treespec_loads(text) == cp.tree_structure(
        {
            "layers": [1, (2, None), [], {}],
            1: defaultdict(int, k=1),
            2.5: deque([1, 2], 4),
            (1, ("x",)): deque(),
            Color.RED: OrderedDict(z=1, a=[2]),
            None: Point(1, [2]),
            2: Pair(1, Methods([1, 2], ["x", {"k": None}])),
        }
    )


def test_every_document_is_tested() -> None:
    assert {path.stem for path in DOCUMENTS.iterdir()} == {*WHAT_THEY_ARE, "pytorch"}


# --- round trips ------------------------------------------------------------------------------------------------------


def is_plain(value: Any) -> bool:
    if type(value) in (tuple, list):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(map(is_plain, value.items()))
    return type(value) in (type(None), bool, int, float, complex, str, bytes)


def can_be_written(spec: cp.TreeSpec) -> bool:
    if spec.kind in ("dict", "ordereddict", "custom", "dataclass"):
        own = is_plain(spec.context)
    elif spec.kind == "defaultdict":
        own = is_plain(spec.context[1])
    elif spec.kind == "static":
        own = is_plain((spec.context.width, spec.context.mode))
    else:
        own = True
    return own and is_plain(spec.entries()) and all(map(can_be_written, spec.children()))


@given(trees, whole_modes)
def test_what_is_written_is_read_again(tree: Any, mode: Any) -> None:
    read(tree, mode)  # a dict whose keys have no order is not looked at any further
    spec = structure(tree, mode)
    if not can_be_written(spec):
        with pytest.raises(cp.PyTreeValueError, match=r"treespec_dumps\(\) can't write the \w+ at .*plain") as caught:
            cp.treespec_dumps(spec)
        assert caught.value.path is not None
        return
    text = cp.treespec_dumps(spec)
    loaded = cp.treespec_loads(text, namespace=mode.namespace)
    assert loaded == spec
    assert hash(loaded) == hash(spec)
    assert repr(loaded) == repr(spec)
    assert loaded.key_paths() == spec.key_paths()
    assert cp.treespec_dumps(loaded) == text
    leaves = list(range(spec.num_leaves))
    with reading(mode):
        again = cp.tree_structure(loaded.unflatten(leaves), none_is_leaf=mode.none_is_leaf, namespace=mode.namespace)
    assert again == spec


plain_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**40), 10**40),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters()),  # surrogates too
    st.binary(),
)
plain_keys = st.recursive(plain_scalars, lambda below: st.lists(below, max_size=3).map(tuple), max_leaves=5)
plain = st.recursive(
    plain_scalars,
    lambda below: st.one_of(
        st.lists(below, max_size=3),
        st.lists(below, max_size=3).map(tuple),
        st.dictionaries(plain_keys, below, max_size=2),
    ),
    max_leaves=10,
)


def bits(value: Any) -> Any:
    """A value as something whose == sees every bit and the exact type."""
    if isinstance(value, (tuple, list)):
        return type(value), [bits(item) for item in value]
    if isinstance(value, dict):
        return dict, [bits(pair) for pair in value.items()]
    if isinstance(value, float):
        return struct.pack(">d", value)
    return (type(value), struct.pack(">dd", value.real, value.imag)) if type(value) is complex else (type(value), value)


@given(plain, st.lists(plain_keys, max_size=3))
def test_plain_values_keep_type_and_bits(context: Any, keys: list) -> None:
    spec = cp.tree_structure([Methods([0], context), dict.fromkeys(keys, 0)])
    loaded = there_and_back(spec)
    assert loaded == spec
    assert bits(loaded.child(0).context) == bits(spec.child(0).context)
    assert bits(loaded.child(1).context) == bits(spec.child(1).context)


@pytest.mark.parametrize(
    "key",
    [(1, 2), 1, True, 1.0, b"k", None, "", "a'b\\n", "\ud800", "\ud800\udc00", "\U00010000", -(10**5000), 1j],
    ids=lambda key: type(key).__name__,
)
def test_a_key_keeps_its_type(key: Any) -> None:
    spec = cp.tree_structure({key: 0})
    (back,) = there_and_back(spec).context
    assert type(back) is type(key)
    assert back == key


@pytest.mark.parametrize("payload", ["7ff8000000000000", "fff8000000000000", "7ff8000000000123"])
def test_a_nan_keeps_its_bits(payload: str) -> None:
    (nan,) = struct.unpack(">d", bytes.fromhex(payload))
    assert struct.pack(">d", there_and_back(cp.tree_structure({nan: 0})).context[0]).hex() == payload


@pytest.mark.parametrize("factory", [None, list, dict, set, tuple, int, float, str, bool])
def test_factories(factory: Any) -> None:
    assert there_and_back(cp.tree_structure(defaultdict(factory, a=1))).context == (factory, ("a",))


def test_the_text_is_json_with_a_version() -> None:
    text = cp.treespec_dumps(cp.tree_structure({"a": [1, (2, None)], "é": 3}))
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text)["version"] == cp.SERIALIZATION_PROTOCOL == 1
    assert cp.treespec_loads(json.dumps(json.loads(text), indent=4, sort_keys=True)) == cp.treespec_loads(text)


def test_entries_are_kept_key_objects_too() -> None:
    entries = (cp.MappingKey((1, "k")), cp.GetAttrKey("w"), cp.DataclassKey("d"), cp.SequenceKey(3), "x y", 5)

    class Named:
        pass

    pytree.register_pytree_node(
        Named, lambda n: (range(6), None, entries), lambda c, _: Named(), serialized_type_name="tests.Named"
    )
    loaded = there_and_back(cp.tree_structure(Named()))
    assert tuple(loaded.entries()) == entries
    assert loaded.key_paths() == cp.tree_structure(Named()).key_paths()


def test_the_order_of_a_dict_read_by_sorted_key_is_kept() -> None:
    spec = sorted_dicts()
    tree = there_and_back(spec).unflatten(range(4))
    assert list(tree) == ["b", "c", "a"]
    assert list(tree["a"]) == ["y", "x"]


def test_another_process_reads_it() -> None:
    tree = every_kind()
    tree["d"]["y"].b.note = "plain"
    tree[1.0].name.pop()
    spec = cp.tree_structure(tree, none_is_leaf=False)
    done = run_python(
        "import classes, clika_pytree as cp\n"
        f"spec = cp.treespec_loads({cp.treespec_dumps(spec)!r})\n"
        "tree = classes.every_kind()\n"
        "tree['d']['y'].b.note = 'plain'\n"
        "tree[1.0].name.pop()\n"
        "print(spec == cp.tree_structure(tree, none_is_leaf=False), cp.treespec_dumps(spec))\n"
    )
    assert done.stdout == f"True {cp.treespec_dumps(spec)}\n"


# --- deep ones --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tuple", "dict", "ordereddict", "namedtuple", "custom", "dataclass"])
def test_deep_structures(kind: str) -> None:
    spec = cp.tree_structure(Chain(kind, HALF_WAY // 2).tree)
    assert (there_and_back(spec) == spec) is True


@pytest.mark.parametrize("kind", ["deque", "defaultdict"])
def test_deep_structures_that_python_frees_recursively(kind: str) -> None:
    spec = cp.tree_structure(Chain(kind, RECURSIVELY_FREED).tree)
    assert (there_and_back(spec) == spec) is True


def test_a_million_lists_on_a_small_stack() -> None:
    spec = cp.tree_structure(Chain("list", FULL_DEPTH).tree)
    assert run_in_thread(lambda: there_and_back(spec) == spec, SMALL_STACK) is True


def test_deep_contexts() -> None:
    context: Any = ()
    for _ in range(HALF_WAY):
        context = (context,)
    spec = cp.tree_structure(Methods([1], context))
    assert (there_and_back(spec) == spec) is True


def test_an_error_far_down_has_its_path() -> None:
    spec = cp.tree_structure(Chain("list", HALF_WAY, {frozenset(): 0}).tree)
    with pytest.raises(cp.PyTreeValueError, match=r"\[0\]\[0\]…\(99992 more\)…") as caught:
        cp.treespec_dumps(spec)
    assert caught.value.path == "[0]" * HALF_WAY
    assert len(str(caught.value)) < 300


# --- registered classes -----------------------------------------------------------------------------------------------


def test_context_functions() -> None:
    Pair = make_pair()
    asked: list = []

    def from_dumpable(dumped: Any) -> Any:
        asked.append(dumped)
        return frozenset(dumped)

    pytree.register_pytree_node(
        Pair,
        lambda p: ((p.a,), frozenset(p.b)),
        lambda children, context: Pair(*children, context),
        serialized_type_name="tests.pair",
        to_dumpable_context=lambda context: [sorted(context), (1, None)],
        from_dumpable_context=lambda dumped: from_dumpable(dumped[0]),
    )
    spec = cp.tree_structure(Pair(1, "ab"))
    assert there_and_back(spec) == spec
    assert asked == [["a", "b"]]


def test_an_exception_of_a_context_function_says_where() -> None:
    Pair = make_pair()
    register(
        Pair,
        serialized_type_name="tests.pair",
        to_dumpable_context=lambda context: context if context is None else 1 / 0,
        from_dumpable_context=lambda dumped: {}["missing"],
    )
    text = cp.treespec_dumps(cp.tree_structure([1, Pair(1, 2)]))
    with pytest.raises(KeyError) as caught:
        cp.treespec_loads(text)
    (note,) = caught.value.__notes__
    assert note.startswith("clika_pytree: raised by from_dumpable_context of ")
    assert note.endswith("Pair at [1]")


def test_namespaces() -> None:
    tree = [Switch(1, 2), AlphaOnly(3, 4)]
    spec = cp.tree_structure(tree, namespace=ALPHA)
    text = cp.treespec_dumps(spec)
    for namespace in (ALPHA, (BETA, ALPHA), (ALPHA, BETA)):
        loaded = cp.treespec_loads(text, namespace)
        assert loaded == spec
        assert loaded.namespace == ALPHA
    with pytest.raises(cp.PyTreeValueError, match=r"pass namespace='tests\.alpha'") as caught:
        cp.treespec_loads(cp.treespec_dumps(spec.child(1)))
    assert caught.value.path == ""
    # A class registered globally and in the namespace is the one that was written.
    everywhere = cp.tree_structure(tree[:1])
    assert there_and_back(everywhere, ALPHA) == everywhere != cp.tree_structure(tree[:1], namespace=ALPHA)
    for wrong in (None, 1, ("a", 1)):
        with pytest.raises(cp.PyTreeTypeError, match="str or a tuple of str as namespace"):
            cp.treespec_loads(text, wrong)  # type: ignore[arg-type]


def test_nothing_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "not_imported_yet.py").write_text("import collections\nSpan = collections.namedtuple('Span', 'a b')\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = json.dumps(
        {
            "version": 1,
            "none_is_leaf": True,
            "nodes": [{"namedtuple": "Span", "module": "not_imported_yet", "fields": ["a", "b"]}, "**"],
        }
    )
    with pytest.raises(cp.PyTreeValueError, match="import the module first"):
        cp.treespec_loads(text)
    assert "not_imported_yet" not in sys.modules
    import not_imported_yet  # type: ignore[import-not-found]

    assert cp.treespec_loads(text).type is not_imported_yet.Span
    del sys.modules["not_imported_yet"]
