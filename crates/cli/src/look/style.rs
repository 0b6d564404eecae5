//! How something looks on what it is printed to.

use std::io::IsTerminal as _;

use capt_core::graph::Health;

/// How something looks on what it is printed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Colours are understood.
    pub(crate) colour: bool,
    /// Characters that fit on a line, if there is an end to it.
    pub(crate) width: Option<usize>,
}

/// A colour of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Green,
    Yellow,
    Red,
    Dim,
    Bold,
}

impl Style {
    /// For stdout: colours and an end of lines on a terminal, neither of them anywhere else.
    pub(crate) fn of_stdout() -> Self {
        let stdout = std::io::stdout();
        if !stdout.is_terminal() {
            return Self::default();
        }
        let says = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_dumb = says("TERM").is_none_or(|term| term == "dumb");
        let size = rustix::termios::tcgetwinsize(&stdout).ok();
        Self {
            colour: says("NO_COLOR").is_none() && !is_dumb,
            width: size
                .map(|size| usize::from(size.ws_col))
                .filter(|width| *width >= 40),
        }
    }

    /// A text in a colour.
    pub(crate) fn paint(self, text: &str, colour: Option<Colour>) -> String {
        let Some(colour) = colour.filter(|_| self.colour && !text.is_empty()) else {
            return text.to_owned();
        };
        let code = match colour {
            Colour::Green => "32",
            Colour::Yellow => "33",
            Colour::Red => "31",
            Colour::Dim => "2",
            Colour::Bold => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// One character for how it is with something.
pub(crate) fn glyph(health: Health) -> &'static str {
    match health {
        Health::Good => "✔",
        Health::Busy => "◌",
        Health::Bad => "✘",
        Health::Unknown => "?",
    }
}

/// The colour for how it is with something.
pub(crate) fn colour(health: Health) -> Colour {
    match health {
        Health::Good => Colour::Green,
        Health::Busy => Colour::Yellow,
        Health::Bad => Colour::Red,
        Health::Unknown => Colour::Dim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_those_who_understand_them() {
        let colourful = Style {
            colour: true,
            width: None,
        };
        assert_eq!(colourful.paint("x", Some(Colour::Red)), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(colourful.paint("x", None), "x");
        assert_eq!(colourful.paint("", Some(Colour::Red)), "");
        assert_eq!(Style::default().paint("x", Some(Colour::Red)), "x");
    }
}
