//! The layout that Terraform's kubernetes backend gives its Secrets.
//!
//! We keep to it exactly, so that plain `terraform`, provider-terraform and we can take turns on the same state. The
//! backend lists Secrets by four labels and finds the order of parts by the number at the end of their names, which is
//! why a suffix that ends like that is refused.

use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write as _},
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};

/// Bytes of compressed state in one Secret.
pub const CHUNK_SIZE: usize = 1 << 20;
/// The key of a Secret that holds state.
pub const KEY: &str = "tfstate";
/// Annotation that says how: the name and the value.
pub const ENCODING: (&str, &str) = ("encoding", "gzip");
/// Label that every Secret and Lease of the backend has: the name and the value.
pub const LABEL_STATE: (&str, &str) = ("tfstate", "true");
/// Label that tells other tools whose it is: the name and the value.
pub const LABEL_MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "terraform");
/// Label with the suffix.
pub const LABEL_SUFFIX: &str = "tfstateSecretSuffix";
/// Label with the workspace.
pub const LABEL_WORKSPACE: &str = "tfstateWorkspace";

/// No state is larger; a crafted Secret could unpack to more.
const MAX_STATE: u64 = 1 << 30;

/// Why a state cannot be kept under these names.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// The name of the Secret would not be legal.
    #[error("{0:?} is not a legal name of a Secret")]
    Name(String),
    /// A label would not be legal.
    #[error("{0:?} is not a legal value of a label")]
    Label(String),
    /// Parts could not be told from whole states.
    #[error("the suffix {0:?} ends with a number, which is kept for the parts of large states")]
    NumericSuffix(String),
}

/// Where the state of one workspace is kept within a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    workspace: String,
    suffix: String,
}

impl Location {
    /// The place of this workspace under this suffix.
    ///
    /// # Errors
    /// If the backend would refuse the names, or would not find the state again.
    pub fn new(workspace: &str, suffix: &str) -> Result<Self, LocationError> {
        let ends_with_number = |text: &str| {
            text.rsplit('-')
                .next()
                .is_some_and(|last| !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()))
        };
        if ends_with_number(suffix) {
            return Err(LocationError::NumericSuffix(suffix.to_owned()));
        }
        for label in [workspace, suffix] {
            if !is_label_value(label) {
                return Err(LocationError::Label(label.to_owned()));
            }
        }
        let location = Self {
            workspace: workspace.to_owned(),
            suffix: suffix.to_owned(),
        };
        // Room for the longest names that are derived from it.
        let longest = location.lease_name().len().max(location.staged_name(999).len());
        if !is_subdomain(&location.secret_name(0)) || longest > 253 {
            return Err(LocationError::Name(location.secret_name(0)));
        }
        Ok(location)
    }

    /// The Terraform workspace.
    #[must_use]
    pub fn workspace(&self) -> &str {
        &self.workspace
    }

    /// The suffix of the backend's configuration.
    #[must_use]
    pub fn suffix(&self) -> &str {
        &self.suffix
    }

    /// Name of the Secret with this part of the state, counted from 0.
    #[must_use]
    pub fn secret_name(&self, part: usize) -> String {
        let whole = format!("{KEY}-{}-{}", self.workspace, self.suffix);
        if part == 0 {
            whole
        } else {
            format!("{whole}-part-{part}")
        }
    }

    /// Name of the Secret with this part of the copy that stands in while the others are rewritten. It has no label of
    /// the backend, which would count it in.
    #[must_use]
    pub fn staged_name(&self, part: usize) -> String {
        format!("staged-{}", self.secret_name(part))
    }

    /// Name of the Secret with the provider versions that were chosen for it. It has no label of the backend either.
    #[must_use]
    pub fn provider_lock_name(&self) -> String {
        format!("providers-{}", self.secret_name(0))
    }

    /// Name of the Lease that is the lock.
    #[must_use]
    pub fn lease_name(&self) -> String {
        format!("lock-{}", self.secret_name(0))
    }

    /// Labels of the Secrets and the Lease; what the backend lists by.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        [
            LABEL_STATE,
            LABEL_MANAGED_BY,
            (LABEL_SUFFIX, &self.suffix),
            (LABEL_WORKSPACE, &self.workspace),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
    }
}

/// A Secret that holds one part of a state, without what does not matter here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSecret {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// What stands under [`KEY`], as bytes and not as base64.
    pub data: Vec<u8>,
}

/// The Secrets that hold this state file, in the order of the parts.
#[must_use]
pub fn pack(location: &Location, file: &[u8]) -> Vec<StateSecret> {
    pack_by(CHUNK_SIZE, location, file)
}

/// The same with parts of another size, so that tests need no megabytes.
pub(super) fn pack_by(chunk: usize, location: &Location, file: &[u8]) -> Vec<StateSecret> {
    let packed = compressed(file);
    let parts = packed.chunks(chunk).enumerate();
    parts
        .map(|(part, data)| StateSecret {
            name: location.secret_name(part),
            labels: location.labels(),
            annotations: [(ENCODING.0.to_owned(), ENCODING.1.to_owned())].into(),
            data: data.to_vec(),
        })
        .collect()
}

/// Why Secrets do not hold a state.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// A part is missing.
    #[error("part {0} of the state is missing")]
    Missing(usize),
    /// The parts do not fit together, as after a write of several that was cut short.
    #[error("the parts of the state do not belong together")]
    Damaged(#[source] io::Error),
    /// It is far too large.
    #[error("the state unpacks to more than a GiB")]
    TooLarge,
}

/// The state file in these Secrets, given in any order. `None` if there are none, or the first is still empty, which is
/// how the backend begins.
///
/// # Errors
/// If a part is missing, or they do not belong together.
pub fn unpack<'a>(
    secrets: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Result<Option<Vec<u8>>, UnpackError> {
    let mut parts: Vec<(usize, &[u8])> = secrets
        .into_iter()
        .map(|(name, data)| (part_index(name), data))
        .collect();
    parts.sort_by_key(|(part, _)| *part);
    if parts.iter().all(|(_, data)| data.is_empty()) {
        return Ok(None);
    }
    if let Some((expected, _)) = parts.iter().enumerate().find(|(at, (part, _))| at != part) {
        return Err(UnpackError::Missing(expected));
    }
    let packed: Vec<u8> = parts.iter().flat_map(|(_, data)| data.iter().copied()).collect();
    let mut file = Vec::new();
    let mut unpacking = GzDecoder::new(packed.as_slice()).take(MAX_STATE + 1);
    unpacking.read_to_end(&mut file).map_err(UnpackError::Damaged)?;
    if file.len() as u64 > MAX_STATE {
        return Err(UnpackError::TooLarge);
    }
    Ok(Some(file))
}

/// Which part a Secret of this name holds, by the backend's rule.
#[must_use]
pub fn part_index(name: &str) -> usize {
    name.rsplit('-')
        .next()
        .and_then(|last| last.parse().ok())
        .unwrap_or(0)
}

fn compressed(file: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let _ = gzip.write_all(file);
    gzip.finish().unwrap_or_default()
}

fn is_subdomain(name: &str) -> bool {
    name.split('.').all(|label| {
        let inner = label
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        !label.is_empty() && inner && !label.starts_with('-') && !label.ends_with('-')
    })
}

fn is_label_value(value: &str) -> bool {
    let inner = value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    value.len() <= 63 && inner && ends(value.bytes().next()) && ends(value.bytes().last())
}
