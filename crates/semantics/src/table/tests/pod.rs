use serde_json::{Value, json};

use super::builtin::{check, row};

/// The Ready, Status and Restarts cells of a pod with these parts.
fn pod(spec: &Value, status: &Value) -> (String, String, String) {
    let (_, cells) = row("", "Pod", json!({"spec": spec, "status": status}));
    let cell = |index: usize| cells[index].as_str().unwrap_or_default().to_owned();
    (cell(1), cell(2), cell(3))
}

#[test]
fn pods_are_summed_up() {
    let two = json!({"containers": [{}, {}]});
    let one_init = json!({"containers": [{}], "initContainers": [{"name": "i"}, {"name": "j"}]});
    let sidecar = json!({"containers": [{}], "initContainers": [{"name": "s", "restartPolicy": "Always"}]});
    let running = json!({"ready": true, "restartCount": 3, "state": {"running": {}}});
    let exited =
        |code: i64, reason: &str| json!({"state": {"terminated": {"exitCode": code, "reason": reason}}});
    for (spec, status, ready, reason, restarts) in [
        (two.clone(), json!({"phase": "Pending"}), "0/2", "Pending", "0"),
        (
            two.clone(),
            json!({"phase": "Failed", "reason": "Evicted"}),
            "0/2",
            "Evicted",
            "0",
        ),
        (
            two.clone(),
            json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}),
            "0/2",
            "SchedulingGated",
            "0",
        ),
        (
            two.clone(),
            json!({"phase": "Running", "containerStatuses": [running, running]}),
            "2/2",
            "Running",
            "6",
        ),
        (
            two.clone(),
            json!({"phase": "Running", "containerStatuses": [
                running, {"restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                          "lastState": {"terminated": {"finishedAt": "2024-01-09T23:59:00Z"}}},
            ]}),
            "1/2",
            "CrashLoopBackOff",
            "5 (60s ago)",
        ),
        (
            two.clone(),
            json!({"phase": "Succeeded", "containerStatuses": [exited(0, "Completed")]}),
            "0/2",
            "Completed",
            "0",
        ),
        (
            two.clone(),
            json!({"phase": "Failed", "containerStatuses": [exited(3, "")]}),
            "0/2",
            "ExitCode:3",
            "0",
        ),
        (
            two.clone(),
            json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 137, "signal": 9}}}]}),
            "0/2",
            "Signal:9",
            "0",
        ),
        (
            two.clone(),
            json!({"phase": "Running", "containerStatuses": [exited(0, "Completed"), running]}),
            "1/2",
            "NotReady",
            "3",
        ),
        (
            two.clone(),
            json!({"phase": "Running", "containerStatuses": [exited(0, "Completed"), running],
                   "conditions": [{"type": "Ready", "status": "True"}]}),
            "1/2",
            "Running",
            "3",
        ),
        (
            two,
            json!({"phase": "Failed", "containerStatuses": [exited(0, "Completed"), exited(1, "Error")]}),
            "0/2",
            "Error",
            "0",
        ),
        (
            one_init.clone(),
            json!({"phase": "Pending", "initContainerStatuses": [exited(0, ""), {"name": "j", "restartCount": 4}]}),
            "0/1",
            "Init:1/2",
            "4",
        ),
        (
            one_init.clone(),
            json!({"phase": "Pending", "initContainerStatuses": [exited(1, "")]}),
            "0/1",
            "Init:ExitCode:1",
            "0",
        ),
        (
            one_init.clone(),
            json!({"phase": "Pending", "initContainerStatuses": [exited(1, "Error")]}),
            "0/1",
            "Init:Error",
            "0",
        ),
        (
            one_init,
            json!({"phase": "Pending", "initContainerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}),
            "0/1",
            "Init:ImagePullBackOff",
            "0",
        ),
        (
            sidecar,
            json!({"phase": "Running", "containerStatuses": [running],
                   "initContainerStatuses": [{"name": "s", "started": true, "ready": true, "restartCount": 1}]}),
            "2/2",
            "Running",
            "4",
        ),
    ] {
        let shown = status.to_string();
        let (found_ready, found_reason, found_restarts) = pod(&spec, &status);
        assert_eq!(
            (&*found_ready, &*found_reason, &*found_restarts),
            (ready, reason, restarts),
            "{shown}"
        );
    }
}

#[test]
fn pods_that_go_say_so() {
    let going = |status: Value| {
        let (_, cells) = row(
            "",
            "Pod",
            json!({"metadata": {"deletionTimestamp": "2024-01-09T00:00:00Z"}, "status": status}),
        );
        cells[2].clone()
    };
    assert_eq!(going(json!({"phase": "Running"})), "Terminating");
    assert_eq!(going(json!({"phase": "Succeeded"})), "Succeeded");
    assert_eq!(
        going(json!({"phase": "Running", "reason": "NodeLost"})),
        "Unknown"
    );
}

#[test]
fn pods_are_wide() {
    check(
        "",
        "Pod",
        "NAME  READY  STATUS  RESTARTS  AGE  (IP)  (NODE)  (NOMINATED NODE)  (READINESS GATES)",
        [
            (
                json!({}),
                json!(["x", "0/0", "", "0", "24h", "<none>", "<none>", "<none>", "<none>"]),
            ),
            (
                json!({
                    "spec": {"nodeName": "n", "readinessGates": [{"conditionType": "A"}, {"conditionType": "B"}]},
                    "status": {"podIPs": [{"ip": "1.2.3.4"}], "nominatedNodeName": "m",
                               "conditions": [{"type": "A", "status": "True"}]},
                }),
                json!(["x", "0/0", "", "0", "24h", "1.2.3.4", "n", "m", "1/2"]),
            ),
        ],
    );
}
