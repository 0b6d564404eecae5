//! The stories, each played by a function that fails unless it ends well.

mod healing;
mod life;
mod moving;
mod topology;

use futures::future::BoxFuture;

use super::side::{Side, Terraform};

/// Where a story is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scene {
    /// On one management cluster.
    One,
    /// Between two management clusters.
    Two,
}

/// A story.
pub(super) struct Story {
    pub(super) name: &'static str,
    pub(super) scene: Scene,
    /// Who runs Terraform in it; one after the other.
    pub(super) runners: &'static [Terraform],
    /// CI has time for it, with our runner.
    pub(super) short: bool,
    pub(super) play: for<'a> fn(&'a Side, &'a Side) -> BoxFuture<'a, anyhow::Result<()>>,
}

impl Story {
    /// What it is called with a runner.
    pub(super) fn title(&self, runner: Terraform) -> String {
        match runner {
            Terraform::Ours => self.name.to_owned(),
            Terraform::Foreign => format!("with {}, {}", runner.name(), self.name),
        }
    }
}

const OURS: &[Terraform] = &[Terraform::Ours];
const BOTH: &[Terraform] = &[Terraform::Ours, Terraform::Foreign];

/// All stories.
pub(super) const STORIES: &[Story] = &[
    Story {
        name: "Cluster API recognises capt's kinds",
        scene: Scene::One,
        runners: OURS,
        short: true,
        play: |side, _| Box::pin(life::recognised(side)),
    },
    Story {
        name: "a Cluster gets available",
        scene: Scene::One,
        runners: BOTH,
        short: true,
        play: |side, _| Box::pin(life::available(side, "available")),
    },
    Story {
        name: "a paused Cluster rests, and goes on",
        scene: Scene::One,
        runners: BOTH,
        short: true,
        play: |side, _| Box::pin(life::paused(side, "paused")),
    },
    Story {
        name: "a deleted Cluster leaves nothing",
        scene: Scene::One,
        runners: BOTH,
        short: true,
        play: |side, _| Box::pin(life::deleted(side, "deleted")),
    },
    Story {
        name: "a Cluster follows its ClusterClass and its version, then nothing is written",
        scene: Scene::One,
        runners: BOTH,
        short: false,
        play: |side, _| Box::pin(topology::version_bump(side)),
    },
    Story {
        name: "a ClusterClass with a wrong template is told so",
        scene: Scene::One,
        runners: OURS,
        short: false,
        play: |side, _| Box::pin(topology::wrong_template(side)),
    },
    Story {
        name: "owner references, labels and finalizers come back",
        scene: Scene::One,
        runners: BOTH,
        short: false,
        play: |side, _| Box::pin(healing::stripped(side)),
    },
    Story {
        name: "a Cluster moves with its state, and nothing is made or destroyed",
        scene: Scene::Two,
        runners: BOTH,
        short: false,
        play: |from, to| Box::pin(moving::at_rest(from, to)),
    },
    Story {
        name: "a Cluster moves with its ClusterClass, and follows it over there",
        scene: Scene::Two,
        runners: OURS,
        short: false,
        play: |from, to| Box::pin(moving::with_its_class(from, to)),
    },
    Story {
        name: "a Cluster moves in the middle of an apply",
        scene: Scene::Two,
        runners: OURS,
        short: false,
        play: |from, to| Box::pin(moving::in_mid_apply(from, to)),
    },
    Story {
        name: "a Cluster moves beside a retained network",
        scene: Scene::Two,
        runners: OURS,
        short: false,
        play: |from, to| Box::pin(moving::beside_a_retained_network(from, to)),
    },
    Story {
        name: "a Cluster moves away from templates in another namespace",
        scene: Scene::Two,
        runners: OURS,
        short: false,
        play: |from, to| Box::pin(moving::away_from_its_templates(from, to)),
    },
];
