use capt_api::marks;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::*;
use crate::names;

fn named(name: &str) -> OwnedSeen {
    let mut seen = fresh();
    seen.wta.metadata.name = Some(name.to_owned());
    seen
}

fn unowned(name: &str) -> OwnedSeen {
    let mut seen = named(name);
    seen.wta.metadata.labels = None;
    seen.wta.metadata.owner_references = None;
    seen
}

/// As the Go implementation leaves it: an owner reference and no label.
fn legacy(name: &str) -> OwnedSeen {
    let mut seen = named(name);
    seen.wta.metadata.labels = None;
    seen
}

fn somebody_elses(name: &str) -> OwnedSeen {
    let mut seen = unowned(name);
    seen.wta.metadata.owner_references = Some(vec![OwnerReference {
        kind: "CAPTControlPlane".to_owned(),
        name: "green".to_owned(),
        controller: Some(true),
        ..OwnerReference::default()
    }]);
    seen
}

#[test]
fn it_is_found_by_labels_by_the_name_in_the_spec_and_by_former_names() {
    let new_name = names::eks_apply("blue");
    let plain = "blue-eks-controlplane-apply";
    let parted = new_name.parted().to_owned();
    let former = ["blue-old".to_owned()];
    let cases: Vec<(&str, Option<&str>, Vec<OwnedSeen>, String)> = vec![
        ("none", None, vec![], format!("absent {plain}")),
        ("named, not there", Some("mine"), vec![], "absent mine".to_owned()),
        ("by label", None, vec![named("odd")], "ours odd".to_owned()),
        (
            "by label, the spec names one that is gone",
            Some("gone"),
            vec![named("odd")],
            "ours odd".to_owned(),
        ),
        (
            "by its plain name",
            None,
            vec![legacy(plain)],
            format!("ours {plain}"),
        ),
        (
            "by a former name",
            None,
            vec![legacy("blue-old")],
            "ours blue-old".to_owned(),
        ),
        (
            "by a former name, nobody's",
            None,
            vec![unowned("blue-old")],
            "taken blue-old".to_owned(),
        ),
        (
            "by the spec, nobody's",
            Some("free"),
            vec![unowned("free")],
            "taken free".to_owned(),
        ),
        (
            "by the spec, somebody's",
            Some("theirs"),
            vec![somebody_elses("theirs")],
            "not ours theirs CAPTControlPlane.green".to_owned(),
        ),
        (
            "the plain name is taken",
            None,
            vec![unowned(plain)],
            format!("absent {parted}"),
        ),
        (
            "the plain name is somebody's",
            None,
            vec![somebody_elses(plain)],
            format!("absent {parted}"),
        ),
    ];
    for (name, in_spec, seen, expected) in cases {
        let found = match find(&OWNER, &Role::Eks, in_spec, &new_name, &former, &seen) {
            Found::Absent { name } => format!("absent {name}"),
            Found::Ours(seen) => format!("ours {}", seen.name()),
            Found::TakenOver(seen) => format!("taken {}", seen.name()),
            Found::NotOurs { seen, owner } => format!("not ours {} {owner}", seen.name()),
        };
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn one_for_another_role_is_not_taken_for_it() {
    let mut profile = named("odd");
    profile
        .wta
        .metadata
        .labels
        .get_or_insert_default()
        .insert(marks::ROLE.to_owned(), "fargate-profile.a".to_owned());
    let seen = [profile];
    let new_name = names::eks_apply("blue");
    let found = find(&OWNER, &Role::Eks, None, &new_name, &[], &seen);
    assert!(matches!(found, Found::Absent { .. }), "{found:?}");
    let role = Role::FargateProfile("a".to_owned());
    let found = find(&OWNER, &role, None, &new_name, &[], &seen);
    assert!(matches!(found, Found::Ours(_)), "{found:?}");
}
