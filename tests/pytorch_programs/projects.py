"""Programs in the way of projects that build on PyTorch's trees. The classes are stand-ins, written for these tests."""

from __future__ import annotations

import contextlib
import functools
from collections import OrderedDict, namedtuple

from . import either, new_class, outcome, program, registered, written_paths


def model_output(pytree, **options):
    """A base class in the way of transformers and diffusers: subclasses register themselves, None fields are absent."""

    class ModelOutput(OrderedDict):
        def __init_subclass__(cls):
            pytree.register_pytree_node(
                cls,
                lambda output: (list(output.values()), list(output.keys())),
                functools.partial(ModelOutput.rebuilt, output_type=cls),
                serialized_type_name=f"programs.{cls.__name__}",
                **options,
            )

        def __init__(self, **fields):
            super().__init__((name, value) for name, value in fields.items() if value is not None)

        @staticmethod
        def rebuilt(values, names, output_type=None):
            return output_type(**dict(zip(names, values, strict=True)))

    return ModelOutput


@program(([1, [2, 3]], {"logits": 10, "states": (20, 30)}, ["logits", "states"]))
def outputs_of_a_model(pytree):
    class CausalOutput(model_output(pytree)):
        pass

    output = CausalOutput(loss=None, logits=1, states=(2, 3))
    leaves, spec = pytree.tree_flatten(output)
    mapped = pytree.tree_map(lambda leaf: 10 * leaf, output)
    return [leaves[0], leaves[1:]], dict(mapped), list(spec.context)


@program([True, False])
def outputs_of_two_steps(pytree):
    class StepOutput(model_output(pytree)):
        pass

    spec = pytree.tree_structure(StepOutput(logits=1, cache=2))
    return [
        spec == pytree.tree_structure(StepOutput(logits=3, cache=4)),
        spec == pytree.tree_structure(StepOutput(logits=3)),
    ]


@program(True)
def outputs_are_written(pytree):
    class WrittenOutput(model_output(pytree)):
        pass

    spec = pytree.tree_structure((WrittenOutput(logits=1, cache=[2]), {}))
    return pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


@program(["[<flat index 0>]", "[<flat index 1>]"], "ValueError", row="tree_leaves_with_path")
def paths_into_outputs(pytree):
    """These classes are registered without `flatten_with_keys_fn`."""

    class UnnamedOutput(model_output(pytree)):
        pass

    return outcome(written_paths, pytree, UnnamedOutput(logits=1, cache=2))


def tensor_dict(pytree):
    """A class in the way of tensordict: the context is a dict of facts."""

    class TensorDict:
        def __init__(self, source, batch_size=(), device=None):
            self.source, self.batch_size, self.device = dict(source), tuple(batch_size), device

        def facts(self):
            return {"keys": list(self.source), "batch_size": self.batch_size, "device": self.device, "names": None}

        @classmethod
        def rebuilt(cls, values, facts):
            return cls(zip(facts["keys"], values, strict=True), facts["batch_size"], facts["device"])

    pytree.register_pytree_node(
        TensorDict,
        lambda td: (list(td.source.values()), td.facts()),
        TensorDict.rebuilt,
        flatten_with_keys_fn=lambda td: ([(pytree.MappingKey(k), v) for k, v in td.source.items()], td.facts()),
    )
    return TensorDict


@program(({"a": 2, "b": 4}, (3,), ["['a']", "['b']['c']"]))
def a_tensor_dict_is_mapped(pytree):
    td = tensor_dict(pytree)
    mapped = pytree.tree_map(lambda leaf: 2 * leaf, td({"a": 1, "b": 2}, [3]))
    return mapped.source, mapped.batch_size, written_paths(pytree, td({"a": 1, "b": td({"c": 2})}))


@program([True, False, False, False])
def tensor_dicts_compare_by_their_facts(pytree):
    td = tensor_dict(pytree)
    others = (td({"a": 2}, [3]), td({"a": 2}, [4]), td({"b": 2}, [3]), td({"a": 2}, [3], "cuda"))
    spec = pytree.tree_structure(td({"a": 1}, [3]))
    return [spec == pytree.tree_structure(other) for other in others]


@program("ValueError")
def a_stack_of_tensor_dicts_that_differ(pytree):
    td = tensor_dict(pytree)
    return outcome(pytree.tree_map, max, td({"a": 1}, [3]), td({"a": 1}, [4]))


@program(([1, 2], 1, True))
def a_jagged_tensor_registers_twice(pytree):
    """In the way of torchrec: once for trees, once in a second registry, from a module that may be loaded twice."""
    cls, second = new_class(), {}

    def register():
        with contextlib.suppress(ValueError):
            pytree.register_pytree_node(cls, cls.flat, cls.built, serialized_type_name="programs.Jagged")
        second[cls] = lambda node, spec: spec.flatten_up_to(node)

    register()
    register()
    jagged = cls(1, 2, note=["f1", "f2"])
    spec = pytree.tree_structure(jagged)
    return second[cls](jagged, spec), len(second), spec == pytree.tree_structure(cls(3, 4, note=["f1", "f2"]))


@program([{"a": "loader 1", "b": ["loader [2]", "loader [3]"]}, 3])
def containers_of_primitives_are_loaders(pytree):
    """In the way of Lightning's combined loader: what holds only numbers counts as one leaf."""

    def is_loader(node):
        return isinstance(node, list) and all(isinstance(item, int) for item in node)

    loaders = {"a": 1, "b": [[2], [3]]}
    leaves, spec = pytree.tree_flatten(loaders, is_leaf=is_loader)
    return [pytree.tree_unflatten([f"loader {leaf}" for leaf in leaves], spec), spec.num_leaves]


@program({"x": "1 on cuda", "names": ["a"], "more": ("2 on cuda",)})
def a_batch_moves_to_a_device(pytree):
    return pytree.tree_map_only(
        lambda leaf: hasattr(leaf, "bit_length"), lambda leaf: f"{leaf} on cuda", {"x": 1, "names": ["a"], "more": (2,)}
    )


@program([1, 3])
def tensors_in_a_nested_output(pytree):
    """In the way of data parallel wrappers, which look for what needs a gradient."""
    return [leaf for leaf in pytree.tree_iter({"loss": 1, "aux": ["log", (3, None)]}) if isinstance(leaf, int)]


@program((["k0", "k1", "v0", "v1"], [["K0", "K1"], ["V0", "V1"]], [".key_cache[0]", ".key_cache[1]"]))
def a_cache_of_keys_and_values(pytree):
    class DynamicCache:
        def __init__(self, keys=(), values=()):
            self.key_cache, self.value_cache = list(keys), list(values)

    def children(cache):
        return [cache.key_cache, cache.value_cache], None

    pytree.register_pytree_node(
        DynamicCache,
        children,
        lambda lists, _: DynamicCache(*lists),
        flatten_with_keys_fn=lambda cache: (
            [(pytree.GetAttrKey("key_cache"), cache.key_cache), (pytree.GetAttrKey("value_cache"), cache.value_cache)],
            None,
        ),
    )
    cache = DynamicCache(["k0", "k1"], ["v0", "v1"])
    upper = pytree.tree_map(str.upper, cache)
    return pytree.tree_leaves(cache), [upper.key_cache, upper.value_cache], written_paths(pytree, cache)[:2]


@program([[1, 2], [2, 1]], row="_deregister_pytree_node")
def a_registration_is_replaced(pytree):
    """In the way of onnx-diagnostic, which patches how a cache is flattened."""
    cls = registered(pytree, serialized_type_name="programs.Patched")
    before = pytree.tree_leaves(cls(1, 2))
    either(pytree, "_deregister_pytree_node", "unregister_pytree_node")(cls)
    pytree.register_pytree_node(cls, lambda node: (node.items[::-1], None), lambda kids, _: cls(*kids[::-1]))
    return [before, pytree.tree_leaves(cls(1, 2))]


@program([[1, {"k": 2}, 3], "ValueError", "ValueError"])
def a_call_against_an_exported_signature(pytree):
    """In the way of exporters: the structure of `(args, kwargs)` is kept, and calls are held against it."""
    in_spec = pytree.tree_structure(((0, 0), {"mask": 0}))
    calls = ((1, {"k": 2}), {"mask": 3}), ((1,), {"mask": 3}), ((1, 2), {})
    return [outcome(in_spec.flatten_up_to, call) for call in calls]


@program([True, False, ["x", "mask"]])
def an_exported_signature_is_looked_into(pytree):
    in_spec = pytree.tree_structure(((1, [2]), {"x": 3, "mask": 4}))
    args, kwargs = in_spec.children()
    return [in_spec == pytree.tree_structure(((5, [6]), {"x": 7, "mask": 8})), args == kwargs, list(kwargs.context)]


@program({"loss": 6, "parts": [2, 4]})
def a_function_of_flat_leaves(pytree):
    """In the way of graph compilers: flatten, run a function of a list, put its results together again."""
    leaves, in_spec = pytree.tree_flatten(({"x": 1}, [2]))
    out_spec = pytree.tree_structure({"loss": 0, "parts": [0, 0]})

    def flat_function(*flat):
        config, (y,) = pytree.tree_unflatten(list(flat), in_spec)
        return [2 * (config["x"] + y), 2 * config["x"], 2 * y]

    return pytree.tree_unflatten(flat_function(*leaves), out_spec)


@program({"w": [0.5, [1.5]], "b": 2.5})
def an_optimizer_over_three_trees(pytree):
    parameters, gradients = {"w": [1.0, [2.0]], "b": 3.0}, {"w": [0.5, [0.5]], "b": 0.5}
    moments = pytree.tree_map(lambda _: 0.5, parameters)
    return pytree.tree_map(lambda p, g, m: p - (g + m) / 2, parameters, gradients, moments)


@program([[1, 3], ["a", "b"], [{"x": 1, "y": "a"}, {"x": 3, "y": "b"}]])
def a_batch_is_collated_and_split(pytree):
    samples = [{"x": 1, "y": "a"}, {"x": 3, "y": "b"}]
    columns = pytree.tree_map(lambda *leaves: list(leaves), *samples)
    spec = pytree.tree_structure(samples[0])
    rows = [pytree.tree_unflatten(row, spec) for row in zip(*columns.values(), strict=True)]
    return [columns["x"], columns["y"], rows]


@program(["State(step=2, params={'w': 3})", [".step", ".params['w']"]])
def a_training_state(pytree):
    State = namedtuple("State", "step params")
    state = State(1, {"w": 2})
    return [repr(pytree.tree_map(lambda leaf: leaf + 1, state)), written_paths(pytree, state)]
