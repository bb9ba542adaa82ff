//! What one leaf of a call has to be.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::facts::{Facts, Layout, Reading, mix_dtype, same_dtype, shape_text, with_array};
use super::runtimes::TensorClass;
use super::statics::Static;
use crate::errors::{class_name, with_article};
use crate::ffi::{self, Raw};
use crate::structure::Mixer;
use crate::values::Unusable;

/// A tensor of a call.
pub(super) struct Tensor {
    pub(super) class: Py<PyType>,
    pub(super) runtime: Py<PyAny>,
    reading: Reading,
    /// None where the runtime has guards of its own.
    pub(super) facts: Option<Facts>,
    dtype_hash: u64,
}

impl Tensor {
    pub(super) fn of(tensor: &Bound<'_, PyAny>, class: TensorClass) -> PyResult<Self> {
        let py = tensor.py();
        let runtime = ffi::own(py, class.runtime).unbind();
        let facts = if class.own_guards { None } else { Some(Facts::of(tensor, class.reading)?) };
        let mut mixer = Mixer::new(0);
        if let Some(facts) = &facts {
            mix_dtype(&mut mixer, facts.dtype.bind(py));
        }
        let class_of_tensor = tensor.get_type().unbind();
        Ok(Self { class: class_of_tensor, runtime, reading: class.reading, facts, dtype_hash: mixer.finish() })
    }

    /// Mixes in what is watched of it.
    pub(super) fn mix(&self, mixer: &mut Mixer, watched: &Watched) {
        mixer.add(self.class.as_ptr() as u64);
        let (Watched::Facts { layout, sizes }, Some(facts)) = (watched, &self.facts) else { return };
        mixer.add(self.dtype_hash);
        mixer.add(facts.shape.len() as u64);
        if *layout {
            mixer.add(facts.layout as u64);
        }
        let mut size =
            |axis: usize| mixer.add(facts.shape.get(axis).map_or(u64::MAX, |size| size.cast_unsigned() as u64));
        match sizes {
            Axes::All => (0..facts.shape.len()).for_each(&mut size),
            Axes::Some(axes) => axes.iter().copied().for_each(&mut size),
        }
    }

    /// The guard for what is watched of it.
    pub(super) fn guard(&self, py: Python<'_>, watched: &Watched, forced: &[(usize, isize)]) -> Guard {
        let class = self.class.clone_ref(py);
        let runtime = self.runtime.clone_ref(py);
        let (Watched::Facts { layout, sizes }, Some(facts)) = (watched, &self.facts) else {
            return Guard::Class { class, runtime };
        };
        let sizes = match sizes {
            Axes::All => Sizes::All(facts.shape.clone().into_boxed_slice()),
            Axes::Some(_) => Sizes::Some { ndim: facts.shape.len(), forced: forced.into() },
        };
        let dtype = facts.dtype.clone_ref(py);
        let layout = layout.then_some(facts.layout);
        Guard::Tensor(Box::new(TensorGuard { class, runtime, reading: self.reading, dtype, layout, sizes }))
    }

    /// The tensor in words, as far as a guard looks: `float32[2, 3]`.
    pub(super) fn text(&self, py: Python<'_>, guard: &Guard) -> String {
        let class = class_name(self.class.bind(py));
        let Some(facts) = &self.facts else { return class };
        let text = shape_text(&facts.dtype_text(py), facts.shape.iter().copied().map(Some));
        match guard {
            Guard::Class { .. } => class,
            Guard::Tensor(guard) if !guard.class.is(&self.class) => format!("{text}, {}", with_article(&class)),
            Guard::Tensor(guard) if guard.layout.is_some() => format!("{text} in {} order", facts.layout.name()),
            _ => text,
        }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.class)?;
        visit.call(&self.runtime)?;
        visit.call(self.facts.as_ref().map(|facts| &facts.dtype))
    }
}

/// Which sizes of a tensor are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Axes {
    All,
    Some(Box<[usize]>),
}

/// What is watched of a tensor: its class alone, or its dtype and number of axes too, its layout where that counts, and
/// sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Watched {
    Class,
    Facts { layout: bool, sizes: Axes },
}

/// The hash of all that is watched of some tensors.
pub(super) fn hash_of_facts(tensors: &[Tensor], mask: &[Watched]) -> u64 {
    let mut mixer = Mixer::new(mask.len() as u64);
    for (tensor, watched) in tensors.iter().zip(mask) {
        tensor.mix(&mut mixer, watched);
    }
    mixer.finish()
}

enum Sizes {
    All(Box<[isize]>),
    Some { ndim: usize, forced: Box<[(usize, isize)]> },
}

impl Sizes {
    #[inline]
    fn hold(&self, sizes: &[isize]) -> bool {
        match self {
            Self::All(expected) => sizes == &**expected,
            Self::Some { ndim, forced } => {
                sizes.len() == *ndim && forced.iter().all(|(axis, size)| sizes.get(*axis) == Some(size))
            }
        }
    }
}

pub(super) struct TensorGuard {
    class: Py<PyType>,
    runtime: Py<PyAny>,
    reading: Reading,
    dtype: Py<PyAny>,
    layout: Option<Layout>,
    sizes: Sizes,
}

impl TensorGuard {
    #[inline]
    fn holds(&self, py: Python<'_>, tensor: Raw) -> PyResult<bool> {
        if ffi::class_of(tensor).as_ptr() != self.class.as_ptr() {
            return Ok(false);
        }
        let Reading::Array(is_exact) = self.reading else { return self.attributes_hold(&ffi::own(py, tensor)) };
        let other_dtype = with_array(tensor, is_exact, |descr, sizes, layout| {
            if !self.sizes.hold(sizes) || self.layout.is_some_and(|expected| expected != layout) {
                return Some(None);
            }
            // Of one dtype there may be several objects.
            if descr.as_ptr() == self.dtype.as_ptr() { None } else { Some(Some(ffi::own(py, descr))) }
        });
        match other_dtype {
            None => Ok(true),
            Some(None) => Ok(false),
            Some(Some(dtype)) => same_dtype(self.dtype.bind(py), &dtype),
        }
    }

    fn attributes_hold(&self, tensor: &Bound<'_, PyAny>) -> PyResult<bool> {
        let facts = Facts::of(tensor, self.reading)?;
        Ok(self.sizes.hold(&facts.shape)
            && self.layout.is_none_or(|layout| layout == facts.layout)
            && same_dtype(self.dtype.bind(tensor.py()), facts.dtype.bind(tensor.py()))?)
    }

    /// `float32[2, *]`: a free size is a star.
    fn text(&self, py: Python<'_>) -> String {
        let sizes: Vec<Option<isize>> = match &self.sizes {
            Sizes::All(sizes) => sizes.iter().copied().map(Some).collect(),
            Sizes::Some { ndim, forced } => {
                let forced_size = |axis| forced.iter().find(|(forced, _)| *forced == axis).map(|(_, size)| *size);
                (0..*ndim).map(forced_size).collect()
            }
        };
        let dtype = self.dtype.bind(py).str().map_or_else(|_| "tensor".to_owned(), |text| text.to_string());
        let text = shape_text(&dtype, sizes);
        match self.layout {
            Some(layout) => format!("{text} in {} order", layout.name()),
            None => text,
        }
    }
}

/// What a leaf has to be.
pub(super) enum Guard {
    Static(Static),
    /// A tensor of this class: the graph only hands it on, or holds it against guards of its own.
    Class {
        class: Py<PyType>,
        runtime: Py<PyAny>,
    },
    Tensor(Box<TensorGuard>),
}

impl Guard {
    #[inline]
    pub(super) fn holds(&self, py: Python<'_>, leaf: Raw) -> Result<bool, Unusable> {
        match self {
            Self::Tensor(guard) => Ok(guard.holds(py, leaf)?),
            Self::Class { class, .. } => Ok(ffi::class_of(leaf).as_ptr() == class.as_ptr()),
            Self::Static(value) => value.holds(py, leaf),
        }
    }

    /// The runtime of the tensor, nothing for a value.
    pub(super) fn runtime(&self) -> Option<&Py<PyAny>> {
        match self {
            Self::Static(_) => None,
            Self::Class { runtime, .. } => Some(runtime),
            Self::Tensor(guard) => Some(&guard.runtime),
        }
    }

    pub(super) fn is_tensor(&self) -> bool {
        !matches!(self, Self::Static(_))
    }

    /// What it asks, in words.
    pub(super) fn text(&self, py: Python<'_>) -> String {
        match self {
            Self::Static(value) => crate::errors::show(value.object.bind(py)),
            Self::Class { class, .. } => class_name(class.bind(py)),
            Self::Tensor(guard) => guard.text(py),
        }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Self::Static(value) => value.traverse(visit),
            Self::Class { class, runtime } => {
                visit.call(class)?;
                visit.call(runtime)
            }
            Self::Tensor(guard) => {
                visit.call(&guard.class)?;
                visit.call(&guard.runtime)?;
                visit.call(&guard.dtype)
            }
        }
    }
}
