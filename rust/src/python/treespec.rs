//! What a `TreeSpec` can do.

#![expect(clippy::doc_link_with_quotes, reason = "docstrings for Python")]

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyIndexError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple, PyType};

use crate::arguments;
use crate::errors::{self, counted, quote, text_of, type_error};
use crate::ffi::{RefVec, int_of, list_from, list_of, native, pair, tuple_of};
use crate::limits::{self, CALL, Interrupts, Nested};
use crate::spec::{Graph, TreeSpec, Where, wrong_result};
use crate::structure::Kind;
use crate::values;
use crate::walk::{self, Rules};

/// The characters of a repr that `IPython` shows: some 25 lines.
const LONGEST_SHOWN: usize = 2000;

fn spec_argument<'a, 'py>(argument: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, TreeSpec>> {
    argument
        .cast::<TreeSpec>()
        .map_err(|_| type_error(argument.py(), &format!("expected a TreeSpec, got {}", quote(argument))))
}

fn check_callable(caller: &str, name: &str, function: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match function {
        Some(function) if !function.is_callable() => {
            let message = format!("{caller} expects a function or None as {name}, got {}", quote(function));
            Err(type_error(function.py(), &message))
        }
        _ => Ok(()),
    }
}

/// What a call of a user's function gives; its exception gains a note with the place.
fn noted<'py>(
    py: Python<'py>,
    function: &str,
    place: Where<'_>,
    call: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    call().map_err(|raised| errors::noted(py, raised, place, |path| format!("by {function} {}", path.place())))
}

#[pymethods]
impl TreeSpec {
    /// The number of leaves.
    #[getter]
    fn num_leaves<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        int_of(py, self.0.num_leaves)
    }

    /// The number of nodes, containers and leaves alike.
    #[getter]
    fn num_nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        int_of(py, self.0.num_nodes())
    }

    /// The number of children of the root.
    #[getter]
    fn num_children<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        int_of(py, self.0.num_children())
    }

    /// What the root is: 'leaf', 'none', 'list', 'tuple', 'dict', 'ordereddict', 'defaultdict', 'deque', 'namedtuple',
    /// 'custom', 'dataclass' or 'static'.
    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        text_of(py, self.0.root().kind.name())
    }

    /// The class of the root; None for a leaf.
    #[getter]
    fn r#type<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyType>>> {
        self.0.class_of(py, 0)
    }

    /// What the root carries besides its children: the keys of a dict or OrderedDict as a tuple, `(factory, keys)` of a
    /// defaultdict, `maxlen` of a deque, the meta values of a dataclass, a static object, what a flatten function gave;
    /// else None. Lists, dicts and sets come as copies.
    #[getter]
    fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let root = self.0.root();
        let keys = |first: usize| {
            let keys = self.0.slots_of(root)[first..].iter().flatten();
            tuple_of(py, keys.map(|key| key.bind(py).clone()))
        };
        let slot =
            |number| self.0.slot(py, root, number).map_or_else(|| py.None().into_bound(py), pyo3::Borrowed::to_owned);
        Ok(match root.kind {
            Kind::Dict | Kind::OrderedDict => keys(0)?.into_any(),
            Kind::DefaultDict => pair(slot(0), keys(1)?)?.into_any(),
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
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.0.entries(py)
    }

    /// The path of every leaf as a tuple of entries, in the order of the leaves.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure({"a": [1, 2], "b": 3}).paths()
    /// [('a', 0), ('a', 1), ('b',)]
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list_of(py, self.0.paths(py)?.bind(py).iter())
    }

    /// The path of every leaf as a tuple of keys, in the order of the leaves; `keystr` writes one as text.
    ///
    /// >>> import clika_pytree as crt
    /// >>> [crt.keystr(path) for path in crt.tree_structure({"a": [1, 2], "b": 3}).key_paths()]
    /// ["['a'][0]", "['a'][1]", "['b']"]
    fn key_paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list_of(py, self.0.key_paths(py)?.bind(py).iter())
    }

    /// The structures of the root's children.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure([1, (2, 3)]).children()
    /// [TreeSpec(*), TreeSpec((*, *))]
    fn children<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut children = RefVec::with_room(self.0.num_children())?;
        let mut interrupts = Interrupts::new();
        for index in self.0.children_of(0) {
            interrupts.after(py, CALL / 64)?;
            // Objects before they are in a list: making one may start a collection, which must not see it half filled.
            children.push(Bound::new(py, Self(self.0.subtree(py, index)?))?.into_any())?;
        }
        list_from(py, &mut children, 0)
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
        let count = self.0.num_children();
        let number = arguments::index("index", index)?;
        let place =
            number.and_then(|number| if number < 0 { number.checked_add_unsigned(count) } else { Some(number) });
        let child =
            place.and_then(|place| usize::try_from(place).ok()).and_then(|place| self.0.children_of(0).nth(place));
        let Some(child) = child else {
            let index = number.map_or_else(String::new, |number| format!(" {number}"));
            let children = counted(count, "child", "children");
            return Err(PyIndexError::new_err(format!("index{index} is out of range: the node has {children}")));
        };
        self.0.subtree(py, child).map(Self)
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

    /// Whether this structure has another one at its top: `other.is_prefix(self)`.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure([1, (2, 3)]).is_suffix(crt.tree_structure([1, 2]))
    /// True
    fn is_suffix(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let other = spec_argument(other)?;
        other.get().0.is_prefix(other.py(), &self.0)
    }

    /// The structure in which two structures agree: where one has a leaf, it has what the other has there.
    ///
    /// Raises `StructureError`, naming the path, where both have containers that differ.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure([1, (2, 3)]).broadcast(crt.tree_structure([{"x": 1}, 2]))
    /// TreeSpec([{'x': *}, (*, *)])
    fn broadcast(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let other = spec_argument(other)?;
        self.0.broadcast(other.py(), &other.get().0).map(Self)
    }

    /// The structure with other nodes or leaves.
    ///
    /// Args:
    ///     f_node: called with the spec of each container, a leaf for every child; returns such a spec of as many leaves.
    ///     f_leaf: called with the spec of a leaf; returns any spec, which is put in its place.
    ///
    /// Either may be None, which changes nothing. Raises `StructureError` for a result that does not fit.
    ///
    /// >>> import clika_pytree as crt
    /// >>> pair = crt.tree_structure((0, 0))
    /// >>> crt.tree_structure([1, {"a": 2}]).transform(None, lambda leaf: pair)
    /// TreeSpec([(*, *), {'a': (*, *)}])
    #[pyo3(signature = (f_node=None, f_leaf=None))]
    fn transform(
        &self,
        py: Python<'_>,
        f_node: Option<&Bound<'_, PyAny>>,
        f_leaf: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        check_callable("transform()", "f_node", f_node)?;
        check_callable("transform()", "f_leaf", f_leaf)?;
        let ask = |name: &str, function: &Bound<'_, PyAny>, graph: Graph, place: Where<'_>| {
            let result = noted(py, name, place, || function.call1((Self(graph),)))?;
            match result.cast::<Self>() {
                Ok(spec) => spec.get().0.subtree(py, 0).map(Some),
                Err(_) => Err(wrong_result(name, &result, &place())),
            }
        };
        let node = |level: Graph, place: Where<'_>| match f_node {
            Some(f_node) => ask("f_node", f_node, level, place),
            None => Ok(None),
        };
        let leaf = |place: Where<'_>| match f_leaf {
            Some(f_leaf) => ask("f_leaf", f_leaf, Graph::leaf(py, self.0.none_is_leaf)?, place),
            None => Ok(None),
        };
        self.0.transform(py, &node, &leaf).map(Self)
    }

    /// Folds the structure from the leaves up.
    ///
    /// Args:
    ///     leaves: an iterable of as many leaves as it has.
    ///     f_node: called with class, context and the tuple of the children's results; None rebuilds the container.
    ///     f_leaf: called with each leaf first; None takes it as it is.
    ///
    /// Raises `LeafCountError` for another number of leaves.
    ///
    /// >>> import clika_pytree as crt
    /// >>> spec = crt.tree_structure([1, (2, 3)])
    /// >>> spec.walk([1, 2, 3], lambda cls, context, children: sum(children))
    /// 6
    #[pyo3(signature = (leaves, f_node=None, f_leaf=None))]
    fn walk<'py>(
        &self,
        leaves: &Bound<'py, PyAny>,
        f_node: Option<&Bound<'py, PyAny>>,
        f_leaf: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = leaves.py();
        check_callable("walk()", "f_node", f_node)?;
        check_callable("walk()", "f_leaf", f_leaf)?;
        let _nested = Nested::enter()?;
        let mut taken = walk::leaves_of(leaves, self.0.num_leaves)?;
        if let Some(f_leaf) = f_leaf {
            let mut interrupts = Interrupts::new();
            for (number, leaf) in taken.iter_mut().enumerate() {
                interrupts.after(py, CALL)?;
                *leaf = noted(py, "f_leaf", &|| self.0.path_of_leaf(py, number), || f_leaf.call1((&*leaf,)))?;
            }
        }
        let Some(f_node) = f_node else {
            return walk::unflatten(&self.0, list_of(py, taken)?.as_any());
        };
        self.0.fold(py, taken, |level, children, place| {
            let level = Self(level);
            let (class, context) = (level.r#type(py)?, level.context(py)?);
            noted(py, "f_node", place, || f_node.call1((class, context, children)))
        })
    }

    /// A digest of the structure, 32 hexadecimal digits: the same in every process, on every machine and Python version.
    ///
    /// For plain keys and contexts, two specs have the same digest just where they are equal. A class counts by its
    /// `serialized_type_name`, else by module and qualified name; a namedtuple or dataclass by the names of its fields too.
    /// Raises `PyTreeValueError`, naming class and path, for a local class, a name that does not lead back to the class,
    /// or a context that is not plain and has no `to_dumpable_context`.
    ///
    /// >>> import clika_pytree as crt
    /// >>> crt.tree_structure({"a": [1, 2]}).fingerprint() == crt.tree_structure({"a": [3, 4]}).fingerprint()
    /// True
    fn fingerprint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.fingerprint(py)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        operation: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<Self>() else {
            return Ok(py.NotImplemented().into_bound(py));
        };
        let (ours, theirs) = (&slf.get().0, &other.get().0);
        let equal = || ours.equal(slf.as_ptr() as usize, theirs, other.as_ptr() as usize, py);
        let answer = match operation {
            CompareOp::Eq => equal()?,
            CompareOp::Ne => !equal()?,
            CompareOp::Le => ours.is_prefix(py, theirs)?,
            CompareOp::Ge => theirs.is_prefix(py, ours)?,
            CompareOp::Lt => ours.is_prefix(py, theirs)? && !theirs.is_prefix(py, ours)?,
            CompareOp::Gt => theirs.is_prefix(py, ours)? && !ours.is_prefix(py, theirs)?,
        };
        Ok(answer.into_pyobject(py)?.to_owned().into_any())
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.get().0.hash(slf.py(), slf.as_ptr() as usize)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        text_of(py, &self.0.repr(py)?)
    }

    /// Its form for notebooks, of a bounded size.
    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        text_of(py, &self.0.html(py)?)
    }

    /// What `IPython` shows where it shows text: a long repr is cut, as a notebook keeps what it shows.
    fn _repr_pretty_(&self, printer: &Bound<'_, PyAny>, _cycle: bool) -> PyResult<()> {
        let py = printer.py();
        let text = self.0.repr(py)?;
        let shown = match text.char_indices().nth(LONGEST_SHOWN) {
            Some((end, _)) => {
                let leaves = counted(self.0.num_leaves, "leaf", "leaves");
                limits::joined(&[&text[..end], "… (", &leaves, "; print() shows all)"])?
            }
            None => text,
        };
        let arguments = tuple_of(py, std::iter::once(text_of(py, &shown)?.into_any()))?;
        printer.getattr(intern!(py, "text"))?.call1(arguments)?;
        Ok(())
    }

    /// Its own memory, without that of the objects it refers to.
    fn __sizeof__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let object: usize = slf.get_type().getattr(intern!(slf.py(), "__basicsize__"))?.extract()?;
        int_of(slf.py(), object + slf.get().0.size_of_arrays())
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

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let load = native(intern!(py, "treespec_from_state"))?;
        pair(load, pair(slf.get().0.state(py)?, slf.get().0.namedtuple_fields(py)?)?)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }
}
