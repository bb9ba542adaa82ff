//! Putting a tree together.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFrozenSet, PyList, PySet, PyString, PyTuple};

use super::assemble::assemble;
use super::nodes::node_name;
use crate::errors::{Family, add_note, error, no_memory};
use crate::ffi::{LARGEST_KEPT, Pool, RefVec};
use crate::spec::{Graph, Place, key_path};

/// A container whose children are being made: its node, and how high the stack was below its first child.
struct Open {
    node: usize,
    base: usize,
}

/// What rebuilding a tree needs of memory.
#[derive(Default)]
struct Memory {
    stack: RefVec,
    open: Vec<Open>,
}

static MEMORY: Pool<Memory> = Pool::new();

/// Owned references to the leaves of an argument, which may be any iterable of them.
pub(crate) fn refs_of(leaves: &Bound<'_, PyAny>) -> PyResult<RefVec> {
    let mut refs = RefVec::default();
    if let Ok(list) = leaves.cast_exact::<PyList>() {
        refs.reserve(list.len())?;
        // Nothing in the loop runs Python code: references are only added.
        for leaf in list.iter() {
            refs.push(leaf)?;
        }
        return Ok(refs);
    }
    if let Ok(tuple) = leaves.cast_exact::<PyTuple>() {
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
        return Err(PyTypeError::new_err(format!(
            "leaves must be an iterable of leaf values in order, got a {}: pass a list (of a dict its values, of a set a \
             sorted list)",
            leaves.get_type().name()?
        )));
    }
    for leaf in leaves.try_iter()? {
        refs.push(leaf?)?;
    }
    Ok(refs)
}

/// The tree of this structure with these leaves.
pub(crate) fn unflatten<'py>(py: Python<'py>, graph: &Graph, mut leaves: RefVec) -> PyResult<Bound<'py, PyAny>> {
    if leaves.len() != graph.num_leaves {
        let message = format!("expected {} leaves, got {}", graph.num_leaves, leaves.len());
        return Err(error(py, Family::LeafCount, None, &message));
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
    let Memory { stack, open } = memory;
    let mut next_leaf = 0;
    for (index, node) in graph.nodes.iter().enumerate() {
        if node.is_leaves() {
            let count = node.arity as usize;
            stack.move_from(leaves, next_leaf, count)?;
            next_leaf += count;
        } else {
            open.try_reserve(1).map_err(no_memory)?;
            open.push(Open { node: index, base: stack.len() });
        }
        while let Some(innermost) = open.last() {
            let node = &graph.nodes[innermost.node];
            if stack.len() - innermost.base < node.arity as usize {
                break;
            }
            if let Err(raised) = assemble(py, node, graph.slots_of(node), graph.order_of(innermost.node), stack) {
                return Err(located(py, graph, open, raised));
            }
            open.pop();
        }
    }
    // A structure has one root, whose value is all that is left.
    stack.take(py, 0).ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("an empty structure"))
}

/// Notes on an exception which node was being rebuilt, and where.
#[cold]
fn located(py: Python<'_>, graph: &Graph, open: &[Open], raised: PyErr) -> PyErr {
    let Some((innermost, around)) = open.split_last() else { return raised };
    // The child that leads inwards is the first one that is not on the stack yet.
    let inner = open.iter().skip(1);
    let places: Vec<Place> = around
        .iter()
        .zip(inner)
        .map(|(outer, inner)| Place { node: outer.node, child: inner.base - outer.base })
        .collect();
    let node = &graph.nodes[innermost.node];
    let place = key_path(py, &graph.nodes, graph.slots.as_slice(), &places).place();
    let name = node_name(py, node, graph.slots_of(node));
    add_note(py, &raised, &format!("clika_pytree: raised by the rebuilding of {name} {place}"));
    raised
}
