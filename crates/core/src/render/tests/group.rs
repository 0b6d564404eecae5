//! The rules of the two groups of Workspaces.

use super::*;

fn spec(fields: &Value) -> WorkspaceTemplateSpec {
    let mut spec = json!({"forProvider": {"source": "Remote", "module": "m"}});
    for (name, value) in fields.as_object().unwrap() {
        match name.as_str() {
            "env" | "varFiles" => spec["forProvider"][name] = value.clone(),
            _ => spec[name] = value.clone(),
        }
    }
    template(&spec)
}

fn fitted(
    fields: &Value,
    change: impl FnOnce(&mut RenderInput<'_>),
) -> Result<(Value, Facts), Vec<RenderProblem>> {
    let (template, none) = (spec(fields), BTreeMap::new());
    let mut input = input(&template, &none);
    change(&mut input);
    let rendering = render(&input)?;
    Ok((serde_json::to_value(rendering.spec).unwrap(), rendering.facts))
}

fn cluster_scoped(input: &mut RenderInput<'_>) {
    input.group = WorkspaceGroup::ClusterScoped;
}

#[test]
fn own_namespaces_are_dropped_or_written_out() {
    let reference = |namespace: Option<&str>| match namespace {
        Some(namespace) => json!({"name": "n", "key": "k", "namespace": namespace}),
        None => json!({"name": "n", "key": "k"}),
    };
    for namespace in [None, Some("team")] {
        let mut secret = json!({"name": "s"});
        if let Some(namespace) = namespace {
            secret["namespace"] = namespace.into();
        }
        let fields = json!({
            "env": [{"name": "A", "secretKeyRef": reference(namespace)}],
            "varFiles": [{"source": "ConfigMapKey", "configMapKeyRef": reference(namespace)}],
            "writeConnectionSecretToRef": secret,
        });
        let (namespaced, facts) = fitted(&fields, |_| {}).unwrap();
        assert_eq!(
            namespaced["forProvider"]["env"][0]["secretKeyRef"],
            reference(None)
        );
        assert_eq!(
            namespaced["forProvider"]["varFiles"][0]["configMapKeyRef"],
            reference(None)
        );
        assert_eq!(namespaced["writeConnectionSecretToRef"], json!({"name": "s"}));
        let with_namespace = SecretReference {
            name: "s".to_owned(),
            namespace: Some("team".to_owned()),
        };
        assert_eq!(facts.connection_secret.as_ref(), Some(&with_namespace));

        let (cluster, facts) = fitted(&fields, cluster_scoped).unwrap();
        assert_eq!(
            cluster["forProvider"]["env"][0]["secretKeyRef"],
            reference(Some("team"))
        );
        assert_eq!(
            cluster["forProvider"]["varFiles"][0]["configMapKeyRef"],
            reference(Some("team"))
        );
        assert_eq!(
            cluster["writeConnectionSecretToRef"],
            json!({"name": "s", "namespace": "team"})
        );
        assert_eq!(facts.connection_secret, Some(with_namespace));
    }
}

#[test]
fn other_namespaces_are_refused() {
    let reference = json!({"name": "n", "key": "k", "namespace": "other"});
    let fields = json!({
        "env": [{"name": "A", "secretKeyRef": reference}, {"name": "B", "configMapKeyRef": reference}],
        "varFiles": [{"source": "SecretKey", "secretKeyRef": reference}],
        "writeConnectionSecretToRef": {"name": "s", "namespace": "other"},
    });
    let paths = [
        "spec.template.spec.forProvider.env[0].secretKeyRef.namespace",
        "spec.template.spec.forProvider.env[1].configMapKeyRef.namespace",
        "spec.template.spec.forProvider.varFiles[0].secretKeyRef.namespace",
        "spec.template.spec.writeConnectionSecretToRef.namespace",
    ];
    let refused = paths.map(|path| RenderProblem::ForeignNamespace {
        path: path.to_owned(),
        namespace: "other".to_owned(),
        own: "team".to_owned(),
    });
    assert_eq!(fitted(&fields, |_| {}).unwrap_err(), refused);
    assert_eq!(fitted(&fields, cluster_scoped).unwrap_err(), refused);
    // A namespaced Workspace cannot have them, whoever made it.
    let adopted = |input: &mut RenderInput<'_>| input.foreign_namespaces = ForeignNamespaces::Report;
    assert_eq!(fitted(&fields, adopted).unwrap_err(), refused);

    let (spec, facts) = fitted(&fields, |input| {
        cluster_scoped(input);
        adopted(input);
    })
    .unwrap();
    assert_eq!(spec["forProvider"]["env"][0]["secretKeyRef"], reference);
    assert_eq!(
        facts
            .foreign
            .iter()
            .map(|foreign| &*foreign.path)
            .collect::<Vec<_>>(),
        paths
    );
}

#[test]
fn provider_configurations_get_a_kind_where_they_have_one() {
    for (given, namespaced, cluster) in [
        (
            json!({}),
            json!({"kind": "ClusterProviderConfig", "name": "default"}),
            json!({"name": "default"}),
        ),
        (
            json!({"providerConfigRef": {"name": "aws", "policy": {"resolve": "Always"}}}),
            json!({"kind": "ClusterProviderConfig", "name": "aws"}),
            json!({"name": "aws", "policy": {"resolve": "Always"}}),
        ),
        (
            json!({"providerConfigRef": {"name": "aws", "kind": "ProviderConfig"}}),
            json!({"kind": "ProviderConfig", "name": "aws"}),
            json!({"name": "aws"}),
        ),
    ] {
        assert_eq!(fitted(&given, |_| {}).unwrap().0["providerConfigRef"], namespaced);
        assert_eq!(
            fitted(&given, cluster_scoped).unwrap().0["providerConfigRef"],
            cluster
        );
    }
    let wrong = json!({"providerConfigRef": {"name": "aws", "kind": "Secret"}});
    let problems = fitted(&wrong, |_| {}).unwrap_err();
    assert!(matches!(&problems[..], [RenderProblem::ProviderConfigKind { kind, .. }] if kind == "Secret"));
}

#[test]
fn policies_are_facts_and_never_fields() {
    for (given, retain) in [
        (json!({}), false),
        (json!({"deletionPolicy": "Delete"}), false),
        (json!({"deletionPolicy": "Orphan"}), true),
        (json!({"managementPolicies": ["*"]}), false),
        (json!({"managementPolicies": ["Observe", "Delete"]}), false),
        (
            json!({"managementPolicies": ["Observe", "Create", "Update", "LateInitialize"]}),
            true,
        ),
        (json!({"managementPolicies": []}), true),
        (
            json!({"managementPolicies": ["Observe", "Delete"], "deletionPolicy": "Orphan"}),
            true,
        ),
    ] {
        for group in [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped] {
            let (spec, facts) = fitted(&given, |input| input.group = group).unwrap();
            assert_eq!(facts.retain, retain, "{given}");
            assert_eq!(json!(facts.management_policies), given["managementPolicies"]);
            assert_eq!(spec.get("managementPolicies"), None);
            let keeps_orphan = group == WorkspaceGroup::ClusterScoped && given["deletionPolicy"] == "Orphan";
            assert_eq!(spec.get("deletionPolicy").is_some(), keeps_orphan, "{given}");
        }
    }
}

#[test]
fn stores_are_known_to_one_group_only() {
    let given = json!({"publishConnectionDetailsTo": {"name": "outputs"}});
    let (spec, _) = fitted(&given, cluster_scoped).unwrap();
    assert_eq!(spec["publishConnectionDetailsTo"], json!({"name": "outputs"}));
    let problems = fitted(&given, |_| {}).unwrap_err();
    assert!(
        matches!(&problems[..], [RenderProblem::NotInGroup { .. }]),
        "{problems:?}"
    );
}

#[test]
fn the_nearest_name_of_the_secret_wins() {
    let secret = |name: &str| SecretReference {
        name: name.to_owned(),
        namespace: None,
    };
    let mut template = spec(&json!({"writeConnectionSecretToRef": {"name": "inner"}}));
    template.write_connection_secret_to_ref = Some(secret("outer"));
    let (none, of_apply) = (BTreeMap::new(), secret("${apply}"));
    let name = |input: &RenderInput<'_>| render(input).unwrap().facts.connection_secret.unwrap().name;

    let with_apply = RenderInput {
        connection_secret: Some(&of_apply),
        ..input(&template, &none)
    };
    assert_eq!(name(&with_apply), "${apply}", "what an apply says is a value");
    assert_eq!(name(&input(&template, &none)), "inner");
    template.template.spec.write_connection_secret_to_ref = None;
    assert_eq!(name(&input(&template, &none)), "outer");

    let elsewhere = SecretReference {
        namespace: Some("other".to_owned()),
        ..secret("s")
    };
    let problems = render(&RenderInput {
        connection_secret: Some(&elsewhere),
        ..input(&template, &none)
    })
    .unwrap_err();
    let path = "the WorkspaceTemplateApply's spec.writeConnectionSecretToRef.namespace: ";
    assert!(problems[0].to_string().starts_with(path), "{problems:?}");
}

#[test]
fn groups_have_names() {
    for group in [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped] {
        assert_eq!(WorkspaceGroup::from_name(group.name()), Some(group));
    }
    assert_eq!(WorkspaceGroup::from_name("example.org"), None);
}
