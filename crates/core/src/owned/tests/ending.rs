use capt_api::marks;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

#[test]
fn the_mark_is_written_then_the_object_is_deleted_then_waited_for() {
    for fate in [Fate::Destroyed, Fate::Retained] {
        let mut seen = living();
        if fate == Fate::Retained {
            annotate(&mut seen, marks::LET_GO, "true");
        }
        let End::Mark(mark) = end(&OWNER, &Role::Eks, &seen, fate, None, None) else {
            panic!("{fate:?}: the mark comes first");
        };
        assert_eq!(
            mark.fields["spec"]["templateRef"]["name"], "eks",
            "nothing that was authored goes"
        );
        let mut seen = carried_out(&mark, Some(&seen));
        assert_eq!(
            seen.annotation(marks::LET_GO),
            (fate == Fate::Destroyed).then_some("true")
        );
        assert_eq!(
            seen.wta.spec.retain_workspace_on_delete,
            (fate == Fate::Retained).then_some(true)
        );
        let End::Remove(removal) = end(&OWNER, &Role::Eks, &seen, fate, None, None) else {
            panic!("{fate:?}: then it is deleted");
        };
        assert_eq!(
            (removal.uid.as_str(), removal.resource_version.as_str()),
            ("wta-1", "7")
        );
        seen.wta.metadata.deletion_timestamp = Some(Time(at(1)));
        say(&mut seen, "Deleting", "True", "Destroying");
        let waiting = End::Wait {
            message: "about Deleting".to_owned(),
        };
        assert_eq!(end(&OWNER, &Role::Eks, &seen, fate, None, None), waiting);
    }
}

#[test]
fn one_that_somebody_else_deleted_is_marked_too() {
    let mut seen = living();
    seen.wta.metadata.deletion_timestamp = Some(Time(at(1)));
    assert!(matches!(
        end(&OWNER, &Role::Eks, &seen, Fate::Destroyed, None, None),
        End::Mark(_)
    ));
}

#[test]
fn an_owner_takes_back_what_it_said_about_keeping_and_a_person_is_not_overruled() {
    let retaining = Wanted {
        retain: true,
        ..wanted()
    };
    let by_owner = carried_out(&retaining.change(&OWNER, None).expect("new"), None);
    let mut by_person = fresh();
    by_person.wta.spec.retain_workspace_on_delete = Some(true);
    let mut by_both = by_owner.clone();
    by_both
        .wta
        .spec
        .variables
        .get_or_insert_default()
        .insert("mine".to_owned(), "1".to_owned());
    for (seen, is_kept) in [(by_owner, false), (by_person, true), (by_both, true)] {
        let End::Mark(mark) = end(&OWNER, &Role::Eks, &seen, Fate::Destroyed, None, None) else {
            panic!("the mark comes first");
        };
        let seen = carried_out(&mark, Some(&seen));
        assert_eq!(seen.is_retained(), is_kept);
        let next = end(&OWNER, &Role::Eks, &seen, Fate::Destroyed, None, None);
        assert!(matches!(next, End::Remove(_)), "{next:?}");
    }
}
