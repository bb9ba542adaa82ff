//! A header, written: the order is the caller's, and the data begins where any dtype is aligned.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::dtype::Dtype;
use super::header::{PREFIX, quoted};
use super::{LONGEST_HEADER, METADATA, Problem, push};

/// The data begins at a multiple of this.
const ALIGNMENT: usize = 64;

/// Puts a header together.
#[derive(Default)]
pub(super) struct Encoder {
    /// The header behind its length, which is filled in at the end.
    text: String,
    /// Whether the metadata is begun and not ended.
    has_texts: bool,
    /// Where in the text the names are.
    names: HashTable<Range<usize>>,
    hasher: DefaultHashBuilder,
    /// Where the next tensor begins.
    at: u64,
}

impl Encoder {
    pub(super) fn new() -> Result<Self, Problem> {
        let mut text = String::new();
        push(&mut text, "\0\0\0\0\0\0\0\0{")?;
        Ok(Self { text, ..Self::default() })
    }

    /// Adds a text to the metadata. All of them come before the tensors.
    pub(super) fn add_text(&mut self, key: &str, value: &str) -> Result<(), Problem> {
        if self.has_texts {
            push(&mut self.text, ",")?;
        } else {
            write_text(&mut self.text, METADATA)?;
            push(&mut self.text, ":{")?;
            self.has_texts = true;
        }
        write_text(&mut self.text, key)?;
        push(&mut self.text, ":")?;
        write_text(&mut self.text, value)
    }

    /// Ends the metadata where there is some that is open.
    fn end_texts(&mut self) -> Result<(), Problem> {
        if std::mem::take(&mut self.has_texts) {
            push(&mut self.text, "}")?;
        }
        Ok(())
    }

    /// Adds a tensor behind the last one; its bytes.
    pub(super) fn add(
        &mut self,
        name: &str,
        dtype: &str,
        shape: impl Iterator<Item = u64> + Clone,
    ) -> Result<u64, Problem> {
        let Some(known) = Dtype::named(dtype) else {
            let (name, dtype) = (quoted(name), quoted(dtype));
            return Err(Problem::new(format!("{name} has the dtype {dtype}, which the format does not have")));
        };
        let bytes = known.bytes_of(shape.clone());
        let Some((bytes, end)) = bytes.and_then(|bytes| Some((bytes, self.at.checked_add(bytes)?))) else {
            return Err(Problem::new(format!("{} takes no number of bytes that a file can have", quoted(name))));
        };
        if name == METADATA {
            return Err(Problem::new(format!("{} is a name that the format keeps for itself", quoted(name))));
        }
        self.end_texts()?;
        if self.text.len() > PREFIX + 1 {
            push(&mut self.text, ",")?;
        }
        self.add_name(name)?;
        push(&mut self.text, ":{\"dtype\":\"")?;
        push(&mut self.text, dtype)?;
        push(&mut self.text, "\",\"shape\":[")?;
        for (index, size) in shape.enumerate() {
            write_number(&mut self.text, if index == 0 { "" } else { "," }, size)?;
        }
        write_number(&mut self.text, "],\"data_offsets\":[", self.at)?;
        write_number(&mut self.text, ",", end)?;
        push(&mut self.text, "]}")?;
        self.at = end;
        Ok(bytes)
    }

    fn add_name(&mut self, name: &str) -> Result<(), Problem> {
        let start = self.text.len();
        write_text(&mut self.text, name)?;
        let (text, hasher) = (&self.text, &self.hasher);
        let written = &text[start..];
        let hash = |place: &Range<usize>| hasher.hash_one(&text[place.clone()]);
        if self.names.find(hasher.hash_one(written), |place| &text[place.clone()] == written).is_some() {
            return Err(Problem::new(format!("{} is there twice", quoted(name))));
        }
        self.names.try_reserve(1, hash).map_err(|_| Problem::NoMemory)?;
        self.names.insert_unique(hasher.hash_one(written), start..text.len(), hash);
        Ok(())
    }

    /// The first bytes of the file, up to the data.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, Problem> {
        self.end_texts()?;
        push(&mut self.text, "}")?;
        let length = self.text.len().next_multiple_of(ALIGNMENT);
        if (length - PREFIX) as u64 > LONGEST_HEADER {
            return Err(Problem::new(format!(
                "the header would be {} bytes for {} tensors, and readers of the format refuse more than \
                 {LONGEST_HEADER}; stack the small tensors, or save several files",
                length - PREFIX,
                self.names.len()
            )));
        }
        let mut bytes = self.text.into_bytes();
        bytes.try_reserve_exact(length - bytes.len())?;
        bytes.resize(length, b' ');
        bytes[..PREFIX].copy_from_slice(&((length - PREFIX) as u64).to_le_bytes());
        Ok(bytes)
    }
}

fn write_number(text: &mut String, before: &str, mut number: u64) -> Result<(), Problem> {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    push(text, before)?;
    push(text, std::str::from_utf8(&digits[first..]).unwrap_or_default())?;
    Ok(())
}

/// A text in quotes, as JSON has it.
fn write_text(out: &mut String, text: &str) -> Result<(), Problem> {
    push(out, "\"")?;
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < b' ') {
        push(out, &rest[..at])?;
        match rest.as_bytes()[at] {
            b'"' => push(out, "\\\"")?,
            b'\\' => push(out, "\\\\")?,
            byte => push(out, &format!("\\u{byte:04x}"))?,
        }
        rest = &rest[at + 1..];
    }
    push(out, rest)?;
    push(out, "\"")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::header::Header;

    #[test]
    fn what_is_written_is_read_again() {
        let names = ["z", "", "a.b", "\"\\\u{0}\n\u{1f}", "é😀", "a", "[0]"];
        let metadata = [("a".to_owned(), "\"\n".to_owned()), ("format".to_owned(), "pt".to_owned())];
        let mut encoder = Encoder::new().unwrap();
        for (key, value) in &metadata {
            encoder.add_text(key, value).unwrap();
        }
        for name in names {
            assert_eq!(encoder.add(name, "I16", [3, 1].into_iter()).unwrap(), 6);
        }
        let bytes = encoder.finish().unwrap();
        assert_eq!(bytes.len() % ALIGNMENT, 0);
        let read = Header::read(&bytes[8..], 6 * names.len() as u64).unwrap();
        assert_eq!(read.entries.iter().map(|entry| read.name(entry)).collect::<Vec<_>>(), names);
        assert_eq!(read.metadata, metadata);
    }

    #[test]
    fn an_empty_header_is_one() {
        let bytes = Encoder::new().unwrap().finish().unwrap();
        assert_eq!(Header::read(&bytes[8..], 0).unwrap(), Header::default());
        assert_eq!(bytes.len(), 64);
    }

    #[test]
    fn what_no_reader_takes_is_refused() {
        let mut encoder = Encoder::new().unwrap();
        encoder.add("a", "U8", [1].into_iter()).unwrap();
        assert!(encoder.add("a", "U8", [1].into_iter()).is_err());
        assert!(encoder.add(METADATA, "U8", [1].into_iter()).is_err());
        assert!(encoder.add("b", "C128", [1].into_iter()).is_err());
        assert!(encoder.add("b", "U8", [u64::MAX, 2].into_iter()).is_err());
        assert!(encoder.add("b", "U8", [u64::MAX].into_iter()).is_err());
        let long = "x".repeat(100_000_000);
        encoder.add(&long, "U8", [1].into_iter()).unwrap();
        assert!(matches!(encoder.finish(), Err(Problem::Content(text)) if text.contains("2 tensors")));
    }
}
