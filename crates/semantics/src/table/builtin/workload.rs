//! Kinds that make pods.

use serde_json::Value;

use super::{
    Column, age, column, count, has_condition, integer, is_terminating, items, joined, label_selector,
    label_selector_or_none, labels, size, string, text, text_of, wide,
};
use crate::table::duration::{human_age, human_duration, seconds_of};

const CONTAINERS: &str = "Names of the template's containers.";
const IMAGES: &str = "Images of the template's containers.";
const SELECTOR: &str = "Which pods belong to it.";

pub(super) fn deployment() -> Vec<Column> {
    vec![
        Column::name(),
        text("Ready", "Ready pods of those wanted.", |object, _| {
            ready(object).into()
        }),
        text(
            "Up-to-date",
            "Pods made from the present template.",
            |object, _| count(&object["status"]["updatedReplicas"]).into(),
        ),
        text(
            "Available",
            "Pods that have been ready long enough.",
            |object, _| count(&object["status"]["availableReplicas"]).into(),
        ),
        age(),
        wide("Containers", CONTAINERS, |object, _| {
            containers(object, "name").into()
        }),
        wide("Images", IMAGES, |object, _| containers(object, "image").into()),
        wide("Selector", SELECTOR, |object, _| {
            label_selector(&object["spec"]["selector"]).into()
        }),
    ]
}

pub(super) fn replica_set() -> Vec<Column> {
    let mut columns = vec![
        Column::name(),
        integer("Desired", "Pods that are wanted.", |object, _| {
            replicas(object).into()
        }),
        integer("Current", "Pods that there are.", |object, _| {
            count(&object["status"]["replicas"]).into()
        }),
        integer("Ready", "Pods that are ready.", |object, _| {
            count(&object["status"]["readyReplicas"]).into()
        }),
        age(),
    ];
    columns.extend(template());
    columns
}

pub(super) fn stateful_set() -> Vec<Column> {
    let mut columns = vec![
        Column::name(),
        text("Ready", "Ready pods of those wanted.", |object, _| {
            ready(object).into()
        }),
        age(),
    ];
    columns.extend(template().into_iter().take(2));
    columns
}

pub(super) fn daemon_set() -> Vec<Column> {
    let mut columns = vec![
        Column::name(),
        integer("Desired", "Nodes that shall have the pod.", |object, _| {
            count(&object["status"]["desiredNumberScheduled"]).into()
        }),
        integer("Current", "Nodes that have the pod.", |object, _| {
            count(&object["status"]["currentNumberScheduled"]).into()
        }),
        integer("Ready", "Nodes where the pod is ready.", |object, _| {
            count(&object["status"]["numberReady"]).into()
        }),
        integer(
            "Up-to-date",
            "Nodes with a pod from the present template.",
            |object, _| count(&object["status"]["updatedNumberScheduled"]).into(),
        ),
        integer(
            "Available",
            "Nodes where the pod has been ready long enough.",
            |object, _| count(&object["status"]["numberAvailable"]).into(),
        ),
        text("Node Selector", "Which nodes get the pod.", |object, _| {
            labels(&object["spec"]["template"]["spec"]["nodeSelector"]).into()
        }),
        age(),
    ];
    columns.extend(template());
    columns
}

pub(super) fn job() -> Vec<Column> {
    let mut columns = vec![
        Column::name(),
        text("Status", "What it is at.", |object, _| job_status(object).into()),
        text("Completions", "Finished pods of those wanted.", |object, _| {
            completions(object).into()
        }),
        text(
            "Duration",
            "How long it took, or has taken so far.",
            |object, now| job_duration(object, now).into(),
        ),
        age(),
    ];
    columns.extend(template());
    columns
}

pub(super) fn cron_job() -> Vec<Column> {
    fn pod_template(object: &Value) -> &Value {
        &object["spec"]["jobTemplate"]["spec"]
    }
    vec![
        Column::name(),
        text("Schedule", "When jobs are made.", |object, _| {
            string(&object["spec"]["schedule"])
        }),
        text("Timezone", "What the schedule's hours mean.", |object, _| {
            object["spec"]["timeZone"].as_str().unwrap_or("<none>").into()
        }),
        column(
            "Suspend",
            "boolean",
            0,
            "Whether no jobs are made for now.",
            |object, _| match object["spec"]["suspend"].as_bool() {
                Some(true) => "True".into(),
                Some(false) => "False".into(),
                None => "<unset>".into(),
            },
        ),
        integer("Active", "Jobs that are running.", |object, _| {
            size(&object["status"]["active"]).into()
        }),
        text(
            "Last Schedule",
            "When the last job was made.",
            |object, now| match &object["status"]["lastScheduleTime"] {
                Value::Null => "<none>".into(),
                last => human_age(last, now).into(),
            },
        ),
        age(),
        wide("Containers", CONTAINERS, |object, _| {
            containers_of(pod_template(object), "name").into()
        }),
        wide("Images", IMAGES, |object, _| {
            containers_of(pod_template(object), "image").into()
        }),
        wide("Selector", SELECTOR, |object, _| {
            label_selector_or_none(&pod_template(object)["selector"]).into()
        }),
    ]
}

/// What `-o wide` adds.
fn template() -> [Column; 3] {
    [
        wide("Containers", CONTAINERS, |object, _| {
            containers(object, "name").into()
        }),
        wide("Images", IMAGES, |object, _| containers(object, "image").into()),
        wide("Selector", SELECTOR, |object, _| {
            label_selector_or_none(&object["spec"]["selector"]).into()
        }),
    ]
}

fn containers(object: &Value, member: &str) -> String {
    containers_of(&object["spec"], member)
}

fn containers_of(spec: &Value, member: &str) -> String {
    let containers = items(&spec["template"]["spec"]["containers"]);
    joined(
        containers.iter().map(|container| text_of(&container[member])),
        ",",
    )
}

/// Who says nothing wants one.
fn replicas(object: &Value) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap_or(1)
}

fn ready(object: &Value) -> String {
    format!(
        "{}/{}",
        count(&object["status"]["readyReplicas"]),
        replicas(object)
    )
}

fn job_status(job: &Value) -> &'static str {
    if has_condition(job, "Complete") {
        "Complete"
    } else if has_condition(job, "Failed") {
        "Failed"
    } else if is_terminating(job) {
        "Terminating"
    } else if has_condition(job, "Suspended") {
        "Suspended"
    } else if has_condition(job, "FailureTarget") {
        "FailureTarget"
    } else if has_condition(job, "SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

fn completions(job: &Value) -> String {
    let succeeded = count(&job["status"]["succeeded"]);
    match (
        job["spec"]["completions"].as_i64(),
        count(&job["spec"]["parallelism"]),
    ) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallel) if parallel > 1 => format!("{succeeded}/1 of {parallel}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn job_duration(job: &Value, now: i64) -> String {
    let time = |name: &str| job["status"][name].as_str().and_then(seconds_of);
    match (time("startTime"), time("completionTime")) {
        (None, _) => String::new(),
        (Some(start), end) => human_duration(end.unwrap_or(now).saturating_sub(start)),
    }
}
