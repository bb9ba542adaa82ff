//! What a call says about leaves and nodes.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::order_block;
use crate::arguments::{check_function, flag};
use crate::ffi::Link;
use crate::registry::{Scope, scope_of};

/// The options of one call.
pub(crate) struct Rules {
    pub(crate) none_is_leaf: bool,
    /// Plain dicts and defaultdicts are walked by sorted key.
    pub(crate) sorted: bool,
    pub(crate) scope: &'static Scope,
    pub(crate) is_leaf: Option<Link<PyAny>>,
    /// What the root's children are called in messages.
    pub(crate) names: Option<Py<PyTuple>>,
}

impl Rules {
    /// The rules of a call with these arguments; `is_leaf=None` counts as not given.
    #[inline]
    pub(crate) fn new(
        py: Python<'_>,
        is_leaf: Option<&Bound<'_, PyAny>>,
        none_is_leaf: bool,
        namespace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let scope = scope_of(py, namespace)?;
        let is_leaf = predicate(is_leaf)?;
        Ok(Self { none_is_leaf, sorted: order_block::is_sorted(py)?, scope, is_leaf, names: None })
    }

    /// The rules of a call that says itself whether dicts are walked by sorted key.
    pub(crate) fn in_order(
        is_leaf: Option<&Bound<'_, PyAny>>,
        none_is_leaf: &Bound<'_, PyAny>,
        namespace: &Bound<'_, PyAny>,
        sorted: bool,
    ) -> PyResult<Self> {
        let none_is_leaf = flag("none_is_leaf", none_is_leaf)?;
        let scope = scope_of(namespace.py(), Some(namespace))?;
        Ok(Self { none_is_leaf, sorted, scope, is_leaf: predicate(is_leaf)?, names: None })
    }

    /// The rules of a boundary, for a call whose parameters have these names: None is a leaf and dicts keep their order,
    /// wherever the call is made.
    #[inline]
    pub(crate) fn of_call(scope: &'static Scope, names: Py<PyTuple>) -> Self {
        Self { none_is_leaf: true, sorted: false, scope, is_leaf: None, names: Some(names) }
    }

    /// The rules, of which those that stay behind hold nothing.
    pub(super) fn take(&mut self) -> Self {
        Self { is_leaf: self.is_leaf.take(), names: self.names.take(), ..*self }
    }

    /// Whether the predicate stops at this object; it is asked of every object.
    pub(crate) fn stops_at(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        match &self.is_leaf {
            Some(predicate) => crate::ffi::call_one(&predicate.bound(object.py()), object)?.is_truthy(),
            None => Ok(false),
        }
    }
}

#[inline]
fn predicate(is_leaf: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Link<PyAny>>> {
    let is_leaf = is_leaf.filter(|predicate| !predicate.is_none());
    if let Some(predicate) = is_leaf {
        check_function("is_leaf", predicate)?;
    }
    Ok(is_leaf.map(|predicate| predicate.clone().unbind().into()))
}
