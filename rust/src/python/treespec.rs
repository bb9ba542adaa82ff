//! The class `TreeSpec`.

#![expect(clippy::doc_link_with_quotes, reason = "docstrings for Python")]

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};

use crate::errors::quote;
use crate::registry::builtins;
use crate::spec::Graph;
use crate::structure::Kind;
use crate::values;
use crate::walk::{self, Rules};

/// The structure of a tree: an immutable value, equal and hashed by structure.
///
/// Made by `tree_flatten`, `tree_structure` and the operations on specs. Two specs are equal where kinds, arities,
/// classes, keys (in their order) and contexts are, by exact type and value.
///
/// >>> import clika_pytree as crt
/// >>> spec = crt.tree_structure({"a": [1, 2], "b": None})
/// >>> spec, spec.num_leaves, spec.num_nodes
/// (TreeSpec({'a': [*, *], 'b': *}), 3, 5)
/// >>> spec == crt.tree_structure({"a": ["x", "y"], "b": 0})
/// True
#[pyclass(frozen, weakref, module = "clika_pytree._native")]
pub(crate) struct TreeSpec(pub(crate) Graph);

fn spec_argument<'a, 'py>(argument: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, TreeSpec>> {
    argument
        .cast::<TreeSpec>()
        .map_err(|_| PyTypeError::new_err(format!("expected a TreeSpec, got {}", quote(argument))))
}

#[pymethods]
impl TreeSpec {
    /// The number of leaves.
    #[getter]
    fn num_leaves(&self) -> usize {
        self.0.num_leaves
    }

    /// The number of nodes, containers and leaves alike.
    #[getter]
    fn num_nodes(&self) -> usize {
        self.0.num_nodes()
    }

    /// The number of children of the root.
    #[getter]
    fn num_children(&self) -> usize {
        if self.0.is_leaf() { 0 } else { self.0.root().arity as usize }
    }

    /// What the root is: 'leaf', 'none', 'list', 'tuple', 'dict', 'ordereddict', 'defaultdict', 'deque', 'namedtuple',
    /// 'custom', 'dataclass' or 'static'.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.root().kind.name()
    }

    /// The class of the root; None for a leaf.
    #[getter]
    fn r#type<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyType>>> {
        let root = self.0.root();
        Ok(Some(match root.kind {
            Kind::Leaves => return Ok(None),
            Kind::None => py.None().bind(py).get_type(),
            Kind::List => py.get_type::<PyList>(),
            Kind::Tuple => py.get_type::<PyTuple>(),
            Kind::Dict => py.get_type::<pyo3::types::PyDict>(),
            Kind::OrderedDict => builtins(py)?.ordered_dict.bind(py).clone(),
            Kind::DefaultDict => builtins(py)?.default_dict.bind(py).clone(),
            Kind::Deque => builtins(py)?.deque.bind(py).clone(),
            Kind::NamedTuple => match self.0.slot(py, root, 0) {
                Some(cls) => cls.to_owned().cast_into::<PyType>()?,
                None => return Ok(None),
            },
            Kind::Custom | Kind::Dataclass | Kind::Static => {
                return Ok(self.0.registration(py, root).map(|registration| registration.get().cls.bind(py).clone()));
            }
        }))
    }

    /// What the root carries besides its children: the keys of a dict or OrderedDict as a tuple, `(factory, keys)` of a
    /// defaultdict, `maxlen` of a deque, the meta values of a dataclass, a static object, what a flatten function gave;
    /// else None. Lists, dicts and sets come as copies.
    #[getter]
    fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let root = self.0.root();
        let keys = |first: usize| PyTuple::new(py, self.0.slots_of(root)[first..].iter().flatten().collect::<Vec<_>>());
        let slot =
            |number| self.0.slot(py, root, number).map_or_else(|| py.None().into_bound(py), pyo3::Borrowed::to_owned);
        Ok(match root.kind {
            Kind::Dict | Kind::OrderedDict => keys(0)?.into_any(),
            Kind::DefaultDict => (slot(0), keys(1)?).into_pyobject(py)?.into_any(),
            Kind::Deque => slot(0),
            Kind::Custom | Kind::Dataclass | Kind::Static if root.mutable_context => values::thaw(&slot(1))?,
            Kind::Custom | Kind::Dataclass | Kind::Static => slot(1),
            _ => py.None().into_bound(py),
        })
    }

    /// Whether None is a leaf in it.
    #[getter]
    fn none_is_leaf(&self) -> bool {
        self.0.none_is_leaf
    }

    /// The namespace whose registrations its nodes used: `''`, a name, or a tuple of names.
    #[getter]
    fn namespace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.namespace(py)
    }

    /// The entries of the root's children: indices, keys, field names, or what a flatten function called them.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure({"a": 1, "b": 2}).entries()
    /// ['a', 'b']
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.0.entries(py)
    }

    /// The path of every leaf as a tuple of entries, in the order of the leaves.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure({"a": [1, 2], "b": 3}).paths()
    /// [('a', 0), ('a', 1), ('b',)]
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.0.paths(py)?.bind(py).to_list())
    }

    /// The path of every leaf as a tuple of keys, in the order of the leaves; `keystr` writes one as text.
    ///
    /// >>> import clika_pytree as crt
    /// >>> [crt.keystr(path) for path in crt.tree_structure({"a": [1, 2], "b": 3}).key_paths()]
    /// ["['a'][0]", "['a'][1]", "['b']"]
    fn key_paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.0.key_paths(py)?.bind(py).to_list())
    }

    /// The structures of the root's children.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure([1, (2, 3)]).children()
    /// [TreeSpec(*), TreeSpec((*, *))]
    fn children(&self, py: Python<'_>) -> PyResult<Vec<Self>> {
        self.0.children_of(0).map(|index| self.0.subtree(py, index).map(Self)).collect()
    }

    /// The structure of one child; a negative index counts from the end.
    ///
    /// Raises `IndexError` where there is no such child.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure([1, (2, 3)]).child(-1)
    /// TreeSpec((*, *))
    fn child(&self, index: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = index.py();
        let count = self.num_children();
        // An index too large for the machine is out of range like any other.
        let number = match index.extract::<isize>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(py) => isize::MAX,
            number => number?,
        };
        let place = if number < 0 { number.checked_add_unsigned(count) } else { Some(number) };
        let child =
            place.and_then(|place| usize::try_from(place).ok()).and_then(|place| self.0.children_of(0).nth(place));
        match child {
            Some(child) => self.0.subtree(py, child).map(Self),
            None => Err(PyIndexError::new_err(format!("child {index} of a node with {count} children"))),
        }
    }

    /// Whether it is the structure of a single leaf.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure(1).is_leaf(), crt.tree_structure(()).is_leaf()
    /// (True, False)
    fn is_leaf(&self) -> bool {
        self.0.is_leaf()
    }

    /// The tree of this structure with these leaves, any iterable of them but a str, bytes, dict or set.
    ///
    /// Raises `LeafCountError` for another number of leaves.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure({"a": [1, 2]}).unflatten([10, 20])
    /// {'a': [10, 20]}
    fn unflatten<'py>(&self, leaves: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        walk::unflatten(&self.0, leaves)
    }

    /// What a tree has in the places of this structure's leaves, as a list.
    ///
    /// The tree must have the same classes, keys in the same order, and contexts, down to the leaves of this structure;
    /// below them it may have anything. Raises `StructureError` naming the first path at which it differs.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure([1, (2, 3)]).flatten_up_to([10, (20, {"x": 30})])
    /// [10, 20, {'x': 30}]
    fn flatten_up_to<'py>(&self, tree: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let rules = Rules::new(tree.py(), None, self.0.none_is_leaf, None)?;
        walk::flatten_up_to(&self.0, tree, rules)
    }

    /// This structure with another one in the place of every leaf.
    ///
    /// Raises `StructureError` for a spec made with the other `none_is_leaf`.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure([1, 2]).compose(crt.tree_structure((1, 2)))
    /// TreeSpec([(*, *), (*, *)])
    fn compose(&self, inner: &Bound<'_, PyAny>) -> PyResult<Self> {
        let inner = spec_argument(inner)?;
        self.0.compose(inner.py(), &inner.get().0).map(Self)
    }

    /// Whether another structure has this one at its top: where this one has a leaf, the other may have anything.
    ///
    /// Raises `StructureError` for a spec made with the other `none_is_leaf`.
    ///
    /// >>> import clika_pytree as crt
    /// >>> short, deep = crt.tree_structure([1, 2]), crt.tree_structure([1, (2, 3)])
    /// >>> short.is_prefix(deep), deep.is_prefix(short)
    /// (True, False)
    fn is_prefix(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let other = spec_argument(other)?;
        self.0.is_prefix(other.py(), &other.get().0)
    }

    fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, operation: CompareOp) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let answer = match (other.cast::<Self>(), operation) {
            (Ok(other), CompareOp::Eq) => self.0.equal(&other.get().0, py)?,
            (Ok(other), CompareOp::Ne) => !self.0.equal(&other.get().0, py)?,
            _ => return Ok(py.NotImplemented().into_bound(py)),
        };
        Ok(answer.into_pyobject(py)?.to_owned().into_any())
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.hash(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.0.repr(py)
    }

    #[expect(clippy::unused_self, reason = "a special method")]
    fn __bool__(&self) -> bool {
        true
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyTuple>,))> {
        let py = slf.py();
        let load = py.import("clika_pytree._native")?.getattr("treespec_from_state")?;
        Ok((load, (treespec_state(slf)?,)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }
}

/// A `TreeSpec` as plain data: `(version, none_is_leaf, nodes, slots, orders)`; for pickle and for documents.
///
/// `nodes` has five bytes for each container and each run of leaves, in the order of a walk: the number of its kind, then
/// its arity in little-endian order. `slots` holds the Python objects of the nodes, one after the other.
#[pyfunction]
pub(crate) fn treespec_state<'py>(treespec: &Bound<'py, TreeSpec>) -> PyResult<Bound<'py, PyTuple>> {
    treespec.get().0.state(treespec.py())
}

/// The `TreeSpec` of such a state, which is checked like any stranger's data.
///
/// Raises `ValueError` for a state that is no structure.
#[pyfunction]
pub(crate) fn treespec_from_state(state: &Bound<'_, PyTuple>) -> PyResult<TreeSpec> {
    Graph::from_state(state.py(), state).map(TreeSpec)
}
