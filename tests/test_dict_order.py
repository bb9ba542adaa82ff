"""The order in which dicts are read: as they were filled, or by sorted key inside a block, for those inside it only."""

from __future__ import annotations

import asyncio
import contextvars
import enum
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
from classes import Color, Point, Tagged
from helpers import notes, run_python

import clika_pytree as cp

TREE = {"b": 1, "a": 2}
INSERTION, SORTED = [1, 2], [2, 1]


def read() -> list:
    return cp.tree_leaves(TREE)


def test_insertion_order_is_the_rule_and_part_of_the_structure():
    leaves, spec = cp.tree_flatten({"b": 1, "a": 2, "c": 3})
    assert leaves == [1, 2, 3]
    assert list(cp.tree_unflatten(spec, leaves)) == ["b", "a", "c"]
    assert cp.tree_structure({"a": 0, "b": 0}) != cp.tree_structure({"b": 0, "a": 0})


def test_inside_a_block_dicts_are_read_by_sorted_key():
    with cp.dict_insertion_ordered(False):
        leaves, spec = cp.tree_flatten(TREE)
        assert leaves == read() == list(cp.tree_iter(TREE)) == SORTED
        assert spec == cp.tree_structure({"a": 0, "b": 0})
        assert spec.context == ("a", "b")
        assert spec.entries() == ["a", "b"]
        assert repr(spec) == "TreeSpec({'a': *, 'b': *})"
        assert cp.tree_leaves(defaultdict(int, TREE)) == SORTED
        assert cp.tree_leaves(OrderedDict(TREE)) == INSERTION
        assert cp.tree_leaves([{"z": TREE, "y": 0}]) == [0, 2, 1]
    assert read() == INSERTION
    assert spec == cp.tree_structure({"a": 0, "b": 0})
    assert hash(spec) == hash(cp.tree_structure({"a": 0, "b": 0}))
    assert list(spec.unflatten(SORTED).items()) == [("b", 1), ("a", 2)]


def test_mapping_inside_a_block_keeps_the_order_of_the_first_tree():
    calls = []
    with cp.dict_insertion_ordered(False):
        mapped = cp.tree_map(lambda x, y: calls.append(x) or (x, y), TREE, {"a": 20, "b": 10})
        assert list(mapped.items()) == [("b", (1, 10)), ("a", (2, 20))]
        tagged = cp.tree_map(str, Tagged({"y": 1, "x": 2}, 0, "t"))
    assert calls == SORTED
    assert list(tagged.left.items()) == [("y", "1"), ("x", "2")]
    with pytest.raises(cp.StructureError, match="order"):
        cp.tree_map(lambda x, y: x, TREE, {"a": 20, "b": 10})


def test_blocks_nest_and_end_with_exceptions_too():
    with cp.dict_insertion_ordered(False):
        assert read() == SORTED
        with cp.dict_insertion_ordered(True):
            assert read() == INSERTION
            with cp.dict_insertion_ordered(False):
                assert read() == SORTED
            assert read() == INSERTION
        assert read() == SORTED
        with pytest.raises(LookupError), cp.dict_insertion_ordered(True):
            raise LookupError
        assert read() == SORTED
    assert read() == INSERTION


# --- how keys are sorted ----------------------------------------------------------------------------------------------


def sorted_keys(*keys: Any) -> list:
    with cp.dict_insertion_ordered(False):
        return cp.tree_structure(dict.fromkeys(keys)).entries()


def test_mixed_keys_sort_by_the_name_of_their_type():
    assert sorted_keys("x", 1) == [1, "x"]
    assert sorted_keys("b", 3, b"k", "a", 1.5, None, (2,), 2) == [None, b"k", 1.5, 2, 3, "a", "b", (2,)]
    with cp.dict_insertion_ordered(False):
        assert cp.tree_leaves({"x": "b", 1: "a"}) == ["a", "b"]
        assert cp.tree_structure({"x": 0, 1: 0}) == cp.tree_structure({1: 0, "x": 0})


def test_numbers_of_different_types_have_a_common_order():
    assert sorted_keys(3, 1.5, True, 2) == [True, 1.5, 2, 3]


def test_enum_members_sort_by_definition():
    assert sorted_keys(Color.GREEN, Color.BLUE, Color.RED) == [Color.RED, Color.BLUE, Color.GREEN]
    assert sorted_keys("x", Color.GREEN, 1, Color.RED) == [1, "x", Color.RED, Color.GREEN]


def test_namedtuple_keys_sort_as_tuples_do():
    assert sorted_keys(Point(2, 1), Point(1, 9), Point(1, 3)) == [Point(1, 3), Point(1, 9), Point(2, 1)]


def test_a_class_with_an_order_of_its_own():
    class Version(NamedTuple):
        text: str

        def __lt__(self, other: Version) -> bool:
            return int(self.text) < int(other.text)

    assert sorted_keys(Version("10"), Version("9")) == [Version("9"), Version("10")]


NAN = float("nan")
ORDERLESS = {
    "nan": ([NAN, 1.0], ["nan", "1.0"]),
    "nan among many": ([3.0, 2.0, NAN, 1.0, 0.0], [".0"]),
    "two frozensets": ([frozenset({1}), frozenset({2})], ["frozenset({1})", "frozenset({2})"]),
    "complex numbers": ([1j, 2j], ["1j", "2j"]),
    "tuples of mixed items": ([(1, "a"), (1, None)], ["(1, 'a')", "(1, None)"]),
    "plain objects and a string": ([object(), object(), "a"], ["object"]),
}


@pytest.mark.parametrize(("keys", "named"), ORDERLESS.values(), ids=ORDERLESS)
@pytest.mark.parametrize("order", [1, -1])
def test_keys_without_an_order_are_an_error_that_names_two_of_them_and_the_path(keys, named, order):
    tree = {"layers": [0, dict.fromkeys(keys[::order], 0)]}
    for function in (cp.tree_flatten, cp.tree_leaves, cp.tree_structure, lambda t: list(cp.tree_iter(t))):
        with cp.dict_insertion_ordered(False), pytest.raises(ValueError, match=r"\['layers'\]\[1\]") as caught:
            function(tree)
        assert isinstance(caught.value, cp.KeyOrderError)
        assert caught.value.path == "['layers'][1]"
        for name in named:
            assert name in str(caught.value)
    with cp.dict_insertion_ordered(False), pytest.raises(cp.KeyOrderError):
        cp.tree_map(str, tree)
    assert cp.tree_leaves(tree) == [0] * (len(keys) + 1)


def test_a_chain_of_frozensets_and_a_lone_key_have_an_order():
    small, large = frozenset({1}), frozenset({1, 2})
    assert sorted_keys(large, small) == [small, large]
    assert sorted_keys(1j) == [1j]
    assert sorted_keys(NAN, "a")[0] is NAN


def test_an_exception_of_a_comparison_comes_through_with_a_note():
    class Angry:
        def __lt__(self, other: object) -> bool:
            raise LookupError("no order today")

    with pytest.raises(LookupError, match="no order today"):
        sorted_keys(Angry(), Angry())


@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt])
def test_an_exception_of_a_class_that_lists_its_members_comes_through(error):
    class Listing:
        def __iter__(self) -> Listing:
            return self

        def __next__(self) -> None:
            raise error("no members today")

    class Meta(enum.EnumMeta):
        def __iter__(cls) -> Listing:
            return Listing()

    class Letter(enum.Enum, metaclass=Meta):
        A = 1
        B = 2

    with pytest.raises(error, match="no members today") as caught:
        sorted_keys(Letter.A, Letter.B)
    assert "comparing the keys of the dict" in notes(caught.value)


def test_members_without_an_end_can_be_interrupted():
    run_python(
        "import enum, itertools, signal\n"
        "import clika_pytree as cp\n"
        "class Meta(enum.EnumMeta):\n"
        "    def __iter__(cls): return itertools.repeat(None)\n"
        "class Letter(enum.Enum, metaclass=Meta):\n"
        "    A = 1\n"
        "    B = 2\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "try:\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0.02)\n"
        "    with cp.dict_insertion_ordered(False): cp.tree_leaves({Letter.A: 1, Letter.B: 2})\n"
        "except KeyboardInterrupt: pass\n"
        "else: raise AssertionError('nobody interrupted')\n",
        timeout=30,
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError])
@pytest.mark.parametrize("at", [1, 2, 5, 9])
def test_an_interrupt_in_a_comparison_passes(at, error):
    class Key:
        compared = 0

        def __init__(self, number: int) -> None:
            self.number = number

        def __lt__(self, other: Key) -> bool:
            Key.compared += 1
            if Key.compared == at:
                raise error("now")
            return self.number < other.number

    tree = {"layers": [0, {Key(i * 7 % 11): i for i in range(11)}]}
    for function in (
        cp.tree_flatten,
        cp.tree_structure,
        lambda t: cp.tree_map(str, t),
        lambda t: list(cp.tree_iter(t)),
    ):
        Key.compared = 0
        with cp.dict_insertion_ordered(False), pytest.raises(error, match="now") as caught:
            function(tree)
        assert type(caught.value) is error
    Key.compared = at
    with cp.dict_insertion_ordered(False):
        assert cp.tree_leaves(tree) == [0, *sorted(range(11), key=lambda i: i * 7 % 11)]


def test_the_dict_itself_is_left_as_it_is():
    tree = {"b": 1, "a": {"d": 2, "c": 3}}
    with cp.dict_insertion_ordered(False):
        cp.tree_map(str, tree)
    assert list(tree) == ["b", "a"]
    assert list(tree["a"]) == ["d", "c"]


# --- who sees a block -------------------------------------------------------------------------------------------------


def test_threads_see_their_own_blocks_only():
    a_inside, b_inside, a_done = threading.Event(), threading.Event(), threading.Event()
    seen: dict[str, list] = {}

    def first() -> None:
        with cp.dict_insertion_ordered(False):
            a_inside.set()
            b_inside.wait(10)
            seen["a"] = read()
        a_done.set()

    def second() -> None:
        a_inside.wait(10)
        seen["b before"] = read()
        with cp.dict_insertion_ordered(False):
            b_inside.set()
            a_done.wait(10)
            seen["b after a left"] = read()
            with cp.dict_insertion_ordered(True):
                seen["b inner"] = read()
        seen["b outside"] = read()

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    a_inside.wait(10)
    seen["main"] = read()
    for thread in threads:
        thread.join()
    assert seen == {
        "a": SORTED,
        "b before": INSERTION,
        "b after a left": SORTED,
        "b inner": INSERTION,
        "b outside": INSERTION,
        "main": INSERTION,
    }
    assert read() == INSERTION


def test_a_thread_started_inside_a_block_is_not_inside_it():
    with cp.dict_insertion_ordered(False), ThreadPoolExecutor(1) as pool:
        assert pool.submit(contextvars.Context().run, read).result() == INSERTION
        assert pool.submit(contextvars.copy_context().run, read).result() == SORTED
        assert read() == SORTED


def test_async_tasks_see_their_own_blocks_only():
    async def worker(mode: bool, expected: list, barrier: list[asyncio.Event], own: int) -> None:
        with cp.dict_insertion_ordered(mode):
            barrier[own].set()
            await barrier[1 - own].wait()
            for _ in range(5):
                assert read() == expected
                await asyncio.sleep(0)
        assert read() == INSERTION

    async def main() -> None:
        barrier = [asyncio.Event(), asyncio.Event()]
        await asyncio.gather(worker(False, SORTED, barrier, 0), worker(True, INSERTION, barrier, 1))
        assert read() == INSERTION

    asyncio.run(main())
    assert read() == INSERTION


def test_to_thread_takes_the_block_along():
    async def main() -> None:
        with cp.dict_insertion_ordered(False):
            assert await asyncio.to_thread(read) == SORTED
        assert await asyncio.to_thread(read) == INSERTION

    asyncio.run(main())


def test_a_child_task_that_outlives_the_block_falls_back():
    async def main() -> None:
        left = asyncio.Event()
        seen = []

        async def child() -> None:
            seen.append(read())
            await left.wait()
            seen.append(read())

        with cp.dict_insertion_ordered(True), cp.dict_insertion_ordered(False):
            task = asyncio.create_task(child())
            await asyncio.sleep(0)
        left.set()
        await task
        assert seen == [SORTED, INSERTION]

    asyncio.run(main())


def test_a_child_that_outlives_the_inner_block_is_still_in_the_outer_one():
    with cp.dict_insertion_ordered(False):
        with cp.dict_insertion_ordered(True):
            inner = contextvars.copy_context()
            assert inner.run(read) == INSERTION
        assert inner.run(read) == SORTED
    assert inner.run(read) == INSERTION


def block(mode: bool) -> Iterator[list]:
    """A generator with a block around its yields: it shares the context of whoever advances it."""
    with cp.dict_insertion_ordered(mode):
        while True:
            yield read()


def test_generators_that_overlap_leave_nothing_behind():
    first, second = block(False), block(True)
    assert next(first) == SORTED
    assert next(second) == INSERTION
    assert next(first) == INSERTION  # the innermost open block is the second one
    first.close()
    assert read() == next(second) == INSERTION
    second.close()
    assert read() == INSERTION


def test_generators_that_overlap_the_other_way_round():
    first, second = block(True), block(False)
    assert next(first) == INSERTION
    assert next(second) == SORTED
    first.close()
    assert read() == SORTED
    second.close()
    assert read() == INSERTION
    with cp.dict_insertion_ordered(False):
        assert read() == SORTED
    assert read() == INSERTION


def test_blocks_closed_from_another_context_are_closed():
    generator = block(False)
    context = contextvars.copy_context()
    assert context.run(next, generator) == SORTED
    assert read() == INSERTION
    generator.close()  # in this context, where the block was never entered
    assert read() == INSERTION
    assert context.run(read) == INSERTION


def test_many_blocks_in_many_threads():
    def work(turn: int) -> bool:
        for step in range(50):
            with cp.dict_insertion_ordered((turn + step) % 2 == 0):
                if read() != (INSERTION if (turn + step) % 2 == 0 else SORTED):
                    return False
            if read() != INSERTION:
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(64)))


def test_arguments():
    with pytest.raises(TypeError):
        cp.dict_insertion_ordered()
    with cp.dict_insertion_ordered(mode=False):
        assert read() == SORTED


@pytest.mark.parametrize("size", [0, 1, 2, 40, (1 << 14) + 1])
@pytest.mark.parametrize("kind", ["text", "wide text", "text and bytes"])
def test_dicts_of_texts_are_sorted_as_python_sorts_them(size, kind):
    keys = [
        f"k{number * 7919 % 104729}" + "\U0001f600é" * (kind == "wide text" and number % 3) for number in range(size)
    ]
    keys = list(dict.fromkeys(keys))
    tree = {key: index for index, key in enumerate(keys)}
    wanted = sorted(keys)
    if kind == "text and bytes" and keys:
        tree[b"last"] = len(keys)
        wanted = [b"last", *wanted]  # by the names of the classes
    with cp.dict_insertion_ordered(False):
        leaves, spec = cp.tree_flatten({"b": tree, "a": 0})
    assert leaves == [0, *(tree[key] for key in wanted)]
    assert list(spec.child(1).entries()) == wanted
    rebuilt = spec.unflatten(leaves)
    assert list(rebuilt) == ["b", "a"]
    assert list(rebuilt["b"].items()) == list(tree.items())
