//! Who makes a request.

/// The user of a request, put into its extensions by whoever authenticates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// User name.
    pub user: String,
    /// Groups.
    pub groups: Vec<String>,
}

impl Default for Identity {
    /// In-process callers are trusted.
    fn default() -> Self {
        Self {
            user: "system:admin".to_owned(),
            groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        }
    }
}
