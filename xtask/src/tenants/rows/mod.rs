//! The attacks, and in what order they are played.

mod configs;
mod definitions;
mod redaction;
mod references;
mod sandbox;
mod scopes;
mod states;
mod takeovers;
mod tokens;
mod waits;

use futures::future::BoxFuture;

use super::stage::{Installation, Stage};

/// An attack, and the proof that it gets nothing.
pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) play: for<'a> fn(&'a Stage) -> BoxFuture<'a, anyhow::Result<()>>,
}

/// Rows that are played at the same time, each with objects of its own.
pub(super) struct Act {
    pub(super) installation: Installation,
    pub(super) rows: &'static [Row],
}

/// Everything that is played, in order.
pub(super) const ACTS: &[Act] = &[
    Act {
        installation: Installation::Namespaced,
        rows: &[
            row(
                "T1",
                "module that reads and writes what is not its own",
                |stage| Box::pin(sandbox::play(stage)),
            ),
            row("T2", "adoption of a platform team's Workspace", |stage| {
                Box::pin(takeovers::of_the_platform(stage))
            }),
            row("T4", "forged rendering and references", |stage| {
                Box::pin(references::play(stage))
            }),
            row("T5", "state in another namespace", |stage| {
                Box::pin(states::play(stage))
            }),
            row("T6", "token by the identity of the controllers", |stage| {
                Box::pin(tokens::of_the_process(stage))
            }),
            row("T8", "credentials of a ClusterProviderConfig", |stage| {
                Box::pin(configs::not_allowed(stage))
            }),
            row("T9", "environment and files of the runner", |stage| {
                Box::pin(configs::of_the_runner(stage))
            }),
            row("T10", "wait that holds up a deletion", |stage| {
                Box::pin(waits::play(stage))
            }),
            row("R1", "values of Secrets in reports", |stage| {
                Box::pin(redaction::play(stage))
            }),
        ],
    },
    Act {
        installation: Installation::ClusterScoped,
        rows: &[
            row("T3", "adoption of a retained Workspace", |stage| {
                Box::pin(takeovers::of_a_tenant(stage))
            }),
            row("T4", "the same, cluster-scoped Workspaces", |stage| {
                Box::pin(references::play(stage))
            }),
            row("T5", "the same, cluster-scoped Workspaces", |stage| {
                Box::pin(states::play(stage))
            }),
            row("T7", "token by the keys of another tenant", |stage| {
                Box::pin(tokens::of_a_tenant(stage))
            }),
        ],
    },
    Act {
        installation: Installation::OneNamespace,
        rows: &[row("T11", "runner of another tenant", |stage| {
            Box::pin(scopes::play(stage))
        })],
    },
    // It deletes what all others need.
    Act {
        installation: Installation::Namespaced,
        rows: &[row("D1", "deletion of a definition", |stage| {
            Box::pin(definitions::play(stage))
        })],
    },
];

const fn row(
    id: &'static str,
    title: &'static str,
    play: for<'a> fn(&'a Stage) -> BoxFuture<'a, anyhow::Result<()>>,
) -> Row {
    Row { id, title, play }
}
