//! What was added to a log since it was last looked at.

/// Lines that are enough to find a place again.
const KNOWN: usize = 5;

/// Remembers what was printed.
#[derive(Clone, Debug, Default)]
pub(super) struct Follower {
    printed: String,
}

impl Follower {
    /// What has to be printed now. The log may have been cut in the middle, or have become the previous one.
    pub(super) fn next(&mut self, log: &str, previous: Option<&str>) -> String {
        let new = match log.strip_prefix(self.printed.as_str()) {
            Some(new) => new.to_owned(),
            None => match previous.and_then(|previous| after(&self.printed, previous)) {
                Some(end) => format!("{end}{log}"),
                None => after(&self.printed, log).unwrap_or(log).to_owned(),
            },
        };
        log.clone_into(&mut self.printed);
        new
    }
}

/// What stands in a log after what was printed.
fn after<'a>(printed: &str, log: &'a str) -> Option<&'a str> {
    if let Some(rest) = log.strip_prefix(printed) {
        return Some(rest);
    }
    let lines: Vec<&str> = printed.split_inclusive('\n').collect();
    let known = lines[lines.len().saturating_sub(KNOWN)..].concat();
    let at = log.rfind(&known).filter(|_| !known.is_empty())?;
    Some(&log[at + known.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(numbers: std::ops::Range<u32>) -> String {
        numbers.map(|number| format!("line {number}\n")).collect()
    }

    #[test]
    fn only_what_is_new_is_printed() {
        let mut follower = Follower::default();
        assert_eq!(follower.next(&lines(0..3), None), lines(0..3));
        assert_eq!(follower.next(&lines(0..3), None), "");
        assert_eq!(follower.next(&lines(0..5), None), lines(3..5));
    }

    #[test]
    fn a_log_that_was_cut_in_the_middle_goes_on_where_it_was() {
        let mut follower = Follower::default();
        follower.next(&lines(0..20), None);
        let cut = format!("{}… 5 lines are left out here …\n{}", lines(0..3), lines(8..23));
        assert_eq!(follower.next(&cut, None), lines(20..23));
        let cut = format!("{}… 9 lines are left out here …\n{}", lines(0..3), lines(12..25));
        assert_eq!(follower.next(&cut, None), lines(23..25));
    }

    #[test]
    fn the_end_of_one_operation_comes_before_the_beginning_of_the_next() {
        let mut follower = Follower::default();
        follower.next(&lines(0..3), None);
        assert_eq!(follower.next("", Some(&lines(0..5))), lines(3..5));
        assert_eq!(follower.next("new\n", Some(&lines(0..5))), "new\n");
        assert_eq!(follower.next("other\n", Some("unknown\n")), "other\n");
    }
}
