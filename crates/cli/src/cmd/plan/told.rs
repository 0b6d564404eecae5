//! What is waited for, told on stderr as it changes.

use std::io::{IsTerminal as _, Write as _};

use crate::look::text;

/// Tells what is waited for: on one line that changes, where a person looks at it, and line by line elsewhere.
pub(super) struct Told {
    /// What it is about, where it is about several things.
    about: Option<String>,
    is_one_line: bool,
    last: String,
}

impl Told {
    /// About the only thing.
    pub(super) fn new() -> Self {
        Self {
            about: None,
            is_one_line: std::io::stderr().is_terminal(),
            last: String::new(),
        }
    }

    /// About one of several things, which are waited for at the same time.
    pub(super) fn about(what: &impl ToString) -> Self {
        Self {
            about: Some(what.to_string()),
            is_one_line: false,
            last: String::new(),
        }
    }

    pub(super) fn tell(&mut self, what: &str) {
        let Some(line) = self.line(what) else { return };
        if self.is_one_line {
            eprint!("\r\x1b[K{line}");
            // Nobody is hurt if it is not seen.
            let _ = std::io::stderr().flush();
        } else {
            eprintln!("{line}");
        }
    }

    /// What has to be printed, if it is news.
    fn line(&mut self, what: &str) -> Option<String> {
        if self.last == what {
            return None;
        }
        what.clone_into(&mut self.last);
        let what = text::first_line(what);
        Some(match &self.about {
            Some(about) => format!("{about}: waiting: {what} …"),
            None => format!("waiting: {what} …"),
        })
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if self.is_one_line && !self.last.is_empty() {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_told_once_and_of_whom_it_is() {
        let mut told = Told::about(&"wtapply/x");
        assert_eq!(told.line("a").as_deref(), Some("wtapply/x: waiting: a …"));
        assert_eq!(told.line("a"), None);
        assert_eq!(
            told.line("b\n\u{1b}[31m").as_deref(),
            Some("wtapply/x: waiting: b …")
        );
        assert_eq!(Told::new().line("a").as_deref(), Some("waiting: a …"));
    }
}
