//! The cache: what was made for calls, found again by the calls that it is right for.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::call::Call;
use super::differences::Differences;
use super::entry::GuardEntry;
use super::observation::Observation;
use super::runtimes::generation;
use super::signature::Signature;
use super::table::Table;
use crate::arguments::Optional;
use crate::errors::{Family, error, quote};
use crate::ffi::{self, GilCell, int_of, list_of, pair, tuple_of};
use crate::limits::Nested;
use crate::registry::{Scope, notice_adopted, scope_of};
use crate::walk::{self, Rules};

/// What was inserted for a call, and the call's tensors.
type Found<'py> = (Bound<'py, PyAny>, Bound<'py, PyList>);

/// When the entry that was hit last had been used before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Use {
    /// In the call before, or it is new: there is one kind of calls.
    Last,
    /// In the call before that one: two kinds of calls take turns.
    LastButOne,
    #[default]
    Earlier,
}

/// The entries that a call is held against before it is hashed.
#[derive(Clone, Copy, Debug)]
enum Turn {
    First,
    Second,
}

impl Turn {
    const ALL: [Self; 2] = [Self::First, Self::Second];
}

#[derive(Default)]
struct State {
    table: Table,
    last: Use,
    hits: usize,
    misses: usize,
    evictions: usize,
}

impl State {
    /// Of the two entries used last, the one whose turn it is; of many that are used in any order only the last one, as to
    /// walk along it in vain may cost as much as the hash.
    #[inline]
    fn recent<'py>(&self, py: Python<'py>, turn: Turn) -> Option<(usize, Bound<'py, GuardEntry>)> {
        let place = match (turn, self.last) {
            (Turn::First, Use::Last | Use::Earlier) | (Turn::Second, Use::LastButOne) => self.table.newest()?,
            (Turn::First, Use::LastButOne) | (Turn::Second, Use::Last) => self.table.second()?,
            (Turn::Second, Use::Earlier) => return None,
        };
        Some((place, self.table.entry(place)?.bind(py).clone()))
    }

    /// Counts a hit of an entry, which is now the one used last if it is still in its place.
    #[inline]
    fn hit(&mut self, place: usize, entry: &Bound<'_, GuardEntry>) {
        self.hits += 1;
        if self.table.newest() == Some(place) {
            self.last = Use::Last;
            return;
        }
        self.last = if self.table.second() == Some(place) { Use::LastButOne } else { Use::Earlier };
        self.table.use_now(place, entry);
    }
}

/// What was made for calls of a function, found again by the calls that it is right for.
///
/// A call is bound to the signature first, so that it does not matter how an argument is passed. Two calls are one where
/// the structure of their arguments is the same, each leaf that is no tensor has the same value, by exact type and bits, and
/// each tensor has the facts that the entry's guards name.
///
/// Args:
///     signature: an `inspect.Signature`.
///     maxsize: how many entries are kept; beyond it, the one used longest ago goes.
///     namespace: as for `tree_flatten`.
///     dynamic: True guards those sizes only that `insert` is told to; False every size of a tensor with a fact.
///     name: what errors call the function.
///
/// Raises `TypeError` for what is no signature, `ValueError` for another `maxsize`.
///
/// >>> import inspect, clika_pytree
/// >>> def step(x, mode="train"): ...
/// >>> cache = clika_pytree.GuardCache(inspect.signature(step), 64, name="step")
/// >>> cache.insert(cache.bind(({"lr": 0.5},), {}), "what was made for it")
/// >>> cache.lookup(({"lr": 0.5}, "train"), {})
/// ('what was made for it', [])
/// >>> cache.explain(({"lr": 0.5},), {"mode": "eval"})
/// [('mode', "'train'", "'eval'", 'static')]
#[pyclass(frozen, weakref, module = "clika_pytree._native")]
pub(crate) struct GuardCache {
    pub(super) signature: Signature,
    scope: &'static Scope,
    maxsize: usize,
    dynamic: bool,
    /// Whether tensors are told by their facts also where their runtime has guards of its own.
    reads_facts: AtomicBool,
    state: GilCell<State>,
}

impl GuardCache {
    /// The names of the parameters.
    pub(super) fn names(&self) -> &Py<PyTuple> {
        &self.signature.names
    }

    /// What was inserted for a call, with the call's tensors.
    #[inline]
    pub(super) fn find<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Found<'py>>> {
        let py = args.py();
        notice_adopted(py);
        let bound = self.signature.bind(args, kwargs)?;
        for turn in Turn::ALL {
            let Some((place, entry)) = self.state.with(py, |state| state.recent(py, turn)) else { continue };
            if let Some(tensors) = self.tensors_if_right(&entry, &bound)? {
                return Ok(Some(self.hit(place, &entry, tensors)));
            }
        }
        let _nested = Nested::enter()?;
        let found = if self.state.with(py, |state| state.table.len()) > 0 { self.any(&bound)? } else { None };
        if found.is_none() {
            self.state.with(py, |state| (state.misses, state.last) = (state.misses + 1, Use::Earlier));
        }
        Ok(found)
    }

    /// The call held against one entry: walks the arguments along its structure.
    #[inline]
    fn tensors_if_right<'py>(
        &self,
        entry: &Bound<'py, GuardEntry>,
        bound: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let (py, entry) = (bound.py(), entry.get());
        if !entry.is_current(generation()) {
            return Ok(None);
        }
        let rules = Rules::of_call(self.scope, self.names().clone_ref(py));
        walk::leaves_if_same(entry.graph(), bound.as_any(), rules, |leaves| {
            let holds = entry.complete(py, leaves)? && entry.leaves_hold(py, leaves)?;
            if holds { entry.accept(py, leaves) } else { Ok(None) }
        })
    }

    /// The call held against the entries of its hash.
    #[inline(never)]
    fn any<'py>(&self, bound: &Bound<'py, PyTuple>) -> PyResult<Option<Found<'py>>> {
        let py = bound.py();
        let mut call = Observation::of(bound, self.scope, self.names(), self.reads_facts(), false)?;
        let candidates = self.state.with(py, |state| state.table.candidates(py, call.hash, &call.tensors))?;
        for (place, entry) in candidates {
            let entry = entry.into_bound(py);
            if !entry.get().is_for(py, &call)? {
                continue;
            }
            let mut leaves =
                if entry.get().has_conditions() { call.copy_of_leaves(py)? } else { mem::take(&mut call.leaves) };
            let Some(tensors) = entry.get().accept(py, &mut leaves)? else { continue };
            return Ok(Some(self.hit(place, &entry, tensors)));
        }
        Ok(None)
    }

    #[inline]
    fn hit<'py>(&self, place: usize, entry: &Bound<'py, GuardEntry>, tensors: Bound<'py, PyList>) -> Found<'py> {
        let py = tensors.py();
        self.state.with(py, |state| state.hit(place, entry));
        entry.get().hits.fetch_add(1, Ordering::Relaxed);
        (entry.get().value(py), tensors)
    }
}

#[pymethods]
impl GuardCache {
    #[new]
    #[pyo3(signature = (signature, maxsize, *, namespace=None, dynamic=Optional(None), name=Optional(None)),
        text_signature = "(signature, maxsize, *, namespace='', dynamic=False, name='function')")]
    fn new(
        signature: &Bound<'_, PyAny>,
        maxsize: &Bound<'_, PyAny>,
        namespace: Option<&Bound<'_, PyAny>>,
        dynamic: Optional<'_, '_>,
        name: Optional<'_, '_>,
    ) -> PyResult<Self> {
        let py = signature.py();
        let Some(maxsize) = maxsize.extract().ok().filter(|maxsize| *maxsize > 0) else {
            let message = format!("maxsize must be an int from 1 on, got {}", quote(maxsize));
            return Err(error(py, Family::Value, None, &message));
        };
        let dynamic = dynamic.flag("dynamic", false)?;
        let name = name.text("name", "function")?;
        let scope = scope_of(py, namespace)?;
        let signature = Signature::of(signature, name)?;
        let (reads_facts, state) = (AtomicBool::new(false), GilCell::new(State::default()));
        Ok(Self { signature, scope, maxsize, dynamic, reads_facts, state })
    }

    /// What was inserted for a call that this one is the same as, with the tensors of this one; None where nothing was.
    ///
    /// Raises `TypeError` for arguments that the signature does not take.
    #[inline]
    fn lookup<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.find(args, Some(kwargs))?.map(|(value, tensors)| pair(value, tensors)).transpose()
    }

    /// The call, taken apart, for something to be made for it.
    ///
    /// Raises `GuardError` for a leaf that can't be compared with that of another call, `UnregisteredNodeError` for one that
    /// holds tensors, `ContextError` for a context that can't be compared, `TypeError` for arguments that the signature does
    /// not take.
    fn bind<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, Call>> {
        let cache = slf.get();
        let bound = cache.signature.bind(args, Some(kwargs))?;
        let observed = Observation::of(&bound, cache.scope, cache.names(), cache.reads_facts(), true)?;
        Bound::new(slf.py(), Call::new(slf, observed)?)
    }

    /// The arguments of a call, `(args, kwargs)`, whose parameters have the values of a tuple.
    fn unbind<'py>(&self, values: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
        let (args, kwargs) = self.signature.unbind(values)?;
        pair(args, kwargs)
    }

    /// Keeps what was made for a call.
    ///
    /// Args:
    ///     call: what `bind` gave.
    ///     value: what `lookup` is to give.
    ///     guards: None where the tensors may be any of their classes; else an object with `facts` (a dict by the number of a
    ///         tensor, of objects with a `layout`), `sizes` (a dict by number and axis) and `conditions` (objects with a
    ///         `function` of the list of tensors, and its `value`). A tensor without a fact may be any of its class. Where
    ///         `is_checked` is true, what runs refuses tensors that do not fit, and those that were right last are not
    ///         looked at here.
    #[pyo3(signature = (call, value, *, guards=None))]
    fn insert(
        slf: &Bound<'_, Self>,
        call: &Bound<'_, Call>,
        value: &Bound<'_, PyAny>,
        guards: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (py, cache) = (slf.py(), slf.get());
        if !call.get().is_of(slf) {
            return Err(error(py, Family::Value, None, "insert() got a call that another cache has bound"));
        }
        let guards = guards.filter(|guards| !guards.is_none());
        let entry = GuardEntry::new(call.get(), cache.names(), value, guards, cache.dynamic)?;
        let entry = Bound::new(py, entry)?;
        cache.state.with(py, |state| {
            state.last = Use::Last;
            state.table.add(&entry)
        })?;
        loop {
            let evicted = cache.state.with(py, |state| {
                let is_full = state.table.len() > cache.maxsize;
                let evicted = if is_full { state.table.take_oldest(py) } else { None };
                state.evictions += usize::from(evicted.is_some());
                evicted
            });
            if evicted.is_none() {
                return Ok(());
            }
        }
    }

    /// The entries, those used last first.
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let entries = self.state.with(py, |state| {
            crate::limits::gathered(state.table.in_order().map(|entry| entry.bind(py).clone().into_any()))
        })?;
        list_of(py, entries)
    }

    /// How a call differs from the entry closest to it: tuples of path, what was there, what is there now, and the kind of
    /// the difference. Empty where some entry is right for it, or there is none.
    ///
    /// Runs no code of the user's but `repr`, and the hash and equality of values that have their own.
    #[pyo3(signature = (call, kwargs=None))]
    fn explain<'py>(
        slf: &Bound<'py, Self>,
        call: &Bound<'py, PyAny>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, cache) = (slf.py(), slf.get());
        let call = if let Ok(call) = call.cast::<Call>() {
            call.clone()
        } else {
            let kwargs = kwargs.cloned().map_or_else(|| ffi::new_dict(py, 0), Ok)?;
            Self::bind(slf, call.cast::<PyTuple>()?, &kwargs)?
        };
        let entries = cache
            .state
            .with(py, |state| crate::limits::gathered(state.table.in_order().map(|entry| entry.bind(py).clone())))?;
        Differences::from_closest(py, &entries, call.get(), cache.names())
    }

    /// The counts as `functools.lru_cache` has them: `(hits, misses, maxsize, currsize)`.
    fn cache_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static CACHE_INFO: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let class = CACHE_INFO.get_or_try_init(py, || {
            let namedtuple = py.import(intern!(py, "collections"))?.getattr(intern!(py, "namedtuple"))?;
            Ok::<_, PyErr>(namedtuple.call1(("CacheInfo", "hits misses maxsize currsize"))?.unbind())
        })?;
        let numbers = self.state.with(py, |state| [state.hits, state.misses, self.maxsize, state.table.len()]);
        let numbers = crate::limits::all_of(numbers.into_iter().map(|number| int_of(py, number)))?;
        class.bind(py).call1(tuple_of(py, numbers)?)
    }

    /// How many entries went because there were too many.
    #[getter]
    fn evictions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        int_of(py, self.state.with(py, |state| state.evictions))
    }

    /// Whether tensors are told by their dtypes and sizes also where their runtime has guards of its own.
    #[getter]
    fn reads_facts(&self) -> bool {
        self.reads_facts.load(Ordering::Relaxed)
    }

    /// Tells all tensors by their facts from now on. The entries stay where that is asked for and they were made with facts.
    fn read_facts(&self, py: Python<'_>, keep_entries: bool) {
        self.reads_facts.store(true, Ordering::Relaxed);
        let dropped = self.state.with(py, |state| {
            let mut have_facts = keep_entries;
            for entry in state.table.in_order() {
                have_facts &= entry.bind(py).get().distrust();
            }
            (!have_facts).then(|| mem::take(&mut state.table))
        });
        drop(dropped);
    }

    /// Drops all entries and sets the counts back.
    fn clear(&self, py: Python<'_>) {
        let dropped = self.state.with(py, mem::take);
        drop(dropped);
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.signature.traverse(&visit)?;
        let seen = self.state.peek(|state| state.table.in_order().try_for_each(|entry| visit.call(entry)));
        seen.unwrap_or(Ok(()))
    }

    fn __clear__(&self, py: Python<'_>) {
        self.clear(py);
    }
}
