//! Texts as gzip.
//!
//! A new compressor takes 300 KB that have to be cleared, and more time than most of our texts. So the last one is kept and
//! begins anew, which changes nothing in what comes out of it.

use std::sync::{Mutex, PoisonError};

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// What gzip begins with: its name, deflate, no flags and no time, the fastest way, no system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];

/// The last compressor, while nobody uses it.
static LAST: Mutex<Option<Compress>> = Mutex::new(None);

/// A text, packed. Very many are written, so that time counts more than a few bytes.
pub(super) fn pack(text: &[u8]) -> Vec<u8> {
    pack_with(&LAST, || Compress::new(Compression::fast(), false), text)
}

fn pack_with(last: &Mutex<Option<Compress>>, make: impl FnOnce() -> Compress, text: &[u8]) -> Vec<u8> {
    let last = || last.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = last().take();
    let mut compress = kept.unwrap_or_else(make);
    let mut out = Vec::with_capacity(HEADER.len() + text.len() / 4);
    out.extend(HEADER);
    loop {
        let taken = usize::try_from(compress.total_in()).unwrap_or(usize::MAX);
        let rest = text.get(taken..).unwrap_or_default();
        out.reserve(1024 + rest.len() / 4);
        match compress.compress_vec(rest, &mut out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => break,
            Ok(Status::Ok | Status::BufError) => {}
            // A compressor that is used in the right order does not fail.
            Err(_) => return Vec::new(),
        }
    }
    compress.reset();
    *last() = Some(compress);
    let mut crc = Crc::new();
    crc.update(text);
    out.extend(crc.sum().to_le_bytes());
    out.extend(crc.amount().to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, io::Read as _};

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn all_texts_are_packed_by_one_compressor_and_come_out_as_they_went_in() {
        let last = Mutex::new(None);
        let made = Cell::new(0);
        let make = || {
            made.set(made.get() + 1);
            Compress::new(Compression::fast(), false)
        };
        // The last one does not become smaller.
        let noise =
            (0..300_000u64).map(|number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).to_le_bytes()[0]);
        let texts = [
            Vec::new(),
            b"a".to_vec(),
            b"spec: {}\n".repeat(50_000),
            b"spec: {}\n".to_vec(),
            noise.collect(),
        ];
        for text in &texts {
            let packed = pack_with(&last, make, text);
            let mut read = Vec::new();
            GzDecoder::new(packed.as_slice()).read_to_end(&mut read).unwrap();
            assert_eq!(read, *text);
            // What was packed before leaves no trace.
            assert_eq!(
                pack_with(
                    &Mutex::new(None),
                    || Compress::new(Compression::fast(), false),
                    text
                ),
                packed
            );
        }
        assert_eq!(made.get(), 1);
    }
}
