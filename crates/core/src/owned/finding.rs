//! Which WorkspaceTemplateApply is an owner's.

use capt_api::marks;

use super::{
    seen::OwnedSeen,
    wanted::{Owner, Role},
};
use crate::{names::ChildName, wta::owner};

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<'a> {
    /// There is none; a new one gets this name.
    Absent {
        /// The name.
        name: String,
    },
    /// It is the owner's.
    Ours(&'a OwnedSeen),
    /// It is nobody's, and the owner's spec says to take it over.
    TakenOver(&'a OwnedSeen),
    /// The owner's spec names one that belongs to somebody else.
    NotOurs {
        /// The one that it names.
        seen: &'a OwnedSeen,
        /// Whose it is.
        owner: String,
    },
    /// The owner's spec names one that the owner has for something else. Two authors would fight over it.
    OtherRole {
        /// The one that it names.
        seen: &'a OwnedSeen,
        /// What it is for, as its label says.
        role: String,
    },
}

impl<'a> Found<'a> {
    /// The one that may be written to.
    #[must_use]
    pub fn usable(&self) -> Option<&'a OwnedSeen> {
        match self {
            Self::Ours(seen) | Self::TakenOver(seen) => Some(seen),
            Self::Absent { .. } | Self::NotOurs { .. } | Self::OtherRole { .. } => None,
        }
    }

    /// The name that it has or will have.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Absent { name } => name,
            Self::Ours(seen)
            | Self::TakenOver(seen)
            | Self::NotOurs { seen, .. }
            | Self::OtherRole { seen, .. } => seen.name(),
        }
    }
}

/// That a spec names one that does not exist, although there is one already, and names that again.
pub(crate) fn name_put_right(wrong: &str, right: &str) -> String {
    format!(
        "spec.workspaceTemplateApplyName was changed to {wrong}, which does not exist. It is {right} again, which made what is \
         there and cannot be renamed. Leave the field out of what you apply, or write {right}"
    )
}

/// Finds the WorkspaceTemplateApply that an owner has for a role: by its labels, by the name in the owner's spec, or by
/// one of the names that it may have had. `seen` are those that carry the owner's label, that have an owner reference to
/// it, and that have any of these names, all in the owner's namespace. The caller vouches for the former names: one that
/// has such a name and no owner is taken over.
#[must_use]
pub fn find<'a>(
    owner: &Owner<'_>,
    role: &Role,
    named: Option<&str>,
    new_name: &ChildName,
    former_names: &[String],
    seen: &'a [OwnedSeen],
) -> Found<'a> {
    let at = |name: &str| seen.iter().find(|one| one.name() == name);
    let is_ours = |one: &OwnedSeen| owner::recorded(&one.wta) == Some(owner.label());
    let label = role.label();
    let candidates = [new_name.preferred(), new_name.parted()];
    let former = former_names.iter().map(String::as_str);
    // What it is for, if that is something else. A label can be changed by anybody, a name by nobody: what is called as
    // only this role's is called is this role's.
    let other_role = |one: &'a OwnedSeen| -> Option<&'a str> {
        let mut own_names = candidates.into_iter().chain(former.clone());
        let is_its_name = own_names.any(|name| name == one.name()) && role.names_are_its_own();
        one.label(marks::ROLE)
            .filter(|other| *other != label && !is_its_name)
    };
    if let Some(name) = named
        && let Some(one) = at(name)
    {
        return match owner::recorded(&one.wta) {
            Some(recorded) if recorded == owner.label() => match other_role(one) {
                Some(role) => Found::OtherRole {
                    seen: one,
                    role: role.to_owned(),
                },
                None => Found::Ours(one),
            },
            Some(recorded) => Found::NotOurs {
                seen: one,
                owner: recorded,
            },
            None => Found::TakenOver(one),
        };
    }
    if let Some(one) = seen
        .iter()
        .find(|one| is_ours(one) && one.label(marks::ROLE) == Some(&label))
    {
        return Found::Ours(one);
    }
    if let Some(name) = named {
        return Found::Absent {
            name: name.to_owned(),
        };
    }
    for name in candidates.into_iter().chain(former.clone()) {
        if let Some(one) = at(name).filter(|one| is_ours(one) && other_role(one).is_none()) {
            return Found::Ours(one);
        }
    }
    let unowned = |one: &&OwnedSeen| owner::recorded(&one.wta).is_none();
    if let Some(one) = former.filter_map(at).find(unowned) {
        return Found::TakenOver(one);
    }
    Found::Absent {
        name: new_name.choose(|name| at(name).is_some()).to_owned(),
    }
}
