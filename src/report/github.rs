//! Notices as workflow commands of GitHub Actions: lines that annotate a run.
//!
//! `::error file=F,line=N,title=T::MESSAGE`. A service cuts the line at what ends a property or a command,
//! so these letters are written by their codes: in properties also `:` and `,`.

use super::notice::{Level, Notice};
use std::fmt::Write;

/// One line per notice.
pub fn github(notices: &[Notice]) -> String {
    let mut text = String::new();
    for notice in notices {
        let command = match notice.level {
            Level::Error => "error",
            Level::Note => "notice",
        };
        let mut properties = String::new();
        // A file that is not in the checkout cannot be annotated.
        if let Some(place) = notice.place.as_ref().filter(|place| place.path.is_relative()) {
            let path = property(&place.path.to_string_lossy());
            let _ = write!(properties, "file={path},line={},", place.line);
        }
        let title = property(&notice.identity);
        let _ = writeln!(text, "::{command} {properties}title={title}::{}", message(&notice.text));
    }
    text
}

fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::notice::Place;

    #[test]
    fn each_notice_is_one_line_whatever_its_words_are() {
        let notice = |level, path: &str| Notice {
            level,
            rule: None,
            identity: "A:B,C".into(),
            text: "100 % off: a, b\r\n::error::injected".into(),
            place: Some(Place { path: path.into(), line: 3 }),
            details: vec![],
        };
        assert_eq!(
            github(&[notice(Level::Error, "a,b/c:d.txt"), notice(Level::Note, "/tmp/x")]),
            "::error file=a%2Cb/c%3Ad.txt,line=3,title=A%3AB%2CC::100 %25 off: a, b%0D%0A::error::injected\n\
             ::notice title=A%3AB%2CC::100 %25 off: a, b%0D%0A::error::injected\n"
        );
    }
}
