//! Credentials for AWS, and the texts that they are written in.

use std::collections::BTreeMap;

use capt_core::controlplane::snapshot::Hidden;
use k8s_openapi::jiff::Timestamp;

/// Credentials for AWS. Their secret parts are never printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Id of the key.
    pub key_id: String,
    /// The key.
    pub secret_key: Hidden,
    /// What goes with a key that is valid for a while.
    pub session_token: Option<Hidden>,
    /// Until when they are valid, if they end.
    pub expires_at: Option<Timestamp>,
}

impl Credentials {
    /// Credentials that do not end, as far as we know.
    #[must_use]
    pub fn fixed(key_id: &str, secret_key: &str, session_token: Option<&str>) -> Self {
        Self {
            key_id: key_id.trim().to_owned(),
            secret_key: Hidden::new(secret_key.trim()),
            session_token: session_token
                .map(str::trim)
                .filter(|token| !token.is_empty())
                .map(Hidden::new),
            expires_at: None,
        }
    }

    /// Reads them from named values, whatever the letters of the names.
    pub(super) fn named(value: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let value = |name| value(name).filter(|value| !value.trim().is_empty());
        Some(Self::fixed(
            &value("aws_access_key_id")?,
            &value("aws_secret_access_key")?,
            value("aws_session_token").as_deref(),
        ))
    }
}

/// Settings by profile: what AWS's own files have, and what lines like `AWS_ACCESS_KEY_ID=…` say.
#[derive(Clone, Default)]
pub(super) struct Profiles(BTreeMap<String, BTreeMap<String, String>>);

impl Profiles {
    /// Reads a text. What cannot be understood is left out.
    pub(super) fn read(text: &str) -> Self {
        let mut profiles = Self::default();
        let mut profile = "default".to_owned();
        for line in text.lines() {
            let line = line.trim();
            if line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                // AWS's file of settings writes `[profile blue]`.
                let name = name.trim();
                name.strip_prefix("profile ")
                    .unwrap_or(name)
                    .trim()
                    .clone_into(&mut profile);
                continue;
            }
            let line = line.strip_prefix("export ").unwrap_or(line);
            if let Some((name, value)) = line.split_once('=') {
                let value = value.trim();
                let value = ['"', '\'']
                    .into_iter()
                    .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
                    .unwrap_or(value);
                let values = profiles.0.entry(profile.clone()).or_default();
                values.insert(name.trim().to_ascii_lowercase(), value.to_owned());
            }
        }
        profiles
    }

    /// Adds what other profiles say and these do not.
    pub(super) fn or(mut self, other: Self) -> Self {
        for (profile, values) in other.0 {
            let known = self.0.entry(profile).or_default();
            for (name, value) in values {
                known.entry(name).or_insert(value);
            }
        }
        self
    }

    /// A setting of a profile.
    pub(super) fn get(&self, profile: &str, name: &str) -> Option<&str> {
        self.0.get(profile)?.get(name).map(String::as_str)
    }

    /// The credentials of a profile.
    pub(super) fn credentials(&self, profile: &str) -> Option<Credentials> {
        Credentials::named(|name| self.get(profile, name).map(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read_from_either_form() {
        let expected = Credentials::fixed("AKIA1", "s3cr/et=", Some("t0ken"));
        for text in [
            "[default]\naws_access_key_id = AKIA1\naws_secret_access_key=s3cr/et=\naws_session_token = t0ken\n",
            "; a comment\n[other]\naws_access_key_id=x\n[ default ]\n aws_access_key_id=AKIA1\r\naws_secret_access_key = \
             s3cr/et=\naws_session_token=t0ken",
            "AWS_ACCESS_KEY_ID=AKIA1\nAWS_SECRET_ACCESS_KEY=\"s3cr/et=\"\nAWS_SESSION_TOKEN='t0ken'\n",
            "export AWS_ACCESS_KEY_ID=AKIA1\nexport AWS_SECRET_ACCESS_KEY=s3cr/et=\n# x\nexport AWS_SESSION_TOKEN=t0ken",
            "[profile default]\naws_access_key_id=AKIA1\naws_secret_access_key=s3cr/et=\naws_session_token=t0ken",
        ] {
            assert_eq!(
                Profiles::read(text).credentials("default"),
                Some(expected.clone()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_has_no_credentials_gives_none() {
        for text in [
            "",
            "hello",
            "[default]\nregion = eu-central-1",
            "aws_access_key_id = AKIA1",
            "aws_access_key_id = AKIA1\naws_secret_access_key = ",
            "[other]\naws_access_key_id = AKIA1\naws_secret_access_key = x",
        ] {
            assert_eq!(Profiles::read(text).credentials("default"), None, "{text}");
        }
    }

    #[test]
    fn nothing_secret_is_printed() {
        let printed = format!("{:?}", Credentials::fixed("AKIA1", "s3cret", Some("t0ken")));
        assert!(
            !printed.contains("s3cret") && !printed.contains("t0ken"),
            "{printed}"
        );
    }
}
