//! What holds a call against the calls before it: which of the things made for them is right for it.
//!
//! A call is bound to its function's signature and taken apart like any tree. Its tensors are inputs, of which a graph
//! may take some facts for granted; every other leaf is a value that is compared. What was made for a call is an entry of
//! a [`GuardCache`], with its structure and one guard for each leaf. No lock is held, and nothing is borrowed, over code of
//! the user's.

mod cache;
mod call;
mod differences;
mod dispatcher;
mod entry;
mod facts;
mod guard;
mod held;
mod holders;
mod modules;
mod observation;
mod parts;
mod replay;
mod runtimes;
mod signature;
mod statics;
mod table;

pub(crate) use cache::GuardCache;
pub(crate) use call::Call;
pub(crate) use dispatcher::Dispatcher;
pub(crate) use entry::GuardEntry;
pub(crate) use holders::{has_tensors, tensor_parts};
pub(crate) use replay::Replay;
pub(crate) use runtimes::{forget_runtimes, runtime_of, set_runtime_resolver};
