//! A certificate authority of our own, and what it has issued.
//!
//! Everything lives in one private directory: `ca.pem`, `server.pem`, `admin.pem` (certificate and key
//! in one file each, so that no crash can part them) and `token`.
//! Made on the first start, reused afterwards, and renewed before it expires or when the server is to be
//! reached by a name that its certificate does not carry.

mod credential;
mod issue;
#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use uuid::Uuid;

pub use self::credential::Credential;
pub(super) use self::credential::Facts;
use self::issue::Authority;
use super::private_file;

/// What is renewed at a start is whatever would not last this much longer.
const RENEW_BEFORE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Names under which every client expects to reach a Kubernetes API server.
const STANDARD_NAMES: [&str; 6] = [
    "127.0.0.1",
    "::1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
];

/// What certificates are needed.
#[derive(Clone, Debug)]
pub struct PkiRequest {
    /// Host names and addresses under which the server is reached, beside the usual ones for loopback.
    pub server_names: Vec<String>,
    /// The user that the administrator's certificate names.
    pub admin_user: String,
    /// The group that the administrator's certificate names.
    pub admin_group: String,
    /// The time.
    pub now: SystemTime,
}

/// The authority's certificate, what it has issued, and the bearer token.
///
/// The authority's key is not here: it is read when something must be issued, and dropped.
#[derive(Clone, Debug)]
pub struct Pki {
    /// The certificate that clients and the server trust, in PEM.
    pub ca_certificate: String,
    /// What the server shows.
    pub server: Credential,
    /// What the administrator shows.
    pub admin: Credential,
    /// What a client may show instead of a certificate.
    pub token: Token,
}

/// A secret that stands for the administrator; never printed by accident.
#[derive(Clone)]
pub struct Token(String);

/// Why there are no certificates.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A file or the directory cannot be read or written.
    #[error("cannot access {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file holds something else than we wrote.
    #[error("{} is damaged ({problem}); remove it to have a new one made", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A certificate cannot be made.
    #[error("cannot issue the certificate for {subject}")]
    Issue {
        /// For whom.
        subject: String,
        /// What the library said.
        source: rcgen::Error,
    },
}

impl Pki {
    /// Loads what `dir` holds and makes what is missing, expiring, or does not fit the request.
    pub fn load_or_create(dir: &Path, request: &PkiRequest) -> Result<Self, PkiError> {
        private_file::make_private_dir(dir).map_err(io_error(dir))?;
        let renew_at = request.now + RENEW_BEFORE;

        let ca_path = dir.join("ca.pem");
        let authority = match load(&ca_path)? {
            Some((credential, facts)) if facts.expires > renew_at => {
                Authority::from_credential(&credential).map_err(|problem| damaged(&ca_path, problem))?
            }
            _ => {
                let authority = Authority::create(request.now)?;
                save(&ca_path, authority.credential())?;
                authority
            }
        };
        let issuer = authority
            .facts()
            .map_err(|problem| damaged(&ca_path, problem))?
            .subject;
        let current = |facts: &Facts| facts.expires > renew_at && facts.issuer == issuer;

        let mut names: Vec<String> = STANDARD_NAMES.map(str::to_owned).to_vec();
        names.extend(
            request
                .server_names
                .iter()
                .filter(|name| !STANDARD_NAMES.contains(&name.as_str()))
                .cloned(),
        );
        let server_path = dir.join("server.pem");
        let server = match load(&server_path)? {
            Some((credential, facts)) if current(&facts) && facts.covers(&names) => credential,
            _ => save(&server_path, &authority.issue_server(names, request.now)?)?,
        };

        let admin_path = dir.join("admin.pem");
        let admin = match load(&admin_path)? {
            Some((credential, facts))
                if current(&facts)
                    && facts.user.as_deref() == Some(&request.admin_user)
                    && facts.groups.contains(&request.admin_group) =>
            {
                credential
            }
            _ => {
                let issued =
                    authority.issue_client(&request.admin_user, &request.admin_group, request.now)?;
                save(&admin_path, &issued)?
            }
        };

        Ok(Self {
            ca_certificate: authority.credential().certificate().to_owned(),
            server,
            admin,
            token: Token::load_or_create(&dir.join("token"))?,
        })
    }
}

impl Token {
    /// Shorter ones are guessable, so not ours.
    const LENGTH: usize = 64;

    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn load_or_create(path: &Path) -> Result<Self, PkiError> {
        if let Some(text) = private_file::read(path).map_err(io_error(path))? {
            let text = text.trim();
            if text.len() != Self::LENGTH || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(damaged(path, "not a token".to_owned()));
            }
            return Ok(Self(text.to_owned()));
        }
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        private_file::write(path, token.as_bytes()).map_err(io_error(path))?;
        Ok(Self(token))
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

fn load(path: &Path) -> Result<Option<(Credential, Facts)>, PkiError> {
    let Some(text) = private_file::read(path).map_err(io_error(path))? else {
        return Ok(None);
    };
    let credential = Credential::parse(&text).map_err(|problem| damaged(path, problem))?;
    let facts = credential.facts().map_err(|problem| damaged(path, problem))?;
    Ok(Some((credential, facts)))
}

fn save(path: &Path, credential: &Credential) -> Result<Credential, PkiError> {
    private_file::write(path, credential.to_pem().as_bytes()).map_err(io_error(path))?;
    Ok(credential.clone())
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> PkiError {
    let path = path.to_owned();
    |source| PkiError::Io { path, source }
}

fn damaged(path: &Path, problem: String) -> PkiError {
    PkiError::Damaged {
        path: path.to_owned(),
        problem,
    }
}

#[cfg(test)]
impl Token {
    pub(super) fn for_test(secret: &str) -> Self {
        Self(secret.to_owned())
    }
}
