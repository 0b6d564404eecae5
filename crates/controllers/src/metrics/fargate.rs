//! What is counted about Fargate profiles.
//!
//! Gauges are about what there is now, one line for each control plane that has profiles, so that an alert can name it.
//! Durations and errors are counted for all together: a histogram for each control plane would be too many lines.

use capt_core::controlplane::fargate::counting::{Category, Census, Tally};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use crate::engine::key::ObjectKey;

/// AWS takes a minute or two to make a profile, and up to half an hour to remove one.
const SECONDS: [f64; 12] = [
    5.0, 15.0, 30.0, 60.0, 90.0, 120.0, 180.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0,
];

/// What is counted about Fargate profiles. Cloning shares it.
#[derive(Clone, Debug)]
pub(crate) struct Fargate {
    creation: Histogram,
    deletion: Histogram,
    ready: Family<Of, Gauge>,
    active: Family<Of, Gauge>,
    failed: Family<Of, Gauge>,
    errors: Family<Sort, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    namespace: String,
    control_plane: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Sort {
    category: &'static str,
}

impl Default for Fargate {
    fn default() -> Self {
        let errors: Family<Sort, Counter> = Family::default();
        // A rate over something that was never seen to be 0 misses the first error.
        for category in Category::ALL {
            let _ = errors.get_or_create(&Sort::of(category));
        }
        Self {
            creation: Histogram::new(SECONDS),
            deletion: Histogram::new(SECONDS),
            ready: Family::default(),
            active: Family::default(),
            failed: Family::default(),
            errors,
        }
    }
}

impl Fargate {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "fargate_profile_creation",
            "How long it took to make a Fargate profile, without waiting for its turn",
            Unit::Seconds,
            self.creation.clone(),
        );
        registry.register_with_unit(
            "fargate_profile_deletion",
            "How long it took to remove a Fargate profile",
            Unit::Seconds,
            self.deletion.clone(),
        );
        registry.register(
            "fargate_profiles_ready",
            "Fargate profiles that pods can run on",
            self.ready.clone(),
        );
        registry.register(
            "fargate_profiles_active",
            "Fargate profiles that are there, or are being made, changed or removed",
            self.active.clone(),
        );
        registry.register(
            "fargate_profiles_failed",
            "Fargate profiles that something went wrong with",
            self.failed.clone(),
        );
        registry.register(
            "fargate_profile_errors",
            "What went wrong with Fargate profiles, by category",
            self.errors.clone(),
        );
    }

    /// Counts what happened.
    pub(crate) fn happened(&self, tally: &Tally) {
        for took in &tally.created {
            self.creation.observe(took.as_secs_f64());
        }
        for took in &tally.deleted {
            self.deletion.observe(took.as_secs_f64());
        }
        for category in &tally.errors {
            self.errors.get_or_create(&Sort::of(*category)).inc();
        }
    }

    /// Says how many profiles a control plane has now. None is one that is gone, or has no profiles.
    pub(crate) fn are(&self, control_plane: &ObjectKey, census: Option<Census>) {
        let of = Of {
            namespace: control_plane.namespace().to_owned(),
            control_plane: control_plane.name().to_owned(),
        };
        let counts = census.map(|census| [census.ready, census.active, census.failed]);
        for (place, gauges) in self.gauges().into_iter().enumerate() {
            match counts {
                Some(counts) => {
                    let count = i64::try_from(counts[place]).unwrap_or(i64::MAX);
                    gauges.get_or_create(&of).set(count);
                }
                None => {
                    gauges.remove(&of);
                }
            }
        }
    }

    fn gauges(&self) -> [&Family<Of, Gauge>; 3] {
        [&self.ready, &self.active, &self.failed]
    }

    /// Says nothing any more about what there is now: somebody else may know better.
    pub(super) fn rest(&self) {
        for gauges in self.gauges() {
            gauges.clear();
        }
    }
}

impl Sort {
    fn of(category: Category) -> Self {
        Self {
            category: category.as_str(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::encoding::text::encode;

    use super::*;

    fn lines(fargate: &Fargate) -> Vec<String> {
        let mut registry = Registry::default();
        fargate.register(registry.sub_registry_with_prefix("capt"));
        let mut text = String::new();
        encode(&mut text, &registry).expect("it can be written");
        text.lines()
            .filter(|line| !line.starts_with('#') && !line.contains("_bucket"))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn everything_has_the_name_that_the_manual_gives_it() {
        let fargate = Fargate::default();
        fargate.happened(&Tally {
            created: vec![Duration::from_secs(120), Duration::from_secs(60)],
            deleted: vec![Duration::from_secs(900)],
            errors: vec![Category::Creation, Category::StatusUpdate, Category::Creation],
        });
        let blue = ObjectKey::within("team", "blue");
        let census = Census {
            ready: 1,
            active: 2,
            failed: 3,
        };
        fargate.are(&blue, Some(census));
        let told = lines(&fargate);
        for line in [
            "capt_fargate_profile_creation_seconds_sum 180.0",
            "capt_fargate_profile_creation_seconds_count 2",
            "capt_fargate_profile_deletion_seconds_sum 900.0",
            "capt_fargate_profile_deletion_seconds_count 1",
            "capt_fargate_profiles_ready{namespace=\"team\",control_plane=\"blue\"} 1",
            "capt_fargate_profiles_active{namespace=\"team\",control_plane=\"blue\"} 2",
            "capt_fargate_profiles_failed{namespace=\"team\",control_plane=\"blue\"} 3",
            "capt_fargate_profile_errors_total{category=\"dependency\"} 0",
            "capt_fargate_profile_errors_total{category=\"creation\"} 2",
            "capt_fargate_profile_errors_total{category=\"status_update\"} 1",
        ] {
            assert!(told.iter().any(|one| one == line), "{line}\n{told:#?}");
        }
        fargate.are(&ObjectKey::within("team", "red"), Some(census));
        fargate.are(&blue, None);
        assert!(!lines(&fargate).iter().any(|line| line.contains("blue")));
        fargate.rest();
        assert!(!lines(&fargate).iter().any(|line| line.contains("red")));
        assert!(
            lines(&fargate).iter().any(|line| line.ends_with("_count 2")),
            "what happened stays counted"
        );
    }
}
