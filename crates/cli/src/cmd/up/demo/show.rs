//! What is seen of the cluster while it comes up.

use std::time::Duration;

use capt_api::captcontrolplane::ControlPlaneState;
use k8s_openapi::jiff::Timestamp;
use kube::{Client, ResourceExt as _};

use super::{NAME, NAMESPACE};
use crate::{
    cmd,
    look::{
        Scope,
        live::Live,
        style::Style,
        tree::{self, Gathered},
    },
};

/// How often ages are drawn anew on a terminal.
const TICK: Duration = Duration::from_secs(1);

/// How showing it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It is ready.
    Ready,
    /// Somebody deleted it.
    Gone,
}

/// Shows the tree of the cluster whenever it changed, until it is ready or gone.
pub(super) async fn until_ready(client: &Client) -> anyhow::Result<Ended> {
    let mut live = Live::start(client, Scope::Namespace(NAMESPACE.to_owned())).await?;
    let mut screen = Screen::new(Style::of_stdout());
    loop {
        let seen = Gathered::of(live.gathered(), NAMESPACE, &format!("Cluster/{NAME}"));
        if !seen.is_there() {
            return Ok(Ended::Gone);
        }
        screen.show(&seen)?;
        if is_ready(&seen) {
            return Ok(Ended::Ready);
        }
        tokio::select! {
            changed = live.changed() => changed?,
            () = tokio::time::sleep(TICK), if screen.is_terminal() => {}
        }
    }
}

/// Both must say so: the Cluster learns a moment later what its control plane knows.
fn is_ready(seen: &Gathered) -> bool {
    let snapshot = &seen.part.snapshot;
    let cluster = snapshot.clusters.iter().find(|one| one.name_any() == NAME);
    let conditions = cluster.and_then(|one| one.status.as_ref()?.conditions.as_ref());
    let is_available = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Available" && condition.status == "True");
    let plane = snapshot.control_planes.iter().find(|one| one.name_any() == NAME);
    let state = plane.and_then(|one| one.status.as_ref()?.state);
    is_available && state == Some(ControlPlaneState::Ready)
}

/// Where looks are shown: over the last one on a terminal, one after the other elsewhere.
struct Screen {
    style: Style,
    last: String,
}

impl Screen {
    fn new(style: Style) -> Self {
        Self {
            style,
            last: String::new(),
        }
    }

    fn is_terminal(&self) -> bool {
        self.style.width.is_some()
    }

    fn show(&mut self, seen: &Gathered) -> anyhow::Result<()> {
        let picture = tree::render(seen, self.style);
        if self.is_terminal() {
            let lines = self.last.lines().count();
            let over = match lines {
                0 => String::new(),
                lines => format!("\u{1b}[{lines}A\u{1b}[J"),
            };
            self.last = picture;
            return cmd::print(&format!("{over}{}", self.last));
        }
        // A picture in which only ages differ is no news.
        let ageless = Gathered {
            now: Timestamp::default(),
            ..seen.clone()
        };
        let news = tree::render(&ageless, self.style);
        if news == self.last {
            return Ok(());
        }
        self.last = news;
        cmd::print(&(picture + "\n"))
    }
}
