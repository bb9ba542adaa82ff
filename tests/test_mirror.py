"""Classes that other libraries are told of: they are there what they are here."""

from __future__ import annotations

import dataclasses
import gc
import sys
import weakref
from collections import namedtuple
from typing import Any

import pytest
from helpers import run_python
from registering import clean_registry, make_methods_class, make_pair  # noqa: F401
from sharing import Shared, library  # noqa: F401

import clika_pytree as cp
from clika_pytree import pytree
from clika_pytree.other_libraries import imports, libraries, mirroring


def take(pair: Any) -> tuple:
    return (pair.a, pair.b), "context"


def mirrored_pair(names: Any = None, **options: Any) -> Any:
    """A class whose children have these names."""
    cls: Any = make_pair()

    def unflatten(children: tuple, context: str) -> Any:
        assert type(children) is tuple
        assert context == "context"
        return cls(*children)

    pytree.register_pytree_node(cls, lambda pair: (*take(pair), names), unflatten, **options)
    return cls


def check(shared: Shared, tree: Any, expected: list[tuple[str, Any]], namespace: str = "") -> None:
    """A tree has these leaves and paths there, and comes back from there with other leaves."""
    pairs, structure = shared.flatten(tree, namespace=namespace)
    assert pairs == expected
    leaves, spec = cp.tree_flatten(tree, namespace=namespace)
    assert leaves == [leaf for _, leaf in expected]
    others = [f"new {leaf}" for leaf in leaves]
    rebuilt = shared.unflatten(structure, others)
    assert cp.tree_leaves(rebuilt, namespace=namespace) == others
    assert cp.tree_structure(rebuilt, namespace=namespace) == spec
    assert shared.flatten(rebuilt, namespace=namespace)[1] == structure


def test_the_children_have_the_names_that_they_have_here(library: Shared) -> None:  # noqa: F811
    Pair = mirrored_pair(("a", "b"), mirror=library.name)
    check(library, [Pair(1, (2, 3))], [("[0].a", 1), ("[0].b[0]", 2), ("[0].b[1]", 3)])


def test_children_without_names_have_their_place(library: Shared) -> None:  # noqa: F811
    Pair = mirrored_pair(mirror=[library.name])
    place = "[{}]" if library.name == "torch" else "[<flat index {}>]"
    check(library, (Pair(1, 2),), [("[0]" + place.format(0), 1), ("[0]" + place.format(1), 2)])


def test_children_are_any_iterable(library: Shared) -> None:  # noqa: F811
    Pair: Any = make_pair()
    pytree.register_pytree_node(
        Pair,
        lambda pair: (iter((pair.a, pair.b)), None, iter(["a", "b"])),
        lambda children, _: Pair(*children),
        mirror=(library.name,),
    )
    check(library, Pair(1, 2), [(".a", 1), (".b", 2)])


def test_keys_are_the_ones_of_the_library(library: Shared) -> None:  # noqa: F811
    Pair: Any = make_pair()
    keys = [(cp.SequenceKey(7), cp.MappingKey("k")), (cp.GetAttrKey("a"), cp.DataclassKey("b"))]
    pytree.register_pytree_node(
        Pair,
        lambda pair: ((pair.a, pair.b), None),
        lambda children, _: Pair(*children),
        flatten_with_keys_fn=lambda pair: (zip(keys[pair.a == 1], (pair.a, pair.b), strict=True), None),
        mirror=library.name,
    )
    if library.name == "optree":  # one class of entries for all children
        assert [path for path, _ in library.flatten(Pair(1, 2))[0]] == [".a", ".b"]
    else:
        check(library, Pair(1, 2), [(".a", 1), (".b", 2)])
        check(library, Pair(0, 2), [("[7]", 0), ("['k']", 2)])


def test_a_class_with_methods(library: Shared) -> None:  # noqa: F811
    Holder: Any = make_methods_class()
    pytree.register_pytree_node_class(Holder, mirror=library.name)
    pairs, structure = library.flatten(Holder([1, 2], "n"))
    assert pairs == [(".item0", 1), (".item1", 2)]
    assert vars(library.unflatten(structure, [3, 4])) == {"items": [3, 4], "note": "n"}


def test_a_static_class(library: Shared) -> None:  # noqa: F811
    @pytree.register_static(mirror=library.name)
    @dataclasses.dataclass(frozen=True)
    class Config:
        heads: int

    check(library, [Config(2), 1], [("[1]", 1)])
    assert library.flatten(Config(2))[1] == library.flatten(Config(2))[1] != library.flatten(Config(3))[1]
    assert library.unflatten(library.flatten([Config(2), 1])[1], [5]) == [Config(2), 5]


@pytest.mark.parametrize("options", [{}, {"frozen": True}, {"slots": True}, {"frozen": True, "slots": True}])
def test_a_dataclass_is_rebuilt_as_it_is_here(library: Shared, options: dict) -> None:  # noqa: F811
    runs: list[Any] = []

    def __post_init__(self: Any) -> None:
        runs.append(self)

    fields = [
        ("weight", object),
        ("name", str, dataclasses.field(default="", metadata={"static": True})),
        ("bias", object, None),
        ("seen", list, dataclasses.field(default_factory=list)),
        ("count", int, 3),
    ]
    Layer: Any = dataclasses.make_dataclass("Layer", fields, namespace={"__post_init__": __post_init__}, **options)
    pytree.register_dataclass(Layer, ["weight", "bias"], ["name"], drop_fields=["seen", "count"], mirror=library.name)
    layer = Layer(1, "l", 2, [4], 5)
    check(library, {"l": layer}, [("['l'].weight", 1), ("['l'].bias", 2)])
    rebuilt = library.unflatten(library.flatten(layer)[1], [10, 20])
    assert rebuilt == Layer(10, "l", 20, [], 3)
    assert runs[:1] == [layer]
    assert len(runs) == 2  # the one here and the one compared with


def test_a_dataclass_whose_class_is_called(library: Shared) -> None:  # noqa: F811
    @pytree.register_dataclass(rebuild="init", mirror=library.name)
    @dataclasses.dataclass
    class Scaled:
        size: int
        twice: Any = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            self.twice = self.size * 2

    check(library, Scaled(4), [(".size", 4)])
    assert library.unflatten(library.flatten(Scaled(4))[1], [5]).twice == 10


def test_structures_carry_over(library: Shared) -> None:  # noqa: F811
    """What is taken apart in the same way has the same structure, whatever the kind of the class."""
    Pair = mirrored_pair(("a", "b"), mirror=library.name)

    @pytree.register_dataclass(mirror=library.name)
    @dataclasses.dataclass
    class Layer:
        weight: Any
        name: str = dataclasses.field(default="l", metadata={"static": True})
        size: int = dataclasses.field(default=1, metadata={"static": True})

    @pytree.register_static(mirror=library.name)
    @dataclasses.dataclass(frozen=True)
    class Config:
        heads: int

    tree = [Pair(Layer(1, "x", 2), Config(3)), Layer(Pair(1, 2))]
    _, structure = library.flatten(tree)
    spec = cp.tree_structure(tree)
    assert getattr(cp, f"treespec_to_{library.name}")(spec) == structure
    options = {"none_is_leaf": True} if library.name == "jax" else {}
    back = getattr(cp, f"treespec_from_{library.name}")(structure, **options)
    assert len(cp.tree_leaves(back.unflatten([1, 2, 3]))) == 3
    assert getattr(cp, f"treespec_to_{library.name}")(back) == structure
    if library.name == "optree":  # the other structures keep no names of children
        assert back == spec


def test_optree_has_the_class_in_the_same_namespace() -> None:
    optree = pytest.importorskip("optree", reason="optree is not installed")
    Pair = mirrored_pair(("a", "b"), mirror="optree", namespace="tests.mirror")
    assert optree.tree_leaves(Pair(1, 2)) != [1, 2]
    assert optree.tree_leaves(Pair(1, 2), namespace="tests.mirror") == [1, 2]
    tree = [Pair(1, 2)]
    structure = optree.tree_structure(tree, none_is_leaf=True, namespace="tests.mirror")
    assert cp.treespec_to_optree(cp.tree_structure(tree, namespace="tests.mirror")) == structure


def test_a_registered_namedtuple() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    Point: Any = namedtuple("Point", ["x", "y"])
    pytree.register_pytree_node(
        Point, lambda p: ((p.x,), p.y, ("x",)), lambda children, y: Point(*children, y), mirror="jax"
    )
    assert jax.tree.leaves(Point(1, 2)) == [1]
    assert jax.tree.map(str, Point(1, 2)) == Point("1", 2)


def test_jax_transformations_take_the_class() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    Pair = mirrored_pair(("a", "b"), mirror="jax")
    batch = Pair(jax.numpy.arange(3.0), jax.numpy.ones(3))
    total = jax.jit(lambda pair: (pair.a * pair.b).sum())
    assert total(batch) == 3.0
    gradient = jax.grad(total)(batch)
    assert type(gradient) is Pair
    assert gradient.b.tolist() == [0.0, 1.0, 2.0]
    assert jax.vmap(lambda pair: Pair(pair.b, pair.a))(batch).b.tolist() == [0.0, 1.0, 2.0]


def test_pytorch_compiles_functions_of_the_class() -> None:
    """One graph, in which the functions of the registration are traced."""
    torch = pytest.importorskip("torch", reason="torch is not installed: `make test-torch` installs it and runs this")
    import torch.utils._pytree as torch_pytree

    Pair = mirrored_pair(("a", "b"), mirror="torch")

    @pytree.register_dataclass(mirror="torch")
    @dataclasses.dataclass(frozen=True)
    class Layer:
        weight: Any
        name: str = dataclasses.field(default="l", metadata={"static": True})

    def step(tree: Any) -> Any:
        return torch_pytree.tree_map(lambda leaf: leaf * 2, tree)

    tree = [Pair(torch.ones(2), torch.zeros(2)), Layer(torch.ones(1), "x")]
    pair, layer = torch.compile(step, fullgraph=True, backend="eager")(tree)
    assert pair.a.tolist() == [2.0, 2.0]
    assert (layer.weight.tolist(), layer.name) == ([2.0], "x")


def test_pytorch_writes_structures_with_the_class() -> None:
    pytest.importorskip("torch", reason="torch is not installed: `make test-torch` installs it and runs this")
    import torch.utils._pytree as torch_pytree

    @pytree.register_dataclass(mirror="torch", serialized_type_name="tests.mirror.Layer")
    @dataclasses.dataclass(frozen=True)
    class Layer:
        weight: Any
        name: str = dataclasses.field(default="l", metadata={"static": True})

    structure = torch_pytree.tree_structure(Layer(1, "x"))
    assert torch_pytree.treespec_loads(torch_pytree.treespec_dumps(structure)) == structure

    class Other:
        pass

    with pytest.raises(cp.RegistrationError, match="another class has the serialized_type_name"):
        pytree.register_static(Other, mirror="torch", serialized_type_name="tests.mirror.Layer")


# --- what is refused --------------------------------------------------------------------------------------------------


def test_a_class_is_mirrored_once(library: Shared) -> None:  # noqa: F811
    Pair = mirrored_pair(mirror=library.name)
    with pytest.raises(cp.RegistrationError, match=r"mirror\(\) can't mirror .*Pair in \w+: .*already"):
        pytree.mirror(Pair, library.name)  # type: ignore[arg-type]
    check(library, Pair(1, 2), [*library.flatten(Pair(1, 2))[0]])


def test_what_is_registered_there_by_others_is_refused_before_anything_is_changed(library: Shared) -> None:  # noqa: F811
    Pair: Any = make_pair()
    library.register(Pair, take, lambda children, _: Pair(*children))
    others = [name for name in ("jax", "optree", "torch") if name != library.name]
    for names in ([library.name, *others], [*others, library.name]):
        with pytest.raises(cp.RegistrationError, match=r"register_pytree_node\(\) can't mirror .*Pair.*already"):
            pytree.register_pytree_node(Pair, take, lambda children, _: Pair(*children), mirror=names)
        assert not cp.is_registered(Pair)
    pytree.register_pytree_node(Pair, take, lambda children, _: Pair(*children))
    assert cp.is_registered(Pair)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_namespace_is_refused_where_there_is_none(name: Any) -> None:
    with pytest.raises(
        cp.RegistrationError, match="has no namespaces; register it globally, too, or mirror it in optree"
    ):
        mirrored_pair(namespace="tests.mirror", mirror=("optree", name))
    Pair = mirrored_pair(namespace="tests.mirror")
    with pytest.raises(cp.RegistrationError, match="has no namespaces"):
        pytree.mirror(Pair, name, namespace="tests.mirror")
    if "optree" in sys.modules:
        assert sys.modules["optree"].tree_leaves(Pair(1, 2), namespace="tests.mirror") != [1, 2]


@pytest.mark.parametrize(
    ("names", "error", "words"),
    [
        ("numpy", ValueError, r"mirror\(\) knows no library 'numpy'; it can be 'torch', 'jax' or 'optree'"),
        (["jax", "numpy"], ValueError, "knows no library 'numpy'"),
        (("jax", 3), TypeError, "expects the name of a library as a str, got 3"),
        ([["jax"]], TypeError, "expects the name of a library as a str, got a list"),
        (3, TypeError, "expects the name of a library or a list of such names, got 3"),
        (None, TypeError, "expects the name of a library or a list of such names, got None"),
    ],
)
def test_a_name_that_is_none(names: Any, error: type[Exception], words: str) -> None:
    Pair = mirrored_pair()
    with pytest.raises(error, match=words) as caught:
        pytree.mirror(Pair, names)
    assert isinstance(caught.value, cp.PyTreeError)
    with pytest.raises(error, match=words.replace(r"mirror\(\)", r"register_pytree_node\(\)")):
        mirrored_pair(mirror=names)
    assert not mirroring._tasks


def test_a_class_has_to_be_registered_here() -> None:
    Pair = make_pair()
    with pytest.raises(cp.RegistrationError, match=r"registered here globally, got .*Pair; call register_pytree_node"):
        pytree.mirror(Pair, "jax")
    cls = mirrored_pair()
    with pytest.raises(cp.RegistrationError, match=r"registered here in namespace 'tests.mirror', got .*Pair"):
        pytree.mirror(cls, "optree", namespace="tests.mirror")
    with pytest.raises(cp.PyTreeTypeError, match=r"mirror\(\) expects a class, got 3"):
        pytree.mirror(3, "jax")  # type: ignore[arg-type]


def test_pytorch_has_no_registered_namedtuples() -> None:
    Point: Any = namedtuple("Point", ["x", "y"])
    with pytest.raises(cp.RegistrationError, match="PyTorch makes plain namedtuples of all namedtuple classes"):
        pytree.register_static(Point, mirror="torch")
    assert not cp.is_registered(Point)


def test_what_a_library_refuses_takes_the_registration_back(monkeypatch: pytest.MonkeyPatch) -> None:
    optree = pytest.importorskip("optree", reason="optree is not installed")

    def refuse(*args: Any, **options: Any) -> None:
        raise RuntimeError("not today")

    refuse.get = optree.register_pytree_node.get  # type: ignore[attr-defined]
    monkeypatch.setattr(sys.modules["optree.registry"], "register_pytree_node", refuse)
    Pair: Any = make_pair()
    with pytest.raises(RuntimeError, match="not today"):
        pytree.register_static(Pair, mirror="optree", serialized_type_name="tests.mirror.pair")
    assert not cp.is_registered(Pair)
    pytree.register_static(Pair, serialized_type_name="tests.mirror.pair")


# --- unregistering ----------------------------------------------------------------------------------------------------


def test_a_library_keeps_a_class_that_is_unregistered_here(library: Shared) -> None:  # noqa: F811
    Pair = mirrored_pair(("a", "b"), mirror=library.name)
    pairs, structure = library.flatten([Pair(1, 2)])
    cp.unregister_pytree_node(Pair)
    assert library.flatten([Pair(1, 2)]) == (pairs, structure)
    assert library.unflatten(structure, [3, 4])[0].b == 4


def test_a_library_that_is_not_imported_is_not_told_of_a_class_that_is_unregistered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(libraries.LIBRARIES["jax"], "module", "waited_for_in_vain")
    Pair = mirrored_pair(mirror="jax")
    with pytest.raises(cp.RegistrationError, match="it will be told of it when it is imported"):
        pytree.mirror(Pair, "jax")
    assert imports.finder in sys.meta_path
    cp.unregister_pytree_node(Pair)
    assert imports.finder not in sys.meta_path
    gone = weakref.ref(Pair)
    del Pair
    gc.collect()
    assert gone() is None


# --- before the library is imported -----------------------------------------------------------------------------------

BEFORE = """
import dataclasses, sys
import clika_pytree as cp

class Span:
    def __init__(self, start, end):
        self.start, self.end = start, end

def register(**options):
    cp.register_pytree_node(
        Span, lambda s: ((s.start, s.end), None, ("start", "end")), lambda children, _: Span(*children), **options
    )
"""
PATHS = {
    "jax": "import jax\nassert [jax.tree_util.keystr(p) for p, _ in jax.tree.leaves_with_path(Span(1, 2))] == paths\n",
    "optree": "import optree\nassert ['.' + p[0] for p in optree.tree_paths(Span(1, 2))] == paths\n",
    "torch": (
        "import torch.utils._pytree as t\n"
        "assert [t.keystr(p) for p, _ in t.tree_flatten_with_path(Span(1, 2))[0]] == paths\n"
        "import torch.utils._cxx_pytree as c\nassert c.tree_leaves(Span(1, 2)) == [1, 2]\n"
    ),
}


def test_a_class_is_known_whichever_is_imported_first(library: Shared) -> None:  # noqa: F811
    paths = PATHS[library.name]
    top, *_ = paths.partition("\n")
    told = f"paths = ['.start', '.end']\n{paths}"
    gone = "assert not [f for f in sys.meta_path if type(f).__module__.startswith('clika_pytree')]\n"
    waits = f"assert not {{'jax', 'optree', 'torch'}} & set(sys.modules)\nregister(mirror={library.name!r})\n"
    run_python(f"{BEFORE}{waits}{told}{gone}")
    run_python(f"{BEFORE}{top}\nregister()\ncp.mirror(Span, [{library.name!r}])\n{told}{gone}")


def test_all_of_them_wait_at_once() -> None:
    """With and without those that are not installed."""
    pytest.importorskip("optree", reason="optree is not installed")
    run_python(
        f"{BEFORE}register(mirror=('torch', 'jax', 'optree'))\nfinder, *others = sys.meta_path\n"
        "assert type(finder).__module__ == 'clika_pytree.other_libraries.imports'\n"
        "import optree, json.tool\nassert optree.tree_leaves(Span(1, 2)) == [1, 2]\n"
        "assert sys.meta_path == [finder, *others]\n"
        "cp.unregister_pytree_node(Span)\nassert sys.meta_path == others\n"
    )


def test_threads_that_import_the_library_at_once() -> None:
    pytest.importorskip("optree", reason="optree is not installed")
    run_python(
        f"{BEFORE}import threading\nregister(mirror='optree')\nstart = threading.Barrier(8)\nfound = []\n"
        "def work():\n    start.wait()\n    import optree\n    found.append(optree.tree_leaves(Span(1, 2)))\n"
        "threads = [threading.Thread(target=work) for _ in range(8)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()\nassert found == [[1, 2]] * 8, found\n"
    )


def test_an_import_that_fails_and_then_does_not() -> None:
    pytest.importorskip("optree", reason="optree is not installed")
    run_python(
        f"{BEFORE}register(mirror='optree')\nsys.modules['optree._C'] = None\n"
        "try:\n    import optree\nexcept ImportError:\n    pass\nelse:\n    raise AssertionError('it imports')\n"
        "del sys.modules['optree._C']\nimport optree\nassert optree.tree_leaves(Span(1, 2)) == [1, 2]\n"
    )


@pytest.mark.parametrize("filter", ["error", "always"])
def test_a_library_that_refuses_when_it_is_imported_is_imported_all_the_same(filter: str) -> None:
    pytest.importorskip("optree", reason="optree is not installed")
    done = run_python(
        f"{BEFORE}import warnings\nfrom clika_pytree.other_libraries import optree as told\nregister(mirror='optree')\n"
        f"warnings.simplefilter({filter!r})\ntold.GLOBAL = 'no such name'\n"
        "import optree\nassert optree.tree_leaves(Span(1, 2)) != [1, 2]\n"
    )
    assert "RuntimeWarning: mirror() could not tell optree of Span: " in done.stderr
