//! The printed form of a structure.

use std::cell::RefCell;

use pyo3::exceptions::PyRecursionError;
use pyo3::intern;
use pyo3::prelude::*;

use super::{Graph, Place, entry_of};
use crate::errors::{no_memory, printable, shorten};
use crate::limits::{Grow, Interrupts, write};
use crate::registry::Registration;
use crate::structure::{Kind, Node};

/// A child's key is printed by its own repr, which takes some steps' time.
const PER_CHILD: usize = 8;

/// More than a message shows of a structure, in bytes.
const EXCERPT: usize = 1000;

/// How many structures may be printed by the contexts of one another: each takes a kilobyte or two of the stack.
const MOST_NESTED: usize = 64;

thread_local! {
    /// The structures that this thread is printing: contexts print what they hold, and that may be a structure.
    static PRINTED: RefCell<Printed> = const { RefCell::new(Printed { addresses: [0; MOST_NESTED], count: 0 }) };
}

/// Structures by their addresses, the innermost last. In a place of its own, which nobody has to be told the end of.
struct Printed {
    addresses: [usize; MOST_NESTED],
    count: usize,
}

/// The innermost structure that is being printed.
struct Printing;

impl Printing {
    /// None where there are too many.
    fn enter(address: usize) -> Option<Self> {
        PRINTED.with_borrow_mut(|printed| {
            *printed.addresses.get_mut(printed.count)? = address;
            printed.count += 1;
            Some(Self)
        })
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        PRINTED.with_borrow_mut(|printed| printed.count -= 1);
    }
}

impl Graph {
    /// `TreeSpec({'a': [*, (*, *)], 'b': *})`, with the mode and the namespace where they are not the usual ones. What
    /// contains itself prints as `TreeSpec(...)` there.
    pub(crate) fn repr(&self, py: Python<'_>) -> PyResult<String> {
        self.print_unless_open(py, usize::MAX)
    }

    /// The beginning of that, for a message: the structure may be of any size.
    pub(super) fn excerpt(&self, py: Python<'_>) -> PyResult<String> {
        Ok(shorten(&self.print_unless_open(py, EXCERPT)?))
    }

    fn print_unless_open(&self, py: Python<'_>, enough: usize) -> PyResult<String> {
        let address = std::ptr::from_ref(self) as usize;
        if PRINTED.with_borrow(|printed| printed.addresses[..printed.count].contains(&address)) {
            return Ok("TreeSpec(...)".to_owned());
        }
        let Some(_printing) = Printing::enter(address) else {
            let message = format!("clika_pytree: more than {MOST_NESTED} TreeSpecs in the contexts of one another");
            return Err(PyRecursionError::new_err(message));
        };
        self.print(py, enough)
    }

    /// Prints it, or its beginning once that is `enough` bytes long.
    fn print(&self, py: Python<'_>, enough: usize) -> PyResult<String> {
        let mut text = String::new();
        write(&mut text, "TreeSpec(")?;
        self.write_tree(py, &mut text, enough)?;
        if text.len() >= enough {
            return Ok(text);
        }
        if !self.none_is_leaf {
            write(&mut text, ", none_is_leaf=False")?;
        }
        let namespace = self.namespace(py)?;
        if namespace.is_truthy()? {
            write(&mut text, ", namespace=")?;
            write(&mut text, &namespace.repr()?.to_string_lossy())?;
        }
        write(&mut text, ")")?;
        Ok(text)
    }

    fn write_tree(&self, py: Python<'_>, text: &mut String, enough: usize) -> PyResult<()> {
        let mut interrupts = Interrupts::new();
        let mut open: Vec<Place> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if node.is_leaves() {
                text.try_reserve(enough.min(3 * node.arity as usize)).map_err(no_memory)?;
                for _ in 0..node.arity {
                    if text.len() >= enough {
                        return Ok(());
                    }
                    interrupts.after(py, PER_CHILD)?;
                    self.write_label(py, &mut open, text)?;
                    write(text, "*")?;
                }
            } else {
                if text.len() >= enough {
                    return Ok(());
                }
                interrupts.after(py, PER_CHILD)?;
                self.write_label(py, &mut open, text)?;
                self.write_opening(py, node, text)?;
                open.grow(Place { node: index, child: 0 })?;
            }
            while let Some(place) = open.pop_if(|place| place.child == self.nodes[place.node].arity as usize) {
                self.write_closing(py, &self.nodes[place.node], text)?;
            }
        }
        Ok(())
    }

    /// What stands before a child: a comma, and its key or field name.
    fn write_label(&self, py: Python<'_>, open: &mut [Place], text: &mut String) -> PyResult<()> {
        let Some(place) = open.last_mut() else { return Ok(()) };
        if place.child > 0 {
            write(text, ", ")?;
        }
        let node = &self.nodes[place.node];
        let named = matches!(node.kind, Kind::NamedTuple | Kind::Dataclass);
        if named || node.kind.first_key().is_some() {
            let entry = entry_of(py, node, self.slots.as_slice(), place.child)?;
            if named {
                write(text, &entry.str()?.to_string_lossy())?;
                write(text, "=")?;
            } else {
                write(text, &entry.repr()?.to_string_lossy())?;
                write(text, ": ")?;
            }
        }
        place.child += 1;
        Ok(())
    }

    fn write_opening(&self, py: Python<'_>, node: &Node, text: &mut String) -> PyResult<()> {
        match node.kind {
            Kind::Leaves => {}
            Kind::None => write(text, "None")?,
            Kind::List => write(text, "[")?,
            Kind::Tuple => write(text, "(")?,
            Kind::Dict => write(text, "{")?,
            Kind::OrderedDict => write(text, "OrderedDict({")?,
            Kind::DefaultDict => {
                write(text, "defaultdict(")?;
                write(text, &self.slot_repr(py, node, 0)?)?;
                write(text, ", {")?;
            }
            Kind::Deque => write(text, "deque([")?,
            Kind::NamedTuple | Kind::Dataclass => {
                write(text, &self.class_name(py, node)?)?;
                write(text, "(")?;
            }
            Kind::Custom | Kind::Static => {
                write(text, "CustomTreeNode(")?;
                write(text, &self.class_name(py, node)?)?;
                write(text, "[")?;
                write(text, &self.slot_repr(py, node, 1)?)?;
                write(text, "], [")?;
            }
        }
        Ok(())
    }

    fn write_closing(&self, py: Python<'_>, node: &Node, text: &mut String) -> PyResult<()> {
        match node.kind {
            Kind::Leaves | Kind::None => {}
            Kind::List => write(text, "]")?,
            Kind::Tuple => write(text, if node.arity == 1 { ",)" } else { ")" })?,
            Kind::Dict => write(text, "}")?,
            Kind::OrderedDict | Kind::DefaultDict => write(text, "})")?,
            Kind::Deque => {
                write(text, "]")?;
                let maxlen = self.slot(py, node, 0).map(pyo3::Borrowed::to_owned);
                if let Some(maxlen) = maxlen.filter(|maxlen| !maxlen.is_none()) {
                    write(text, ", maxlen=")?;
                    write(text, &maxlen.repr()?.to_string_lossy())?;
                }
                write(text, ")")?;
            }
            Kind::NamedTuple => write(text, ")")?,
            Kind::Dataclass => self.write_meta_fields(py, node, text)?,
            Kind::Custom | Kind::Static => write(text, "])")?,
        }
        Ok(())
    }

    /// The meta fields of a dataclass, after its data fields: `, name='s')`.
    fn write_meta_fields(&self, py: Python<'_>, node: &Node, text: &mut String) -> PyResult<()> {
        for (position, (name, value)) in self.meta_fields(py, node).enumerate() {
            if position > 0 || node.arity > 0 {
                write(text, ", ")?;
            }
            write(text, &name.to_string_lossy())?;
            write(text, "=")?;
            write(text, &value.repr()?.to_string_lossy())?;
        }
        write(text, ")")?;
        Ok(())
    }

    fn class_name(&self, py: Python<'_>, node: &Node) -> PyResult<String> {
        let Some(first) = self.slot(py, node, 0) else { return Ok(String::new()) };
        match first.cast::<Registration>() {
            Ok(registration) => Ok(registration.get().class_name(py)),
            Err(_) => Ok(printable(&first.getattr(intern!(py, "__name__"))?.str()?.to_string_lossy())),
        }
    }

    fn slot_repr(&self, py: Python<'_>, node: &Node, slot: usize) -> PyResult<String> {
        match self.slot(py, node, slot) {
            Some(value) => Ok(value.repr()?.to_string_lossy().into_owned()),
            None => Ok(String::new()),
        }
    }
}
