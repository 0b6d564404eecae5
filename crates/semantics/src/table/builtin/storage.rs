//! Volumes, claims to them, and classes of them.

use serde_json::Value;

use super::{Column, age, is_terminating, items, joined, string, text, text_of, text_or, wide};
use crate::table::CellSource;

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const DEFAULT_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

pub(super) fn claim() -> Vec<Column> {
    vec![
        Column::name(),
        text("Status", "The phase of its life.", |claim, _| phase(claim).into()),
        text("Volume", "The volume that it is bound to.", |claim, _| {
            string(&claim["spec"]["volumeName"])
        }),
        text("Capacity", "The size of the volume.", |claim, _| {
            match text_of(&claim["spec"]["volumeName"]) {
                "" => "".into(),
                _ => quantity(&claim["status"]["capacity"]["storage"]).into(),
            }
        }),
        text(
            "Access Modes",
            "How the volume may be mounted.",
            |claim, _| match text_of(&claim["spec"]["volumeName"]) {
                "" => "".into(),
                _ => access_modes(&claim["status"]["accessModes"]).into(),
            },
        ),
        text("StorageClass", "The class of volume.", |claim, _| {
            storage_class(claim).into()
        }),
        text(
            "VolumeAttributesClass",
            "The class of volume attributes.",
            attributes_class,
        ),
        age(),
        wide("VolumeMode", "File system or block device.", volume_mode),
    ]
}

pub(super) fn volume() -> Vec<Column> {
    vec![
        Column::name(),
        text("Capacity", "Its size.", |volume, _| {
            quantity(&volume["spec"]["capacity"]["storage"]).into()
        }),
        text("Access Modes", "How it may be mounted.", |volume, _| {
            access_modes(&volume["spec"]["accessModes"]).into()
        }),
        text(
            "Reclaim Policy",
            "What becomes of it when its claim goes.",
            |volume, _| string(&volume["spec"]["persistentVolumeReclaimPolicy"]),
        ),
        text("Status", "The phase of its life.", |volume, _| {
            phase(volume).into()
        }),
        text(
            "Claim",
            "The claim that it is bound to.",
            |volume, _| match &volume["spec"]["claimRef"] {
                Value::Null => "".into(),
                claim => format!("{}/{}", text_of(&claim["namespace"]), text_of(&claim["name"])).into(),
            },
        ),
        text("StorageClass", "The class of volume.", |volume, _| {
            storage_class(volume).into()
        }),
        text(
            "VolumeAttributesClass",
            "The class of volume attributes.",
            attributes_class,
        ),
        text("Reason", "Why it is in this phase.", |volume, _| {
            string(&volume["status"]["reason"])
        }),
        age(),
        wide("VolumeMode", "File system or block device.", volume_mode),
    ]
}

pub(super) fn class() -> Vec<Column> {
    let name = |class: &Value, _| {
        let name = text_of(&class["metadata"]["name"]);
        let annotations = &class["metadata"]["annotations"];
        let default = DEFAULT_CLASS
            .iter()
            .any(|annotation| annotations[annotation] == "true");
        if default {
            format!("{name} (default)").into()
        } else {
            name.into()
        }
    };
    vec![
        Column {
            source: CellSource::Computed(name),
            ..Column::name()
        },
        text("Provisioner", "Who makes the volumes.", |class, _| {
            string(&class["provisioner"])
        }),
        text(
            "ReclaimPolicy",
            "What becomes of a volume when its claim goes.",
            |class, _| text_or(&class["reclaimPolicy"], "Delete").into(),
        ),
        text(
            "VolumeBindingMode",
            "When a claim gets its volume.",
            |class, _| text_or(&class["volumeBindingMode"], "Immediate").into(),
        ),
        text("AllowVolumeExpansion", "Whether claims may grow.", |class, _| {
            class["allowVolumeExpansion"].as_bool().unwrap_or_default().into()
        }),
        age(),
    ]
}

fn phase(object: &Value) -> &str {
    if is_terminating(object) {
        "Terminating"
    } else {
        text_of(&object["status"]["phase"])
    }
}

fn quantity(value: &Value) -> &str {
    text_or(value, "0")
}

fn storage_class(object: &Value) -> &str {
    match &object["metadata"]["annotations"][BETA_CLASS] {
        Value::String(class) => class,
        _ => text_of(&object["spec"]["storageClassName"]),
    }
}

fn attributes_class(object: &Value, _now: i64) -> Value {
    object["spec"]["volumeAttributesClassName"]
        .as_str()
        .unwrap_or("<unset>")
        .into()
}

fn volume_mode(object: &Value, _now: i64) -> Value {
    object["spec"]["volumeMode"].as_str().unwrap_or("<unset>").into()
}

fn access_modes(modes: &Value) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let modes = items(modes);
    joined(
        known
            .iter()
            .filter(|(mode, _)| modes.iter().any(|given| given == mode))
            .map(|(_, short)| *short),
        ",",
    )
}
