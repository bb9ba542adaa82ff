"""Programs that ask specs, compare them, build them and write them."""

from __future__ import annotations

import copy
import json
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple

import clika_pytree

from . import EVERYWHERE, either, loaded_again, outcome, outcomes, pickled, program, registered

Point = namedtuple("Point", "x y")
TREE = {"a": [1, (2, None)], "b": 3}
LEAF = {"type": None, "context": None, "children_spec": []}


def structures(pytree, *trees):
    return [pytree.tree_structure(tree) for tree in trees]


# --- asking -----------------------------------------------------------------------------------------------------------


@program([(4, 7, 2), (1, 1, 0), (0, 1, 0)])
def counts_of_a_spec(pytree):
    return [(s.num_leaves, s.num_nodes, s.num_children) for s in structures(pytree, TREE, 1, [])]


@program(([3, 1], 1, True, False, 2, True))
def children_of_a_spec(pytree):
    spec = pytree.tree_structure(TREE)
    first, second = spec.children()
    return (
        [first.num_leaves, second.num_leaves],
        spec.child(-1).num_leaves,
        second.is_leaf(),
        pytree.tree_structure([]).is_leaf(),
        len(first.children()),
        spec.child(0) == first,
    )


@program("IndexError")
def a_child_that_is_not_there(pytree):
    return outcome(pytree.tree_structure([1]).child, 1)


@program(["list", "dict", "OrderedDict", "deque", None])
def the_type_of_a_spec(pytree):
    specs = structures(pytree, [1], {}, OrderedDict(), deque(), 1)
    return [spec.type and spec.type.__name__ for spec in specs]


@program(["Point", None], ["namedtuple", "Point"], row="TreeSpec.type")
def the_type_of_a_namedtuple(pytree):
    spec = pytree.tree_structure(Point(1, 2))
    return [spec.type.__name__, spec.context and spec.context.__name__]


@program([None, None, 3, None])
def contexts_without_keys(pytree):
    return [spec.context for spec in structures(pytree, [1], (1,), deque([1], 3), 1)]


@program([("a",), ("a",), (list, ("a",))], [["a"], ["a"], [list, ["a"]]], row="TreeSpec.context")
def contexts_with_keys(pytree):
    return [spec.context for spec in structures(pytree, {"a": 1}, OrderedDict(a=1), defaultdict(list, a=1))]


@program([["k"], "note"])
def contexts_of_registered_classes(pytree):
    cls = registered(pytree)
    return [spec.context for spec in structures(pytree, cls(note=["k"]), cls(note="note"))]


@program(["a"], ["a", "b"], row="TreeSpec.context")
def a_context_that_changes_later(pytree):
    names = ["a"]
    spec = pytree.tree_structure(registered(pytree)(1, note=names))
    names.append("b")
    return spec.context


@program([{"a": [1, (2, 3)], "b": 4}, "ValueError"])
def a_spec_rebuilds(pytree):
    spec = pytree.tree_structure(TREE)
    return outcomes(spec.unflatten, [(iter(range(1, 5)),), ([1],)])


@program(["TypeError", "TypeError"], [["a", "b"], ["k", "l"]], row="TreeSpec.unflatten")
def a_spec_and_text(pytree):
    return outcomes(pytree.tree_structure([0, 0]).unflatten, [("ab",), ({"k": 1, "l": 2},)])


@program([[[1], {"k": 2}], [{"a": 1}]])
def flatten_up_to_a_spec(pytree):
    return [
        pytree.tree_structure([0, (0,)]).flatten_up_to([[1], ({"k": 2},)]),
        pytree.tree_structure(0).flatten_up_to({"a": 1}),
    ]


@program(["ValueError"] * 5)
def trees_that_do_not_fit_a_spec(pytree):
    pairs = [
        ([0], (1,)),
        ([0], [1, 2]),
        ({"a": 0}, {"b": 1}),
        ([[0]], [1]),
        (registered(pytree)(1), registered(pytree)(1)),
    ]
    return [outcome(pytree.tree_structure(one).flatten_up_to, other) for one, other in pairs]


@program("ValueError", [1, [2]], row="TreeSpec.flatten_up_to")
def a_dict_in_another_order_for_a_spec(pytree):
    return outcome(pytree.tree_structure({"a": 0, "b": 0}).flatten_up_to, {"b": [2], "a": 1})


@program(
    "TreeSpec({'a': [*, (*, *)], 'b': *})",
    "TreeSpec(dict, ['a', 'b'], [TreeSpec(list, None, [*, TreeSpec(tuple, None, [*, *])]), *])",
    row="TreeSpec",
)
def a_spec_prints(pytree):
    return " ".join(repr(pytree.tree_structure(TREE)).split())


@program("{'a': [*, (*, *)], 'b': *}", row="treespec_pprint")
def the_shape_alone(pytree):
    spec = pytree.tree_structure(TREE)
    return pytree.treespec_pprint(spec) if hasattr(pytree, "treespec_pprint") else str(spec)[len("TreeSpec(") : -1]


@program("TypeError", "TreeSpec", row="TreeSpec")
def specs_by_constructor(pytree):
    return outcome(lambda: type(pytree.TreeSpec(list, None, [])).__name__)


# --- comparing --------------------------------------------------------------------------------------------------------


@program([True, False, False, False, False, False])
def equal_structures(pytree):
    pairs = [
        ({"a": [1]}, {"a": [2]}),
        ([1], (1,)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, OrderedDict(a=1)),
        (Point(1, 2), namedtuple("Point2", "x y")(1, 2)),
        (deque([1]), deque([1], 2)),
    ]
    return [pytree.tree_structure(one) == pytree.tree_structure(other) for one, other in pairs]


@program([False, False, False, True, False], [True, True, True, False, True], row=EVERYWHERE)
def structures_that_equal_numbers_tell_apart(pytree):
    cls = registered(pytree)
    nan = float("nan")
    pairs = [({1: 0}, {True: 0}), ({1: 0}, {1.0: 0})]
    pairs += [(cls(note=one), cls(note=other)) for one, other in ((1, True), (nan, float("nan")), (0.0, -0.0))]
    return [pytree.tree_structure(one) == pytree.tree_structure(other) for one, other in pairs]


@program(["one program", 2, True, False])
def specs_are_keys(pytree):
    specs = structures(pytree, {"a": [1]}, {"a": [2]}, {"a": (1,)})
    programs = {specs[0]: "one program"}
    return [programs[specs[1]], len(set(specs)), bool(pytree.tree_structure([])), specs[0] == TREE]


@program([True, True, True])
def specs_are_copied_and_pickled(pytree):
    spec = pytree.tree_structure(TREE)
    return [copied == spec for copied in (copy.copy(spec), copy.deepcopy(spec), pickled(spec))]


@program("AttributeError", "FutureWarning", row="TreeSpec.children_specs")
def children_by_their_old_name(pytree):
    spec = pytree.tree_structure(TREE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return outcome(lambda: spec.children_specs)


@program([True, True, True, True], row="LeafSpec")
def the_spec_of_a_leaf(pytree):
    leaf = pytree.treespec_leaf()
    return [
        leaf == pytree.tree_structure(3),
        leaf.is_leaf(),
        leaf.unflatten([1]) == 1,
        isinstance(leaf, pytree.TreeSpec),
    ]


@program([True, True, True])
def specs_from_those_of_their_children(pytree):
    leaf = pytree.treespec_leaf()
    pair = pytree.treespec_tuple([leaf, leaf])
    return [
        pair == pytree.tree_structure((1, 2)),
        pytree.treespec_tuple() == pytree.tree_structure(()),
        pytree.treespec_dict({"a": leaf}, b=pair) == pytree.tree_structure({"a": 1, "b": (2, 3)}),
    ]


@program(["TypeError", "TypeError"], ["ValueError", "ValueError"], row="treespec_tuple")
def specs_from_what_is_no_spec(pytree):
    return [outcome(pytree.treespec_tuple, [1]), outcome(pytree.treespec_dict, {"a": 1})]


# --- writing ----------------------------------------------------------------------------------------------------------


@program([True] * 6)
def specs_are_written_and_read(pytree):
    trees = (TREE, 1, [], {"k": OrderedDict(b=1)}, deque([1], maxlen=2), defaultdict(list, a=[1]))
    return [loaded_again(pytree, spec) == spec for spec in structures(pytree, *trees)]


@program([True] * 5)
def what_is_written_is_read_here(pytree):
    trees = (TREE, 1, {"k": OrderedDict(b=1)}, deque([1], maxlen=2), {1: 0, None: 0, "a": 0, 2.5: 0})
    texts = [pytree.treespec_dumps(spec) for spec in structures(pytree, *trees)]
    return [
        clika_pytree.treespec_loads(text) == clika_pytree.tree_structure(tree)
        for text, tree in zip(texts, trees, strict=True)
    ]


@program(
    {"version": 1, "none_is_leaf": True, "nodes": [{"list": 2}, "**"]},
    [1, {"type": "builtins.list", "context": "null", "children_spec": [LEAF, LEAF]}],
    row="treespec_dumps",
)
def the_text_of_a_spec(pytree):
    return json.loads(pytree.treespec_dumps(pytree.tree_structure([1, 2])))


@program("TypeError", True, row="treespec_dumps")
def the_protocol_as_an_argument(pytree):
    spec = pytree.tree_structure([1, 2])
    return outcome(lambda: pytree.treespec_dumps(spec, 1) == pytree.treespec_dumps(spec))


@program(
    [{(1, 2): 0}, "ValueError", True], ["TypeError", "AttributeError", "NotImplementedError"], row="treespec_dumps"
)
def what_is_written_differently(pytree):
    """A tuple as a key, a factory without a name to find it by, a namedtuple that nobody registered."""
    tuple_key, factory, named = structures(pytree, {(1, 2): 0}, defaultdict(lambda: 0), Point(1, 2))
    return [
        outcome(lambda: loaded_again(pytree, tuple_key).unflatten([0])),
        outcome(loaded_again, pytree, factory),
        outcome(lambda: loaded_again(pytree, named) == named),
    ]


@program(["ValueError", "ValueError"], ["NotImplementedError", "NotImplementedError"], row="treespec_loads")
def names_that_stand_for_no_class(pytree):
    unknown = json.dumps([1, {**LEAF, "type": "nowhere.Nothing", "context": "null"}])
    unnamed = pytree.tree_structure(registered(pytree)())
    return [outcome(pytree.treespec_loads, unknown), outcome(pytree.treespec_dumps, unnamed)]


@program(["ValueError", "ValueError", "TypeError"])
def what_is_no_text_of_a_spec(pytree):
    return [*outcomes(pytree.treespec_loads, [("no JSON",), ("[9, {}]",)]), outcome(pytree.treespec_dumps, [1])]


@program([True, ["a", "b"]])
def contexts_are_written_by_functions(pytree):
    cls = registered(
        pytree,
        serialized_type_name="programs.Named",
        to_dumpable_context=sorted,
        from_dumpable_context=frozenset,
    )
    spec = pytree.tree_structure(cls(1, note=frozenset("ab")))
    again = loaded_again(pytree, spec)
    return [again == spec, sorted(again.unflatten([2]).note)]


@program(True)
def contexts_are_written_as_they_are(pytree):
    cls = registered(pytree, serialized_type_name="programs.Plain")
    spec = pytree.tree_structure({"k": cls(1, note={"names": ["a", None, 1.5], "n": 2})})
    return loaded_again(pytree, spec) == spec


@program(True, row="DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL")
def the_version_of_the_text(pytree):
    version = either(pytree, "DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL", "SERIALIZATION_PROTOCOL")
    return version == 1


@program(["TypeError", "PyTree[int]"], ["TypeError", "TypeError"], row="PyTree")
def trees_in_annotations(pytree):
    text = outcome(lambda: repr(pytree.PyTree[int]))
    return [outcome(lambda: pytree.PyTree()), text.rpartition(".")[2]]
