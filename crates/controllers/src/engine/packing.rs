//! Objects that nobody looks at, packed: most objects are at rest, and as text without its repetitions they take a fraction
//! of the room.

use std::{io::Read as _, sync::Arc};

use flate2::{Compress, Compression, FlushCompress, Status, bufread::DeflateDecoder};
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};

/// How objects of a type are packed and unpacked.
pub(crate) struct Packing<T> {
    write: fn(&T, &mut Vec<u8>) -> serde_json::Result<()>,
    read: fn(&[u8]) -> Option<T>,
}

impl<T> Clone for Packing<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Packing<T> {}

impl<T: Serialize + DeserializeOwned> Packing<T> {
    /// As compressed JSON.
    pub(crate) fn json() -> Self {
        Self {
            write: |value, text| serde_json::to_writer(text, value),
            read: |packed| {
                let mut text = Vec::with_capacity(4 * packed.len());
                DeflateDecoder::new(packed).read_to_end(&mut text).ok()?;
                serde_json::from_slice(&text).ok()
            },
        }
    }
}

/// What packs one object after the other.
pub(crate) struct Packer {
    compress: Compress,
    text: Vec<u8>,
}

impl Packer {
    pub(crate) fn new() -> Self {
        Self {
            compress: Compress::new(Compression::fast(), false),
            text: Vec::new(),
        }
    }

    /// Packs an object, if it comes out of that the same.
    fn pack<T: PartialEq>(&mut self, value: &T, packing: Packing<T>) -> Option<Box<[u8]>> {
        self.text.clear();
        (packing.write)(value, &mut self.text).ok()?;
        self.compress.reset();
        let mut packed = Vec::with_capacity(self.text.len() + 64);
        let status = self
            .compress
            .compress_vec(&self.text, &mut packed, FlushCompress::Finish);
        let is_whole = matches!(status, Ok(Status::StreamEnd));
        let packed = packed.into_boxed_slice();
        (is_whole && (packing.read)(&packed).as_ref() == Some(value)).then_some(packed)
    }
}

/// An object that may be packed.
pub(crate) struct Shelf<T>(Mutex<Form<T>>);

enum Form<T> {
    Open(Arc<T>, Rest),
    Packed(Box<[u8]>),
}

/// How long nobody looked at an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Somebody did since it was last asked.
    None,
    /// Nobody did since.
    Short,
    /// Nobody did for longer, but it cannot be packed.
    Long,
}

impl<T> Shelf<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(Form::Open(Arc::new(value), Rest::None)))
    }

    /// The object, which is unpacked for that.
    pub(crate) fn get(&self, packing: Option<Packing<T>>) -> Option<Arc<T>> {
        let mut form = self.0.lock();
        match &mut *form {
            Form::Open(value, rest) => {
                *rest = Rest::None;
                Some(value.clone())
            }
            Form::Packed(packed) => {
                let value = Arc::new((packing?.read)(packed)?);
                *form = Form::Open(value.clone(), Rest::None);
                Some(value)
            }
        }
    }
}

impl<T: PartialEq> Shelf<T> {
    /// Packs the object if nobody looked at it since the last time. Tells whether it did anything that takes time.
    pub(crate) fn rest(&self, packing: Packing<T>, packer: &mut Packer) -> bool {
        let mut form = self.0.lock();
        match &mut *form {
            Form::Open(_, rest @ Rest::None) => {
                *rest = Rest::Short;
                false
            }
            Form::Open(value, rest @ Rest::Short) => {
                match packer.pack(&**value, packing) {
                    Some(packed) => *form = Form::Packed(packed),
                    None => *rest = Rest::Long,
                }
                true
            }
            Form::Open(_, Rest::Long) | Form::Packed(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_packed<T>(shelf: &Shelf<T>) -> bool {
        matches!(&*shelf.0.lock(), Form::Packed(_))
    }

    #[test]
    fn what_nobody_looks_at_is_packed_and_comes_out_the_same() {
        let packing = Packing::json();
        let mut packer = Packer::new();
        let text = "Something that is said again and again. ".repeat(50);
        let shelves: Vec<Shelf<String>> = ["", "\u{fc}", &text]
            .map(|text| Shelf::new(text.to_owned()))
            .into();
        for _ in 0..2 {
            for (shelf, text) in shelves.iter().zip(["", "\u{fc}", &text]) {
                assert_eq!(
                    shelf.get(Some(packing)).as_deref().map(String::as_str),
                    Some(text)
                );
                shelf.rest(packing, &mut packer);
                assert!(!is_packed(shelf), "somebody just looked at it");
                shelf.rest(packing, &mut packer);
                assert!(is_packed(shelf));
            }
        }
        let Form::Packed(packed) = &*shelves[2].0.lock() else {
            unreachable!("it was packed above")
        };
        assert!(packed.len() < text.len() / 10);
    }

    #[test]
    fn what_would_come_out_otherwise_stays_as_it_is() {
        let shelf = Shelf::new(f64::INFINITY);
        let packing = Packing::json();
        for _ in 0..3 {
            shelf.rest(packing, &mut Packer::new());
        }
        assert!(!is_packed(&shelf));
        assert_eq!(shelf.get(Some(packing)).as_deref(), Some(&f64::INFINITY));
    }
}
