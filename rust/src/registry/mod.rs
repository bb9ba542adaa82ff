//! Which classes are nodes, and how their instances come apart.
//!
//! Registrations are immutable and lie in one table by class and namespace; a walk that meets one takes a reference,
//! and the structure it makes keeps it. What a class turned out to be is remembered for each search order of
//! namespaces, until a registration changes or the class dies.

mod adoption;
mod class;
mod contexts;
mod registration;
mod scope;
mod table;

pub(crate) use adoption::{notice_adopted, set_adopted};
pub(crate) use class::{Class, builtins};
pub(crate) use registration::{DroppedDefault, Manner, Registration, names};
pub(crate) use scope::Scope;
pub(crate) use table::{add, find, generation, is_registered, registered, remove, scope_of, watch};
