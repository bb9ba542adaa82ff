//! The dtypes of the format.

use safetensors::Dtype as Known;

/// The name of a dtype and the bits of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dtype {
    pub(super) name: &'static str,
    pub(super) bits: u64,
    /// What the safetensors library has for it.
    pub(super) known: Known,
}

const DTYPES: [(&str, u64, Known); 22] = [
    ("BOOL", 8, Known::BOOL),
    ("F4", 4, Known::F4),
    ("F6_E2M3", 6, Known::F6_E2M3),
    ("F6_E3M2", 6, Known::F6_E3M2),
    ("U8", 8, Known::U8),
    ("I8", 8, Known::I8),
    ("F8_E5M2", 8, Known::F8_E5M2),
    ("F8_E4M3", 8, Known::F8_E4M3),
    ("F8_E8M0", 8, Known::F8_E8M0),
    ("F8_E4M3FNUZ", 8, Known::F8_E4M3FNUZ),
    ("F8_E5M2FNUZ", 8, Known::F8_E5M2FNUZ),
    ("I16", 16, Known::I16),
    ("U16", 16, Known::U16),
    ("F16", 16, Known::F16),
    ("BF16", 16, Known::BF16),
    ("I32", 32, Known::I32),
    ("U32", 32, Known::U32),
    ("F32", 32, Known::F32),
    ("C64", 64, Known::C64),
    ("F64", 64, Known::F64),
    ("I64", 64, Known::I64),
    ("U64", 64, Known::U64),
];

impl Dtype {
    pub(super) fn named(name: &str) -> Option<Self> {
        DTYPES.iter().find(|(known, _, _)| *known == name).map(|&(name, bits, known)| Self { name, bits, known })
    }

    /// The bytes of a tensor; nothing where they are no whole number, or more than can be counted.
    pub(super) fn bytes_of(self, mut shape: impl Iterator<Item = u64>) -> Option<u64> {
        let elements = shape.try_fold(1_u64, u64::checked_mul)?;
        let bits = elements.checked_mul(self.bits)?;
        (bits % 8 == 0).then_some(bits / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_knows_the_same_names_and_sizes() {
        for (name, bits, known) in DTYPES {
            let read: Known = serde_json::from_str(&format!("\"{name}\"")).unwrap();
            assert_eq!((read, known.bitsize() as u64), (known, bits), "{name}");
        }
    }

    #[test]
    fn half_bytes_and_too_many_elements_have_no_size() {
        let four_bits = Dtype::named("F4").unwrap();
        assert_eq!(four_bits.bytes_of([3].into_iter()), None);
        assert_eq!(four_bits.bytes_of([2, 3].into_iter()), Some(3));
        assert_eq!(Dtype::named("U8").unwrap().bytes_of([1 << 40, 1 << 40].into_iter()), None);
        assert_eq!(Dtype::named("F32").unwrap().bytes_of([].into_iter()), Some(4));
    }
}
