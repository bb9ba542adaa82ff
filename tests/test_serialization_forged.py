"""Texts that are damaged, forged, or of another time: each is a ValueError that says where, or a sound structure."""

from __future__ import annotations

import copy
import gc
import json
import weakref
from typing import Any

import pytest
from classes import ALPHA, BETA
from helpers import SMALL_STACK, run_in_thread
from hypothesis import given
from hypothesis import strategies as st
from registering import clean_registry, make_pair, register  # noqa: F401
from strategies import trees, whole_modes
from test_serialization import DOCUMENTS

import clika_pytree as cp
from clika_pytree import pytree


def text_of(*nodes: Any, none_is_leaf: bool = True, version: Any = 1) -> str:
    return json.dumps({"version": version, "none_is_leaf": none_is_leaf, "nodes": nodes})


PAIR = {"custom": "tests.Pair", "context": [None], "children": 2}
SAMPLE = {"dataclass": "tests.Sample", "context": [{"tuple": 1}, "s"], "fields": ["weight", "bias"], "meta": ["name"]}
CONFIG = {"static": "tests.Config", "dumped": [{"dict": 2}, "width", 1, "mode", None]}
POINT = {"namedtuple": "Point", "module": "classes", "fields": ["x", "y"]}

# What stands in the text, a part of the message, and the path.
DAMAGED = [
    # the tree
    ([], "1 more node should follow", ""),
    (["*", "*"], "at least one and at most 0", ""),
    (["*", {"list": 0}], "left over", ""),
    ([""], "at least one", ""),
    (["**"], "at most 1", ""),
    (["x"], "one star for each", ""),
    ([3], "a node is an object, null or a text of stars, got 3", ""),
    ([{"list": 2}, "*"], "1 more node should follow", "[1]"),
    ([{"list": 1_000_000_000}], "1000000000 more nodes should follow", "[0]"),
    ([{"list": 1_000_000_000}, "*", {"tuple": 4_000_000_000}, "***"], "more nodes", "[1][3]"),
    ([{"dict": ["a", "b"]}, {"list": 1}, "**"], "at most 1", "['a'][0]"),
    ([{"dict": ["a"]}, {"list": -1}], "the number of children should be a number from 0", "['a']"),
    ([{"list": 2**32}, "*"], "the number of children", ""),
    ([{"list": True}, "*"], "the number of children", ""),
    ([{"list": 1.0}, "*"], "the number of children", ""),
    ([{"list": "1"}, "*"], "the number of children", ""),
    ([{"list": None}], "the number of children", ""),
    ([{}], "one member that says its kind", ""),
    ([{"set": 1}, "*"], "one member that says its kind", ""),
    ([{"list": 1, "tuple": 1}, "*"], "one member that says its kind", ""),
    ([{"list": 1, "more": 1}, "*"], "its members should be list", ""),
    ([[]], "got a list", ""),
    ([None], "None is a leaf in this structure", ""),
    # keys
    ([{"dict": "ab"}, "**"], "its list of keys should be a list", ""),
    ([{"dict": ["a", "a"]}, "**"], "the same key is in it twice", ""),
    ([{"dict": [1, True]}, "**"], "twice", ""),
    ([{"dict": [{"list": 0}]}, "*"], "where a key should", ""),
    ([{"dict": [{"tuple": 1}, {"dict": 0}]}, "*"], "where a key should", ""),
    ([{"dict": [{"tuple": 1}] * 1000 + [0]}, "*"], "nested tuples", ""),
    ([{"dict": [{"key": "MappingKey"}, 1]}, "*"], "no value", ""),
    ([{"list": 1}, {"dict": ["a", "b"], "order": [0, 0]}, "**"], "its order should be the numbers from 0 to 1", "[0]"),
    ([{"dict": ["a"], "order": [1]}, "*"], "its order", ""),
    ([{"dict": ["a"], "order": None}, "*"], "its order", ""),
    ([{"dict": ["a"], "order": [False]}, "*"], "its order", ""),
    ([{"ordereddict": ["a"], "order": [0]}, "*"], "its members", ""),
    ([{"defaultdict": ["a"]}, "*"], "its members", ""),
    ([{"defaultdict": ["a"], "factory": "eval"}, "*"], "its factory should be null or one of list", ""),
    ([{"defaultdict": ["a"], "factory": ["list"]}, "*"], "its factory", ""),
    ([{"deque": 2, "maxlen": 1}, "**"], "it should have no maxlen or one from 2", ""),
    ([{"deque": 1, "maxlen": 10**30}, "*"], "no maxlen or one from 1", ""),
    ([{"deque": 1, "maxlen": True}, "*"], "no maxlen or one from 1", ""),
    # values
    ([{"dict": [1.5]}, "*"], "no value: 1.5", ""),
    ([{"dict": [{"float": "1.50"}]}, "*"], "no value", ""),
    ([{"dict": [{"float": " 1.5"}]}, "*"], "no value", ""),
    ([{"dict": [{"float": "nan"}]}, "*"], "no value", ""),
    ([{"dict": [{"float": "nan:00"}]}, "*"], "no value", ""),
    ([{"dict": [{"float": "nan:3ff0000000000000"}]}, "*"], "no value", ""),
    ([{"dict": [{"float": 1.5}]}, "*"], "no value", ""),
    ([{"dict": [{"int": "12"}]}, "*"], "no value", ""),
    ([{"dict": [{"int": "0x1_0"}]}, "*"], "no value", ""),
    ([{"dict": [{"complex": ["1.0"]}]}, "*"], "no value", ""),
    ([{"dict": [{"complex": ["1.0", 2]}]}, "*"], "no value", ""),
    ([{"dict": [{"bytes": "0 0"}]}, "*"], "no value", ""),
    ([{"dict": [{"bytes": "zz"}]}, "*"], "no value", ""),
    ([{"dict": [{"str": "ff"}]}, "*"], "no value", ""),
    ([{"dict": [{"frozenset": 0}]}, "*"], "no value", ""),
    ([{"dict": [{"float": "1.0", "int": "0x1"}]}, "*"], "an item that is no value", ""),
    ([{"dict": [["a"]]}, "*"], "an item that is no value", ""),
    ([{"dict": [{"tuple": 2}, 1]}, "*"], "ends within a value", ""),
    ([{"dict": [{"tuple": -1}]}, "*"], "the size of a tuple", ""),
    ([{"dict": [{"tuple": 10**9}]}, "*"], "ends within a value", ""),
    ([{**PAIR, "context": [{"dict": 2}, 1, 1, True, 1]}, "**"], "the same key twice", ""),
    ([{**PAIR, "context": [{"dict": 1}, {"list": 0}, 1]}, "**"], "where a key should", ""),
    # classes
    (
        [{"list": 1}, {**PAIR, "custom": "tests.Nobody"}, "**"],
        "no class is registered under the name 'tests.N",
        "[0]",
    ),
    ([{**PAIR, "custom": None}, "**"], "is no str", ""),
    ([{**PAIR, "namespace": 1}, "**"], "is no str", ""),
    ([{**PAIR, "context": []}, "**"], "its context should be one value, got 0", ""),
    ([{**PAIR, "context": [1, 2]}, "**"], "its context should be one value, got 2", ""),
    ([{**PAIR, "entries": ["a"]}, "**"], "1 entries for 2 children", ""),
    ([{**PAIR, "entries": ["a", {"key": "MappingKey"}]}, "**"], "ends within a value", ""),
    ([{**PAIR, "entries": ["a", {"key": "object"}, "b"]}, "**"], "no value", ""),
    ([{**PAIR, "entries": [*[{"key": "MappingKey"}] * 2, 1, "b"]}, "**"], "no value", ""),
    ([{**PAIR, "children": -2}, "**"], "the number of children", ""),
    ([{**PAIR, "dumped": [1]}, "**"], "its members", ""),
    ([{"custom": "tests.Pair", "dumped": [None], "children": 2}, "**"], "with from_dumpable_context again", ""),
    (
        [{**PAIR, "custom": "tests.Sample"}, "**"],
        "was a custom node when the text was written and is a data",
        "",
    ),
    ([{**SAMPLE, "dataclass": "tests.Pair"}, "**"], "is a custom node now", ""),
    ([{**SAMPLE, "fields": ["weight"]}, "*"], "'weight, bias' now, 'weight' then", ""),
    ([{**SAMPLE, "fields": None}, "**"], "others than when the text was written", ""),
    ([{**SAMPLE, "meta": [10**5]}, "**"], "others than when the text was written", ""),
    ([{**SAMPLE, "context": ["s"]}, "**"], "should be the tuple of its meta values", ""),
    ([{**SAMPLE, "context": [{"tuple": 0}]}, "**"], "should be the tuple of its meta values", ""),
    ([{"static": "tests.Config", "context": [1]}], "should be an instance of Config, got 1", ""),
    ([{**POINT, "module": "no.such.module"}, "**"], "no loaded module 'no.such.module' has", ""),
    ([{**POINT, "namedtuple": "Nobody"}, "**"], "has a namedtuple class 'Nobody'; import the module first", ""),
    ([{**POINT, "namedtuple": "Pair"}, "**"], "has a namedtuple class", ""),
    ([{**POINT, "namedtuple": "Point.x"}, "**"], "has a namedtuple class", ""),
    ([{**POINT, "namedtuple": "FieldsLeaf"}, "**"], "has a namedtuple class", ""),
    ([{**POINT, "namedtuple": ["Point"]}, "**"], "is no str", ""),
    ([{**POINT, "fields": ["y", "x"]}, "**"], "'x, y' now, 'y, x' then", ""),
]


@pytest.mark.parametrize(("nodes", "reason", "path"), DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_text_is_refused_with_a_place(nodes: Any, reason: str, path: str) -> None:
    with pytest.raises(cp.PyTreeValueError) as caught:
        cp.treespec_loads(text_of(*nodes))
    assert reason in str(caught.value)
    assert str(caught.value).startswith("treespec_loads() can't read node ")
    assert caught.value.path == path
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("node", [PAIR, SAMPLE, POINT])
def test_the_nodes_above_are_sound_when_undamaged(node: Any) -> None:
    assert cp.treespec_loads(text_of(node, "**")).num_leaves == 2
    assert cp.treespec_loads(text_of(CONFIG)).num_leaves == 0
    assert cp.treespec_loads(text_of({"list": 3}, "*", "**")) == cp.tree_structure([1, 2, 3])


NO_DOCUMENT = {
    "": "it is not the whole JSON",
    "{": "it is not the whole JSON",
    "[" * 100_000: "nested too deeply",
    '{"a":' * 100_000: "nested too deeply",
    text_of("*") + " {}": "Extra data",
    text_of("*")[:-1]: "it is not the whole JSON",
    "\ufeff" + text_of("*"): "it is not the whole JSON",
    "[" + '"]",' * 5000 + "[" * 5000: "nested too deeply",
    r'["\\\"]]\\", ' * 500 + "[" * 600: "nested too deeply",
    "9" * 5000: "it is not the whole JSON",
    "null": 'without a "version"',
    "{}": 'without a "version"',
    text_of("*", version=2): "reads versions up to 1, and the text has version 2: upgrade",
    text_of("*", version=True): 'without a "version"',
    text_of("*", version=1.0): 'without a "version"',
    text_of("*", version=0): 'without a "version"',
    '{"version": 1, "version": 1, "none_is_leaf": true, "nodes": ["*"]}': "two members of one name",
    '{"version": 1, "nodes": ["*"]}': "damaged",
    '{"version": 1, "none_is_leaf": true, "nodes": ["*"], "more": 0}': "damaged",
    '{"version": 1, "none_is_leaf": 1, "nodes": ["*"]}': "damaged",
    '{"version": 1, "none_is_leaf": true, "nodes": {}}': "damaged",
}


@pytest.mark.parametrize("text", NO_DOCUMENT, ids=range(len(NO_DOCUMENT)))
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(cp.PyTreeValueError) as caught:
        cp.treespec_loads(text)
    assert NO_DOCUMENT[text] in str(caught.value)
    assert caught.value.path is None


def test_brackets_in_a_text_are_no_depth() -> None:
    spec = cp.tree_structure({"[" * 5000: 0, '\\"' + "{" * 5000: 1, "\\": {}})
    assert cp.treespec_loads(cp.treespec_dumps(spec)) == spec


@pytest.mark.parametrize("depth", [1000, 1001, 3000, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":', '[1,{"type":"builtins.list","context":"null","children_spec":['])
def test_nested_json_on_a_small_stack(opening: str, depth: int) -> None:
    def read() -> None:
        with pytest.raises(cp.PyTreeValueError):
            cp.treespec_loads(opening * depth)

    run_in_thread(read, SMALL_STACK)


@pytest.mark.parametrize("text", [None, b"{}", 1, {}])
def test_only_a_str_is_read(text: Any) -> None:
    with pytest.raises(cp.PyTreeTypeError, match="expects a str, got"):
        cp.treespec_loads(text)


def test_every_truncation_is_refused() -> None:
    for document in DOCUMENTS.iterdir():
        text = document.read_text(encoding="ascii").rstrip()
        for end in range(len(text)):
            with pytest.raises(cp.PyTreeValueError):
                cp.treespec_loads(text[:end], (ALPHA, BETA))


# --- random damage ----------------------------------------------------------------------------------------------------

STRANGERS = [
    None,
    True,
    0,
    1,
    -1,
    2**31,
    2**63,
    10**30,
    1.5,
    "",
    "*",
    "**",
    "a",
    [],
    {},
    [0],
    {"tuple": 1},
    {"list": 2},
]


def spots(document: Any) -> list[tuple[Any, Any]]:
    """Every place in nested lists and objects, as the thing around and the key."""
    found: list[tuple[Any, Any]] = []
    stack = [document]
    while stack:
        around = stack.pop()
        for key in list(around) if isinstance(around, dict) else range(len(around)):
            found.append((around, key))
            if isinstance(around[key], (dict, list)):
                stack.append(around[key])
    return found


def spoil(document: Any, data: st.DataObject) -> None:
    around, key = data.draw(st.sampled_from(spots(document)))
    what = data.draw(st.sampled_from(["put", "remove", "double", "swap", "count"]))
    if what == "remove":
        del around[key]
    elif what == "double" and isinstance(around, list):
        around.insert(key, copy.deepcopy(around[key]))
    elif what == "swap" and isinstance(around, list):
        around.reverse()
    elif what == "count" and type(around[key]) is int:
        around[key] += data.draw(st.sampled_from([-1, 1]))
    else:
        around[key] = copy.deepcopy(data.draw(st.sampled_from(STRANGERS)))


def check_sound(spec: cp.TreeSpec) -> None:
    assert repr(spec).startswith("TreeSpec(")
    assert len(spec.paths()) == spec.num_leaves
    assert len(spec.children()) == len(spec.entries()) == spec.num_children
    assert cp.treespec_loads(cp.treespec_dumps(spec), (ALPHA, BETA)) == spec


@given(trees, whole_modes, st.data())
def test_a_forged_document_is_an_error_or_a_sound_structure(tree: Any, mode: Any, data: Any) -> None:
    try:
        text = cp.treespec_dumps(cp.tree_structure(tree, none_is_leaf=mode.none_is_leaf, namespace=mode.namespace))
    except ValueError:
        text = (DOCUMENTS / "values.json").read_text(encoding="ascii")
    check_forged(json.loads(text), data)


@pytest.mark.parametrize("name", ["pytorch", "custom", "static", "dataclass", "sorted_dicts"])
@given(data=st.data())
def test_a_forged_document_of_each_kind(name: str, data: Any) -> None:
    check_forged(json.loads((DOCUMENTS / f"{name}.json").read_text(encoding="ascii")), data)


def check_forged(document: Any, data: Any) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        if spots(document):
            spoil(document, data)
    try:
        spec = cp.treespec_loads(json.dumps(document), (ALPHA, BETA))
    except cp.PyTreeValueError as error:
        assert str(error).startswith("treespec_loads() ")
    except TypeError as error:
        # A context function of a class got what it does not take, and the exception says so.
        assert "from_dumpable_context of Config" in error.__notes__[0]
    else:
        if "__enum__" not in json.dumps(document):  # an Enum member as a key is read and not written
            check_sound(spec)


# --- unique names -----------------------------------------------------------------------------------------------------


def test_a_serialized_name_is_unique_in_its_namespace() -> None:
    first, second = make_pair(), make_pair()
    register(first, serialized_type_name="tests.one")
    for again in (
        lambda: register(second, serialized_type_name="tests.one"),
        lambda: pytree.register_static(second, serialized_type_name="tests.one"),
    ):
        with pytest.raises(cp.RegistrationError, match=r"tests\.one.*is registered under it globally; choose another"):
            again()
        assert not cp.is_registered(second)
    register(second, serialized_type_name="tests.one", namespace="tests.names")
    spec = cp.tree_structure([first(1, 2), second(3, 4)], namespace="tests.names")
    assert cp.treespec_loads(cp.treespec_dumps(spec), "tests.names") == spec
    third = make_pair()
    with pytest.raises(cp.RegistrationError, match=r"in namespace 'tests\.names'"):
        register(third, serialized_type_name="tests.one", namespace="tests.names")


def test_a_dataclass_takes_a_name_too() -> None:
    import dataclasses

    @dataclasses.dataclass
    class Layer:
        w: Any

    with pytest.raises(cp.RegistrationError, match=r"Pair is registered under it"):
        pytree.register_dataclass(Layer, serialized_type_name="tests.Pair")
    assert not cp.is_registered(Layer)


def test_a_refused_registration_leaves_no_name() -> None:
    Pair = make_pair()
    register(Pair)
    with pytest.raises(cp.RegistrationError, match="already"):
        register(Pair, serialized_type_name="tests.left")
    other = make_pair()
    register(other, serialized_type_name="tests.left")
    # The class registered twice under its own name is told that it is registered.
    with pytest.raises(cp.RegistrationError, match="already"):
        register(other, serialized_type_name="tests.left")
    spec = cp.tree_structure(other(1, 2))
    assert cp.treespec_loads(cp.treespec_dumps(spec)) == spec


def test_unregistering_frees_the_name_and_the_class() -> None:
    Pair = make_pair()
    register(Pair, serialized_type_name="tests.freed")
    text = cp.treespec_dumps(cp.tree_structure(Pair(1, 2)))
    cp.unregister_pytree_node(Pair)
    with pytest.raises(cp.PyTreeValueError, match=r"no class is registered under the name 'tests\.freed'"):
        cp.treespec_loads(text)
    gone = weakref.ref(Pair)
    del Pair
    gc.collect()
    assert gone() is None
    other = make_pair()
    register(other, serialized_type_name="tests.freed")
    assert cp.treespec_loads(text).type is other


def test_a_structure_outlives_its_registration() -> None:
    Pair = make_pair()
    register(Pair, serialized_type_name="tests.gone")
    spec = cp.tree_structure(Pair(1, 2))
    text = cp.treespec_dumps(spec)
    cp.unregister_pytree_node(Pair)
    assert cp.treespec_dumps(spec) == text
