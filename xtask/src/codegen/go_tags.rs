//! What Go's struct tags say about a protobuf field's JSON form.
//!
//! `.proto` files know neither the JSON name, nor that an embedded struct is written inline, nor that a zero value is
//! left out; all three are facts of the Go types that clients encode from.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};

/// The JSON form of one field.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    /// Its name; empty when its fields stand in its parent.
    pub(super) json_name: String,
    /// A zero number, text, list or map is not written.
    pub(super) omits_empty: bool,
    /// A struct without content is not written either.
    pub(super) omits_zero: bool,
}

/// The tags of one package's structs, by struct name and protobuf field number.
pub(super) type Tags = BTreeMap<(String, u32), Tag>;

/// Reads the tags of all structs in a package's folder.
pub(super) fn read(folder: &Path) -> Result<Tags> {
    let mut tags = Tags::new();
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let written_by_people = name.ends_with(".go")
            && !name.ends_with("_test.go")
            && !name.starts_with("generated.")
            && !name.starts_with("zz_generated.");
        if written_by_people {
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            collect(&text, &mut tags);
        }
    }
    Ok(tags)
}

fn collect(text: &str, tags: &mut Tags) {
    let mut current: Option<&str> = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("type ") {
            current = rest.strip_suffix(" struct {").map(str::trim);
        } else if line.starts_with('}') {
            current = None;
        } else if let Some(name) = current
            && let Some((number, tag)) = field(line)
        {
            tags.insert((name.to_owned(), number), tag);
        }
    }
}

fn field(line: &str) -> Option<(u32, Tag)> {
    let (declaration, tag) = line.split_once('`')?;
    if declaration.trim_start().starts_with("//") {
        return None;
    }
    let number = value_of(tag, "protobuf")?.split(',').nth(1)?.parse().ok()?;
    let mut json = value_of(tag, "json")?.split(',');
    let json_name = json.next().unwrap_or_default().to_owned();
    let go_type = declaration.split_whitespace().last()?;
    let options: Vec<&str> = json.collect();
    // A pointer is present or absent; only a plain value is left out for being zero.
    let plain = !go_type.starts_with('*');
    let omits_zero = plain && options.contains(&"omitzero");
    let omits_empty = plain && (omits_zero || options.contains(&"omitempty"));
    Some((
        number,
        Tag {
            json_name,
            omits_empty,
            omits_zero,
        },
    ))
}

fn value_of<'a>(tag: &'a str, key: &str) -> Option<&'a str> {
    let start = tag.find(&format!("{key}:\""))? + key.len() + 2;
    tag[start..].split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_inlining_and_omission() {
        let text = "type A struct {\n\
            \tMeta `json:\",inline\" protobuf:\"bytes,1,opt,name=meta\"`\n\
            \tN int32 `json:\"n,omitempty\" patchStrategy:\"merge\" protobuf:\"varint,2,opt,name=n\"`\n\
            \tP *int32 `json:\"p,omitempty\" protobuf:\"varint,3,opt,name=p\"`\n\
            \tT Time `json:\"t,omitempty,omitzero\" protobuf:\"bytes,6,opt,name=t\"`\n\
            \tS string `json:\"s\" protobuf:\"bytes,4,opt,name=s\"`\n\
            \t// Old int32 `json:\"old\" protobuf:\"varint,5,opt,name=old\"`\n\
            }\n";
        let mut tags = Tags::new();
        collect(text, &mut tags);
        let seen: Vec<_> = tags
            .into_iter()
            .map(|((_, number), tag)| (number, tag.json_name, tag.omits_empty, tag.omits_zero))
            .collect();
        let expected = [
            (1, "", false, false),
            (2, "n", true, false),
            (3, "p", false, false),
            (4, "s", false, false),
            (6, "t", true, true),
        ];
        assert_eq!(
            seen,
            expected.map(|(number, name, empty, zero)| (number, name.to_owned(), empty, zero))
        );
    }
}
