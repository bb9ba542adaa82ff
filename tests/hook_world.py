"""One tree with user code at every place where the library can run some, and one deed that waits at a hook."""

from __future__ import annotations

import contextlib
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from hook_classes import (
    Answer,
    Color,
    Context,
    Factory,
    Group,
    HandedOut,
    Init,
    Key,
    Leaf,
    Listener,
    Maker,
    Named,
    Record,
    Static,
    Strange,
    WithKeys,
    dump,
    hook,
    load,
    nothing,
)
from hook_runtime import HookRuntime, hook_tensor

import clika_pytree as cp

ANY = "any"


class World:
    """The tree and its parts.

    `armed` names the hook (`ANY` means all of them); the deed is done at its `at`-th call, at each one where `at` is 0.
    """

    def __init__(self) -> None:
        self.armed: str | None = None
        self.at = 1
        self.calls = 0
        self.deed: Callable[[World], Any] = lambda world: None
        self.operation: Callable[[World], Any] = lambda world: None
        self.raised: BaseException | None = None
        self.hook = ""
        self.known: set[int] = set()
        self.notes: list[str] = []
        self.watchers: list[weakref.ref] = []
        Listener.hear = nothing
        self.register()
        self.build()
        Listener.hear = self.hear

    def __repr__(self) -> str:
        return "World"

    def hear(self, name: str) -> None:
        """Called by all user code, with the name of the hook."""
        if self.armed is None or self.armed not in (name, ANY):
            return
        self.calls += 1
        if self.at == 0:
            self.deed(self)
        elif self.at == self.calls:
            # What follows the one deed may differ from run to run: it is not counted.
            self.armed = None
            self.deed(self)

    def close(self) -> None:
        """Give everything back. The iterator and the tree may be each other's."""
        Listener.hear = nothing
        self.unregister()
        vars(self).clear()

    # --- registrations ---

    def register(self) -> None:
        names: dict[str, Any] = {"to_dumpable_context": dump, "from_dumpable_context": load}
        static: dict[str, Any] = {"to_dumpable_context": dump, "from_dumpable_context": lambda dumped: Static("static")}
        self.classes = [Group, WithKeys, Maker, Strange, Record, Init, Static]
        cp.register_pytree_node(
            Group, Group.flatten, Group.unflatten, serialized_type_name="tests.hooks.Group", **names
        )
        cp.register_pytree_node(
            WithKeys, Group.flatten, WithKeys.unflatten, flatten_with_keys_fn=WithKeys.flatten_with_keys
        )
        cp.register_pytree_node(Maker, Maker.flatten, Maker.unflatten)
        cp.register_pytree_node(Strange, lambda s: ((s.item,), None), lambda children, _: Strange(*children))
        cp.register_dataclass(Record, ["plain", "described"], ["meta"], drop_fields=["dropped"])
        cp.register_dataclass(Init, ["item"], ["meta"], rebuild="init")
        cp.register_static(Static, serialized_type_name="tests.hooks.Static", **static)
        cp.register_runtime(HookRuntime())

    def unregister(self) -> None:
        with contextlib.suppress(ValueError):
            cp.unregister_runtime("hooked")
        for cls in self.classes:
            with contextlib.suppress(ValueError):  # a deed has done it
                cp.unregister_pytree_node(cls)

    # --- the tree ---

    def build(self) -> None:
        self.one, self.two, self.context = Key("one"), Key("two"), Context("context")
        self.inner: Any = [Leaf("i0")]
        self.items: Any = [Leaf("g0"), [Leaf("g1")], Leaf("g2")]
        self.list: Any = [Leaf("l0"), Leaf("l1"), self.inner]
        self.keyed: Any = {self.one: Leaf("k0"), self.two: [Leaf("k1")]}
        self.ordered: Any = OrderedDict({self.two: Leaf("o0"), self.one: Leaf("o1")})
        self.default: Any = defaultdict(Factory(), {"plain": Leaf("d0"), self.one: Leaf("d1")})
        self.deque: Any = deque([Leaf("q0"), [Leaf("q1")]], 5)
        self.tree: Any = {
            "list": self.list,
            "tuple": (Leaf("t0"), (Leaf("t1"), Leaf("t2"))),
            "group": Group(self.items, self.context),
            "named": Named((Leaf("n0"), Leaf("n1"))),
            "record": Record(Leaf("r0"), Leaf("r1"), self.context),
            "ordered": self.ordered,
            "static": Static("static"),
            "fresh": Maker([], None),
            "keyed": self.keyed,
            "default": self.default,
            "deque": self.deque,
            "keys": WithKeys([Leaf("w0"), Leaf("w1")], None),
            "init": Init(Leaf("x0"), "meta"),
            "strange": Strange(Leaf("s0")),
            "enum": {Color.RED: Leaf("e0"), Color.BLUE: Leaf("e1")},
            "last": [Leaf("z0"), Leaf("z1")],
        }
        Maker.watched = self.watched
        self.tensor: Any = hook_tensor(1, 2)
        self.savable: Any = [Group([hook_tensor(3)], Context("plain")), Static("static"), {"x": self.tensor, "n": 4}]
        self.containers: list[Any] = [
            *(self.tree, self.list, self.inner, self.items, self.keyed, self.ordered, self.default, self.deque),
            *(self.savable, self.savable[0].items, self.savable[2]),
        ]
        # What documents and numbers can be made of.
        self.plain: Any = [Group([Leaf("p0")], Context("plain")), Static("static"), {"k": Leaf("p1")}]
        self.text = cp.treespec_dumps(cp.tree_structure(self.plain))
        self.spec: Any = cp.tree_structure(self.tree)
        self.twin: Any = cp.tree_structure(self.tree)
        self.leaves: Any = cp.tree_leaves(self.tree)
        self.iterator: Any = cp.tree_iter(self.tree, self.is_leaf)
        self.path: Any = cp.tree_leaves_with_path(self.tree)[8][0]

    def watched(self, leaf: Leaf) -> Any:
        self.watchers.append(weakref.ref(leaf, lambda ref: hook("weakref callback")))
        return (leaf,)

    # --- arguments of operations, each of them a hook ---

    def is_leaf(self, obj: Any) -> Any:
        hook("is_leaf")
        return Answer(type(obj) is WithKeys)

    def fn(self, *leaves: Any) -> Any:
        hook("fn")
        return Leaf("mapped")

    def picks(self, leaf: Any) -> Any:
        hook("filter")
        return Answer(type(leaf) is not str)

    def f_node(self, *args: Any) -> Any:
        hook("f_node")
        return args[0] if len(args) == 1 else list(args[2])

    def f_leaf(self, leaf: Any) -> Any:
        hook("f_leaf")
        return leaf

    def compute(self, tree: Any, x: Any) -> Any:
        hook("fn")
        return {"sum": x + x, "group": Group([x, 7], self.context)}

    def layer(self, tensors: Any) -> Any:
        hook("fn")
        return [tensors[0] + tensors[1], tensors[0]]

    def handed_out(self) -> Any:
        return HandedOut("leaves", self.leaves)
