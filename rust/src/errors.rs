//! The error family, and the words that say where in a tree something went wrong.

use pyo3::exceptions::{PyException, PyMemoryError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use std::sync::Arc;

mod notes;
mod printable;

pub(crate) use notes::noted;
pub(crate) use printable::{LONGEST_ESCAPE, printable, write_code};

/// The longest value that a message quotes, in characters.
pub(crate) const LONGEST_VALUE: usize = 80;
/// How many keys of a long path a message shows at each end.
const PATH_ENDS: usize = 4;

/// The classes of the family.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    Base,
    Value,
    Type,
    Structure,
    LeafCount,
    Circular,
    KeyOrder,
    Registration,
    Node,
    Context,
    Guard,
    UnregisteredNode,
    FileFormat,
}

struct Member {
    family: Family,
    name: &'static str,
    doc: &'static str,
}

const MEMBERS: [Member; 13] = [
    Member {
        family: Family::Base,
        name: "PyTreeError",
        doc: "Base of every error of this library.\n\n`path` is the key path at which it happened, as text (`\"['layers'][3].w\"`, `\"\"` for the root), or None.",
    },
    Member { family: Family::Value, name: "PyTreeValueError", doc: "A PyTreeError that is a ValueError." },
    Member { family: Family::Type, name: "PyTreeTypeError", doc: "A PyTreeError that is a TypeError." },
    Member { family: Family::Structure, name: "StructureError", doc: "Trees or specs that do not fit together." },
    Member {
        family: Family::LeafCount,
        name: "LeafCountError",
        doc: "A number of leaves that a structure has no place for.",
    },
    Member { family: Family::Circular, name: "CircularTreeError", doc: "A tree that contains itself." },
    Member {
        family: Family::KeyOrder,
        name: "KeyOrderError",
        doc: "Dict keys that can't be sorted, inside dict_insertion_ordered(False).",
    },
    Member {
        family: Family::Registration,
        name: "RegistrationError",
        doc: "A registration that was refused; nothing of it is left behind.",
    },
    Member {
        family: Family::Node,
        name: "NodeError",
        doc: "A flatten function that returned something other than (children, context) or (children, context, entries).",
    },
    Member {
        family: Family::Context,
        name: "ContextError",
        doc: "A context that has no usable == or hash, so its structure can't be compared or hashed.",
    },
    Member {
        family: Family::Guard,
        name: "GuardError",
        doc: "An argument of a compiled function that no guard can be made of, so that a later call can't be held against it.",
    },
    Member {
        family: Family::UnregisteredNode,
        name: "UnregisteredNodeError",
        doc: "An argument that holds tensors and whose class is not registered, so that they would be constants of the graph.",
    },
    Member {
        family: Family::FileFormat,
        name: "FileFormatError",
        doc: "A file that is not what `load` reads: damaged, cut short, of another kind, or of a newer version.",
    },
];

static CLASSES: PyOnceLock<Vec<Py<PyType>>> = PyOnceLock::new();

fn classes(py: Python<'_>) -> PyResult<&Vec<Py<PyType>>> {
    CLASSES.get_or_try_init(py, || {
        let mut made: Vec<Py<PyType>> = Vec::with_capacity(MEMBERS.len());
        for member in &MEMBERS {
            let made_already = |family: Family| made[family as usize].bind(py).clone();
            let bases = match member.family {
                Family::Base => PyTuple::new(py, [py.get_type::<PyException>()])?,
                Family::Value => PyTuple::new(py, [made_already(Family::Base), py.get_type::<PyValueError>()])?,
                Family::Type => PyTuple::new(py, [made_already(Family::Base), py.get_type::<PyTypeError>()])?,
                Family::Structure | Family::Circular | Family::KeyOrder | Family::Registration | Family::FileFormat => {
                    PyTuple::new(py, [made_already(Family::Value)])?
                }
                Family::LeafCount => PyTuple::new(py, [made_already(Family::Structure)])?,
                Family::Node | Family::Context | Family::Guard => PyTuple::new(py, [made_already(Family::Type)])?,
                Family::UnregisteredNode => PyTuple::new(py, [made_already(Family::Guard)])?,
            };
            let attributes = PyDict::new(py);
            attributes.set_item("__module__", "clika_pytree")?;
            attributes.set_item("__doc__", member.doc)?;
            if matches!(member.family, Family::Base) {
                attributes.set_item("path", py.None())?;
            }
            let cls = py.get_type::<PyType>().call1((member.name, bases, attributes))?;
            made.push(cls.cast_into::<PyType>()?.unbind());
        }
        Ok(made)
    })
}

/// The name of the attribute; `CPython`'s cache of look-ups keeps each str that it is asked for.
fn path_name(py: Python<'_>) -> &Bound<'_, PyString> {
    intern!(py, "path")
}

/// Adds the classes of the family to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // An error may be about memory, so what it takes is made before.
    path_name(module.py());
    notes::prepare(module.py());
    for (member, cls) in MEMBERS.iter().zip(classes(module.py())?) {
        module.add(member.name, cls)?;
    }
    Ok(())
}

/// A place in a tree, as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyPath {
    text: String,
    /// Where each entry ends in the text.
    ends: Vec<usize>,
    /// There was no memory for the rest.
    is_cut: bool,
    /// What ended the writing of a key and is none to be caught, as Ctrl-C: it is raised in place of any error there.
    interrupt: Option<Arc<PyErr>>,
}

impl KeyPath {
    pub(crate) fn new(entries: impl IntoIterator<Item = PyResult<String>>) -> Self {
        let mut path = Self::default();
        for entry in entries {
            match entry {
                Ok(entry) => path.is_cut = !path.push(&entry),
                Err(raised) => path.interrupt = Some(Arc::new(raised)),
            }
            if path.is_cut || path.interrupt.is_some() {
                break;
            }
        }
        path
    }

    /// What has to be raised in place of an error there.
    pub(crate) fn interrupt(&self, py: Python<'_>) -> Option<PyErr> {
        self.interrupt.as_ref().map(|raised| raised.clone_ref(py))
    }

    /// The path to something there.
    pub(crate) fn and(mut self, entry: &str) -> Self {
        self.is_cut |= !self.push(entry);
        self
    }

    /// Adds an entry where there is memory for it.
    fn push(&mut self, entry: &str) -> bool {
        if self.text.try_reserve(entry.len()).is_err() || self.ends.try_reserve(1).is_err() {
            return false;
        }
        self.text.push_str(entry);
        self.ends.push(self.text.len());
        true
    }

    /// The whole path: `['layers'][3].w`; nothing where there was no memory for it.
    pub(crate) fn full(&self) -> Option<&str> {
        (!self.is_cut).then_some(&self.text)
    }

    /// The entries in a range, each cut to what a message quotes.
    fn entries(&self, range: std::ops::Range<usize>) -> String {
        let start = |index: usize| if index == 0 { 0 } else { self.ends[index - 1] };
        range.map(|index| shorten(&self.text[start(index)..self.ends[index]])).collect()
    }

    /// Where it is, for a message: `at ['layers'][3].w`, `at the root`; the middle of a long path is left out.
    pub(crate) fn place(&self) -> String {
        let length = self.ends.len();
        let cut = if self.is_cut { "…" } else { "" };
        if length == 0 {
            return format!("at the root{cut}");
        }
        if length <= 2 * PATH_ENDS {
            return format!("at {}{cut}", self.entries(0..length));
        }
        let left_out = length - 2 * PATH_ENDS;
        let (first, last) = (self.entries(0..PATH_ENDS), self.entries(length - PATH_ENDS..length));
        format!("at {first}…({left_out} more)…{last}{cut}")
    }
}

/// Cuts text to the length that a message quotes, on one line.
pub(crate) fn shorten(text: &str) -> String {
    let start: String =
        text.chars().take(LONGEST_VALUE + 1).map(|char| if char == '\n' { ' ' } else { char }).collect();
    let shown = printable(&start);
    if shown.chars().count() <= LONGEST_VALUE {
        return shown;
    }
    shown.chars().take(LONGEST_VALUE - 1).chain(['…']).collect()
}

/// What a message says of a value: its repr where that is short and safe to ask for, else its class.
pub(crate) fn quote(value: &Bound<'_, PyAny>) -> String {
    if is_plain(value)
        && let Ok(text) = value.repr()
    {
        return shorten(&text.to_string_lossy());
    }
    match value.cast::<PyType>() {
        Ok(cls) => format!("the class {}", class_name(cls)),
        Err(_) => with_article(&class_name(&value.get_type())),
    }
}

/// The bare name of a class.
pub(crate) fn class_name(cls: &Bound<'_, PyType>) -> String {
    cls.name().map_or_else(|_| "object".to_owned(), |name| printable(&name.to_string_lossy()))
}

/// `1 leaf`, `2 leaves`.
pub(crate) fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// `a list`, `an Array`, `a Unit`: as it is spoken.
pub(crate) fn with_article(noun: &str) -> String {
    let text = noun.to_lowercase();
    let vowel = if text.len() == 1 {
        "aefhilmnorsx".contains(&text)
    } else {
        let consonant = ["eu", "one", "uni", "use", "uti"].iter().any(|start| text.starts_with(start));
        text == "ndarray" || (text.starts_with(['a', 'e', 'i', 'o', 'u']) && !consonant)
    };
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

/// The repr of a key or context, cut; one that fails is left out.
pub(crate) fn show(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.repr() {
        Ok(text) => Ok(shorten(&text.to_string_lossy())),
        Err(raised) => left_out(value.py(), raised).map(|()| quote(value)),
    }
}

/// Leaves out an exception of the user's code where an answer does without it; raises what is none to be caught, as Ctrl-C.
pub(crate) fn left_out(py: Python<'_>, raised: PyErr) -> PyResult<()> {
    if raised.is_instance_of::<PyException>(py) { Ok(()) } else { Err(raised) }
}

/// Whether `repr` of it is quick and runs no user code.
fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt};
    const LONGEST_TEXT: usize = 10_000;
    value.is_none()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.cast_exact::<PyInt>().is_ok_and(|int| int.extract::<i128>().is_ok())
        || value.cast_exact::<PyString>().is_ok_and(|text| text.len().is_ok_and(|length| length < LONGEST_TEXT))
        || value.cast_exact::<PyBytes>().is_ok_and(|bytes| bytes.as_bytes().len() < LONGEST_TEXT)
}

/// An error of the family; `path` also becomes its attribute. Where its words were interrupted, the interrupt.
#[cold]
pub(crate) fn error(py: Python<'_>, family: Family, path: Option<&KeyPath>, message: &str) -> PyErr {
    if let Some(interrupt) = path.and_then(|path| path.interrupt(py)) {
        return interrupt;
    }
    let make = || -> PyResult<PyErr> {
        let cls = classes(py)?[family as usize].bind(py);
        let instance = cls.call1((text_of(py, message)?,))?;
        if let Some(path) = path.and_then(KeyPath::full) {
            instance.setattr(path_name(py), text_of(py, path)?)?;
        }
        Ok(PyErr::from_value(instance))
    };
    make().unwrap_or_else(|failure| failure)
}

/// A `PyTreeTypeError`: an argument of the wrong sort.
#[cold]
pub(crate) fn type_error(py: Python<'_>, message: &str) -> PyErr {
    error(py, Family::Type, None, message)
}

/// What is said where memory was asked for and not given.
#[cold]
pub(crate) fn no_memory<Refusal>(_refused: Refusal) -> PyErr {
    PyMemoryError::new_err("clika_pytree: not enough memory for this tree")
}

/// Whether so much memory can be had. Words are put together without asking for each, and what is kept for them where
/// memory has ended is small.
pub(crate) fn has_room(bytes: usize) -> bool {
    let mut room: Vec<u8> = Vec::new();
    let has_room = room.try_reserve_exact(bytes).is_ok();
    std::hint::black_box(room);
    has_room
}

/// A str, or a `MemoryError`: `PyString::new` and `intern!` panic where there is no memory for one.
pub(crate) fn text_of<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    PyString::from_bytes(py, text.as_bytes())
}
