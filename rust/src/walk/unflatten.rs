//! Putting a tree together.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFrozenSet, PyList, PySet, PyString, PyTuple};

use super::assemble::assemble;
use super::cursor::MOST_AT_ONCE;
use crate::errors::{Family, class_name, counted, error, noted, type_error, with_article};
use crate::ffi::{LARGEST_KEPT, Pool, RefVec};
use crate::limits::{CALL, Grow, Interrupts, Nested, gathered};
use crate::spec::{Graph, Place, key_path, node_name};

/// A container whose children are being made: its node, and how many are missing.
#[derive(Clone, Copy)]
struct Open {
    node: usize,
    missing: u32,
}

/// The place of the root.
const OUTSIDE: usize = usize::MAX;

/// What rebuilding a tree needs of memory.
#[derive(Default)]
struct Memory {
    stack: RefVec,
    around: Vec<Open>,
}

static MEMORY: Pool<Memory> = Pool::new();

/// Owned references to the leaves of an argument, which may be any iterable of them; one without an end is given up after
/// one more than `wanted`.
fn refs_of(leaves: &Bound<'_, PyAny>, wanted: usize) -> PyResult<RefVec> {
    let mut refs = RefVec::default();
    let exact_list = leaves.cast_exact::<PyList>().ok().filter(|list| list.len() <= MOST_AT_ONCE);
    if let Some(list) = exact_list {
        refs.reserve(list.len())?;
        // Nothing in the loop runs Python code: references are only added.
        for leaf in list.iter() {
            refs.push(leaf)?;
        }
        return Ok(refs);
    }
    let exact_tuple = leaves.cast_exact::<PyTuple>().ok().filter(|tuple| tuple.len() <= MOST_AT_ONCE);
    if let Some(tuple) = exact_tuple {
        refs.reserve(tuple.len())?;
        for leaf in tuple.iter() {
            refs.push(leaf)?;
        }
        return Ok(refs);
    }
    let unfit = leaves.is_instance_of::<PyString>()
        || leaves.is_instance_of::<PyBytes>()
        || leaves.is_instance_of::<PyDict>()
        || leaves.is_instance_of::<PySet>()
        || leaves.is_instance_of::<PyFrozenSet>();
    if unfit {
        return Err(type_error(
            leaves.py(),
            &format!(
                "leaves must be an iterable of leaf values in order, got {}: pass a list (of a dict its values, of a set a \
             sorted list)",
                with_article(&class_name(&leaves.get_type()))
            ),
        ));
    }
    let no_iterable = |raised: PyErr| {
        if leaves.hasattr(intern!(leaves.py(), "__iter__")).unwrap_or(true) {
            return raised;
        }
        let (shown, class) = (crate::errors::quote(leaves), with_article(&class_name(&leaves.get_type())));
        let found = if shown == class { shown } else { format!("{shown}, {class}") };
        type_error(leaves.py(), &format!("leaves must be an iterable of leaf values, got {found}"))
    };
    let mut interrupts = Interrupts::new();
    for leaf in leaves.try_iter().map_err(no_iterable)? {
        interrupts.after(leaves.py(), 1)?;
        if refs.len() == wanted
            && let Err(raised) = leaves.len()
        {
            let is_unsized = raised.is_instance_of::<PyTypeError>(leaves.py());
            let count = format!("{} or more", wanted + 1);
            return Err(if is_unsized { wrong_count(leaves.py(), wanted, &count) } else { raised });
        }
        refs.push(leaf?)?;
    }
    Ok(refs)
}

#[cold]
fn wrong_count(py: Python<'_>, expected: usize, found: &str) -> PyErr {
    let expected = counted(expected, "leaf", "leaves");
    error(py, Family::LeafCount, None, &format!("expected {expected}, got {found}"))
}

/// The tree of this structure with the leaves of an argument, which may be any iterable of them.
pub(crate) fn unflatten<'py>(graph: &Graph, leaves: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    unflatten_refs(leaves.py(), graph, refs_of(leaves, graph.num_leaves)?)
}

/// The leaves of an argument, as many as are expected.
pub(crate) fn leaves_of<'py>(leaves: &Bound<'py, PyAny>, expected: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = leaves.py();
    let mut refs = refs_of(leaves, expected)?;
    if refs.len() != expected {
        return Err(wrong_count(py, expected, &refs.len().to_string()));
    }
    gathered((0..expected).filter_map(|index| refs.take(py, index)))
}

/// The tree of this structure with these leaves.
pub(crate) fn unflatten_refs<'py>(py: Python<'py>, graph: &Graph, mut leaves: RefVec) -> PyResult<Bound<'py, PyAny>> {
    if leaves.len() != graph.num_leaves {
        return Err(wrong_count(py, graph.num_leaves, &leaves.len().to_string()));
    }
    let mut memory = MEMORY.take(py);
    let tree = build(py, graph, &mut leaves, &mut memory)?;
    memory.stack.truncate(py, 0);
    if memory.stack.capacity() <= LARGEST_KEPT {
        MEMORY.give_back(py, memory);
    }
    Ok(tree)
}

fn build<'py>(py: Python<'py>, graph: &Graph, leaves: &mut RefVec, memory: &mut Memory) -> PyResult<Bound<'py, PyAny>> {
    let _nested = Nested::enter()?;
    let Memory { stack, around } = memory;
    let templates = graph.templates(py)?;
    let mut interrupts = Interrupts::new();
    let mut next_leaf = 0;
    let mut open = Open { node: OUTSIDE, missing: 1 };
    for (index, node) in graph.nodes.iter().enumerate() {
        if node.is_leaves() {
            stack.move_from(leaves, next_leaf, node.arity as usize)?;
            next_leaf += node.arity as usize;
            open.missing -= node.arity;
        } else {
            around.grow(Open { missing: open.missing - 1, ..open })?;
            open = Open { node: index, missing: node.arity };
        }
        while open.missing == 0 && open.node != OUTSIDE {
            let node = &graph.nodes[open.node];
            interrupts.after(py, if node.kind.is_registered() { CALL } else { 1 + node.arity as usize })?;
            let template = templates.and_then(|templates| templates.of(open.node));
            let order = graph.order_of(open.node);
            if let Err(raised) = assemble(py, node, graph.slots_of(node), order, template, stack) {
                return Err(located(py, graph, around, open.node, raised));
            }
            let Some(outer) = around.pop() else { break };
            open = outer;
        }
    }
    // A structure has one root, whose value is all that is left.
    stack.take(py, 0).ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("an empty structure"))
}

/// Notes on an exception which node was being rebuilt, and where.
#[cold]
fn located(py: Python<'_>, graph: &Graph, around: &[Open], index: usize, raised: PyErr) -> PyErr {
    let places = around.iter().filter(|outer| outer.node != OUTSIDE).map(|outer| {
        let done = graph.nodes[outer.node].arity - outer.missing;
        Place { node: outer.node, child: (done as usize).saturating_sub(1) }
    });
    let node = &graph.nodes[index];
    let path = || key_path(py, &graph.nodes, graph.slots.as_slice(), None, places);
    noted(py, raised, path, |path| {
        format!("by the rebuilding of {} {}", node_name(py, node, graph.slots_of(node)), path.place())
    })
}
