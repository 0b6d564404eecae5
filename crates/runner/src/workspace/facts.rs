//! What a Workspace's inputs say, and what they are read from.

use std::collections::BTreeSet;

use capt_api::{conditions::workspace::WorkspaceReason as Reason, marks::STATE_HOME};
use capt_terraform::state::{Candidate, Source, State, newest};
use k8s_openapi::{api::core::v1::Namespace, jiff::Timestamp};
use kube::Api;

use super::{owner::belongs_to_another, record::Reference};
use crate::{
    api::{CallError, call, words},
    context::Context,
    decide::{InputFacts, NamespaceFacts, StateFacts},
    engine::StateFile,
    inputs::{self, Home, InputError, Prepared, needs},
    store::Kept,
    view::WorkspaceView,
};

/// What is known about inputs that were read.
pub(crate) fn facts_of(
    ctx: &Context,
    view: &WorkspaceView,
    prepared: &Result<Prepared, InputError>,
) -> InputFacts {
    let checked = match prepared {
        Ok(prepared) => match prepared.home.check(written_down(view)) {
            Ok(()) => {
                return InputFacts::Ready {
                    hash: ctx.fingerprint(&prepared.hash),
                    home: prepared.home.name(),
                };
            }
            Err(error) => (Reason::InputInvalid, words(&error)),
        },
        Err(error) => (reason(error), words(error)),
    };
    InputFacts::Unresolved {
        reason: checked.0,
        message: checked.1,
    }
}

/// Everything whose change may change the inputs, also what is not there yet.
pub(crate) fn references_of(
    view: &WorkspaceView,
    prepared: &Result<Prepared, InputError>,
) -> BTreeSet<Reference> {
    let mut references = BTreeSet::new();
    if let Ok(needs) = needs(view) {
        references.extend(needs.objects().cloned().map(Reference::Object));
        references.insert(Reference::Config(needs.config));
    }
    match prepared {
        Ok(prepared) => references.extend(prepared.objects.iter().cloned().map(Reference::Object)),
        Err(InputError::ObjectMissing { object, .. } | InputError::KeyMissing { object, .. }) => {
            references.insert(Reference::Object(object.clone()));
        }
        Err(InputError::ConfigMissing(config)) => {
            references.insert(Reference::Config(config.clone()));
        }
        Err(_) => {}
    }
    references
}

/// Where the state is: as the inputs say or, where they cannot be read any more, as was written down.
///
/// # Errors
/// If the inputs lead to another place than the one that was written down: what is or is not there says nothing about
/// what exists.
pub(crate) fn home_of(
    view: &WorkspaceView,
    prepared: &Result<Prepared, InputError>,
) -> Result<Option<Home>, InputError> {
    match prepared {
        Ok(prepared) => {
            prepared.home.check(written_down(view))?;
            Ok(Some(prepared.home.clone()))
        }
        Err(_) => Ok(Home::recorded(view).map(Home::Ours)),
    }
}

/// Like [`home_of`], and where neither tells, where it is if nobody asks for another place than ours.
///
/// # Errors
/// As there.
pub(super) async fn likely_home(
    ctx: &Context,
    view: &WorkspaceView,
    prepared: &Result<Prepared, InputError>,
) -> Result<Option<Home>, InputError> {
    let known = home_of(view, prepared)?;
    // What was written down and cannot be followed is not to be guessed.
    if known.is_some() || written_down(view).is_some() {
        return Ok(known);
    }
    let home = inputs::default_home(view, &ctx.lookup, &ctx.surroundings).await;
    Ok(home.filter(|home| matches!(home, Home::Ours(_))))
}

fn written_down(view: &WorkspaceView) -> Option<&str> {
    let home = view.annotations.get(STATE_HOME).map(String::as_str);
    home.filter(|home| !home.is_empty())
}

/// What exists.
pub(crate) async fn state_facts(
    ctx: &Context,
    view: &WorkspaceView,
    prepared: &Result<Prepared, InputError>,
) -> StateFacts {
    let place = match likely_home(ctx, view, prepared).await {
        Err(error) => {
            return StateFacts::Unknown {
                reason: reason(&error),
                message: words(&error),
            };
        }
        Ok(Some(Home::Backend(_))) => return StateFacts::Elsewhere,
        Ok(Some(Home::Ours(place))) => Some(place),
        Ok(None) => None,
    };
    let Some(place) = place else {
        let (reason, message) = match prepared {
            Err(error) => (reason(error), words(error)),
            Ok(_) => (
                Reason::StateUnavailable,
                "it is not known where the state is".to_owned(),
            ),
        };
        return StateFacts::Unknown { reason, message };
    };
    match ctx.store.read(&place).await {
        Ok(kept) => {
            match belongs_to_another(ctx, view, &place, &kept).await {
                Ok(None) => {}
                Ok(Some(message)) => {
                    return StateFacts::Unknown {
                        reason: Reason::InputInvalid,
                        message,
                    };
                }
                Err(error) => {
                    return StateFacts::Unknown {
                        reason: Reason::Network,
                        message: words(&error),
                    };
                }
            }
            let files: Vec<Vec<u8>> = [kept.replica, kept.staged].into_iter().flatten().collect();
            let is_nothing = |file: &Vec<u8>| State::parse(file).is_ok_and(|state| state.is_empty());
            match files.is_empty() {
                true => StateFacts::Absent,
                false if files.iter().all(is_nothing) => StateFacts::Nothing,
                false => StateFacts::Something,
            }
        }
        Err(error) => StateFacts::Unknown {
            reason: match error.is_transient() {
                true => Reason::Network,
                false => Reason::StateUnavailable,
            },
            message: words(&error),
        },
    }
}

/// What becomes of the namespace of a Workspace that is going away. One whose deletion was asked for before that of its
/// namespace goes for itself.
pub(crate) async fn namespace_facts(
    ctx: &Context,
    view: &WorkspaceView,
) -> Result<NamespaceFacts, CallError> {
    let Some(name) = view.namespace.as_deref() else {
        return Ok(NamespaceFacts::Stays);
    };
    let api: Api<Namespace> = Api::all(ctx.client.clone());
    let found = match call(api.get_metadata_opt(name)).await {
        Ok(found) => found,
        Err(error) if error.is_forbidden() => return Ok(NamespaceFacts::Unknown(words(&error))),
        Err(error) => return Err(error),
    };
    let going = found.and_then(|found| found.metadata.deletion_timestamp);
    Ok(namespace_goes(view.deletion, going.map(|time| time.0)))
}

fn namespace_goes(own: Option<Timestamp>, namespace: Option<Timestamp>) -> NamespaceFacts {
    match (own, namespace) {
        (_, None) => NamespaceFacts::Stays,
        (Some(own), Some(namespace)) if own < namespace => NamespaceFacts::Stays,
        (_, Some(_)) => NamespaceFacts::Goes,
    }
}

/// Whether what an engine left on its machine lists something and counts more than what is kept.
pub(crate) fn is_more(kept: &Kept, left: &[StateFile]) -> bool {
    let given = [(Source::Replica, &kept.replica), (Source::Staged, &kept.staged)];
    let given = given
        .into_iter()
        .filter_map(|(source, file)| Some((source, file.as_ref()?)));
    let left = left.iter().map(|(source, file)| (*source, file));
    let candidates: Vec<Candidate<'_>> = given
        .chain(left)
        .map(|(source, file)| Candidate { source, file })
        .collect();
    newest(&candidates).is_some_and(|(found, state)| {
        let is_kept = [&kept.replica, &kept.staged]
            .into_iter()
            .flatten()
            .any(|file| file == found.file);
        !is_kept && !state.is_empty()
    })
}

fn reason(error: &InputError) -> Reason {
    match error {
        InputError::ObjectMissing { .. }
        | InputError::KeyMissing { .. }
        | InputError::ConfigMissing(_)
        | InputError::EnvironmentMissing { .. }
        | InputError::File { .. } => Reason::InputMissing,
        InputError::Unreadable { .. } => Reason::Network,
        _ => Reason::InputInvalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_goes_with_its_namespace_unless_it_went_before() {
        let at = |second: i64| Some(Timestamp::from_second(second).expect("a valid time"));
        let cases = [
            (at(5), None, NamespaceFacts::Stays),
            (at(5), at(9), NamespaceFacts::Stays),
            (at(5), at(5), NamespaceFacts::Goes),
            (at(9), at(5), NamespaceFacts::Goes),
            (None, at(5), NamespaceFacts::Goes),
        ];
        for (own, namespace, expected) in cases {
            assert_eq!(namespace_goes(own, namespace), expected, "{own:?} {namespace:?}");
        }
    }
}
