//! Calling a function on every leaf.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyString, PyTuple, PyType};

use super::Rules;
use super::flatten::flatten_to_refs;
use super::matching::{Strict, match_leaves};
use super::unflatten::unflatten_refs;
use crate::arguments::check_function;
use crate::errors::{noted, type_error};
use crate::ffi::{self, RefVec};
use crate::limits::{CALL, Interrupts, Nested};
use crate::spec::{Graph, KeyPaths};

/// Which leaves a function is called on.
pub(crate) enum Filter {
    All,
    /// Those that are instances of a class, a tuple of classes or a union.
    Instances(Py<PyAny>),
    /// Those of which a function says so.
    Predicate(Py<PyAny>),
}

impl Filter {
    /// The filter that `tree_map_only` was given.
    pub(crate) fn of(filter: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = filter.py();
        if filter.is_instance_of::<PyType>() || filter.is_instance_of::<PyTuple>() || is_union(filter)? {
            // A tuple of something else fails here, before anything is mapped.
            if let Err(raised) = py.None().bind(py).is_instance(filter) {
                return Err(if raised.is_instance_of::<PyTypeError>(py) { Self::unfit(filter) } else { raised });
            }
            return Ok(Self::Instances(filter.clone().unbind()));
        }
        // `list[int]` can be called, and is no predicate.
        if filter.is_callable() && !filter.hasattr(intern!(py, "__args__"))? {
            return Ok(Self::Predicate(filter.clone().unbind()));
        }
        Err(Self::unfit(filter))
    }

    #[cold]
    fn unfit(filter: &Bound<'_, PyAny>) -> PyErr {
        type_error(
            filter.py(),
            &format!(
                "expected a class, a tuple of classes, a union or a predicate to say which leaves to map, got {}",
                crate::errors::quote(filter)
            ),
        )
    }

    fn takes(&self, leaf: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = leaf.py();
        match self {
            Self::All => Ok(true),
            Self::Instances(classes) => leaf.is_instance(classes.bind(py)),
            Self::Predicate(predicate) => ffi::call_one(predicate.bind(py), leaf)?.is_truthy(),
        }
    }
}

/// A function and the leaves it is called on.
struct Call<'a, 'py> {
    function: &'a Bound<'py, PyAny>,
    filter: Filter,
    /// Whether the filter, and not the function, ran last.
    in_filter: bool,
}

impl Call<'_, '_> {
    /// The function's result, or nothing where the filter leaves the leaf alone.
    #[inline]
    fn on<'py>(&mut self, leaf: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !matches!(self.filter, Filter::All) {
            self.in_filter = true;
            if !self.filter.takes(leaf)? {
                return Ok(None);
            }
            self.in_filter = false;
        }
        ffi::call_one(self.function.as_unbound().bind(leaf.py()), leaf).map(Some)
    }

    fn who(&self) -> &'static str {
        if self.in_filter { "the filter" } else { "the mapped function" }
    }
}

/// Whether it is `int | str`, `Union[int, str]` or `Optional[int]`, all of which `isinstance` takes.
fn is_union(filter: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = filter.py();
    let union = UNION.get_or_try_init(py, || {
        let either = py.get_type::<PyInt>().bitor(py.get_type::<PyString>())?;
        Ok::<_, PyErr>(either.get_type().unbind())
    })?;
    if filter.is_instance(union.bind(py).as_any())? {
        return Ok(true);
    }
    // `typing` is asked only where somebody has loaded it: without it there is no such object.
    let Some(typing_union) = ffi::loaded(intern!(py, "typing"), intern!(py, "Union"))? else { return Ok(false) };
    let origin = filter.getattr_opt(intern!(py, "__origin__"))?;
    Ok(origin.is_some_and(|origin| origin.is(&typing_union)))
}

/// The class of `int | str`.
static UNION: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// A tree with the results of the function in the places of the leaves.
pub(crate) fn map<'py>(
    function: &Bound<'py, PyAny>,
    tree: &Bound<'py, PyAny>,
    rests: &Bound<'py, PyTuple>,
    filter: Filter,
    rules: Rules,
) -> PyResult<Bound<'py, PyAny>> {
    let py = tree.py();
    check_function("fn", function)?;
    if !rests.is_empty() {
        return map_many(function, tree, rests, rules, Results::Tree);
    }
    let (mut leaves, graph, rules) = flatten_to_refs(tree, rules)?;
    drop(rules);
    map_leaves(py, &graph, &mut leaves, Call { function, filter, in_filter: false }, true)?;
    unflatten_refs(py, &graph, leaves)
}

/// Calls the function on every leaf and, where they are kept, puts the results in the places of the leaves.
fn map_leaves(py: Python<'_>, graph: &Graph, leaves: &mut RefVec, mut call: Call<'_, '_>, keeps: bool) -> PyResult<()> {
    let _nested = Nested::enter()?;
    let mut interrupts = Interrupts::new();
    for index in 0..leaves.len() {
        interrupts.after(py, CALL)?;
        let Some(leaf) = leaves.take(py, index) else { continue };
        let mapped = match call.on(&leaf) {
            Ok(mapped) => mapped,
            Err(raised) => {
                let path = || graph.path_of_leaf(py, index);
                return Err(noted(py, raised, path, |path| format!("by {} {}", call.who(), path.place())));
            }
        };
        if keeps {
            leaves.put(index, mapped.unwrap_or(leaf));
        }
    }
    Ok(())
}

/// Calls the function on every leaf, or on the leaves of several trees.
pub(crate) fn for_each<'py>(
    function: &Bound<'py, PyAny>,
    tree: &Bound<'py, PyAny>,
    rests: &Bound<'py, PyTuple>,
    filter: Filter,
    rules: Rules,
) -> PyResult<()> {
    let py = tree.py();
    check_function("fn", function)?;
    if !rests.is_empty() {
        map_many(function, tree, rests, rules, Results::Dropped)?;
        return Ok(());
    }
    let (mut leaves, graph, rules) = flatten_to_refs(tree, rules)?;
    drop(rules);
    map_leaves(py, &graph, &mut leaves, Call { function, filter, in_filter: false }, false)
}

/// A tree with the results of the function, called with path and leaf, in the places of the leaves.
pub(crate) fn map_with_path<'py>(
    function: &Bound<'py, PyAny>,
    tree: &Bound<'py, PyAny>,
    rests: &Bound<'py, PyTuple>,
    rules: Rules,
) -> PyResult<Bound<'py, PyAny>> {
    check_function("fn", function)?;
    map_many(function, tree, rests, rules, Results::TreeByPath)
}

/// What becomes of the results of a function, and whether it is handed the paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Results {
    Tree,
    TreeByPath,
    Dropped,
}

/// Maps the leaves of several trees of one structure.
fn map_many<'py>(
    function: &Bound<'py, PyAny>,
    tree: &Bound<'py, PyAny>,
    rests: &Bound<'py, PyTuple>,
    rules: Rules,
    results: Results,
) -> PyResult<Bound<'py, PyAny>> {
    let py = tree.py();
    let (first, graph, mut rules) = flatten_to_refs(tree, rules)?;
    let mut columns = vec![first];
    for (number, rest) in rests.iter().enumerate() {
        let strict = Strict { leaves: columns[0].as_slice(), number: number + 2 };
        let (column, same_rules) = match_leaves(&graph, &rest, rules, Some(&strict))?;
        rules = same_rules;
        columns.push(column);
    }
    let mut paths = (results == Results::TreeByPath).then(|| KeyPaths::of(py, &graph));
    let mut mapped = RefVec::default();
    let mut arguments = RefVec::default();
    let _nested = Nested::enter()?;
    let mut interrupts = Interrupts::new();
    for leaf in 0..graph.num_leaves {
        interrupts.after(py, CALL)?;
        if let Some(path) = paths.as_mut().map(|paths| paths.path_of(py, leaf)).transpose()?.flatten() {
            arguments.push(path)?;
        }
        for column in &mut columns {
            if let Some(argument) = column.take(py, leaf) {
                arguments.push(argument)?;
            }
        }
        let result = ffi::call_with(function, &mut arguments, 0).map_err(|raised| {
            let path = || graph.path_of_leaf(py, leaf);
            noted(py, raised, path, |path| format!("by the mapped function {}", path.place()))
        })?;
        if results != Results::Dropped {
            mapped.push(result)?;
        }
    }
    if results == Results::Dropped { Ok(tree.clone()) } else { unflatten_refs(py, &graph, mapped) }
}
