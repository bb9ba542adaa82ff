//! The thin layer over `CPython`'s C interface: what the walks need and `PyO3`'s safe types are too slow for.
//!
//! What holds here, and what every caller can rely on:
//! - A [`Raw`] is a pointer to a live object. Whoever keeps one past a call that may run Python code owns a reference.
//! - [`RefVec`] and [`Slots`] own one reference for each entry and give it back exactly once.
//! - Everything runs with the GIL held; a `Python` token is asked for, or an object that proves it is at hand.
//! - A container that Python can see is never half filled: its contents are complete before its first visitor.

#![allow(unsafe_code)]

mod address;
mod attributes;
mod cell;
mod context_var;
mod dict_table;
mod exchange;
mod fields;
mod free;
mod hash_slot;
mod living;
mod loaded;
mod made;
mod ndarray;
mod objects;
mod ordered;
mod plain;
mod pool;
mod refs;

pub(crate) use address::AddressHash;
pub(crate) use attributes::{generic_attribute, instance_dict, is_method, slot_names};
pub(crate) use cell::GilCell;
pub(crate) use context_var::ContextVar;
pub(crate) use dict_table::{DictTable, check_layout, copy_with_values, dict_layout_is_known};
pub(crate) use exchange::{Elements, Exchange};
pub(crate) use fields::{FieldPlaces, check_fields};
pub(crate) use free::Link;
pub(crate) use hash_slot::{KnownHash, hash_by_known};
pub(crate) use living::{Entry, Findable, Living};
pub(crate) use loaded::{loaded, native};
pub(crate) use made::*;
pub(crate) use ndarray::{Array, ArrayFlags, array_layout_is_known, with_array};
pub(crate) use objects::*;
pub(crate) use ordered::ordered_keys;
pub(crate) use plain::are_same;
pub(crate) use pool::{LARGEST_KEPT, Pool};
pub(crate) use refs::{Raw, RefVec, Slots, content, into_raw, raw};
