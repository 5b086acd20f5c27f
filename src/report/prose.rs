//! Words for terminals and comments: ASCII only, and lines that end before the window does.

/// The text in ASCII: the signs that rules use by their usual spelling, anything else as `?`.
pub fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => plain.push('\n'),
            ' '..='~' => plain.push(letter),
            '\t' | '\u{a0}' => plain.push(' '),
            '\u{2018}' | '\u{2019}' => plain.push('\''),
            '\u{201c}' | '\u{201d}' => plain.push('"'),
            '\u{2013}' | '\u{2014}' => plain.push('-'),
            '\u{2026}' => plain.push_str("..."),
            '\u{2264}' => plain.push_str("<="),
            '\u{2265}' => plain.push_str(">="),
            '\u{2260}' => plain.push_str("!="),
            '\u{2192}' => plain.push_str("->"),
            '\u{d7}' => plain.push('x'),
            _ => plain.push('?'),
        }
    }
    plain
}

/// The words in lines of at most `width` characters, the first behind `first`, the others behind `rest`. A
/// word that is longer than a line stays whole.
pub fn wrap(text: &str, width: usize, first: &str, rest: &str) -> String {
    let mut lines = String::from(first);
    let (mut column, mut empty) = (first.len(), true);
    for word in text.split_whitespace() {
        if !empty && column + 1 + word.len() > width {
            lines.push('\n');
            lines.push_str(rest);
            (column, empty) = (rest.len(), true);
        }
        if !empty {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += word.len();
        empty = false;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_ascii_without_losing_its_meaning() {
        assert_eq!(
            ascii("a \u{2264} b \u{2192} \u{201c}c\u{201d}\u{1b}[0m\u{fc}"),
            "a <= b -> \"c\"?[0m?"
        );
    }

    #[test]
    fn lines_end_before_the_width_and_long_words_stay_whole() {
        assert_eq!(
            wrap("one two three four", 12, "# ", "#   "),
            "# one two\n#   three\n#   four\n"
        );
        assert_eq!(
            wrap("https://example.org/long x", 8, "", "  "),
            "https://example.org/long\n  x\n"
        );
        assert_eq!(wrap("", 8, "- ", ""), "- \n");
    }
}
