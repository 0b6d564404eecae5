//! Scenarios made from capt's own kinds: the CRDs, every example, and everything that admission must refuse.
//!
//! A real server has limits that no crate checks, such as the cost of CEL rules, so the CRDs have to be tried there.

use std::path::Path;

use anyhow::{Context, Result, bail};
use apiary_conformance::{Recorded, Scenario, Step, Until};
use capt_api::refusals::{self, Case, Verb};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const REFUSALS: &str = "capt-refusals";

/// All scenarios that are made here.
pub(super) fn scenarios(root: &Path) -> Result<Vec<Scenario>> {
    let mut all = vec![definitions()?, explanations()];
    all.extend(examples(&root.join("examples"))?);
    all.push(refused()?);
    Ok(all)
}

/// Checks that the answers refuse exactly what the cases say, with the words that they say.
pub(super) fn check_refusals(scenario: &Scenario, answers: &[Recorded]) -> Result<()> {
    if scenario.name != REFUSALS {
        return Ok(());
    }
    let mut wrong = Vec::new();
    for case in refusals::cases()? {
        let answer = answers
            .iter()
            .find(|recorded| recorded.step == case.name)
            .map(|recorded| &recorded.answer);
        let refused = answer.and_then(refusal);
        match (&case.message, &refused) {
            (None, None) => {}
            (Some(wanted), Some(text)) if text.contains(wanted.as_str()) => {}
            (wanted, got) => wrong.push(format!("{}: expected {wanted:?}, got {got:?}", case.name)),
        }
    }
    if !wrong.is_empty() {
        bail!(
            "the real server does not refuse as the cases say:\n{}",
            wrong.join("\n")
        );
    }
    Ok(())
}

/// The text of a refusal, or nothing when the server agreed.
fn refusal(answer: &Value) -> Option<String> {
    if answer["status"].as_u64().is_some_and(|status| status < 300) {
        return None;
    }
    let mut text = answer["body"]["message"]
        .as_str()
        .unwrap_or("no message")
        .to_owned();
    for cause in answer["body"]["details"]["causes"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let part = |key: &str| cause[key].as_str().unwrap_or_default().to_owned();
        text = format!("{text}\n{}: {}", part("field"), part("message"));
    }
    Some(text)
}

fn crds() -> Vec<CustomResourceDefinition> {
    capt_api::crds()
        .into_iter()
        .chain(capt_api::foreign::crds())
        .collect()
}

fn definitions() -> Result<Scenario> {
    let mut steps = install()?;
    for crd in crds() {
        let name = crd.metadata.name.unwrap_or_default();
        steps.push(Step {
            name: format!("{name} as it is kept"),
            request: Some(format!("GET {DEFINITIONS}/{name}")),
            pick: [
                "/spec",
                "/status/acceptedNames",
                "/status/storedVersions",
                "/metadata/labels",
            ]
            .map(String::from)
            .into(),
            ..Step::default()
        });
        steps.push(Step {
            name: format!("{name} in discovery"),
            request: Some(format!(
                "GET /apis/{}/{}",
                crd.spec.group, crd.spec.versions[0].name
            )),
            pick: vec![
                format!("/resources[name={}]", crd.spec.names.plural),
                format!("/resources[name={}/status]", crd.spec.names.plural),
            ],
            ..Step::default()
        });
    }
    Ok(scenario(
        "capt-crds",
        "capt's own kinds are accepted and described.",
        steps,
    ))
}

/// The other scenarios need these, and any of them may be played alone.
fn install() -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for crd in crds() {
        let name = crd.metadata.name.clone().unwrap_or_default();
        let version = crd
            .spec
            .versions
            .first()
            .context("a CRD has a version")?
            .name
            .clone();
        steps.push(Step {
            name: format!("install {name}"),
            request: Some(format!(
                "PATCH {DEFINITIONS}/{name}?fieldManager=conformance&force=true"
            )),
            content_type: Some("apply".into()),
            body: Some(serde_json::to_value(&crd)?),
            quiet: true,
            ..Step::default()
        });
        let served = format!("/apis/{}/{version}/{}", crd.spec.group, crd.spec.names.plural);
        let described = format!("/openapi/v3/apis/{}/{version}", crd.spec.group);
        steps.push(until_ok(format!("{name} is served"), &served));
        steps.push(until_ok(format!("{name} is described"), &described));
    }
    Ok(steps)
}

fn until_ok(name: String, path: &str) -> Step {
    let until = Some(Until {
        status: Some(200),
        ..Until::default()
    });
    Step {
        name,
        request: Some(format!("GET {path}")),
        until,
        quiet: true,
        ..Step::default()
    }
}

fn explanations() -> Scenario {
    let mut steps = install().unwrap_or_default();
    for crd in capt_api::crds() {
        let kind = crd.spec.names.kind.to_lowercase();
        steps.push(kubectl(
            format!("explain {kind}"),
            format!("explain {kind} --recursive"),
            &[],
        ));
        steps.push(kubectl(
            format!("explain {kind} spec"),
            format!("explain {kind}.spec"),
            &[],
        ));
    }
    steps.push(kubectl(
        "resources".into(),
        "api-resources --categories=capt -o wide".into(),
        &[],
    ));
    scenario("capt-explain", "kubectl explains capt's kinds.", steps)
}

fn examples(folder: &Path) -> Result<Vec<Scenario>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    paths.sort();
    paths.iter().map(|path| example(path)).collect()
}

fn example(path: &Path) -> Result<Scenario> {
    let text = std::fs::read_to_string(path)?;
    let mut documents: Vec<Value> =
        serde_saphyr::from_multiple(&text).with_context(|| format!("reading {}", path.display()))?;
    for document in &mut documents {
        document["metadata"]["namespace"] = "<ns>".into();
    }
    let mut steps = install()?;
    for (name, command) in [
        ("dry run", "apply --dry-run=server -f -"),
        ("apply", "apply -f -"),
        ("apply again", "apply -f -"),
        ("diff", "diff -f -"),
        ("apply on the server's side", "apply --server-side -f -"),
        ("replace", "replace -f -"),
    ] {
        steps.push(kubectl(name.into(), command.into(), &documents));
    }
    for (name, command) in [
        ("table", "get capt -n <ns>"),
        ("wide table", "get capt,cluster -n <ns> -o wide"),
        ("what is kept", "get capt -n <ns> -o yaml --show-managed-fields"),
        ("describe", "describe capt -n <ns>"),
    ] {
        steps.push(kubectl(name.into(), command.into(), &[]));
    }
    steps.push(kubectl("delete".into(), "delete -f -".into(), &documents));
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(scenario(
        &format!("capt-example-{name}"),
        "An example is applied, shown and deleted.",
        steps,
    ))
}

fn refused() -> Result<Scenario> {
    let mut steps = install()?;
    for case in refusals::cases()? {
        match case.verb {
            Verb::Create => steps.push(Step {
                name: case.name.clone(),
                request: Some(format!("POST {}?dryRun=All", collection(&case.changed)?)),
                body: Some(case.changed.clone()),
                pick: vec!["/spec".into()],
                ..Step::default()
            }),
            Verb::Update => steps.extend(update(&case)?),
        }
    }
    Ok(scenario(
        REFUSALS,
        "What admission must refuse, and what it must not.",
        steps,
    ))
}

/// Makes the good object, tries the change on it, and removes it again.
fn update(case: &Case) -> Result<Vec<Step>> {
    let collection = collection(&case.base)?;
    let path = format!(
        "{collection}/{}",
        case.base["metadata"]["name"].as_str().unwrap_or_default()
    );
    let quiet = |what: &str, request: String| Step {
        name: format!("{}: {what}", case.name),
        request: Some(request),
        quiet: true,
        ..Step::default()
    };
    let mut steps = vec![Step {
        body: Some(case.base.clone()),
        ..quiet("create", format!("POST {collection}"))
    }];
    if let Some(status) = &case.status {
        steps.push(Step {
            content_type: Some("merge".into()),
            body: Some(json!({"status": status})),
            ..quiet("status", format!("PATCH {path}/status"))
        });
    }
    steps.push(Step {
        save: [("rv".to_owned(), "/metadata/resourceVersion".to_owned())].into(),
        ..quiet("read", format!("GET {path}"))
    });
    let mut changed = case.changed.clone();
    changed["metadata"]["resourceVersion"] = "<rv>".into();
    steps.push(Step {
        name: case.name.clone(),
        request: Some(format!("PUT {path}?dryRun=All")),
        body: Some(changed),
        pick: vec!["/spec".into()],
        ..Step::default()
    });
    steps.push(quiet("delete", format!("DELETE {path}")));
    Ok(steps)
}

fn collection(object: &Value) -> Result<String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let crd = crds()
        .into_iter()
        .find(|crd| crd.spec.names.kind == kind && version.starts_with(&crd.spec.group));
    let plural = crd
        .with_context(|| format!("no CRD describes {version} {kind}"))?
        .spec
        .names
        .plural;
    Ok(format!("/apis/{version}/namespaces/<ns>/{plural}"))
}

fn kubectl(name: String, command: String, stdin: &[Value]) -> Step {
    Step {
        name,
        kubectl: Some(command),
        stdin: stdin.to_vec(),
        ..Step::default()
    }
}

fn scenario(name: &str, about: &str, steps: Vec<Step>) -> Scenario {
    Scenario {
        name: name.into(),
        about: about.into(),
        namespace: true,
        steps,
    }
}
