//! Specs and registrations as values in contexts.

use pyo3::intern;
use pyo3::prelude::*;

use crate::limits::all_of;
use crate::registry::Registration;
use crate::spec::TreeSpec;
use crate::values::{OwnHash, OwnObjects};

/// How specs and registrations are hashed and compared where they are values in contexts.
pub(crate) const OWN_OBJECTS: OwnObjects = OwnObjects { hash: own_hash, remember: remember_hash, parts: own_parts };

fn own_hash<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<OwnHash<'py>>> {
    let Ok(spec) = value.cast_exact::<TreeSpec>() else { return Ok(None) };
    let graph = &spec.get().0;
    if let Some(hash) = graph.known_hash() {
        return Ok(Some(OwnHash::Known(hash)));
    }
    let (seed, items) = graph.hash_parts(value.py())?;
    Ok(Some(OwnHash::Open { seed, items }))
}

fn remember_hash(value: &Bound<'_, PyAny>, hash: u64) {
    if let Ok(spec) = value.cast_exact::<TreeSpec>() {
        spec.get().0.remember_hash(hash);
    }
}

fn own_parts<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if let Ok(spec) = value.cast_exact::<TreeSpec>() {
        return spec.get().0.parts(value.py()).map(Some);
    }
    let Ok(registration) = value.cast_exact::<Registration>() else { return Ok(None) };
    let py = value.py();
    let names = [
        intern!(py, "cls"),
        intern!(py, "namespace"),
        intern!(py, "kind"),
        intern!(py, "data_fields"),
        intern!(py, "meta_fields"),
    ];
    all_of(names.iter().map(|name| registration.getattr(name))).map(Some)
}
