//! What a request does to an object and its managers.

use serde_json::{Value, json};

use super::super::{ApplyError, Writer, apply, track_update};
use super::build;
use crate::schema::Schema;

const V1: &str = "example.com/v1";

fn at(second: u32) -> String {
    format!("2026-01-01T00:00:{second:02}Z")
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": V1, "kind": "Thing", "metadata": {"name": "t"}, "spec": spec})
}

/// An object on a server.
struct World {
    schema: Schema,
    live: Option<Value>,
    second: u32,
}

impl World {
    fn new() -> Self {
        let schema = build::schema(&serde_json::from_str(include_str!("thing.schema.json")).unwrap());
        Self {
            schema,
            live: None,
            second: 0,
        }
    }

    fn apply(&mut self, manager: &str, config: &Value, force: bool) -> Result<&Value, ApplyError> {
        self.second += 1;
        let now = at(self.second);
        let writer = Writer {
            manager,
            api_version: V1,
            subresource: "",
            now: &now,
        };
        let mut new = apply(
            &self.schema,
            self.live.as_ref(),
            config,
            writer,
            force,
            &["status"],
        )?;
        new["metadata"]["uid"] = json!("u");
        Ok(self.live.insert(new))
    }

    fn update(&mut self, manager: &str, new: &Value) -> &Value {
        self.write(manager, "", new, &["status"])
    }

    fn write(&mut self, manager: &str, subresource: &str, new: &Value, reset: &[&str]) -> &Value {
        self.second += 1;
        let now = at(self.second);
        let mut new = new.clone();
        let writer = Writer {
            manager,
            api_version: V1,
            subresource,
            now: &now,
        };
        if self.live.is_some() {
            new["metadata"]["uid"] = json!("u");
        }
        track_update(&self.schema, self.live.as_ref(), &mut new, writer, reset);
        new["metadata"]["uid"] = json!("u");
        self.live.insert(new)
    }

    fn live(&self) -> Value {
        self.live.clone().unwrap()
    }

    /// The fields of each entry, by manager and operation.
    fn owned(&self) -> Value {
        let live = self.live();
        let entries = live["metadata"]["managedFields"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        entries
            .iter()
            .map(|entry| {
                let mut name = format!("{} {}", text(entry, "operation"), text(entry, "manager"));
                if entry.get("subresource").is_some() {
                    name = format!("{name} {}", text(entry, "subresource"));
                }
                (name, entry["fieldsV1"].clone())
            })
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

#[test]
fn a_create_owns_everything_but_the_identity() {
    let mut world = World::new();
    let mut new = object(&json!({"text": "a", "tags": ["x"], "struct": {"x": 1}}));
    new["metadata"] = json!({"name": "t", "labels": {"a": "b"}, "generation": 1, "resourceVersion": "7"});
    assert_eq!(
        world.update("me", &new)["metadata"]["managedFields"],
        json!([{
            "manager": "me", "operation": "Update", "apiVersion": V1, "time": "2026-01-01T00:00:01Z",
            "fieldsType": "FieldsV1", "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {".": {}, "f:text": {}, "f:tags": {".": {}, "v:\"x\"": {}}, "f:struct": {".": {}, "f:x": {}}},
            },
        }])
    );
}

#[test]
fn an_update_that_changes_nothing_leaves_the_managers_alone() {
    let mut world = World::new();
    world.update("me", &object(&json!({"text": "a"})));
    let before = world.live();
    let mut again = before.clone();
    again["metadata"]["resourceVersion"] = json!("8");
    again["metadata"]["generation"] = json!(3);
    world.update("other", &again);
    assert_eq!(
        world.live()["metadata"]["managedFields"],
        before["metadata"]["managedFields"]
    );
    // Clients that do not know managedFields do not delete them.
    again["metadata"].as_object_mut().unwrap().remove("managedFields");
    world.update("other", &again);
    assert_eq!(
        world.live()["metadata"]["managedFields"],
        before["metadata"]["managedFields"]
    );
}

#[test]
fn an_update_takes_what_it_changes() {
    let mut world = World::new();
    world.update("one", &object(&json!({"text": "a", "count": 1, "flag": true})));
    world.update("two", &object(&json!({"text": "b", "count": 1})));
    assert_eq!(
        world.owned(),
        json!({"Update one": {"f:spec": {".": {}, "f:count": {}}}, "Update two": {"f:spec": {"f:text": {}}}})
    );
}

#[test]
fn an_apply_that_changes_nothing_leaves_the_object_alone() {
    let mut world = World::new();
    let config = object(&json!({"text": "a", "items": [{"name": "x", "value": "1"}]}));
    world.apply("me", &config, false).unwrap();
    let before = world.live();
    world.apply("me", &config, false).unwrap();
    assert_eq!(world.live(), before);
    // Nor does one that brings what the endpoint ignores, or an empty creation time.
    let mut noisy = config.clone();
    noisy["status"] = json!({"phase": "a"});
    noisy["metadata"]["creationTimestamp"] = Value::Null;
    world.apply("me", &noisy, false).unwrap();
    assert_eq!(world.live(), before);
}

#[test]
fn an_apply_removes_what_it_no_longer_has_unless_others_own_it() {
    let mut world = World::new();
    world
        .apply(
            "one",
            &object(&json!({"text": "a", "count": 1, "labels": {"a": "a", "b": "b"}})),
            false,
        )
        .unwrap();
    world
        .apply("two", &object(&json!({"count": 1, "labels": {"c": "c"}})), false)
        .unwrap();
    world
        .apply("one", &object(&json!({"labels": {"b": "b"}})), false)
        .unwrap();
    assert_eq!(
        world.live()["spec"],
        json!({"count": 1, "labels": {"b": "b", "c": "c"}})
    );
    world.apply("one", &object(&json!({})), false).unwrap();
    assert_eq!(world.live()["spec"], json!({"count": 1, "labels": {"c": "c"}}));
    world
        .apply(
            "two",
            &json!({"apiVersion": V1, "kind": "Thing", "metadata": {"name": "t"}}),
            false,
        )
        .unwrap();
    // That somebody applied an empty spec does not keep it from going with the last field in it.
    assert_eq!(world.live()["spec"], Value::Null);
}

#[test]
fn equal_values_are_shared_and_different_ones_conflict() {
    let mut world = World::new();
    world.apply("one", &object(&json!({"text": "a"})), false).unwrap();
    world.apply("two", &object(&json!({"text": "a"})), false).unwrap();
    assert_eq!(
        world.owned(),
        json!({"Apply one": {"f:spec": {"f:text": {}}}, "Apply two": {"f:spec": {"f:text": {}}}})
    );
    let error = world
        .apply("two", &object(&json!({"text": "b"})), false)
        .unwrap_err();
    assert_eq!(
        error.status_message(),
        "Apply failed with 1 conflict: conflict with \"one\": .spec.text"
    );
    world.apply("two", &object(&json!({"text": "b"})), true).unwrap();
    assert_eq!(world.owned(), json!({"Apply two": {"f:spec": {"f:text": {}}}}));
    assert_eq!(world.live()["spec"]["text"], "b");
}

#[test]
fn conflicts_are_grouped_by_manager() {
    let mut world = World::new();
    world.update(
        "maker",
        &object(&json!({"text": "a", "count": 1, "items": [{"name": "x", "value": "1"}]})),
    );
    let mut with_status = world.live();
    with_status["status"] = json!({"phase": "a"});
    with_status["spec"]["flag"] = json!(true);
    world.write("checker", "status", &with_status, &["metadata"]);
    let config = object(&json!({"text": "b", "flag": false, "items": [{"name": "x", "value": "2"}]}));
    let error = world.apply("me", &config, false).unwrap_err();
    assert_eq!(
        error.status_message(),
        "Apply failed with 3 conflicts: \
         conflicts with \"checker\" with subresource \"status\" using example.com/v1:\n- .spec.flag\n\
         conflicts with \"maker\" using example.com/v1:\n- .spec.text\n- .spec.items[name=\"x\"].value"
    );
    let ApplyError::Conflicts(conflicts) = error else {
        panic!("{error}")
    };
    assert_eq!(
        conflicts[1].cause_message(),
        "conflict with \"maker\" using example.com/v1"
    );
    assert_eq!(conflicts[1].field, ".spec.text");
}

#[test]
fn status_belongs_to_its_own_endpoint() {
    let mut world = World::new();
    let mut config = object(&json!({"text": "a"}));
    config["status"] = json!({"phase": "a"});
    world.apply("me", &config, false).unwrap();
    assert_eq!(world.live().get("status"), None);
    assert_eq!(world.owned(), json!({"Apply me": {"f:spec": {"f:text": {}}}}));

    let now = at(30);
    let writer = Writer {
        manager: "me",
        api_version: V1,
        subresource: "status",
        now: &now,
    };
    config["spec"]["text"] = json!("ignored");
    config["metadata"]["labels"] = json!({"ignored": "too"});
    let live = world.live();
    let new = apply(
        &world.schema,
        Some(&live),
        &config,
        writer,
        false,
        &["metadata", "spec"],
    )
    .unwrap();
    world.live = Some(new.clone());
    assert_eq!(new["spec"]["text"], "a");
    assert_eq!(new["metadata"].get("labels"), None);
    assert_eq!(new["status"]["phase"], "a");
    assert_eq!(
        world.owned(),
        json!({"Apply me": {"f:spec": {"f:text": {}}}, "Apply me status": {"f:status": {"f:phase": {}}}})
    );
}

#[test]
fn what_was_there_before_the_first_apply_has_an_owner() {
    let mut world = World::new();
    let mut old = object(&json!({"text": "a", "count": 1}));
    old["metadata"]["uid"] = json!("u");
    world.live = Some(old);
    let error = world
        .apply("me", &object(&json!({"text": "b"})), false)
        .unwrap_err();
    assert_eq!(
        error.status_message(),
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using example.com/v1: .spec.text"
    );
    world.apply("me", &object(&json!({"text": "b"})), true).unwrap();
    assert_eq!(
        world.owned(),
        json!({
            "Apply me": {"f:spec": {"f:text": {}}},
            "Update before-first-apply": {"f:spec": {".": {}, "f:count": {}}},
        })
    );
}

#[test]
fn a_client_can_make_an_object_forget_its_managers() {
    for reset in [json!([]), json!([{}])] {
        let mut world = World::new();
        world.update("me", &object(&json!({"text": "a"})));
        let mut new = world.live();
        new["metadata"]["managedFields"] = reset;
        new["spec"]["text"] = json!("b");
        assert_eq!(world.update("me", &new)["metadata"].get("managedFields"), None);
        // Nor does a later update start anew: that object is not managed.
        new["spec"]["text"] = json!("c");
        new["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(world.update("me", &new)["metadata"].get("managedFields"), None);
    }
}

#[test]
fn a_client_can_rewrite_managers_but_not_through_a_subresource() {
    let mut world = World::new();
    world.update("me", &object(&json!({"text": "a"})));
    let mut new = world.live();
    new["metadata"]["managedFields"][0]["manager"] = json!("renamed");
    world.write("me", "status", &new, &["metadata", "spec"]);
    assert_eq!(
        world.owned(),
        json!({"Update me": {"f:spec": {".": {}, "f:text": {}}}})
    );
    world.update("me", &new);
    assert_eq!(
        world.owned(),
        json!({"Update renamed": {"f:spec": {".": {}, "f:text": {}}}})
    );
    // Nonsense is ignored.
    new["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Guess"}]);
    world.update("me", &new);
    assert_eq!(
        world.owned(),
        json!({"Update renamed": {"f:spec": {".": {}, "f:text": {}}}})
    );
}

#[test]
fn kubectl_takes_over_what_it_applied_itself() {
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let mut world = World::new();
    let mut new = object(&json!({"text": "a", "count": 1}));
    new["metadata"]["annotations"] = json!({annotation: object(&json!({"text": "a"})).to_string()});
    world.update("kubectl-client-side-apply", &new);
    let config = object(&json!({"text": "b"}));
    assert!(world.apply("somebody", &config, false).is_err());
    world.apply("kubectl", &config, false).unwrap();
    let live = world.live();
    assert_eq!(live["spec"], json!({"text": "b", "count": 1}));
    assert_eq!(
        live["metadata"]["annotations"][annotation],
        json!(format!("{config}\n"))
    );
    // What client-side apply did not set is still a conflict.
    let error = world
        .apply("kubectl", &object(&json!({"text": "c", "count": 2})), false)
        .unwrap_err();
    assert_eq!(
        error.status_message(),
        "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using example.com/v1: .spec.count"
    );
}

#[test]
fn key_fields_take_their_defaults() {
    let mut world = World::new();
    world
        .apply("one", &object(&json!({"ports": [{"port": 1}]})), false)
        .unwrap();
    assert_eq!(
        world.owned()["Apply one"]["f:spec"]["f:ports"],
        json!({r#"k:{"port":1,"protocol":"TCP"}"#: {".": {}, "f:port": {}}})
    );
    world
        .apply(
            "two",
            &object(&json!({"ports": [{"port": 1, "protocol": "TCP", "name": "a"}]})),
            false,
        )
        .unwrap();
    assert_eq!(
        world.live()["spec"]["ports"],
        json!([{"port": 1, "protocol": "TCP", "name": "a"}])
    );
}

#[test]
fn requests_that_cannot_be_right_are_refused() {
    let mut world = World::new();
    let mut managed = object(&json!({}));
    managed["metadata"]["managedFields"] = json!([]);
    assert_eq!(
        world.apply("me", &managed, false),
        Err(ApplyError::Invalid(
            "metadata.managedFields must be nil".to_owned()
        ))
    );
    let mut version = object(&json!({}));
    version["apiVersion"] = json!("example.com/v2");
    assert_eq!(
        world.apply("me", &version, false).unwrap_err().status_message(),
        "Incorrect version specified in apply patch. Specified patch version: example.com/v2, expected: example.com/v1"
    );
    assert_eq!(
        world
            .apply("me", &object(&json!({"nope": 1})), false)
            .unwrap_err()
            .status_message(),
        "failed to create typed patch object (/t; example.com/v1, Kind=Thing): .spec.nope: field not declared in schema"
    );
}

#[test]
fn metadata_needs_no_schema() {
    let mut config = object(&json!({"a": [1]}));
    config["metadata"]["finalizers"] = json!(["x.io/a"]);
    config["metadata"]["ownerReferences"] =
        json!([{"uid": "1", "name": "n", "kind": "K", "apiVersion": "v1"}]);
    let writer = Writer {
        manager: "me",
        api_version: V1,
        subresource: "",
        now: "2026-01-01T00:00:00Z",
    };
    let new = apply(&Schema::anything(), None, &config, writer, false, &[]).unwrap();
    assert_eq!(
        new["metadata"]["managedFields"][0]["fieldsV1"],
        json!({
            "f:metadata": {"f:finalizers": {"v:\"x.io/a\"": {}}, "f:ownerReferences": {"k:{\"uid\":\"1\"}": {}}},
            "f:spec": {".": {}, "f:a": {}},
        })
    );
}

#[test]
fn no_object_has_more_than_ten_updaters() {
    let mut world = World::new();
    for turn in 0..15 {
        let labels: serde_json::Map<_, _> = (0..=turn).map(|n| (format!("l{n:02}"), json!("x"))).collect();
        world.update(&format!("m{turn:02}"), &object(&json!({"labels": labels})));
    }
    let live = world.live();
    let entries = live["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 10);
    assert_eq!(entries[0]["manager"], "ancient-changes");
    assert_eq!(
        entries[0]["fieldsV1"]["f:spec"]["f:labels"]
            .as_object()
            .unwrap()
            .len(),
        7
    );
    assert_eq!(entries[9]["manager"], "m14");
}

#[test]
fn built_in_kinds_are_applied_by_their_own_schema() {
    let kind = crate::builtin::all()
        .iter()
        .find(|kind| kind.kind == "ServiceAccount")
        .unwrap();
    let schema = crate::builtin::schema(kind);
    let config = |secret: &str| {
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "b"},
            "secrets": [{"name": secret}], "imagePullSecrets": [{"name": "p"}],
        })
    };
    let writer = |manager| Writer {
        manager,
        api_version: "v1",
        subresource: "",
        now: "2026-01-01T00:00:00Z",
    };
    let one = apply(&schema, None, &config("one"), writer("one"), false, &[]).unwrap();
    let two = apply(&schema, Some(&one), &config("two"), writer("two"), false, &[]).unwrap();
    assert_eq!(two["secrets"], json!([{"name": "one"}, {"name": "two"}]));
    // A list of references to secrets has an item for each; the list of those for pulling images is one piece.
    assert_eq!(
        two["metadata"]["managedFields"][1]["fieldsV1"],
        json!({
            "f:imagePullSecrets": {},
            "f:secrets": {r#"k:{"name":"two"}"#: {}},
        })
    );
}
