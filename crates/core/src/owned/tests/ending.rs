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
        let End::Mark(mark) = end(&OWNER, &Role::Eks, &seen, fate) else {
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
        let End::Remove(removal) = end(&OWNER, &Role::Eks, &seen, fate) else {
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
        assert_eq!(end(&OWNER, &Role::Eks, &seen, fate), waiting);
    }
}

#[test]
fn one_that_somebody_else_deleted_is_marked_too() {
    let mut seen = living();
    seen.wta.metadata.deletion_timestamp = Some(Time(at(1)));
    assert!(matches!(
        end(&OWNER, &Role::Eks, &seen, Fate::Destroyed),
        End::Mark(_)
    ));
}
