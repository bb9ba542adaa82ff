//! What Python sees: signatures and argument checks, and nothing else.

pub(crate) mod functions;
pub(crate) mod in_order;
pub(crate) mod own_objects;
pub(crate) mod paths;
pub(crate) mod state;
pub(crate) mod tracked;
pub(crate) mod treespec;
