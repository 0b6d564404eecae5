//! From chunks of bytes to lines.

/// The longest line that is kept whole. Longer ones are cut into pieces, which then are text or torn.
///
/// An event with a state in it can be as long as the state; beyond this, memory matters more.
pub const MAX_LINE: usize = 64 << 20;

/// Collects bytes as they come from a pipe and hands out whole lines.
#[derive(Clone, Debug)]
pub struct LineSplitter {
    rest: Vec<u8>,
    limit: usize,
}

impl Default for LineSplitter {
    fn default() -> Self {
        Self::with_limit(MAX_LINE)
    }
}

impl LineSplitter {
    /// One that cuts lines longer than this.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            rest: Vec::new(),
            limit: limit.max(1),
        }
    }

    /// Takes a chunk and calls `line` for every line that it completes, without the line feed.
    pub fn push(&mut self, chunk: &[u8], mut line: impl FnMut(&[u8])) {
        let mut chunk = chunk;
        while let Some(end) = chunk.iter().position(|byte| *byte == b'\n') {
            self.extend(&chunk[..end], &mut line);
            line(&self.rest);
            self.rest.clear();
            chunk = &chunk[end + 1..];
        }
        self.extend(chunk, &mut line);
    }

    /// What is left when the pipe is closed: a line without an end, usually because the process was killed.
    pub fn finish(self, mut line: impl FnMut(&[u8])) {
        if !self.rest.is_empty() {
            line(&self.rest);
        }
    }

    fn extend(&mut self, bytes: &[u8], line: &mut impl FnMut(&[u8])) {
        let mut bytes = bytes;
        while self.rest.len() + bytes.len() > self.limit {
            let (fits, left) = bytes.split_at(self.limit - self.rest.len());
            self.rest.extend_from_slice(fits);
            line(&self.rest);
            self.rest.clear();
            bytes = left;
        }
        self.rest.extend_from_slice(bytes);
    }
}
