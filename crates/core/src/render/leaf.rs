//! Holes in one plain text, which is any text of a template but a module's.
//!
//! Here `${` always starts a hole, because nothing else reads these texts as templates; `$${` stands for `${`.

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text that stays.
    Text(&'a str),
    /// A hole of this name.
    Hole(&'a str),
    /// A hole without an end or without a name.
    Broken,
}

/// The parts of a text, in order. Nothing follows [`Piece::Broken`] if the hole has no end.
pub(super) fn pieces(text: &str) -> Pieces<'_> {
    Pieces { rest: text }
}

/// Iterator over the parts of a text.
pub(super) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        if let Some(after) = self.rest.strip_prefix("$${") {
            self.rest = after;
            return Some(Piece::Text("${"));
        }
        if let Some(after) = self.rest.strip_prefix("${") {
            let Some((name, after)) = after.split_once('}') else {
                self.rest = "";
                return Some(Piece::Broken);
            };
            self.rest = after;
            let name = name.trim();
            return Some(if name.is_empty() {
                Piece::Broken
            } else {
                Piece::Hole(name)
            });
        }
        // The dollar before `${` belongs to it, for then it is an escape.
        let end = self.rest.find("${").map_or(self.rest.len(), |at| {
            let before = self.rest.get(..at).unwrap_or_default();
            if before.ends_with('$') { at - 1 } else { at }
        });
        let (text, after) = self.rest.split_at(end);
        self.rest = after;
        Some(Piece::Text(text))
    }
}
