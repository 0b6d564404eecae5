//! How long operations took before.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::stream::Action;

/// Kinds of operations that are remembered. More than any installation has; a bound all the same.
pub const MAX_KINDS: usize = 512;

/// Samples of one kind. Odd, so that the median is one of them.
const MAX_SAMPLES: usize = 9;

/// What an operation takes that nothing is known about.
const UNKNOWN_SECONDS: f64 = 1.0;

/// Operations of one kind took about the same if the longest took no more than this many times the shortest.
const ABOUT_THE_SAME: f64 = 3.0;

/// What is known in general, until it is learned: resource type, seconds to create, seconds to delete.
const TYPICAL: &[(&str, f64, f64)] = &[
    ("aws_eks_cluster", 540.0, 180.0),
    ("aws_eks_fargate_profile", 120.0, 240.0),
    ("aws_eks_node_group", 150.0, 240.0),
    ("aws_eks_addon", 40.0, 20.0),
    ("aws_nat_gateway", 120.0, 60.0),
    ("aws_vpc", 12.0, 2.0),
    ("aws_subnet", 11.0, 2.0),
    ("aws_internet_gateway", 2.0, 15.0),
    ("aws_iam_role", 2.0, 2.0),
    ("aws_iam_role_policy_attachment", 1.0, 1.0),
];

/// How long operations took before, by resource type and action. Small enough to be kept in an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Durations {
    kinds: BTreeMap<String, VecDeque<f64>>,
}

impl Durations {
    /// Remembers how long one operation took. The oldest samples of a kind are forgotten first, and a new kind is not
    /// taken in when there are too many.
    pub fn learn(&mut self, resource_type: &str, action: &Action, seconds: f64) {
        if !seconds.is_finite() || seconds < 0.0 {
            return;
        }
        let key = key(resource_type, action);
        if self.kinds.len() >= MAX_KINDS && !self.kinds.contains_key(&key) {
            return;
        }
        let samples = self.kinds.entry(key).or_default();
        samples.push_back((seconds * 10.0).round() / 10.0);
        while samples.len() > MAX_SAMPLES {
            samples.pop_front();
        }
    }

    /// How long such an operation is expected to take, in seconds; never 0, so that every operation counts.
    #[must_use]
    pub fn expected(&self, resource_type: &str, action: &Action) -> f64 {
        let learned = self.kinds.get(&key(resource_type, action)).and_then(median);
        learned.unwrap_or_else(|| typical(resource_type, action)).max(0.1)
    }

    /// Whether the time that such an operation goes on tells how far it is. It does not where they took very different
    /// times before: one kind may stand for many things.
    #[must_use]
    pub fn trusts(&self, resource_type: &str, action: &Action) -> bool {
        let Some(samples) = self.kinds.get(&key(resource_type, action)) else {
            return is_typical(resource_type, action);
        };
        let shortest = samples.iter().copied().fold(f64::INFINITY, f64::min);
        let longest = samples.iter().copied().fold(0.0, f64::max);
        longest <= shortest.max(UNKNOWN_SECONDS) * ABOUT_THE_SAME
    }

    /// Whether an expectation for such an operation rests on anything.
    #[must_use]
    pub fn knows(&self, resource_type: &str, action: &Action) -> bool {
        self.kinds.contains_key(&key(resource_type, action)) || is_typical(resource_type, action)
    }
}

/// How long it takes to make something says nothing about how long it takes to change it.
fn is_typical(resource_type: &str, action: &Action) -> bool {
    let is_known = TYPICAL.iter().any(|(name, ..)| *name == resource_type);
    is_known && matches!(action, Action::Create | Action::Delete)
}

fn key(resource_type: &str, action: &Action) -> String {
    format!("{resource_type} {action}")
}

fn median(samples: &VecDeque<f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = samples
        .iter()
        .copied()
        .filter(|sample| sample.is_finite())
        .collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

fn typical(resource_type: &str, action: &Action) -> f64 {
    let Some((_, create, delete)) = TYPICAL.iter().find(|(name, ..)| *name == resource_type) else {
        return UNKNOWN_SECONDS;
    };
    match action {
        Action::Delete => *delete,
        Action::Create => *create,
        // Nothing is known about updates; most are quick and some are as slow as making it.
        Action::Update => create / 4.0,
        _ => UNKNOWN_SECONDS,
    }
}
