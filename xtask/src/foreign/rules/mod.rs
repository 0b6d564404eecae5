//! The rules, each played by a function that fails unless it holds.

mod approval;
mod crash;
mod destruction;
mod handover;
mod owners;
mod pausing;
mod readiness;
mod returning;

use super::{Rule, SoleRule};

/// Rules that disturb nobody.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("ready means ready for this rendering", |stage| {
        Box::pin(readiness::ready_for_this_rendering(stage))
    }),
    ("nothing is made without durable state", |stage| {
        Box::pin(readiness::no_durable_state(stage))
    }),
    ("gzipped messages are decoded", |stage| {
        Box::pin(readiness::decoded_messages(stage))
    }),
    ("the place of state is fixed", |stage| {
        Box::pin(readiness::state_location_is_fixed(stage))
    }),
    ("a harmless variable needs no approval, others do", |stage| {
        Box::pin(approval::by_rendering(stage))
    }),
    ("a Remote module must be pinned to be updated", |stage| {
        Box::pin(approval::pinned_modules(stage))
    }),
    ("a Workspace deleted by hand comes back with its state", |stage| {
        Box::pin(returning::deleted_by_hand(stage))
    }),
    (
        "a retained Workspace keeps everything, and is taken back with consent",
        |stage| Box::pin(returning::retained(stage)),
    ),
    ("a deleted WorkspaceTemplateApply destroys", |stage| {
        Box::pin(destruction::deletion_destroys(stage))
    }),
    ("a template that orphans is never given the grant", |stage| {
        Box::pin(destruction::orphaning_template(stage))
    }),
    ("a namespace that goes destroys nothing", |stage| {
        Box::pin(destruction::namespace_deletion(stage))
    }),
    (
        "a foreground cascade destroys nothing without the owner's mark",
        |stage| Box::pin(owners::foreground_cascade(stage)),
    ),
    ("a stripped owner reference destroys nothing", |stage| {
        Box::pin(owners::stripped_reference(stage))
    }),
    (
        "an owned one deleted by hand leaves its Workspace to the owner",
        |stage| Box::pin(owners::deleted_by_hand(stage)),
    ),
    ("a pause is proved, and nothing happens meanwhile", |stage| {
        Box::pin(pausing::proof_of_rest(stage))
    }),
    ("a pause during a creation grants nothing", |stage| {
        Box::pin(pausing::during_a_creation(stage))
    }),
];

/// Rules that stop and start provider-terraform or the controllers.
pub(super) const SOLE_RULES: &[(&str, SoleRule)] = &[
    ("both groups of Workspaces are driven", |stage, _| {
        Box::pin(readiness::both_groups(stage))
    }),
    (
        "the wedge after a crash is undone with its state",
        |stage, provider| Box::pin(crash::wedge(stage, provider)),
    ),
    (
        "what crashed in mid-creation can be destroyed",
        |stage, provider| Box::pin(crash::wedge_and_deletion(stage, provider)),
    ),
    (
        "management policies switched off are terminal",
        |stage, provider| Box::pin(crash::policies_off(stage, provider)),
    ),
    (
        "Workspaces handed to our runner and back keep their state",
        |stage, provider| Box::pin(handover::there_and_back(stage, provider)),
    ),
];
