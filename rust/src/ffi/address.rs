//! Hashing by address.

use std::hash::{BuildHasherDefault, Hasher};

/// Hashes an address by one multiplication.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_usize(&mut self, value: usize) {
        let mixed = (value as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

pub(crate) type AddressHash = BuildHasherDefault<AddressHasher>;
