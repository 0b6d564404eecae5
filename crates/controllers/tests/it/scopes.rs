//! Controllers that watch two of three namespaces, with rights in these two only.

use capt_api::WorkspaceTemplateApply;
use capt_testkit::{Call, Calls, Disturbance, Events, Fault, Mark, Rule, Times, Verb, World};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{
    runner::Ledger,
    stage::{CAPT, Neighbour, Setting, User, external_name, start_controllers, start_runner_in},
};

/// The namespace that is watched beside the world's own.
const WATCHED: &str = "b";
/// The namespace that is not watched.
const OTHER: &str = "c";

/// Grants what Roles in these namespaces grant, to read these Namespaces themselves, and to get definitions.
fn grant_roles_only(world: &World) -> Rule {
    let watched = [world.namespace().to_owned(), WATCHED.to_owned()];
    let is_denied = move |call: &Call| {
        let is_namespace_read = call.resource == "namespaces"
            && watched.iter().any(|name| {
                call.name == *name
                    || call
                        .path
                        .contains(&format!("fieldSelector=metadata.name%3D{name}"))
            });
        let is_definition = call.resource == "customresourcedefinitions" && call.verb == Verb::Get;
        let is_granted = watched.contains(&call.namespace) || is_namespace_read || is_definition;
        call.verb != Verb::Other && !is_granted
    };
    world.faults().inject(
        Calls::by(CAPT).matching(is_denied),
        Times::Every,
        Fault::fail(403),
    )
}

struct Three<'a> {
    world: &'a World,
    watched: Neighbour<'a>,
    other: Neighbour<'a>,
    ledger: Ledger,
    denied: Rule,
}

impl<'a> Three<'a> {
    /// Objects of the namespace that is not watched are there first, so that they would be written first.
    async fn start(world: &'a World) -> Self {
        let watched = Neighbour::of(world, WATCHED).await;
        let other = Neighbour::of(world, OTHER).await;
        other.make_template("net").await;
        other.make_apply("blue", "net").await;
        let denied = grant_roles_only(world);
        let ledger = Ledger::default();
        let setting = Setting {
            beside: &[WATCHED],
            ..Setting::default()
        };
        start_controllers(world, &setting);
        for namespace in [world.namespace(), WATCHED, OTHER] {
            start_runner_in(world, namespace, &ledger);
        }
        make(world).await;
        make(&watched).await;
        Self {
            world,
            watched,
            other,
            ledger,
            denied,
        }
    }

    /// What the controllers asked about the namespace that is not watched.
    fn intrusions(&self) -> Vec<String> {
        let all = self.world.recorder().calls();
        let meant = all
            .iter()
            .filter(|entry| entry.call.caller == CAPT && entry.call.namespace == OTHER);
        meant.map(|entry| entry.call.to_string()).collect()
    }

    /// What the controllers wrote in the world's own namespace since then.
    fn writes_at_home(&self, mark: Mark) -> Vec<String> {
        let all = self.world.recorder().writes_since(mark);
        let meant = all
            .iter()
            .filter(|entry| entry.call.caller == CAPT && entry.call.namespace == self.world.namespace());
        meant.map(|entry| entry.call.to_string()).collect()
    }

    /// How often the controllers listed a kind in the namespace beside since then.
    fn lists_beside(&self, mark: Mark, resource: &str) -> usize {
        let all = self.world.recorder().requests_since(mark);
        let meant = all.iter().map(|entry| &entry.call).filter(|call| {
            call.caller == CAPT
                && call.verb == Verb::List
                && call.resource == resource
                && call.namespace == WATCHED
        });
        meant.count()
    }
}

/// Makes a template and a WorkspaceTemplateApply, and waits until it is ready.
async fn make(user: &impl User) {
    user.make_template("net").await;
    user.make_apply("blue", "net").await;
    user.until_ready("blue").await;
}

#[tokio::test]
async fn two_of_three_namespaces_are_worked_on_with_roles_in_these_two() {
    let world = World::embedded_only().await;
    let three = Three::start(&world).await;
    assert!(
        three.denied.acted() > 0,
        "nothing of the whole cluster can be read"
    );
    assert_eq!(three.ledger.made().len(), 2);
    let name = external_name(&three.watched.workspace("blue").await.unwrap());
    three.watched.delete_apply("blue").await;
    three.other.delete_apply("blue").await;
    three.watched.until_gone("blue").await;
    assert_eq!(three.ledger.destroyed(), [name]);
    world.settle().await;
    assert_eq!(three.intrusions(), Vec::<String>::new());
    assert_eq!(three.world.says("blue", "Ready").await, "True/Available");
    assert_eq!(three.ledger.made().len(), 2);
    world.finish().await;
}

/// A list tells everything about one namespace and nothing about another.
#[tokio::test]
async fn what_is_listed_anew_in_one_namespace_leaves_the_other_as_it_is() {
    let world = World::embedded_only().await;
    let three = Three::start(&world).await;
    world.settle().await;
    let mark = world.recorder().mark();
    let touched = json!({"metadata": {"annotations": {"example.org/touched": "true"}}});
    for resource in ["workspacetemplateapplies", "workspaces", "secrets"] {
        let events = Events::to(CAPT).resource(resource).namespace(WATCHED);
        let expired = world.faults().disturb(events, Times::Once, Disturbance::Expire);
        touch(&three.watched, resource, &touched).await;
        world
            .until(&format!("{resource} are listed anew"), async || {
                three.lists_beside(mark, resource) > 0
            })
            .await;
        assert_eq!(expired.acted(), 1, "{resource}");
    }
    world.settle().await;
    assert_eq!(three.writes_at_home(mark), Vec::<String>::new());
    assert_eq!(three.ledger.made().len(), 2);
    // Everything of it is still known: it is destroyed, and not taken for gone.
    let name = external_name(&world.workspace("blue").await.unwrap());
    world.delete_apply("blue").await;
    world.until_gone("blue").await;
    assert_eq!(three.ledger.destroyed(), [name]);
    world.finish().await;
}

async fn touch(user: &Neighbour<'_>, resource: &str, patch: &Value) {
    let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
    match resource {
        "workspaces" => drop(user.workspaces().patch("blue", &params, &patch).await.unwrap()),
        "secrets" => {
            let secrets: Api<Secret> = user.api();
            let all = secrets.list(&Default::default()).await.unwrap();
            let name = all.items.first().expect("there is one").name_any();
            secrets.patch(&name, &params, &patch).await.unwrap();
        }
        _ => {
            let applies: Api<WorkspaceTemplateApply> = user.api();
            applies.patch("blue", &params, &patch).await.unwrap();
        }
    }
}
