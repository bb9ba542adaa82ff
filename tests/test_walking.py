"""Trees that change while they are walked, and types that come and go."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest
from classes import Box
from helpers import notes, registered, run_python

import clika_pytree as cp

READERS = {
    "flatten": cp.tree_flatten,
    "leaves": cp.tree_leaves,
    "structure": cp.tree_structure,
    "iter": lambda tree: list(cp.tree_iter(tree)),
    "map": lambda tree: cp.tree_map(lambda x: x, tree),
    "map_": lambda tree: cp.tree_map_(lambda x: x, tree),
    "map_only": lambda tree: cp.tree_map_only(int, abs, tree),
    "map over two": lambda tree: cp.tree_map(lambda x, y: x, tree, tree),
    "sum": cp.tree_sum,
}


# --- changes while walking --------------------------------------------------------------------------------------------


def tolerant(walk: Callable[[], Any]) -> Any:
    """A walk over something that changes: it may not see the change, or refuse with the place of it."""
    try:
        return walk()
    except (cp.PyTreeError, RuntimeError) as error:
        told = f"{error} {notes(error)} {getattr(error, 'path', '')}"
    assert "[" in told, f"no path in {told!r}"
    return None


def shrink(container: Any) -> None:
    if len(container) > 1:
        container.popitem() if isinstance(container, dict) else container.pop()


def clear(container: Any) -> None:
    container.clear()


def grow(container: Any) -> None:
    if len(container) < 50:
        if isinstance(container, dict):
            container[f"new{len(container)}"] = object()
        else:
            container.append(object())


def replace(container: Any) -> None:
    for key in list(container) if isinstance(container, dict) else range(len(container)):
        container[key] = object()


CONTAINERS = {
    "list": lambda items: list(items),
    "dict": lambda items: {f"k{i}": item for i, item in enumerate(items)},
    "ordereddict": lambda items: OrderedDict((f"k{i}", item) for i, item in enumerate(items)),
    "defaultdict": lambda items: defaultdict(int, {f"k{i}": item for i, item in enumerate(items)}),
    "deque": lambda items: deque(items),
}
changes = pytest.mark.parametrize("change", [shrink, clear, grow, replace])
any_container = pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
orders = pytest.mark.parametrize("ordered", [True, False], ids=["insertion", "sorted"])


def items() -> list:
    return [[object()], object(), (object(), [object()]), Box(object()), object(), [object()] * 3]


@orders
@changes
@any_container
def test_is_leaf_may_change_the_container_that_is_walked(make, change, ordered):
    for reader in (cp.tree_flatten, cp.tree_leaves, cp.tree_structure, lambda t, f: list(cp.tree_iter(t, f))):
        container = make(items())
        tree = [container, [1]]
        with cp.dict_insertion_ordered(ordered):
            tolerant(lambda: reader(tree, lambda obj: change(container)))  # noqa: B023
        assert tree[1] == [1]
    gc.collect()


@orders
@changes
@any_container
def test_the_mapped_function_may_change_the_container_that_is_walked(make, change, ordered):
    for mapping in (cp.tree_map, cp.tree_map_, lambda fn, *trees: cp.tree_map(fn, *trees, trees[0])):
        container = make(items())
        tree = [container, [1]]
        with cp.dict_insertion_ordered(ordered):
            tolerant(lambda: mapping(lambda *leaves: change(container), tree))  # noqa: B023
        assert tree[1] == [1]
    gc.collect()


@changes
@any_container
def test_a_flatten_function_may_change_the_parent(make, change):
    class Wild:
        def __init__(self, parent: Any = None) -> None:
            self.parent = parent

    def flatten(wild: Wild) -> tuple:
        if wild.parent is not None:
            change(wild.parent)
        return ([object()], None)

    with registered(Wild, flatten, lambda children, _: Wild()):
        for reader in READERS.values():
            if reader is cp.tree_sum:
                continue
            container = make([Wild(), [object()], object(), (object(),)])
            next(iter(container.values() if isinstance(container, dict) else container)).parent = container
            tolerant(lambda: reader([container, [object()]]))  # noqa: B023
    gc.collect()


@changes
@any_container
def test_an_unflatten_function_may_change_the_tree(make, change):
    class Wild:
        parent: Any = None

    container: Any = None

    def unflatten(children: tuple, context: Any) -> Wild:
        change(container)
        return Wild()

    with registered(Wild, lambda wild: ((object(),), None), unflatten):
        container = make([Wild(), Wild(), [object()], Wild()])
        tolerant(lambda: cp.tree_map(lambda x: x, [container]))
    gc.collect()


@changes
def test_the_leaves_may_change_while_a_tree_is_built_of_them(change):
    leaves = [object() for _ in range(6)]

    class Wild:
        pass

    def unflatten(children: tuple, context: Any) -> Wild:
        change(leaves)
        return Wild()

    with registered(Wild, lambda wild: ((0,), None), unflatten):
        spec = cp.tree_structure([Wild() for _ in range(6)])
    tolerant(lambda: spec.unflatten(leaves))
    gc.collect()


def test_a_comparison_may_change_the_dict_whose_keys_are_sorted():
    tree: dict = {}

    class Key:
        def __init__(self, rank: int) -> None:
            self.rank = rank

        def __lt__(self, other: Key) -> bool:
            tree.clear()
            return self.rank < other.rank

    tree.update({Key(i): object() for i in (3, 1, 2)})
    with cp.dict_insertion_ordered(False):
        for reader in (cp.tree_leaves, cp.tree_structure, cp.tree_flatten):
            tree.update({Key(i): object() for i in (3, 1, 2)})
            tolerant(lambda: reader([tree]))  # noqa: B023
    gc.collect()


@orders
def test_keys_whose_hash_changed_or_raises_are_read_like_others(ordered):
    class Moody:
        value: int | None = 1

        def __hash__(self) -> int:
            if self.value is None:
                raise LookupError("no hash today")
            return self.value

        def __lt__(self, other: object) -> bool:
            return False

    key = Moody()
    for tree in ({key: 1}, defaultdict(int, {key: 1})):
        with cp.dict_insertion_ordered(ordered):
            for key.value in (2, None, 1):
                assert cp.tree_leaves(tree) == [1]
                assert cp.tree_structure(tree).entries() == [key]


def test_a_dict_changed_by_another_thread_is_walked_without_harm():
    # The thread only takes items out and puts the same ones back, so no walk may find a stranger.
    tree = {i: [object()] for i in range(100)}
    known = {id(leaf) for (leaf,) in tree.values()}
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            tree[99] = tree.pop(99)

    thread = threading.Thread(target=churn)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        for _ in range(2000):
            leaves = tolerant(lambda: cp.tree_leaves([tree]))
            assert leaves is None or {id(leaf) for leaf in leaves} <= known
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert len(cp.tree_leaves(tree)) == 100


# --- types that come and go -------------------------------------------------------------------------------------------


@pytest.mark.unwatched
@pytest.mark.usefixtures("small_heap")
def test_a_class_that_gets_the_address_of_a_dead_leaf_class_is_not_mistaken_for_it():
    reused = 0
    for _ in range(50):
        leaf_class = type("Leaf", (tuple,), {"__slots__": ()})
        address = id(leaf_class)
        assert len(cp.tree_leaves([leaf_class((1, 2))] * 3)) == 3
        died = weakref.ref(leaf_class)
        del leaf_class
        gc.collect()
        assert died() is None, "the library keeps a class alive that it only saw as a leaf"
        node_class = type("Node", (tuple,), {"__slots__": (), "_fields": ("a", "b")})
        reused += id(node_class) == address
        assert cp.tree_leaves([node_class((1, 2))]) == [1, 2]
        del node_class
        gc.collect()
    assert reused, "no class got the address of a dead one, so nothing was tested"


def walk_whose_finalizer_ends_a_class(read: Callable[[Any], list]) -> bool:
    """The class of a leaf that was just taken ends, and a namedtuple class comes; whether it got the same address."""
    leaf_class, other = type("Leaf", (), {}), type("Other", (), {})
    leaf, address, pending, reused = leaf_class(), id(leaf_class), [], False

    class Last:
        def __del__(self) -> None:
            nonlocal leaf_class, reused
            leaf.__class__, leaf_class = other, None
            gc.collect()
            node_class = type("Node", (tuple,), {"__slots__": (), "_fields": ("a", "b")})
            reused = id(node_class) == address
            pending.append(node_class((1, 2)))

    class Once:
        """Keeps nothing of what it gave."""

        def __init__(self, *children: object) -> None:
            self.children = children

        def give(self) -> tuple:
            children, self.children = self.children, ()
            return children, None

    with registered(Last, lambda last: ((), None), str), registered(Once, Once.give, str):
        assert read([Once(Last(), [leaf]), [pending], 3])[-3:] == [1, 2, 3]
    return reused


@pytest.mark.unwatched
@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize(
    "read", [cp.tree_leaves, lambda tree: cp.tree_flatten(tree)[0], lambda tree: list(cp.tree_iter(tree))]
)
def test_a_class_that_dies_in_a_finalizer_is_not_mistaken_either(read):
    reused = [walk_whose_finalizer_ends_a_class(read) for _ in range(20)]
    assert any(reused), "no class got the address of a dead one, so nothing was tested"


@pytest.mark.usefixtures("small_heap")
def test_a_namedtuple_class_that_died_is_not_mistaken_either():
    for _ in range(20):
        node_class = type("Node", (tuple,), {"__slots__": (), "_fields": ("a", "b")})
        assert cp.tree_leaves([node_class((1, 2))] * 2) == [1, 2, 1, 2]
        del node_class
        gc.collect()
        leaf_class = type("Leaf", (tuple,), {"__slots__": ()})
        assert len(cp.tree_leaves([leaf_class((1, 2))])) == 1


def test_a_type_seen_before_it_was_registered_is_a_node_afterwards():
    class Late:
        pass

    obj = Late()
    for _ in range(3):
        assert cp.tree_leaves([obj]) == [obj]
        with registered(Late, lambda late: ((1, 2), None), lambda children, _: Late()):
            assert cp.tree_leaves([obj]) == [1, 2]
            assert cp.is_registered(Late)
        assert cp.tree_leaves([obj]) == [obj]
        assert cp.tree_structure(obj).is_leaf()


def test_registering_while_walking():
    class Late:
        pass

    trees = [Late(), [Late()], Late()]
    asked = []

    def register(obj: Any) -> bool:
        if not asked and type(obj) is Late:
            asked.append(obj)
            cp.register_pytree_node(Late, lambda late: ((1,), None), lambda children, _: Late())
        return False

    try:
        leaves = cp.tree_leaves(trees, is_leaf=register)
        assert set(leaves) <= {1, *cp.tree_leaves(trees, is_leaf=lambda x: type(x) is Late)}
        assert len(leaves) == 3
        assert cp.tree_leaves(trees) == [1, 1, 1]
    finally:
        cp.unregister_pytree_node(Late)


def test_unregistering_while_walking():
    class Early:
        def __init__(self, item: Any = 1) -> None:
            self.item = item

    def flatten(early: Early) -> tuple:
        if cp.is_registered(Early):
            cp.unregister_pytree_node(Early)
        return (early.item,), None

    cp.register_pytree_node(Early, flatten, lambda children, _: Early(*children))
    leaves, spec = cp.tree_flatten([Early(2), Early(3)])
    assert leaves[0] == 2
    assert len(leaves) == 2
    assert not cp.is_registered(Early)
    rebuilt = spec.unflatten([20, 30])
    assert type(rebuilt[0]) is Early
    assert rebuilt[0].item == 20


def test_a_metaclass_and_odd_attributes_do_not_disturb_the_walk():
    class Meta(type):
        def __getattr__(cls, name: str) -> Any:
            raise LookupError(f"no {name} today")

    class Leaf(metaclass=Meta):
        pass

    leaf = Leaf()
    assert cp.tree_leaves([leaf, leaf]) == [leaf, leaf]


# --- user code that goes round without a frame of Python --------------------------------------------------------------

ROUND = """
import functools
import clika_pytree as cp
class Node: pass
def knot(function, arguments, options):
    # A partial that is part of what it calls itself with: no Python frame stands between one call and the next.
    turn = functools.partial(function)
    put = lambda part: turn if part == "turn" else part
    turn.__setstate__((function, tuple(map(put, arguments)), {name: put(part) for name, part in options.items()}, None))
    return turn
def rounds(operation):
    for _ in range(2):
        try: operation()
        except RecursionError as error: assert len("".join(getattr(error, "__notes__", []))) < 100_000
        else: raise AssertionError("this goes round")
    assert cp.tree_map(lambda x: x + 1, {"a": [1]}) == {"a": [2]}
"""
ROUNDS = {
    "flatten function": "cp.register_pytree_node(Node, cp.tree_flatten, list); rounds(lambda: cp.tree_leaves(Node()))",
    "structure": "cp.register_pytree_node(Node, cp.tree_leaves, list); rounds(lambda: cp.tree_structure(Node()))",
    "map": "cp.register_pytree_node(Node, cp.tree_flatten, list); rounds(lambda: cp.tree_map(id, Node()))",
    "iterator": (
        "cp.register_pytree_node(Node, lambda n: (cp.tree_iter(n), None), list); rounds(lambda: cp.tree_leaves(Node()))"
    ),
    "is_leaf": "rounds(lambda: knot(cp.tree_leaves, (), {'is_leaf': 'turn'})([1]))",
    "is_leaf of map": "rounds(lambda: knot(cp.tree_map, (id,), {'is_leaf': 'turn'})([1]))",
    "mapped function": "rounds(lambda: knot(cp.tree_map, ('turn',), {})([1]))",
    "mapped for effect": "rounds(lambda: knot(cp.tree_map_, ('turn',), {})([1]))",
    "filter": "rounds(lambda: knot(cp.tree_map_only, ('turn', id), {})([1]))",
}


@pytest.mark.parametrize("script", ROUNDS.values(), ids=ROUNDS)
def test_user_code_that_calls_back_for_ever_ends_in_a_recursion_error(script):
    run_python(f"{ROUND}\n{script}\n")


@pytest.mark.parametrize("times", [1, 15, 17, 100, 10**9])
@pytest.mark.parametrize("change", ["registers", "unregisters", "dies"])
def test_a_look_at_a_class_may_change_the_registrations_each_time(change, times):
    done = run_python(
        "import clika_pytree as cp\n"
        "looks = 0\n"
        "class Other: pass\n"
        "def change():\n"
        f"    if {change!r} == 'registers':\n"
        "        cp.register_pytree_node(type('New', (), {}), lambda n: ((), None), lambda c, x: None)\n"
        f"    elif {change!r} == 'unregisters':\n"
        "        if cp.is_registered(Other): cp.unregister_pytree_node(Other)\n"
        "        else: cp.register_pytree_node(Other, lambda n: ((), None), lambda c, x: None)\n"
        "    else:\n"
        "        cp.tree_leaves(type('Short', (), {})())\n"
        "class Meta(type):\n"
        "    def __getattribute__(cls, name):\n"
        "        global looks\n"
        "        if name == '_fields':\n"
        "            looks += 1\n"
        f"            if looks <= {times}: change()\n"
        "            return ('a', 'b')\n"
        "        return super().__getattribute__(name)\n"
        "class Odd(tuple, metaclass=Meta): pass\n"
        "for _ in range(3):\n"
        "    try: assert len(cp.tree_leaves([Odd((1, 2))])) in (1, 2)\n"
        "    except cp.PyTreeError as error: assert 'Odd' in str(error), error\n"
        "    except RecursionError: pass\n"
        "assert cp.tree_leaves([1, (2,)]) == [1, 2]\n"
        "print('end')\n"
    )
    assert done.stdout == "end\n"
