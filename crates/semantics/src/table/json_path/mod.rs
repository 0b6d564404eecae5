//! JSON paths in Kubernetes' dialect: `.status.conditions[?(@.type=="Ready")].status`.
//!
//! The dialect differs from others: a quoted key is itself a path (`['a.b']` is `.a.b`), dots are escaped by a
//! backslash, and a path that meets a value of the wrong type finds nothing at all.

mod parse;
#[cfg(test)]
mod tests;
mod walk;

use serde_json::Value;

/// A parsed JSON path in Kubernetes' dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    /// `.*`: every member or item.
    Wildcard,
    /// `..`: the value and everything below.
    Recursive,
    Slice(Slice),
    /// `['a','b']`
    Union(Vec<Vec<Step>>),
    Filter(Filter),
}

/// `[start:end:step]`; a single index is `[i:i+1]`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slice {
    start: i64,
    end: End,
    step: i64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// One past the start.
    Next,
    /// The end of the list.
    Last,
    At(i64),
}

/// `[?(left operator right)]`
#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Operand,
    test: Test,
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Exists,
    Compare(Operator, Operand),
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(Vec<Step>),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Reads `.status.conditions[?(@.type=="Ready")].status` and the like. Braces around it and the first dot may be
    /// left out.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let text = text
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'))
            .unwrap_or(text);
        parse::path(text).map(|steps| Self { steps })
    }

    /// All values the path finds. A path that does not suit the document finds nothing.
    #[must_use]
    pub fn find<'a>(&self, document: &'a Value) -> Vec<&'a Value> {
        let mut found = Vec::new();
        let result = walk::walk(&self.steps, document, &mut |value| {
            found.push(value);
            Ok(walk::Go::On)
        });
        if result.is_err() {
            found.clear();
        }
        found
    }

    /// The first value the path finds. It allocates nothing.
    #[must_use]
    pub fn first<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        let mut found = None;
        let result = walk::walk(&self.steps, document, &mut |value| {
            // The walk goes on: if the path does not suit what follows, it finds nothing at all.
            found = found.or(Some(value));
            Ok(walk::Go::On)
        });
        result.ok().and(found)
    }
}
