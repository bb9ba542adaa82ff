"""An exception of user code comes out as it is, wherever the library asks something of an object."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from classes import Tagged
from helpers import notes, registered

import clika_pytree as cp

ERRORS = [LookupError, KeyboardInterrupt, StopIteration, MemoryError]


def asking(name: str, error: type[BaseException]) -> type:
    """A metaclass that raises where this attribute of the class is asked for."""

    class Meta(type):
        def __getattribute__(cls, attribute: str) -> Any:
            if attribute == name:
                raise error("don't ask")
            return type.__getattribute__(cls, attribute)

    return Meta


class Holder:
    def __init__(self, children: Any) -> None:
        self.children = children


@pytest.mark.parametrize("error", ERRORS)
def test_whether_children_can_be_iterated(error):
    class Children(metaclass=asking("__iter__", error)):
        pass

    with registered(Holder, lambda holder: (holder.children, None), lambda children, _: Holder(children)):
        for read in (cp.tree_leaves, cp.tree_structure, cp.tree_structure(Holder([1])).flatten_up_to):
            with pytest.raises(error, match="don't ask") as caught:
                read(Holder(Children()))
            assert "the flatten function of Holder at the root" in notes(caught.value)


@pytest.mark.parametrize("error", ERRORS)
def test_whether_a_class_is_a_namedtuple(error):
    class Odd(tuple, metaclass=asking("_fields", error)):
        __slots__ = ()

    with pytest.raises(error, match="don't ask"):
        cp.tree_leaves([Odd((1, 2))])


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("in_tuple", [False, True])
def test_whether_a_leaf_is_an_instance(error, in_tuple):
    class Meta(type):
        def __instancecheck__(cls, obj: object) -> bool:
            raise error("don't ask")

    class Odd(metaclass=Meta):
        pass

    with pytest.raises(error, match="don't ask"):
        cp.tree_map_only((Odd, int) if in_tuple else Odd, str, ["a"])


def test_a_class_that_refuses_instance_checks_is_no_filter():
    class Meta(type):
        def __instancecheck__(cls, obj: object) -> bool:
            raise TypeError("not for isinstance")

    class Odd(metaclass=Meta):
        pass

    with pytest.raises(cp.PyTreeTypeError, match="expected a class, a tuple of classes, a union or a predicate"):
        cp.tree_map_only(Odd, str, ["a"])


@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt, ValueError])
def test_how_many_leaves_there_are(error):
    class Leaves:
        def __iter__(self) -> Iterator[int]:
            return itertools.count()

        def __len__(self) -> int:
            raise error("don't ask")

    with pytest.raises(error, match="don't ask"):
        cp.tree_structure([0, 0]).unflatten(Leaves())


def test_an_index_whose_text_fails_is_out_of_range_all_the_same():
    class Index:
        def __index__(self) -> int:
            return 5

        def __str__(self) -> str:
            raise LookupError("no text")

    with pytest.raises(IndexError, match="index 5 is out of range: the node has 2 children"):
        cp.tree_structure([0, 0]).child(Index())


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, LookupError])
def test_what_is_none_to_be_caught_in_a_text_that_is_no_error(error):
    """Ctrl-C while a key or a context is written; of another exception the text is left out."""

    class Wordy:
        def __repr__(self) -> str:
            if armed:
                raise error("no words")
            return "Wordy()"

    def texts() -> list[Callable[[], Any]]:
        spec = cp.tree_structure({Wordy(): [0], "context": Tagged([1], 2, Wordy()), "more": {Wordy(): 1}})
        traced = cp.compile(lambda tree: tree)
        return [spec._repr_html_, lambda: traced({Wordy(): [np.zeros(2)]}), lambda: cp.tree_summary({Wordy(): 1})]

    armed = False
    calls = texts()
    armed = True
    for call in calls:
        if error is LookupError:
            call()
            continue
        with pytest.raises(error, match="no words"):
            call()


# --- exceptions that answer nothing -----------------------------------------------------------------------------------


class Hostile(Exception):
    """Raises whatever it is asked."""

    def __str__(self) -> str:
        raise LookupError("no words")

    __repr__ = __str__

    def add_note(self, note: str) -> None:
        raise LookupError("no notes")

    @property
    def __notes__(self) -> list[str]:
        raise LookupError("no notes")


def fail(*args: Any) -> Any:
    raise Hostile


class Strange:
    """A node whose functions are replaced."""


DUMPED = {"serialized_type_name": "tests.Strange", "from_dumpable_context": fail}


@pytest.mark.parametrize(
    "operation",
    [
        lambda: cp.tree_map(fail, {"a": [1]}),
        lambda: cp.tree_map(fail, {"a": [1]}, {"a": [2]}),
        lambda: cp.tree_map_with_path(fail, {"a": [1]}),
        lambda: cp.tree_leaves([1], fail),
        lambda: cp.tree_transpose_map(fail, {"a": [1]}),
        lambda: cp.tree_broadcast_map(fail, [1], [[2, 3]]),
        lambda: cp.tree_reduce(fail, [1, 2]),
        lambda: cp.tree_structure([1]).transform(fail),
        lambda: cp.tree_structure([1]).walk([1], fail),
    ],
)
def test_an_exception_that_takes_no_note_passes_as_it_is(operation):
    with pytest.raises(Hostile):
        operation()


def test_its_attributes_are_asked_for_by_the_same_names_each_time():
    """CPython's cache of look-ups keeps each str that it is asked for: a new one every time would fill it."""
    asked: list[str] = []

    class Asked(Exception):
        def __getattribute__(self, name: str) -> Any:
            asked.append(name)
            return super().__getattribute__(name)

    def fail(leaf: Any) -> Any:
        raise Asked

    for _ in range(3):
        with pytest.raises(Asked):
            cp.tree_map(fail, {"a": [1]})
    assert "__notes__" in asked
    a_third = len(asked) // 3
    assert all(one is other for one, other in zip(asked[a_third:], asked, strict=False))


@pytest.mark.parametrize(
    "call", [cp.tree_map, cp.tree_transpose_map, lambda fn, tree: cp.tree_structure(tree).walk(tree, None, fn)]
)
def test_one_that_passes_through_many_calls_gets_the_first_few_notes(call):
    def inside(depth: int) -> Any:
        if not depth:
            raise KeyError("lost")
        return call(lambda leaf: inside(depth - 1) if leaf else [], [0] * (depth % 3) + [1])

    with pytest.raises(KeyError) as caught:
        inside(40)
    lines = caught.value.__notes__
    assert len(lines) == 8
    assert all(line.startswith("clika_pytree: raised by ") for line in lines)
    assert all(one != other for one, other in itertools.pairwise(lines))


def test_a_recursion_is_told_once():
    class Mirror:
        spec: Any = None

        def __hash__(self) -> int:
            return hash(self.spec)

        def __eq__(self, other: object) -> bool:
            return self is other

    mirror = Mirror()
    mirror.spec = cp.tree_structure([Tagged(1, 2, mirror)])
    with pytest.raises(RecursionError) as caught:
        hash(mirror.spec)
    assert caught.value.__notes__ == ["clika_pytree: raised while the structure at [0] was hashed"]


@pytest.mark.parametrize(
    "operation",
    [
        cp.tree_leaves,
        lambda node: cp.tree_structure([1]).unflatten([node]) and cp.tree_structure([node]),
        lambda node: list(cp.tree_iter(node)),
        cp.check_node,
    ],
)
def test_one_of_a_flatten_function_too(operation):
    with registered(Strange, fail, fail):
        if operation is cp.check_node:
            assert "Hostile" in str(operation(Strange()))
        else:
            with pytest.raises(Hostile):
                operation(Strange())


def test_one_of_the_functions_for_documents_too():
    with registered(Strange, lambda node: ((), 1), fail, to_dumpable_context=fail, **DUMPED):
        for write in (cp.treespec_dumps, cp.TreeSpec.fingerprint):
            with pytest.raises(Hostile):
                write(cp.tree_structure(Strange()))
        assert "Hostile" in str(cp.check_node(Strange()))
    with registered(Strange, lambda node: ((), 1), fail, to_dumpable_context=lambda context: context, **DUMPED):
        text = cp.treespec_dumps(cp.tree_structure(Strange()))
        with pytest.raises(Hostile):
            cp.treespec_loads(text)


def test_one_of_an_equality_is_told_by_its_class():
    class Leaf:
        __eq__ = fail
        __hash__ = None  # type: ignore[assignment]

    assert "(Hostile)" in str(cp.tree_diff([Leaf()], [Leaf()], leaves=True))


# --- Ctrl-C while an error is put in words ----------------------------------------------------------------------------


class Words:
    """A key or context whose repr is interrupted."""

    def __init__(self, value: int, error: type[BaseException]) -> None:
        self.value, self.error = value, error

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        return type(other) is Words and other.value == self.value

    def __repr__(self) -> str:
        raise self.error("in a repr")


def in_key_order(tree: Any) -> None:
    with cp.dict_insertion_ordered(False):
        cp.tree_leaves(tree)


WORDED = {
    "other keys": lambda one, two: cp.tree_map(max, {one: 1}, {two: 1}),
    "another order": lambda one, two: cp.tree_map(max, {one: 1, two: 2}, {two: 1, one: 2}),
    "another context": lambda one, two: cp.tree_map(max, Tagged(1, 2, one), Tagged(1, 2, two)),
    "the path": lambda one, two: cp.tree_map(max, {one: [1]}, {one: (1,)}),
    "no order": lambda one, two: in_key_order({one: 1, "two": 2, two: 1}),
    "two structures": lambda one, two: cp.tree_structure({one: 1}).broadcast(cp.tree_structure({two: 1})),
}


@pytest.mark.parametrize("worded", WORDED.values(), ids=[*WORDED])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_none_to_be_caught_comes_out_of_the_words_of_an_error(worded, error):
    with pytest.raises(cp.PyTreeError):
        worded(Words(1, LookupError), Words(2, LookupError))
    with pytest.raises(error, match="in a repr"):
        worded(Words(1, error), Words(2, error))


def failing(*args: Any) -> Any:
    raise LookupError("the first")


class Failing:
    """A context that can be anything but compared and hashed."""

    __eq__ = __hash__ = failing  # type: ignore[assignment]


class Unordered:
    """A key that has no order."""

    __lt__ = failing


def over(function: Any, tree: Any, flatten: Any = failing) -> None:
    with registered(Strange, flatten, failing):
        function(tree)


NOTED = {
    "map": lambda key: cp.tree_map(failing, {key: [1]}),
    "map over two": lambda key: cp.tree_map(failing, {key: [1]}, {key: [1]}),
    "map by path": lambda key: cp.tree_map_with_path(failing, {key: [1]}),
    "map only": lambda key: cp.tree_map_only(failing, failing, {key: [1]}),
    "is_leaf": lambda key: cp.tree_leaves({key: [1]}, lambda tree: tree == [1] and failing()),
    "is_leaf of a further tree": lambda key: cp.tree_map(
        max, {key: 1}, {key: [1]}, is_leaf=lambda tree: tree == [1] and failing()
    ),
    "flatten": lambda key: over(cp.tree_leaves, {key: [Strange()]}),
    "rebuild": lambda key: over(lambda tree: cp.tree_map(id, tree), {key: [Strange()]}, lambda node: ((), None)),
    "sum": lambda key: cp.tree_sum({key: [1, "x"]}),
    "transform": lambda key: cp.tree_structure({key: [1]}).transform(None, failing),
    "walk": lambda key: cp.tree_structure({key: [1]}).walk([1], None, failing),
    "transpose": lambda key: cp.tree_transpose_map(failing, {key: [1]}),
    "equal": lambda key: (
        cp.tree_structure({key: Tagged(1, 2, Failing())}) == cp.tree_structure({key: Tagged(1, 2, Failing())})
    ),
    "hash": lambda key: hash(cp.tree_structure({key: Tagged(1, 2, Failing())})),
    "key order": lambda key: in_key_order({key: {Unordered(): 1, Unordered(): 2}}),
}


@pytest.mark.parametrize("noted", NOTED.values(), ids=[*NOTED])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_none_to_be_caught_comes_out_of_a_note(noted, error):
    """The exception that it was to be a note of is its context."""
    with pytest.raises(Exception) as first:  # noqa: PT011
        noted(Words(1, LookupError))
    with pytest.raises(error, match="in a repr") as raised:
        noted(Words(1, error))
    assert type(raised.value.__context__) is first.type


def test_a_page_of_a_spec_is_interrupted():
    for tree in ({Words(1, KeyboardInterrupt): 1}, Tagged(1, 2, Words(1, KeyboardInterrupt))):
        with pytest.raises(KeyboardInterrupt):
            cp.tree_structure(tree)._repr_html_()


@pytest.mark.parametrize("error", [*ERRORS, TypeError])
def test_the_keys_of_a_path(error):
    class Path:
        def __iter__(self) -> Iterator[Any]:
            raise error("no keys")

    with pytest.raises(error, match="no keys"):
        cp.keystr(Path())  # type: ignore[arg-type]
