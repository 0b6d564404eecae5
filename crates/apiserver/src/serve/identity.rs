//! Who is asking.

/// The identity behind a request, as Kubernetes names people and programs.
///
/// [`auth`](super::auth) puts it into the extensions of every request that it lets through.
/// A request without one comes from inside this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user's name, for example `system:admin`.
    pub user: String,
    /// The groups the user is in, for example `system:masters`.
    pub groups: Vec<String>,
}

/// The group of everybody who has proved who they are.
pub const AUTHENTICATED: &str = "system:authenticated";

impl Default for Identity {
    /// Whoever calls from inside this process is trusted with everything.
    fn default() -> Self {
        Self::authenticated("system:admin", ["system:masters".to_owned()])
    }
}

impl Identity {
    /// An identity that has been proved: [`AUTHENTICATED`] is added to its groups.
    pub fn authenticated(user: impl Into<String>, groups: impl IntoIterator<Item = String>) -> Self {
        let mut groups: Vec<String> = groups
            .into_iter()
            .filter(|group| group != AUTHENTICATED)
            .collect();
        groups.push(AUTHENTICATED.to_owned());
        Self {
            user: user.into(),
            groups,
        }
    }
}
