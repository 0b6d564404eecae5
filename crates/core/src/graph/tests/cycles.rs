//! Things that wait for each other.

use super::*;
use Relation::{Input, Part, Product};

type Edge<'a> = (&'a str, Relation, &'a str);

fn graph(edges: &[Edge<'_>]) -> Graph {
    let mut graph = Graph::default();
    for id in edges.iter().flat_map(|(who, _, whom)| [who, whom]) {
        let node = Node {
            kind: "Thing".to_owned(),
            name: (*id).to_owned(),
            status: String::new(),
            health: Health::Good,
            reason: String::new(),
            message: String::new(),
            created_at: None,
            since: None,
        };
        graph.add(*id, node);
    }
    for (who, relation, whom) in edges {
        graph.relate(who, *relation, whom);
    }
    graph
}

#[test]
fn a_circle_is_spelled_out_and_nothing_else_is_one() {
    type Circle<'a> = Option<&'a [&'a str]>;
    let table: [(&str, &[Edge<'_>], Circle<'_>); 8] = [
        ("a chain", &[("a", Input, "b"), ("b", Input, "c")], None),
        (
            "a diamond",
            &[
                ("a", Part, "b"),
                ("a", Part, "c"),
                ("b", Input, "d"),
                ("c", Input, "d"),
            ],
            None,
        ),
        (
            "a maker waits for its part, and the part for its maker's begin",
            &[("a", Part, "b")],
            None,
        ),
        ("oneself", &[("a", Input, "a")], Some(&["a", "a"])),
        (
            "two",
            &[("a", Input, "b"), ("b", Input, "a")],
            Some(&["a", "b", "a"]),
        ),
        (
            "three, and one before them",
            &[
                ("a", Input, "b"),
                ("b", Input, "c"),
                ("c", Input, "d"),
                ("d", Input, "b"),
            ],
            Some(&["b", "c", "d", "b"]),
        ),
        (
            "a product of what waits for it",
            &[
                ("apply", Part, "workspace"),
                ("apply", Input, "secret"),
                ("secret", Product, "workspace"),
            ],
            Some(&["workspace", "secret", "workspace"]),
        ),
        (
            "a part whose maker waits for what uses the part",
            &[
                ("plane", Part, "x"),
                ("plane", Input, "net"),
                ("net", Part, "vpc"),
                ("vpc", Input, "x"),
            ],
            Some(&["net", "vpc", "x", "net"]),
        ),
    ];
    for (name, edges, expected) in table {
        let found = graph(edges).cycle().map(|cycle| cycle.ids);
        let expected = expected.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_network_that_waits_for_its_cluster_is_a_circle_in_words() {
    let mut snapshot = demo();
    snapshot.applies[0].spec.wait_for_secrets = Some(read(json!([{"name": "plane-eks-connection"}])));
    let cycle = build(&snapshot).cycle().expect("neither can ever be made");
    let text = cycle.to_string();
    for part in [
        "These wait for each other: ",
        "Workspace/net-vpc",
        "Secret/plane-eks-connection",
        "Workspace/plane-eks-controlplane",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(cycle.ids.first(), cycle.ids.last());
}

#[test]
fn a_very_long_chain_is_no_trouble() {
    let names: Vec<String> = (0..20_000).map(|place| format!("{place:05}")).collect();
    let edges: Vec<_> = names
        .windows(2)
        .map(|pair| (pair[0].as_str(), Input, pair[1].as_str()))
        .collect();
    assert_eq!(graph(&edges).cycle(), None);
}
