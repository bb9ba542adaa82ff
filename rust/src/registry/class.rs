//! What a class is to a walk.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::ffi::{self, TypeAddress};
use crate::structure::Kind;

/// What a walk does with the instances of a class.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Class {
    Leaf,
    /// A built-in container, or a namedtuple class.
    Builtin(Kind),
    /// A registered class, by the address of its registration, which the table keeps alive until it changes.
    Registered(Kind, ffi::Raw),
}

/// The addresses of the built-in containers that have no C name of their own.
pub(crate) struct Builtins {
    pub(crate) ordered_dict: Py<PyType>,
    pub(crate) default_dict: Py<PyType>,
    pub(crate) deque: Py<PyType>,
    none: TypeAddress,
}

static BUILTINS: PyOnceLock<Builtins> = PyOnceLock::new();

pub(crate) fn builtins(py: Python<'_>) -> PyResult<&'static Builtins> {
    BUILTINS.get_or_try_init(py, || {
        // The C module: importing the Python one would cost more than the rest of the package.
        let collections = py.import("_collections")?;
        let class =
            |name: &str| -> PyResult<Py<PyType>> { Ok(collections.getattr(name)?.cast_into::<PyType>()?.unbind()) };
        Ok(Builtins {
            ordered_dict: class("OrderedDict")?,
            default_dict: class("defaultdict")?,
            deque: class("deque")?,
            none: ffi::address_of(&py.None().bind(py).get_type()),
        })
    })
}

/// The kind of a built-in container class; `NoneType` counts as one.
pub(crate) fn builtin_kind(py: Python<'_>, class: TypeAddress) -> PyResult<Option<Kind>> {
    let builtins = builtins(py)?;
    let address = |cls: &Py<PyType>| ffi::address_of(cls.bind(py));
    let kinds = [
        (ffi::list_address(), Kind::List),
        (ffi::tuple_address(), Kind::Tuple),
        (ffi::dict_address(), Kind::Dict),
        (address(&builtins.ordered_dict), Kind::OrderedDict),
        (address(&builtins.default_dict), Kind::DefaultDict),
        (address(&builtins.deque), Kind::Deque),
        (builtins.none, Kind::None),
    ];
    Ok(kinds.into_iter().find_map(|(known, kind)| (known == class).then_some(kind)))
}
