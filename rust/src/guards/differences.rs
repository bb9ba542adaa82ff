//! Why no entry is right for a call: where it differs from the closest one.

use std::hash::Hash;

use hashbrown::{HashMap, HashSet};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::call::Call;
use super::entry::GuardEntry;
use super::guard::Guard;
use super::modules;
use crate::errors::{no_memory, show, text_of};
use crate::ffi::{self, RefVec, tuple_of};
use crate::limits::{Grow, Interrupts, all_of, gathered, write};
use crate::spec::{Graph, Names, key_text};
use crate::structure::{Kind, Node};
use crate::values;
use crate::walk::{A_LEAF, node_text};

/// One difference; on one side there may be nothing.
struct Difference {
    path: String,
    old: Option<String>,
    new: Option<String>,
    kind: &'static str,
}

/// The differences between an entry and a call.
#[derive(Default)]
pub(super) struct Differences(Vec<Difference>);

impl Differences {
    /// The differences from the entry that has the fewest: one of the same structure where there is one, else the one used
    /// last. The entries come in the order of their last use.
    pub(super) fn from_closest<'py>(
        py: Python<'py>,
        entries: &[Bound<'py, GuardEntry>],
        call: &Call,
        names: &Py<PyTuple>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut closest: Option<(usize, &GuardEntry)> = None;
        for entry in entries {
            let entry = entry.get();
            if !has_same_structure(entry.graph(), &call.spec.get().0) {
                continue;
            }
            let count = count_unequal(py, entry, call)?;
            let is_right = count == 0 && entry.graph().has_same_registrations(&call.spec.get().0);
            if is_right && entry.failed_conditions(py, &call.tensors_as_list(py)?)?.is_empty() {
                return ffi::list_of(py, []);
            }
            if closest.is_none_or(|(fewest, _)| count < fewest) {
                closest = Some((count, entry));
            }
        }
        let mut found = Self::default();
        if let Some((_, entry)) = closest {
            found.compare_leaves(py, entry, call)?;
            if found.0.is_empty() {
                found.compare_conditions(py, entry, call)?;
            }
        } else if let Some(entry) = entries.first() {
            found.compare_structures(py, entry.get().graph(), &call.spec.get().0, names)?;
            found.compare_common_leaves(py, entry.get(), call)?;
        }
        found.into_list(py)
    }

    fn into_list(self, py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
        let mut list = RefVec::default();
        for Difference { path, old, new, kind } in self.0 {
            let text = |text: Option<String>| match text {
                Some(text) => text_of(py, &text).map(Bound::into_any),
                None => Ok(py.None().into_bound(py)),
            };
            let parts = [text(Some(path))?, text(old)?, text(new)?, text(Some(kind.to_owned()))?];
            list.push(tuple_of(py, parts)?.into_any())?;
        }
        ffi::list_from(py, &mut list, 0)
    }

    fn add(&mut self, path: String, old: Option<String>, new: Option<String>, kind: &'static str) -> PyResult<()> {
        self.0.grow(Difference { path, old, new, kind })
    }

    fn compare_leaves(&mut self, py: Python<'_>, entry: &GuardEntry, call: &Call) -> PyResult<()> {
        let names = modules::texts_of(py, &call.spec.get().0, &call.modules, &entry.names)?;
        if !entry.graph().has_same_registrations(&call.spec.get().0) {
            let (old, new) = ("another registration".to_owned(), "the registration of now".to_owned());
            self.add(String::new(), Some(old), Some(new), "registration")?;
        }
        let old_names = modules::texts_of(py, entry.graph(), &entry.modules, &entry.names)?;
        if old_names != names {
            self.compare_tensors_of_modules(py, (entry, &old_names), (call, &names))?;
            return self.compare_common_leaves(py, entry, call);
        }
        for (leaf, name) in leaves_of(entry, call).zip(names) {
            self.compare_leaf(py, &leaf, name)?;
        }
        Ok(())
    }

    fn compare_leaf(&mut self, py: Python<'_>, leaf: &Leaf<'_>, name: String) -> PyResult<()> {
        if leaf.is_same(py)? {
            return Ok(());
        }
        let (old, new) = (leaf.guard.text(py, leaf.sizes)?, leaf.found.text(py, leaf.call, Some(leaf.guard))?);
        match (leaf.guard, leaf.found) {
            (Guard::Static(value), Found::Static(index)) => {
                let found = leaf.call.statics[index].object.bind(py);
                if let Some((attribute, old, new)) = value.changed_attribute(found)? {
                    let [old, new] = [old, new].map(|value| value.as_ref().map(show).transpose());
                    self.add(name + &attribute, old?, new?, "attribute")
                } else {
                    self.add(name, Some(old), Some(new), "static")
                }
            }
            (Guard::Static(_), _) | (_, Found::Static(_)) => self.add(name, Some(old), Some(new), "leaf"),
            _ => self.add(name, Some(old), Some(new), "tensor"),
        }
    }

    /// Where the structures differ: the leaves that both have, by their paths, but none below a container that is another
    /// one or of another length. Leaves that one side alone has are put in words.
    fn compare_common_leaves(&mut self, py: Python<'_>, entry: &GuardEntry, call: &Call) -> PyResult<()> {
        let old_names = modules::texts_of(py, entry.graph(), &entry.modules, &entry.names)?;
        let new_names = modules::texts_of(py, &call.spec.get().0, &call.modules, &entry.names)?;
        let (old_places, new_places) = (places_of(&old_names)?, places_of(&new_names)?);
        let found = gathered(found_in(call))?;
        let mut others = HashSet::new();
        others.try_reserve(self.0.len()).map_err(no_memory)?;
        for difference in &mut self.0 {
            if let (Some(A_LEAF), Some(place)) = (difference.old.as_deref(), old_places.get(&difference.path)) {
                difference.old = Some(entry.guards[*place].text(py, &entry.sizes)?);
            }
            if let (Some(A_LEAF), Some(place)) = (difference.new.as_deref(), new_places.get(&difference.path)) {
                difference.new = Some(found[*place].text(py, call, None)?);
            }
            if matches!(difference.kind, "type" | "length") {
                others.insert(difference.path.clone());
            }
        }
        let mut interrupts = Interrupts::new();
        for (place, name) in new_names.iter().enumerate() {
            interrupts.after(py, 1)?;
            let Some(old_place) = old_places.get(name) else { continue };
            if !is_below(name, &others) {
                let leaf = Leaf::of(entry, *old_place, call, place, found[place]);
                self.compare_leaf(py, &leaf, name.clone())?;
            }
        }
        Ok(())
    }

    /// The tensors of modules that only one side has.
    fn compare_tensors_of_modules(
        &mut self,
        py: Python<'_>,
        (entry, old_names): (&GuardEntry, &[String]),
        (call, names): (&Call, &[String]),
    ) -> PyResult<()> {
        for (name, guard) in old_names.iter().zip(&entry.guards).filter(|(name, _)| !names.contains(name)) {
            self.add(name.clone(), Some(guard.text(py, &entry.sizes)?), None, "tensor")?;
        }
        let first = names.len() - call.modules.iter().map(|module| module.names.len()).sum::<usize>();
        let tensors = call.tensors.len() - (names.len() - first);
        for (name, tensor) in names[first..].iter().zip(&call.tensors[tensors..]) {
            if !old_names.contains(name) {
                self.add(name.clone(), None, Some(tensor.text(py, None)?), "tensor")?;
            }
        }
        Ok(())
    }

    fn compare_conditions(&mut self, py: Python<'_>, entry: &GuardEntry, call: &Call) -> PyResult<()> {
        for (text, old, new) in entry.failed_conditions(py, &call.tensors_as_list(py)?)? {
            self.add(text, Some(old), Some(new), "condition")?;
        }
        Ok(())
    }

    /// Compares structures from the root down; below a container that is another one nothing is compared.
    fn compare_structures(&mut self, py: Python<'_>, old: &Graph, new: &Graph, names: &Py<PyTuple>) -> PyResult<()> {
        let mut todo = vec![(0, 0, String::new())];
        while let Some((one, other, path)) = todo.pop() {
            let (ours, theirs) = (&old.nodes[one], &new.nodes[other]);
            if ours.is_leaves() && theirs.is_leaves() {
                continue;
            }
            let mut pairs = Vec::new();
            if let Some(kind) = self.compare_keys(py, (old, one), (new, other), &path, &mut pairs)? {
                let (before, now) = describe(py, kind, (old, one), (new, other))?;
                self.add(path.clone(), Some(before), Some(now), kind)?;
            }
            let (ours, theirs) = (gathered(old.children_of(one))?, gathered(new.children_of(other))?);
            let mut below = Vec::new();
            for (child, their_child) in pairs {
                let path = step(py, old, one, child, &path, Some(names))?;
                below.grow((ours[child], theirs[their_child], path))?;
            }
            todo.grow_by(below.into_iter().rev())?;
        }
        Ok(())
    }

    /// What is different about two containers themselves. Keys that only one of them has are noted on the way; `pairs` gets
    /// the children that are to be compared, by their numbers on both sides.
    fn compare_keys(
        &mut self,
        py: Python<'_>,
        (old, one): (&Graph, usize),
        (new, other): (&Graph, usize),
        path: &str,
        pairs: &mut Vec<(usize, usize)>,
    ) -> PyResult<Option<&'static str>> {
        let (ours, theirs) = (&old.nodes[one], &new.nodes[other]);
        if ours.kind != theirs.kind || !is_same_class(py, (old, ours), (new, theirs))? {
            return Ok(Some("type"));
        }
        let slots = |graph: &Graph, node: &Node| {
            let first = node.kind.first_key().unwrap_or(0);
            gathered(graph.slots_of(node)[first..].iter().flatten().map(|key| key.clone_ref(py)))
        };
        if ours.kind.first_key().is_none() {
            if ours.arity != theirs.arity {
                return Ok(Some("length"));
            }
            let context = usize::from(ours.kind.is_registered());
            if ours.kind != Kind::NamedTuple && !same_slot(py, (old, ours), (new, theirs), context)? {
                return Ok(Some("context"));
            }
            pairs.grow_by((0..ours.arity as usize).map(|child| (child, child)))?;
            return Ok(None);
        }
        if ours.kind == Kind::DefaultDict && !same_slot(py, (old, ours), (new, theirs), 0)? {
            return Ok(Some("context"));
        }
        let (our_keys, their_keys) = (slots(old, ours)?, slots(new, theirs)?);
        let (our_keys, their_keys) = (tokens_of(py, &our_keys)?, tokens_of(py, &their_keys)?);
        let (ours_at, theirs_at) = (places_of(&our_keys)?, places_of(&their_keys)?);
        let children = gathered(old.children_of(one))?;
        for (child, key) in our_keys.iter().enumerate() {
            if let Some(their_child) = theirs_at.get(key) {
                pairs.grow((child, *their_child))?;
                continue;
            }
            let text = node_text(py, old, children[child]);
            self.add(step(py, old, one, child, path, None)?, Some(text), None, "only_old")?;
        }
        let is_part = pairs.len() < our_keys.len();
        let children = gathered(new.children_of(other))?;
        for (child, key) in their_keys.iter().enumerate() {
            if !ours_at.contains_key(key) {
                let text = node_text(py, new, children[child]);
                self.add(step(py, new, other, child, path, None)?, None, Some(text), "only_new")?;
            }
        }
        let is_whole = !is_part && our_keys.len() == their_keys.len();
        Ok((is_whole && our_keys != their_keys).then_some("order"))
    }
}

/// The text of the path to a child.
fn step(py: Python<'_>, graph: &Graph, node: usize, child: usize, path: &str, names: Names<'_>) -> PyResult<String> {
    let mut text = String::new();
    write(&mut text, path)?;
    match names.filter(|_| node == 0) {
        Some(names) => write(&mut text, &names.bind(py).get_item(child)?.str()?.to_string_lossy())?,
        None => write(&mut text, &key_text(py, &graph.nodes[node], graph.slots.as_slice(), child)?)?,
    }
    Ok(text)
}

/// Both sides of a difference in words.
fn describe(
    py: Python<'_>,
    kind: &str,
    (old, one): (&Graph, usize),
    (new, other): (&Graph, usize),
) -> PyResult<(String, String)> {
    let side = |graph: &Graph, index: usize| {
        let node = &graph.nodes[index];
        match kind {
            "context" => {
                let slot = usize::from(node.kind.is_registered());
                graph.slot(py, node, slot).map_or_else(|| Ok("None".to_owned()), |value| show(&value))
            }
            "order" => {
                let keys = all_of(graph.slots_of(node).iter().flatten().map(|key| show(key.bind(py))))?;
                Ok(crate::errors::shorten(&keys.join(", ")))
            }
            _ => Ok(node_text(py, graph, index)),
        }
    };
    Ok((side(old, one)?, side(new, other)?))
}

fn is_same_class(py: Python<'_>, (old, ours): (&Graph, &Node), (new, theirs): (&Graph, &Node)) -> PyResult<bool> {
    let is_class = ours.kind.is_registered() || ours.kind == Kind::NamedTuple;
    if is_class { same_slot(py, (old, ours), (new, theirs), 0) } else { Ok(true) }
}

/// Whether two slots hold the same, as far as can be told without an equality of the user's.
fn same_slot(
    py: Python<'_>,
    (old, ours): (&Graph, &Node),
    (new, theirs): (&Graph, &Node),
    slot: usize,
) -> PyResult<bool> {
    if slot >= ours.kind.slots(ours.arity as usize) {
        return Ok(true);
    }
    match (old.slot(py, ours, slot), new.slot(py, theirs, slot)) {
        (Some(ours), Some(theirs)) => same_value(py, ours.as_unbound(), theirs.as_unbound()),
        (None, None) => Ok(true),
        _ => Ok(false),
    }
}

fn same_value(py: Python<'_>, ours: &Py<PyAny>, theirs: &Py<PyAny>) -> PyResult<bool> {
    Ok(ours.is(theirs) || token_of(py, ours)? == token_of(py, theirs)?)
}

/// Stands for a value among others: class and hash, or the address of what has no hash.
type Token = (usize, Option<u64>);

fn token_of(py: Python<'_>, value: &Py<PyAny>) -> PyResult<Token> {
    let value = value.bind(py);
    match values::hash(value) {
        Ok(hash) => Ok((ffi::address_of(&value.get_type()), Some(hash))),
        Err(unusable) => unusable.left_out(py).map(|()| (value.as_ptr() as usize, None)),
    }
}

fn tokens_of(py: Python<'_>, keys: &[Py<PyAny>]) -> PyResult<Vec<Token>> {
    all_of(keys.iter().map(|key| token_of(py, key)))
}

fn has_same_structure(old: &Graph, new: &Graph) -> bool {
    ffi::are_same(&old.nodes, &new.nodes) && old.known_hash().is_some() && old.known_hash() == new.known_hash()
}

/// What a call has in the place of a leaf.
#[derive(Clone, Copy)]
enum Found {
    Static(usize),
    Tensor(usize),
}

impl Found {
    /// In words, as far as the guard looks that stands in its place.
    fn text(self, py: Python<'_>, call: &Call, guard: Option<&Guard>) -> PyResult<String> {
        match self {
            Self::Static(index) => show(call.statics[index].object.bind(py)),
            Self::Tensor(index) => call.tensors[index].text(py, guard),
        }
    }
}

/// What a call has in the place of each leaf.
fn found_in(call: &Call) -> impl Iterator<Item = Found> {
    let (mut statics, mut tensors) = (0, 0);
    call.is_tensor.iter().map(move |is_tensor| {
        let count = if *is_tensor { &mut tensors } else { &mut statics };
        *count += 1;
        if *is_tensor { Found::Tensor(*count - 1) } else { Found::Static(*count - 1) }
    })
}

/// A leaf of an entry and one of a call.
struct Leaf<'a> {
    guard: &'a Guard,
    sizes: &'a [isize],
    found: Found,
    call: &'a Call,
    object: Option<&'a Py<PyAny>>,
}

fn leaves_of<'a>(entry: &'a GuardEntry, call: &'a Call) -> impl Iterator<Item = Leaf<'a>> {
    let leaves = (0..entry.guards.len()).zip(found_in(call));
    leaves.map(move |(place, found)| Leaf::of(entry, place, call, place, found))
}

impl<'a> Leaf<'a> {
    fn of(entry: &'a GuardEntry, old: usize, call: &'a Call, new: usize, found: Found) -> Self {
        let object = call.leaves.as_slice()[new].as_ref();
        Self { guard: &entry.guards[old], sizes: &entry.sizes, found, call, object }
    }

    fn is_same(&self, py: Python<'_>) -> PyResult<bool> {
        let holds = match (self.guard, self.found) {
            (Guard::Static(value), Found::Static(index)) => {
                let found = &self.call.statics[index];
                if value.hash == found.hash { value.holds(found.object.bind(py)) } else { Ok(false) }
            }
            (Guard::Static(_), Found::Tensor(_)) | (_, Found::Static(_)) => Ok(false),
            (guard, Found::Tensor(index)) => {
                let runtime = &self.call.tensors[index].runtime;
                match self.object.filter(|_| guard.runtime().is_some_and(|known| known.is(runtime))) {
                    Some(object) => guard.holds(object.bind(py), self.sizes),
                    None => Ok(false),
                }
            }
        };
        holds.or_else(|unusable| unusable.left_out(py).map(|()| false))
    }
}

fn count_unequal(py: Python<'_>, entry: &GuardEntry, call: &Call) -> PyResult<usize> {
    let mut count = usize::from(!modules::are_alike(py, &entry.modules, &call.modules));
    for leaf in leaves_of(entry, call) {
        count += usize::from(!leaf.is_same(py)?);
    }
    Ok(count)
}

/// The place of each among some, the last one where several are alike.
fn places_of<T: Eq + Hash>(all: &[T]) -> PyResult<HashMap<&T, usize>> {
    let mut places = HashMap::new();
    places.try_reserve(all.len()).map_err(no_memory)?;
    places.extend(all.iter().enumerate().map(|(place, one)| (one, place)));
    Ok(places)
}

/// Whether a path is one of some others, or leads on from one.
fn is_below(path: &str, others: &HashSet<String>) -> bool {
    let ends = path.match_indices(['[', '.']).map(|(end, _)| end);
    !others.is_empty() && ends.chain([path.len()]).any(|end| others.contains(&path[..end]))
}
