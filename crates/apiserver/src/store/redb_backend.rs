//! Writes kept in a redb file.
//!
//! Two tables: `objects` maps `resource NUL namespace NUL name` to the document, `facts` holds the newest revision and
//! the format. One commit per batch, durable before it returns.

#[cfg(unix)]
use std::fs::Permissions;
use std::fs::{File, OpenOptions};
use std::path::Path;

use redb::{Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::Value;

use super::backend::{Backend, BackendError, Loaded, Record};
use super::object::{Draft, ObjectKey};

const OBJECTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("objects");
const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");
const FORMAT: u64 = 1;
/// All objects are in memory anyway; this only serves the pages a commit touches.
const CACHE_BYTES: usize = 4 << 20;

/// Key and document, as they are stored.
type Row = (Vec<u8>, Vec<u8>);

/// A redb file.
#[derive(Debug)]
pub struct RedbBackend {
    database: Database,
    path: String,
}

impl RedbBackend {
    /// Opens the file, or makes it.
    pub fn open(path: &Path) -> Result<Self, BackendError> {
        let shown = path.display().to_string();
        open_private(path).map_err(|source| BackendError::Failed {
            doing: "open",
            path: shown.clone(),
            source: Box::new(redb::Error::Io(source)),
        })?;
        let database = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create(path)
            .map_err(|error| match error {
                DatabaseError::DatabaseAlreadyOpen => BackendError::InUse { path: shown.clone() },
                other => BackendError::Failed {
                    doing: "open",
                    path: shown.clone(),
                    source: Box::new(other.into()),
                },
            })?;
        Ok(Self {
            database,
            path: shown,
        })
    }

    fn failed(&self, doing: &'static str) -> impl Fn(redb::Error) -> BackendError + use<> {
        let path = self.path.clone();
        move |source| BackendError::Failed {
            doing,
            path: path.clone(),
            source: Box::new(source),
        }
    }

    /// Format and revision; a file that was never written to has none. Reads only: a file of another format must stay
    /// as it is.
    fn facts(&self) -> Result<Option<(u64, u64)>, redb::Error> {
        let read = self.database.begin_read()?;
        let facts = match read.open_table(FACTS) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            other => other?,
        };
        let format = facts.get("format")?.map_or(0, |value| value.value());
        let revision = facts.get("revision")?.map_or(0, |value| value.value());
        Ok(Some((format, revision)))
    }

    fn documents(&self) -> Result<Vec<Row>, redb::Error> {
        let read = self.database.begin_read()?;
        let table = read.open_table(OBJECTS)?;
        let mut documents = Vec::new();
        for entry in table.iter()? {
            let (key, value) = entry?;
            documents.push((key.value().to_vec(), value.value().to_vec()));
        }
        Ok(documents)
    }

    fn write(&self, revision: u64, batch: &[Record]) -> Result<(), redb::Error> {
        let mut write = self.database.begin_write()?;
        write.set_durability(Durability::Immediate)?;
        {
            let mut objects = write.open_table(OBJECTS)?;
            for record in batch {
                match record {
                    Record::Put(resource, object) => {
                        objects.insert(row_key(resource, &object.key).as_slice(), &*object.bytes)?;
                    }
                    Record::Remove(resource, key) => {
                        objects.remove(row_key(resource, key).as_slice())?;
                    }
                }
            }
            let mut facts = write.open_table(FACTS)?;
            facts.insert("revision", revision)?;
            facts.insert("format", FORMAT)?;
        }
        write.commit()?;
        Ok(())
    }
}

impl Backend for RedbBackend {
    fn load(&mut self) -> Result<Loaded, BackendError> {
        let Some((found, revision)) = self.facts().map_err(self.failed("read"))? else {
            return Ok(Loaded::default());
        };
        if found != FORMAT {
            return Err(BackendError::UnknownFormat {
                path: self.path.clone(),
                found,
                known: FORMAT,
            });
        }
        let mut loaded = Loaded {
            revision,
            objects: Vec::new(),
        };
        for (key, bytes) in self.documents().map_err(self.failed("read"))? {
            let shown = String::from_utf8_lossy(&key).replace('\0', "/");
            let document: Value = serde_json::from_slice(&bytes).map_err(|source| BackendError::Damaged {
                key: shown.clone(),
                source,
            })?;
            let resource = shown.split('/').next().unwrap_or_default().into();
            let written = document["metadata"]["resourceVersion"]
                .as_str()
                .and_then(|text| text.parse().ok());
            loaded
                .objects
                .push((resource, Draft::new(&document).at(written.unwrap_or(revision))));
        }
        Ok(loaded)
    }

    fn persist(&mut self, revision: u64, batch: &[Record]) -> Result<(), BackendError> {
        self.write(revision, batch).map_err(self.failed("write to"))
    }
}

/// Opens a file that holds Secrets, or makes it: it is its owner's alone, whatever the umask says.
pub(super) fn open_private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(0o600);
        let file = options.open(path)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}

fn row_key(resource: &str, key: &ObjectKey) -> Vec<u8> {
    let mut row = Vec::with_capacity(resource.len() + key.namespace().len() + key.name().len() + 2);
    row.extend_from_slice(resource.as_bytes());
    row.push(0);
    row.extend_from_slice(key.namespace().as_bytes());
    row.push(0);
    row.extend_from_slice(key.name().as_bytes());
    row
}
