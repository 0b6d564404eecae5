//! The runner: keeps Workspaces applied by running Terraform for them.
//!
//! It acts on the `Workspace` objects that provider-terraform knows, in the way that provider-terraform does as far as
//! anybody can see: the same conditions, reasons, annotations, finalizer and connection secret. Where an operation
//! executes is behind one seam, [`engine`]; what Terraform's words mean is told by `capt-terraform`.
//!
//! This crate must never know templates, WorkspaceTemplateApplies or clusters: a Workspace is the largest thing that
//! it has a word for.
//!
//! | module | for |
//! |---|---|
//! | [`engine`] | the seam: what an engine is given and what it gives back; Terraform as processes, and a simulation |

pub mod engine;
