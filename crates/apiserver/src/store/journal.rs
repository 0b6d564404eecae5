//! Writes appended to a file before they reach the database.
//!
//! A commit of the database touches many pages; an append touches one or two, so a lone writer waits much less for it.
//! A batch is durable once it is appended. When enough has gathered it is moved into the database in one commit, and the
//! file starts anew; at start, whatever the file holds beyond the database is moved first.
//!
//! The file is a row of frames: length and checksum of the body (`u32` each, little-endian), then the body, which is the
//! batch's revision and its records. A frame that is cut off or does not match its checksum was never acknowledged, and
//! ends the row. Frames up to the database's own revision are in it already: a crash between moving and starting anew
//! leaves such.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::backend::{Backend, BackendError, Loaded, Record};
use super::object::{Draft, Object, ObjectKey, ResourceId};
use super::redb_backend::{RedbBackend, open_private};

/// What may gather before it is moved into the database: little enough to be moved within a few milliseconds.
const MOVE_AT: usize = 1 << 20;

/// A redb file with a journal beside it.
#[derive(Debug)]
pub struct Journal {
    database: RedbBackend,
    file: File,
    path: String,
    gathered: Vec<Record>,
    gathered_bytes: usize,
    revision: u64,
}

/// A batch as the file holds it.
struct Batch {
    revision: u64,
    records: Vec<Record>,
}

impl Journal {
    /// Opens the database at `path` and the journal beside it, or makes them.
    pub fn open(path: &Path) -> Result<Self, BackendError> {
        let database = RedbBackend::open(path)?;
        let beside = path.with_extension("journal");
        let shown = beside.display().to_string();
        let file = open_private(&beside).map_err(|source| failed("open", &shown, source))?;
        sync_folder(&beside).map_err(|source| failed("open", &shown, source))?;
        Ok(Self {
            database,
            file,
            path: shown,
            gathered: Vec::new(),
            gathered_bytes: 0,
            revision: 0,
        })
    }

    fn read(&mut self) -> Result<Vec<Batch>, BackendError> {
        let mut bytes = Vec::new();
        let read = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.read_to_end(&mut bytes));
        read.map_err(|source| failed("read", &self.path, source))?;
        let mut rest = bytes.as_slice();
        let mut batches = Vec::new();
        while let Some(body) = next_frame(&mut rest) {
            batches.push(decode(body, &self.path)?);
        }
        if !rest.is_empty() {
            tracing::warn!(
                bytes = rest.len(),
                "the last write before the end was not finished, and not acknowledged"
            );
        }
        Ok(batches)
    }

    /// Moves what has gathered into the database, then starts the file anew: in this order, so that a crash in between
    /// leaves it in both places, never in none.
    fn move_on(&mut self) -> Result<(), BackendError> {
        self.database.persist(self.revision, &self.gathered)?;
        self.gathered.clear();
        self.gathered_bytes = 0;
        let anew = self
            .file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)));
        anew.and_then(|_| self.file.sync_all())
            .map_err(|source| failed("start anew", &self.path, source))
    }
}

impl Backend for Journal {
    fn load(&mut self) -> Result<Loaded, BackendError> {
        let mut loaded = self.database.load()?;
        self.revision = loaded.revision;
        let batches = self.read()?;
        let beyond: Vec<Batch> = batches
            .into_iter()
            .filter(|batch| batch.revision > loaded.revision)
            .collect();
        if let Some(last) = beyond.last() {
            self.revision = last.revision;
            self.gathered = beyond.into_iter().flat_map(|batch| batch.records).collect();
            loaded = replay(loaded, &self.gathered, self.revision);
        }
        self.move_on()?;
        Ok(loaded)
    }

    fn persist(&mut self, revision: u64, batch: &[Record]) -> Result<(), BackendError> {
        let frame = encode(revision, batch);
        let written = self.file.write_all(&frame).and_then(|()| self.file.sync_data());
        written.map_err(|source| failed("write to", &self.path, source))?;
        self.revision = revision;
        self.gathered.extend_from_slice(batch);
        self.gathered_bytes += frame.len();
        if self.gathered_bytes >= MOVE_AT {
            self.move_on()?;
        }
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.gathered.is_empty() {
            return;
        }
        // What cannot be moved now stays in the file, and is moved at the next start.
        if let Err(error) = self.move_on() {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the journal is kept for the next start"
            );
        }
    }
}

/// A new file is only safe once its name is.
fn sync_folder(of: &Path) -> std::io::Result<()> {
    match of
        .parent()
        .filter(|folder| cfg!(unix) && !folder.as_os_str().is_empty())
    {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn failed(doing: &'static str, path: &str, source: std::io::Error) -> BackendError {
    BackendError::Failed {
        doing,
        path: path.to_owned(),
        source: Box::new(redb::Error::Io(source)),
    }
}

fn replay(loaded: Loaded, records: &[Record], revision: u64) -> Loaded {
    let mut objects: BTreeMap<(ResourceId, ObjectKey), Object> = loaded
        .objects
        .into_iter()
        .map(|(resource, object)| ((resource, object.key.clone()), object))
        .collect();
    for record in records {
        match record {
            Record::Put(resource, object) => {
                let copy = Draft::new(&object.value()).at(object.revision);
                objects.insert((resource.clone(), object.key.clone()), copy);
            }
            Record::Remove(resource, key) => {
                objects.remove(&(resource.clone(), key.clone()));
            }
        }
    }
    Loaded {
        revision,
        objects: objects
            .into_iter()
            .map(|((resource, _), object)| (resource, object))
            .collect(),
    }
}

/// The body of the next frame; `None` at the end, or where the row breaks off, and then `rest` is not empty.
fn next_frame<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (checksum, after) = after.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let body = after.get(..length).filter(|body| !body.is_empty())?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return None;
    }
    *rest = &after[length..];
    Some(body)
}

fn encode(revision: u64, batch: &[Record]) -> Vec<u8> {
    let mut body = revision.to_le_bytes().to_vec();
    for record in batch {
        let (resource, key, document): (_, _, &[u8]) = match record {
            Record::Put(resource, object) => (resource, &object.key, &object.bytes),
            Record::Remove(resource, key) => (resource, key, &[]),
        };
        for part in [
            resource.as_bytes(),
            key.namespace().as_bytes(),
            key.name().as_bytes(),
            document,
        ] {
            // Nothing that got through a request is near 4 GiB long.
            body.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
            body.extend_from_slice(part);
        }
    }
    let mut frame = Vec::with_capacity(body.len() + 8);
    frame.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    frame.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    frame.extend_from_slice(&body);
    frame
}

fn decode(body: &[u8], path: &str) -> Result<Batch, BackendError> {
    let damaged = || failed("understand", path, std::io::ErrorKind::InvalidData.into());
    let (revision, mut rest) = body.split_first_chunk::<8>().ok_or_else(damaged)?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        let mut part = || -> Option<&[u8]> {
            let (length, after) = rest.split_first_chunk::<4>()?;
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            let part = after.get(..length)?;
            rest = &after[length..];
            Some(part)
        };
        let (resource, namespace, name) = (
            part().ok_or_else(damaged)?,
            part().ok_or_else(damaged)?,
            part().ok_or_else(damaged)?,
        );
        let document = part().ok_or_else(damaged)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (resource, key) = (
            text(resource).into(),
            ObjectKey::new(&text(namespace), &text(name)),
        );
        records.push(if document.is_empty() {
            Record::Remove(resource, key)
        } else {
            let value: Value = serde_json::from_slice(document).map_err(|source| BackendError::Damaged {
                key: format!("{resource}/{}/{}", key.namespace(), key.name()),
                source,
            })?;
            let written = value["metadata"]["resourceVersion"]
                .as_str()
                .and_then(|text| text.parse().ok());
            let object = Draft::new(&value).at(written.ok_or_else(damaged)?);
            Record::Put(resource, Arc::new(object))
        });
    }
    Ok(Batch {
        revision: u64::from_le_bytes(*revision),
        records,
    })
}

#[cfg(test)]
mod tests;
