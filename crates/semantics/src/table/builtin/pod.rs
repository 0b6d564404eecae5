//! Pods, whose status is summed up from that of their containers.

use serde_json::Value;

use super::{
    Column, age, condition, count, has_condition, is_terminating, items, size, text, text_of, text_or, wide,
};
use crate::table::duration::{human_duration, seconds_of};

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::name(),
        text("Ready", "Ready containers of all that shall run.", |pod, _| {
            let summary = Summary::of(pod);
            format!("{}/{}", summary.ready, summary.total).into()
        }),
        text("Status", "The containers' state in one word.", |pod, _| {
            Summary::of(pod).reason.into()
        }),
        text(
            "Restarts",
            "How often containers were restarted, and when last.",
            |pod, now| {
                let summary = Summary::of(pod);
                match summary.last_restart {
                    Some(last) if summary.restarts != 0 => {
                        let ago = human_duration(now.saturating_sub(last));
                        format!("{} ({ago} ago)", summary.restarts).into()
                    }
                    _ => summary.restarts.to_string().into(),
                }
            },
        ),
        age(),
        wide("IP", "Its address.", |pod, _| {
            let first = &pod["status"]["podIPs"][0]["ip"];
            let address = if first.is_null() {
                &pod["status"]["podIP"]
            } else {
                first
            };
            text_or(address, "<none>").into()
        }),
        wide("Node", "Where it runs.", |pod, _| {
            text_or(&pod["spec"]["nodeName"], "<none>").into()
        }),
        wide(
            "Nominated Node",
            "Where it will run once others have left.",
            |pod, _| text_or(&pod["status"]["nominatedNodeName"], "<none>").into(),
        ),
        wide(
            "Readiness Gates",
            "Fulfilled conditions of those that it must have to be ready.",
            |pod, _| readiness_gates(pod).into(),
        ),
    ]
}

fn readiness_gates(pod: &Value) -> String {
    let gates = items(&pod["spec"]["readinessGates"]);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates
        .iter()
        .filter(|gate| has_condition(pod, text_of(&gate["conditionType"])))
        .count();
    format!("{open}/{}", gates.len())
}

struct Summary {
    ready: i64,
    total: i64,
    reason: String,
    restarts: i64,
    /// Unix time.
    last_restart: Option<i64>,
}

/// Restarts, and when the last one was.
#[derive(Default, Clone, Copy)]
struct Restarts {
    count: i64,
    last: Option<i64>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count += count(&container["restartCount"]);
        let finished = container["lastState"]["terminated"]["finishedAt"]
            .as_str()
            .and_then(seconds_of);
        self.last = self.last.max(finished);
    }
}

impl Summary {
    fn of(pod: &Value) -> Self {
        let status = &pod["status"];
        let phase = text_of(&status["phase"]);
        let mut reason = text_or(&status["reason"], phase).to_owned();
        if condition(pod, "PodScheduled").is_some_and(|scheduled| scheduled["reason"] == "SchedulingGated") {
            "SchedulingGated".clone_into(&mut reason);
        }

        let sidecars = items(&pod["spec"]["initContainers"])
            .iter()
            .filter(|container| is_sidecar(container))
            .count();
        let total = size(&pod["spec"]["containers"]) + i64::try_from(sidecars).unwrap_or_default();

        let mut init = Initialization::of(pod);
        let mut ready = init.ready_sidecars;
        let mut restarts = init.restarts;
        if let Some(stopped_at) = init.stopped_at.take() {
            reason = stopped_at;
        }
        if !init.unfinished || has_condition(pod, "Initialized") {
            restarts = init.sidecar_restarts;
            let running = summarize_containers(pod, &mut reason, &mut restarts);
            ready += running;
        }

        if is_terminating(pod) {
            if status["reason"] == "NodeLost" {
                "Unknown".clone_into(&mut reason);
            } else if !matches!(phase, "Succeeded" | "Failed") {
                "Terminating".clone_into(&mut reason);
            }
        }
        Self {
            ready,
            total,
            reason,
            restarts: restarts.count,
            last_restart: restarts.last,
        }
    }
}

/// How far the init containers got.
#[derive(Default)]
struct Initialization {
    restarts: Restarts,
    sidecar_restarts: Restarts,
    ready_sidecars: i64,
    unfinished: bool,
    /// What to show for the container that is being waited for.
    stopped_at: Option<String>,
}

impl Initialization {
    fn of(pod: &Value) -> Self {
        let mut this = Self::default();
        let specs = items(&pod["spec"]["initContainers"]);
        for (index, container) in items(&pod["status"]["initContainerStatuses"]).iter().enumerate() {
            this.restarts.add(container);
            let sidecar = specs
                .iter()
                .any(|spec| spec["name"] == container["name"] && is_sidecar(spec));
            if sidecar {
                this.sidecar_restarts.add(container);
            }
            let terminated = &container["state"]["terminated"];
            let waiting = text_of(&container["state"]["waiting"]["reason"]);
            if terminated.is_object() && count(&terminated["exitCode"]) == 0 {
                continue;
            }
            if sidecar && container["started"] == true {
                this.ready_sidecars += i64::from(container["ready"] == true);
                continue;
            }
            let shown = if terminated.is_object() {
                termination(terminated)
            } else if !matches!(waiting, "" | "PodInitializing") {
                waiting.to_owned()
            } else {
                format!("{index}/{}", specs.len())
            };
            this.stopped_at = Some(format!("Init:{shown}"));
            this.unfinished = true;
            break;
        }
        this
    }
}

/// Sums up the ordinary containers; returns how many are ready.
fn summarize_containers(pod: &Value, reason: &mut String, restarts: &mut Restarts) -> i64 {
    let mut ready = 0;
    let mut error = None;
    for container in items(&pod["status"]["containerStatuses"]).iter().rev() {
        restarts.add(container);
        let terminated = &container["state"]["terminated"];
        let waiting = text_of(&container["state"]["waiting"]["reason"]);
        if !waiting.is_empty() {
            waiting.clone_into(reason);
        } else if terminated.is_object() {
            *reason = termination(terminated);
            if count(&terminated["exitCode"]) != 0 {
                error = Some(reason.clone());
            }
        } else if container["ready"] == true && container["state"]["running"].is_object() {
            ready += 1;
        }
    }
    // One finished container does not make a pod complete while others run.
    if reason == "Completed" {
        if ready > 0 && has_condition(pod, "Ready") {
            "Running".clone_into(reason);
        } else if let Some(error) = error {
            *reason = error;
        } else if ready > 0 {
            "NotReady".clone_into(reason);
        }
    }
    ready
}

fn termination(terminated: &Value) -> String {
    match (text_of(&terminated["reason"]), count(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", count(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}
