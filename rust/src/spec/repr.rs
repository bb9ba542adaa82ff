//! The printed form of a structure.

use pyo3::intern;
use pyo3::prelude::*;

use super::{Graph, Place, entry_of};
use crate::errors::no_memory;
use crate::registry::{Manner, Registration};
use crate::structure::{Kind, Node};

impl Graph {
    /// `TreeSpec({'a': [*, (*, *)], 'b': *})`, with the mode and the namespace where they are not the usual ones.
    pub(crate) fn repr(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = String::from("TreeSpec(");
        self.write_tree(py, &mut text)?;
        if !self.none_is_leaf {
            text.push_str(", none_is_leaf=False");
        }
        let namespace = self.namespace(py)?;
        if namespace.is_truthy()? {
            text.push_str(", namespace=");
            text.push_str(&namespace.repr()?.to_string_lossy());
        }
        text.push(')');
        Ok(text)
    }

    fn write_tree(&self, py: Python<'_>, text: &mut String) -> PyResult<()> {
        let mut open: Vec<Place> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if node.is_leaves() {
                text.try_reserve(3 * node.arity as usize).map_err(no_memory)?;
                for _ in 0..node.arity {
                    self.write_label(py, &mut open, text)?;
                    text.push('*');
                }
            } else {
                self.write_label(py, &mut open, text)?;
                self.write_opening(py, node, text)?;
                open.push(Place { node: index, child: 0 });
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
            text.push_str(", ");
        }
        let node = &self.nodes[place.node];
        let named = matches!(node.kind, Kind::NamedTuple | Kind::Dataclass);
        if named || node.kind.first_key().is_some() {
            let entry = entry_of(py, node, self.slots.as_slice(), place.child)?;
            if named {
                text.push_str(&entry.str()?.to_string_lossy());
                text.push('=');
            } else {
                text.push_str(&entry.repr()?.to_string_lossy());
                text.push_str(": ");
            }
        }
        place.child += 1;
        Ok(())
    }

    fn write_opening(&self, py: Python<'_>, node: &Node, text: &mut String) -> PyResult<()> {
        match node.kind {
            Kind::Leaves => {}
            Kind::None => text.push_str("None"),
            Kind::List => text.push('['),
            Kind::Tuple => text.push('('),
            Kind::Dict => text.push('{'),
            Kind::OrderedDict => text.push_str("OrderedDict({"),
            Kind::DefaultDict => {
                text.push_str("defaultdict(");
                text.push_str(&self.slot_repr(py, node, 0)?);
                text.push_str(", {");
            }
            Kind::Deque => text.push_str("deque(["),
            Kind::NamedTuple | Kind::Dataclass => {
                text.push_str(&self.class_name(py, node)?);
                text.push('(');
            }
            Kind::Custom | Kind::Static => {
                text.push_str("CustomTreeNode(");
                text.push_str(&self.class_name(py, node)?);
                text.push('[');
                text.push_str(&self.slot_repr(py, node, 1)?);
                text.push_str("], [");
            }
        }
        Ok(())
    }

    fn write_closing(&self, py: Python<'_>, node: &Node, text: &mut String) -> PyResult<()> {
        match node.kind {
            Kind::Leaves | Kind::None => {}
            Kind::List => text.push(']'),
            Kind::Tuple => text.push_str(if node.arity == 1 { ",)" } else { ")" }),
            Kind::Dict => text.push('}'),
            Kind::OrderedDict | Kind::DefaultDict => text.push_str("})"),
            Kind::Deque => {
                text.push(']');
                let maxlen = self.slot(py, node, 0).map(pyo3::Borrowed::to_owned);
                if let Some(maxlen) = maxlen.filter(|maxlen| !maxlen.is_none()) {
                    text.push_str(", maxlen=");
                    text.push_str(&maxlen.repr()?.to_string_lossy());
                }
                text.push(')');
            }
            Kind::NamedTuple => text.push(')'),
            Kind::Dataclass => self.write_meta_fields(py, node, text)?,
            Kind::Custom | Kind::Static => text.push_str("])"),
        }
        Ok(())
    }

    /// The meta fields of a dataclass, after its data fields: `, name='s')`.
    fn write_meta_fields(&self, py: Python<'_>, node: &Node, text: &mut String) -> PyResult<()> {
        let values = self.slot(py, node, 1).map(pyo3::Borrowed::to_owned);
        if let (Some(registration), Some(values)) = (self.registration(py, node), values)
            && let Manner::Fields { meta, .. } = &registration.get().manner
        {
            for (position, (name, value)) in meta.iter().zip(values.try_iter()?).enumerate() {
                if position > 0 || node.arity > 0 {
                    text.push_str(", ");
                }
                text.push_str(&name.bind(py).to_string_lossy());
                text.push('=');
                text.push_str(&value?.repr()?.to_string_lossy());
            }
        }
        text.push(')');
        Ok(())
    }

    fn class_name(&self, py: Python<'_>, node: &Node) -> PyResult<String> {
        let Some(first) = self.slot(py, node, 0) else { return Ok(String::new()) };
        match first.cast::<Registration>() {
            Ok(registration) => Ok(registration.get().class_name(py)),
            Err(_) => Ok(first.getattr(intern!(py, "__name__"))?.str()?.to_string_lossy().into_owned()),
        }
    }

    fn slot_repr(&self, py: Python<'_>, node: &Node, slot: usize) -> PyResult<String> {
        match self.slot(py, node, slot) {
            Some(value) => Ok(value.repr()?.to_string_lossy().into_owned()),
            None => Ok(String::new()),
        }
    }
}
