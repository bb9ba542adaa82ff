//! `clika_pytree._native`: trees of Python containers, taken apart and put together.
//!
//! Rooms, from the ground up; each one knows only those above it in this list.
//!
//! - [`structure`]: the shape of a tree as numbers, without Python.
//! - [`errors`]: the error family and the words that name a place in a tree.
//! - [`arguments`]: what a call is given, checked.
//! - [`memory`]: what the allocator keeps back for errors.
//! - [`limits`]: what long loops ask on their way, of memory and of the user.
//! - [`ffi`]: the unsafe ground, owned references and `CPython`'s containers.
//! - [`values`]: keys and contexts compared by exact type and bits.
//! - [`keys`]: what leads from a container to a child, and how it is written.
//! - [`registry`]: which classes are nodes.
//! - [`spec`]: a structure with its Python objects.
//! - [`walk`]: taking trees apart and putting them together.
//! - [`guards`]: which of the things made for calls is right for a call.
//! - [`files`]: files of tensors, read strictly and written whole.
//! - [`python`]: the functions and classes that Python sees.
//! - `faults`: what the sanitizers have to catch, in their builds alone.

#[cfg(all(feature = "faults", not(debug_assertions)))]
compile_error!("the feature `faults` is for checked builds: nobody else gets a module that can be told to go wrong");

mod arguments;
mod errors;
#[cfg(feature = "faults")]
mod faults;
mod ffi;
mod files;
mod guards;
mod keys;
mod limits;
mod memory;
mod python;
mod registry;
mod spec;
mod structure;
mod values;
mod walk;

/// The native part of `clika_pytree`.
#[pyo3::pymodule(gil_used = true)]
mod _native {
    use pyo3::prelude::*;

    #[cfg(feature = "faults")]
    #[pymodule_export]
    use crate::faults::commit_fault;
    #[pymodule_export]
    use crate::files::{ArrayFacts, FileWriter, MappedFile, TensorFile, array_facts, encode_header};
    #[pymodule_export]
    use crate::guards::{
        Call, Dispatcher, GuardCache, GuardEntry, Replay, forget_runtimes, has_tensors, runtime_of,
        set_runtime_resolver, tensor_parts,
    };
    #[pymodule_export]
    use crate::keys::{DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey};
    #[pymodule_export]
    use crate::python::functions::{
        tree_flatten, tree_iter, tree_leaves, tree_map, tree_map_, tree_map_only, tree_map_only_, tree_structure,
        tree_unflatten,
    };
    #[pymodule_export]
    use crate::python::in_order::{flatten_in_order, leaves_in_order, structure_in_order};
    #[pymodule_export]
    use crate::python::paths::{
        keystr, leaf_names, tree_flatten_with_path, tree_leaves_with_path, tree_map_with_path, tree_paths,
    };
    #[pymodule_export]
    use crate::python::state::{treespec_from_state, treespec_state};
    #[pymodule_export]
    use crate::python::tracked::tracked_instances;
    #[pymodule_export]
    use crate::registry::{Registration, add, find, is_registered, registered, remove, set_adopted};
    #[pymodule_export]
    use crate::spec::TreeSpec;
    #[pymodule_export]
    use crate::walk::{DictInsertionOrdered, TreeIter};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("build_profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
        crate::values::set_own_objects(module.py(), crate::python::own_objects::OWN_OBJECTS);
        crate::ffi::check_layout(module.py())?;
        crate::ffi::check_fields(module.py())?;
        crate::ffi::hash_by_known::<crate::spec::TreeSpec>(module.py());
        crate::registry::builtins(module.py())?;
        crate::walk::prepare(module.py())?;
        crate::errors::add_to(module)
    }
}
