"""Classes that another library registers: they are nodes here as long as it is adopted."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import sys
import threading
import weakref
from collections import namedtuple
from importlib import import_module
from typing import Any

import pytest
from helpers import run_python
from registering import clean_registry, make_pair  # noqa: F401
from sharing import Shared, library  # noqa: F401

import clika_pytree as cp
from clika_pytree import pytree
from clika_pytree.other_libraries import adoption, imports, libraries


@pytest.fixture(autouse=True)
def nothing_stays_adopted() -> Any:
    yield
    assert adoption._sources == ()


def take(pair: Any) -> tuple:
    return (pair.a, pair.b), "context"


def their_pair(shared: Shared, names: Any = None, **options: Any) -> Any:
    """A class that the library has."""
    cls: Any = make_pair()

    def put(children: Any, context: str) -> Any:
        assert context == "context"
        return cls(*children)

    shared.register(cls, take, put, names, **options)
    return cls


def test_a_class_is_a_node_for_as_long_as_its_library_is_adopted(library: Shared) -> None:  # noqa: F811
    Pair = their_pair(library)
    tree = [Pair(1, {"k": 2}), 3]
    assert len(cp.tree_leaves(tree)) == 2
    adopted = pytree.adopt(library.name)  # type: ignore[arg-type]
    leaves, spec = cp.tree_flatten(tree)
    assert leaves == [1, 2, 3]
    assert spec.context is None
    assert spec.child(0).context == "context"
    assert cp.is_registered(Pair)
    rebuilt = spec.unflatten([10, 20, 30])
    assert (type(rebuilt[0]), rebuilt[0].b) == (Pair, {"k": 20})
    assert cp.tree_structure(rebuilt) == spec
    assert cp.tree_map(str, tree)[0] == Pair("1", {"k": "2"})
    adopted.end()
    assert len(cp.tree_leaves(tree)) == 2
    assert not cp.is_registered(Pair)
    assert spec.unflatten([10, 20, 30]) == rebuilt
    adopted.end()


def test_children_are_named_as_they_are_there(library: Shared) -> None:  # noqa: F811
    Named, Unnamed = their_pair(library, ("a", "b")), their_pair(library)
    tree = {"n": Named(1, 2), "u": Unnamed(3, 4)}
    with pytree.adopt(library.name):  # type: ignore[arg-type]
        paths = [cp.keystr(path) for path, _ in cp.tree_leaves_with_path(tree)]
        assert paths[:2] == ["['n'].a", "['n'].b"]
        if library.name != "optree":  # which calls an entry of such a class a flat index
            assert paths[:2] == [path for path, _ in library.flatten({"n": tree["n"]})[0]]
        assert paths[2:] == ["['u'][<flat index 0>]", "['u'][<flat index 1>]"]
        assert cp.tree_paths(tree)[0] == ("n", "a")
        assert cp.key_get(tree, cp.parse_keystr(paths[1])) == 2


def test_a_class_that_was_seen_as_a_leaf_before(library: Shared) -> None:  # noqa: F811
    """It is registered after the adoption, and after its instances were leaves."""
    with pytree.adopt(library.name):  # type: ignore[arg-type]
        Pair: Any = make_pair()
        Other = make_pair()
        assert len(cp.tree_leaves([Pair(1, 2), Other(1, 2)])) == 2
        library.register(Pair, take, lambda children, _: Pair(*children))
        assert cp.tree_leaves([Pair(1, 2)]) == [1, 2]
        assert len(cp.tree_leaves([Pair(1, 2), Other(1, 2)])) == 3


def test_a_registration_here_wins(library: Shared) -> None:  # noqa: F811
    Pair = their_pair(library, ("a", "b"))
    with pytree.adopt(library.name):  # type: ignore[arg-type]
        assert cp.tree_leaves(Pair(1, 2)) == [1, 2]
        pytree.register_pytree_node(Pair, lambda pair: ((pair.a,), pair.b), lambda children, b: Pair(*children, b))
        assert cp.tree_leaves(Pair(1, 2)) == [1]
        cp.unregister_pytree_node(Pair)
        assert cp.tree_leaves(Pair(1, 2)) == [1, 2]
        with pytest.raises(cp.RegistrationError, match=r"but with a library that was adopted: end\(\) of what adopt"):
            cp.unregister_pytree_node(Pair)


def test_built_in_containers_are_read_as_ever(library: Shared) -> None:  # noqa: F811
    Point: Any = namedtuple("Point", ["x", "y"])
    tree = {"b": [1, (2, None)], "a": Point(3, 4)}
    spec = cp.tree_structure(tree)
    with pytree.adopt(library.name):  # type: ignore[arg-type]
        assert cp.tree_leaves(tree) == [1, 2, None, 3, 4]
        assert cp.tree_structure(tree) == spec
        assert cp.tree_paths(tree)[-1] == ("a", "y")


def test_in_a_namespace(library: Shared) -> None:  # noqa: F811
    options = {"namespace": "tests.adopt"} if library.name == "optree" else {}
    Pair = their_pair(library, **options)
    with pytree.adopt(library.name, namespace="tests.adopt"):  # type: ignore[arg-type]
        assert len(cp.tree_leaves(Pair(1, 2))) == 1
        assert cp.tree_leaves(Pair(1, 2), namespace="tests.adopt") == [1, 2]
        assert cp.tree_leaves(Pair(1, 2), namespace=("tests.other", "tests.adopt")) == [1, 2]
        spec = cp.tree_structure(Pair(1, 2), namespace="tests.adopt")
        assert spec.namespace == "tests.adopt"
        # Ours in a namespace that is searched first, and ours in one that is searched later.
        pytree.register_static(Pair, namespace="tests.other")
        assert cp.tree_leaves(Pair(1, 2), namespace=("tests.other", "tests.adopt")) == []
        pytree.register_static(Pair)
        assert cp.tree_leaves(Pair(1, 2), namespace="tests.adopt") == [1, 2]


def test_namespaces_of_optree_are_apart() -> None:
    shared = libraries.LIBRARIES["optree"]
    pytest.importorskip("optree", reason="optree is not installed")
    registry: Any = import_module(shared.module)
    Pair: Any = make_pair()
    registry.register_pytree_node(
        Pair, lambda pair: ((pair.a,), pair.b), lambda context, children: context, namespace="tests.theirs"
    )
    with pytree.adopt("optree"), pytree.adopt("optree", namespace="tests.theirs"):
        assert len(cp.tree_leaves(Pair([1], 2))) == 1
        assert cp.tree_leaves(Pair([1, 2], 3), namespace="tests.theirs") == [1, 2]
        registry.unregister_pytree_node(Pair, namespace="tests.theirs")
        assert len(cp.tree_leaves(Pair([1, 2], 3), namespace="tests.theirs")) == 1


def test_a_class_that_optree_has_no_longer_is_not_held() -> None:
    optree = pytest.importorskip("optree", reason="optree is not installed")
    Pair: Any = make_pair()
    optree.register_pytree_node(
        Pair, lambda pair: ((pair.a,), pair.b), lambda context, children: context, namespace="tests.gone"
    )
    with pytree.adopt("optree", namespace="tests.gone"):
        assert cp.tree_leaves([Pair(1, 2)], namespace="tests.gone") == [1]
        optree.unregister_pytree_node(Pair, namespace="tests.gone")
        gone = weakref.ref(Pair)
        del Pair
        assert len(cp.tree_leaves([make_pair()(1, 2)], namespace="tests.gone")) == 1
        gc.collect()
        assert gone() is None


def test_a_class_that_can_be_in_no_dict_is_a_leaf(library: Shared) -> None:  # noqa: F811
    class Meta(type):
        def __eq__(cls, other: object) -> bool:
            raise AssertionError("nobody asks")

        __hash__ = None  # type: ignore[assignment]

    class Odd(metaclass=Meta):
        pass

    odd = Odd()
    with pytree.adopt(library.name):  # type: ignore[arg-type]
        (leaf,) = cp.tree_leaves([odd])
        assert leaf is odd


def test_entries_of_optree() -> None:
    optree = pytest.importorskip("optree", reason="optree is not installed")
    kinds = {
        optree.MappingEntry: "['a']",
        optree.GetAttrEntry: ".a",
        optree.AutoEntry: ".a",
    }
    for kind, expected in kinds.items():
        Pair: Any = make_pair()
        optree.register_pytree_node(
            Pair, lambda p: ((p.a,), None, ("a",)), lambda _, c: c, path_entry_type=kind, namespace="tests.entries"
        )
        with pytree.adopt("optree", namespace="tests.entries"):
            ((path, _),) = cp.tree_leaves_with_path(Pair(1, 2), namespace="tests.entries")
            assert cp.keystr(path) == expected

    class Items(list):
        pass

    optree.register_pytree_node(Items, lambda items: (items, None), lambda _, c: Items(c), namespace="tests.entries")
    with pytree.adopt("optree", namespace="tests.entries"):
        assert cp.tree_paths(Items([5, 6]), namespace="tests.entries") == [(0,), (1,)]


def test_the_first_of_two_libraries_wins() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    pytest.importorskip("optree", reason="optree is not installed")
    from sharing import register_jax, register_optree

    Pair: Any = make_pair()
    register_jax(Pair, lambda pair: ((pair.a,), pair.b), lambda children, b: Pair(*children, b))
    register_optree(Pair, lambda pair: ((pair.b,), pair.a), lambda children, a: Pair(a, *children))
    with pytree.adopt("optree") as optree:
        with pytree.adopt("jax"):
            assert cp.tree_leaves(Pair(1, 2)) == [2]
            optree.end()
            assert cp.tree_leaves(Pair(1, 2)) == [1]
        assert len(cp.tree_leaves([Pair(1, 2)])) == 1


def test_a_library_that_is_adopted_twice_stays_until_the_last_end(library: Shared) -> None:  # noqa: F811
    Pair = their_pair(library)
    first, second = pytree.adopt(library.name), pytree.adopt(library.name)  # type: ignore[arg-type]
    spec = cp.tree_structure(Pair(1, 2))
    first.end()
    first.end()
    assert cp.tree_structure(Pair(1, 2)) == spec
    assert repr(first) == f"Adoption({library.name!r}, namespace='', ended)"
    assert repr(second) == f"Adoption({library.name!r}, namespace='')"
    second.end()
    assert cp.tree_structure(Pair(1, 2)) != spec


def test_structures_go_there_and_back(library: Shared) -> None:  # noqa: F811
    Pair = their_pair(library, ("a", "b"))
    with pytree.adopt(library.name):  # type: ignore[arg-type]
        tree = [Pair(1, (2, 3))]
        structure = library.flatten(tree)[1]
        assert getattr(cp, f"treespec_to_{library.name}")(cp.tree_structure(tree)) == structure
        options = {"none_is_leaf": True} if library.name == "jax" else {}
        back = getattr(cp, f"treespec_from_{library.name}")(structure, **options)
        assert back.unflatten([4, 5, 6]) == [Pair(4, (5, 6))]


def test_a_structure_is_pickled(library: Shared) -> None:  # noqa: F811
    class Local:
        pass

    Pair = their_pair(library)
    Pair.__qualname__ = "TheirPair"
    globals()["TheirPair"] = Pair
    Pair.__module__ = __name__
    try:
        with pytree.adopt(library.name):  # type: ignore[arg-type]
            spec = cp.tree_structure(Pair(1, 2))
            assert pickle.loads(pickle.dumps(spec)) == spec
            text = pickle.dumps(spec)
        with pytest.raises(ValueError, match="not registered"):
            pickle.loads(text)
    finally:
        del globals()["TheirPair"]


def test_guards_know_the_class(library: Shared) -> None:  # noqa: F811
    np = pytest.importorskip("numpy", reason="numpy is not installed")
    Pair: Any = make_pair()

    @cp.compile
    def step(pair: Any) -> Any:
        return pair.a + pair.b

    with pytree.adopt(library.name):  # type: ignore[arg-type]
        with pytest.raises(cp.UnregisteredNodeError, match="Pair"):
            step(Pair(np.ones(2), np.ones(2)))
        library.register(Pair, take, lambda children, _: Pair(*children))
        assert step(Pair(np.ones(2), np.ones(2))).tolist() == [2.0, 2.0]
        their_pair(library)  # another class changes nothing for this one
        assert step(Pair(np.zeros(2), np.ones(2))).tolist() == [1.0, 1.0]
        assert step.cache_info().misses - step.cache_info().currsize <= 1
        assert step.cache_info().currsize == 1


def test_dataclasses_and_static_classes_of_jax() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        weight: Any
        name: str = dataclasses.field(default="l", metadata={"static": True})

    @jax.tree_util.register_static
    @dataclasses.dataclass(frozen=True)
    class Config:
        heads: int

    with pytree.adopt("jax"):
        tree = [Layer(1, "x"), Config(2), jax.tree_util.Partial(max, 3)]
        leaves, spec = cp.tree_flatten(tree)
        assert leaves == [1, 3]
        assert cp.keystr(cp.tree_leaves_with_path(tree)[0][0]) == "[0].weight"
        layer, config, call = spec.unflatten([5, 6])
        assert (layer, config, call(4)) == (Layer(5, "x"), Config(2), 6)
        assert cp.tree_structure(Layer(1, "y")) != cp.tree_structure(Layer(1, "x"))
        assert cp.treespec_to_jax(spec) == jax.tree.structure(tree)
        assert cp.treespec_from_jax(jax.tree.structure(tree), none_is_leaf=True) == spec


def test_modules_of_equinox_and_states_of_optax() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    equinox = pytest.importorskip("equinox", reason="equinox is not installed")
    optax = pytest.importorskip("optax", reason="optax is not installed")
    model = equinox.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
    state = optax.adam(1e-3).init(equinox.filter(model, equinox.is_array))
    with pytree.adopt("jax"):
        for tree in (model, state):
            leaves, spec = cp.tree_flatten(tree, none_is_leaf=False)
            theirs, structure = jax.tree.flatten(tree)
            assert all(x is y for x, y in zip(leaves, theirs, strict=True))
            assert jax.tree.structure(spec.unflatten(leaves)) == structure
            paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(tree)]
            assert [cp.keystr(path) for path in spec.key_paths()] == paths


# --- when it is imported ----------------------------------------------------------------------------------------------


def test_whichever_is_imported_first(library: Shared) -> None:  # noqa: F811
    program = (
        "import sys\nimport clika_pytree as cp\nfrom sharing import SHARED\n"
        f"name = {library.name!r}\nclass Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n"
        "def check():\n"
        "    assert len(cp.tree_leaves(Pair(1, 2))) == 1\n"
        "    register = SHARED[name].register\n"
        "    register(Pair, lambda p: ((p.a, p.b), None), lambda children, _: Pair(*children))\n"
        "    assert cp.tree_leaves(Pair(1, 2)) == [1, 2]\n"
        "    assert not [f for f in sys.meta_path if type(f).__module__.startswith('clika_pytree')]\n"
    )
    first = "adopted = cp.adopt(name)\nassert not {'jax', 'optree', 'torch'} & set(sys.modules)\n"
    last = "adopted.end()\nassert len(cp.tree_leaves(Pair(1, 2))) == 1\n"
    run_python(f"{program}{first}check()\n{last}")
    run_python(f"import {library.needs}\n{program}adopted = cp.adopt(name)\ncheck()\n{last}")


def test_an_adoption_that_ends_before_its_library_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries.LIBRARIES["jax"], "module", "waited_for_in_vain")
    adopted = pytree.adopt("jax")
    assert imports.finder in sys.meta_path
    assert len(cp.tree_leaves(make_pair()(1, 2))) == 1
    adopted.end()
    assert imports.finder not in sys.meta_path


@pytest.mark.usefixtures("taking_turns")
def test_threads_that_adopt_and_register_at_once(library: Shared) -> None:  # noqa: F811
    failures: list[BaseException] = []
    start = threading.Barrier(6)

    def work() -> None:
        try:
            start.wait()
            for _ in range(10):
                with pytree.adopt(library.name):  # type: ignore[arg-type]
                    Pair = their_pair(library)
                    assert cp.tree_leaves([Pair(1, 2)] * 3) == [1, 2] * 3
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "error", "words"),
    [
        ("numpy", {}, ValueError, r"adopt\(\) knows no library 'numpy'; it can be 'torch', 'jax' or 'optree'"),
        (3, {}, TypeError, "expects the name of a library as a str, got 3"),
        (("jax",), {}, TypeError, "expects the name of a library as a str, got a tuple"),
        ("jax", {"namespace": None}, TypeError, "expects a str as namespace .* got None"),
        ("jax", {"namespace": ("a", "b")}, TypeError, "expects one namespace, got a tuple"),
    ],
)
def test_wrong_arguments(name: Any, options: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        pytree.adopt(name, **options)
    assert isinstance(caught.value, cp.PyTreeError)


def test_a_release_that_keeps_its_classes_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optree", reason="optree is not installed")
    monkeypatch.delattr(sys.modules["optree.registry"], "_NODETYPE_REGISTRY")
    with pytest.raises(cp.RegistrationError, match=r"adopt\(\) can't see which classes this release of optree has"):
        pytree.adopt("optree")


def test_an_error_of_the_library_is_that_of_the_call(library: Shared) -> None:  # noqa: F811
    Pair: Any = make_pair()

    def fail(pair: Any) -> Any:
        raise KeyError("not today")

    library.register(Pair, fail, lambda children, _: Pair(*children))
    with pytree.adopt(library.name), pytest.raises(KeyError, match="not today") as caught:  # type: ignore[arg-type]
        cp.tree_leaves({"p": Pair(1, 2)})
    if sys.version_info >= (3, 11):
        assert any("['p']" in note for note in caught.value.__notes__)
