//! Strategic merge by the hints of real built-in kinds.

use std::sync::Arc;

use serde_json::json;

use crate::builtin;
use crate::patch::strategic_merge;
use crate::schema::Schema;

fn schema_of(kind: &str) -> Arc<Schema> {
    builtin::all()
        .iter()
        .find(|builtin| builtin.kind == kind)
        .map(builtin::schema)
        .unwrap()
}

#[test]
fn containers_merge_by_name_and_volumes_retain_keys() {
    let deployment = json!({
        "metadata": {"name": "d", "finalizers": ["a/1"], "labels": {"a": "1"}},
        "spec": {
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {"spec": {
                "containers": [
                    {"name": "web", "image": "web:1", "args": ["-a"], "ports": [{"containerPort": 80, "name": "http"}]},
                    {"name": "log", "image": "log:1", "env": [{"name": "A", "value": "1"}]},
                ],
                "volumes": [{"name": "v", "emptyDir": {}}],
                "tolerations": [{"key": "a"}],
            }},
        },
    });
    let patch = json!({
        "metadata": {"finalizers": ["a/2"], "labels": {"b": "2"}},
        "spec": {
            "strategy": {"$retainKeys": ["type"], "type": "Recreate"},
            "template": {"spec": {
                "$setElementOrder/containers": [{"name": "log"}, {"name": "web"}],
                "containers": [
                    {"name": "log", "env": [{"name": "B", "value": "2"}, {"name": "A", "$patch": "delete"}]},
                    {"name": "web", "image": "web:2", "args": ["-b"], "ports": [{"containerPort": 443}]},
                ],
                "volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}],
                "tolerations": [{"key": "b"}],
            }},
        },
    });
    let expected = json!({
        "metadata": {"name": "d", "finalizers": ["a/2", "a/1"], "labels": {"a": "1", "b": "2"}},
        "spec": {
            "strategy": {"type": "Recreate"},
            "template": {"spec": {
                "containers": [
                    {"name": "log", "image": "log:1", "env": [{"name": "B", "value": "2"}]},
                    {
                        "name": "web", "image": "web:2", "args": ["-b"],
                        "ports": [{"containerPort": 443}, {"containerPort": 80, "name": "http"}],
                    },
                ],
                "volumes": [{"name": "v", "configMap": {"name": "c"}}],
                "tolerations": [{"key": "b"}],
            }},
        },
    });
    assert_eq!(
        strategic_merge(&deployment, &patch, &schema_of("Deployment")),
        Ok(expected)
    );
}

#[test]
fn maps_and_atomic_lists_of_small_kinds() {
    let config = json!({"data": {"a": "1", "b": "2"}});
    let patch = json!({"data": {"a": null, "c": "3"}});
    let expected = json!({"data": {"b": "2", "c": "3"}});
    assert_eq!(
        strategic_merge(&config, &patch, &schema_of("ConfigMap")),
        Ok(expected)
    );

    let account = json!({"imagePullSecrets": [{"name": "a"}], "secrets": [{"name": "x"}]});
    let patch = json!({"imagePullSecrets": [{"name": "b"}], "secrets": [{"name": "x", "$patch": "delete"}]});
    let expected = json!({"imagePullSecrets": [{"name": "b"}], "secrets": []});
    assert_eq!(
        strategic_merge(&account, &patch, &schema_of("ServiceAccount")),
        Ok(expected)
    );
}
