//! How a simulation is told to behave: by annotations, or by variables of the module that are named alike.

use capt_api::marks;
use capt_terraform::{
    diagnostics::Class,
    stream::{Diagnostic, Severity, configuration_address},
};

/// How a simulation behaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Behaviour {
    /// What fails.
    pub(super) fault: Option<Fault>,
    /// How long each operation takes.
    pub(super) seconds: Option<f64>,
    /// What somebody else changes.
    pub(super) drift: Option<Drift>,
}

/// Something that fails.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    /// Where.
    pub(super) place: Place,
    /// What it says.
    pub(super) message: String,
    /// What is said about whether it passes by itself.
    pub(super) transient: bool,
    /// How often; always, if nothing is said.
    pub(super) times: Option<u32>,
}

/// Where something fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// When the module is made ready.
    Init,
    /// When a plan is made.
    Plan,
    /// When a resource is made or changed: its address, with or without a key, or `*`.
    Change(String),
    /// When a resource is deleted.
    Deletion(String),
}

/// What somebody else changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Drift {
    /// Everything that was written, so that writing something else is another drift.
    pub(super) token: String,
    addresses: Vec<String>,
}

/// What somebody else did to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drifted {
    /// Changed it.
    Changed,
    /// Deleted it.
    Deleted,
}

impl Behaviour {
    /// Reads what was said. `said` gives the value of a mark, or of the variable of that name.
    pub(super) fn read(said: impl Fn(&str) -> Option<String>) -> Self {
        let given = |mark: &str| {
            said(mark)
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        Self {
            fault: given(marks::SIMULATE_FAIL).map(|place| {
                let transient = given(marks::SIMULATE_FAIL_KIND).as_deref() == Some("transient");
                Fault {
                    message: given(marks::SIMULATE_FAIL_MESSAGE)
                        .unwrap_or_else(|| usual_message(transient).to_owned()),
                    place: Place::read(&place),
                    transient,
                    times: given(marks::SIMULATE_FAIL_TIMES).and_then(|times| times.parse().ok()),
                }
            }),
            seconds: given(marks::SIMULATE_SECONDS)
                .and_then(|seconds| seconds.parse().ok())
                .filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0),
            drift: given(marks::SIMULATE_DRIFT).map(Drift::read),
        }
    }
}

fn usual_message(transient: bool) -> &'static str {
    if transient {
        "ThrottlingException: Rate exceeded, as the simulation was told to say"
    } else {
        "The simulation was told to fail here"
    }
}

/// The name of the variable that says what a mark says.
pub(super) fn variable_name(mark: &str) -> String {
    mark.rsplit('/').next().unwrap_or(mark).replace('-', "_")
}

impl Place {
    fn read(text: &str) -> Self {
        match text.split_once('/') {
            Some(("destroy", address)) => Self::Deletion(address.to_owned()),
            _ if text == "init" => Self::Init,
            _ if text == "plan" => Self::Plan,
            _ => Self::Change(text.to_owned()),
        }
    }
}

impl Fault {
    /// Whether a change of this resource fails.
    pub(super) fn hits_change(&self, address: &str) -> bool {
        matches!(&self.place, Place::Change(pattern) if matches(pattern, address))
    }

    /// Whether a deletion of this resource fails.
    pub(super) fn hits_deletion(&self, address: &str) -> bool {
        matches!(&self.place, Place::Deletion(pattern) if matches(pattern, address))
    }

    /// What Terraform would print.
    pub(super) fn diagnostic(&self, address: Option<&str>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            summary: self.message.clone(),
            detail: "This failure was asked for; see the annotation simulate-fail.".to_owned(),
            address: address.map(str::to_owned),
            ..Diagnostic::default()
        }
    }

    /// What kind of failure it is.
    pub(super) fn class(&self) -> Class {
        if self.transient {
            Class::Throttled
        } else {
            Class::Other
        }
    }
}

impl Drift {
    fn read(token: String) -> Self {
        let addresses = token.split('@').next().unwrap_or_default().split(',');
        Self {
            addresses: addresses.map(|address| address.trim().to_owned()).collect(),
            token,
        }
    }

    /// What happened to this resource, if its last repair was this one.
    pub(super) fn of(&self, address: &str, repaired: Option<&str>) -> Option<Drifted> {
        if repaired == Some(self.token.as_str()) {
            return None;
        }
        self.addresses
            .iter()
            .find_map(|pattern| match pattern.strip_prefix('-') {
                Some(deleted) => matches(deleted, address).then_some(Drifted::Deleted),
                None => matches(pattern, address).then_some(Drifted::Changed),
            })
    }
}

fn matches(pattern: &str, address: &str) -> bool {
    pattern == "*" || pattern == address || pattern == configuration_address(address)
}
