//! The dtypes of the format.

/// The name of a dtype and the bits of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dtype {
    pub(super) name: &'static str,
    pub(super) bits: u64,
}

const DTYPES: [(&str, u64); 22] = [
    ("BOOL", 8),
    ("F4", 4),
    ("F6_E2M3", 6),
    ("F6_E3M2", 6),
    ("U8", 8),
    ("I8", 8),
    ("F8_E5M2", 8),
    ("F8_E4M3", 8),
    ("F8_E8M0", 8),
    ("F8_E4M3FNUZ", 8),
    ("F8_E5M2FNUZ", 8),
    ("I16", 16),
    ("U16", 16),
    ("F16", 16),
    ("BF16", 16),
    ("I32", 32),
    ("U32", 32),
    ("F32", 32),
    ("C64", 64),
    ("F64", 64),
    ("I64", 64),
    ("U64", 64),
];

impl Dtype {
    pub(super) fn named(name: &str) -> Option<Self> {
        DTYPES.iter().find(|(known, _)| *known == name).map(|&(name, bits)| Self { name, bits })
    }

    /// The bytes of a tensor; nothing where they are no whole number, or more than can be counted.
    pub(super) fn bytes_of(self, shape: &[u64]) -> Option<u64> {
        let elements = shape.iter().try_fold(1_u64, |product, &size| product.checked_mul(size))?;
        let bits = elements.checked_mul(self.bits)?;
        (bits % 8 == 0).then_some(bits / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_knows_the_same_names_and_sizes() {
        for (name, bits) in DTYPES {
            let known: safetensors::Dtype = serde_json::from_str(&format!("\"{name}\"")).unwrap();
            assert_eq!(known.bitsize() as u64, bits, "{name}");
        }
    }

    #[test]
    fn half_bytes_and_too_many_elements_have_no_size() {
        let four_bits = Dtype::named("F4").unwrap();
        assert_eq!(four_bits.bytes_of(&[3]), None);
        assert_eq!(four_bits.bytes_of(&[2, 3]), Some(3));
        assert_eq!(Dtype::named("U8").unwrap().bytes_of(&[1 << 40, 1 << 40]), None);
        assert_eq!(Dtype::named("F32").unwrap().bytes_of(&[]), Some(4));
    }
}
