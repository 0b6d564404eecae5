//! What may be done.

use serde_json::{Value, json};

use super::{cluster_scoped, namespaced};
use crate::inputs::{Grants, Policies, destroys_on_deletion, policies};

fn granted(create: bool, update: bool, delete: bool) -> Option<Policies> {
    Some(Policies::Granted(Grants {
        create,
        update,
        delete,
    }))
}

#[test]
fn the_accepted_combinations_and_no_others() {
    let cases = [
        (json!(null), granted(true, true, true)),
        (json!(["*"]), granted(true, true, true)),
        (json!(["*", "*"]), granted(true, true, true)),
        (json!([]), Some(Policies::Paused)),
        (
            json!(["Observe", "Create", "Update", "Delete", "LateInitialize"]),
            granted(true, true, true),
        ),
        (
            json!(["LateInitialize", "Delete", "Update", "Create", "Observe"]),
            granted(true, true, true),
        ),
        (json!(["Observe"]), granted(false, false, false)),
        (
            json!(["Observe", "Create", "Update", "Delete"]),
            granted(true, true, true),
        ),
        (
            json!(["Observe", "Create", "Update", "LateInitialize"]),
            granted(true, true, false),
        ),
        (json!(["Observe", "Create", "Update"]), granted(true, true, false)),
        (
            json!(["Observe", "Create", "Delete", "LateInitialize"]),
            granted(true, false, true),
        ),
        (
            json!(["Observe", "Create", "LateInitialize"]),
            granted(true, false, false),
        ),
        (json!(["Observe", "Create", "Delete"]), granted(true, false, true)),
        (json!(["Observe", "Create"]), granted(true, false, false)),
        (json!(["Observe", "Delete"]), granted(false, false, true)),
        (json!(["Observe", "Update"]), granted(false, true, false)),
        (json!(["Observe", "LateInitialize"]), granted(false, false, false)),
        (
            json!(["Observe", "Update", "LateInitialize"]),
            granted(false, true, false),
        ),
        (json!(["Create"]), None),
        (json!(["Delete"]), None),
        (json!(["Update", "Create"]), None),
        (json!(["*", "Observe"]), None),
        (json!(["Observe", "Update", "Delete"]), None),
        (json!(["Observe", "Delete", "LateInitialize"]), None),
    ];
    for (given, expected) in cases {
        let view = namespaced(json!({"managementPolicies": given}));
        assert_eq!(policies(&view).ok(), expected, "{given}");
    }
    let told = policies(&namespaced(json!({"managementPolicies": ["*", "Create"]}))).unwrap_err();
    assert!(told.to_string().contains("[*, Create]"), "{told}");
}

#[test]
fn destruction_needs_both_fields_to_agree_unless_policies_say_so_themselves() {
    let spec = |policies: Value, deletion: Value| json!({"managementPolicies": policies, "deletionPolicy": deletion});
    let cases = [
        (json!(null), json!(null), true),
        (json!(["*"]), json!(null), true),
        (json!(["*"]), json!("Delete"), true),
        (json!(["*"]), json!("Orphan"), false),
        (json!(null), json!("Orphan"), false),
        (json!([]), json!("Delete"), false),
        (
            json!(["Observe", "Create", "Update", "LateInitialize"]),
            json!("Delete"),
            false,
        ),
        (json!(["Observe", "Delete"]), json!("Orphan"), true),
        (json!(["Observe", "Delete"]), json!("Delete"), true),
    ];
    for (policies, deletion, destroys) in cases {
        let view = cluster_scoped(spec(policies.clone(), deletion.clone()));
        assert_eq!(destroys_on_deletion(&view), destroys, "{policies} {deletion}");
    }
    // Namespaced ones have only the one field.
    assert!(destroys_on_deletion(&namespaced(
        json!({"managementPolicies": ["*"]})
    )));
    assert!(!destroys_on_deletion(&namespaced(
        json!({"managementPolicies": ["Observe", "Create"]})
    )));
}
