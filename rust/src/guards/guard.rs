//! What one leaf of a call has to be.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::facts::{Description, Facts, Layout, Reading, described, dtype_text, mix_dtype, same_dtype, shape_text};
use super::runtimes::TensorClass;
use super::statics::Static;
use crate::errors::{class_name, with_article};
use crate::ffi::{self, ArrayFlags, Elements, Raw, with_array};
use crate::limits::Grow;
use crate::structure::Mixer;
use crate::values::Unusable;

/// A tensor of a call.
pub(super) struct Tensor {
    pub(super) class: Py<PyType>,
    pub(super) runtime: Py<PyAny>,
    reading: Reading,
    /// None where they were not read.
    pub(super) facts: Option<Facts>,
    dtype_hash: u64,
}

impl Tensor {
    /// A tensor of a call; its facts are read where its runtime has no guards of its own, or where that is asked for.
    pub(super) fn of(tensor: &Bound<'_, PyAny>, class: TensorClass, reads_facts: bool) -> PyResult<Self> {
        let py = tensor.py();
        let runtime = ffi::own(py, class.runtime).unbind();
        let is_read = reads_facts || !class.own_guards;
        let facts = if is_read { Some(Facts::of(tensor, class.reading)?) } else { None };
        let mut mixer = Mixer::new(0);
        if let Some(facts) = &facts {
            mix_dtype(&mut mixer, facts.dtype.bind(py))?;
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

    /// The guard for what is watched of it; the sizes it asks for go to the end of those of the other guards.
    pub(super) fn guard(
        &self,
        py: Python<'_>,
        watched: &Watched,
        forced: &[(usize, isize)],
        sizes: &mut Vec<isize>,
    ) -> PyResult<Guard> {
        let class = self.class.clone_ref(py);
        let runtime = self.runtime.clone_ref(py);
        let (Watched::Facts { layout, sizes: axes }, Some(facts)) = (watched, &self.facts) else {
            return Ok(Guard::Class { class, runtime });
        };
        let start = sizes.len();
        match axes {
            Axes::All => sizes.grow_by(facts.shape.iter().copied())?,
            Axes::Some(_) => {
                let forced_size = |axis| forced.iter().find(|(forced, _)| *forced == axis).map(|(_, size)| *size);
                sizes.grow_by((0..facts.shape.len()).map(|axis| forced_size(axis).unwrap_or(FREE)))?;
            }
        }
        let layout = layout.then_some(facts.layout);
        let flags = match (self.reading, layout) {
            (Reading::Exchange(_) | Reading::Attributes | Reading::Described(_), _) | (_, Some(Layout::Other)) => None,
            (Reading::Array(_), None) => Some(ArrayFlags::ANY),
            (Reading::Array(_), Some(Layout::C)) => Some(ArrayFlags::ROWS),
            (Reading::Array(_), Some(Layout::F)) => Some(ArrayFlags::COLUMNS),
        };
        Ok(Guard::Tensor(TensorGuard {
            class,
            runtime,
            dtype: facts.dtype.clone_ref(py),
            start,
            ndim: facts.shape.len(),
            layout,
            reading: self.reading,
            flags,
            description: facts.description.as_ref().map(|description| description.clone_ref(py)),
            elements: facts.elements,
        }))
    }

    /// The tensor in words, as far as a guard looks where there is one: `float32[2, 3]`.
    pub(super) fn text(&self, py: Python<'_>, guard: Option<&Guard>) -> PyResult<String> {
        let class = class_name(self.class.bind(py));
        let Some(facts) = &self.facts else { return Ok(class) };
        let text = shape_text(&dtype_text(facts.dtype.bind(py))?, facts.shape.iter().copied().map(Some));
        let text =
            text + &facts.description.as_ref().map_or_else(|| Ok(String::new()), |description| description.text(py))?;
        Ok(match guard {
            Some(Guard::Class { .. }) => class,
            Some(Guard::Tensor(guard)) if !guard.class.is(&self.class) => format!("{text}, {}", with_article(&class)),
            Some(Guard::Tensor(guard)) if guard.layout.is_some() => format!("{text} in {} order", facts.layout.name()),
            _ => text,
        })
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.class)?;
        visit.call(&self.runtime)?;
        let Some(facts) = &self.facts else { return Ok(()) };
        visit.call(&facts.dtype)?;
        facts.description.as_ref().map_or(Ok(()), |description| description.traverse(visit))
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

/// Stands for a size that may be any.
const FREE: isize = isize::MIN;

/// What a tensor has to be.
pub(super) struct TensorGuard {
    class: Py<PyType>,
    runtime: Py<PyAny>,
    dtype: Py<PyAny>,
    /// Where its sizes begin among those of all guards of the entry, and how many there are.
    start: usize,
    ndim: usize,
    layout: Option<Layout>,
    reading: Reading,
    /// The flags that say so of an array that is read in place; nothing where flags do not say all.
    flags: Option<ArrayFlags>,
    /// That of the tensor it was made for, where its runtime describes tensors.
    description: Option<Description>,
    /// Those of the tensor it was made for, where a C function says so.
    elements: Option<Elements>,
}

impl TensorGuard {
    #[inline]
    fn sizes<'a>(&self, sizes: &'a [isize]) -> &'a [isize] {
        &sizes[self.start..self.start + self.ndim]
    }

    #[inline]
    fn shape_holds(&self, asked: &[isize], shape: &[isize]) -> bool {
        // One by one: a call that compares memory takes longer for so few.
        shape.len() == self.ndim
            && self.sizes(asked).iter().zip(shape).all(|(asked, size)| asked == size || *asked == FREE)
    }

    #[inline]
    fn at_sight(&self, py: Python<'_>, tensor: Raw, sizes: &[isize]) -> Option<bool> {
        if ffi::class_of(tensor).as_ptr() != self.class.as_ptr() {
            return Some(false);
        }
        if let (Reading::Exchange(exchange), Some(ours)) = (self.reading, self.elements) {
            return exchange.look(py, tensor, |elements, shape| elements == ours && self.shape_holds(sizes, shape));
        }
        let flags = self.flags?;
        with_array(tensor, |array| {
            if !array.has(flags) || !self.shape_holds(sizes, array.sizes) {
                return Some(false);
            }
            // Of one dtype there may be several objects.
            (array.descr.as_ptr() == self.dtype.as_ptr()).then_some(true)
        })
    }

    #[cold]
    fn attributes_hold(&self, tensor: &Bound<'_, PyAny>, sizes: &[isize]) -> PyResult<bool> {
        let py = tensor.py();
        if let Some(ours) = &self.description {
            let theirs = described(tensor, ours.names.bind(py))?;
            if theirs.is(&ours.object) {
                return Ok(true);
            }
            if !self.sizes(sizes).contains(&FREE) {
                return theirs.eq(&ours.object);
            }
        }
        let facts = Facts::of(tensor, self.reading)?;
        if let Some((ours, theirs)) = self.description.as_ref().zip(facts.description.as_ref())
            && !ours.same_rest(theirs, py)?
        {
            return Ok(false);
        }
        Ok(self.shape_holds(sizes, &facts.shape)
            && self.layout.is_none_or(|layout| layout == facts.layout)
            && same_dtype(self.dtype.bind(py), facts.dtype.bind(py))?)
    }

    /// `float32[2, *]`: a free size is a star.
    fn text(&self, py: Python<'_>, sizes: &[isize]) -> PyResult<String> {
        let sizes = self.sizes(sizes).iter().map(|size| (*size != FREE).then_some(*size));
        let text = shape_text(&dtype_text(self.dtype.bind(py))?, sizes);
        let text =
            text + &self.description.as_ref().map_or_else(|| Ok(String::new()), |description| description.text(py))?;
        Ok(match self.layout {
            Some(layout) => format!("{text} in {} order", layout.name()),
            None => text,
        })
    }
}

/// What a leaf has to be.
pub(super) enum Guard {
    Static(Box<Static>),
    /// A tensor of this class: the graph only hands it on, or holds it against guards of its own.
    Class {
        class: Py<PyType>,
        runtime: Py<PyAny>,
    },
    Tensor(TensorGuard),
}

impl Guard {
    /// Whether a leaf is a tensor of the class that it has to be; nothing for a value.
    #[inline]
    pub(super) fn class_holds(&self, leaf: Raw) -> Option<bool> {
        match self {
            Self::Static(_) => None,
            Self::Tensor(TensorGuard { class, .. }) | Self::Class { class, .. } => {
                Some(ffi::class_of(leaf).as_ptr() == class.as_ptr())
            }
        }
    }

    /// Whether a leaf is what it has to be, where that can be seen without running Python code.
    #[inline]
    pub(super) fn at_sight(&self, py: Python<'_>, leaf: Raw, sizes: &[isize]) -> Option<bool> {
        match self {
            Self::Tensor(guard) => guard.at_sight(py, leaf, sizes),
            Self::Class { class, .. } => Some(ffi::class_of(leaf).as_ptr() == class.as_ptr()),
            Self::Static(value) => value.at_sight(leaf),
        }
    }

    /// Whether a leaf is what it has to be.
    #[cold]
    #[inline(never)]
    pub(super) fn holds(&self, leaf: &Bound<'_, PyAny>, sizes: &[isize]) -> Result<bool, Unusable> {
        match (self.at_sight(leaf.py(), ffi::raw(leaf), sizes), self) {
            (Some(holds), _) => Ok(holds),
            (None, Self::Static(value)) => value.holds(leaf),
            (None, Self::Tensor(guard)) => Ok(guard.attributes_hold(leaf, sizes)?),
            (None, Self::Class { .. }) => Ok(false),
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
    pub(super) fn text(&self, py: Python<'_>, sizes: &[isize]) -> PyResult<String> {
        match self {
            Self::Static(value) => crate::errors::show(value.object.bind(py)),
            Self::Class { class, .. } => Ok(class_name(class.bind(py))),
            Self::Tensor(guard) => guard.text(py, sizes),
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
                visit.call(&guard.dtype)?;
                guard.description.as_ref().map_or(Ok(()), |description| description.traverse(visit))
            }
        }
    }
}
