//! The janitor's single tasks. Each may be done at any time and as often as one likes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::{FutureExt, StreamExt, stream};

use super::dependents::Dependents;
use super::garbage::{Known, Standing, collect, release};
use super::{content, names};
use crate::server::Inner;
use crate::status::ApiResult;
use crate::store::{ObjectKey, ResourceId};

/// So many writes are under way together, so that they share commits.
pub(super) const AT_ONCE: usize = 16;

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// Delete this object if all its owners are gone; one uid may be known to be gone for good. It comes first, so that
    /// dependents are looked at while their owner's kind is still known.
    Collect(ResourceId, ObjectKey, Option<Box<str>>),
    /// Take off the foreground or orphan finalizer once its work is done.
    Release(ResourceId, ObjectKey),
    /// Decide again about the names that this definition was refused.
    Names(String),
    /// Empty this namespace, then let it go.
    Namespace(String),
    /// Delete this definition's objects, then let it go.
    Definition(String),
    /// Delete the events that have had their time.
    Expire,
}

impl Work {
    /// Whether others of its kind may be done at the same time.
    pub(super) fn is_independent(&self) -> bool {
        matches!(self, Self::Collect(..))
    }
}

/// How far a task came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// There is nothing left to do but to wait for others.
    Done,
    /// There is more to do at once.
    More,
}

/// Does one task; the error is a sentence for the log. A defect in one must not end all others.
pub(super) async fn perform(
    server: &Arc<Inner>,
    dependents: &Dependents,
    work: &Work,
) -> Result<Progress, String> {
    guarded(attempt(server, dependents, work)).await
}

async fn guarded(task: impl Future<Output = ApiResult<Progress>>) -> Result<Progress, String> {
    match AssertUnwindSafe(task).catch_unwind().await {
        Ok(outcome) => outcome.map_err(|error| error.message),
        Err(panic) => {
            let text = panic
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            Err(format!("panicked: {}", text.unwrap_or("without a word")))
        }
    }
}

async fn attempt(server: &Arc<Inner>, dependents: &Dependents, work: &Work) -> ApiResult<Progress> {
    match work {
        Work::Collect(resource, key, gone) => {
            let known = gone.as_deref().map(|uid| Known {
                uid,
                standing: Standing::Gone,
            });
            collect(server, dependents, resource, key, known).await
        }
        Work::Release(resource, key) => release(server, dependents, resource, key).await,
        Work::Names(definition) => names::decide_again(server, definition).await,
        Work::Namespace(name) => content::empty_namespace(server, name).await,
        Work::Definition(name) => content::end_definition(server, name).await,
        Work::Expire => content::expire_events(server).await,
    }
}

/// Does the same to many, some at a time. All are tried, and the first failure is told.
pub(super) async fn at_once<T, F: Future<Output = ApiResult<Progress>>>(
    items: impl IntoIterator<Item = T>,
    act: impl Fn(T) -> F,
) -> ApiResult<Progress> {
    let outcomes: Vec<ApiResult<Progress>> = stream::iter(items.into_iter().map(act))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let mut progress = Progress::Done;
    for outcome in outcomes {
        if outcome? == Progress::More {
            progress = Progress::More;
        }
    }
    Ok(progress)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;
    use crate::status::ApiError;

    #[tokio::test]
    async fn a_panic_is_a_failure_like_any_other() {
        let broken = async { panic!("a defect in {}", "one task") };
        assert_eq!(
            guarded(broken).await,
            Err("panicked: a defect in one task".to_owned())
        );
        let refused = async { Err(ApiError::bad_request("no")) };
        assert_eq!(guarded(refused).await, Err("no".to_owned()));
        assert_eq!(guarded(async { Ok(Progress::More) }).await, Ok(Progress::More));
    }

    #[tokio::test]
    async fn many_are_under_way_together_and_none_is_left_out() {
        let (running, most) = (Cell::new(0), Cell::new(0));
        let tried = RefCell::new(Vec::new());
        let outcome = at_once(0..50, async |item| {
            running.set(running.get() + 1);
            most.set(most.get().max(running.get()));
            tokio::task::yield_now().await;
            running.set(running.get() - 1);
            tried.borrow_mut().push(item);
            if item == 3 {
                return Err(ApiError::bad_request("three"));
            }
            Ok(Progress::Done)
        })
        .await;
        assert_eq!(outcome.unwrap_err().message, "three");
        assert_eq!((most.get(), tried.borrow().len()), (AT_ONCE, 50));
    }
}
