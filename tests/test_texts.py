"""What a person reads when something does not fit: whole texts, each of which says where, what was given and expected,
and what to change."""

from __future__ import annotations

import dataclasses
import re
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from classes import ALPHA, AlphaOnly, Box, Color, Config, DictLeaf, Nothing, Pair, Point, Ranged, Sample, Tagged
from helpers import registered

import clika_pytree as cp

structure = cp.tree_structure


def mapped(first: Any, second: Any, **options: Any) -> Callable[[], Any]:
    return lambda: cp.tree_map(lambda a, b: a, {"k": first}, {"k": second}, **options)


def circle(inner: bool) -> Any:
    tree: dict[str, Any] = {"layers": [1, [2]]}
    tree["layers"].append(tree["layers"][1] if inner else tree)
    if inner:
        tree["layers"][1].append(tree["layers"][1])
    return tree


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = ""


class Wrong:
    pass


def wide(*last: str) -> dict[str, int]:
    return dict.fromkeys([*(f"k{i}" for i in range(100)), *last], 0)


ORDER = "The order of keys is part of a structure, but not inside dict_insertion_ordered(False)"
NONE = "With none_is_leaf=False, None is a node without children"
SIDES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "missing key": (mapped({"w": 1, "b": 2}, {"w": 1}), "a dict with 2 keys", "a dict without 'b'"),
    "extra key": (mapped({"w": 1}, {"w": 1, "b": 2}), "a dict with 1 key", "a dict with the extra key 'b'"),
    "other keys": (mapped({"w": 1}, {"a": 1, "b": 2}), "a dict with 1 key",
        "a dict without 'w' and with the extra keys 'a', 'b'"),
    "order": (mapped({"w": 1, "b": 2}, {"b": 2, "w": 1}), "a dict with the keys ('w', 'b')",
        f"a dict with the same keys in another order ('b', 'w'). {ORDER}"),
    "order far behind": (mapped(wide("x", "y"), wide("y", "x")), "a dict with the keys (…, 'x', 'y')",
        f"a dict with the same keys in another order (…, 'y', 'x'). {ORDER}"),
    "class": (mapped([1, 2], (1, 2)), "a list of 2", "a tuple of 2"),
    "leaf": (mapped([1, 2], 3), "a list of 2", "3"),
    "array": (mapped([1, 2], np.zeros(2)), "a list of 2", "an ndarray"),
    "a class": (mapped([1, 2], int), "a list of 2", "the class int"),
    "container": (mapped(1, deque([1, 2])), "a leaf", "a deque of 2"),
    "empty": (mapped([], {}), "an empty list", "an empty dict"),
    "no children": (mapped(Box(1), Nothing()), "a Box with 1 child", "a Nothing without fields"),
    "namedtuples": (mapped(Point(1, 2), Ranged(1, 2)), "a Point with 2 fields", "a Ranged with 2 fields"),
    "meta field": (mapped(Sample(1, 2, "x"), Sample(1, 2, "y")), "a Sample with name='x'", "a Sample with name='y'"),
    "context": (mapped(Tagged(1, 2, "mm"), Tagged(1, 2, "cm")), "a Tagged with the context 'mm'",
        "a Tagged with the context 'cm'"),
    "static": (mapped(Config(1), Config(2)), "a Config with the value Config(width=1, mode=None)",
        "a Config with the value Config(width=2, mode=None)"),
    "maxlen": (mapped(deque([1], 2), deque([1], 3)), "a deque with maxlen 2", "a deque with maxlen 3"),
    "factory": (mapped(defaultdict(list, a=1), defaultdict(int, a=1)),
        "a defaultdict with the factory <class 'list'>", "a defaultdict with the factory <class 'int'>"),
    "None": (mapped(None, 1, none_is_leaf=False), "None", f"1. {NONE}"),
    "no None": (mapped(1, None, none_is_leaf=False), "a leaf", f"None. {NONE}"),
}  # fmt: skip


@pytest.mark.parametrize("case", SIDES)
def test_both_sides_of_a_mismatch(case: str) -> None:
    call, first, second = SIDES[case]
    with pytest.raises(cp.StructureError) as caught:
        call()
    assert str(caught.value) == (
        f"tree 2 does not have the structure of the first tree at ['k']: the first has {first}, tree 2 has {second}"
    )


def sorted_leaves(tree: Any) -> list[Any]:
    with cp.dict_insertion_ordered(False):
        return cp.tree_leaves(tree)


def wrong(flatten: Callable[[Any], Any]) -> Any:
    with registered(Wrong, flatten, id):
        return cp.tree_leaves({"k": Wrong()})


def report_on_several_faults() -> Any:
    class Vec:
        def __init__(self, a: Any, b: Any, tag: Any) -> None:
            self.a, self.b, self.tag = a, b, tag

    def flatten(vec: Any) -> Any:
        return (vec.a, vec.b), np.array([1.0]), ("b", "a")

    def unflatten(children: Any, tag: Any) -> Vec:
        return Vec(float(children[1]), float(children[0]), tag)

    with registered(Vec, flatten, unflatten):
        return cp.check_node(Vec(1.5, 2.5, "t"))


def report_on_swapped_arguments() -> Any:
    def unflatten(context: Any, children: Any) -> Wrong:
        wrong = Wrong()
        (wrong.__dict__["item"],) = children
        return wrong

    wrong = Wrong()
    wrong.__dict__["item"] = [1]
    with registered(Wrong, lambda wrong: ((wrong.__dict__["item"],), None), unflatten):
        return cp.check_node(wrong)


def nested(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"next": [leaf]}
    return leaf


def layers(dtype: Any, activation: str) -> Any:
    return {"h": [{"w": np.zeros((4, 2), dtype), "act": Sample(1.5, None, activation)} for _ in range(12)]}


def gpt2() -> Any:
    def linear(rows: int, columns: int) -> dict[str, Any]:
        return {"weight": np.empty((rows, columns), np.float32), "bias": np.empty(columns, np.float32)}

    def block() -> dict[str, Any]:
        attn = {"c_attn": linear(768, 2304), "c_proj": linear(768, 768)}
        mlp = {"c_fc": linear(768, 3072), "c_proj": linear(3072, 768)}
        return {"ln_1": linear(1, 768), "attn": attn, "ln_2": linear(1, 768), "mlp": mlp}

    wte = np.empty((50257, 768), np.float32)
    body = {"wte": {"weight": wte}, "wpe": {"weight": np.empty((1024, 768), np.float32)}}
    body |= {"h": [block() for _ in range(12)], "ln_f": linear(1, 768)}
    return {"transformer": body, "lm_head": {"weight": wte}}


def state_dict(tree: Any) -> dict[str, Any]:
    pairs = cp.tree_leaves_with_path(tree)
    return {cp.keystr(path, simple=True, separator="."): leaf for path, leaf in pairs}


diff = cp.tree_diff
# The texts of these stand in texts.txt, under the same names.
SAID: dict[str, Callable[[], Any]] = {
    "unflatten": lambda: structure([1, 2, 3]).unflatten([1, 2]),
    "two specs": lambda: cp.tree_unflatten(structure(1), structure(2)),
    "leaves that are none": lambda: cp.tree_unflatten(structure([1]), Wrong()),
    "leaves in a dict": lambda: structure([1]).unflatten(OrderedDict(a=1)),
    "circle": lambda: cp.tree_leaves(circle(inner=False)),
    "inner circle": lambda: cp.tree_leaves(circle(inner=True)),
    "key order": lambda: sorted_leaves({"x": {1j: 0, 2j: 0}}),
    "context": lambda: hash(structure([Tagged(1, 2, np.zeros(2))])),
    "meta field": lambda: hash(structure([Sample(1, 2, np.zeros(2))])),
    "registered twice": lambda: cp.register_pytree_node(Pair, id, id),
    "a container": lambda: cp.register_pytree_node(dict, id, id),
    "a field in no list": lambda: cp.register_dataclass(Layer, ["weight"], ["name"]),
    "no fields": lambda: cp.register_dataclass(Layer, [], []),
    "damaged JSON": lambda: cp.treespec_loads(cp.treespec_dumps(structure([1]))[:-2]),
    "a missing node": lambda: cp.treespec_loads(cp.treespec_dumps(structure([1, 2])).replace("**", "*")),
    "an unknown kind": lambda: cp.treespec_loads(cp.treespec_dumps(structure([1, 2])).replace("list", "lost")),
    "keys that are no JSON": lambda: cp.treespec_dumps(structure({Color.RED: 1})),
    "a text that is no path": lambda: cp.parse_keystr("layers.0.w"),
    "a name that is none": lambda: cp.parse_keystr("['a'].x y"),
    "a long text": lambda: cp.parse_keystr("[0]" * 50 + "[" + "[1]" * 50),
    "a key that leads nowhere": lambda: cp.key_get({"layers": [{"w": 1}]}, cp.parse_keystr("['layers'][0]['v']")),
    "transpose": lambda: cp.tree_transpose(structure([1, 2]), structure({"a": 1}), {"a": [1, 2]}),
    "broadcast": lambda: cp.tree_broadcast_prefix({"a": [1, 2]}, {"a": [1, 2, 3]}),
    "common": lambda: cp.tree_broadcast_common([[1, 2]], [(1, 2)]),
    "child": lambda: structure([1]).child(4),
    "namespace": lambda: cp.tree_leaves(1, namespace=3),
    "surrogate": lambda: cp.tree_leaves(1, namespace="\ud800"),
    "entries": lambda: wrong(lambda _: ((1, 2), None, ["a"])),
    "what is flattened": lambda: wrong(lambda _: [1]),
    "children": lambda: wrong(lambda _: (3, None)),
    "diff: arity": lambda: diff({"layers": [1, 2, 3]}, {"layers": [1, 2]}),
    "diff: missing key": lambda: diff({"w": 1, "b": 2}, {"w": 1}),
    "diff: extra key": lambda: diff({"layers": [{"w": 1}]}, {"layers": [{"w": 1, "scale": np.ones((2, 3))}]}),
    "diff: key order": lambda: diff({"q": 1, "k": 2, "v": 3}, {"k": 2, "q": 1, "v": 3}),
    "diff: type": lambda: diff({"x": [1, 2], "y": {"a": 1}}, {"x": (1, 2), "y": [1]}),
    "diff: namedtuple class": lambda: diff([Point(1, 2)], [Ranged(1, 2)]),
    "diff: static value": lambda: diff({"l": Sample(1, 2, "relu")}, {"l": Sample(1, 2, "tanh")}),
    "diff: context": lambda: diff([Tagged(1, 2, "mm"), Config(1)], [Tagged(1, 2, "cm"), Config(2)]),
    "diff: maxlen and factory": lambda: diff(
        [deque([1], 3), defaultdict(list, a=1)], [deque([1]), defaultdict(int, a=1)]
    ),
    "diff: leaf and container": lambda: diff({"cache": None, "w": np.ones(3)}, {"cache": {"k": 1}, "w": [np.ones(3)]}),
    "diff: a class that is not registered": lambda: diff([{"a": 1}], [DictLeaf(a=1)]),
    "diff: None as a node": lambda: diff({"a": None, "b": [None]}, {"a": 1, "b": []}, none_is_leaf=False),
    "diff: namespace": lambda: diff(AlphaOnly(1, 2), AlphaOnly(1, [2]), namespace=ALPHA),
    "diff: leaves": lambda: diff(
        {"w": np.zeros((2, 3), np.float32), "b": np.zeros(3), "e": np.zeros((2, 3)), "n": "x", "i": 1},
        {"w": np.zeros((3, 2), np.float32), "b": np.zeros(3, np.float16), "e": np.eye(2, 3), "n": "y", "i": 1.0},
        leaves=True,
    ),
    "diff: single values": lambda: diff(
        [np.float32(1.5), np.array(1), np.array([[True]])],
        [np.float32(2.5), np.array(2), np.array([[False]])],
        leaves=True,
    ),
    "diff: deep path": lambda: diff(nested(40, 1), nested(40, [2])),
    "diff: every layer": lambda: diff(layers(np.float32, "relu"), layers(np.float16, "tanh"), leaves=True),
    "check_node": report_on_several_faults,
    "check_node of swapped arguments": report_on_swapped_arguments,
    "check_node of a dataclass": lambda: cp.check_node(Sample(1, 2, np.zeros(2))),
    "check_node of a static object": lambda: cp.check_node(Config(np.zeros(2))),
    "summary of GPT-2": lambda: cp.tree_summary(gpt2()),
    "summary of a state dict": lambda: cp.tree_summary(state_dict(gpt2())),
    "summary without arrays": lambda: cp.tree_summary({"layers": [{"w": 0.5, "b": None}] * 12, "name": "net"}),
    "HTML of a summary": lambda: cp.tree_summary({"w": np.zeros((2, 3)), "name": "<net>"})._repr_html_(),
    "HTML of a structure": lambda: structure({"w": [1, 2], "h": [{"w": 1, "b": 2}] * 3, "c": Config(1)})._repr_html_(),
}


def texts() -> dict[str, str]:
    """The texts by their names; a line with a name starts with `==`."""
    parts = (Path(__file__).parent / "texts.txt").read_text().split("== ")[1:]
    return {name: text.strip("\n") for name, _, text in (part.partition("\n") for part in parts)}


def said(name: str) -> str:
    try:
        text = str(SAID[name]())
    except (cp.PyTreeError, IndexError) as error:
        text = f"{type(error).__name__}: {error}"
    text = re.sub(r"(the whole JSON text that was written: ).*", r"\1…", text)  # Python's words
    return re.sub(r"line \d+", "line N", text.replace(f"{__name__}.", "tests."))


def test_there_is_a_text_for_each() -> None:
    assert list(texts()) == list(SAID)


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name: str) -> None:
    assert said(name) == texts()[name]
    assert all(line.isprintable() for line in said(name).splitlines())
    if re.match(r"\w+Error: ", said(name)):
        assert len(said(name)) < 400
    if "summary" in name and "HTML" not in name:
        assert max(map(len, said(name).splitlines())) <= 80
