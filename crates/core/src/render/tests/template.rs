//! A template is read once, whoever renders it.

use super::{super::inline::PARSED, *};

fn parsed() -> usize {
    PARSED.with(std::cell::Cell::get)
}

#[test]
fn a_module_is_parsed_once_for_all_who_render_it_or_ask_for_its_holes() {
    let spec = inline("HCL", "a = \"${name}\"\nb = \"${size}\"\n");
    let before = parsed();
    let template = Template::read(spec.clone());
    for name in ["one", "two", "three"] {
        let variables = variables(&[("name", name), ("size", "3"), ("nmae", "x")]);
        let rendering = template.render(input(&spec, &variables)).unwrap();
        let text = &serde_json::to_value(&rendering.spec).unwrap()["forProvider"]["module"];
        assert_eq!(*text, format!("a = \"{name}\"\nb = \"3\"\n"));
        assert_eq!(unknown(&template, &variables).len(), 1);
        assert_eq!(template.holes().unwrap().len(), 2);
    }
    assert_eq!(parsed() - before, 1);
}

#[test]
fn what_was_read_before_is_rendered_like_what_was_not() {
    let remote = json!({"forProvider": {"source": "Remote", "module": "./${name}"}});
    for spec in [
        inline("HCL", "a = \"${name}\"\n"),
        inline("HCL", "a = \"${other}\"\n"),
        inline("HCL", "a = {\n"),
        inline("JSON", r#"{"locals": {"a": "${name}"}}"#),
        inline("JSON", "{"),
        template(&remote),
        template(&json!({"forProvider": {"source": "Remote", "module": "./${name"}})),
    ] {
        let variables = variables(&[("name", "x")]);
        let read = Template::read(spec.clone());
        // The template in the input is not the one that counts.
        let another = inline("HCL", "b = 1\n");
        assert_eq!(
            read.render(input(&another, &variables)),
            render(&input(&spec, &variables))
        );
        assert_eq!(
            read.holes().map(<[_]>::to_vec).map_err(<[_]>::to_vec),
            holes(&spec)
        );
        assert_eq!(read.revision(), revision(&spec));
        assert_eq!(*read.spec(), spec);
    }
}
