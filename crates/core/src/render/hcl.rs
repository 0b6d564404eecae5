//! Holes in Terraform's language: which interpolations are ours, and how a value takes the place of one.
//!
//! The text is parsed to find the holes, and only the bytes of a hole are replaced, so that everything else stays as
//! its author wrote it. A value is written so that whatever stands next to it, Terraform reads back just that value:
//! it brings no quote, no line break and no start of a template along.

use std::{fmt::Write as _, ops::Range};

use hcl_edit::{
    Span as _,
    expr::{Expression, ForExpr},
    parser::{self, Error},
    structure::{Block, BlockLabel, Body, Structure},
    template::{ForTemplateExpr, HeredocTemplate, Interpolation, StringTemplate, Strip, Template},
    visit::{self, Visit},
};

/// An interpolation of a bare name that nothing in the module binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The bare name.
    pub(super) name: String,
    /// From `${` to `}`.
    pub(super) whole: Range<usize>,
    /// The bare name itself.
    ident: Range<usize>,
    form: Form,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As a part of the quoted string that the hole is in.
    Quoted,
    /// As a quoted string inside the interpolation, which stays.
    Nested,
    /// As plain text if it is harmless, else nested. Only a string of a JSON document is such a place.
    Plain,
}

/// Why a text cannot be parsed, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) message: String,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let location = error.location();
        Self {
            line: location.line(),
            column: location.column(),
            message: error.message().to_owned(),
        }
    }
}

/// The holes of a file, in the order of the text.
pub(super) fn holes_of_file(text: &str) -> Result<Vec<Found>, Fault> {
    let body: Body = parser::parse_body(text)?;
    let mut search = Search::new(text, Form::Nested);
    search.visit_body(&body);
    Ok(search.done())
}

/// The holes of a string that Terraform reads as a template, in the order of the text.
pub(super) fn holes_of_template(text: &str) -> Result<Vec<Found>, Fault> {
    let template: Template = parser::parse_template(text)?;
    let mut search = Search::new(text, Form::Plain);
    search.visit_template(&template);
    Ok(search.done())
}

impl Found {
    /// Writes a value in the place of the hole. `text` is the text that the hole was found in.
    pub(super) fn write(&self, text: &str, value: &str, out: &mut String) {
        match self.form {
            Form::Quoted if !value.is_empty() || self.beside_a_quote(text) => escape(value, out),
            Form::Plain if is_harmless(value) && (!value.is_empty() || self.beside_a_quote(text)) => {
                out.push_str(value)
            }
            Form::Quoted | Form::Plain | Form::Nested => {
                out.push_str(text.get(self.whole.start..self.ident.start).unwrap_or_default());
                out.push('"');
                escape(value, out);
                out.push('"');
                out.push_str(text.get(self.ident.end..self.whole.end).unwrap_or_default());
            }
        }
    }

    /// Whether nothing, put in the place of the hole, leaves its neighbours as they are: in `%${name}{`, it would not.
    fn beside_a_quote(&self, text: &str) -> bool {
        let before = text.as_bytes().get(..self.whole.start).and_then(<[u8]>::last);
        let after = text.as_bytes().get(self.whole.end);
        matches!(before, None | Some(b'"')) || matches!(after, None | Some(b'"'))
    }
}

/// Whether Terraform reads a value as itself, in a template without quotes and whatever its neighbours are.
fn is_harmless(value: &str) -> bool {
    !value.contains(['$', '%']) && !value.starts_with('{')
}

/// Writes a value as a part of a quoted string.
///
/// A dollar or percent sign is never written as such, because it could start a template with what follows it; nor is
/// a brace that could end such a start. Nor are characters that people cannot see, because they may hide others.
fn escape(value: &str, out: &mut String) {
    for (at, character) in value.char_indices() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' | '%' => push_code(character, out),
            '{' if at == 0 => push_code(character, out),
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => {
                push_code(character, out);
            }
            _ if character.is_control() => push_code(character, out),
            _ => out.push(character),
        }
    }
}

fn push_code(character: char, out: &mut String) {
    // Writing to a String does not fail.
    let _ = write!(out, "\\u{:04x}", u32::from(character));
}

/// A walk through a parsed module that knows which names are bound where it is.
struct Search<'a> {
    text: &'a str,
    form: Form,
    bound: Vec<String>,
    found: Vec<Found>,
}

impl<'a> Search<'a> {
    fn new(text: &'a str, form: Form) -> Self {
        Self {
            text,
            form,
            bound: Vec::new(),
            found: Vec::new(),
        }
    }

    fn done(mut self) -> Vec<Found> {
        self.found.sort_by_key(|found| found.whole.start);
        self.found
    }

    fn with_bound(&mut self, names: impl IntoIterator<Item = String>, walk: impl FnOnce(&mut Self)) {
        let outer = self.bound.len();
        self.bound.extend(names);
        walk(self);
        self.bound.truncate(outer);
    }

    fn with_form(&mut self, form: Form, walk: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.form, form);
        walk(self);
        self.form = outer;
    }

    fn hole(&self, interpolation: &Interpolation) -> Option<Found> {
        let Expression::Variable(name) = &interpolation.expr else {
            return None;
        };
        let name = name.as_str();
        if self.bound.iter().any(|bound| bound == name) {
            return None;
        }
        let (whole, ident) = (interpolation.span()?, interpolation.expr.span()?);
        // What is replaced must be what was parsed, whatever the parser says about where it was.
        let looks_right = self.text.get(ident.clone()) == Some(name)
            && self
                .text
                .get(whole.clone())
                .is_some_and(|text| text.starts_with("${") && text.ends_with('}'));
        let form = if interpolation.strip == Strip::None {
            self.form
        } else {
            Form::Nested
        };
        looks_right.then(|| Found {
            name: name.to_owned(),
            whole,
            ident,
            form,
        })
    }
}

impl Visit for Search<'_> {
    fn visit_interpolation(&mut self, node: &Interpolation) {
        match self.hole(node) {
            Some(found) => self.found.push(found),
            None => visit::visit_interpolation(self, node),
        }
    }

    fn visit_string_template(&mut self, node: &StringTemplate) {
        self.with_form(Form::Quoted, |search| visit::visit_string_template(search, node));
    }

    fn visit_heredoc_template(&mut self, node: &HeredocTemplate) {
        self.with_form(Form::Nested, |search| visit::visit_heredoc_template(search, node));
    }

    fn visit_for_expr(&mut self, node: &ForExpr) {
        self.visit_expr(&node.intro.collection_expr);
        let names = node
            .intro
            .key_var
            .iter()
            .chain([&node.intro.value_var])
            .map(|name| name.to_string());
        self.with_bound(names.collect::<Vec<_>>(), |search| {
            for expression in node.key_expr.iter().chain([&node.value_expr]) {
                search.visit_expr(expression);
            }
            if let Some(condition) = &node.cond {
                search.visit_expr(&condition.expr);
            }
        });
    }

    fn visit_for_template_expr(&mut self, node: &ForTemplateExpr) {
        self.visit_expr(&node.collection_expr);
        let names = node
            .key_var
            .iter()
            .chain([&node.value_var])
            .map(|name| name.to_string());
        self.with_bound(names.collect::<Vec<_>>(), |search| {
            search.visit_template(&node.template)
        });
    }

    fn visit_block(&mut self, node: &Block) {
        let bound = bound_by(node);
        for structure in &node.body {
            match structure {
                // What is iterated over is outside of the iteration.
                Structure::Attribute(attribute) if attribute.key.as_str() == "for_each" => {
                    self.visit_attr(attribute)
                }
                Structure::Attribute(_) | Structure::Block(_) => {
                    self.with_bound(bound.clone(), |search| search.visit_structure(structure));
                }
            }
        }
    }
}

/// The name that a block binds inside of itself: `each` if it is repeated, the iterator if it is a dynamic block.
fn bound_by(block: &Block) -> Option<String> {
    let attribute = |name: &str| {
        block
            .body
            .attributes()
            .find(|attribute| attribute.key.as_str() == name)
    };
    attribute("for_each")?;
    if block.ident.as_str() != "dynamic" {
        return Some("each".to_owned());
    }
    match attribute("iterator").map(|iterator| &iterator.value) {
        Some(Expression::Variable(name)) => Some(name.as_str().to_owned()),
        _ => block.labels.first().map(|label| match label {
            BlockLabel::Ident(name) => name.as_str().to_owned(),
            BlockLabel::String(name) => name.as_str().to_owned(),
        }),
    }
}
