//! Where the facts lead: one verdict out of everything that is known.

use capt_api::conditions::captcontrolplane::CAPTControlPlaneReason as Reason;

use super::machine::{Goal, Stage};

/// One word and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// One word.
    pub reason: Reason,
    /// What is the matter, and what to do.
    pub message: String,
}

impl Note {
    /// A note.
    pub(super) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

/// Why what the spec asks for cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What it is.
    pub note: Note,
    /// It may end by itself: something that is referred to is not there yet.
    pub is_passing: bool,
}

/// How the EKS cluster stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Eks {
    /// It is what it should be.
    Up,
    /// It is being made or changed.
    Building(Note),
    /// It is made or changed when a person did something: approved that, or ended a pause.
    AwaitsPerson(Note),
    /// Nothing was changed, and it is not well.
    Unwell(Note),
    /// It could not be made or changed.
    Broken(Note),
}

/// How everything around the EKS cluster stands: endpoint, certificate authority, kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setup {
    /// It is there.
    Done,
    /// Something is not there yet.
    Outstanding(Note),
    /// Something cannot be there until somebody changes something.
    Broken(Note),
}

/// Whether the API server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It does.
    Yes,
    /// Nobody knows, and nobody needs to.
    NotChecked,
    /// Nobody knows yet.
    Unknown,
    /// It does not, which may pass.
    Silent(String),
    /// It has not for so long that it does not serve.
    Dead(String),
}

/// How the Fargate profiles stand together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Profiles {
    /// There are none, or all of them work.
    #[default]
    Done,
    /// Some are not there yet, or not gone, or wait for a person.
    Outstanding(Note),
    /// Some went wrong.
    Failed(String),
}

/// How a repair stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// There is none.
    #[default]
    None,
    /// One is under way.
    Running(String),
    /// All tries are used up.
    Exhausted(String),
}

/// Everything that a verdict depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// It served once.
    pub was_initialized: bool,
    /// The infrastructure was ready once; else what is waited for.
    pub infrastructure: Result<(), Note>,
    /// Why what the spec asks for cannot be made.
    pub problem: Option<Problem>,
    /// How the EKS cluster stands.
    pub eks: Eks,
    /// How everything around it stands.
    pub setup: Setup,
    /// Whether the API server answers.
    pub answer: Answer,
    /// How the Fargate profiles stand.
    pub profiles: Profiles,
    /// How a repair stands.
    pub recovery: Recovery,
    /// What is not wholly as it should be, although it serves.
    pub impairments: Vec<Note>,
    /// The step that took too long.
    pub expired: Option<Note>,
    /// Something that is worth telling, although all is well.
    pub remark: Option<Note>,
}

/// What follows from the facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Where they lead.
    pub goal: Goal,
    /// It serves, where the state leaves that open.
    pub serves: bool,
    /// Why.
    pub note: Note,
}

/// Judges the facts.
#[must_use]
pub fn judge(facts: &Facts) -> Verdict {
    // What was ready elsewhere is found set up, whatever keeps it from being changed, be that for good or for now.
    let is_kept_from_change = match &facts.eks {
        Eks::AwaitsPerson(_) | Eks::Broken(_) => true,
        Eks::Building(note) => note.reason == Reason::Retrying,
        Eks::Up | Eks::Unwell(_) => false,
    };
    let is_found = is_kept_from_change && facts.setup == Setup::Done;
    let serves = (facts.was_initialized || is_found) && !matches!(facts.answer, Answer::Dead(_));
    let verdict = |goal, note: &Note| Verdict {
        goal,
        serves,
        note: note.clone(),
    };
    // What serves is degraded by what would make anything else fail.
    let failed = |stage, note: &Note| {
        let goal = if serves {
            Goal::Degraded
        } else {
            Goal::Failed(stage)
        };
        verdict(goal, note)
    };
    // Whoever comes to see to something has to know of everything that needs seeing to.
    let with_others = |note: &Note| {
        let others = facts.impairments.iter().map(|other| other.message.as_str());
        let all: Vec<&str> = [note.message.as_str()].into_iter().chain(others).collect();
        Note::new(note.reason, all.join("; "))
    };
    if let (Err(waiting), false) = (&facts.infrastructure, facts.was_initialized) {
        return match &facts.expired {
            Some(note) => verdict(Goal::Failed(Stage::Infrastructure), note),
            None => verdict(Goal::Pending, waiting),
        };
    }
    if let (Answer::Dead(message), true) = (&facts.answer, facts.was_initialized) {
        let note = Note::new(Reason::EndpointNotReady, message);
        return verdict(Goal::Failed(Stage::Service), &note);
    }
    match &facts.recovery {
        Recovery::None => {}
        Recovery::Running(message) => {
            return verdict(Goal::Recovering, &Note::new(Reason::Recovering, message));
        }
        Recovery::Exhausted(message) => {
            return failed(
                Stage::Provisioning,
                &Note::new(Reason::RecoveryExhausted, message),
            );
        }
    }
    match &facts.problem {
        Some(problem) if problem.is_passing && !serves => return verdict(Goal::Validating, &problem.note),
        Some(problem) => return failed(Stage::Validation, &problem.note),
        None => {}
    }
    match &facts.eks {
        Eks::Up => {}
        Eks::Broken(note) => return failed(Stage::Provisioning, note),
        Eks::AwaitsPerson(note) => {
            let goal = if serves {
                Goal::Degraded
            } else {
                Goal::Provisioning
            };
            return verdict(goal, &with_others(note));
        }
        Eks::Building(note) | Eks::Unwell(note) => {
            return match &facts.expired {
                Some(expired) => failed(Stage::Provisioning, expired),
                None if serves && !matches!(facts.eks, Eks::Building(_)) => verdict(Goal::Degraded, note),
                None if serves => verdict(Goal::Provisioning, &with_others(note)),
                None => verdict(Goal::Provisioning, note),
            };
        }
    }
    match &facts.setup {
        Setup::Done => {}
        Setup::Broken(note) => return failed(Stage::Configuration, note),
        Setup::Outstanding(note) => {
            return match &facts.expired {
                Some(expired) => failed(Stage::Configuration, expired),
                // What serves was set up, and lacks what tells about it.
                None if serves && note.reason == Reason::SecretError => verdict(Goal::Degraded, note),
                None => verdict(Goal::Configuring, note),
            };
        }
    }
    // From here on it serves, be it for the first time.
    let serving = |goal, note: Note| Verdict {
        goal,
        serves: true,
        note,
    };
    if let Some(first) = facts.impairments.first() {
        let messages: Vec<&str> = facts
            .impairments
            .iter()
            .map(|note| note.message.as_str())
            .collect();
        return serving(Goal::Degraded, Note::new(first.reason, messages.join("; ")));
    }
    match &facts.profiles {
        Profiles::Done => {}
        Profiles::Outstanding(note) => return serving(Goal::Configuring, note.clone()),
        Profiles::Failed(message) => {
            return serving(Goal::Degraded, Note::new(Reason::FargateProfileFailed, message));
        }
    }
    let well = || Note::new(Reason::Ready, "The control plane serves");
    serving(Goal::Ready, facts.remark.clone().unwrap_or_else(well))
}

#[cfg(test)]
mod tests {
    use capt_api::captcontrolplane::ControlPlaneState as State;

    use super::{super::machine, *};

    fn note(word: &str) -> Note {
        Note::new(Reason::NotReady, word)
    }

    /// A control plane of which all is well.
    fn well() -> Facts {
        Facts {
            was_initialized: true,
            infrastructure: Ok(()),
            problem: None,
            eks: Eks::Up,
            setup: Setup::Done,
            answer: Answer::Yes,
            profiles: Profiles::Done,
            recovery: Recovery::None,
            impairments: Vec::new(),
            expired: None,
            remark: None,
        }
    }

    #[test]
    fn what_waits_for_a_person_tells_what_else_needs_one() {
        let facts = Facts {
            eks: Eks::AwaitsPerson(Note::new(Reason::WaitingForApproval, "approve it")),
            impairments: vec![Note::new(Reason::VersionTooLow, "write 1.32 again")],
            ..well()
        };
        let Verdict { goal, note, .. } = judge(&facts);
        assert_eq!(goal, Goal::Degraded);
        assert_eq!(note.reason, Reason::WaitingForApproval);
        assert_eq!(note.message, "approve it; write 1.32 again");
    }

    #[test]
    fn every_fact_leads_where_the_design_says_serving_or_not() {
        use Goal::{Configuring, Degraded, Failed, Pending, Provisioning, Ready, Recovering, Validating};
        type Edit = fn(&mut Facts);
        let cases: Vec<(&str, Edit, Goal, Goal)> = vec![
            ("all is well", |_| {}, Ready, Ready),
            (
                "no infrastructure",
                |facts| facts.infrastructure = Err(note("vpc")),
                Ready,
                Pending,
            ),
            (
                "no infrastructure for too long",
                |facts| {
                    facts.infrastructure = Err(note("vpc"));
                    facts.expired = Some(note("time"));
                },
                Ready,
                Failed(Stage::Infrastructure),
            ),
            (
                "a template that is not there yet",
                |facts| {
                    facts.problem = Some(Problem {
                        note: note("template"),
                        is_passing: true,
                    });
                },
                Degraded,
                Validating,
            ),
            (
                "a contradiction",
                |facts| {
                    facts.problem = Some(Problem {
                        note: note("region"),
                        is_passing: false,
                    });
                },
                Degraded,
                Failed(Stage::Validation),
            ),
            (
                "it is being made",
                |facts| facts.eks = Eks::Building(note("eks")),
                Provisioning,
                Provisioning,
            ),
            (
                "it is being made for too long",
                |facts| {
                    facts.eks = Eks::Building(note("eks"));
                    facts.expired = Some(note("time"));
                },
                Degraded,
                Failed(Stage::Provisioning),
            ),
            (
                "it is tried again for what is set up",
                |facts| facts.eks = Eks::Building(Note::new(Reason::Retrying, "eks")),
                Provisioning,
                Provisioning,
            ),
            (
                "it is tried again for too long for what is set up",
                |facts| {
                    facts.eks = Eks::Building(Note::new(Reason::Retrying, "eks"));
                    facts.expired = Some(note("time"));
                },
                Degraded,
                Degraded,
            ),
            (
                "Terraform failed",
                |facts| {
                    facts.eks = Eks::Broken(note("eks"));
                    facts.setup = Setup::Outstanding(note("eks"));
                },
                Degraded,
                Failed(Stage::Provisioning),
            ),
            (
                "Terraform failed for what is set up",
                |facts| facts.eks = Eks::Broken(note("eks")),
                Degraded,
                Degraded,
            ),
            (
                "an approval",
                |facts| {
                    facts.eks = Eks::AwaitsPerson(note("eks"));
                    facts.setup = Setup::Outstanding(note("eks"));
                },
                Degraded,
                Provisioning,
            ),
            (
                "an approval for what is set up",
                |facts| facts.eks = Eks::AwaitsPerson(note("eks")),
                Degraded,
                Degraded,
            ),
            (
                "an approval for too long",
                |facts| {
                    facts.eks = Eks::AwaitsPerson(note("eks"));
                    facts.setup = Setup::Outstanding(note("eks"));
                    facts.expired = Some(note("time"));
                },
                Degraded,
                Provisioning,
            ),
            (
                "it is not well",
                |facts| facts.eks = Eks::Unwell(note("eks")),
                Degraded,
                Provisioning,
            ),
            (
                "no kubeconfig yet",
                |facts| facts.setup = Setup::Outstanding(note("token")),
                Configuring,
                Configuring,
            ),
            (
                "the Secret with the outputs is lost",
                |facts| facts.setup = Setup::Outstanding(Note::new(Reason::SecretError, "secret")),
                Degraded,
                Configuring,
            ),
            (
                "no kubeconfig for too long",
                |facts| {
                    facts.setup = Setup::Outstanding(note("token"));
                    facts.expired = Some(note("time"));
                },
                Degraded,
                Failed(Stage::Configuration),
            ),
            (
                "an output of the wrong type",
                |facts| facts.setup = Setup::Broken(note("output")),
                Degraded,
                Failed(Stage::Configuration),
            ),
            (
                "an impairment",
                |facts| facts.impairments.push(note("version")),
                Degraded,
                Degraded,
            ),
            (
                "profiles are being made",
                |facts| facts.profiles = Profiles::Outstanding(note("one")),
                Configuring,
                Configuring,
            ),
            (
                "a profile failed",
                |facts| facts.profiles = Profiles::Failed("one".to_owned()),
                Degraded,
                Degraded,
            ),
            (
                "it does not answer any more",
                |facts| facts.answer = Answer::Dead("no".to_owned()),
                Failed(Stage::Service),
                Ready,
            ),
            (
                "a repair",
                |facts| facts.recovery = Recovery::Running("x".to_owned()),
                Recovering,
                Recovering,
            ),
            (
                "no more repairs",
                |facts| facts.recovery = Recovery::Exhausted("x".to_owned()),
                Degraded,
                Failed(Stage::Provisioning),
            ),
        ];
        for (name, edit, serving, new) in cases {
            let mut facts = well();
            edit(&mut facts);
            assert_eq!(judge(&facts).goal, serving, "{name}, serving");
            facts.was_initialized = false;
            assert_eq!(judge(&facts).goal, new, "{name}, new");
        }
    }

    #[test]
    fn nothing_that_serves_fails_unless_it_stops_answering() {
        for facts in all() {
            let verdict = judge(&facts);
            let is_dead = matches!(facts.answer, Answer::Dead(_));
            if facts.was_initialized && !is_dead {
                assert!(!matches!(verdict.goal, Goal::Failed(_)), "{facts:?}");
                assert!(verdict.serves, "{facts:?}");
            }
            if !verdict.serves {
                assert!(!matches!(verdict.goal, Goal::Ready | Goal::Degraded), "{facts:?}");
            }
        }
    }

    #[test]
    fn where_it_ends_does_not_depend_on_where_it_began() {
        let states = [
            State::Pending,
            State::Validating,
            State::Provisioning,
            State::Configuring,
            State::Ready,
            State::Degraded,
            State::Failed,
            State::Recovering,
        ];
        for facts in all() {
            let goal = judge(&facts).goal;
            for from in states {
                let last = machine::walk(from, goal).last().map_or(from, |line| line.to);
                assert_eq!(last, goal.state(), "{from:?}: {facts:?}");
            }
        }
    }

    /// Every combination of facts.
    fn all() -> Vec<Facts> {
        let mut all = Vec::new();
        let problem = |is_passing| {
            Some(Problem {
                note: note("problem"),
                is_passing,
            })
        };
        for was_initialized in [false, true] {
            for infrastructure in [Ok(()), Err(note("vpc"))] {
                for problem in [None, problem(true), problem(false)] {
                    for eks in [
                        Eks::Up,
                        Eks::Building(note("e")),
                        Eks::AwaitsPerson(note("e")),
                        Eks::Unwell(note("e")),
                        Eks::Broken(note("e")),
                    ] {
                        for setup in [
                            Setup::Done,
                            Setup::Outstanding(note("s")),
                            Setup::Broken(note("s")),
                        ] {
                            for answer in [Answer::Yes, Answer::Unknown, Answer::Dead("d".to_owned())] {
                                for bits in 0..8 {
                                    all.push(Facts {
                                        was_initialized,
                                        infrastructure: infrastructure.clone(),
                                        problem: problem.clone(),
                                        eks: eks.clone(),
                                        setup: setup.clone(),
                                        answer: answer.clone(),
                                        profiles: if bits & 1 == 0 {
                                            Profiles::Done
                                        } else {
                                            Profiles::Outstanding(note("p"))
                                        },
                                        recovery: Recovery::None,
                                        impairments: if bits & 2 == 0 { vec![] } else { vec![note("i")] },
                                        expired: (bits & 4 != 0).then(|| note("t")),
                                        remark: None,
                                    });
                                }
                            }
                        }
                    }
                }
            }
        }
        all
    }
}
