//! Names that a person may have meant.

/// How many are told.
const MANY: usize = 3;

/// The names that are nearest to the one that was written, nearest first.
#[must_use]
pub fn near(written: &str, names: &[String]) -> Vec<String> {
    let bound = (written.chars().count() / 4).clamp(2, 3);
    let mut found: Vec<(usize, &String)> = names
        .iter()
        .filter_map(|name| {
            let is_part = written.len() >= 3 && (name.contains(written) || written.contains(name.as_str()));
            let distance = distance(written, name);
            (is_part || distance <= bound).then_some((distance, name))
        })
        .collect();
    found.sort();
    found
        .into_iter()
        .take(MANY)
        .map(|(_, name)| name.clone())
        .collect()
}

/// How many letters have to be changed, added or removed to make one of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, against) in other.iter().enumerate() {
            let change = diagonal + usize::from(letter != *against);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["greeting-world", "greeting-moon", "vpc", "eks-demo"].map(str::to_owned);
        for (written, expected) in [
            ("greeting-wrold", &["greeting-world"][..]),
            ("greeting", &["greeting-moon", "greeting-world"]),
            ("vcp", &["vpc"]),
            ("something-else", &[]),
        ] {
            assert_eq!(near(written, &names), expected, "{written}");
        }
    }
}
