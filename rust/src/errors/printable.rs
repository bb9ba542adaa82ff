//! Characters that are written as they are, and the escapes of others, which would move a terminal's cursor or turn the
//! direction of writing.

/// A name on one line that can be printed everywhere.
pub(crate) fn printable(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    name.chars().for_each(|char| write_code(&mut text, u32::from(char)));
    text
}

/// A character or its escape, written as `repr` of Python does.
pub(crate) fn write_code(text: &mut String, code: u32) {
    match char::from_u32(code) {
        Some('\n') => text.push_str("\\n"),
        Some('\r') => text.push_str("\\r"),
        Some('\t') => text.push_str("\\t"),
        Some(char) if is_printable(code) => text.push(char),
        _ if code < 0x100 => write_escape(text, 'x', code, 2),
        _ if code < 0x1_0000 => write_escape(text, 'u', code, 4),
        _ => write_escape(text, 'U', code, 8),
    }
}

/// The bytes of `\U0001f600`.
pub(crate) const LONGEST_ESCAPE: usize = 10;

fn write_escape(text: &mut String, letter: char, code: u32, digits: u32) {
    text.extend(['\\', letter]);
    text.extend((0..digits).rev().filter_map(|place| char::from_digit((code >> (4 * place)) & 0xF, 16)));
}

/// Whether a character is written as it is: all but controls, marks of format, spaces of other widths, surrogates,
/// private characters and what can be none. One that no Python knows yet is written as it is by every Python.
fn is_printable(code: u32) -> bool {
    const OTHERS: [(u32, u32); 26] = [
        (0, 0x1F),
        (0x7F, 0xA0),
        (0xAD, 0xAD),
        (0x600, 0x605),
        (0x61C, 0x61C),
        (0x6DD, 0x6DD),
        (0x70F, 0x70F),
        (0x890, 0x891),
        (0x8E2, 0x8E2),
        (0x1680, 0x1680),
        (0x180E, 0x180E),
        (0x2000, 0x200F),
        (0x2028, 0x202F),
        (0x205F, 0x206F),
        (0x3000, 0x3000),
        (0xD800, 0xF8FF),
        (0xFDD0, 0xFDEF),
        (0xFEFF, 0xFEFF),
        (0xFFF0, 0xFFFB),
        (0x1_10BD, 0x1_10BD),
        (0x1_10CD, 0x1_10CD),
        (0x1_3430, 0x1_343F),
        (0x1_BCA0, 0x1_BCA3),
        (0x1_D173, 0x1_D17A),
        (0xE_0000, 0xE_00FF),
        (0xF_0000, 0x10_FFFF),
    ];
    code & 0xFFFE != 0xFFFE && !OTHERS.iter().any(|(first, last)| (*first..=*last).contains(&code))
}
