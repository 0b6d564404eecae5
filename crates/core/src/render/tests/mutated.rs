//! Modules as people write them, damaged: whatever can still be read keeps its shape, and everything gets an answer.
//!
//! `PROPTEST_CASES` asks for more cases; `cargo xtask fuzz` does.

use capt_api::foreign::forprovider::FileFormat;
use hcl_edit::{
    expr::{Array, Expression},
    structure::Body,
    visit_mut::{self, VisitMut},
};
use proptest::{prelude::*, sample::Index};

use super::{
    properties::{blocks, fill, hcl_module, quoted_text, value},
    *,
};
use crate::wta::location;

/// Modules that we ship, and so are known to be good.
const MODULES: [&str; 3] = [
    include_str!("../../../../../terraform/sandbox/vpc/main.tf"),
    include_str!("../../../../../terraform/sandbox/eks/variables.tf"),
    include_str!("../../../../../terraform/sandbox/fargate-profile/main.tf"),
];

/// One change to a text.
#[derive(Clone, Debug)]
enum Change {
    Cut(Index),
    Remove(Index, Index),
    Repeat(Index, Index),
    Insert(Index, String),
}

fn change() -> impl Strategy<Value = Change> {
    let pieces = prop::sample::select(vec![
        "${a}",
        "\"${b}\"",
        "\"",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "${",
        "%{",
        "~}",
        "<<EOT\n",
        "\nEOT\n",
        "<<-A\n",
        "\n",
        "#",
        "//",
        "/*",
        "*/",
        "=",
        ",",
        "?",
        ":",
        "...",
        "for",
        "in",
        "if",
        "\\",
        "terraform {",
        "backend \"s3\" {",
        "\u{0}",
        "\u{feff}",
        "é",
    ]);
    let piece = prop_oneof![pieces.prop_map(str::to_owned), quoted_text(), value()];
    let index = any::<Index>;
    prop_oneof![
        1 => index().prop_map(Change::Cut),
        2 => (index(), index()).prop_map(|(from, to)| Change::Remove(from, to)),
        2 => (index(), index()).prop_map(|(from, to)| Change::Repeat(from, to)),
        5 => (index(), piece).prop_map(|(at, piece)| Change::Insert(at, piece)),
    ]
}

/// The next place at which a text can be cut.
fn boundary(text: &str, at: Index) -> usize {
    let at = at.index(text.len() + 1);
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut text = text.to_owned();
    for change in changes {
        if text.len() > 1 << 16 {
            break;
        }
        match change {
            Change::Cut(at) => text.truncate(boundary(&text, *at)),
            Change::Remove(from, to) | Change::Repeat(from, to) => {
                let (from, to) = (boundary(&text, *from), boundary(&text, *to));
                let range = from.min(to)..from.max(to);
                let part = match change {
                    Change::Remove(..) => String::new(),
                    _ => text[range.clone()].repeat(2),
                };
                text.replace_range(range, &part);
            }
            Change::Insert(at, piece) => text.insert_str(boundary(&text, *at), piece),
        }
    }
    text
}

fn module_text() -> impl Strategy<Value = String> {
    let written = prop_oneof![
        prop::sample::select(MODULES.to_vec()).prop_map(str::to_owned),
        hcl_module()
    ];
    (written, prop::collection::vec(change(), 0..5)).prop_map(|(text, changes)| changed(&text, &changes))
}

/// What a module consists of, but for the texts in it, however deep they are.
fn shape(text: &str) -> Vec<String> {
    let mut body: Body = text.parse().unwrap();
    Masked.visit_body_mut(&mut body);
    blocks(&body)
}

struct Masked;

impl VisitMut for Masked {
    fn visit_expr_mut(&mut self, node: &mut Expression) {
        match node {
            Expression::String(_) | Expression::StringTemplate(_) | Expression::HeredocTemplate(_) => {
                *node = Expression::from("text");
            }
            // Keys may be texts too, and are not visited.
            Expression::Object(fields) => {
                let mut values: Array = fields.iter().map(|(_, value)| value.expr().clone()).collect();
                self.visit_array_mut(&mut values);
                *node = Expression::Array(values);
            }
            other => visit_mut::visit_expr_mut(self, other),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_module_keeps_its_shape(text in module_text(), a in value(), b in value()) {
        let template = inline("HCL", &text);
        if holes(&template).is_ok() && render(&input(&template, &variables(&[("a", &a), ("b", &b)]))).is_ok() {
            let filled = fill(FileFormat::HCL, &text, &a, &b);
            prop_assert!(filled.parse::<Body>().is_ok(), "filled, it cannot be read any more:\n{}", filled);
            prop_assert_eq!(shape(&text), shape(&filled));
            prop_assert_eq!(fill(FileFormat::HCL, &filled, "other", "other"), filled);
        }
    }

    /// No value moves state: what a module says about its backend is read by others too.
    #[test]
    fn a_changed_module_tells_its_backend_or_nothing(text in module_text()) {
        let template = inline("HCL", &text);
        let for_provider = &template.template.spec.for_provider;
        let told = location::backend_of_module(for_provider);
        prop_assert_eq!(told.is_some() && text.parse::<Body>().is_err(), false);
        prop_assert_eq!(&told, &location::backend_of_module(for_provider));
    }
}

/// Parsers that follow every bracket into a deeper call end the whole process when there are too many.
#[test]
fn no_depth_ends_the_process() {
    let nestings = [
        ("[", "]"),
        ("(", ")"),
        ("{a=", "}"),
        ("!", ""),
        ("-", ""),
        ("\"${", "}\""),
        ("f(", ")"),
        ("[for x in y : ", "]"),
        ("true ? ", " : 1"),
        ("true ? 1 : ", ""),
        ("1 + ", ""),
        ("b[", "]"),
    ];
    for depth in [10, 1_000, 100_000] {
        for (open, close) in nestings {
            let text = format!("a = {}1{}\n", open.repeat(depth), close.repeat(depth));
            let _ = holes(&inline("HCL", &text));
        }
        for text in [
            format!("{}{}", "a {\n".repeat(depth), "}\n".repeat(depth)),
            format!(
                "a = \"{}x{}\"\n",
                "%{ if true }".repeat(depth),
                "%{ endif }".repeat(depth)
            ),
            format!("a = {}", "[".repeat(depth)),
        ] {
            let _ = holes(&inline("HCL", &text));
        }
        let _ = holes(&inline(
            "JSON",
            &format!("{}{}", "[".repeat(depth), "]".repeat(depth)),
        ));
    }
}
