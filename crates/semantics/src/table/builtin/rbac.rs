//! Role bindings.

use serde_json::Value;

use super::{Column, age, items, joined, text, text_of, wide};

pub(super) fn binding() -> Vec<Column> {
    vec![
        Column::name(),
        text("Role", "What the subjects may do.", |binding, _| {
            let role = &binding["roleRef"];
            format!("{}/{}", text_of(&role["kind"]), text_of(&role["name"])).into()
        }),
        age(),
        wide("Users", "Users that have the role.", |binding, _| {
            joined(
                subjects(binding, "User").map(|subject| text_of(&subject["name"])),
                ", ",
            )
            .into()
        }),
        wide("Groups", "Groups that have the role.", |binding, _| {
            joined(
                subjects(binding, "Group").map(|subject| text_of(&subject["name"])),
                ", ",
            )
            .into()
        }),
        wide(
            "ServiceAccounts",
            "Service accounts that have the role.",
            |binding, _| {
                let accounts: Vec<String> = subjects(binding, "ServiceAccount")
                    .map(|subject| {
                        format!("{}/{}", text_of(&subject["namespace"]), text_of(&subject["name"]))
                    })
                    .collect();
                accounts.join(", ").into()
            },
        ),
    ]
}

fn subjects<'a>(binding: &'a Value, kind: &'static str) -> impl Iterator<Item = &'a Value> {
    items(&binding["subjects"])
        .iter()
        .filter(move |subject| subject["kind"] == kind)
}
