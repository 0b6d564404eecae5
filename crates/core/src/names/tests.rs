use proptest::prelude::*;

use super::*;

#[test]
fn short_names_are_what_people_expect() {
    for (name, expected) in [
        (vpc_apply("demo"), "demo-vpc"),
        (eks_apply("demo"), "demo-eks-controlplane-apply"),
        (
            fargate_apply("cluster", "monitoring"),
            "cluster-monitoring-fargate-apply",
        ),
        (
            fargate_apply("demo", "kube-system"),
            "demo-kube-system-fargate-apply",
        ),
        (vpc_connection("demo"), "demo-vpc-connection"),
        (eks_connection("demo"), "demo-eks-connection"),
        (workspace("default", "demo-vpc"), "demo-vpc"),
        (
            workspace("default", "demo-eks-controlplane-apply"),
            "demo-eks-controlplane",
        ),
        (workspace("default", "apply"), "apply"),
    ] {
        assert_eq!(name.preferred(), expected);
        assert_eq!(name.choose(|_| false), expected);
        assert_ne!(name.parted(), expected);
    }
}

/// A change of any of these strands what was made under the old name, where labels cannot help.
#[test]
fn hashes_are_stable() {
    assert_eq!(
        external_name("default", "demo-vpc"),
        "default-demo-vpc-16aa78716593"
    );
    assert_eq!(
        label_value(&"a".repeat(64)),
        format!("{}-c7979900e94f", "a".repeat(50))
    );
    assert_eq!(
        fargate_apply("a-b", "c").parted(),
        "a-b-c-fa41fe7c1e24-fargate-apply"
    );
}

/// Workspaces of the whole cluster and states have names that all namespaces share.
#[test]
fn clusters_of_one_name_in_two_namespaces_share_nothing() {
    for apply in [vpc_apply("demo"), eks_apply("demo")] {
        let (one, other) = (
            workspace("team-a", apply.preferred()),
            workspace("team-b", apply.preferred()),
        );
        assert_ne!(other.choose(|name| name == one.preferred()), one.preferred());
        assert_ne!(one.parted(), other.parted());
        assert_ne!(
            external_name("team-a", one.preferred()),
            external_name("team-b", one.preferred())
        );
    }
}

#[test]
fn a_clash_is_parted_by_the_hash() {
    let (one, other) = (fargate_apply("a-b", "c"), fargate_apply("a", "b-c"));
    assert_eq!(one.preferred(), other.preferred());
    assert_ne!(one.parted(), other.parted());
    assert_eq!(other.choose(|name| name == one.preferred()), other.parted());

    let (one, other) = (workspace("default", "demo"), workspace("default", "demo-apply"));
    assert_eq!(one.preferred(), other.preferred());
    assert_ne!(one.parted(), other.parted());
}

#[test]
fn names_cut_to_the_same_text_differ() {
    let stem = "a".repeat(100);
    let (one, other) = (eks_apply(&format!("{stem}b")), eks_apply(&format!("{stem}c")));
    assert_ne!(one.preferred(), other.preferred());
    assert_eq!(one.preferred(), one.parted());
}

#[test]
fn a_cut_leaves_no_dash_or_dot_at_the_end() {
    for stem in [
        "a".repeat(49) + "-" + &"b".repeat(50),
        "a".repeat(48) + ".-" + &"b".repeat(50),
    ] {
        let value = label_value(&stem);
        assert!(!value.contains("--") && !value.contains(".-"), "{value}");
    }
}

/// Object names as the API server takes them: DNS subdomains.
fn object_name() -> impl Strategy<Value = String> {
    proptest::collection::vec("[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?", 1..4).prop_map(|labels| labels.join("."))
}

/// DNS labels, made of few letters and many dashes, so that clashes are likely.
fn likely_to_clash() -> impl Strategy<Value = String> {
    "[ab](-{0,1}[ab]){0,3}"
}

fn is_legal(name: &str) -> bool {
    let alphanumeric = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    name.len() <= MAX_LENGTH
        && name.split('.').all(|label| {
            label.starts_with(alphanumeric)
                && label.ends_with(alphanumeric)
                && label
                    .chars()
                    .all(|character| alphanumeric(character) || character == '-')
        })
}

#[test]
fn what_a_runner_tells_in_is_known_by_its_name() {
    let long = "x".repeat(200);
    for workspace in ["vpc", "a-run", "vpc.prod", &long] {
        let name = run_report("tf.upbound.io", workspace);
        assert!(is_run_report(&name), "{name}");
    }
    for name in [
        "run",
        "nightly-run",
        "deadbeef-run",
        "vpc-0123456789ab",
        "vpc-0123456789ag-run",
    ] {
        assert!(!is_run_report(name), "{name}");
    }
}

proptest! {
    #[test]
    fn every_name_is_legal_whatever_the_length(one in object_name(), other in object_name()) {
        for name in [
            vpc_apply(&one), eks_apply(&one), fargate_apply(&one, &other), vpc_connection(&one),
            eks_connection(&one), workspace(&other, &one),
        ] {
            prop_assert!(is_legal(name.preferred()), "{}", name.preferred());
            prop_assert!(is_legal(name.parted()), "{}", name.parted());
        }
        prop_assert!(is_legal(&external_name(&other, &one)));
        prop_assert!(is_legal(&label_value(&one)));
    }

    #[test]
    fn different_parents_never_share_a_parted_name(
        one in (likely_to_clash(), likely_to_clash()),
        other in (likely_to_clash(), likely_to_clash()),
    ) {
        prop_assume!(one != other);
        prop_assert_ne!(fargate_apply(&one.0, &one.1).parted, fargate_apply(&other.0, &other.1).parted);
        prop_assert_ne!(workspace(&one.0, &one.1).parted, workspace(&other.0, &other.1).parted);
        prop_assert_ne!(external_name(&one.0, &one.1), external_name(&other.0, &other.1));
    }

    #[test]
    fn the_same_parents_always_give_the_same_name(one in object_name(), other in object_name()) {
        prop_assert_eq!(fargate_apply(&one, &other), fargate_apply(&one, &other));
        prop_assert_eq!(external_name(&one, &other), external_name(&one, &other));
    }

    #[test]
    fn text_of_any_sort_does_not_panic(one in ".{0,200}", other in ".{0,200}") {
        prop_assert!(fargate_apply(&one, &other).preferred().len() <= MAX_LENGTH);
        prop_assert!(external_name(&one, &other).len() <= MAX_LENGTH);
        prop_assert!(label_value(&one).len() <= MAX_LENGTH);
    }
}
