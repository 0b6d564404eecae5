//! Holes in the text of an inline module, in either of its languages.

use std::{collections::BTreeSet, ops::Range};

use serde::de::IgnoredAny;

use super::{
    hcl::{self, Fault, Found},
    jsontext,
    path::Path,
    problem::RenderProblem,
};
use capt_api::foreign::forprovider::FileFormat;

/// The name of a language, and where the module is, for problems.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) path: Path<'a>,
    pub(super) format: FileFormat,
}

/// A parsed module: its text and the places in it that may be replaced, in order.
#[derive(Clone, Debug)]
pub(super) struct Module {
    text: String,
    spots: Vec<Spot>,
    /// Bare names that Terraform gives a value somewhere in the module.
    bound: BTreeSet<String>,
}

/// A part of the text that has holes.
#[derive(Clone, Debug)]
enum Spot {
    /// A hole of a file in HCL.
    Hcl(Found),
    /// A string of a file in JSON, decoded, and the holes in it.
    Json {
        span: Range<usize>,
        decoded: String,
        holes: Vec<Found>,
        path: String,
        /// Terraform does not read it.
        is_comment: bool,
    },
}

/// One hole of a module.
pub(super) struct ModuleHole<'a> {
    pub(super) name: &'a str,
    /// Line and column in the module's text, from 1. For JSON, those of the string that it is in.
    pub(super) line: usize,
    pub(super) column: usize,
    /// Where it is in a JSON document; empty for HCL.
    pub(super) within: &'a str,
    /// Terraform knows what to do with it, so that it may stay if no variable fills it.
    pub(super) may_stay: bool,
}

#[cfg(test)]
thread_local! {
    /// How many modules were parsed.
    pub(super) static PARSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Module {
    /// Parses a module.
    pub(super) fn parse(text: &str, place: Place<'_>) -> Result<Self, Vec<RenderProblem>> {
        #[cfg(test)]
        PARSED.with(|count| count.set(count.get() + 1));
        // Where blocks have provisioners or conditions, this is the resource that they are in.
        let mut bound = BTreeSet::from(["self".to_owned()]);
        let spots = match place.format {
            FileFormat::HCL => {
                let holes =
                    hcl::holes_of_file(text).map_err(|fault| vec![unparsable(place, "HCL", fault)])?;
                holes.into_iter().map(Spot::Hcl).collect()
            }
            FileFormat::JSON => {
                bound.extend(bound_in_json(text));
                json_spots(text, place, &bound)?
            }
        };
        Ok(Self {
            text: text.to_owned(),
            spots,
            bound,
        })
    }

    /// All holes, in the order of the text.
    pub(super) fn holes(&self) -> Vec<ModuleHole<'_>> {
        let mut cursor = Cursor::new(&self.text);
        let mut holes = Vec::new();
        for spot in &self.spots {
            let (found, start, within, is_comment) = match spot {
                Spot::Hcl(found) => (std::slice::from_ref(found), found.whole.start, "", false),
                Spot::Json {
                    span,
                    holes,
                    path,
                    is_comment,
                    ..
                } => (holes.as_slice(), span.start, path.as_str(), *is_comment),
            };
            let (line, column) = cursor.locate(start);
            holes.extend(found.iter().map(|found| ModuleHole {
                name: &found.name,
                line,
                column,
                within,
                may_stay: is_comment || self.bound.contains(&found.name),
            }));
        }
        holes
    }

    /// The text with values in the place of the holes that have one; the others stay. Nothing if it grows beyond
    /// `limit`.
    pub(super) fn fill<'v>(
        &self,
        value_of: impl Fn(&str) -> Option<&'v str>,
        limit: usize,
    ) -> Option<String> {
        let mut out = String::with_capacity(self.text.len());
        let mut copied = 0;
        for spot in &self.spots {
            let span = match spot {
                Spot::Hcl(found) => &found.whole,
                Spot::Json { span, .. } => span,
            };
            let replacement = match spot {
                Spot::Hcl(found) => splice(
                    &self.text,
                    found.whole.clone(),
                    std::slice::from_ref(found),
                    &value_of,
                    limit,
                )?,
                Spot::Json { decoded, holes, .. }
                    if holes.iter().any(|hole| value_of(&hole.name).is_some()) =>
                {
                    serde_json::Value::String(splice(decoded, 0..decoded.len(), holes, &value_of, limit)?)
                        .to_string()
                }
                Spot::Json { .. } => continue,
            };
            out.push_str(self.text.get(copied..span.start)?);
            out.push_str(&replacement);
            copied = span.end;
            if out.len() > limit {
                return None;
            }
        }
        out.push_str(self.text.get(copied..)?);
        (out.len() <= limit).then_some(out)
    }
}

/// The part `range` of a text with values in the place of its holes.
fn splice<'v>(
    text: &str,
    range: Range<usize>,
    holes: &[Found],
    value_of: &impl Fn(&str) -> Option<&'v str>,
    limit: usize,
) -> Option<String> {
    let mut out = String::new();
    let mut copied = range.start;
    for hole in holes {
        let Some(value) = value_of(&hole.name) else {
            continue;
        };
        out.push_str(text.get(copied..hole.whole.start)?);
        hole.write(text, value, &mut out);
        copied = hole.whole.end;
        if out.len() > limit {
            return None;
        }
    }
    out.push_str(text.get(copied..range.end)?);
    Some(out)
}

fn json_spots(
    text: &str,
    place: Place<'_>,
    bound: &BTreeSet<String>,
) -> Result<Vec<Spot>, Vec<RenderProblem>> {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        let fault = Fault {
            line: error.line(),
            column: error.column(),
            message: without_place(&error.to_string()),
        };
        return Err(vec![unparsable(place, "JSON", fault)]);
    }
    let (mut spots, mut problems) = (Vec::new(), Vec::new());
    let mut cursor = Cursor::new(text);
    // A dollar sign may also be written as an escape.
    for literal in jsontext::strings(text, |raw| raw.contains(['$', '\\'])) {
        let raw = text.get(literal.span.clone()).unwrap_or_default();
        let holes = serde_json::from_str::<String>(raw)
            .map_err(|error| without_place(&error.to_string()))
            .and_then(|decoded| {
                let holes = if decoded.contains("${") {
                    hcl::holes_of_template(&decoded)
                } else {
                    Ok(Vec::new())
                };
                holes.map(|holes| (decoded, holes)).map_err(|fault| fault.message)
            });
        let is_comment = is_in_comment(&literal.path);
        match holes {
            Ok((_, holes)) if holes.is_empty() => {}
            Ok((_, holes)) if literal.is_key => {
                if !is_comment && holes.iter().any(|hole| !bound.contains(&hole.name)) {
                    problems.push(RenderProblem::HoleInKey {
                        path: format!("{}: {}", place.path, literal.path),
                    });
                }
            }
            Ok((decoded, holes)) => {
                spots.push(Spot::Json {
                    span: literal.span,
                    decoded,
                    holes,
                    path: literal.path,
                    is_comment,
                });
            }
            Err(message) => {
                let (line, column) = cursor.locate(literal.span.start);
                let message = format!("{message} (in {})", literal.path);
                problems.push(unparsable(
                    place,
                    "JSON",
                    Fault {
                        line,
                        column,
                        message,
                    },
                ));
            }
        }
    }
    if problems.is_empty() {
        Ok(spots)
    } else {
        Err(problems)
    }
}

/// Whether a path of a JSON module leads through a property that Terraform takes for a comment.
fn is_in_comment(path: &str) -> bool {
    path.contains("//") && path.split('.').any(|step| step.split('[').next() == Some("//"))
}

/// Bare names that a JSON module binds: iterators of dynamic blocks, and what `for_each` gives. Where they are bound is
/// not looked at, because keys of a document say little about that.
fn bound_in_json(text: &str) -> Vec<String> {
    let mut names = vec!["each".to_owned()];
    if !text.contains("\"dynamic\"") {
        return names;
    }
    for literal in jsontext::strings(text, |_| true) {
        let (before, name) = literal.path.rsplit_once('.').unwrap_or_default();
        let before = before.split_once('[').map_or(before, |_| {
            before.trim_end_matches(|end: char| end == ']' || end == '[' || end.is_ascii_digit())
        });
        if literal.is_key && (before == "dynamic" || before.ends_with(".dynamic")) {
            names.push(name.to_owned());
        }
        if !literal.is_key && name == "iterator" {
            let raw = text.get(literal.span).unwrap_or_default();
            names.push(raw.trim_matches('"').to_owned());
        }
    }
    names
}

fn unparsable(place: Place<'_>, language: &'static str, fault: Fault) -> RenderProblem {
    RenderProblem::Module {
        path: place.path.to_string(),
        language,
        line: fault.line,
        column: fault.column,
        message: fault.message,
    }
}

/// serde_json ends its messages with the place, which a problem tells by itself.
fn without_place(message: &str) -> String {
    message.split(" at line ").next().unwrap_or(message).to_owned()
}

/// Turns offsets that ascend into lines and columns, in one pass over the text.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    column: usize,
}

impl<'a> Cursor<'a> {
    const fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
            column: 1,
        }
    }

    fn locate(&mut self, offset: usize) -> (usize, usize) {
        let passed = self.text.get(self.at..offset).unwrap_or_default();
        match passed.rsplit_once('\n') {
            Some((lines, rest)) => {
                self.line += lines.matches('\n').count() + 1;
                self.column = rest.chars().count() + 1;
            }
            None => self.column += passed.chars().count(),
        }
        self.at = self.at.max(offset);
        (self.line, self.column)
    }
}
