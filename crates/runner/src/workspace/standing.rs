//! What the status of a Workspace says, and is to say.

use std::collections::BTreeMap;

use capt_api::{
    conditions::{
        ConditionStatus, Word as _,
        workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
    },
    foreign::workspace::{AtProvider, WorkspaceCondition, WorkspaceStatus},
};
use capt_terraform::diagnostics::bounded;
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use serde_json::{Value, json};

/// Bytes of a condition's message.
const MAX_MESSAGE: usize = 8 * 1024;

/// What the status of a Workspace says: the part that is ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    conditions: Vec<WorkspaceCondition>,
    pub(crate) outputs: Option<BTreeMap<String, Value>>,
    pub(crate) checksum: Option<String>,
    pub(crate) remote_source: Option<String>,
    pub(crate) observed_generation: Option<i64>,
}

impl Standing {
    /// What a status says.
    pub(crate) fn read(status: &WorkspaceStatus) -> Self {
        let AtProvider {
            outputs,
            checksum,
            remote_source,
            ..
        } = status.at_provider.clone().unwrap_or_default();
        Self {
            conditions: status
                .conditions
                .iter()
                .flatten()
                .filter(|condition| Type::from_word(&condition.type_).is_some())
                .cloned()
                .collect(),
            outputs,
            checksum,
            remote_source,
            observed_generation: status.observed_generation,
        }
    }

    /// Whether it says nothing at all.
    pub(crate) fn is_silent(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Says nothing any more, so that everything is said anew. What was handed out stays.
    pub(crate) fn forget_conditions(&mut self) {
        self.conditions.clear();
    }

    /// Says something by a condition.
    pub(crate) fn say(
        &mut self,
        (type_, status, reason): (Type, ConditionStatus, Reason),
        message: &str,
        generation: i64,
        now: Timestamp,
    ) {
        let mut new = WorkspaceCondition {
            type_: type_.as_str().to_owned(),
            status: status.as_str().to_owned(),
            reason: reason.as_str().to_owned(),
            message: Some(bounded(message, MAX_MESSAGE)).filter(|message| !message.is_empty()),
            last_transition_time: Time(seconds(now)),
            observed_generation: Some(generation),
        };
        match self.conditions.iter_mut().find(|old| old.type_ == new.type_) {
            Some(old) => {
                if old.status == new.status {
                    new.last_transition_time = old.last_transition_time.clone();
                }
                *old = new;
            }
            None => self.conditions.push(new),
        }
    }

    /// Says that something is not the case any more, if it was ever said to be.
    pub(crate) fn take_back(
        &mut self,
        verdict: (Type, ConditionStatus, Reason),
        generation: i64,
        now: Timestamp,
    ) {
        if self.condition(verdict.0).is_some() {
            self.say(verdict, "", generation, now);
        }
    }

    /// Says no more that nothing is done, if that was said. What was so before is so again: it was settled in some generation,
    /// the one that it is ready for where nobody remembers, or it never was.
    pub(crate) fn end_pause(&mut self, settled: Option<i64>, now: Timestamp) {
        if !self.has_reason(Type::Synced, Reason::ReconcilePaused) {
            return;
        }
        let ready = self.condition(Type::Ready).filter(|ready| ready.status == "True");
        match settled.or_else(|| ready?.observed_generation) {
            Some(generation) => {
                let synced = (Type::Synced, ConditionStatus::True, Reason::ReconcileSuccess);
                self.say(synced, "", generation, now);
            }
            None => self.conditions.retain(|told| told.type_ != Type::Synced.as_str()),
        }
    }

    /// Says that something has to be mended. What was mended already is not what is found now, and the time since when it is
    /// so names what is found.
    pub(crate) fn say_drifted(
        &mut self,
        message: &str,
        mended: Option<&str>,
        generation: i64,
        now: Timestamp,
    ) {
        let known = self.condition(Type::Drifted).filter(|told| told.status == "True");
        let name = known.map(|told| told.last_transition_time.0.to_string());
        if name.is_some() && name.as_deref() == mended {
            let none = (Type::Drifted, ConditionStatus::False, Reason::NoDrift);
            self.take_back(none, generation, now);
        }
        let found = (Type::Drifted, ConditionStatus::True, Reason::DriftFound);
        self.say(found, message, generation, now);
    }

    /// The condition of a type.
    pub(crate) fn condition(&self, type_: Type) -> Option<&WorkspaceCondition> {
        self.conditions
            .iter()
            .find(|condition| condition.type_ == type_.as_str())
    }

    /// Whether a condition has this reason.
    pub(crate) fn has_reason(&self, type_: Type, reason: Reason) -> bool {
        self.condition(type_)
            .is_some_and(|condition| condition.reason == reason.as_str())
    }

    /// Whether everything that is asked for was made at some time: with what Terraform is told now, or with other values of
    /// the Secrets and ConfigMaps that the spec reads. `is_as_made` says that the spec asks for what it asked for when all of
    /// it was made, also if a pause or a look that failed came in between.
    pub(crate) fn was_made(&self, hash: &str, generation: i64, is_as_made: bool) -> bool {
        let holds = |type_: Type| self.condition(type_).filter(|told| told.status == "True");
        let is_synced =
            holds(Type::Synced).is_some_and(|synced| synced.observed_generation == Some(generation));
        holds(Type::Ready).is_some() && (is_synced || is_as_made || self.checksum.as_deref() == Some(hash))
    }

    /// The outputs as they are published.
    pub(crate) fn published(&self) -> Option<&BTreeMap<String, Value>> {
        self.outputs.as_ref().filter(|outputs| !outputs.is_empty())
    }

    /// What is said where the server refuses all of it: what it took the last time, and why not this.
    pub(crate) fn refused(&self, last: &Self, why: &str, generation: i64, now: Timestamp) -> Self {
        let mut said = Self {
            outputs: last.outputs.clone(),
            checksum: last.checksum.clone(),
            remote_source: last.remote_source.clone(),
            ..self.clone()
        };
        let message = format!("the server refuses what the status is to say: {why}");
        let synced = (Type::Synced, ConditionStatus::False, Reason::ReconcileError);
        said.say(synced, &message, generation, now);
        let failing = (Type::Failing, ConditionStatus::True, Reason::Other);
        said.say(failing, &message, generation, now);
        said
    }

    /// Whether a status that says this says the same.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self == other || self.fields() == other.fields()
    }

    /// The fields that we author, for a server-side apply.
    pub(crate) fn fields(&self) -> Value {
        let mut conditions = self.conditions.clone();
        conditions.sort_by_key(|condition| {
            Type::ALL
                .iter()
                .position(|type_| type_.as_str() == condition.type_)
        });
        let mut fields = json!({"conditions": conditions});
        let mut at_provider = serde_json::Map::new();
        let parts = [
            // An object that loses its last field by an apply becomes null, which no schema takes, so that none is
            // written where there are no outputs.
            ("outputs", self.published().map(|outputs| json!(outputs))),
            ("checksum", self.checksum.as_ref().map(|text| json!(text))),
            (
                "remoteSource",
                self.remote_source.as_ref().map(|text| json!(text)),
            ),
        ];
        for (name, value) in parts {
            if let Some(value) = value {
                at_provider.insert(name.to_owned(), value);
            }
        }
        if !at_provider.is_empty() {
            fields["atProvider"] = Value::Object(at_provider);
        }
        if let Some(generation) = self.observed_generation {
            fields["observedGeneration"] = json!(generation);
        }
        fields
    }
}

/// Conditions know whole seconds only.
fn seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_outputs(outputs: Value) -> Standing {
        Standing {
            outputs: serde_json::from_value(outputs).expect("outputs"),
            checksum: Some("c".to_owned()),
            ..Standing::default()
        }
    }

    #[test]
    fn the_end_of_a_pause_says_what_was_so_before_it() {
        let now = Timestamp::UNIX_EPOCH;
        let paused = (Type::Synced, ConditionStatus::False, Reason::ReconcilePaused);
        let ready = |status| (Type::Ready, status, Reason::Available);
        let said = |standing: &Standing| {
            let synced = standing.condition(Type::Synced)?;
            Some((synced.status.clone(), synced.observed_generation))
        };
        for (is_ready, settled, expected) in [
            (ConditionStatus::True, Some(4), Some(("True".to_owned(), Some(4)))),
            (ConditionStatus::True, None, Some(("True".to_owned(), Some(3)))),
            (ConditionStatus::False, None, None),
        ] {
            let mut standing = Standing::default();
            standing.say(ready(is_ready), "", 3, now);
            standing.say(paused, "nothing is done", 5, now);
            standing.end_pause(settled, now);
            assert_eq!(said(&standing), expected);
        }
        let mut failing = Standing::default();
        failing.say(
            (Type::Synced, ConditionStatus::False, Reason::ReconcileError),
            "x",
            5,
            now,
        );
        let before = failing.clone();
        failing.end_pause(Some(4), now);
        assert_eq!(failing, before, "what is no pause is left alone");
    }

    #[test]
    fn what_was_made_with_other_values_of_what_it_reads_was_made() {
        use ConditionStatus::{False, True};
        let standing = |ready: ConditionStatus, synced: ConditionStatus| {
            let mut standing = with_outputs(json!(null));
            let now = Timestamp::UNIX_EPOCH;
            standing.say((Type::Ready, ready, Reason::Available), "", 2, now);
            standing.say((Type::Synced, synced, Reason::ReconcileSuccess), "", 2, now);
            standing
        };
        for (name, standing, hash, generation, is_as_made, expected) in [
            ("nothing changed", standing(True, True), "c", 2, false, true),
            ("a Secret changed", standing(True, True), "d", 2, false, true),
            ("the spec changed", standing(True, True), "d", 3, false, false),
            ("only a pause is over", standing(True, True), "c", 3, false, true),
            (
                "a Secret changed in a pause",
                standing(True, False),
                "d",
                4,
                true,
                true,
            ),
            ("it failed since", standing(True, False), "d", 2, false, false),
            (
                "a look failed, and a Secret changed",
                standing(True, False),
                "d",
                2,
                true,
                true,
            ),
            ("it was never made", standing(False, True), "c", 2, true, false),
        ] {
            let was_made = standing.was_made(hash, generation, is_as_made);
            assert_eq!(was_made, expected, "{name}");
        }
    }

    #[test]
    fn what_is_found_after_something_was_mended_has_a_name_of_its_own() {
        let at = |second: i64| Timestamp::from_second(second).expect("a time");
        let first = at(5).to_string();
        for (mended, since) in [
            (None, at(5)),
            (Some("other"), at(5)),
            (Some(first.as_str()), at(9)),
        ] {
            let mut standing = Standing::default();
            standing.say_drifted("a tag", None, 1, at(5));
            standing.say_drifted("a Secret", mended, 1, at(9));
            let told = standing.condition(Type::Drifted).expect("a condition");
            assert_eq!(
                (told.status.as_str(), told.last_transition_time.0),
                ("True", since),
                "{mended:?}"
            );
        }
    }

    #[test]
    fn no_outputs_are_no_field() {
        let cases = [
            (json!(null), json!({"checksum": "c"})),
            (json!({}), json!({"checksum": "c"})),
            (json!({"a": 1}), json!({"checksum": "c", "outputs": {"a": 1}})),
        ];
        for (outputs, expected) in cases {
            assert_eq!(
                with_outputs(outputs.clone()).fields()["atProvider"],
                expected,
                "{outputs}"
            );
        }
    }

    #[test]
    fn what_the_server_refuses_is_told_with_what_it_took_before() {
        let (old, new) = (with_outputs(json!({"a": 1})), with_outputs(json!({"a": 2})));
        let said = new.refused(&old, "a is too large", 3, Timestamp::UNIX_EPOCH);
        assert_eq!(said.outputs, old.outputs);
        let failing = said.condition(Type::Failing).expect("a condition");
        assert_eq!(
            (failing.status.as_str(), failing.observed_generation),
            ("True", Some(3))
        );
        assert!(
            failing
                .message
                .as_deref()
                .unwrap_or_default()
                .contains("a is too large")
        );
        assert!(said.has_reason(Type::Synced, Reason::ReconcileError));
    }
}
