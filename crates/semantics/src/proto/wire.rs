//! Protobuf's wire format: numbered fields in four encodings.

use super::ProtoError;

/// A field's content, not yet interpreted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wire<'a> {
    /// Integers and booleans.
    Varint(u64),
    /// Doubles.
    Fixed64(u64),
    /// Texts, bytes, messages, map entries, packed lists.
    Bytes(&'a [u8]),
    /// Floats. No Kubernetes type has one, but it must be skipped.
    Fixed32,
}

/// Reads one message's fields in order.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field's number and content; `None` at the end.
    pub(super) fn field(&mut self) -> Result<Option<(u64, Wire<'a>)>, ProtoError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let content = match key & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(self.take(8)?);
                Wire::Fixed64(u64::from_le_bytes(bytes))
            }
            2 => {
                let length = self.varint()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Wire::Fixed32
            }
            other => return Err(ProtoError::Malformed(format!("wire type {other} is not used"))),
        };
        Ok(Some((key >> 3, content)))
    }

    /// The next integer of a packed list; `None` at the end.
    pub(super) fn packed(&mut self) -> Result<Option<u64>, ProtoError> {
        if self.rest.is_empty() {
            Ok(None)
        } else {
            self.varint().map(Some)
        }
    }

    fn varint(&mut self) -> Result<u64, ProtoError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ProtoError::Malformed(
            "an integer is longer than 64 bits".to_owned(),
        ))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], ProtoError> {
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length <= self.rest.len());
        let Some(length) = length else {
            return Err(ProtoError::Malformed(
                "the body ends in the middle of a field".to_owned(),
            ));
        };
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }
}
