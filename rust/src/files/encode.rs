//! A header, written: the order is the caller's, and the data begins where any dtype is aligned.

use std::fmt::Write;

use hashbrown::HashSet;

use super::dtype::Dtype;
use super::header::{PREFIX, quoted};
use super::{LONGEST_HEADER, METADATA, Problem};

/// The data begins at a multiple of this.
const ALIGNMENT: usize = 64;

/// Puts a header together.
pub(super) struct Encoder {
    text: String,
    names: HashSet<String>,
    /// Where the next tensor begins.
    at: u64,
}

impl Encoder {
    /// Begins with the metadata, sorted by name, where there is any.
    pub(super) fn new(mut metadata: Vec<(String, String)>) -> Self {
        let mut text = "{".to_owned();
        if !metadata.is_empty() {
            metadata.sort();
            write_text(&mut text, METADATA);
            let mut before = ":{";
            for (key, value) in &metadata {
                text.push_str(before);
                write_text(&mut text, key);
                text.push(':');
                write_text(&mut text, value);
                before = ",";
            }
            text.push('}');
        }
        Self { text, names: HashSet::new(), at: 0 }
    }

    /// Adds a tensor behind the last one; its bytes.
    pub(super) fn add(&mut self, name: &str, dtype: &str, shape: &[u64]) -> Result<u64, Problem> {
        let Some(known) = Dtype::named(dtype) else {
            return Err(Problem(format!(
                "{} has the dtype {}, which the format does not have",
                quoted(name),
                quoted(dtype)
            )));
        };
        let bytes = known.bytes_of(shape);
        let Some((bytes, end)) = bytes.and_then(|bytes| Some((bytes, self.at.checked_add(bytes)?))) else {
            return Err(Problem(format!("{} takes no number of bytes that a file can have", quoted(name))));
        };
        if name == METADATA {
            return Err(Problem(format!("{} is a name that the format keeps for itself", quoted(name))));
        }
        if !self.names.insert(name.to_owned()) {
            return Err(Problem(format!("{} is there twice", quoted(name))));
        }
        if self.text.len() > 1 {
            self.text.push(',');
        }
        write_text(&mut self.text, name);
        self.text.push_str(":{\"dtype\":\"");
        self.text.push_str(dtype);
        self.text.push_str("\",\"shape\":[");
        for (index, size) in shape.iter().enumerate() {
            write_number(&mut self.text, if index == 0 { "" } else { "," }, *size);
        }
        write_number(&mut self.text, "],\"data_offsets\":[", self.at);
        write_number(&mut self.text, ",", end);
        self.text.push_str("]}");
        self.at = end;
        Ok(bytes)
    }

    /// The first bytes of the file, up to the data.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, Problem> {
        self.text.push('}');
        let used = PREFIX + self.text.len();
        let length = used.next_multiple_of(ALIGNMENT) - PREFIX;
        if length as u64 > LONGEST_HEADER {
            return Err(Problem(format!(
                "the header would be {length} bytes for {} tensors, and readers of the format refuse more than \
                 {LONGEST_HEADER}; stack the small tensors, or save several files",
                self.names.len()
            )));
        }
        let mut bytes = Vec::with_capacity(PREFIX + length);
        bytes.extend_from_slice(&(length as u64).to_le_bytes());
        bytes.extend_from_slice(self.text.as_bytes());
        bytes.resize(PREFIX + length, b' ');
        Ok(bytes)
    }
}

fn write_number(text: &mut String, before: &str, number: u64) {
    text.push_str(before);
    // Writing to a String does not fail.
    let _ = write!(text, "{number}");
}

/// A text in quotes, as JSON has it.
fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < b' ') {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            byte @ (b'"' | b'\\') => out.extend(['\\', byte as char]),
            byte => {
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::header::Header;

    #[test]
    fn what_is_written_is_read_again() {
        let names = ["z", "", "a.b", "\"\\\u{0}\n\u{1f}", "é😀", "a", "[0]"];
        let metadata = vec![("format".to_owned(), "pt".to_owned()), ("a".to_owned(), "\"\n".to_owned())];
        let mut encoder = Encoder::new(metadata.clone());
        for name in names {
            assert_eq!(encoder.add(name, "I16", &[3, 1]).unwrap(), 6);
        }
        let bytes = encoder.finish().unwrap();
        assert_eq!(bytes.len() % ALIGNMENT, 0);
        let read = Header::read(&bytes[8..], 6 * names.len() as u64).unwrap();
        assert_eq!(read.entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), names);
        assert_eq!(read.metadata, [metadata[1].clone(), metadata[0].clone()]);
    }

    #[test]
    fn an_empty_header_is_one() {
        let bytes = Encoder::new(Vec::new()).finish().unwrap();
        assert_eq!(Header::read(&bytes[8..], 0).unwrap(), Header::default());
        assert_eq!(bytes.len(), 64);
    }

    #[test]
    fn what_no_reader_takes_is_refused() {
        let mut encoder = Encoder::new(Vec::new());
        encoder.add("a", "U8", &[1]).unwrap();
        assert!(encoder.add("a", "U8", &[1]).is_err());
        assert!(encoder.add(METADATA, "U8", &[1]).is_err());
        assert!(encoder.add("b", "C128", &[1]).is_err());
        assert!(encoder.add("b", "U8", &[u64::MAX, 2]).is_err());
        assert!(encoder.add("b", "U8", &[u64::MAX]).is_err());
        let long = "x".repeat(100_000_000);
        encoder.add(&long, "U8", &[1]).unwrap();
        assert!(encoder.finish().unwrap_err().0.contains("2 tensors"));
    }
}
