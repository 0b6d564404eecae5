//! Bytes as base64, read as leniently as Go reads them: line ends are skipped and left-over bits ignored.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// The one way to write the same bytes.
pub(super) fn canonical(text: &str) -> Result<String, String> {
    let refused = |at: usize| format!("illegal base64 data at input byte {at}");
    check(text.as_bytes()).map_err(refused)?;
    let packed: String = text.chars().filter(|c| !is_line_end(*c as u32)).collect();
    let bytes = LENIENT.decode(packed).map_err(|_| refused(0))?;
    Ok(STANDARD.encode(bytes))
}

fn is_line_end(byte: u32) -> bool {
    byte == u32::from(b'\n') || byte == u32::from(b'\r')
}

/// The offset that Go complains about.
fn check(text: &[u8]) -> Result<(), usize> {
    let kept: Vec<(usize, u8)> = text
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, byte)| !is_line_end(u32::from(*byte)))
        .collect();
    for (group, quantum) in kept.chunks(4).enumerate() {
        for (place, &(at, byte)) in quantum.iter().enumerate() {
            if byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/' {
                continue;
            }
            if byte != b'=' || place < 2 {
                return Err(at);
            }
            let after = group * 4 + place + 1;
            let rest = match (place, kept.get(after)) {
                (2, None) => return Err(text.len()),
                (2, Some((_, b'='))) => after + 1,
                (2, Some(_)) => return Err(at),
                _ => after,
            };
            return kept.get(rest).map_or(Ok(()), |(at, _)| Err(*at));
        }
        if quantum.len() < 4 {
            return Err(text.len() - quantum.len());
        }
    }
    Ok(())
}
