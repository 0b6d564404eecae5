//! What is told to whoever asked for another try: the same for every kind.

use serde::{Serialize, Serializer};

use super::held::{Held, Holdup};
use crate::target::Placed;

/// What becomes of another try that is asked for.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    /// What was named.
    #[serde(serialize_with = "without_place")]
    pub(super) object: Placed,
    /// What carries the wish.
    pub(super) asked: Vec<String>,
    pub(super) token: String,
    /// Nothing is tried of some of it before a pause ends. Left out, if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) paused: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) pauses: Vec<Held>,
    /// What could not be read, so that there may be more pauses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_read: Vec<String>,
    /// Others go first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) waits_for_turn: bool,
    /// What is well and only looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) looks: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_reached: Vec<String>,
    /// The last two in words.
    #[serde(skip)]
    pub(super) aside: String,
}

impl Answer {
    /// What is tried as soon as somebody sees the wish, unless one of these pauses is in the way.
    pub(super) fn new(object: Placed, asked: Vec<String>, token: String, holdup: Holdup) -> Self {
        Self {
            object,
            asked,
            token,
            paused: holdup.paused,
            pauses: holdup.pauses,
            not_read: holdup.unread,
            waits_for_turn: false,
            looks: Vec::new(),
            not_reached: Vec::new(),
            aside: String::new(),
        }
    }

    /// For people.
    pub(super) fn words(&self) -> String {
        let Self { object, asked, .. } = self;
        let mut words = format!(
            "Another try of {} is asked for.{}",
            asked.join(" and "),
            self.aside
        );
        let is_held = |one: &String| self.pauses.iter().any(|held| held.objects.contains(one));
        words.push_str(&if self.paused == Some(true) && self.pauses.is_empty() {
            format!(" It is paused, and nothing is tried before that ends; see: capt describe {object}")
        } else if asked.iter().all(is_held) {
            String::new()
        } else if self.waits_for_turn {
            format!(" It waits for its turn, and is tried then; see: capt describe {object}")
        } else {
            format!(" Watch it: capt tree {object} -w")
        });
        words.push('\n');
        for held in &self.pauses {
            words.push_str(&format!(
                "Nothing of {} is tried while {}; the wish is kept until then. To {}\n",
                held.objects.join(" and "),
                held.because,
                held.way_on
            ));
        }
        if !self.not_read.is_empty() {
            let unknown = match self.pauses.is_empty() {
                true => "Whether a pause holds it up",
                false => "Whether anything else holds it up, and what the end of a pause destroys,",
            };
            words.push_str(&format!(
                "{unknown} is not known, because these could not be read: {}.\n",
                self.not_read.join(", ")
            ));
        }
        words
    }
}

fn without_place<S: Serializer>(object: &Placed, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&object.target)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::target::Target;

    fn answer(object: &str, asked: &[&str]) -> Answer {
        answer_with(object, asked, Vec::new())
    }

    fn answer_with(object: &str, asked: &[&str], pauses: Vec<Held>) -> Answer {
        let object: Target = object.parse().unwrap();
        let asked = asked.iter().map(|one| (*one).to_owned()).collect();
        Answer::new(
            object.placed(Some("team".to_owned())),
            asked,
            "t".to_owned(),
            Holdup {
                paused: Some(!pauses.is_empty()),
                pauses,
                unread: Vec::new(),
            },
        )
    }

    fn held(objects: &[&str]) -> Held {
        Held {
            objects: objects.iter().map(|one| (*one).to_owned()).collect(),
            because: "cluster/blue has spec.paused: true".to_owned(),
            end: "kubectl patch cluster blue".to_owned(),
            destroys: Vec::new(),
            way_on: "go on: kubectl patch cluster blue".to_owned(),
        }
    }

    #[test]
    fn every_kind_is_answered_in_the_same_words() {
        for (object, asked) in [
            ("cluster/blue", &["captcluster/net", "captcontrolplane/plane"][..]),
            ("captcluster/net", &["captcluster/net"]),
            ("captcontrolplane/plane", &["captcontrolplane/plane"]),
            ("wtapply/plane-fargate-web", &["wtapply/plane-fargate-web"]),
            ("workspace/x", &["wtapply/x-apply"]),
            ("workspace/x", &["workspace/x"]),
        ] {
            let answer = answer(object, asked);
            assert_eq!(
                answer.words(),
                format!(
                    "Another try of {} is asked for. Watch it: capt tree {object} -n team -w\n",
                    asked.join(" and ")
                )
            );
            let data = serde_json::to_value(&answer).unwrap();
            assert_eq!(
                data,
                json!({"object": object, "asked": asked, "token": "t", "paused": false})
            );
        }
    }

    #[test]
    fn whoever_asks_for_another_try_is_told_when_it_comes() {
        let one = |pauses| answer_with("wtapply/x", &["wtapply/x"], pauses);
        let two = |pauses| {
            answer_with(
                "cluster/blue",
                &["captcluster/net", "captcontrolplane/plane"],
                pauses,
            )
        };
        let asked = "Another try of wtapply/x is asked for.";
        let both = "Another try of captcluster/net and captcontrolplane/plane is asked for.";
        let until = "is tried while cluster/blue has spec.paused: true; the wish is kept until then. To go on: kubectl patch \
                     cluster blue\n";
        for (answer, expected) in [
            (
                Answer {
                    paused: Some(true),
                    ..one(vec![])
                },
                format!(
                    "{asked} It is paused, and nothing is tried before that ends; see: capt describe wtapply/x -n team\n"
                ),
            ),
            (
                Answer {
                    waits_for_turn: true,
                    ..one(vec![])
                },
                format!(
                    "{asked} It waits for its turn, and is tried then; see: capt describe wtapply/x -n team\n"
                ),
            ),
            (
                one(vec![held(&["wtapply/x"])]),
                format!("{asked}\nNothing of wtapply/x {until}"),
            ),
            (
                two(vec![held(&["captcluster/net"])]),
                format!(
                    "{both} Watch it: capt tree cluster/blue -n team -w\nNothing of captcluster/net {until}"
                ),
            ),
            (
                Answer {
                    paused: None,
                    not_read: vec!["cluster/blue".to_owned()],
                    ..one(vec![])
                },
                format!(
                    "{asked} Watch it: capt tree wtapply/x -n team -w\nWhether a pause holds it up is not known, because these could \
                     not be read: cluster/blue.\n"
                ),
            ),
            (
                Answer {
                    not_read: vec!["captcluster/net".to_owned()],
                    ..one(vec![held(&["wtapply/x"])])
                },
                format!(
                    "{asked}\nNothing of wtapply/x {until}Whether anything else holds it up, and what the end of a pause destroys, is \
                     not known, because these could not be read: captcluster/net.\n"
                ),
            ),
            (
                two(vec![held(&["captcluster/net", "captcontrolplane/plane"])]),
                format!("{both}\nNothing of captcluster/net and captcontrolplane/plane {until}"),
            ),
        ] {
            assert_eq!(answer.words(), expected);
        }
    }
}
