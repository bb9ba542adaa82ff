//! Hash and equality of structures.

use pyo3::prelude::*;

use super::{Graph, Names};
use crate::errors::{Family, error, noted};
use crate::ffi::{self, Raw};
use crate::limits::{Grow, Interrupts, Nested};
use crate::registry::Registration;
use crate::structure::{Kind, Mixer, Node};
use crate::values::{self, Unusable};

impl Graph {
    /// The hash of the structure of the object at an address; the first call runs the hash functions of contexts and
    /// unusual keys.
    pub(crate) fn hash(&self, py: Python<'_>, owner: usize) -> PyResult<u64> {
        self.named_hash(py, owner, None)
    }

    /// The same; an error names the children of the root by these names.
    #[inline]
    pub(crate) fn named_hash(&self, py: Python<'_>, owner: usize, names: Names<'_>) -> PyResult<u64> {
        if let Some(hash) = self.known_hash() {
            return Ok(hash);
        }
        let _nested = Nested::enter()?;
        let mut mixer = Mixer::new(self.shape_hash);
        self.for_each_open_value(py, &mut |index, slot, value| {
            let hash = values::hash_within(&value, owner);
            mixer.add(hash.map_err(|unusable| self.unusable(py, index, slot, unusable, "hashed", names))?);
            Ok(())
        })?;
        let hash = values::finished(mixer, 0);
        self.remember_hash(hash);
        Ok(hash)
    }

    /// The hash, where no value is to be hashed for it any more.
    pub(crate) fn known_hash(&self) -> Option<u64> {
        if self.has_open_values { self.made.get()?.value_hash.get().copied() } else { Some(self.shape_hash) }
    }

    /// Another thread, or a hash function, may have come here first: with the same result.
    pub(crate) fn remember_hash(&self, hash: u64) {
        let _ = self.made().value_hash.set(hash);
    }

    /// What the hash is mixed of: the hash of the shape, then the values that it leaves out.
    pub(crate) fn hash_parts<'py>(&self, py: Python<'py>) -> PyResult<(u64, Vec<Bound<'py, PyAny>>)> {
        let mut open = Vec::new();
        self.for_each_open_value(py, &mut |_, _, value| open.grow(value))?;
        Ok((self.shape_hash, open))
    }

    /// Does something with every value that the hash of the shape leaves out, given its node and slot.
    fn for_each_open_value<'py>(
        &self,
        py: Python<'py>,
        deed: &mut dyn FnMut(usize, usize, Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        let mut interrupts = Interrupts::new();
        for (index, node) in self.nodes.iter().enumerate() {
            interrupts.after(py, 1)?;
            for slot in value_slots(node) {
                interrupts.after(py, 1)?;
                let Some(value) = self.slot(py, node, slot) else { continue };
                if values::quick_hash(py, ffi::raw(&value)).is_none() {
                    deed(index, slot, value.to_owned())?;
                }
            }
        }
        Ok(())
    }

    /// Whether two structures, of the objects at these addresses, are equal; may run the equality of contexts and
    /// unusual keys.
    pub(crate) fn equal(&self, owner: usize, other: &Self, other_owner: usize, py: Python<'_>) -> PyResult<bool> {
        self.named_equal(owner, other, other_owner, None, py)
    }

    /// The same; an error names the children of the root by these names.
    pub(crate) fn named_equal(
        &self,
        owner: usize,
        other: &Self,
        other_owner: usize,
        names: Names<'_>,
        py: Python<'_>,
    ) -> PyResult<bool> {
        if std::ptr::eq(self, other) {
            return Ok(true);
        }
        // Both hashes first: a context without usable hash or equality is reported whatever it is compared with.
        if self.named_hash(py, owner, names)? != other.named_hash(py, other_owner, names)?
            || self.none_is_leaf != other.none_is_leaf
            || !ffi::are_same(&self.nodes, &other.nodes)
        {
            return Ok(false);
        }
        let (ours, theirs) = (self.slots.raw(), other.slots.raw());
        // Most structures hold the very same objects.
        if ffi::are_same(ours, theirs) {
            return Ok(true);
        }
        let mut interrupts = Interrupts::new();
        for (at, (our, their)) in ours.iter().zip(theirs).enumerate() {
            let (Some(our), Some(their)) = (*our, *their) else { continue };
            if our == their {
                continue;
            }
            interrupts.after(py, 1)?;
            if ffi::are_equal_texts(our, their) {
                continue;
            }
            let index = self.node_of_slot(at);
            if !self.same_slot(py, index, at - self.nodes[index].slots_at as usize, our, their, names)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The node that a slot belongs to.
    fn node_of_slot(&self, slot: usize) -> usize {
        // The nodes' slots follow one another; of those that begin at the same one, all but the last have none.
        self.nodes.partition_point(|node| node.slots_at as usize <= slot) - 1
    }

    /// What the structure is made of, as one value among others: its mode, its nodes, and its slots.
    pub(crate) fn parts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut interrupts = Interrupts::new();
        let mut parts = vec![self.none_is_leaf.into_pyobject(py)?.to_owned().into_any()];
        parts.grow(self.node_bytes(py)?.into_any())?;
        for node in &self.nodes {
            // The entries of a custom node are no part of the value.
            let counted = if node.kind == Kind::Custom { 2 } else { node.kind.slots(node.arity as usize) };
            interrupts.after(py, 1 + counted)?;
            parts.grow_by((0..counted).filter_map(|slot| Some(self.slot(py, node, slot)?.to_owned())))?;
        }
        Ok(parts)
    }

    /// Whether a value may stand in this slot of this node: by value, or by class for a registration.
    pub(crate) fn same_slot(
        &self,
        py: Python<'_>,
        index: usize,
        slot: usize,
        ours: Raw,
        theirs: Raw,
        names: Names<'_>,
    ) -> PyResult<bool> {
        let node = &self.nodes[index];
        if node.kind == Kind::Custom && slot == 2 {
            return Ok(true);
        }
        let is_text = |object: Raw| ffi::type_address(object) == ffi::str_address();
        if is_text(ours) && is_text(theirs) {
            return Ok(ffi::str_equal(ours, theirs));
        }
        let (ours, theirs) = (ffi::own(py, ours), ffi::own(py, theirs));
        if node.kind.is_registered() && slot == 0 {
            return Ok(match (ours.cast::<Registration>(), theirs.cast::<Registration>()) {
                (Ok(ours), Ok(theirs)) => ours.get().is_same_class(theirs.get()),
                _ => false,
            });
        }
        values::equal(&ours, &theirs).map_err(|unusable| self.unusable(py, index, slot, unusable, "compared", names))
    }

    /// Says which context or key is unusable, and where.
    fn unusable(
        &self,
        py: Python<'_>,
        index: usize,
        slot: usize,
        unusable: Unusable,
        deed: &str,
        names: Names<'_>,
    ) -> PyErr {
        let node = &self.nodes[index];
        let (class, reason) = match unusable {
            Unusable::Value { class, reason } => (class, reason),
            Unusable::Raised(raised) => {
                let path = || self.named_path_of_node(py, index, names);
                return noted(py, raised, path, |path| format!("while the structure {} was {deed}", path.place()));
            }
        };
        let path = self.named_path_of_node(py, index, names);
        let what = match (node.kind, slot) {
            (Kind::Custom | Kind::Static | Kind::Dataclass, _) => {
                let owner = self.registration(py, node).map_or_else(String::new, |owner| owner.get().class_name(py));
                let is_unusable = |value: &Bound<'_, PyAny>| matches!(values::hash(value), Err(Unusable::Value { .. }));
                let field = self.meta_fields(py, node).find(|(_, value)| is_unusable(value));
                match field.map(|(field, _)| field.to_string_lossy().into_owned()) {
                    Some(field) => format!("the field {field} of {owner}"),
                    None => format!("the context of {owner}"),
                }
            }
            (Kind::DefaultDict, 0) => "the factory of the defaultdict".to_owned(),
            _ => format!("a key of the {}", node.kind.name()),
        };
        let way_out = if node.kind.is_registered() {
            "Make it a data field (a child), or put a hashable stand-in there"
        } else {
            "Put a hashable object there"
        };
        let message = format!(
            "{what} {} can't be {deed}: it holds {}, which {reason}. {way_out}",
            path.place(),
            crate::errors::with_article(&class)
        );
        error(py, Family::Context, Some(&path), &message)
    }
}

/// The slots of a node that count as values, all but registrations, classes and entries.
fn value_slots(node: &Node) -> std::ops::Range<usize> {
    match node.kind {
        Kind::Custom | Kind::Dataclass | Kind::Static => 1..2,
        Kind::NamedTuple => 0..0,
        kind => 0..kind.slots(node.arity as usize),
    }
}
