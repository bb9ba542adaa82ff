//! The part of JSON that a header is made of, read strictly: texts, whole numbers, and what the caller expects next.

use std::borrow::Cow;

use super::{Problem, push};

/// Reads a text from its beginning to its end.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next byte that is no white space, which stays where it is.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Goes past the next byte where it is this one.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Goes past a word that stands here.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        self.peek();
        let is_next = self.text[self.at..].starts_with(word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<(), Problem> {
        if self.take(byte) { Ok(()) } else { Err(self.unexpected(&format!("'{}'", byte as char))) }
    }

    pub(super) fn expect_end(&mut self) -> Result<(), Problem> {
        if self.peek().is_none() { Ok(()) } else { Err(self.unexpected("its end")) }
    }

    /// What stands here in place of what is expected.
    pub(super) fn unexpected(&self, expected: &str) -> Problem {
        let found = match self.text[self.at..].chars().next() {
            None => "it ends".to_owned(),
            Some(char) => format!("there is {char:?}"),
        };
        Problem::new(format!(
            "its header is no header of a safetensors file: {expected} should be at byte {}, and {found}",
            self.at
        ))
    }

    /// A whole number from 0 on, written as JSON writes it.
    pub(super) fn number(&mut self) -> Result<u64, Problem> {
        self.peek();
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let digits = &rest[..length];
        let goes_on = rest[length..].starts_with(['.', 'e', 'E', '-', '+']);
        let is_padded = length > 1 && digits.starts_with('0');
        let number = if goes_on || is_padded { None } else { digits.parse().ok() };
        let number = number.ok_or_else(|| self.unexpected("a whole number of at most 64 bits"))?;
        self.at += length;
        Ok(number)
    }

    /// A text.
    pub(super) fn text(&mut self) -> Result<Cow<'a, str>, Problem> {
        if !self.take(b'"') {
            return Err(self.unexpected("a text in quotes"));
        }
        let start = self.at;
        let mut made: Option<String> = None;
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.bytes().take_while(|&byte| byte != b'"' && byte != b'\\' && byte >= b' ').count();
            if let Some(made) = &mut made {
                push(made, &rest[..plain])?;
            }
            self.at += plain;
            match rest.as_bytes().get(plain) {
                Some(b'"') => {
                    let end = self.at;
                    self.at += 1;
                    return Ok(made.map_or_else(|| Cow::Borrowed(&self.text[start..end]), Cow::Owned));
                }
                Some(b'\\') => {
                    let made = match &mut made {
                        Some(made) => made,
                        none => {
                            let mut begun = String::new();
                            push(&mut begun, &self.text[start..self.at])?;
                            none.insert(begun)
                        }
                    };
                    let (char, length) = escaped(&self.text[self.at..]).ok_or_else(|| {
                        Problem::new(format!("its header has an escape that is none at byte {}", self.at))
                    })?;
                    push(made, char.encode_utf8(&mut [0; 4]))?;
                    self.at += length;
                }
                _ => return Err(self.unexpected("the end of a text")),
            }
        }
    }
}

/// The character that an escape stands for, and the bytes it takes. Half of a surrogate pair is no character.
fn escaped(text: &str) -> Option<(char, usize)> {
    let char = match text.as_bytes().get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = unit(text)?;
            if !(0xd800..0xdc00).contains(&first) {
                return Some((char::from_u32(first)?, 6));
            }
            let second = unit(text.get(6..)?)?;
            let code = 0x1_0000 + ((first - 0xd800) << 10) + second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
            return Some((char::from_u32(code)?, 12));
        }
        _ => return None,
    };
    Some((char, 2))
}

/// The number of an escape of four digits.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) { u32::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_a_reader_of_json() {
        let texts = [
            r#""""#,
            r#""a""#,
            r#""a\n\"\\\/\b\f\r\tb""#,
            r#""\u00e9\ud83d\ude00""#,
            r#""\ud83d""#,
            r#""\ude00""#,
            r#""\ud83d\u0041""#,
            r#""\u12""#,
            r#""\u+123""#,
            r#""\x""#,
            "\"a\nb\"",
            r#""a"#,
            r#""é😀""#,
            r#""\"#,
            r#""\u0000""#,
            r#""\ud83d\udfff""#,
            r#""\uFFFF""#,
        ];
        for text in texts {
            let read: Option<String> = serde_json::from_str(text).ok();
            let mut scanner = Scanner::new(text);
            let ours = scanner.text().and_then(|found| scanner.expect_end().map(|()| found.into_owned())).ok();
            assert_eq!(ours, read, "{text}");
        }
    }

    #[test]
    fn numbers_are_whole_and_not_padded() {
        for (text, number) in [("0", Some(0)), ("18446744073709551615", Some(u64::MAX)), (" 12", Some(12))] {
            assert_eq!(Scanner::new(text).number().ok(), number);
        }
        for text in ["", "-1", "01", "1.0", "1e3", "18446744073709551616", "x", "+1"] {
            assert!(Scanner::new(text).number().is_err(), "{text}");
        }
    }
}
