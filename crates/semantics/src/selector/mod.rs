//! Label and field selectors.

/// A parsed label selector (`a=b,c in (d,e),!f`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {}

impl LabelSelector {
    /// Reads the query parameter; the error is the text Kubernetes answers with.
    pub fn parse(_text: &str) -> Result<Self, String> {
        todo!()
    }

    /// Whether it selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        todo!()
    }

    /// Whether labels, given as a look-up, match.
    pub fn matches<'a>(&self, _label: impl Fn(&str) -> Option<&'a str>) -> bool {
        todo!()
    }
}

/// A parsed field selector (`metadata.name=x,status.phase!=Running`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector {}

impl FieldSelector {
    /// Reads the query parameter; the error is the text Kubernetes answers with.
    pub fn parse(_text: &str) -> Result<Self, String> {
        todo!()
    }

    /// Whether it selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        todo!()
    }

    /// The fields it names.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    /// The value that `field` must equal, if the selector demands one (`metadata.name=x`).
    #[must_use]
    pub fn exact(&self, _field: &str) -> Option<&str> {
        todo!()
    }

    /// Whether field values, given as a look-up (missing = empty string), match.
    pub fn matches<'a>(&self, _field: impl Fn(&str) -> &'a str) -> bool {
        todo!()
    }
}
