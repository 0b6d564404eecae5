//! Filling the holes of a document: each in the text that it is in, so that no value changes the document's shape.

use serde_json::Value;

use super::{
    holes::Hole,
    leaf::{Piece, pieces},
    path::Path,
    problem::RenderProblem,
    values::Values,
};

/// Fields that name something, and so must not become empty.
const NAMES: [&str; 4] = ["name", "namespace", "key", "module"];

/// A walk that fills holes, and what it has met so far.
pub(super) struct Filling<'a> {
    values: &'a Values<'a>,
    /// How many bytes may still be written.
    room: usize,
    pub(super) filled: Vec<Hole>,
    pub(super) problems: Vec<RenderProblem>,
    pub(super) too_large: bool,
}

impl<'a> Filling<'a> {
    pub(super) fn new(values: &'a Values<'a>, room: usize) -> Self {
        Self {
            values,
            room,
            filled: Vec::new(),
            problems: Vec::new(),
            too_large: false,
        }
    }

    /// Fills all texts of a document.
    pub(super) fn document(&mut self, value: &mut Value, path: &Path<'_>) {
        match value {
            Value::String(text) => {
                if let Some(filled) = self.text(text, path) {
                    *text = filled;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.document(item, &path.index(index));
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    let path = path.field(name);
                    if has_hole(name) {
                        self.problems.push(RenderProblem::HoleInKey {
                            path: path.to_string(),
                        });
                    }
                    self.document(field, &path);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A text with its holes filled, or nothing if it stays as it is.
    fn text(&mut self, text: &str, path: &Path<'_>) -> Option<String> {
        if !text.contains("${") {
            return None;
        }
        let mut filled = String::with_capacity(text.len());
        let known_problems = self.problems.len();
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => self.push(text, &mut filled),
                Piece::Broken => self.problems.push(RenderProblem::Broken {
                    path: path.to_string(),
                }),
                Piece::Hole(name) => match self.values.get(name) {
                    Some(value) => {
                        self.filled.push(Hole::in_field(name, path));
                        self.push(value, &mut filled);
                    }
                    None => self.problems.push(RenderProblem::Unfilled {
                        path: path.to_string(),
                        hole: name.to_owned(),
                    }),
                },
            }
        }
        let is_name = path.last().is_some_and(|field| NAMES.contains(&field)) && !path.passes("varmap");
        if filled.is_empty() && is_name && !self.too_large && self.problems.len() == known_problems {
            self.problems.push(RenderProblem::Emptied {
                path: path.to_string(),
            });
        }
        Some(filled)
    }

    fn push(&mut self, text: &str, out: &mut String) {
        match self.room.checked_sub(text.len()) {
            Some(room) => {
                self.room = room;
                out.push_str(text);
            }
            None => self.too_large = true,
        }
    }
}

/// Calls `visit` with the path of every text and of every key of a document, the text, and whether it is a key.
pub(super) fn texts(value: &Value, path: &Path<'_>, visit: &mut impl FnMut(&Path<'_>, &str, bool)) {
    match value {
        Value::String(text) => visit(path, text, false),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(item, &path.index(index), visit);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = path.field(name);
                visit(&path, name, true);
                texts(field, &path, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a text has a hole, broken or not.
pub(super) fn has_hole(text: &str) -> bool {
    text.contains("${") && pieces(text).any(|piece| !matches!(piece, Piece::Text(_)))
}
