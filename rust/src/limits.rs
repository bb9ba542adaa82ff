//! Where memory ends or the user interrupts: what long loops ask on their way.

use std::cell::Cell;

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

use crate::errors::no_memory;
use crate::memory;

/// How many steps, of some nanoseconds each, lie between two looks at pending signals.
const STEPS: usize = 1 << 16;

/// The steps that a call of user code counts: it may take any time, and a function written in C looks at no signals.
pub(crate) const CALL: usize = STEPS / 32;

/// Says when a long loop has to look at pending signals, so that Ctrl-C is answered soon.
///
/// A look may run any Python code (a signal's handler, from 3.12 on the collector too): nothing borrowed from a container
/// may be held over it.
pub(crate) struct Interrupts {
    left: usize,
}

impl Default for Interrupts {
    fn default() -> Self {
        Self::new()
    }
}

impl Interrupts {
    pub(crate) const fn new() -> Self {
        Self { left: STEPS }
    }

    /// Counts steps that were taken where nothing could be looked at.
    #[inline]
    pub(crate) fn count(&mut self, steps: usize) {
        self.left = self.left.saturating_sub(steps);
    }

    /// Whether it is time for a look.
    #[inline]
    pub(crate) fn are_spent(&self) -> bool {
        self.left == 0
    }

    /// Counts steps; `true` where it is time for a look.
    #[inline]
    pub(crate) fn are_due(&mut self, steps: usize) -> bool {
        if steps < self.left {
            self.left -= steps;
            return false;
        }
        self.left = STEPS;
        true
    }

    /// Counts steps, and looks where it is time.
    #[inline]
    pub(crate) fn after(&mut self, py: Python<'_>, steps: usize) -> PyResult<()> {
        if self.are_due(steps) { py.check_signals() } else { Ok(()) }
    }
}

/// Refuses more where memory has ended: of many small things each would still be served, until nothing is left for the
/// error itself.
#[inline]
pub(crate) fn check_reserve() -> PyResult<()> {
    if memory::has_ended() { Err(no_memory(())) } else { Ok(()) }
}

/// Collections that raise where there is no memory for more; the standard library ends the process.
pub(crate) trait Grow<T> {
    /// Adds one more.
    fn grow(&mut self, item: T) -> PyResult<()>;

    /// Adds all of them.
    fn grow_by(&mut self, items: impl IntoIterator<Item = T>) -> PyResult<()> {
        items.into_iter().try_for_each(|item| self.grow(item))
    }
}

impl<T> Grow<T> for Vec<T> {
    #[inline]
    fn grow(&mut self, item: T) -> PyResult<()> {
        self.try_reserve(1).map_err(no_memory)?;
        self.push(item);
        Ok(())
    }
}

/// The items as a `Vec`.
pub(crate) fn gathered<T>(items: impl IntoIterator<Item = T>) -> PyResult<Vec<T>> {
    let items = items.into_iter();
    let mut gathered = Vec::new();
    gathered.try_reserve(items.size_hint().0).map_err(no_memory)?;
    check_reserve()?;
    gathered.grow_by(items)?;
    Ok(gathered)
}

/// The results of an iterator as a `Vec`, up to the first failure.
pub(crate) fn all_of<T>(results: impl IntoIterator<Item = PyResult<T>>) -> PyResult<Vec<T>> {
    let mut all = Vec::new();
    for result in results {
        all.grow(result?)?;
    }
    Ok(all)
}

/// A copy of just the size of its items.
pub(crate) fn exactly<T: Copy>(items: &[T]) -> PyResult<Box<[T]>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(items.len()).map_err(no_memory)?;
    check_reserve()?;
    copy.extend_from_slice(items);
    Ok(copy.into_boxed_slice())
}

/// The items of an iterable as a `Vec`; one without an end ends in `MemoryError` or Ctrl-C.
pub(crate) fn gathered_from<'py>(items: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut interrupts = Interrupts::new();
    let mut gathered = Vec::new();
    for item in items.try_iter()? {
        gathered.grow(item?)?;
        interrupts.after(items.py(), 1)?;
    }
    Ok(gathered)
}

thread_local! {
    static NESTED: Cell<u32> = const { Cell::new(0) };
}

/// A call inside another one, made by user code that the other one runs. Each takes some of the native stack.
pub(crate) struct Nested;

/// Python's own limit may be far higher than what the stack has room for.
const MOST_NESTED: u32 = 500;

impl Nested {
    #[inline]
    pub(crate) fn enter() -> PyResult<Self> {
        let nested = NESTED.get();
        if nested >= MOST_NESTED {
            return Err(too_nested());
        }
        NESTED.set(nested + 1);
        Ok(Self)
    }
}

impl Drop for Nested {
    #[inline]
    fn drop(&mut self) {
        NESTED.set(NESTED.get() - 1);
    }
}

#[cold]
fn too_nested() -> PyErr {
    PyRecursionError::new_err(format!(
        "clika_pytree: {MOST_NESTED} calls inside one another: a function or a method of the user's calls what called it"
    ))
}

const LEVELS_PER_MEMORY_CHECK: usize = 256;
/// Far more than so many levels need beside the stacks they lie on.
const HEADROOM: usize = 1 << 20;

/// Refuses another level where memory is nearly used up. An object may make new parts of itself without end, and what
/// one level needs is too small to be asked for in a way that can be refused.
#[inline]
pub(crate) fn check_memory(level: usize) -> PyResult<()> {
    if level % LEVELS_PER_MEMORY_CHECK == LEVELS_PER_MEMORY_CHECK - 1 {
        let mut headroom: Vec<u8> = Vec::new();
        headroom.try_reserve_exact(HEADROOM).map_err(no_memory)?;
        std::hint::black_box(headroom);
    }
    Ok(())
}

/// The parts as one text.
pub(crate) fn joined(parts: &[&str]) -> PyResult<String> {
    let mut text = String::new();
    text.try_reserve_exact(parts.iter().map(|part| part.len()).sum()).map_err(no_memory)?;
    check_reserve()?;
    text.extend(parts.iter().copied());
    Ok(text)
}

/// Adds to a text.
pub(crate) fn write(text: &mut String, part: &str) -> PyResult<()> {
    text.try_reserve(part.len()).map_err(no_memory)?;
    text.push_str(part);
    Ok(())
}
