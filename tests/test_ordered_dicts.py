"""OrderedDicts are read without a look-up: the keys' own code neither runs nor gets at the dict half-way."""

from __future__ import annotations

import gc
import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
from helpers import identical, run_python

import clika_pytree as cp

READERS: dict[str, Callable[[Any], list]] = {
    "leaves": cp.tree_leaves,
    "flatten": lambda tree: cp.tree_flatten(tree)[0],
    "iter": lambda tree: list(cp.tree_iter(tree)),
    "map": lambda tree: list(cp.tree_map(lambda leaf: leaf, [tree])[0].values()),
    "flatten_up_to": lambda tree: cp.tree_structure(tree).flatten_up_to(tree),
}
readers = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


@readers
@pytest.mark.parametrize("seed", range(5))
def test_any_history_of_an_ordered_dict_gives_its_own_order(seed, read):
    rng = random.Random(seed)
    tree: OrderedDict = OrderedDict()
    for step in range(300):
        key = rng.choice([rng.randrange(30), f"k{rng.randrange(30)}"])
        deed = rng.random()
        if deed < 0.6 or not tree:
            tree[key] = object()
        elif deed < 0.75:
            tree.move_to_end(rng.choice(list(tree)), last=rng.random() < 0.5)
        elif deed < 0.9:
            del tree[rng.choice(list(tree))]
        else:
            tree.popitem(last=rng.random() < 0.5)
        if step % 20 == 0:
            assert identical(read(tree), tree.values())
            assert cp.tree_structure(tree).context == tuple(tree)


class Key:
    """Its hash and equality are those of any object, until they are to do harm."""

    harm: Callable[[], Any] | None = None

    def __hash__(self) -> int:
        self.do_harm()
        return 7

    def __eq__(self, other: object) -> bool:
        self.do_harm()
        return self is other

    def do_harm(self) -> None:
        harm, Key.harm = Key.harm, None
        if harm is not None:
            harm()


def raise_(error: BaseException) -> None:
    raise error


def replace_all(tree: OrderedDict) -> None:
    tree.clear()
    tree.update({Key(): [i] for i in range(50)})


HARM: dict[str, Callable[[OrderedDict], Any]] = {
    "clear": lambda tree: tree.clear(),
    "pop": lambda tree: tree.popitem(),
    "grow": lambda tree: tree.update((f"new{i}", i) for i in range(100)),
    "replace": replace_all,
    "raise": lambda tree: raise_(LookupError()),
    "stop": lambda tree: raise_(StopIteration()),
}


@pytest.mark.parametrize(
    "read", [cp.tree_leaves, lambda tree: cp.tree_flatten(tree)[0], lambda t: list(cp.tree_iter(t))]
)
@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_reading_runs_no_code_of_the_keys(harm, read):
    """CPython's own iterator follows freed memory where an `==` clears the dict."""
    tree = OrderedDict((Key(), object()) for _ in range(5))
    leaves = list(tree.values())
    Key.harm = lambda: harm(tree)
    try:
        assert identical(read(tree), leaves)
        assert Key.harm is not None
    finally:
        Key.harm = None


def test_matching_runs_none_either_where_the_keys_are_the_same_objects():
    tree = OrderedDict((Key(), object()) for _ in range(5))
    spec, leaves = cp.tree_structure(tree), list(tree.values())
    Key.harm = tree.clear
    try:
        assert identical(spec.flatten_up_to(tree), leaves)
        assert Key.harm is not None
    finally:
        Key.harm = None


def test_a_wide_one_that_is_rebuilt_is_as_if_it_had_grown():
    """Its table is there before its order, so that it need not grow."""
    tree = OrderedDict((key, [key]) for key in [*range(60_000, 0, -1), "last"])
    for made in (cp.tree_map(lambda leaf: leaf, tree), cp.tree_unflatten(*reversed(cp.tree_flatten(tree)))):
        assert made == tree
        assert [*made] == [*tree] == [*dict.keys(made)]
        assert identical([leaf for (leaf,) in made.values()], tree)
        made.move_to_end(7)
        made[0] = made.pop(8)
        del made[9]
        assert [*reversed(made)][:3] == [0, 7, "last"]
        assert made.popitem(last=False) == (60_000, [60_000])
        assert len([*made]) == len(made) == 59_999
        assert made.copy() == made
        assert cp.tree_leaves(made, is_leaf=lambda obj: type(obj) is list) == [*made.values()]


@pytest.mark.usefixtures("small_heap")
def test_a_wide_one_that_is_emptied_while_it_is_rebuilt_has_the_rest():
    tree = OrderedDict((Key() if n % 8000 == 0 else -n, 0) for n in range(40_000))
    spec, seen = cp.tree_structure(tree), []

    def harm() -> None:
        for half in gc.get_objects():
            if type(half) is OrderedDict and half is not tree and len(half) > len([*half]) > 0:
                seen.append((len(half), len([*half])))
                half.clear()
                return
        Key.harm = harm

    Key.harm = harm
    try:
        made = spec.unflatten(range(len(tree)))
    finally:
        Key.harm = None
    assert seen == [(40_000, 8000)]
    assert identical(made, [*tree][8000:])
    assert [*made.values()] == [*range(8000, 40_000)]


@readers
@pytest.mark.parametrize("spoil", [lambda d: dict.__delitem__(d, "b"), lambda d: dict.__setitem__(d, "new", 4)])
def test_one_that_was_changed_behind_its_back_is_an_error(spoil, read):
    tree = OrderedDict(a=1, b=2, c=3)
    spoil(tree)
    with pytest.raises(
        cp.PyTreeValueError, match=r"the OrderedDict at .* is at odds with itself: only its (order|table)"
    ):
        read({"k": tree} if read is not READERS["map"] else tree)


def test_what_a_killed_iterator_does_to_python_itself_stays_outside():
    """Every operation on one whose keys clear it, in a process of its own."""
    run_python(
        "from collections import OrderedDict\n"
        "import clika_pytree as cp\n"
        "class Key:\n"
        "    armed = False\n"
        "    def __hash__(self): return 7\n"
        "    def __eq__(self, other):\n"
        "        if Key.armed: Key.armed = False; tree.clear()\n"
        "        return self is other\n"
        "for call in (cp.tree_flatten, cp.tree_leaves, cp.tree_paths, lambda t: cp.tree_map(id, t), cp.tree_summary,\n"
        "             lambda t: cp.tree_map(max, t, t), lambda t: list(cp.tree_iter(t)), cp.tree_leaves_with_path):\n"
        "    for _ in range(50):\n"
        "        tree = OrderedDict({Key(): [1], Key(): [2], Key(): [3]})\n"
        "        Key.armed = True\n"
        "        try: call([tree])\n"
        "        except cp.PyTreeError: pass\n"
        "        Key.armed = False\n"
    )
