//! Who holds the lock that Terraform did not get.

use crate::stream::Diagnostic;

/// The holder of a lock, as Terraform prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockHolder {
    /// Names the lock; what `force-unlock` wants.
    pub id: String,
    /// What is locked.
    pub path: String,
    /// What it is locked for.
    pub operation: String,
    /// Who locked it.
    pub who: String,
    /// Since when, as Terraform prints it.
    pub created: String,
}

impl LockHolder {
    /// The holder that this diagnostic names, if it is about a lock.
    #[must_use]
    pub fn from_diagnostic(diagnostic: &Diagnostic) -> Option<Self> {
        let (_, listed) = diagnostic.detail.split_once("Lock Info:")?;
        let mut holder = Self::default();
        for line in listed.lines() {
            let Some((name, value)) = line.trim().split_once(':') else {
                continue;
            };
            let field = match name {
                "ID" => &mut holder.id,
                "Path" => &mut holder.path,
                "Operation" => &mut holder.operation,
                "Who" => &mut holder.who,
                "Created" => &mut holder.created,
                _ => continue,
            };
            value.trim().clone_into(field);
        }
        (!holder.id.is_empty()).then_some(holder)
    }
}
