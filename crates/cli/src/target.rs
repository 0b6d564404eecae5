//! What a command is about, as a person writes it: `KIND/NAME`.

use std::{fmt, str::FromStr};

use capt_core::render::WorkspaceGroup;

/// One object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) name: String,
}

/// One object where it is, as the end of a command that works from whatever namespace somebody is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) target: Target,
    /// None, if it is in no namespace.
    pub(crate) namespace: Option<String>,
}

/// The kinds that commands are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A Cluster of Cluster API.
    Cluster,
    /// A CAPTCluster.
    CaptCluster,
    /// A CAPTControlPlane.
    ControlPlane,
    /// A WorkspaceTemplateApply.
    Apply,
    /// A Workspace, of this group if one is named.
    Workspace(Option<WorkspaceGroup>),
    /// A WorkspaceTemplate.
    Template,
}

/// Words for kinds. The first of each is what we write ourselves.
const WORDS: [(&str, Kind); 18] = [
    ("cluster", Kind::Cluster),
    ("clusters", Kind::Cluster),
    ("cl", Kind::Cluster),
    ("captcluster", Kind::CaptCluster),
    ("captclusters", Kind::CaptCluster),
    ("captc", Kind::CaptCluster),
    ("captcontrolplane", Kind::ControlPlane),
    ("captcontrolplanes", Kind::ControlPlane),
    ("captcp", Kind::ControlPlane),
    ("wtapply", Kind::Apply),
    ("wta", Kind::Apply),
    ("workspacetemplateapply", Kind::Apply),
    ("workspacetemplateapplies", Kind::Apply),
    ("workspace", Kind::Workspace(None)),
    ("workspaces", Kind::Workspace(None)),
    ("workspacetemplate", Kind::Template),
    ("workspacetemplates", Kind::Template),
    ("wt", Kind::Template),
];

/// Why something is no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetError {
    /// There is no slash, or nothing on one side of it.
    #[error("write KIND/NAME, such as {0}")]
    NotAPair(String),
    /// The kind could be several.
    #[error("{word} could be {candidates}; write one of them")]
    Ambiguous {
        /// What was written.
        word: String,
        /// What it could be.
        candidates: String,
    },
    /// The kind is none that we know.
    #[error(
        "{0} is no kind that capt knows; write cluster, captcluster, captcontrolplane, wtapply or workspace"
    )]
    Unknown(String),
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, name) = match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => (kind, name),
            _ => {
                let words: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
                let example = match words.as_slice() {
                    [word] if word.parse::<Kind>().is_ok() => format!("{word}/NAME"),
                    words => format!("wtapply/{}", words.last().unwrap_or(&"NAME")),
                };
                return Err(TargetError::NotAPair(example));
            }
        };
        Ok(Self {
            kind: kind.parse()?,
            name: name.to_owned(),
        })
    }
}

impl FromStr for Kind {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.to_lowercase();
        let (word, group) = text
            .split_once('.')
            .map_or((&*text, None), |(word, group)| (word, Some(group)));
        let known = WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, kind)| *kind);
        match (known, group) {
            (Some(kind), None) => Ok(kind),
            (
                Some(kind @ (Self::Apply | Self::Template | Self::CaptCluster)),
                Some("infrastructure.cluster.x-k8s.io"),
            )
            | (Some(kind @ Self::ControlPlane), Some("controlplane.cluster.x-k8s.io"))
            | (Some(kind @ Self::Cluster), Some("cluster.x-k8s.io")) => Ok(kind),
            (Some(Self::Workspace(_)), Some(group)) => {
                let group = [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped]
                    .into_iter()
                    .find(|known| known.name() == group);
                group
                    .map(|group| Self::Workspace(Some(group)))
                    .ok_or(TargetError::Unknown(text))
            }
            _ => Err(unknown(text)),
        }
    }
}

/// A word that begins several kinds is told with all of them.
fn unknown(text: String) -> TargetError {
    let kinds = [
        "cluster",
        "captcluster",
        "captcontrolplane",
        "workspace",
        "workspacetemplate",
        "workspacetemplateapply",
        "wtapply",
    ];
    let candidates: Vec<&str> = kinds
        .into_iter()
        .filter(|kind| kind.starts_with(text.as_str()))
        .collect();
    match candidates[..] {
        [] => TargetError::Unknown(text),
        _ => TargetError::Ambiguous {
            candidates: candidates.join(" or "),
            word: text,
        },
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("cluster"),
            Self::CaptCluster => f.write_str("captcluster"),
            Self::ControlPlane => f.write_str("captcontrolplane"),
            Self::Apply => f.write_str("wtapply"),
            Self::Workspace(None) => f.write_str("workspace"),
            Self::Workspace(Some(group)) => write!(f, "workspace.{}", group.name()),
            Self::Template => f.write_str("workspacetemplate"),
        }
    }
}

impl Target {
    /// The object in this namespace, or in none.
    pub(crate) fn placed(self, namespace: Option<String>) -> Placed {
        Placed {
            target: self,
            namespace: namespace.filter(|namespace| !namespace.is_empty()),
        }
    }
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} -n {namespace}", self.target),
            None => self.target.fmt(f),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_by_kind_and_name() {
        let namespaced = Kind::Workspace(Some(WorkspaceGroup::Namespaced));
        for (text, kind) in [
            ("cluster/x", Kind::Cluster),
            ("cl/x", Kind::Cluster),
            ("clusters.cluster.x-k8s.io/x", Kind::Cluster),
            ("CAPTCluster/x", Kind::CaptCluster),
            ("captc/x", Kind::CaptCluster),
            (
                "captcontrolplanes.controlplane.cluster.x-k8s.io/x",
                Kind::ControlPlane,
            ),
            ("captcp/x", Kind::ControlPlane),
            ("wtapply/x", Kind::Apply),
            ("wta/x", Kind::Apply),
            ("WorkspaceTemplateApply/x", Kind::Apply),
            (
                "workspacetemplateapplies.infrastructure.cluster.x-k8s.io/x",
                Kind::Apply,
            ),
            ("workspace/x", Kind::Workspace(None)),
            ("workspaces.tf.m.upbound.io/x", namespaced),
            (
                "workspace.tf.upbound.io/x",
                Kind::Workspace(Some(WorkspaceGroup::ClusterScoped)),
            ),
            ("workspacetemplate/x", Kind::Template),
        ] {
            let target: Target = text.parse().unwrap();
            assert_eq!((target.kind, target.name.as_str()), (kind, "x"), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_told_with_what_can() {
        for (text, expected) in [
            ("greeting", "wtapply/greeting"),
            ("wtapply/", "such as wtapply/NAME"),
            ("cluster", "such as cluster/NAME"),
            ("demo", "such as wtapply/demo"),
            ("/greeting", "wtapply/greeting"),
            ("a/b/c", "write KIND/NAME"),
            (
                "work/x",
                "workspace or workspacetemplate or workspacetemplateapply",
            ),
            ("capt/x", "captcluster or captcontrolplane"),
            ("captcluster.cluster.x-k8s.io/x", "no kind"),
            ("pod/x", "pod is no kind"),
            ("workspace.example.com/x", "no kind"),
        ] {
            let error = text.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "cluster/x",
            "captcluster/x",
            "captcontrolplane/x",
            "wtapply/x",
            "workspace/x",
            "workspace.tf.upbound.io/x",
            "workspacetemplate/x",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        let target: Target = "wtapply/x".parse().unwrap();
        let placed =
            |namespace: Option<&str>| target.clone().placed(namespace.map(str::to_owned)).to_string();
        assert_eq!(placed(Some("team")), "wtapply/x -n team");
        assert_eq!(placed(None), "wtapply/x");
    }
}
