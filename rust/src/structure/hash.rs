//! The running hash of a structure.

/// Mixes one number after another into a hash; the order counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixer(u64);

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

impl Mixer {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(MULTIPLIER);
    }

    /// The kind and arity of a node.
    #[inline]
    pub(crate) fn add_node(&mut self, kind: super::Kind, arity: u32) {
        self.add((kind as u64) << 32 | u64::from(arity));
    }

    /// The hash so far, its upper bits spread over the lower ones.
    #[inline]
    pub(crate) fn finish(self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(MULTIPLIER);
        mixed ^ (mixed >> 29)
    }
}

#[cfg(test)]
mod tests {
    use super::Mixer;

    #[test]
    fn order_counts() {
        let (mut left, mut right) = (Mixer::new(0), Mixer::new(0));
        left.add(1);
        left.add(2);
        right.add(2);
        right.add(1);
        assert_ne!(left.finish(), right.finish());
    }
}
