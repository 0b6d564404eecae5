//! What Terraform does, or means to do, with one resource.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One action on one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing.
    #[default]
    Noop,
    /// Make it.
    Create,
    /// Read a data source.
    Read,
    /// Change it in place.
    Update,
    /// Delete it and make it again, in either order.
    Replace,
    /// Delete it.
    Delete,
    /// Only its address changes.
    Move,
    /// Take something that exists into the state.
    Import,
    /// Drop it from the state and leave the thing itself alone.
    Forget,
    /// Open, renew or close an ephemeral resource, or a word of a newer Terraform.
    Other(String),
}

impl Action {
    /// The action that the event stream writes so.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word {
            "noop" | "no-op" | "" => Self::Noop,
            "create" => Self::Create,
            "read" => Self::Read,
            "update" => Self::Update,
            "replace" => Self::Replace,
            "delete" => Self::Delete,
            "move" => Self::Move,
            "import" => Self::Import,
            "remove" | "forget" => Self::Forget,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The action that the list in a plan's JSON stands for.
    #[must_use]
    pub fn from_list(words: &[String]) -> Self {
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => Self::Noop,
            [one] => Self::from_word(one),
            // A forgotten predecessor goes on existing, but the address gets a new thing all the same.
            ["delete" | "forget", "create"] | ["create", "delete" | "forget"] => Self::Replace,
            _ => Self::Other(words.join("+")),
        }
    }

    /// As the event stream writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Noop => "noop",
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Import => "import",
            Self::Forget => "remove",
            Self::Other(word) => word,
        }
    }

    /// How many pairs of start and end events an apply prints for it.
    #[must_use]
    pub fn operations(&self) -> u32 {
        match self {
            Self::Create | Self::Read | Self::Update | Self::Delete => 1,
            Self::Replace => 2,
            Self::Noop | Self::Move | Self::Import | Self::Forget | Self::Other(_) => 0,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_word(&String::deserialize(deserializer)?))
    }
}
