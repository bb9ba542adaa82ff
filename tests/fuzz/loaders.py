"""Damaged texts, states, pickles and paths: each is refused in the words of its loader, or gives something sound."""

from __future__ import annotations

import io
import json
import pickle
import re
import struct
from pathlib import Path
from typing import Any

import classes
from classes import ALPHA, BETA

import clika_pytree as cp
from clika_pytree import _native
from fuzz.damage import STEPS, spoil_document, spoiled_bytes, spoiled_parts, spoiled_text
from fuzz.plans import Drawer

DOCUMENTS = [path.read_text(encoding="ascii") for path in sorted(Path(__file__).parents[1].glob("serialized_v1/*"))]
LARGE = 20_000  # a state of two nodes may have 4 billion leaves: those are not all looked at
LONGEST_MESSAGE = 2_000


def a_spec(drawer: Drawer) -> cp.TreeSpec:
    mode = drawer.mode()
    with cp.dict_insertion_ordered(not mode.sort):
        try:
            return cp.tree_structure(
                drawer.tree().build(), mode.is_leaf, none_is_leaf=mode.none_is_leaf, namespace=mode.namespace
            )
        except cp.KeyOrderError:
            return cp.tree_structure({"b": 0, "a": 0})


# --- what is sound ----------------------------------------------------------------------------------------------------


def check_sound(spec: cp.TreeSpec) -> None:
    """Whatever was loaded prints, compares, travels and rebuilds like any other."""
    if spec.num_leaves > LARGE:
        return
    assert repr(spec).startswith("TreeSpec(")
    assert len(spec.paths()) == len(spec.key_paths()) == spec.num_leaves
    assert len(spec.children()) == len(spec.entries()) == spec.num_children
    assert spec.is_prefix(spec)
    try:
        hash(spec)
    except cp.ContextError:
        return
    loaded = pickle.loads(pickle.dumps(spec))
    assert loaded == spec
    assert hash(loaded) == hash(spec)
    check_rebuilds(spec)


def check_rebuilds(spec: cp.TreeSpec) -> None:
    leaves = [object() for _ in range(spec.num_leaves)]
    functions = has_kind(spec, "custom", "static")
    try:
        tree = spec.unflatten(leaves)
    except Exception:
        assert functions, "only a function of a registration may refuse to rebuild"
        return
    if functions or is_sorted(spec):
        return
    # A class may be registered in other namespaces too, and be read with those.
    again = cp.tree_structure(tree, none_is_leaf=spec.none_is_leaf, namespace=spec.namespace)
    assert again == spec or has_kind(spec, "dataclass", "namedtuple")
    assert all(a is b for a, b in zip(spec.flatten_up_to(tree), leaves, strict=True))


def has_kind(spec: cp.TreeSpec, *kinds: str) -> bool:
    numbers = [KINDS.index(kind) for kind in kinds]
    return any(kind in numbers for kind, _ in struct.iter_unpack("<BI", _native.treespec_state(spec)[2]))


def is_sorted(spec: cp.TreeSpec) -> bool:
    return bool(_native.treespec_state(spec)[4])


KINDS = ["leaf", "none", "list", "tuple", "dict", "ordereddict", "defaultdict", "deque", "namedtuple", "custom"]
KINDS += ["dataclass", "static"]


# --- JSON -------------------------------------------------------------------------------------------------------------

NO_PATH = re.compile(r"parse_keystr\(\) can't read .* from character \d+ on: ", re.S)
NODE = re.compile(r"treespec_loads\(\) can't read (node \d+ of the text, |the node )(at \[|at \.|at the root)", re.S)
NO_DOCUMENT = re.compile(
    r"treespec_loads\(\) (can't read the text: |expects what |reads versions |got a damaged text: )"
)
NAMESPACES: list[Any] = ["", ALPHA, (ALPHA, BETA)]
PIECES = ['"*"', '{"list":2}', '{"tuple":1}', '"order":[0]', '{"dict":["a"]}', '"context":[', '{"key":"GetAttrKey"}']


def our_text(drawer: Drawer) -> str:
    if drawer.chance(0.2):
        return drawer.pick(DOCUMENTS)
    try:
        return cp.treespec_dumps(a_spec(drawer))
    except cp.PyTreeValueError:
        return drawer.pick(DOCUMENTS)


def torch_text(drawer: Drawer) -> str:
    """What PyTorch would write for a random tree."""
    return json.dumps([1, torch_node(drawer, 4)])


def torch_node(drawer: Drawer, depth: int) -> dict[str, Any]:
    count = drawer.below(4)
    kind = drawer.pick([None, *TORCH_KINDS]) if depth else None
    if kind is None:
        return {"type": None, "context": None, "children_spec": []}
    keys = drawer.distinct(["a", "b", 1, 2.5, None, -0.0, 2**70], count)
    if kind in ("collections.namedtuple", "tests.Pair"):
        count = 2
    elif kind == "tests.Box":
        count = 1
    contexts = {
        "builtins.dict": keys,
        "collections.OrderedDict": keys,
        "collections.deque": drawer.pick([None, count, 9]),
        "collections.namedtuple": f"classes.{drawer.pick(['Point', 'Labelled'])}",
        "tests.Methods": [1, {"a": [None, "x"]}],
    }
    context: Any = json.dumps(contexts.get(kind))
    if kind == "collections.namedtuple":
        context = contexts[kind]
    elif kind == "collections.defaultdict":
        factory = {"default_factory_module": "builtins", "default_factory_name": drawer.pick(["int", "list"])}
        context = {**factory, "dict_context": keys}
    return {"type": kind, "context": context, "children_spec": [torch_node(drawer, depth - 1) for _ in range(count)]}


TORCH_KINDS = ["builtins.list", "builtins.tuple", "builtins.dict", "collections.OrderedDict", "collections.defaultdict"]
TORCH_KINDS += ["collections.deque", "collections.namedtuple", "tests.Pair", "tests.Box", "tests.Methods"]


def spoiled_json(drawer: Drawer, text: str) -> str:
    if drawer.chance(0.3):
        return spoiled_text(drawer, text, PIECES)
    document = json.loads(text)
    nodes = document["nodes"] if isinstance(document, dict) else document[1:]
    spoil_document(drawer, nodes if drawer.chance(0.95) else document)
    if isinstance(document, list):
        document[1:] = nodes
    return json.dumps(document)


def check_json(text: str, namespace: Any = (ALPHA, BETA)) -> str:
    """Read a text; says what became of it."""
    try:
        spec = cp.treespec_loads(text, namespace)
    except cp.PyTreeValueError as error:
        return "refused at a node" if check_refusal(error) else "refused as no document"
    except Exception as error:
        # A context function of a class got what it does not take.
        notes = getattr(error, "__notes__", [])
        assert any("raised by from_dumpable_context of Config at" in note for note in notes), notes
        return "refused by a class"
    check_sound(spec)
    if "__enum__" not in text:  # a member of an Enum as a key is read, and not written
        written = cp.treespec_dumps(spec)
        again = cp.treespec_loads(written, (ALPHA, BETA))
        assert again == spec
        assert cp.treespec_dumps(again) == written
    return "accepted"


def check_refusal(error: cp.PyTreeValueError) -> bool:
    """Whether it names a node, and not the whole text."""
    message = str(error)
    assert len(message) < LONGEST_MESSAGE, len(message)
    if error.path is None:
        assert NO_DOCUMENT.match(message), message
        return False
    assert NODE.match(message), message
    return True


def our_json(drawer: Drawer) -> list[str]:
    """Texts of `treespec_dumps`."""
    return [check_json(spoiled_json(drawer, our_text(drawer)), drawer.pick(NAMESPACES))]


def torch_json(drawer: Drawer) -> list[str]:
    """Texts of PyTorch's `treespec_dumps`."""
    return [check_json(spoiled_json(drawer, torch_text(drawer)), drawer.pick(NAMESPACES))]


# --- states and pickles -----------------------------------------------------------------------------------------------

ARITIES = [0, 1, 2, 3, 2**31, 2**32 - 1, 10**9]


def spoiled_nodes(drawer: Drawer, data: bytes) -> bytes:
    """Nodes of other kinds and numbers of children, some left out, doubled or moved."""
    nodes = [list(node) for node in struct.iter_unpack("<BI", data)]
    for _ in range(drawer.pick(STEPS)):
        at, kind = drawer.below(len(nodes)), drawer.below(7)
        if kind == 0 and len(nodes) > 1:
            del nodes[at]
        elif kind == 1:
            nodes.insert(drawer.below(len(nodes)), list(nodes[at]))
        elif kind == 2:
            nodes.insert(at, nodes.pop())
        elif kind == 3:
            nodes[at][0] = drawer.below(len(KINDS) + 2)
        elif kind == 4:
            nodes[at][1] = drawer.pick(ARITIES)
        else:
            nodes[at][1] = max(0, min(2**32 - 1, nodes[at][1] + drawer.pick([-1, 1])))
    return b"".join(struct.pack("<BI", *node) for node in nodes)


def states(drawer: Drawer) -> list[str]:
    """The state of a TreeSpec, as pickle gives it to `treespec_from_state`."""
    _, (state, fields) = a_spec(drawer).__reduce__()
    for _ in range(drawer.pick(STEPS)):
        kind = drawer.below(4)
        if kind == 0:
            at = drawer.below(len(state))
            state = (*state[:at], spoiled_parts(drawer, state[at]), *state[at + 1 :])
        elif kind == 1 and fields:
            fields = tuple(spoiled_parts(drawer, name) for name in fields)[drawer.below(2) :]
        elif type(state[2]) is bytes and state[2] and len(state[2]) % 5 == 0:
            spoil = spoiled_bytes if drawer.chance(0.1) else spoiled_nodes
            state = (*state[:2], spoil(drawer, state[2]), *state[3:])
    try:
        spec = _native.treespec_from_state(state, fields)
    except cp.PyTreeValueError as error:
        assert len(str(error)) < LONGEST_MESSAGE
        return ["refused"]
    check_sound(spec)
    return ["accepted"]


FORBIDDEN = {"register", "unregister"}  # an input must not change what the next one finds


class Unpickler(pickle.Unpickler):
    """Finds the names of the library and of the classes of the suite, and no others."""

    def find_class(self, module: str, name: str) -> Any:
        holder = {"clika_pytree._native": _native, "classes": classes}.get(module)
        if holder is None or name in FORBIDDEN or "." in name:
            raise pickle.UnpicklingError(name)
        return getattr(holder, name)


def pickles(drawer: Drawer) -> list[str]:
    """Whole pickles, byte by byte."""
    data = pickle.dumps(a_spec(drawer), drawer.pick([0, 1, 2, 4, 5]))
    try:
        loaded = Unpickler(io.BytesIO(spoiled_bytes(drawer, data))).load()
    except Exception:
        return ["refused"]
    if type(loaded) is not cp.TreeSpec:
        return ["something else"]
    try:
        check_sound(loaded)
    except AttributeError as error:
        # pickle makes objects without their attributes; what their own methods say of it is no affair of ours
        assert type(error.obj) is classes.Config
    return ["accepted"]


# --- key paths --------------------------------------------------------------------------------------------------------

KEY_NAMESPACES: list[Any] = ["", ALPHA, (ALPHA, BETA)]
PIECES = ["[0]", "['a']", ".x", '["', "b'", "[(", ",)", ")]", "[None]", "[<flat index 1>]", "1j", "(1+2j)", "\\x41"]


KEY_PIECES = ["[0]", "['a']", ".x", '["', "b'", "[(", ",)", ")]", "[None]", "[<flat index 1>]", "1j", "(1+2j)", "\\x41"]


def path_text(drawer: Drawer) -> str:
    paths = a_spec(drawer).key_paths()
    return cp.keystr(drawer.pick(paths)) if paths else "['a'][0].x"


def check_path(text: str) -> str:
    """Read a key path; says what became of it."""
    try:
        path = cp.parse_keystr(text)
    except cp.PyTreeValueError as error:
        message = str(error)
        assert NO_PATH.match(message), message
        assert len(message) < LONGEST_MESSAGE
        return "refused"
    assert cp.keystr(path) == text
    assert cp.parse_keystr(cp.keystr(path)) == path
    assert pickle.loads(pickle.dumps(path)) == path
    return "accepted"


def key_paths(drawer: Drawer) -> list[str]:
    """Texts that are nearly key paths."""
    return [check_path(spoiled_text(drawer, path_text(drawer), KEY_PIECES))]
