//! Objects that nobody looks at, packed: most objects are at rest, and objects of a kind mostly say the same. As text of which
//! only that is kept in which it differs from others, one takes a small fraction of the room.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};

/// How long what objects have in common may be, in bytes. The code reaches no further than twice as far.
const COMMON: usize = 32 << 10;
/// How many objects are packed before something is learned again, so that objects that have nothing in common cost little.
const LEARNS_AFTER: u32 = 16;
/// What is shorter is not worth learning from.
const SHORT: usize = 256;
/// How many of the objects that are packed as soon as they come are also there as they are: what changed is looked at by
/// several, one after the other.
const OPEN: usize = 64;

/// How objects of a type are packed and unpacked.
pub(crate) struct Packing<T> {
    write: fn(&T, &mut Vec<u8>) -> serde_json::Result<()>,
    read: fn(&[u8]) -> serde_json::Result<T>,
    /// Objects are packed as soon as they come.
    is_tight: bool,
    common: Mutex<Common>,
    /// Those of them that were looked at last.
    open: Mutex<VecDeque<Arc<T>>>,
}

/// What objects have in common: text of some of them, which others refer to.
#[derive(Default)]
struct Common {
    text: Arc<Vec<u8>>,
    /// How many objects were packed since it was last learned from one.
    since: u32,
}

impl Common {
    /// Learns from an object that has little in common with those before, unless it was just learned from another.
    fn learn(&mut self, text: &[u8], packed: &[u8]) {
        self.since = self.since.saturating_add(1);
        let has_little = text.len() > SHORT && packed.len() > text.len() / 4;
        if !has_little || !self.text.is_empty() && self.since < LEARNS_AFTER {
            return;
        }
        let has_room = self.text.len() + text.len() <= COMMON;
        let before: &[u8] = if has_room { &self.text } else { &[] };
        let text = [before, &text[..text.len().min(COMMON)]].concat();
        *self = Self {
            text: Arc::new(text),
            since: 0,
        };
    }
}

/// An object, packed.
struct Packed {
    common: Arc<Vec<u8>>,
    rest: Part,
}

/// A part of what several objects are packed in together, or the whole of what one is packed in.
struct Part {
    whole: Arc<[u8]>,
    from: u32,
    to: u32,
}

impl Part {
    /// A part of something, if it is short enough.
    fn of(whole: &Arc<[u8]>, from: usize, to: usize) -> Option<Self> {
        Some(Self {
            whole: whole.clone(),
            from: u32::try_from(from).ok()?,
            to: u32::try_from(to).ok()?,
        })
    }

    fn text(&self) -> &[u8] {
        let (from, to) = (self.from as usize, self.to as usize);
        self.whole.get(from..to).unwrap_or_default()
    }
}

impl<T: Serialize + DeserializeOwned> Packing<T> {
    /// As JSON.
    pub(crate) fn json() -> Self {
        Self {
            write: |value, text| serde_json::to_writer(text, value),
            read: |text| serde_json::from_slice(text),
            is_tight: false,
            common: Mutex::default(),
            open: Mutex::default(),
        }
    }

    /// For objects that are large and looked at for a moment only: few of them are kept in another form, and not for long.
    pub(crate) fn tight() -> Self {
        Self {
            is_tight: true,
            ..Self::json()
        }
    }
}

impl<T> Packing<T> {
    /// Keeps an object as it is for a while.
    fn keep_open(&self, value: &Arc<T>) {
        let mut open = self.open.lock();
        if open.len() == OPEN {
            open.pop_front();
        }
        open.push_back(value.clone());
    }

    /// Keeps none of them as it is any longer.
    pub(crate) fn close(&self) {
        self.open.lock().clear();
    }

    fn unpack(&self, packed: &Packed) -> Option<T> {
        let text = decompress_size_prepended_with_dict(packed.rest.text(), &packed.common).ok()?;
        (self.read)(&text).ok()
    }
}

impl<T: PartialEq> Packing<T> {
    /// Packs an object, if it comes out of that the same.
    fn pack(&self, value: &T, packer: &mut Packer) -> Option<Packed> {
        packer.text.clear();
        (self.write)(value, &mut packer.text).ok()?;
        let common = self.common.lock().text.clone();
        let rest: Arc<[u8]> = compress_prepend_size_with_dict(&packer.text, &common).into();
        self.common.lock().learn(&packer.text, &rest);
        let rest = Part::of(&rest, 0, rest.len())?;
        let packed = Packed { common, rest };
        (self.unpack(&packed).as_ref() == Some(value)).then_some(packed)
    }
}

/// What packs one object after the other.
#[derive(Default)]
pub(crate) struct Packer {
    text: Vec<u8>,
}

/// An object that may be packed.
pub(crate) struct Shelf<T>(Mutex<Form<T>>);

enum Form<T> {
    Open(Arc<T>, Rest),
    /// Packed, and perhaps still there as it is.
    Packed(Packed, Weak<T>),
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

impl<T: PartialEq> Shelf<T> {
    pub(crate) fn new(value: T, packing: Option<&Packing<T>>) -> Self {
        let packed = packing
            .filter(|packing| packing.is_tight)
            .and_then(|packing| packing.pack(&value, &mut Packer::default()));
        let value = Arc::new(value);
        let form = match (packed, packing) {
            (Some(packed), Some(packing)) => {
                packing.keep_open(&value);
                Form::Packed(packed, Arc::downgrade(&value))
            }
            _ => Form::Open(value, Rest::None),
        };
        Self(Mutex::new(form))
    }

    /// The object, which is unpacked for that.
    pub(crate) fn get(&self, packing: Option<&Packing<T>>) -> Option<Arc<T>> {
        let mut form = self.0.lock();
        match &mut *form {
            Form::Open(value, rest) => {
                *rest = Rest::None;
                Some(value.clone())
            }
            Form::Packed(packed, open) => {
                if let Some(value) = open.upgrade() {
                    return Some(value);
                }
                let packing = packing?;
                let value = Arc::new(packing.unpack(packed)?);
                if packing.is_tight {
                    *open = Arc::downgrade(&value);
                    packing.keep_open(&value);
                } else {
                    *form = Form::Open(value.clone(), Rest::None);
                }
                Some(value)
            }
        }
    }

    /// Packs the object if nobody looked at it since the last time. Tells whether it did anything that takes time.
    pub(crate) fn rest(&self, packing: &Packing<T>, packer: &mut Packer) -> bool {
        let mut form = self.0.lock();
        match &mut *form {
            Form::Open(_, rest @ Rest::None) => {
                *rest = Rest::Short;
                false
            }
            Form::Open(value, rest @ Rest::Short) => {
                match packing.pack(value, packer) {
                    Some(packed) => *form = Form::Packed(packed, Weak::new()),
                    None => *rest = Rest::Long,
                }
                true
            }
            Form::Open(_, Rest::Long) => false,
            Form::Packed(_, open) => {
                // What nobody has any more still takes its room as long as it is referred to.
                if open.strong_count() == 0 {
                    *open = Weak::new();
                }
                false
            }
        }
    }
}

/// Puts packed objects together in one piece: each for itself they stand where there was room while many others came and
/// went, and keep that from being given back.
pub(crate) fn put_together<'a, T: 'a>(shelves: impl Iterator<Item = &'a Shelf<T>> + Clone) {
    let mut whole = Vec::new();
    for shelf in shelves.clone() {
        if let Form::Packed(packed, _) = &*shelf.0.lock() {
            whole.extend_from_slice(packed.rest.text());
        }
    }
    let whole: Arc<[u8]> = whole.into();
    let mut from = 0;
    for shelf in shelves {
        if let Form::Packed(packed, _) = &mut *shelf.0.lock() {
            let to = from + packed.rest.text().len();
            if let Some(part) = Part::of(&whole, from, to) {
                packed.rest = part;
            }
            from = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed<T>(shelf: &Shelf<T>) -> Option<usize> {
        match &*shelf.0.lock() {
            Form::Packed(packed, _) => Some(packed.rest.text().len()),
            Form::Open(..) => None,
        }
    }

    #[test]
    fn what_nobody_looks_at_is_packed_and_comes_out_the_same() {
        let packing = Packing::json();
        let mut packer = Packer::default();
        let text = "Something that is said again and again. ".repeat(50);
        let shelves: Vec<Shelf<String>> = ["", "\u{fc}", &text]
            .map(|text| Shelf::new(text.to_owned(), Some(&packing)))
            .into();
        for _ in 0..2 {
            for (shelf, text) in shelves.iter().zip(["", "\u{fc}", &text]) {
                assert_eq!(
                    shelf.get(Some(&packing)).as_deref().map(String::as_str),
                    Some(text)
                );
                shelf.rest(&packing, &mut packer);
                assert_eq!(packed(shelf), None, "somebody just looked at it");
                shelf.rest(&packing, &mut packer);
                assert!(packed(shelf).is_some());
            }
        }
        assert!(packed(&shelves[2]).unwrap() < text.len() / 10);
    }

    #[test]
    fn what_was_looked_at_lately_is_not_unpacked_again_and_what_was_not_is_not_kept() {
        let packing = Packing::tight();
        let shelf = Shelf::new("x".to_owned(), Some(&packing));
        let look = || Arc::downgrade(&shelf.get(Some(&packing)).unwrap());
        let first = look();
        assert!(first.ptr_eq(&look()));
        for number in 0..OPEN {
            Shelf::new(number.to_string(), Some(&packing));
        }
        assert_eq!(first.strong_count(), 0);
        let again = look();
        assert!(again.ptr_eq(&look()));
        assert_eq!(packing.open.lock().len(), OPEN);
        packing.close();
        assert_eq!(again.strong_count(), 0);
    }

    #[test]
    fn what_is_put_together_comes_out_the_same_and_so_does_what_changes_after_that() {
        let packing = Packing::tight();
        let text = |number: usize| format!("{number} {}", "x".repeat(number));
        let mut shelves: Vec<Shelf<String>> = (0..50)
            .map(|number| Shelf::new(text(number), Some(&packing)))
            .collect();
        // One that is not packed.
        shelves.push(Shelf::new(text(50), None));
        for changed in [7, 31] {
            put_together(shelves.iter());
            packing.close();
            for (number, shelf) in shelves.iter().enumerate() {
                let found = shelf.get(Some(&packing));
                assert_eq!(found.as_deref(), Some(&text(number)), "{number}");
            }
            shelves[changed] = Shelf::new(text(changed), Some(&packing));
        }
        let whole = |shelf: &Shelf<String>| match &*shelf.0.lock() {
            Form::Packed(packed, _) => Some(packed.rest.whole.clone()),
            Form::Open(..) => None,
        };
        put_together(shelves.iter());
        let first = whole(&shelves[0]).unwrap();
        assert!(
            shelves[..50]
                .iter()
                .all(|shelf| Arc::ptr_eq(&whole(shelf).unwrap(), &first))
        );
    }

    #[test]
    fn of_what_is_looked_at_no_more_nothing_is_left() {
        let packing = Packing::tight();
        let shelf = Shelf::new("x".to_owned(), Some(&packing));
        let weak = |shelf: &Shelf<String>| match &*shelf.0.lock() {
            Form::Packed(_, open) => open.clone(),
            Form::Open(..) => Weak::new(),
        };
        let before = weak(&shelf);
        shelf.rest(&packing, &mut Packer::default());
        assert!(weak(&shelf).ptr_eq(&before), "it is still open");
        packing.close();
        shelf.rest(&packing, &mut Packer::default());
        assert!(weak(&shelf).ptr_eq(&Weak::new()));
    }

    /// Words that have nothing in common with those of another number.
    fn words(number: u64) -> String {
        let word = |place: u64| {
            (number * 1000 + place)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .to_string()
        };
        (0..40).map(word).collect()
    }

    #[test]
    fn of_what_others_say_too_nearly_nothing_is_kept_whatever_came_before() {
        let packing = Packing::tight();
        let size = |text: String| {
            let shelf = Shelf::new(text.clone(), Some(&packing));
            assert_eq!(shelf.get(Some(&packing)).as_deref(), Some(&text));
            packed(&shelf).unwrap()
        };
        for sort in 0..20 {
            let sizes: Vec<usize> = (0..100)
                .map(|number| size(format!("{number}{}", words(sort))))
                .collect();
            assert!(sizes[0] > 500, "{sizes:?}");
            assert!(
                sizes[LEARNS_AFTER as usize + 1..].iter().all(|size| *size < 60),
                "{sizes:?}"
            );
        }
        for number in 100..1000 {
            size(words(number));
        }
        assert!(packing.common.lock().text.len() <= COMMON);
        let long: String = (0..100).map(words).collect();
        assert!(long.len() > COMMON);
        for _ in 0..2 * LEARNS_AFTER {
            size(long.clone());
        }
        assert!(packing.common.lock().text.len() <= COMMON);
    }

    #[test]
    fn what_would_come_out_otherwise_stays_as_it_is() {
        for packing in [Packing::json(), Packing::tight()] {
            let shelf = Shelf::new(f64::INFINITY, Some(&packing));
            for _ in 0..3 {
                shelf.rest(&packing, &mut Packer::default());
            }
            assert_eq!(packed(&shelf), None);
            assert_eq!(shelf.get(Some(&packing)).as_deref(), Some(&f64::INFINITY));
        }
    }
}
