//! Walking Python trees: taking them apart and putting them together.
//!
//! Nothing here recurses: containers that are open lie on a stack of frames, and their children on an agenda. The
//! agenda is why a tree may change under a walk: a container is read once, when it is opened, and never again. Its
//! pointers are borrowed as long as no Python code can have run, and pinned (owned) before any can.
//!
//! Where no Python code can run, which is nearly everywhere, lists, tuples and dicts are not even copied: [`dive`] takes a
//! tree apart, and [`follow`] goes along a structure, by cursors into their memory. Both leave the rest to the frames and
//! the agenda at the first child that is something else.

mod agenda;
mod apart;
mod assemble;
mod cursor;
mod dive;
mod flatten;
mod follow;
mod iterate;
mod key_order;
mod map;
mod matching;
mod mismatch;
mod nodes;
mod order_block;
mod rare;
mod reading;
mod rules;
mod unflatten;
mod walker;

pub(crate) use flatten::{flatten, flatten_to_refs, leaves, structure};
pub(crate) use iterate::TreeIter;
pub(crate) use key_order::prepare;
pub(crate) use map::{Filter, for_each, map, map_with_path};
pub(crate) use matching::{flatten_up_to, leaves_if_same};
pub(crate) use mismatch::{A_LEAF, expected_node as node_text};
pub(crate) use order_block::DictInsertionOrdered;
pub(crate) use rules::Rules;
pub(crate) use unflatten::{leaves_of, unflatten, unflatten_refs};
