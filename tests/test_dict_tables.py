"""Dicts in every state their table can be in: what is read in place must be what iterating gives."""

import collections
import gc
import weakref

import pytest

import clika_pytree as cp


class Thing:
    def __init__(self, a, b):
        self.a, self.b = a, b


def removed(count, *gone):
    table = {f"k{i}": i for i in range(count)}
    for i in gone:
        del table[f"k{i}"]
    return table


def emptied():
    table = {i: i for i in range(20)}
    table.clear()
    return table


def put_back():
    table = removed(12, 0, 5, 11)
    table["k5"] = "again"
    return table


def of_attributes_with_another():
    thing = Thing(1, [2])
    vars(thing)[3] = "no name"
    return vars(thing)


TABLES = {
    "empty": dict,
    "emptied": emptied,
    "one": lambda: {"a": 1},
    "first removed": lambda: removed(8, 0),
    "last removed": lambda: removed(8, 7),
    "every second removed": lambda: removed(30, *range(0, 30, 2)),
    "all but one removed": lambda: removed(8, *range(7)),
    "put back": put_back,
    "ints": lambda: {i: -i for i in range(40)},
    "ints, some removed": lambda: {i: i for i in range(40) if i % 3},
    "strs, then an int": lambda: {"a": 1, "b": 2, 3: 4},
    "merged": lambda: {"a": 0} | {(1, 2): 1, None: 2},
    "a table of two-byte indices": lambda: {f"k{i}": i for i in range(1000)},
    "a table of four-byte indices": lambda: {i: i for i in range(70_000)},
    "attributes": lambda: vars(Thing(1, [2, 3])),
    "attributes and another key": of_attributes_with_another,
    "long and wide texts": lambda: {"k" * 300: 1, "ключ": 2, "🗝": 3, "\udc80": 4},
    "copied": lambda: removed(9, 2).copy(),
    "from keys": lambda: dict.fromkeys("abc", ()),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_a_dict_is_read_as_it_iterates(make):
    table = make()
    leaves, spec = cp.tree_flatten({"inner": table, "after": [table, 0]})
    plain, _ = cp.tree_flatten([list(table.values()), [list(table.values()), 0]])
    assert leaves == plain
    assert spec.child(0).entries() == list(table)
    assert cp.tree_leaves([table]) == cp.tree_leaves(list(table.values()))
    assert cp.tree_structure(table) == cp.tree_structure(dict(table.items()))
    assert cp.tree_structure(table).flatten_up_to(table) == leaves[: cp.tree_structure(table).num_leaves]
    assert cp.tree_map(lambda a, b: (a, b), table, dict(table)) == cp.tree_map(lambda a: (a, a), table)


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_rebuilding_again_and_again_gives_new_dicts_of_equal_content(make):
    table = dict(make())
    leaves, spec = cp.tree_flatten([table, table])
    rebuilt = [spec.unflatten(leaves) for _ in range(4)]
    for tree in rebuilt:
        assert tree == [table, table]
        assert [list(part) for part in tree] == [list(table)] * 2
    made = [part for tree in rebuilt for part in tree]
    assert len({id(part) for part in made}) == len(made)
    made[0]["more"] = 1
    assert spec.unflatten(leaves) == [table, table]


def test_a_rebuilt_dict_is_the_collectors_where_a_filled_one_would_be():
    leaves, spec = cp.tree_flatten({"a": 1, "b": 2})
    for values in (leaves, [[], 2], ["x", collections.Counter()]):
        for _ in range(3):
            made = spec.unflatten(values)
            filled = dict(zip("ab", values, strict=True))
            assert gc.is_tracked(made) == gc.is_tracked(filled)


def test_a_circle_through_a_rebuilt_dict_is_collected():
    class Held: ...

    freed = []
    spec = cp.tree_structure({"me": 0, "b": 0})
    for _ in range(3):
        held = Held()
        held.tree = spec.unflatten([held, 1])
        weakref.finalize(held, freed.append, 1)
        del held
    gc.collect()
    assert freed == [1, 1, 1]
