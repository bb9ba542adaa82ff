"""Programs that name leaves by their paths."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple

from . import EVERYWHERE, new_class, outcome, outcomes, pickled, program, registered, written_paths

Point = namedtuple("Point", "x y")
MODEL = {"embed": 1, "layers": [{"w": 2, "b": 3}, {"w": 4, "b": 5}]}


@program([("['embed']", 1), ("['layers'][0]['w']", 2), ("['layers'][0]['b']", 3)])
def flatten_with_path_gives_pairs(pytree):
    pairs, spec = pytree.tree_flatten_with_path(MODEL)
    assert spec == pytree.tree_structure(MODEL)
    return [(pytree.keystr(path), leaf) for path, leaf in pairs[:3]]


@program([("['embed']", 1), ("['layers']", [{"w": 2, "b": 3}, {"w": 4, "b": 5}])])
def is_leaf_shortens_paths(pytree):
    pairs = pytree.tree_leaves_with_path(MODEL, lambda node: isinstance(node, list))
    assert pairs == pytree.tree_flatten_with_path(MODEL, is_leaf=lambda node: isinstance(node, list))[0]
    return [(pytree.keystr(path), leaf) for path, leaf in pairs]


@program(["[0]", "[1]['o']", "[2][7]", "[3][0]", "[4].x", "[4].y[0]", "[5][None]", "[5][(1, 2)]", "[5]['it''s']"][:8])
def keystr_of_every_container(pytree):
    tree = [0, OrderedDict(o=0), defaultdict(int, {7: 0}), deque([0]), Point(0, (0,)), {None: 0, (1, 2): 0}]
    return written_paths(pytree, tree)


@program(["", """["it's"]""", "[True]", "[1.5]", "[b'k']"])
def keystr_of_odd_keys(pytree):
    return written_paths(pytree, 0) + written_paths(pytree, {"it's": 0, True: 0, 1.5: 0, b"k": 0})


@program(["['a'][0].x", "MappingKey(key='a')", "SequenceKey(idx=0)", "GetAttrKey(name='x')", "['a']", "[0]", ".x"])
def keys_are_written(pytree):
    keys = (pytree.MappingKey("a"), pytree.SequenceKey(0), pytree.GetAttrKey("x"))
    return [pytree.keystr(keys), *map(repr, keys), *map(str, keys)]


@program([[True] * 3, [True] * 3, [False] * 3, ["a", 0, "x"]])
def keys_are_values(pytree):
    keys = [pytree.MappingKey("a"), pytree.SequenceKey(0), pytree.GetAttrKey("x")]
    (path, _), *_ = pytree.tree_leaves_with_path({"a": [Point(1, 2)]})
    return [
        [one == other for one, other in zip(path, keys, strict=True)],
        [hash(one) == hash(pickled(other)) for one, other in zip(path, keys, strict=True)],
        [one == other for one, other in zip(keys, keys[1:] + keys[:1], strict=True)],
        [path[0].key, path[1].idx, path[2].name],
    ]


@program([False, False], [True, True], row=EVERYWHERE)
def keys_of_equal_numbers(pytree):
    return [pytree.MappingKey(1) == pytree.MappingKey(True), pytree.SequenceKey(0) == pytree.SequenceKey(0.0)]


@program(["mapping a", "index 0", "attribute x"])
def keys_are_matched(pytree):
    def describe(key):
        match key:
            case pytree.MappingKey(name):
                return f"mapping {name}"
            case pytree.SequenceKey(idx=index):
                return f"index {index}"
            case pytree.GetAttrKey(name):
                return f"attribute {name}"

    return [describe(key) for key in pytree.tree_leaves_with_path({"a": [Point(1, 2)]})[0][0]]


@program(([4, 2], [{"w": 4, "b": 5}], 1))
def key_get_follows_a_path(pytree):
    mapping, index = pytree.MappingKey, pytree.SequenceKey
    path = (mapping("layers"), index(1), mapping("w"))
    return (
        [pytree.key_get(MODEL, path), pytree.key_get([1, Point(2, 3)], (index(1), pytree.GetAttrKey("x")))],
        [pytree.key_get(MODEL, path[:2])],
        pytree.key_get(1, ()),
    )


@program(True)
def key_get_finds_every_leaf(pytree):
    tree = {"a": [1, Point(2, deque([3]))], "b": OrderedDict(c=defaultdict(list, d=4))}
    return all(pytree.key_get(tree, path) is leaf for path, leaf in pytree.tree_leaves_with_path(tree))


@program(["ValueError"] * 3, ["KeyError", "IndexError", "AttributeError"], row="key_get")
def keys_that_lead_nowhere(pytree):
    paths = (pytree.MappingKey("b"),), (pytree.SequenceKey(2),), (pytree.GetAttrKey("z"),)
    return outcomes(pytree.key_get, zip(({"a": 1}, [1], Point(1, 2)), paths, strict=True))


@program(["ValueError", "ValueError"], [1, 2], row="key_get")
def keys_to_what_is_no_child(pytree):
    """PyTorch indexes and reads attributes, whatever stands there."""
    leaf = new_class()(note=2)
    return outcomes(pytree.key_get, [([1], (pytree.SequenceKey(-1),)), (leaf, (pytree.GetAttrKey("note"),))])


@program([["a", "layers", 1, 2], [1, 2]])
def keys_get_from_their_parents(pytree):
    mapping, index, attribute = pytree.MappingKey("a"), pytree.SequenceKey(1), pytree.GetAttrKey("x")
    return [
        [mapping.get({"a": "a"}), index.get(["embed", "layers"]), attribute.get(Point(1, 2)), index.get((1, 2))],
        [key.get(parent) for key, parent in ((mapping, {"a": 1}), (index, (1, 2)))],
    ]


@program({"embed": "['embed']=1", "layers": [{"w": "['layers'][0]['w']=2", "b": "['layers'][0]['b']=3"}]})
def map_with_path_hands_on_the_path(pytree):
    tree = {"embed": 1, "layers": MODEL["layers"][:1]}
    return pytree.tree_map_with_path(lambda path, leaf: f"{pytree.keystr(path)}={leaf}", tree)


@program([["[0]", 11], [["[1][0]", 22]]])
def map_with_path_over_several_trees(pytree):
    return pytree.tree_map_with_path(lambda path, x, y: [pytree.keystr(path), x + y], [1, [2]], [10, [20]])


@program({"w": 0.1, "b": 0.0})
def weight_decay_by_name(pytree):
    def decay(path, leaf):
        return 0.0 if path[-1] == pytree.MappingKey("b") else 0.1

    return pytree.tree_map_with_path(decay, {"w": 1, "b": 2})


@program({"embed": 1, "layers.0.w": 2, "layers.0.b": 3, "layers.1.w": 4, "layers.1.b": 5})
def names_of_a_state_dict(pytree):
    def dotted(path):
        return ".".join(str(key.idx if isinstance(key, pytree.SequenceKey) else key.key) for key in path)

    return {dotted(path): leaf for path, leaf in pytree.tree_leaves_with_path(MODEL)}


# --- registered classes -----------------------------------------------------------------------------------------------


@program(([".left", "['right'][0]", "[2]"], True, [1, 2, 3]))
def a_class_with_keys(pytree):
    cls = registered(
        pytree,
        flatten_with_keys_fn=lambda node: (
            [
                (key(name), child)
                for key, name, child in zip(
                    (pytree.GetAttrKey, pytree.MappingKey, pytree.SequenceKey),
                    ("left", "right", 2),
                    node.items,
                    strict=True,
                )
            ],
            node.note,
        ),
    )
    node = cls(1, [2], 3)
    mapped = pytree.tree_map_with_path(lambda path, leaf: leaf, node)
    return written_paths(pytree, node), mapped.items == node.items, pytree.tree_leaves(node)


@program(["[<flat index 0>]", "[<flat index 1>]"], "ValueError", row="tree_leaves_with_path")
def a_class_without_keys(pytree):
    return outcome(written_paths, pytree, registered(pytree)(1, 2))


@program((["V", "K"], ["V", "K"]), (["K", "V"], ["V", "K"]), row="register_pytree_node")
def keys_in_another_order_than_the_children(pytree):
    """An identity map swaps them; here both ways to flatten agree, and `check_node` reports it."""
    cls = registered(
        pytree, flatten_with_keys_fn=lambda node: ([(pytree.SequenceKey(i), node.items[i]) for i in (1, 0)], None)
    )
    node = cls("K", "V")
    return pytree.tree_leaves(node), pytree.tree_map_with_path(lambda path, leaf: leaf, node).items


@program(["[<Half 'a'>]"], ["/a"], row="register_pytree_node")
def keys_of_a_class_of_ones_own(pytree):
    class Half(str):
        __slots__ = ()

        def __str__(self):
            return f"/{str.__str__(self)}"

        def get(self, parent):
            return parent.items[0]

    cls = registered(pytree, flatten_with_keys_fn=lambda node: ([(Half("a"), node.items[0])], None))
    return written_paths(pytree, cls(1))
