//! When a watch that fails is worth a person's attention.

use kube::runtime::watcher;

/// What was last told about one watch. A cause is told once, and again only if the watch worked in between.
#[derive(Debug, Default)]
pub(crate) struct Complaint {
    told: Option<String>,
}

impl Complaint {
    /// Takes note that the watch works.
    pub(crate) fn settle(&mut self) {
        self.told = None;
    }

    /// The cause, if a person should hear of it now.
    pub(crate) fn about(&mut self, error: &watcher::Error) -> Option<&str> {
        if !is_lasting(error) {
            return None;
        }
        let cause = error.to_string();
        if self.told.as_ref() == Some(&cause) {
            return None;
        }
        Some(self.told.insert(cause))
    }
}

/// Connections end all the time, and kinds come and go; only a watch that cannot begin may stay silent for ever.
fn is_lasting(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(source) | watcher::Error::WatchStartFailed(source) => {
            !matches!(source, kube::Error::Api(status) if status.code == 404)
        }
        watcher::Error::WatchError(status) => status.is_forbidden(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn refused(code: u16, reason: &str) -> kube::Error {
        let status = Status::failure("it was refused", reason).with_code(code);
        kube::Error::Api(status.boxed())
    }

    #[test]
    fn a_cause_is_told_once_until_the_watch_works_or_another_comes() {
        let forbidden = || watcher::Error::InitialListFailed(refused(403, "Forbidden"));
        let mut complaint = Complaint::default();
        let told = complaint.about(&forbidden()).map(str::to_owned);
        assert!(told.is_some_and(|cause| cause.contains("it was refused")));
        assert_eq!(complaint.about(&forbidden()), None);
        let down = watcher::Error::WatchStartFailed(refused(503, "ServiceUnavailable"));
        assert!(complaint.about(&down).is_some());
        assert_eq!(complaint.about(&down), None);
        complaint.settle();
        assert!(complaint.about(&down).is_some());
    }

    #[test]
    fn what_happens_every_day_is_not_told() {
        let status = Status::failure("too old", "Expired").with_code(410);
        let daily = [
            watcher::Error::WatchError(status.boxed()),
            watcher::Error::WatchFailed(refused(500, "InternalError")),
            watcher::Error::InitialListFailed(refused(404, "NotFound")),
        ];
        for error in daily {
            assert_eq!(Complaint::default().about(&error), None, "{error}");
        }
    }
}
