use super::*;

fn peer(key: &str, released: &str, is_ready: bool) -> Peer {
    Peer {
        key: format!("team/{key}"),
        released: Some(released.to_owned()),
        is_ready,
        was_ready: true,
        ..Peer::default()
    }
}

fn failed(key: &str, released: &str) -> Peer {
    Peer {
        has_failed: true,
        ..peer(key, released, false)
    }
}

fn idle(key: &str, released: &str) -> Peer {
    Peer {
        is_idle: true,
        ..peer(key, released, false)
    }
}

/// `team/blue-eks-controlplane-apply` has t1 and is ready; the template is at t2.
fn gets_it(own: &OwnedSeen, peers: &[Peer]) -> bool {
    let released = release(Some(own), Some("t2"), peers);
    assert_eq!(
        released.revision.as_deref() == Some("t2"),
        released.held_back.is_none()
    );
    released.held_back.is_none()
}

#[test]
fn an_edit_goes_to_one_then_to_a_few_and_stops_where_it_fails() {
    let cases = [
        ("nobody else uses it", vec![], true),
        ("somebody is before us", vec![peer("a", "t1", true)], false),
        ("somebody is after us", vec![peer("z", "t1", true)], true),
        ("the first one is at it", vec![peer("a", "t2", false)], false),
        ("the first one is done", vec![peer("a", "t2", true)], true),
        (
            "there is room among a few",
            vec![
                peer("a", "t2", true),
                peer("b", "t2", false),
                peer("ba", "t1", true),
            ],
            true,
        ),
        (
            "there is no room",
            vec![
                peer("a", "t2", true),
                peer("aa", "t2", false),
                peer("ab", "t2", false),
                peer("ac", "t2", false),
            ],
            false,
        ),
        (
            "too many are before us",
            vec![
                peer("a", "t2", true),
                peer("b", "t1", true),
                peer("ba", "t1", true),
                peer("bb", "t1", true),
            ],
            false,
        ),
        (
            "it failed somewhere",
            vec![peer("a", "t2", true), failed("z", "t2")],
            false,
        ),
        ("another revision failed somewhere", vec![failed("z", "t1")], true),
        ("somebody before us is paused", vec![idle("a", "t1")], true),
        (
            "somebody waits for an approval of it",
            vec![idle("a", "t2")],
            true,
        ),
        (
            "a new one is being made with it",
            vec![Peer {
                was_ready: false,
                ..peer("a", "t2", false)
            }],
            true,
        ),
    ];
    for (name, peers, expected) in cases {
        assert_eq!(gets_it(&living(), &peers), expected, "{name}");
        let own = Peer::of(&living());
        let users: Vec<Peer> = peers.into_iter().chain([own.clone()]).collect();
        let next = next_in_line("t2", &users);
        assert_eq!(next.contains(&own.key.as_str()), expected, "{name}: who is woken");
    }
}

#[test]
fn whoever_has_nothing_to_lose_does_not_wait() {
    let before_us = [peer("a", "t1", true), failed("z", "t2")];
    assert!(!gets_it(&living(), &before_us));
    let mut never_ready = living();
    say(&mut never_ready, "Ready", "False", "Creating");
    never_ready.wta.status.get_or_insert_default().ready_revision = None;
    assert!(gets_it(&never_ready, &before_us));
    let mut broken = living();
    fail(&mut broken, TroubleClass::Terminal);
    assert!(gets_it(&broken, &before_us));
    let mut overtaken = living();
    overtaken.wta.status.get_or_insert_default().template_revision = Some("t0".to_owned());
    assert!(gets_it(&overtaken, &before_us), "t1 is not to be had any more");
}

#[test]
fn a_new_one_gets_what_there_is_and_a_missing_template_changes_nothing() {
    let peers = [failed("z", "t2")];
    assert_eq!(release(None, Some("t2"), &peers).revision.as_deref(), Some("t2"));
    assert_eq!(
        release(Some(&living()), None, &peers).revision.as_deref(),
        Some("t1")
    );
    assert_eq!(release(None, None, &peers).revision, None);
}

#[test]
fn an_edit_reaches_everybody_a_few_at_a_time() {
    let mut all: Vec<OwnedSeen> = ('a'..='k')
        .map(|letter| {
            let mut seen = living();
            seen.wta.metadata.name = Some(letter.to_string());
            seen
        })
        .collect();
    let mut most = 0;
    for round in 0..20 {
        let peers: Vec<Peer> = all.iter().map(Peer::of).collect();
        let mut busy = 0;
        for seen in &mut all {
            let released = release(Some(seen), Some("t2"), &peers);
            let is_new = released.revision != seen.wta.spec.template_revision;
            seen.wta.spec.template_revision = released.revision;
            let status = seen.wta.status.get_or_insert_default();
            if is_new {
                // Terraform is at work until the next round.
                status.last_applied_revision = Some("r2".to_owned());
                status.template_revision = Some("t2".to_owned());
                busy += 1;
            } else {
                status.ready_revision.clone_from(&status.last_applied_revision);
            }
        }
        most = most.max(busy);
        assert!(
            busy <= if round == 0 { 1 } else { 3 },
            "round {round}: {busy} at a time"
        );
    }
    assert_eq!(most, 3);
    assert!(
        all.iter()
            .all(|seen| seen.wta.spec.template_revision.as_deref() == Some("t2"))
    );
}

#[test]
fn peers_are_looked_at_only_when_an_edit_waits() {
    assert!(!needs_peers(None, Some("t2")));
    assert!(!needs_peers(Some(&living()), None));
    assert!(!needs_peers(Some(&living()), Some("t1")));
    assert!(needs_peers(Some(&living()), Some("t2")));
    let mut broken = living();
    fail(&mut broken, TroubleClass::Terminal);
    assert!(!needs_peers(Some(&broken), Some("t2")));
}
