use serde_json::json;

use super::*;

#[test]
fn an_output_of_the_wrong_kind_is_named_with_what_it_should_be() {
    for (value, expected) in [
        (json!("https://host"), Ok("https://host")),
        (json!(null), Err("no output endpoint, or it is null")),
        (json!("  "), Err("is empty. Make it a text")),
        (json!(7), Err("is a number. Make it a text")),
        (json!(["a"]), Err("is a list. Make it a text")),
    ] {
        let outputs = BTreeMap::from([("endpoint".to_owned(), value.clone())]);
        match (text(&outputs, "endpoint"), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(problem), Err(words)) => {
                assert!(problem.to_string().contains(words), "{value}: {problem}");
            }
            (found, _) => panic!("{value}: {found:?}"),
        }
    }
    assert!(text(&BTreeMap::new(), "endpoint").is_err());
}

#[test]
fn a_list_of_texts_may_be_written_as_json() {
    for (value, expected) in [
        (json!(["a", "b"]), Ok(vec!["a", "b"])),
        (json!("[\"a\"]"), Ok(vec!["a"])),
        (json!([]), Ok(vec![])),
        (json!("a,b"), Err("is a text. Make it a list of texts")),
        (json!([1]), Err("a list with other things in it")),
        (json!({}), Err("is an object")),
        (json!(null), Err("no output zones")),
    ] {
        let outputs = BTreeMap::from([("zones".to_owned(), value.clone())]);
        match (list_of_texts(&outputs, "zones"), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(problem), Err(words)) => {
                assert!(problem.to_string().contains(words), "{value}: {problem}");
            }
            (found, _) => panic!("{value}: {found:?}"),
        }
    }
}
