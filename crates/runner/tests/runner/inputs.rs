//! What Terraform is told, and what happens when it changes or is missing.

use capt_api::{
    foreign::marks::RECONCILE_REQUESTED,
    marks,
    run::{LOG_KEY, PREVIOUS_LOG_KEY},
};
use capt_terraform::{
    diagnostics::Class,
    stream::{Diagnostic, Severity},
};
use capt_testkit::World;
use serde_json::json;

use crate::{
    script::{Script, failure},
    support::*,
};

fn reading(name: &str, secret: &str) -> serde_json::Value {
    let mut object = workspace(name, &["a"]);
    object["spec"]["forProvider"]["env"] =
        json!([{"name": "PASSWORD", "secretKeyRef": {"name": secret, "key": "password"}}]);
    object
}

#[tokio::test]
async fn what_is_missing_is_named_and_its_arrival_wakes() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, reading("vpc", "credentials")).await;
    until(&world, "vpc", "Failing", "True InputMissing").await;
    let words = message(&world, "vpc", "Failing").await;
    assert!(
        words.starts_with("connect failed: Secret") && words.contains("credentials"),
        "{words}"
    );
    assert!(
        !is_held(&get(&world, "vpc").await),
        "what never could run is not held"
    );
    world.settle().await;
    let mark = world.recorder().mark();
    world.advance(seconds(3600)).await;
    assert!(
        world.recorder().requests_since(mark).is_empty(),
        "nobody asks again and again"
    );

    put_secret(&world, "credentials", "user", "root").await;
    world
        .until("the key to be missed", async || {
            message(&world, "vpc", "Failing").await.contains("password")
        })
        .await;
    put_secret(&world, "credentials", "password", "correct-horse").await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    assert_eq!(
        says(&world, "vpc", "Failing").await.as_deref(),
        Some("False NotFailing")
    );
    world.finish().await;
}

#[tokio::test]
async fn a_changed_secret_is_applied_and_an_equal_one_is_not() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    put_secret(&world, "credentials", "password", "correct-horse").await;
    create(&world, reading("vpc", "credentials")).await;
    create(&world, workspace("other", &["a"])).await;
    until_settled(&world, "vpc").await;
    until_settled(&world, "other").await;
    let before = script.with(|stage| (stage.plans, stage.applies));

    put_secret(&world, "unrelated", "password", "whatever").await;
    put_secret(&world, "credentials", "password", "correct-horse").await;
    world.settle().await;
    assert_eq!(script.with(|stage| (stage.plans, stage.applies)), before);

    put_secret(&world, "credentials", "password", "battery-staple").await;
    world
        .until("it to be applied", async || {
            script.with(|stage| stage.applies > before.1)
        })
        .await;
    world.settle().await;
    assert_eq!(
        script.with(|stage| (stage.plans, stage.applies)),
        (before.0 + 1, before.1 + 1)
    );
    world.finish().await;
}

#[tokio::test]
async fn what_goes_and_comes_back_as_it_was_leaves_no_trouble_behind() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    put_secret(&world, "credentials", "password", "correct-horse").await;
    create(&world, reading("vpc", "credentials")).await;
    until_settled(&world, "vpc").await;
    let before = script.with(|stage| stage.plans);
    delete_secret(&world, "credentials").await;
    until(&world, "vpc", "Failing", "True InputMissing").await;
    put_secret(&world, "credentials", "password", "correct-horse").await;
    until(&world, "vpc", "Synced", "True ReconcileSuccess").await;
    until(&world, "vpc", "Failing", "False NotFailing").await;
    world.advance(seconds(3600)).await;
    assert_eq!(
        script.with(|stage| stage.plans),
        before,
        "nothing has to be found out"
    );

    // What failed before that has still failed.
    script.with(|stage| {
        let failed = failure(Class::Configuration, "no room");
        stage.plan_failures.push_back(failed);
    });
    put_secret(&world, "credentials", "password", "battery-staple").await;
    until(&world, "vpc", "Synced", "False ReconcileError").await;
    let failed = says(&world, "vpc", "Failing").await;
    delete_secret(&world, "credentials").await;
    until(&world, "vpc", "Failing", "True InputMissing").await;
    put_secret(&world, "credentials", "password", "battery-staple").await;
    world
        .until("what failed to be told again", async || {
            says(&world, "vpc", "Failing").await == failed
        })
        .await;
    let told = message(&world, "vpc", "Synced").await;
    assert!(told.contains("no room"), "{told}");
    world.finish().await;
}

#[tokio::test]
async fn a_try_that_cannot_begin_is_told_and_made_when_it_can() {
    for restarts in [false, true] {
        let world = World::embedded_only().await;
        let script = Script::default();
        start_with(&world, &script, no_polls);
        put_secret(&world, "credentials", "password", "correct-horse").await;
        create(&world, reading("vpc", "credentials")).await;
        until_settled(&world, "vpc").await;
        delete_secret(&world, "credentials").await;
        until(&world, "vpc", "Failing", "True InputMissing").await;
        let before = script.with(|stage| stage.plans);
        annotate(&world, "vpc", marks::RETRY_REQUESTED, "now").await;
        world.settle().await;
        assert_eq!(report(&world, "vpc").await.refused_retry.as_deref(), Some("now"));
        assert_eq!(
            says(&world, "vpc", "Failing").await.as_deref(),
            Some("True InputMissing")
        );
        if restarts {
            world.crash(RUNNER);
            world.settle().await;
        }
        put_secret(&world, "credentials", "password", "correct-horse").await;
        until(&world, "vpc", "Synced", "True ReconcileSuccess").await;
        world.settle().await;
        let told = report(&world, "vpc").await;
        assert_eq!(told.refused_retry, None);
        let answered = told.answered.get(marks::RETRY_REQUESTED);
        assert_eq!(answered.map(String::as_str), Some("now"));
        assert_eq!(script.with(|stage| stage.plans), before + 1);
        world.finish().await;
    }
}

#[tokio::test]
async fn a_changed_secret_of_what_takes_turns_is_told_and_applied_in_turn() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    put_secret(&world, "credentials", "password", "correct-horse").await;
    let mut object = reading("eks", "credentials");
    object["metadata"]["annotations"] = json!({marks::MEND: marks::IN_TURN});
    create(&world, object).await;
    until_settled(&world, "eks").await;
    let before = script.with(|stage| stage.applies);

    put_secret(&world, "credentials", "password", "battery-staple").await;
    until(&world, "eks", "Drifted", "True DriftFound").await;
    world.settle().await;
    assert_eq!(script.with(|stage| stage.applies), before, "it is not its turn");
    let words = message(&world, "eks", "Drifted").await;
    assert!(
        words.starts_with("a Secret or ConfigMap that it reads"),
        "{words}"
    );
    assert_eq!(
        says(&world, "eks", "Ready").await.as_deref(),
        Some("True Available")
    );

    annotate(&world, "eks", marks::MEND, "now").await;
    until(&world, "eks", "Drifted", "False NoDrift").await;
    assert_eq!(script.with(|stage| stage.applies), before + 1);
    world.finish().await;
}

/// A pause makes another generation, and whoever takes turns gets out of it without one if it was well before.
#[tokio::test]
async fn a_secret_that_changed_in_a_pause_or_after_a_failed_look_is_applied_in_turn_too() {
    for (case, is_paused, restarts) in [
        ("a failed look", false, false),
        ("a pause", true, false),
        ("a pause, and another runner", true, true),
    ] {
        let world = World::embedded_only().await;
        let script = Script::default();
        start_with(&world, &script, no_polls);
        put_secret(&world, "credentials", "password", "correct-horse").await;
        let mut object = reading("eks", "credentials");
        object["metadata"]["annotations"] = json!({marks::MEND: marks::IN_TURN});
        create(&world, object).await;
        until_settled(&world, "eks").await;
        let before = script.with(|stage| stage.applies);

        if is_paused {
            patch(&world, "eks", json!({"spec": {"managementPolicies": []}})).await;
            until(&world, "eks", "Synced", "False ReconcilePaused").await;
        } else {
            script.with(|stage| stage.plan_failures.push_back(failure(Class::Denied, "not now")));
            annotate(&world, "eks", RECONCILE_REQUESTED, "look").await;
            until(&world, "eks", "Synced", "False ReconcileError").await;
        }
        if restarts {
            world.crash(RUNNER);
        }
        put_secret(&world, "credentials", "password", "battery-staple").await;
        world.settle().await;
        if is_paused {
            patch(&world, "eks", json!({"spec": {"managementPolicies": ["*"]}})).await;
        }
        until(&world, "eks", "Drifted", "True DriftFound").await;
        world.settle().await;
        let applies = script.with(|stage| stage.applies);
        assert_eq!(applies, before, "{case}: it is not its turn");
        until(&world, "eks", "Synced", "True ReconcileSuccess").await;

        annotate(&world, "eks", marks::MEND, "now").await;
        until(&world, "eks", "Drifted", "False NoDrift").await;
        assert_eq!(script.with(|stage| stage.applies), before + 1, "{case}");
        world.finish().await;
    }
}

#[tokio::test]
async fn no_secret_is_seen_anywhere_although_terraform_prints_it() {
    const SECRET: &str = "correct-horse-battery";
    let world = World::embedded_only().await;
    let script = Script::default();
    let leak = format!("the password is {SECRET}");
    script.with(|stage| {
        stage.prints = vec![leak.clone(), "and output-that-is-secret too".to_owned()];
        stage.apply_failures.push_back(failure(Class::Denied, &leak));
    });
    start_with(&world, &script, no_polls);
    put_secret(&world, "credentials", "password", SECRET).await;
    create(&world, reading("vpc", "credentials")).await;
    until(&world, "vpc", "Failing", "True Denied").await;
    let words = message(&world, "vpc", "Synced").await;
    assert_eq!(words, "create failed: the password is (redacted)");
    annotate(&world, "vpc", capt_api::marks::RETRY_REQUESTED, "now").await;
    until_settled(&world, "vpc").await;

    let data = page(&world, "vpc").await.unwrap().data.unwrap();
    assert!(
        data[LOG_KEY].contains("the password is (redacted)"),
        "{}",
        data[LOG_KEY]
    );
    assert!(data[LOG_KEY].contains("and (redacted) too"), "{}", data[LOG_KEY]);
    assert!(
        data[PREVIOUS_LOG_KEY].contains("the password is (redacted)"),
        "{}",
        data[PREVIOUS_LOG_KEY]
    );
    for (key, text) in data {
        assert!(!text.contains(SECRET), "{key}");
    }
    assert!(!format!("{:?}", get(&world, "vpc").await).contains(SECRET));
    for (reason, note) in events(&world, "vpc").await {
        assert!(!note.contains(SECRET), "{reason}: {note}");
    }
    world.finish().await;
}

#[tokio::test]
async fn no_value_of_a_secret_with_variables_is_in_a_report() {
    const VARIABLES: &str = "db_pass = \"hun1\" # of the old one\n\
        db = { user = \"ada-l\", pass = [\"say \\\"hi2\\\"\"], pin = 4711e2 }\n\
        key = <<EOT\ncorrect-horse\nbattery-staple\nEOT\n\
        version = \"1.31.2\"\n";
    const VALUES: [&str; 6] = [
        "hun1",
        "ada-l",
        "say \"hi2\"",
        "471100",
        "correct-horse",
        "battery-staple",
    ];
    let world = World::embedded_only().await;
    let script = Script::default();
    let leak = format!("invalid: {}", VALUES.join(", "));
    script.with(|stage| {
        stage.prints = VALUES.iter().map(|value| format!("is {value}")).collect();
        stage.prints.push(serde_json::to_string(&leak).unwrap());
        stage.prints.push("version 1.31.2".to_owned());
        stage.outputs = Some(json!({
            "version": {"value": "1.31.2", "type": "string"},
            "url": {"value": "db://ada-l:hun1@host", "type": "string"},
        }));
        stage.apply_failures.push_back(failure(Class::Denied, &leak));
        stage.warnings.push(Diagnostic {
            severity: Severity::Warning,
            summary: "unused".to_owned(),
            detail: leak.clone(),
            ..Diagnostic::default()
        });
    });
    start_with(&world, &script, no_polls);
    put_secret(&world, "credentials", "vars", VARIABLES).await;
    let mut object = workspace("vpc", &["a"]);
    object["spec"]["forProvider"]["varFiles"] =
        json!([{"source": "SecretKey", "secretKeyRef": {"name": "credentials", "key": "vars"}}]);
    create(&world, object).await;
    until(&world, "vpc", "Failing", "True Denied").await;
    let words = message(&world, "vpc", "Synced").await;
    let redacted = ["(redacted)"; VALUES.len()].join(", ");
    assert_eq!(words, format!("create failed: invalid: {redacted}"));
    annotate(&world, "vpc", capt_api::marks::RETRY_REQUESTED, "now").await;
    until_settled(&world, "vpc").await;

    let data = page(&world, "vpc").await.unwrap().data.unwrap();
    for key in [LOG_KEY, PREVIOUS_LOG_KEY] {
        assert_eq!(
            data[key].matches("is (redacted)").count(),
            VALUES.len(),
            "{}",
            data[key]
        );
    }
    let vpc = get(&world, "vpc").await;
    let outputs = serde_json::to_value(&vpc).unwrap()["status"]["atProvider"]["outputs"].clone();
    assert_eq!(
        outputs,
        json!({"version": "1.31.2"}),
        "what has a secret in it is left out"
    );
    let vpc = format!("{vpc:?}");
    let events = format!("{:?}", events(&world, "vpc").await);
    assert!(events.contains("(redacted)"), "{events}");
    let texts = data
        .iter()
        .map(|(key, text)| (key.as_str(), text))
        .chain([("status", &vpc), ("events", &events)]);
    for (place, text) in texts {
        for value in VALUES.into_iter().chain(["hi2"]) {
            assert!(!text.contains(value), "{value} is in {place}: {text}");
        }
    }

    // An output that is not sensitive is public, as soon as a state has it.
    let more = json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}});
    patch(&world, "vpc", more).await;
    world
        .until("the version to be in the log", async || {
            let data = page(&world, "vpc").await.unwrap().data.unwrap();
            data[LOG_KEY].contains("version 1.31.2") && data[LOG_KEY].contains("is (redacted)")
        })
        .await;
    world.finish().await;
}

#[tokio::test]
async fn what_turns_out_to_be_secret_is_taken_out_of_older_logs_too() {
    const WORD: &str = "open-for-now";
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.prints = vec![format!("the word is {WORD}")]);
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    let data = page(&world, "vpc").await.unwrap().data.unwrap();
    assert!(data[LOG_KEY].contains(WORD), "{}", data[LOG_KEY]);

    script.with(|stage| {
        stage.prints = Vec::new();
        stage.outputs = Some(json!({"word": {"value": WORD, "type": "string", "sensitive": true}}));
    });
    let more = json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}});
    patch(&world, "vpc", more).await;
    world
        .until("it to be applied", async || {
            script.with(|stage| stage.applies == 2)
        })
        .await;
    until_settled(&world, "vpc").await;
    world.settle().await;
    let data = page(&world, "vpc").await.unwrap().data.unwrap();
    assert!(
        data[PREVIOUS_LOG_KEY].contains("the word is (redacted)"),
        "{data:#?}"
    );
    for (key, text) in data {
        assert!(!text.contains(WORD), "{key}: {text}");
    }
    world.finish().await;
}
