//! What is asked for: a kind, or one object.

use std::str::FromStr;

use crate::target::{Kind, Target, TargetError};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// All objects of a kind.
    Kind(Kind),
    /// One object.
    One(Target),
}

impl What {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Kind(kind) => *kind,
            Self::One(target) => target.kind,
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Kind(_) => None,
            Self::One(target) => Some(&target.name),
        }
    }
}

impl FromStr for What {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains('/') {
            text.parse().map(Self::One)
        } else {
            text.parse().map(Self::Kind)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_or_one_object_is_asked_for() {
        assert_eq!("clusters".parse(), Ok(What::Kind(Kind::Cluster)));
        let one: What = "wta/x".parse().unwrap();
        assert_eq!((one.kind(), one.name()), (Kind::Apply, Some("x")));
        assert!("pods".parse::<What>().is_err());
        assert!("cluster/".parse::<What>().is_err());
    }
}
