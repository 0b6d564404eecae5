//! Where in a document something is, written the way people write it: `spec.vars[0].value`.

use std::fmt;

/// A path, as a chain that lives on the stack of the walk and costs nothing until it is printed.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub(super) const fn root(name: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Field(name),
        }
    }

    pub(super) const fn field(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Field(name),
        }
    }

    pub(super) const fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    /// The name of the last field.
    pub(super) const fn last(&self) -> Option<&'a str> {
        match self.step {
            Step::Field(name) => Some(name),
            Step::Index(_) => None,
        }
    }

    /// Whether a field of this name is on the way.
    pub(super) fn passes(&self, name: &str) -> bool {
        matches!(self.step, Step::Field(field) if field == name)
            || self.parent.is_some_and(|parent| parent.passes(name))
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Field(name) if self.parent.is_none() => f.write_str(name),
            // A name with a dot in it would read like two.
            Step::Field(name) if name.contains(['.', '[', '$']) => write!(f, "[{name:?}]"),
            Step::Field(name) => write!(f, ".{name}"),
        }
    }
}
