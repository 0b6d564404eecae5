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

fn for_role(name: &str, role: &str) -> OwnedSeen {
    let mut seen = named(name);
    let labels = seen.wta.metadata.labels.get_or_insert_default();
    labels.insert(marks::ROLE.to_owned(), role.to_owned());
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
            "by the spec, for something else",
            Some("blue-a-fargate-apply"),
            vec![for_role("blue-a-fargate-apply", "fargate-profile.a")],
            "other blue-a-fargate-apply fargate-profile.a".to_owned(),
        ),
        (
            "by the spec, with its own name and a label that somebody changed",
            Some(plain),
            vec![for_role(plain, "fargate-profile.a")],
            format!("ours {plain}"),
        ),
        (
            "by its plain name, with a label that somebody changed",
            None,
            vec![for_role(plain, "fargate-profile.a")],
            format!("ours {plain}"),
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
            Found::OtherRole { seen, role } => format!("other {} {role}", seen.name()),
        };
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn one_for_another_role_is_not_taken_for_it() {
    let seen = [for_role("odd", "fargate-profile.a")];
    let new_name = names::eks_apply("blue");
    let found = find(&OWNER, &Role::Eks, None, &new_name, &[], &seen);
    assert!(matches!(found, Found::Absent { .. }), "{found:?}");
    let role = Role::FargateProfile("a".to_owned());
    let found = find(&OWNER, &role, None, &new_name, &[], &seen);
    assert!(matches!(found, Found::Ours(_)), "{found:?}");
}

/// The spec may give the EKS cluster the name that a profile would have.
#[test]
fn a_profile_does_not_take_what_has_its_name_for_another_role() {
    let new_name = names::fargate_apply("blue", "a");
    let seen = [for_role("blue-a-fargate-apply", "eks")];
    let role = Role::FargateProfile("a".to_owned());
    let found = find(&OWNER, &role, None, &new_name, &[], &seen);
    let name = new_name.parted().to_owned();
    assert_eq!(found, Found::Absent { name });
}
