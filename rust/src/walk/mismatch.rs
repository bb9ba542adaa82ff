//! Words for a tree that does not have the structure it should have.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::errors::{self, Family, KeyPath, class_name, counted, left_out, quote, show, with_article};
use crate::limits::{Grow, Interrupts, gathered};
use crate::registry::Class;
use crate::spec::{Graph, node_name};
use crate::structure::Kind;
use crate::values;

/// What a leaf is called where a container stands on the other side.
pub(crate) const A_LEAF: &str = "a leaf";
/// How many keys a message lists.
const MOST_KEYS: usize = 5;

/// What is wrong with a child of the tree; `index` is the node it should fit.
pub(super) enum Mismatch<'a, 'py> {
    /// Another class.
    Class { index: usize, found: &'a Bound<'py, PyAny> },
    /// Another number of children.
    Length { index: usize, found: &'a Bound<'py, PyAny>, length: usize },
    /// Other keys, or another order of them.
    Keys { index: usize, found: &'a Bound<'py, PyAny>, keys: &'a [Bound<'py, PyAny>] },
    /// Another context, factory or maxlen.
    Context { index: usize, slot: usize, found: &'a Bound<'py, PyAny>, owner: &'a Bound<'py, PyAny> },
    /// A container in the place of a leaf.
    Deeper { found: &'a Bound<'py, PyAny> },
}

/// The error for a mismatch: in the `number`-th tree of a map, or in a tree that a spec should fit.
#[cold]
pub(super) fn error(
    py: Python<'_>,
    graph: &Graph,
    what: &Mismatch<'_, '_>,
    number: Option<usize>,
    path: &KeyPath,
) -> PyErr {
    let (expected, found) = match describe(py, graph, what) {
        Ok(sides) => sides,
        Err(raised) => return raised,
    };
    let (place, hint) = (path.place(), hint(graph, what));
    let message = match number {
        Some(number) => format!(
            "tree {number} does not have the structure of the first tree {place}: the first has {expected}, tree {number} \
             has {found}{hint}"
        ),
        None => format!("the tree does not fit the spec {place}: the spec has {expected}, the tree has {found}{hint}"),
    };
    errors::error(py, Family::Structure, Some(path), &message)
}

/// The rule that a reader may not know.
fn hint(graph: &Graph, what: &Mismatch<'_, '_>) -> &'static str {
    const NONE_IS_NO_LEAF: &str = ". With none_is_leaf=False, None is a node without children";
    match what {
        Mismatch::Class { index, .. } if graph.nodes[*index].kind == Kind::None => NONE_IS_NO_LEAF,
        Mismatch::Class { found, .. } | Mismatch::Deeper { found } if found.is_none() && !graph.none_is_leaf => {
            NONE_IS_NO_LEAF
        }
        _ => "",
    }
}

/// What is expected and what was found.
fn describe(py: Python<'_>, graph: &Graph, what: &Mismatch<'_, '_>) -> PyResult<(String, String)> {
    Ok(match what {
        Mismatch::Class { index, found } => {
            let expected = expected_node(py, graph, *index);
            let node = &graph.nodes[*index];
            let class = class_name(&found.get_type());
            let found = if class == node_name(py, node, graph.slots_of(node)) {
                format!("an instance of another class {class}")
            } else if is_unregistered_subclass(py, graph, *index, found)? {
                format!("{}, which is a leaf: its class is not registered", with_article(&class))
            } else {
                found_value(found)?
            };
            (expected, found)
        }
        Mismatch::Length { index, found, length } => {
            (expected_node(py, graph, *index), sized(graph.nodes[*index].kind, &class_name(&found.get_type()), *length))
        }
        Mismatch::Keys { index, found, keys } => return describe_keys(py, graph, *index, found, keys),
        Mismatch::Context { index, slot, found, owner } => {
            let node = &graph.nodes[*index];
            if let Some(sides) = meta_field(py, graph, *index, found)? {
                return Ok(sides);
            }
            let part = match node.kind {
                Kind::DefaultDict => "the factory",
                Kind::Deque => "maxlen",
                Kind::Static => "the value",
                _ => "the context",
            };
            let expected = graph.slot(py, node, *slot).map_or_else(|| Ok("None".to_owned()), |value| show(&value))?;
            let name = with_article(&node_name(py, node, graph.slots_of(node)));
            (
                format!("{name} with {part} {expected}"),
                format!("{} with {part} {}", with_article(&class_name(&owner.get_type())), show(found)?),
            )
        }
        Mismatch::Deeper { found } => (A_LEAF.to_owned(), found_value(found)?),
    })
}

fn describe_keys(
    py: Python<'_>,
    graph: &Graph,
    index: usize,
    found: &Bound<'_, PyAny>,
    keys: &[Bound<'_, PyAny>],
) -> PyResult<(String, String)> {
    let node = &graph.nodes[index];
    let first = node.kind.first_key().unwrap_or(0);
    let expected = gathered(graph.slots_of(node)[first..].iter().flatten().map(|key| key.bind(py).clone()))?;
    let (missing, extra) = (without(&expected, keys)?, without(keys, &expected)?);
    let name = with_article(&class_name(&found.get_type()));
    if missing.is_empty() && extra.is_empty() {
        // The keys before the first one out of place say nothing.
        let mut first = 0;
        while first < keys.len().min(expected.len()) && looks_equal(&expected[first], &keys[first])? {
            first += 1;
        }
        let text = |keys: &[Bound<'_, PyAny>]| {
            let before = if first > 0 { "…, " } else { "" };
            let shown: Vec<String> = keys.iter().skip(first).take(MOST_KEYS + 1).map(show).collect::<PyResult<_>>()?;
            PyResult::Ok(format!("({before}{})", list(&shown)))
        };
        let what = format!(
            "{name} with the same keys in another order {}. The order of keys is part of a structure, but not inside \
             dict_insertion_ordered(False)",
            text(keys)?
        );
        return Ok((format!("{} with the keys {}", with_article(node.kind.name()), text(&expected)?), what));
    }
    let mut differences = Vec::new();
    if !missing.is_empty() {
        differences.push(format!("without {}", list(&missing)));
    }
    if !extra.is_empty() {
        let noun = if extra.len() == 1 { "key" } else { "keys" };
        differences.push(format!("with the extra {noun} {}", list(&extra)));
    }
    Ok((expected_node(py, graph, index), format!("{name} {}", differences.join(" and "))))
}

/// The first field of a dataclass that has another meta value, on both sides.
fn meta_field(
    py: Python<'_>,
    graph: &Graph,
    index: usize,
    found: &Bound<'_, PyAny>,
) -> PyResult<Option<(String, String)>> {
    let node = &graph.nodes[index];
    let Ok(values) = found.cast::<PyTuple>() else { return Ok(None) };
    for ((field, one), other) in graph.meta_fields(py, node).zip(values.iter()) {
        if !looks_equal(&one, &other)? {
            let owner = with_article(&node_name(py, node, graph.slots_of(node)));
            let side = |value| PyResult::Ok(format!("{owner} with {}={}", field.to_string_lossy(), show(value)?));
            return Ok(Some((side(&one)?, side(&other)?)));
        }
    }
    Ok(None)
}

/// Whether two values are equal, for a message: what can't be compared is not.
fn looks_equal(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
    values::equal(one, other).or_else(|unusable| unusable.left_out(one.py()).map(|()| false))
}

/// Those of some keys that are not among others, as far as a message lists them.
fn without(these: &[Bound<'_, PyAny>], those: &[Bound<'_, PyAny>]) -> PyResult<Vec<String>> {
    // By hash first: the dicts may be wide. The hash of a key that has none is a place of its own.
    let hash = |key: &Bound<'_, PyAny>| match values::hash(key) {
        Ok(hash) => Ok(hash),
        Err(unusable) => unusable.left_out(key.py()).map(|()| key.as_ptr() as u64),
    };
    let mut interrupts = Interrupts::new();
    let mut hashed: Vec<(u64, &Bound<'_, PyAny>)> = Vec::new();
    for key in those {
        interrupts.after(key.py(), 1)?;
        hashed.grow((hash(key)?, key))?;
    }
    hashed.sort_unstable_by_key(|(hash, _)| *hash);
    let mut texts = Vec::new();
    for key in these {
        interrupts.after(key.py(), 1)?;
        let wanted = hash(key)?;
        let first = hashed.partition_point(|(hash, _)| *hash < wanted);
        let mut is_there = false;
        for (_, other) in hashed[first..].iter().take_while(|(hash, _)| *hash == wanted) {
            is_there = is_there || looks_equal(key, other)?;
        }
        if !is_there {
            texts.push(show(key)?);
        }
        if texts.len() > MOST_KEYS {
            break;
        }
    }
    Ok(texts)
}

fn list(items: &[String]) -> String {
    let mut text = items[..items.len().min(MOST_KEYS)].join(", ");
    if items.len() > MOST_KEYS {
        text.push_str(", …");
    }
    text
}

/// A node in words: `a dict with 2 keys`, `a leaf`.
pub(crate) fn expected_node(py: Python<'_>, graph: &Graph, index: usize) -> String {
    let node = &graph.nodes[index];
    if node.is_leaves() {
        return A_LEAF.to_owned();
    }
    let name = node_name(py, node, graph.slots_of(node));
    match node.kind {
        Kind::None => name,
        Kind::Static => with_article(&name),
        kind => sized(kind, &name, node.arity as usize),
    }
}

/// A container in words: what it is, and how many children it has.
fn sized(kind: Kind, name: &str, count: usize) -> String {
    let (one, several) = match kind {
        Kind::Dict | Kind::OrderedDict | Kind::DefaultDict => ("key", "keys"),
        Kind::NamedTuple | Kind::Dataclass => ("field", "fields"),
        Kind::Custom => ("child", "children"),
        _ if count == 0 => return format!("an empty {name}"),
        _ => return format!("{} of {count}", with_article(name)),
    };
    match count {
        0 if one == "key" => format!("an empty {name}"),
        0 => format!("{} without {several}", with_article(name)),
        _ => format!("{} with {}", with_article(name), counted(count, one, several)),
    }
}

/// Whether its class derives from the one that is expected or from a container, and is not registered itself: only exact
/// types count.
fn is_unregistered_subclass(py: Python<'_>, graph: &Graph, index: usize, found: &Bound<'_, PyAny>) -> PyResult<bool> {
    let derives = match graph.class_of(py, index) {
        Ok(Some(cls)) => found.is_instance(&cls).or_else(|raised| left_out(py, raised).map(|()| false))?,
        Ok(None) => false,
        Err(raised) => left_out(py, raised).map(|()| false)?,
    };
    let class = class_of(found)?;
    let looks_like_a_container = derives
        || found.is_instance_of::<PyTuple>()
        || found.is_instance_of::<PyList>()
        || found.is_instance_of::<PyDict>();
    Ok(looks_like_a_container && matches!(class, Some(Class::Leaf)))
}

/// What its class is to the library; nothing where the class does not let itself be looked at.
fn class_of(found: &Bound<'_, PyAny>) -> PyResult<Option<Class>> {
    let py = found.py();
    let class = crate::registry::scope_of(py, None).and_then(|scope| scope.resolve(&found.get_type()));
    class.map(Some).or_else(|raised| left_out(py, raised).map(|()| None))
}

fn found_value(found: &Bound<'_, PyAny>) -> PyResult<String> {
    let kind = match class_of(found)? {
        Some(Class::Builtin(kind)) => kind,
        _ if found.is_instance_of::<PyDict>() => Kind::Dict,
        _ if found.is_instance_of::<PyTuple>() || found.is_instance_of::<PyList>() => Kind::List,
        _ => return Ok(quote(found)),
    };
    match found.len() {
        Ok(length) => Ok(sized(kind, &class_name(&found.get_type()), length)),
        Err(raised) => left_out(found.py(), raised).map(|()| quote(found)),
    }
}
