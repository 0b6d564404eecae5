//! State that may be gone.

use super::*;

#[test]
fn a_state_that_may_be_gone_is_looked_for_and_brought_back_before_anything_else() {
    let doubted = |state: Option<StateFacts>, change: fn(&mut Snapshot)| {
        let snapshot = with(|it| {
            it.was_made = true;
            it.is_state_doubted = true;
            it.state = state;
            it.requests.plan = Some("now".to_owned());
            change(it);
        });
        decide(&snapshot, at(HOUR))
    };
    let rescue = Next::Run(What::Rescue, Priority::User);
    let plan = Next::Run(What::Plan, Priority::User);
    assert_eq!(doubted(None, |_| {}), Next::Look(Look::State));
    assert_eq!(doubted(Some(StateFacts::Absent), |_| {}), rescue);
    assert_eq!(doubted(Some(StateFacts::Something), |_| {}), plan);
    assert_eq!(doubted(Some(StateFacts::Absent), |it| it.was_made = false), plan);
    let held = doubted(Some(StateFacts::Absent), |it| {
        memory(it).failed = Some(Failed {
            at: at(HOUR - 1),
            ..failed(What::Rescue, false, 1)
        });
    });
    assert!(matches!(held, Next::Wait(Some(_))), "{held:?}");
}

#[test]
fn what_was_ready_elsewhere_is_taken_up_before_anything_is_asked() {
    let found = |change: fn(&mut Snapshot)| {
        now(&with(|it| {
            it.is_to_be_taken_up = true;
            it.memory = None;
            it.inputs = None;
            change(it);
        }))
    };
    assert_eq!(found(|_| {}), Next::TakeUp);
    assert_eq!(found(|it| it.whose = Whose::Others), FOR_EVER);
    assert_eq!(found(|it| it.is_moved_away = true), Next::Pause);
    assert_eq!(found(|it| it.policies = Policy::Paused), Next::Pause);
    assert_eq!(found(|it| it.is_deleting = true), Next::Look(Look::Memory));
    assert_eq!(found(|it| it.is_to_be_taken_up = false), Next::Look(Look::Inputs));
}

#[test]
fn a_name_that_whoever_made_it_chose_is_waited_for_and_chosen_by_nobody_else() {
    let nameless = |is_named_by_maker| {
        with(|it| {
            it.external_name = None;
            it.is_named_by_maker = is_named_by_maker;
        })
    };
    assert!(matches!(now(&nameless(true)), Next::Refuse { .. }));
    assert!(matches!(
        now(&nameless(false)),
        Next::Prepare {
            external_name: Some(_),
            ..
        }
    ));
}
