//! How long a Lease lasts, and how often it is renewed.

use std::time::Duration;

/// How long a Lease lasts, and how often it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How long others leave a Lease alone that is not renewed. Whole seconds, as the API has it.
    pub duration: Duration,
    /// How long after its last renewal a leader still writes.
    pub deadline: Duration,
    /// How long after a renewal the next one is due, and the wait between two tries.
    pub retry: Duration,
}

/// Terms that do not keep two leaders apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    /// A Lease cannot say it, or it is over before anybody can renew it.
    #[error("a lease lasts whole seconds, and at least two")]
    DurationUnusable,
    /// The old leader would still write when the next one begins.
    #[error("the renew deadline must be shorter than the lease")]
    DeadlineTooLong,
    /// A leader would give up before its first try.
    #[error(
        "the renew deadline must be longer than the wait between two tries, which must be more than nothing"
    )]
    RetryTooLong,
}

impl Default for Terms {
    /// Those of Kubernetes' own controllers.
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

impl Terms {
    /// Refuses what would let two lead at once, or nobody for long.
    ///
    /// # Errors
    /// If the order of the three is not retry, deadline, duration.
    pub fn checked(self) -> Result<Self, TermsError> {
        let is_whole = self.duration.subsec_nanos() == 0 && i32::try_from(self.duration.as_secs()).is_ok();
        if !is_whole || self.duration < Duration::from_secs(2) {
            return Err(TermsError::DurationUnusable);
        }
        if self.deadline >= self.duration {
            return Err(TermsError::DeadlineTooLong);
        }
        if self.retry.is_zero() || self.retry >= self.deadline {
            return Err(TermsError::RetryTooLong);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_leaders_are_kept_apart() {
        let terms = |duration, deadline, retry| Terms {
            duration: Duration::from_millis(duration),
            deadline: Duration::from_millis(deadline),
            retry: Duration::from_millis(retry),
        };
        assert_eq!(Terms::default().checked(), Ok(Terms::default()));
        for (terms, expected) in [
            (terms(15_000, 15_000, 2_000), TermsError::DeadlineTooLong),
            (terms(15_500, 10_000, 2_000), TermsError::DurationUnusable),
            (terms(1_000, 500, 100), TermsError::DurationUnusable),
            (terms(15_000, 10_000, 10_000), TermsError::RetryTooLong),
            (terms(15_000, 10_000, 0), TermsError::RetryTooLong),
        ] {
            assert_eq!(terms.checked(), Err(expected), "{terms:?}");
        }
    }
}
