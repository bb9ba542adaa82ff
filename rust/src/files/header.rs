//! A header, read and checked: every name once, every byte of the data in exactly one tensor.

use hashbrown::HashSet;
use safetensors::tensor::Metadata;

use super::dtype::Dtype;
use super::scanner::Scanner;
use super::{LONGEST_HEADER, METADATA, Problem};
use crate::errors::{counted, shorten};

/// The bytes before the header.
pub(super) const PREFIX: usize = 8;

/// A tensor of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<u64>,
    /// Where its bytes begin and end, counted from the first byte behind the header.
    pub(super) start: u64,
    pub(super) end: u64,
}

/// What a file says of its tensors, in its own order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) entries: Vec<Entry>,
    pub(super) metadata: Vec<(String, String)>,
}

/// The length of the header of a file of this size that begins with these bytes.
pub(super) fn header_length(beginning: &[u8], size: u64) -> Result<u64, Problem> {
    let Some(prefix) = beginning.first_chunk::<8>() else {
        return Err(Problem(format!("it is cut short: it holds {}, and a header takes more", counted_bytes(size))));
    };
    let length = u64::from_le_bytes(*prefix);
    if length > LONGEST_HEADER {
        return Err(Problem(format!(
            "it is no safetensors file: its first bytes say that the header takes {length} bytes, and {LONGEST_HEADER} is the most"
        )));
    }
    let end = PREFIX as u64 + length;
    if end > size {
        let missing = end - size;
        return Err(Problem(format!(
            "it is cut short within the header, which takes {}: {missing} missing",
            counted_bytes(length)
        )));
    }
    Ok(length)
}

fn counted_bytes(count: u64) -> String {
    format!("{count} {}", if count == 1 { "byte" } else { "bytes" })
}

impl Header {
    /// Reads a header with so many bytes of data behind it.
    pub(super) fn read(header: &[u8], data: u64) -> Result<Self, Problem> {
        let text = std::str::from_utf8(header).map_err(|_| Problem::new("its header is no UTF-8"))?;
        if !text.starts_with('{') {
            return Err(Scanner::new(text).unexpected("'{'"));
        }
        let read = read_text(text)?;
        read.check_names()?;
        read.check_offsets(data)?;
        check_with_the_reference(text, data)?;
        Ok(read)
    }

    fn check_names(&self) -> Result<(), Problem> {
        let mut seen = HashSet::with_capacity(self.entries.len());
        match self.entries.iter().find(|entry| !seen.insert(entry.name.as_str())) {
            Some(twice) => Err(Problem(format!("its header names {} twice", quoted(&twice.name)))),
            None => Ok(()),
        }
    }

    /// Whether the tensors cover the data without a hole, an overlap or a rest.
    fn check_offsets(&self, data: u64) -> Result<(), Problem> {
        let mut order: Vec<&Entry> = self.entries.iter().collect();
        order.sort_by_key(|entry| (entry.start, entry.end));
        let mut at = 0;
        for entry in order {
            if entry.start != at {
                let name = quoted(&entry.name);
                let what = if entry.start > at { "a hole" } else { "an overlap" };
                let start = entry.start;
                return Err(Problem(format!(
                    "{name} begins at byte {start} of the data and the tensor before it ends at {at}: there is {what}"
                )));
            }
            at = entry.end;
        }
        if at > data {
            let missing = at - data;
            return Err(Problem(format!(
                "it is cut short: the tensors take {} and it holds {data} ({missing} missing)",
                counted_bytes(at)
            )));
        }
        if at < data {
            return Err(Problem(format!("{} behind the last tensor belong to none", counted_bytes(data - at))));
        }
        Ok(())
    }
}

impl Entry {
    /// Whether its offsets are as far apart as its elements take.
    fn check(&self) -> Result<(), Problem> {
        let name = || quoted(&self.name);
        let Some(bytes) = self.dtype.bytes_of(&self.shape) else {
            let (name, shape, dtype) = (name(), shape_text(&self.shape), self.dtype.name);
            return Err(Problem(format!("{name} has the shape {shape} of {dtype}, which is no number of bytes")));
        };
        if self.start.checked_add(bytes) == Some(self.end) {
            return Ok(());
        }
        Err(Problem(format!(
            "{} is {} {} and takes {}, and its offsets are {} and {}",
            name(),
            self.dtype.name,
            shape_text(&self.shape),
            counted_bytes(bytes),
            self.start,
            self.end
        )))
    }
}

/// The crate that defines the format looks, too: it never reads what it would not.
fn check_with_the_reference(text: &str, data: u64) -> Result<(), Problem> {
    let read: Metadata = serde_json::from_str(text)
        .map_err(|error| Problem(format!("its header is refused by the safetensors library: {error}")))?;
    if read.data_len() as u64 != data {
        return Err(Problem::new("its header is refused by the safetensors library: the size of the data is another"));
    }
    Ok(())
}

fn read_text(text: &str) -> Result<Header, Problem> {
    let mut scanner = Scanner::new(text);
    let mut header = Header::default();
    let mut has_metadata = false;
    scanner.expect(b'{')?;
    if !scanner.take(b'}') {
        loop {
            let name = scanner.text()?.into_owned();
            scanner.expect(b':')?;
            if name == METADATA {
                if std::mem::replace(&mut has_metadata, true) {
                    return Err(Problem(format!("its header has {METADATA} twice")));
                }
                header.metadata = read_metadata(&mut scanner)?;
            } else {
                header.entries.push(read_entry(&mut scanner, name)?);
            }
            if !scanner.take(b',') {
                break;
            }
        }
        scanner.expect(b'}')?;
    }
    scanner.expect_end()?;
    Ok(header)
}

fn read_metadata(scanner: &mut Scanner<'_>) -> Result<Vec<(String, String)>, Problem> {
    let mut metadata: Vec<(String, String)> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    // MLX writes this where it has none.
    if scanner.take_word("null") {
        return Ok(metadata);
    }
    scanner.expect(b'{')?;
    if scanner.take(b'}') {
        return Ok(metadata);
    }
    loop {
        let key = scanner.text()?.into_owned();
        scanner.expect(b':')?;
        let value = scanner.text()?.into_owned();
        if !seen.insert(key.clone()) {
            return Err(Problem(format!("its metadata has {} twice", quoted(&key))));
        }
        metadata.push((key, value));
        if !scanner.take(b',') {
            break;
        }
    }
    scanner.expect(b'}')?;
    Ok(metadata)
}

fn read_entry(scanner: &mut Scanner<'_>, name: String) -> Result<Entry, Problem> {
    let (mut dtype, mut shape, mut offsets) = (None, None, None);
    scanner.expect(b'{')?;
    loop {
        let field = scanner.text()?;
        scanner.expect(b':')?;
        let is_again = match &*field {
            "dtype" => dtype.replace(read_dtype(scanner, &name)?).is_some(),
            "shape" => shape.replace(read_numbers(scanner)?).is_some(),
            "data_offsets" => offsets.replace(read_numbers(scanner)?).is_some(),
            _ => return Err(Problem(format!("{} has a member {} that no tensor has", quoted(&name), quoted(&field)))),
        };
        if is_again {
            return Err(Problem(format!("{} has its {field} twice", quoted(&name))));
        }
        if !scanner.take(b',') {
            break;
        }
    }
    scanner.expect(b'}')?;
    let (Some(dtype), Some(shape), Some(offsets)) = (dtype, shape, offsets) else {
        return Err(Problem(format!("{} lacks its dtype, shape or data_offsets", quoted(&name))));
    };
    let [start, end] = offsets[..] else {
        return Err(Problem(format!("{} has {} data_offsets, not two", quoted(&name), offsets.len())));
    };
    let entry = Entry { name, dtype, shape, start, end };
    entry.check()?;
    Ok(entry)
}

fn read_dtype(scanner: &mut Scanner<'_>, name: &str) -> Result<Dtype, Problem> {
    let dtype = scanner.text()?;
    Dtype::named(&dtype).ok_or_else(|| {
        Problem(format!("{} has the dtype {}, which the format does not have", quoted(name), quoted(&dtype)))
    })
}

fn read_numbers(scanner: &mut Scanner<'_>) -> Result<Vec<u64>, Problem> {
    let mut numbers = Vec::new();
    scanner.expect(b'[')?;
    if scanner.take(b']') {
        return Ok(numbers);
    }
    loop {
        numbers.push(scanner.number()?);
        if !scanner.take(b',') {
            break;
        }
    }
    scanner.expect(b']')?;
    Ok(numbers)
}

/// A name for a message, cut.
pub(super) fn quoted(name: &str) -> String {
    format!("'{}'", shorten(&name.escape_debug().to_string()))
}

fn shape_text(shape: &[u64]) -> String {
    let sizes: Vec<String> = shape.iter().take(8).map(u64::to_string).collect();
    let more = shape.len().saturating_sub(8);
    let rest = if more > 0 { format!(", and {}", counted(more, "more size", "more sizes")) } else { String::new() };
    format!("[{}{rest}]", sizes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str, data: u64) -> String {
        Header::read(text.as_bytes(), data).unwrap_err().0
    }

    const TWO: &str = r#"{"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"a":{"dtype":"F32","shape":[1],"data_offsets":[3,7]}}   "#;

    #[test]
    fn the_order_is_that_of_the_file() {
        let header = Header::read(TWO.as_bytes(), 7).unwrap();
        let names: Vec<&str> = header.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert!(header.metadata.is_empty());
    }

    #[test]
    fn metadata_is_kept_in_order() {
        let header = Header::read(br#"{"__metadata__":{"z":"1","a":"\n"}}"#, 0).unwrap();
        assert_eq!(header.metadata, [("z".to_owned(), "1".to_owned()), ("a".to_owned(), "\n".to_owned())]);
        assert!(Header::read(br#"{"__metadata__": null}"#, 0).unwrap().metadata.is_empty());
    }

    #[test]
    fn what_does_not_add_up_is_refused() {
        assert!(problem(TWO, 6).contains("cut short"));
        assert!(problem(TWO, 8).contains("belong to none"));
        assert!(problem(&TWO.replace("[3,7]", "[4,8]"), 8).contains("a hole"));
        assert!(problem(&TWO.replace("[3,7]", "[2,6]"), 6).contains("an overlap"));
        assert!(problem(&TWO.replace("\"a\"", "\"b\""), 7).contains("twice"));
        assert!(problem(&TWO.replace("F32", "F33"), 7).contains("F33"));
        assert!(problem(&TWO.replace("[1]", "[2]"), 7).contains("offsets"));
        assert!(problem(&TWO.replace("[1]", "[4611686018427387904,4]"), 7).contains("no number of bytes"));
        assert!(problem(&format!(" {TWO}"), 7).contains("'{'"));
        assert!(problem(&TWO.replace("\"shape\":[1],", ""), 7).contains("lacks"));
        assert!(problem(&TWO.replace("\"shape\":[1]", "\"shape\":[1],\"shape\":[1]"), 7).contains("twice"));
        assert!(problem(&TWO.replace("\"shape\":[1]", "\"shape\":[1],\"x\":[1]"), 7).contains("no tensor has"));
        assert!(problem(r#"{"__metadata__":{},"__metadata__":{}}"#, 0).contains("twice"));
        assert!(problem(r#"{"__metadata__":{"a":"","a":""}}"#, 0).contains("twice"));
        assert!(problem(r#"{"__metadata__":{"a":1}}"#, 0).contains("quotes"));
        assert!(problem(r#"{"__metadata__":nul}"#, 0).contains("'{'"));
        assert!(problem("{} x", 0).contains("its end"));
        assert!(Header::read(b"{\"\xff\":1}", 0).is_err());
    }

    #[test]
    fn every_cut_of_a_header_is_refused() {
        let text = TWO.trim_end();
        assert!((0..text.len()).all(|length| Header::read(&text.as_bytes()[..length], 7).is_err()));
    }

    #[test]
    fn the_first_bytes_say_how_long_a_header_is() {
        assert_eq!(header_length(&5_u64.to_le_bytes(), 13).unwrap(), 5);
        assert!(header_length(&5_u64.to_le_bytes(), 12).unwrap_err().0.contains("1 missing"));
        assert!(header_length(&u64::MAX.to_le_bytes(), 12).unwrap_err().0.contains("no safetensors file"));
        assert!(header_length(b"abc", 3).unwrap_err().0.contains("cut short"));
    }
}
