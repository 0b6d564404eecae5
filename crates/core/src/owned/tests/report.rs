use super::*;

#[test]
fn a_failure_is_told_until_something_else_is_done() {
    let mut seen = living();
    fail(&mut seen, TroubleClass::Terminal);
    let failed = report(&seen, None);
    assert_eq!(failed.last_failure_message.as_deref(), Some("no"));
    assert_eq!(failed.last_failed_revision.as_deref(), Some("r1"));
    // Where it waits, nothing is done.
    say(&mut seen, "Waiting", "True", "WaitingForTurn");
    let waits = report(&seen, Some(&failed));
    assert_eq!(waits.last_failure_message, failed.last_failure_message);
    say(&mut seen, "Waiting", "False", "NothingToWaitFor");
    // It is tried again.
    seen.run = Some(RunGlance {
        is_running: true,
        is_applying: true,
        started_at: Some(at(1)),
        ..RunGlance::default()
    });
    let tried = report(&seen, Some(&failed));
    assert_eq!(
        (tried.last_failure_message, tried.last_failed_revision),
        (None, None)
    );
    let done = report(&living(), Some(&failed));
    assert_eq!(
        (done.last_failure_message, done.last_failed_revision),
        (None, None)
    );
}

#[test]
fn what_was_made_real_is_known_also_where_the_workspacetemplateapply_was_made_again() {
    let before = report(&living(), None);
    assert_eq!(before.last_applied_revision.as_deref(), Some("r1"));
    let mut again = fresh();
    again.wta.status = Some(WorkspaceTemplateApplyStatus::default());
    let after = report(&again, Some(&before));
    assert_eq!(after.last_applied_revision.as_deref(), Some("r1"));
    assert!(!after.ready);
}

#[test]
fn a_workspace_is_called_what_was_written_down_whatever_somebody_wrote_into_a_status() {
    let mut seen = living();
    let told = |seen: &OwnedSeen| report(seen, None).workspace_name;
    let status = seen.wta.status.get_or_insert_default();
    status.workspace_name = Some("by-hand".to_owned());
    let annotations = seen.wta.metadata.annotations.get_or_insert_default();
    annotations.insert(
        capt_api::marks::WORKSPACE.to_owned(),
        "tf.m.upbound.io/blue".to_owned(),
    );
    assert_eq!(told(&seen).as_deref(), Some("blue"));
    // Before it tells of one, nobody waits for it.
    seen.wta.status.get_or_insert_default().workspace_name = None;
    assert_eq!(told(&seen), None);
}
