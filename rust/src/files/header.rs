//! A header, read and checked: every name once, every byte of the data in exactly one tensor.

use std::ops::Range;

use hashbrown::HashSet;
use safetensors::tensor::{Metadata, TensorInfo};

use super::dtype::Dtype;
use super::scanner::Scanner;
use super::{LONGEST_HEADER, METADATA, Problem, push};
use crate::errors::{LONGEST_VALUE, counted, has_room, shorten};

/// The bytes before the header.
pub(super) const PREFIX: usize = 8;

/// What the safetensors library takes for a tensor, at most.
const ROOM_OF_THE_REFERENCE: usize = 256;

/// A tensor of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where the header keeps its name and its sizes.
    name: Range<u32>,
    sizes: Range<u32>,
    pub(super) dtype: Dtype,
    /// Where its bytes begin and end, counted from the first byte behind the header.
    pub(super) start: u64,
    pub(super) end: u64,
}

/// What a file says of its tensors, in its own order. A header is no longer than a `u32` counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) entries: Vec<Entry>,
    pub(super) metadata: Vec<(String, String)>,
    names: String,
    sizes: Vec<u64>,
}

/// The length of the header of a file of this size that begins with these bytes.
pub(super) fn header_length(beginning: &[u8], size: u64) -> Result<u64, Problem> {
    let Some(prefix) = beginning.first_chunk::<8>() else {
        return Err(Problem::new(format!(
            "it is cut short: it holds {}, and a header takes more",
            counted_bytes(size)
        )));
    };
    let length = u64::from_le_bytes(*prefix);
    if length > LONGEST_HEADER {
        return Err(Problem::new(format!(
            "it is no safetensors file: its first bytes say that the header takes {length} bytes, and {LONGEST_HEADER} is the most"
        )));
    }
    let end = PREFIX as u64 + length;
    if end > size {
        let missing = end - size;
        return Err(Problem::new(format!(
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
        let mut read = Self::default();
        read.read_text(text)?;
        read.check_names()?;
        let order = read.by_offset()?;
        read.check_offsets(&order, data)?;
        read.check_with_the_reference(&order)?;
        Ok(read)
    }

    pub(super) fn name(&self, entry: &Entry) -> &str {
        &self.names[entry.name.start as usize..entry.name.end as usize]
    }

    pub(super) fn shape(&self, entry: &Entry) -> &[u64] {
        &self.sizes[entry.sizes.start as usize..entry.sizes.end as usize]
    }

    fn read_text(&mut self, text: &str) -> Result<(), Problem> {
        let mut scanner = Scanner::new(text);
        let mut has_metadata = false;
        scanner.expect(b'{')?;
        if !scanner.take(b'}') {
            loop {
                let name = scanner.text()?;
                scanner.expect(b':')?;
                if name == METADATA {
                    if std::mem::replace(&mut has_metadata, true) {
                        return Err(Problem::new(format!("its header has {METADATA} twice")));
                    }
                    self.metadata = read_metadata(&mut scanner)?;
                } else {
                    self.read_entry(&mut scanner, &name)?;
                }
                if !scanner.take(b',') {
                    break;
                }
            }
            scanner.expect(b'}')?;
        }
        scanner.expect_end()
    }

    fn read_entry(&mut self, scanner: &mut Scanner<'_>, name: &str) -> Result<(), Problem> {
        let (mut dtype, mut sizes, mut offsets) = (None, None, None);
        scanner.expect(b'{')?;
        loop {
            let field = scanner.text()?;
            scanner.expect(b':')?;
            let is_again = match &*field {
                "dtype" => dtype.replace(read_dtype(scanner, name)?).is_some(),
                "shape" => sizes.replace(self.read_sizes(scanner)?).is_some(),
                "data_offsets" => offsets.replace(read_offsets(scanner, name)?).is_some(),
                _ => {
                    let (name, field) = (quoted(name), quoted(&field));
                    return Err(Problem::new(format!("{name} has a member {field} that no tensor has")));
                }
            };
            if is_again {
                return Err(Problem::new(format!("{} has its {field} twice", quoted(name))));
            }
            if !scanner.take(b',') {
                break;
            }
        }
        scanner.expect(b'}')?;
        let (Some(dtype), Some(sizes), Some((start, end))) = (dtype, sizes, offsets) else {
            return Err(Problem::new(format!("{} lacks its dtype, shape or data_offsets", quoted(name))));
        };
        let first = count(self.names.len());
        push(&mut self.names, name)?;
        let entry = Entry { name: first..count(self.names.len()), sizes, dtype, start, end };
        self.check(&entry)?;
        self.entries.try_reserve(1)?;
        self.entries.push(entry);
        Ok(())
    }

    /// Where the sizes of a shape are kept.
    fn read_sizes(&mut self, scanner: &mut Scanner<'_>) -> Result<Range<u32>, Problem> {
        let first = count(self.sizes.len());
        read_numbers(scanner, |size| {
            self.sizes.try_reserve(1)?;
            self.sizes.push(size);
            Ok(())
        })?;
        Ok(first..count(self.sizes.len()))
    }

    /// Whether the offsets of a tensor are as far apart as its elements take.
    fn check(&self, entry: &Entry) -> Result<(), Problem> {
        let (shape, dtype) = (self.shape(entry), entry.dtype.name);
        let name = || quoted(self.name(entry));
        let Some(bytes) = entry.dtype.bytes_of(shape.iter().copied()) else {
            let (name, shape) = (name(), shape_text(shape));
            return Err(Problem::new(format!("{name} has the shape {shape} of {dtype}, which is no number of bytes")));
        };
        if entry.start.checked_add(bytes) == Some(entry.end) {
            return Ok(());
        }
        Err(Problem::new(format!(
            "{} is {dtype} {} and takes {}, and its offsets are {} and {}",
            name(),
            shape_text(shape),
            counted_bytes(bytes),
            entry.start,
            entry.end
        )))
    }

    fn check_names(&self) -> Result<(), Problem> {
        match first_twice(self.entries.iter().map(|entry| self.name(entry)))? {
            Some(twice) => Err(Problem::new(format!("its header names {} twice", quoted(twice)))),
            None => Ok(()),
        }
    }

    /// The tensors in the order of their data.
    fn by_offset(&self) -> Result<Vec<&Entry>, Problem> {
        let mut order = Vec::new();
        order.try_reserve_exact(self.entries.len())?;
        order.extend(&self.entries);
        order.sort_unstable_by_key(|entry: &&Entry| (entry.start, entry.end));
        Ok(order)
    }

    /// Whether the tensors cover the data without a hole, an overlap or a rest.
    fn check_offsets(&self, order: &[&Entry], data: u64) -> Result<(), Problem> {
        let mut at = 0;
        for entry in order {
            if entry.start != at {
                let name = quoted(self.name(entry));
                let what = if entry.start > at { "a hole" } else { "an overlap" };
                let start = entry.start;
                return Err(Problem::new(format!(
                    "{name} begins at byte {start} of the data and the tensor before it ends at {at}: there is {what}"
                )));
            }
            at = entry.end;
        }
        if at > data {
            let missing = at - data;
            return Err(Problem::new(format!(
                "it is cut short: the tensors take {} and it holds {data} ({missing} missing)",
                counted_bytes(at)
            )));
        }
        if at < data {
            let rest = counted_bytes(data - at);
            return Err(Problem::new(format!("{rest} behind the last tensor belong to none")));
        }
        Ok(())
    }

    /// The crate that defines the format looks at every dtype, shape and offset, too.
    fn check_with_the_reference(&self, order: &[&Entry]) -> Result<(), Problem> {
        // It asks for memory in ways that can't be refused.
        if !has_room(order.len().saturating_mul(ROOM_OF_THE_REFERENCE)) {
            return Err(Problem::NoMemory);
        }
        let refused = "its header is refused by the safetensors library";
        let number = |number: u64| usize::try_from(number).map_err(|_| Problem::new(refused));
        let mut tensors = Vec::new();
        tensors.try_reserve_exact(order.len())?;
        for entry in order {
            let mut shape = Vec::new();
            shape.try_reserve_exact(self.shape(entry).len())?;
            for &size in self.shape(entry) {
                shape.push(number(size)?);
            }
            let data_offsets = (number(entry.start)?, number(entry.end)?);
            // Names are all the same to it.
            tensors.push((String::new(), TensorInfo { dtype: entry.dtype.known, shape, data_offsets }));
        }
        match Metadata::new(None, tensors) {
            Ok(_) => Ok(()),
            Err(error) => Err(Problem::new(format!("{refused}: {error}"))),
        }
    }
}

/// The first name that is there a second time.
fn first_twice<'a>(mut names: impl ExactSizeIterator<Item = &'a str>) -> Result<Option<&'a str>, Problem> {
    let mut seen = HashSet::new();
    seen.try_reserve(names.len()).map_err(|_| Problem::NoMemory)?;
    Ok(names.find(|&name| !seen.insert(name)))
}

/// A place in a header.
fn count(length: usize) -> u32 {
    // No more than `LONGEST_HEADER`.
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn read_metadata(scanner: &mut Scanner<'_>) -> Result<Vec<(String, String)>, Problem> {
    let mut metadata: Vec<(String, String)> = Vec::new();
    // MLX writes this where it has none.
    if scanner.take_word("null") {
        return Ok(metadata);
    }
    scanner.expect(b'{')?;
    if scanner.take(b'}') {
        return Ok(metadata);
    }
    loop {
        let (mut key, mut value) = (String::new(), String::new());
        push(&mut key, &scanner.text()?)?;
        scanner.expect(b':')?;
        push(&mut value, &scanner.text()?)?;
        metadata.try_reserve(1)?;
        metadata.push((key, value));
        if !scanner.take(b',') {
            break;
        }
    }
    scanner.expect(b'}')?;
    match first_twice(metadata.iter().map(|(key, _)| key.as_str()))? {
        Some(twice) => Err(Problem::new(format!("its metadata has {} twice", quoted(twice)))),
        None => Ok(metadata),
    }
}

fn read_dtype(scanner: &mut Scanner<'_>, name: &str) -> Result<Dtype, Problem> {
    let dtype = scanner.text()?;
    Dtype::named(&dtype).ok_or_else(|| {
        Problem::new(format!("{} has the dtype {}, which the format does not have", quoted(name), quoted(&dtype)))
    })
}

fn read_offsets(scanner: &mut Scanner<'_>, name: &str) -> Result<(u64, u64), Problem> {
    let mut offsets = [0; 2];
    let mut many = 0;
    read_numbers(scanner, |number| {
        if let Some(offset) = offsets.get_mut(many) {
            *offset = number;
        }
        many += 1;
        Ok(())
    })?;
    let [start, end] = offsets;
    if many == 2 {
        Ok((start, end))
    } else {
        Err(Problem::new(format!("{} has {many} data_offsets, not two", quoted(name))))
    }
}

fn read_numbers(scanner: &mut Scanner<'_>, mut each: impl FnMut(u64) -> Result<(), Problem>) -> Result<(), Problem> {
    scanner.expect(b'[')?;
    if scanner.take(b']') {
        return Ok(());
    }
    loop {
        each(scanner.number()?)?;
        if !scanner.take(b',') {
            break;
        }
    }
    scanner.expect(b']')
}

/// A name for a message, cut.
pub(super) fn quoted(name: &str) -> String {
    // Of a name of any length no more than a message shows, and one character that has it cut.
    let beginning: String = name.chars().take(LONGEST_VALUE + 1).collect();
    format!("'{}'", shorten(&beginning.escape_debug().to_string()))
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
        content(Header::read(text.as_bytes(), data).unwrap_err())
    }

    fn content(problem: Problem) -> String {
        let Problem::Content(text) = problem else { panic!("there is memory") };
        text
    }

    const TWO: &str = r#"{"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"a":{"dtype":"F32","shape":[1],"data_offsets":[3,7]}}   "#;

    #[test]
    fn the_order_is_that_of_the_file() {
        let header = Header::read(TWO.as_bytes(), 7).unwrap();
        let names: Vec<&str> = header.entries.iter().map(|entry| header.name(entry)).collect();
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
        assert!(content(header_length(&5_u64.to_le_bytes(), 12).unwrap_err()).contains("1 missing"));
        assert!(content(header_length(&u64::MAX.to_le_bytes(), 12).unwrap_err()).contains("no safetensors file"));
        assert!(content(header_length(b"abc", 3).unwrap_err()).contains("cut short"));
    }
}
