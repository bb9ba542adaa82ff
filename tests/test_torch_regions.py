"""Our functions inside a region that `torch.compile` follows, as one graph."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
from guard_table import RUNTIMES, equal
from registering import clean_registry  # noqa: F401

import clika_pytree as crt

torch = pytest.importorskip("torch", reason="`make test-torch` installs PyTorch and runs this")
pytest.importorskip("clika_pytree.runtimes.torch.runtime")

Span = namedtuple("Span", "start stop")


class Box:
    def __init__(self, item, name):
        self.item, self.name = item, name


@dataclasses.dataclass(frozen=True)
class Layer:
    w: object
    b: object = None
    name: str = dataclasses.field(default="", metadata={"static": True})

    def __post_init__(self):
        assert self.name != "never", "a rebuilt one runs no __init__"


@dataclasses.dataclass(frozen=True)
class Config:
    heads: int


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __tree_flatten__(self):
        return (self.a, self.b), None, ("a", "b")

    @classmethod
    def __tree_unflatten__(cls, context, children):
        return cls(*children)


@pytest.fixture(autouse=True)
def registered(clean_registry):  # noqa: F811
    crt.register_pytree_node(Box, lambda box: ([box.item], box.name), lambda children, name: Box(*children, name))
    crt.register_dataclass(Layer)
    crt.register_static(Config)
    crt.register_pytree_node_class(Pair)
    yield
    torch.compiler.reset()


def x(value=1.0):
    return torch.full((2,), float(value))


def trees():
    never = Layer(x(), x(2))
    object.__setattr__(never, "name", "never")
    return {
        "leaf": x(),
        "builtin": {"a": [x(1), (x(2), None, 3)], "b": ()},
        "ordered": OrderedDict(q=x(1), p=x(2)),
        "default": defaultdict(list, k=x(1)),
        "deque": deque([x(1), x(2)]),
        "namedtuple": Span(x(1), [x(2)]),
        "class": Box([x(1), Box(x(2), "inner")], "outer"),
        "dataclass": Layer([x(1)], name="n"),
        "dataclass without init": never,
        "static": [Config(4), x(1)],
        "methods": Pair(x(1), {"k": x(2)}),
    }


def double(leaf):
    return leaf * 2 if isinstance(leaf, torch.Tensor) else leaf


def compiled(function):
    return torch.compile(function, fullgraph=True, backend="eager")


def same(one, other):
    """Whether two trees are alike, down to classes."""
    leaves, spec = crt.tree_flatten(one)
    others, its_spec = crt.tree_flatten(other)
    return spec == its_spec and all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) else (type(a), a) == (type(b), b)
        for a, b in zip(leaves, others, strict=True)
    )


def agree(function, *args):
    """Whether a function gives the same inside a region."""
    return same(compiled(function)(*args), function(*args))


# --- what works -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", trees())
def test_maps_leaves_and_the_pair(kind):
    def function(tree):
        leaves, structure = crt.tree_flatten(tree)
        return {
            "map": crt.tree_map(double, tree),
            "two": crt.tree_map(lambda a, b: a if a is None else a + b, tree, tree),
            "leaves": crt.tree_leaves(tree),
            "iter": [*crt.tree_iter(tree)],
            "methods": structure.unflatten(map(double, leaves)),
            "functions": (crt.tree_unflatten(structure, leaves), crt.tree_unflatten(leaves, structure)),
            "named": crt.tree_unflatten(treespec=structure, leaves=leaves),
            "count": structure.num_leaves,
            "equal": structure == crt.tree_structure(tree),
            "other": structure == crt.tree_structure([tree, tree]),
        }

    assert agree(function, trees()[kind])


def test_reductions():
    def function(tree):
        return {
            "sum": crt.tree_sum(tree),
            "start": crt.tree_sum(tree, 1.0),
            "reduce": (crt.tree_reduce(lambda a, b: a * b, tree), crt.tree_reduce(torch.add, tree, 10)),
            "max": (crt.tree_max({"a": 1, "b": [3, 2]}), crt.tree_max([], default=7)),
            "min": crt.tree_min([3, 1], key=lambda number: -number),
            "all": (crt.tree_all(lambda leaf: leaf.ndim == 1, tree), crt.tree_all([1, [True]])),
            "any": (crt.tree_any(lambda leaf: leaf.ndim == 2, tree), crt.tree_any([0, None])),
            "only": (
                crt.tree_all_only(torch.Tensor, lambda leaf: leaf.ndim == 1, [tree, "x"]),
                crt.tree_any_only(str, str.isupper, [tree, "x"]),
            ),
        }

    assert agree(function, {"a": x(1), "b": [x(2), Span(x(3), x(4))]})


def test_maps_of_some_leaves_and_in_place():
    def function(tree, others):
        crt.tree_map_(lambda leaf: leaf.add_(1), tree)
        return {
            "same": crt.tree_map_(double, tree) is tree,
            "only": crt.tree_map_only(torch.Tensor, double, others),
            "types": crt.tree_map_only((int, str), lambda leaf: leaf * 2, others),
            "picked": crt.tree_map_only(lambda leaf: leaf is None, lambda leaf: 0, others),
            "tree": tree,
        }

    made = lambda: ([x(1), {"k": x(2)}], [x(1), 2, "t", None])  # noqa: E731
    assert same(compiled(function)(*made()), function(*made()))


def test_none_and_is_leaf():
    def function(tree):
        stops = lambda node: type(node) is tuple  # noqa: E731
        return {
            "none": crt.tree_leaves(tree, none_is_leaf=False),
            "mapped": crt.tree_map(double, tree, none_is_leaf=False),
            "sum": crt.tree_sum([x(), None], none_is_leaf=False),
            "stopped": crt.tree_map(lambda leaf: leaf[0] if stops(leaf) else leaf, tree, is_leaf=stops),
            "beside": crt.tree_map(lambda leaf, other: (leaf, other), tree, {"a": "any", "b": None}, is_leaf=stops),
            "root": crt.tree_leaves(tree, is_leaf=lambda node: True),
        }

    assert agree(function, {"a": (x(1), x(2)), "b": None})


def test_namespaces():
    crt.register_pytree_node(
        Box, lambda box: ([box.name], box.item), lambda children, item: Box(item, *children), namespace="n"
    )

    def function(box):
        inside = crt.tree_map(lambda leaf: leaf + "!", box, namespace="n")
        return (
            crt.tree_leaves(box),
            crt.tree_leaves(box, namespace="n"),
            inside,
            crt.tree_leaves(box, namespace=("m", "n")),
        )

    assert agree(function, Box(x(), "name"))


def test_functions_in_python_follow_the_native_ones():
    def function(tree):
        return {
            "partition": crt.tree_partition(lambda leaf: leaf is not None, tree),
            "combine": crt.tree_combine(tree, {"a": None, "b": tree["a"]}),
            "nones": crt.tree_replace_nones(0, tree),
            "leaf": (crt.tree_is_leaf(tree), crt.tree_is_leaf(tree["a"]), crt.all_leaves(tree.values())),
            "arguments": crt.arg_tree_leaves(tree, more=[1]),
            "one": crt.tree_flatten_one_level(tree)[0],
            "registered": (crt.is_registered(Box), crt.is_registered(dict), crt.is_registered(int)),
        }

    assert agree(function, {"a": x(), "b": None})


def test_gradients_and_generated_code():
    def loss(params, batch):
        return crt.tree_sum(crt.tree_map(lambda p, b: (p * b).sum(), params, batch))

    found = []
    for function in (loss, torch.compile(loss, fullgraph=True)):
        params = {"w": torch.ones(2, requires_grad=True), "b": [torch.zeros(2, requires_grad=True)]}
        function(params, {"w": x(3), "b": [x(4)]}).backward()
        found.append(crt.tree_map(lambda leaf: leaf.grad, params))
    assert equal(RUNTIMES["torch"], *found)


# --- when classes are registered otherwise ----------------------------------------------------------------------------


def test_a_class_that_is_registered_otherwise_is_read_otherwise():
    class Late:
        def __init__(self, item):
            self.item = item

    count = compiled(lambda tree: len(crt.tree_leaves(tree)))
    tree = Late([x(), x()])
    assert count(tree) == 1
    crt.register_pytree_node(Late, lambda late: (late.item, None), lambda children, _: Late([*children]))
    assert count(tree) == 2
    crt.unregister_pytree_node(Late)
    assert count(tree) == 1
    crt.register_pytree_node(Late, lambda late: (late.item * 2, None), lambda children, _: Late([*children]))
    assert count(tree) == 4


# --- what does not ----------------------------------------------------------------------------------------------------

SPEC = crt.tree_structure([0, 0])
REFUSED = {
    "tree 2 does not have the structure of the first tree at ['w']: the first has a list of 1, tree 2 has a tuple": (
        lambda x: crt.tree_map(lambda a, b: a, {"w": [x]}, {"w": (x,)})
    ),
    "tree 3 does not have the structure of the first tree at ['w'].stop[0]: the first has a leaf, tree 3 has a list": (
        lambda x: crt.tree_map(lambda a, *b: a, *[{"w": Span(x, [x])}] * 2, {"w": Span(x, [[x]])})
    ),
    "at the root: the first has a dict of 2, tree 2 has a dict of 2 with other keys, in another order": (
        lambda x: crt.tree_map(lambda a, b: a, {"v": x, "w": x}, {"w": x, "v": x})
    ),
    "expected 1 leaves, got 2": lambda x: crt.tree_unflatten(crt.tree_structure([x]), [x, x]),
    "a TreeSpec does not enter a region that PyTorch compiles": lambda x: crt.tree_unflatten(SPEC, [x, x]),
    "tree_map_with_path() does not work inside a region": lambda x: crt.tree_map_with_path(lambda p, leaf: leaf, [x]),
    "tree_paths() does not work inside a region": lambda x: crt.tree_paths([x]),
    "a structure has no paths inside a region": lambda x: crt.tree_structure([x]).paths(),
    "a structure has no broadcast inside a region": lambda x: crt.tree_broadcast_map(torch.add, 1.0, [x, x]),
    "a Partial can't be told from a functools.partial": lambda x: crt.tree_leaves(functools.partial(torch.add, x)),
    "Dynamo does not know how to trace method `unflatten` of class `TreeSpec`": lambda x: SPEC.unflatten([x, x]),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_does_not_work_says_so(words):
    with pytest.raises(torch._dynamo.exc.Unsupported) as caught:
        compiled(REFUSED[words])(x())
    # PyTorch may quote what is in a text.
    assert words in str(caught.value).replace("\\'", "'")


def test_errors_can_be_caught_inside():
    def function(tree):
        try:
            return crt.tree_map(lambda a, b: a, tree, [tree])
        except ValueError:
            return "refused"

    assert compiled(function)(x()) == "refused"


def test_a_structure_is_of_no_use_outside():
    leaves, structure = compiled(lambda tree: crt.tree_flatten(tree))([x()])
    assert same(leaves, [x()])
    with pytest.raises(
        crt.PyTreeTypeError, match="the structure of a tree does not leave a region that PyTorch compiles"
    ):
        structure.unflatten(leaves)
    with pytest.raises(crt.PyTreeTypeError, match="takes a TreeSpec and its leaves, got a Structure and a list"):
        crt.tree_unflatten(structure, leaves)


def test_sorted_dicts_are_refused():
    function = compiled(lambda tree: crt.tree_leaves(tree))
    with crt.dict_insertion_ordered(False), pytest.raises(torch._dynamo.exc.Unsupported, match="does not hold inside"):
        function({"b": x(), "a": x()})
