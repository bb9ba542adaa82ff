//! What a graph may take for granted of a tensor: dtype, sizes, and how it lies in memory.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple, PyType};

use crate::errors::{Family, error, left_out, show};
use crate::ffi::{self, Array, Elements, Exchange, Raw, with_array};
use crate::limits::write;
use crate::structure::Mixer;

/// Where the facts of the instances of a class are read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reading {
    /// From the array itself: numpy's class, or (`false`) a subclass.
    Array(bool),
    /// By a C function of the class, and the dtype from its attribute.
    Exchange(Exchange),
    /// From the attributes `dtype` and `shape`.
    Attributes,
    /// From those of an attribute, and from others of it that its runtime names in a tuple of str, the attribute first.
    Described(Raw),
}

impl Reading {
    /// How a class of tensors is read that its runtime does not describe.
    pub(super) fn of(cls: &Bound<'_, PyType>) -> PyResult<Self> {
        let py = cls.py();
        let otherwise = || Exchange::of(cls).map_or(Self::Attributes, Self::Exchange);
        let Some(ndarray) = ffi::loaded(intern!(py, "numpy"), intern!(py, "ndarray"))? else { return Ok(otherwise()) };
        let Ok(ndarray) = ndarray.cast_into::<PyType>() else { return Ok(otherwise()) };
        // By the layout of its instances, not by what `__subclasscheck__` says.
        let is_array = cls.mro().iter().any(|base| base.is(&ndarray));
        if !is_array {
            return Ok(otherwise());
        }
        if !ffi::array_layout_is_known(&ndarray) {
            return Ok(Self::Attributes);
        }
        Ok(Self::Array(cls.is(&ndarray)))
    }
}

/// How an array lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Rows one after the other.
    C,
    /// Columns one after the other.
    F,
    /// Gaps, a subclass, or memory that is not aligned.
    Other,
}

impl Layout {
    /// How an array lies; `is_exact` says that it is one of numpy's own class.
    pub(super) fn of(array: &Array<'_>, is_exact: bool) -> Self {
        match (is_exact && array.is_aligned(), array.is_c_contiguous(), array.is_f_contiguous()) {
            (true, true, _) => Self::C,
            (true, false, true) => Self::F,
            _ => Self::Other,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::F => "F",
            Self::Other => "other",
        }
    }

    /// The layout that a recorder names.
    pub(super) fn from_name(name: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if name.is_none() {
            return Ok(None);
        }
        let text = name.cast::<PyString>().map(|text| text.to_string_lossy().into_owned());
        match text.as_deref() {
            Ok("C") => Ok(Some(Self::C)),
            Ok("F") => Ok(Some(Self::F)),
            Ok("other") => Ok(Some(Self::Other)),
            _ => {
                let found = crate::errors::quote(name);
                let message = format!("the layout of a fact must be 'C', 'F', 'other' or None, got {found}");
                Err(error(name.py(), Family::Value, None, &message))
            }
        }
    }
}

/// The facts of one tensor.
pub(super) struct Facts {
    pub(super) dtype: Py<PyAny>,
    pub(super) shape: Vec<isize>,
    pub(super) layout: Layout,
    pub(super) description: Option<Description>,
    /// What the elements are, where a C function says so.
    pub(super) elements: Option<Elements>,
}

/// What a tensor's runtime describes it by: an object that tensors which are alike have in common, for the most part, or
/// that is equal.
pub(super) struct Description {
    pub(super) object: Py<PyAny>,
    /// The names by which it was read.
    pub(super) names: Py<PyTuple>,
    /// What counts beside dtype and sizes.
    rest: Py<PyTuple>,
}

impl Description {
    fn of<'py>(tensor: &Bound<'py, PyAny>, names: &Bound<'py, PyTuple>) -> PyResult<(Bound<'py, PyAny>, Self)> {
        let object = described(tensor, names)?;
        let rest = names.iter().skip(1).map(|name| object.getattr(name.cast_into::<PyString>()?));
        let rest = PyTuple::new(tensor.py(), rest.collect::<PyResult<Vec<_>>>()?)?.unbind();
        let (held, names) = (object.clone().unbind(), names.clone().unbind());
        Ok((object, Self { object: held, names, rest }))
    }

    /// Whether another tensor is alike in what counts beside dtype and sizes.
    pub(super) fn same_rest(&self, other: &Self, py: Python<'_>) -> PyResult<bool> {
        self.rest.bind(py).eq(other.rest.bind(py))
    }

    /// `, weak_type` for what counts beside dtype and sizes, where it is so.
    pub(super) fn text(&self, py: Python<'_>) -> PyResult<String> {
        let named = self.names.bind(py).iter().skip(1).zip(self.rest.bind(py));
        let mut text = String::new();
        for (name, value) in named {
            if value.is(PyBool::new(py, true)) {
                write(&mut text, &format!(", {name}"))?;
            } else if value.is_truthy().or_else(|raised| left_out(py, raised).map(|()| true))? {
                write(&mut text, &format!(", {name} {}", show(&value)?))?;
            }
        }
        Ok(text)
    }

    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { object: self.object.clone_ref(py), names: self.names.clone_ref(py), rest: self.rest.clone_ref(py) }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)?;
        visit.call(&self.names)?;
        visit.call(&self.rest)
    }
}

/// The object that a tensor is described by.
#[inline]
pub(super) fn described<'py>(tensor: &Bound<'py, PyAny>, names: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    tensor.getattr(names.get_item(0)?.cast_into::<PyString>()?)
}

impl Facts {
    /// The facts of a tensor.
    pub(super) fn of(tensor: &Bound<'_, PyAny>, reading: Reading) -> PyResult<Self> {
        let py = tensor.py();
        if let Reading::Array(is_exact) = reading {
            return Ok(with_array(ffi::raw(tensor), |array| Self {
                dtype: ffi::own(py, array.descr).unbind(),
                shape: array.sizes.to_vec(),
                layout: Layout::of(array, is_exact),
                description: None,
                elements: None,
            }));
        }
        if let Reading::Exchange(exchange) = reading
            && let Some((elements, shape)) =
                exchange.look(py, ffi::raw(tensor), |elements, sizes| (elements, sizes.to_vec()))
        {
            let dtype = tensor.getattr(intern!(py, "dtype"))?.unbind();
            return Ok(Self { dtype, shape, layout: Layout::Other, description: None, elements: Some(elements) });
        }
        let (tensor, description) = match reading {
            Reading::Described(names) => {
                let (object, description) = Description::of(tensor, ffi::own(py, names).cast::<PyTuple>()?)?;
                (object, Some(description))
            }
            _ => (tensor.clone(), None),
        };
        let dtype = tensor.getattr(intern!(py, "dtype"))?.unbind();
        Ok(Self { dtype, shape: shape_of(&tensor)?, layout: Layout::Other, description, elements: None })
    }
}

/// A dtype as a message writes it, without the library that it is of.
pub(super) fn dtype_text(dtype: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = match dtype.str() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(raised) => left_out(dtype.py(), raised).map(|()| "tensor".to_owned())?,
    };
    Ok(match text.rsplit_once('.') {
        Some((library, name)) if is_dotted(library) && is_dotted(name) => name.to_owned(),
        _ => text,
    })
}

fn is_dotted(text: &str) -> bool {
    text.chars().all(|char| char.is_alphanumeric() || char == '_' || char == '.')
}

fn shape_of(tensor: &Bound<'_, PyAny>) -> PyResult<Vec<isize>> {
    let shape = tensor.getattr(intern!(tensor.py(), "shape"))?;
    match shape.cast_exact::<PyTuple>() {
        Ok(shape) => shape.iter().map(|size| size_of(&size)).collect(),
        Err(_) => shape.try_iter()?.map(|size| size_of(&size?)).collect(),
    }
}

/// A size, which no graph is made for where it is a symbol.
fn size_of(size: &Bound<'_, PyAny>) -> PyResult<isize> {
    size.extract().or_else(|raised| left_out(size.py(), raised).map(|()| -1))
}

/// Whether two dtypes are the same; most are the same object.
pub(super) fn same_dtype(ours: &Bound<'_, PyAny>, theirs: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(ours.is(theirs) || ours.get_type().is(theirs.get_type()) && ours.eq(theirs)?)
}

/// The hash of a dtype: its own, or its class's where it has none.
pub(super) fn mix_dtype(mixer: &mut Mixer, dtype: &Bound<'_, PyAny>) -> PyResult<()> {
    mixer.add(match dtype.hash() {
        Ok(hash) => hash.cast_unsigned() as u64,
        Err(raised) => left_out(dtype.py(), raised).map(|()| ffi::address_of(&dtype.get_type()) as u64)?,
    });
    Ok(())
}

/// `float32[3, *]`: an axis whose size is free is a star.
pub(super) fn shape_text(dtype: &str, sizes: impl IntoIterator<Item = Option<isize>>) -> String {
    let sizes: Vec<String> =
        sizes.into_iter().map(|size| size.map_or_else(|| "*".to_owned(), |size| size.to_string())).collect();
    format!("{dtype}[{}]", sizes.join(", "))
}
