//! What is known about one Workspace between two looks at it.

use std::collections::BTreeSet;

use capt_api::{
    conditions::workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
    run::RunReport,
};

use super::standing::Standing;
use crate::{
    decide::{Answers, ConnectionFacts, InputFacts, Memory, NamespaceFacts, StateFacts},
    inputs::{ConfigRef, ObjectRef},
    view::WorkspaceView,
};

/// What is known about one Workspace.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// What is remembered about earlier operations.
    pub(crate) memory: Option<Memory>,
    /// What Terraform would be told.
    pub(crate) inputs: Option<InputFacts>,
    /// What exists.
    pub(crate) state: Option<StateFacts>,
    /// The state may be gone from where it was kept.
    pub(crate) is_state_doubted: bool,
    /// It was looked whether the state tells of something that was ready before this object was made.
    pub(crate) is_looked_up: bool,
    /// Something was changed here, so that the state does not tell that any more, whatever somebody else still says.
    pub(crate) is_changed: bool,
    /// Why that cannot be used, although the state tells of it.
    pub(crate) untaken: Option<String>,
    /// What is known about its connection Secret.
    pub(crate) connection: Connection,
    /// What becomes of its namespace.
    pub(crate) namespace: Option<NamespaceFacts>,
    /// What the status is to say.
    pub(crate) standing: Standing,
    /// What the status says.
    pub(crate) told: Standing,
    /// The version that the object had when that was written.
    pub(crate) told_in: Option<u64>,
    /// The status says something else, which somebody else may have written.
    pub(crate) is_contradicted: bool,
    /// When that was last answered, and how often in a row.
    pub(crate) retold: Option<Answers>,
    /// What is told beside it.
    pub(crate) report: RunReport,
    /// Nothing was ever told beside it.
    pub(crate) is_unreported: bool,
    /// The status was last told that nothing can be done, by a look and not by something that ran.
    pub(crate) is_refused: bool,
    /// What its inputs are read from.
    pub(crate) references: BTreeSet<Reference>,
    /// It was asked whether somebody else uses it, and nobody did, or somebody. Watches tell if that changes.
    pub(crate) is_ours: Option<bool>,
    /// How often in a row the API failed us.
    pub(crate) troubles: u32,
}

/// What is known about a connection Secret.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    /// Whether it is as it should be.
    pub(crate) facts: ConnectionFacts,
    /// The version in which it last was.
    pub(crate) version: Option<String>,
    /// When somebody else's change of it was last answered, and how often in a row.
    pub(crate) rewritten: Option<Answers>,
}

/// An object that inputs are read from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Reference {
    /// A Secret or a ConfigMap.
    Object(ObjectRef),
    /// A provider configuration.
    Config(ConfigRef),
}

impl Record {
    /// Nothing but what the object itself says.
    pub(crate) fn new(view: &WorkspaceView) -> Self {
        let standing = Standing::read(&view.status);
        Self {
            memory: None,
            inputs: None,
            state: None,
            is_state_doubted: false,
            is_looked_up: false,
            is_changed: false,
            untaken: None,
            connection: Connection::default(),
            namespace: None,
            told: standing.clone(),
            told_in: None,
            is_contradicted: false,
            retold: None,
            standing,
            report: RunReport::default(),
            is_unreported: false,
            is_refused: false,
            references: BTreeSet::new(),
            is_ours: None,
            troubles: 0,
        }
    }

    /// Takes note of what the status says. Tells whether that is not what was written there, so that it has to be looked at.
    pub(crate) fn hear(&mut self, view: &WorkspaceView) -> bool {
        let is_known = view
            .version()
            .is_some_and(|version| Some(version) <= self.told_in);
        let said = Standing::read(&view.status);
        if is_known || said.is_same_as(&self.told) || said.is_same_as(&self.standing) {
            return false;
        }
        // No runner takes all of it away; whose anything else is has to be asked for.
        match said.is_silent() {
            true => self.told = said,
            false => self.is_contradicted = true,
        }
        true
    }

    /// Takes what the status says for what there is to say, as long as somebody else writes it.
    pub(crate) fn leave_word_to_others(&mut self, view: &WorkspaceView) {
        self.standing = Standing::read(&view.status);
        self.told = self.standing.clone();
        self.is_contradicted = false;
    }

    /// What Terraform would be told may be something else now, and with it where the state is.
    pub(crate) fn forget_inputs(&mut self) {
        self.inputs = None;
        self.state = None;
        self.is_looked_up = false;
    }

    /// Its connection Secret is not what it was, so that one which was somebody else's may be free. A run that was refused it
    /// asks for it again by itself, and not as often as others write it.
    pub(crate) fn doubt_connection(&mut self) {
        self.connection.facts = ConnectionFacts::Doubted;
        let is_told = self
            .standing
            .has_reason(Type::Failing, Reason::ConnectionSecretFailed);
        self.is_looked_up &= is_told;
    }
}

#[cfg(test)]
mod tests {
    use capt_api::foreign::Workspace;
    use serde_json::json;

    use super::*;

    /// A Workspace in some version, of which a condition says this.
    fn view(version: &str, ready: Option<&str>) -> WorkspaceView {
        let conditions = ready.map(|status| {
            json!([{
                "type": "Ready", "status": status, "reason": "Available", "lastTransitionTime": "2030-01-01T00:00:00Z",
            }])
        });
        let object: Workspace = serde_json::from_value(json!({
            "metadata": {"name": "vpc", "namespace": "team", "uid": "u", "resourceVersion": version},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
            "status": {"conditions": conditions},
        }))
        .expect("a Workspace");
        WorkspaceView::from(&object)
    }

    #[test]
    fn only_what_is_newer_and_says_something_else_is_news() {
        let mut record = Record::new(&view("5", Some("True")));
        record.told_in = Some(7);
        for (version, ready, is_news, is_contradicted) in [
            ("6", Some("False"), false, false),
            ("7", Some("False"), false, false),
            ("8", Some("True"), false, false),
            ("8", None, true, false),
            ("8", Some("False"), true, true),
        ] {
            let mut heard = record.clone();
            assert_eq!(heard.hear(&view(version, ready)), is_news, "{version} {ready:?}");
            assert_eq!(heard.is_contradicted, is_contradicted, "{version} {ready:?}");
            assert_eq!(heard.standing, record.standing, "what is known stays");
        }
        record.standing.forget_conditions();
        let stale = record.hear(&view("8", None));
        assert!(!stale, "it says what is about to be written");
    }

    /// As long as provider-terraform writes it, what it says is neither stale nor forged when it is ours again.
    #[test]
    fn what_others_wrote_while_it_was_theirs_is_not_written_over_afterwards() {
        let mut record = Record::new(&view("5", None));
        let theirs = view("8", Some("True"));
        assert!(record.hear(&theirs));
        record.leave_word_to_others(&theirs);
        assert!(!record.is_contradicted);
        assert_eq!(record.standing, Standing::read(&theirs.status));
        assert!(!record.hear(&view("9", Some("True"))));
        assert_eq!(record.told, record.standing, "nothing is to be written");
    }
}
