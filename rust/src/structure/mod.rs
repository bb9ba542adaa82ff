//! The shape of a tree, as numbers: no Python object is known here.
//!
//! A tree is one flat array of [`Node`]s in the order of a walk (a container, then its children). Neighbouring leaves
//! of one container are a single node, so a flat list of a million tensors is two nodes. What a node needs of Python
//! (keys, classes, contexts) lies in a second array beside this one, a fixed number of slots for each kind.

mod builder;
mod cursor;
mod hash;
mod node;

pub(crate) use builder::{ShapeBuilder, ShapeError};
pub(crate) use cursor::{Cursor, Step};
pub(crate) use hash::Mixer;
pub(crate) use node::{Kind, Node};
