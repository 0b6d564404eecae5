use capt_api::marks;

use super::*;

fn owner(said: Option<&str>) -> ObjectMeta {
    ObjectMeta {
        name: Some("blue".to_owned()),
        namespace: Some("team".to_owned()),
        annotations: said.map(|said| [(marks::LET_GO.to_owned(), said.to_owned())].into()),
        ..ObjectMeta::default()
    }
}

#[test]
fn only_what_is_named_may_be_destroyed() {
    for (said, expected) in [
        (None, None),
        (Some("blue-a"), Some(Fate::Destroyed)),
        (Some("blue-b, blue-a"), Some(Fate::Destroyed)),
        (Some("false"), Some(Fate::Retained)),
        // Something else was left when somebody said so.
        (Some("blue-b"), None),
        (Some("true"), None),
        (Some(""), None),
        // One at a time, in any order.
        (Some("keep:blue-a"), Some(Fate::Retained)),
        (Some("keep:blue-b"), None),
        (Some("keep:blue-b,blue-a"), Some(Fate::Destroyed)),
        (Some("blue-b,false"), Some(Fate::Retained)),
        (Some("false, blue-a"), Some(Fate::Destroyed)),
        // Nothing is destroyed that somebody said two things about.
        (Some("blue-a,keep:blue-a"), Some(Fate::Retained)),
    ] {
        assert_eq!(answer(&owner(said), "blue-a"), expected, "{said:?}");
    }
}

#[test]
fn what_is_made_again_goes_only_when_it_holds_what_is_left() {
    for (said, is_held, is_deleting, expected) in [
        (None, false, false, true),
        (Some("blue-a"), false, false, false),
        (Some("blue-b"), false, false, true),
        (Some("blue-a"), true, false, true),
        (Some("blue-a"), false, true, true),
        (Some("false"), false, false, true),
    ] {
        let mut seen = living();
        seen.wta.metadata.name = Some("blue-a".to_owned());
        let metadata = &mut seen.wta.metadata;
        metadata.finalizers = is_held.then(|| vec![marks::WORKSPACETEMPLATEAPPLY_FINALIZER.to_owned()]);
        metadata.deletion_timestamp = is_deleting.then(|| Time(at(1)));
        let case = (said, is_held, is_deleting);
        assert_eq!(may_end(&owner(said), &seen), expected, "{case:?}");
    }
}

#[test]
fn what_is_left_is_told_by_name_and_state_with_what_to_type() {
    let left = Left {
        apply: "blue-a".to_owned(),
        workspaces: vec![
            LeftWorkspace {
                resource: "workspaces.tf.m.upbound.io".to_owned(),
                namespace: Some("team".to_owned()),
                name: "one".to_owned(),
                state: "ready".to_owned(),
            },
            LeftWorkspace {
                resource: "workspaces.tf.upbound.io".to_owned(),
                namespace: None,
                name: "two".to_owned(),
                state: "being deleted".to_owned(),
            },
        ],
    };
    let question = left.question("captcontrolplane", &owner(None));
    let back = left.way_back("the profile a");
    for (told, parts) in [
        (
            &question,
            [
                "workspaces.tf.m.upbound.io/one (ready), workspaces.tf.upbound.io/two (being deleted)",
                "destroy it: kubectl annotate captcontrolplane blue -n team infrastructure.cluster.x-k8s.io/let-go=blue-a",
                "keep it: kubectl annotate captcontrolplane blue -n team infrastructure.cluster.x-k8s.io/let-go=keep:blue-a",
            ],
        ),
        (
            &back,
            [
                "the WorkspaceTemplateApply blue-a before",
                "write the profile a into the spec again",
                "kubectl label workspaces.tf.m.upbound.io one -n team infrastructure.cluster.x-k8s.io/wta-name-; kubectl \
                 label workspaces.tf.upbound.io two infrastructure.cluster.x-k8s.io/wta-name-",
            ],
        ),
    ] {
        for part in parts {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}

#[test]
fn an_answer_about_one_keeps_what_was_answered_about_others() {
    let left = Left {
        apply: "blue-a".to_owned(),
        ..Left::default()
    };
    for (said, expected) in [
        (None, ["let-go=blue-a.", "let-go=keep:blue-a"]),
        (
            Some("blue-b, keep:blue-c"),
            [
                "let-go=blue-b,keep:blue-c,blue-a --overwrite.",
                "let-go=blue-b,keep:blue-c,keep:blue-a --overwrite",
            ],
        ),
        // It says nothing about anything.
        (
            Some("true"),
            ["let-go=blue-a --overwrite.", "let-go=keep:blue-a --overwrite"],
        ),
    ] {
        let question = left.question("captcontrolplane", &owner(said));
        for part in expected {
            assert!(question.contains(part), "{part}: {question}");
        }
    }
}
