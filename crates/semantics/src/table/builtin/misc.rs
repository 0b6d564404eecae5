//! Kinds with a column or two.

use serde_json::Value;

use super::{
    Column, age, column, condition, count, integer, label_selector, size, string, text, text_of, text_or,
};

pub(super) fn config_map() -> Vec<Column> {
    vec![
        Column::name(),
        text("Data", "Number of entries.", |object, _| {
            (size(&object["data"]) + size(&object["binaryData"])).into()
        }),
        age(),
    ]
}

pub(super) fn secret() -> Vec<Column> {
    vec![
        Column::name(),
        text("Type", "What the data is for.", |object, _| {
            string(&object["type"])
        }),
        text("Data", "Number of entries.", |object, _| {
            size(&object["data"]).into()
        }),
        age(),
    ]
}

pub(super) fn namespace() -> Vec<Column> {
    let status = text("Status", "The phase of its life.", |object, _| {
        string(&object["status"]["phase"])
    });
    vec![Column::name(), status, age()]
}

pub(super) fn lease() -> Vec<Column> {
    let holder = text("Holder", "Who holds it now.", |object, _| {
        string(&object["spec"]["holderIdentity"])
    });
    vec![Column::name(), holder, age()]
}

pub(super) fn priority_class() -> Vec<Column> {
    vec![
        Column::name(),
        integer(
            "Value",
            "The priority that pods of this class get.",
            |object, _| count(&object["value"]).into(),
        ),
        column(
            "Global-Default",
            "boolean",
            0,
            "Whether pods without a class get this one.",
            |object, _| object["globalDefault"].as_bool().unwrap_or_default().into(),
        ),
        age(),
        text(
            "PreemptionPolicy",
            "Whether it displaces pods of lower priority.",
            |object, _| string(&object["preemptionPolicy"]),
        ),
    ]
}

pub(super) fn webhook_configuration() -> Vec<Column> {
    let webhooks = integer("Webhooks", "Number of webhooks.", |object, _| {
        size(&object["webhooks"]).into()
    });
    vec![Column::name(), webhooks, age()]
}

pub(super) fn admission_policy() -> Vec<Column> {
    vec![
        Column::name(),
        integer("Validations", "Number of rules.", |object, _| {
            size(&object["spec"]["validations"]).into()
        }),
        text("ParamKind", "The kind of its parameters.", |object, _| {
            let param = &object["spec"]["paramKind"];
            if param.is_null() {
                return "<unset>".into();
            }
            format!("{}/{}", text_of(&param["apiVersion"]), text_of(&param["kind"])).into()
        }),
        age(),
    ]
}

pub(super) fn admission_policy_binding() -> Vec<Column> {
    vec![
        Column::name(),
        text(
            "PolicyName",
            "The policy that it puts into force.",
            |object, _| string(&object["spec"]["policyName"]),
        ),
        text(
            "ParamRef",
            "The parameters that it gives the policy.",
            |object, _| param_ref(object).into(),
        ),
        age(),
    ]
}

fn param_ref(object: &Value) -> String {
    let param = &object["spec"]["paramRef"];
    match text_of(&param["name"]) {
        "" if param["selector"].is_null() => "<unset>".to_owned(),
        "" => label_selector(&param["selector"]),
        // Whether the parameter's kind has a namespace cannot be told from here.
        name => format!("{}/{name}", text_or(&param["namespace"], "*")),
    }
}

pub(super) fn api_service() -> Vec<Column> {
    vec![
        Column::name(),
        text(
            "Service",
            "The service that answers for this group version.",
            |object, _| {
                let service = &object["spec"]["service"];
                if service.is_null() {
                    return "Local".into();
                }
                format!("{}/{}", text_of(&service["namespace"]), text_of(&service["name"])).into()
            },
        ),
        text("Available", "Whether it answers.", |object, _| {
            let Some(condition) = condition(object, "Available") else {
                return "Unknown".into();
            };
            match (text_of(&condition["status"]), text_of(&condition["reason"])) {
                (status @ "True", _) | (status, "") => status.into(),
                (status, reason) => format!("{status} ({reason})").into(),
            }
        }),
        age(),
    ]
}
