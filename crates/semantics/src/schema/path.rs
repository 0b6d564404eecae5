//! Where a walk over a document is, as a list on the stack: nothing is allocated until an error needs the text.

use std::fmt::Write as _;

/// One step, and the steps before it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'a> {
    /// The whole document.
    Root,
    /// A property that the schema names.
    Field(&'a Path<'a>, &'a str),
    /// A key of a map.
    Key(&'a Path<'a>, &'a str),
    /// An item of a list.
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    /// `spec.labels[a/b]`, as upstream's `field.Path` prints it.
    pub(super) fn field(&self) -> String {
        let mut text = String::new();
        self.write_field(&mut text);
        text
    }

    fn write_field(&self, text: &mut String) {
        match *self {
            Path::Root => {}
            Path::Field(parent, name) => {
                parent.write_field(text);
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Path::Key(parent, key) => {
                parent.write_field(text);
                let _ = write!(text, "[{key}]");
            }
            Path::Index(parent, index) => {
                parent.write_field(text);
                let _ = write!(text, "[{index}]");
            }
        }
    }

    /// `spec.labels.a/b`, as the OpenAPI validator names a place in its sentences. A key right under an unnamed root
    /// keeps its leading dot there, and so it does here.
    pub(super) fn dotted(&self) -> String {
        let mut text = String::new();
        self.write_dotted(&mut text);
        text
    }

    fn write_dotted(&self, text: &mut String) {
        match *self {
            Path::Root => {}
            Path::Field(parent, name) => {
                parent.write_dotted(text);
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Path::Key(parent, key) => {
                parent.write_dotted(text);
                text.push('.');
                text.push_str(key);
            }
            Path::Index(parent, index) => {
                parent.write_dotted(text);
                let _ = write!(text, "[{index}]");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_notations() {
        let spec = Path::Field(&Path::Root, "spec");
        let labels = Path::Field(&spec, "labels");
        let key = Path::Key(&labels, "a/b");
        let item = Path::Index(&key, 3);
        assert_eq!(item.field(), "spec.labels[a/b][3]");
        assert_eq!(item.dotted(), "spec.labels.a/b[3]");
        assert_eq!(Path::Root.field(), "");
    }
}
