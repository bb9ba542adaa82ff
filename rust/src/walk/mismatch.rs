//! Words for a tree that does not have the structure it should have.

use pyo3::prelude::*;

use crate::errors::{self, Family, KeyPath, quote, show};
use crate::limits::{Grow, Interrupts, gathered};
use crate::spec::{Graph, node_name};
use crate::structure::Kind;
use crate::values;

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
    let place = path.place();
    let message = match number {
        Some(number) => format!(
            "tree {number} does not have the structure of the first tree {place}: the first has {expected}, tree {number} \
             has {found}"
        ),
        None => format!("the tree does not fit the spec {place}: the spec has {expected}, the tree has {found}"),
    };
    errors::error(py, Family::Structure, Some(path), &message)
}

/// What is expected and what was found.
fn describe(py: Python<'_>, graph: &Graph, what: &Mismatch<'_, '_>) -> PyResult<(String, String)> {
    Ok(match what {
        Mismatch::Class { index, found } => {
            let expected = expected_node(py, graph, *index);
            let node = &graph.nodes[*index];
            let class = class_of(found);
            let found = if class == node_name(py, node, graph.slots_of(node)) {
                format!("an instance of another class {class}")
            } else if is_unregistered_subclass(py, graph, *index, found) {
                format!("{}, which is a leaf: its class is not registered", with_article(&class))
            } else {
                found_value(found)
            };
            (expected, found)
        }
        Mismatch::Length { index, found, length } => {
            (expected_node(py, graph, *index), format!("{} of {length}", with_article(&class_of(found))))
        }
        Mismatch::Keys { index, found, keys } => return describe_keys(py, graph, *index, found, keys),
        Mismatch::Context { index, slot, found, owner } => {
            let node = &graph.nodes[*index];
            let part = match node.kind {
                Kind::DefaultDict => "the factory",
                Kind::Deque => "maxlen",
                Kind::Static => "the value",
                _ => "the context",
            };
            let expected = graph.slot(py, node, *slot).map_or_else(|| "None".to_owned(), |value| show(&value));
            let name = with_article(&node_name(py, node, graph.slots_of(node)));
            (
                format!("{name} with {part} {expected}"),
                format!("{} with {part} {}", with_article(&class_of(owner)), show(found)),
            )
        }
        Mismatch::Deeper { found } => ("a leaf".to_owned(), found_value(found)),
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
    let name = with_article(&class_of(found));
    if missing.is_empty() && extra.is_empty() {
        let text = |keys: &[Bound<'_, PyAny>]| list(&keys.iter().take(MOST_KEYS + 1).map(show).collect::<Vec<_>>());
        let what = format!("{name} with the same keys in another order, {}", text(keys));
        return Ok((format!("{} with the keys {}", with_article(node.kind.name()), text(&expected)), what));
    }
    let mut differences = Vec::new();
    if !missing.is_empty() {
        differences.push(format!("without {}", list(&missing)));
    }
    if !extra.is_empty() {
        differences.push(format!("with {} besides", list(&extra)));
    }
    Ok((expected_node(py, graph, index), format!("{name} {}", differences.join(" and "))))
}

/// Those of some keys that are not among others, as far as a message lists them.
fn without(these: &[Bound<'_, PyAny>], those: &[Bound<'_, PyAny>]) -> PyResult<Vec<String>> {
    // By hash first: the dicts may be wide. The hash of a key that has none is a place of its own.
    let hash = |key: &Bound<'_, PyAny>| values::hash(key).unwrap_or(key.as_ptr() as u64);
    let mut interrupts = Interrupts::new();
    let mut hashed: Vec<(u64, &Bound<'_, PyAny>)> = Vec::new();
    for key in those {
        interrupts.after(key.py(), 1)?;
        hashed.grow((hash(key), key))?;
    }
    hashed.sort_unstable_by_key(|(hash, _)| *hash);
    let mut texts = Vec::new();
    for key in these {
        interrupts.after(key.py(), 1)?;
        let wanted = hash(key);
        let first = hashed.partition_point(|(hash, _)| *hash < wanted);
        let others = hashed[first..].iter().take_while(|(hash, _)| *hash == wanted);
        if !others.into_iter().any(|(_, other)| values::equal(key, other).unwrap_or(false)) {
            texts.push(show(key));
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

fn expected_node(py: Python<'_>, graph: &Graph, index: usize) -> String {
    let node = &graph.nodes[index];
    let name = node_name(py, node, graph.slots_of(node));
    match node.kind {
        Kind::None => name,
        Kind::Static => with_article(&name),
        kind if kind.first_key().is_some() => {
            format!("{} with {}", with_article(&name), count_keys(node.arity as usize))
        }
        _ => format!("{} of {}", with_article(&name), node.arity),
    }
}

/// Whether its class derives from the one that is expected or from a container, and is not registered itself: only exact
/// types count.
fn is_unregistered_subclass(py: Python<'_>, graph: &Graph, index: usize, found: &Bound<'_, PyAny>) -> bool {
    let derives =
        graph.class_of(py, index).is_ok_and(|cls| cls.is_some_and(|cls| found.is_instance(&cls).unwrap_or(false)));
    let class = crate::registry::scope_of(py, None).and_then(|scope| scope.resolve(&found.get_type()));
    let looks_like_a_container = derives
        || found.is_instance_of::<pyo3::types::PyTuple>()
        || found.is_instance_of::<pyo3::types::PyList>()
        || found.is_instance_of::<pyo3::types::PyDict>();
    looks_like_a_container && matches!(class, Ok(crate::registry::Class::Leaf))
}

fn found_value(found: &Bound<'_, PyAny>) -> String {
    use pyo3::types::{PyDict, PyList, PyTuple};
    let sized =
        found.is_instance_of::<PyList>() || found.is_instance_of::<PyTuple>() || found.is_instance_of::<PyDict>();
    match found.len() {
        Ok(length) if sized => {
            let keys = if found.is_instance_of::<PyDict>() {
                format!("with {}", count_keys(length))
            } else {
                format!("of {length}")
            };
            format!("{} {keys}", with_article(&class_of(found)))
        }
        _ => quote(found),
    }
}

fn count_keys(count: usize) -> String {
    format!("{count} {}", if count == 1 { "key" } else { "keys" })
}

fn class_of(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

fn with_article(name: &str) -> String {
    let vowel = name.chars().next().is_some_and(|first| "aeiouAEIOU".contains(first));
    format!("{} {name}", if vowel { "an" } else { "a" })
}
