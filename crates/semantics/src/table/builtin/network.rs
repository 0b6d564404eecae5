//! Services and what is behind them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Column, age, count, items, joined, labels, string, text, text_of, wide};

/// How many addresses or ports a cell names before it only counts.
const SHOWN: usize = 3;

pub(super) fn service() -> Vec<Column> {
    vec![
        Column::name(),
        text("Type", "How the service is exposed.", |service, _| {
            string(&service["spec"]["type"])
        }),
        text("Cluster-IP", "Its address inside the cluster.", |service, _| {
            let first = &service["spec"]["clusterIPs"][0];
            let address = if first.is_null() {
                &service["spec"]["clusterIP"]
            } else {
                first
            };
            super::text_or(address, "<none>").into()
        }),
        text(
            "External-IP",
            "Its addresses outside the cluster.",
            |service, _| external_address(service).into(),
        ),
        text("Port(s)", "The ports that it serves.", |service, _| {
            ports(service).into()
        }),
        age(),
        wide("Selector", "Which pods are behind it.", |service, _| {
            labels(&service["spec"]["selector"]).into()
        }),
    ]
}

fn external_address(service: &Value) -> String {
    let spec = &service["spec"];
    let external = joined(items(&spec["externalIPs"]).iter().map(text_of), ",");
    match text_of(&spec["type"]) {
        "ClusterIP" | "NodePort" if external.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => external,
        "LoadBalancer" => {
            let balancers: BTreeSet<&str> = items(&service["status"]["loadBalancer"]["ingress"])
                .iter()
                .map(|ingress| super::text_or(&ingress["ip"], text_of(&ingress["hostname"])))
                .filter(|address| !address.is_empty())
                .collect();
            let balancers = joined(balancers, ",");
            match (balancers.is_empty(), external.is_empty()) {
                (true, true) => "<pending>".to_owned(),
                (true, false) => external,
                (false, true) => balancers,
                (false, false) => format!("{balancers},{external}"),
            }
        }
        "ExternalName" => text_of(&spec["externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn ports(service: &Value) -> String {
    let ports: Vec<String> = items(&service["spec"]["ports"])
        .iter()
        .map(|port| {
            let (number, protocol) = (count(&port["port"]), super::text_or(&port["protocol"], "TCP"));
            match count(&port["nodePort"]) {
                0 => format!("{number}/{protocol}"),
                node_port => format!("{number}:{node_port}/{protocol}"),
            }
        })
        .collect();
    if ports.is_empty() {
        "<none>".to_owned()
    } else {
        ports.join(",")
    }
}

pub(super) fn endpoints() -> Vec<Column> {
    let addresses = text("Endpoints", "Where the service's pods listen.", |object, _| {
        endpoint_addresses(object).into()
    });
    vec![Column::name(), addresses, age()]
}

fn endpoint_addresses(object: &Value) -> String {
    let subsets = items(&object["subsets"]);
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let mut list = Shortened::default();
    for subset in subsets {
        let addresses = items(&subset["addresses"])
            .iter()
            .map(|address| text_of(&address["ip"]));
        let ports = items(&subset["ports"]);
        if ports.is_empty() {
            addresses
                .clone()
                .for_each(|address| list.push(|| address.to_owned()));
        }
        for port in ports {
            let port = count(&port["port"]);
            for address in addresses.clone() {
                list.push(|| {
                    if address.contains(':') {
                        format!("[{address}]:{port}")
                    } else {
                        format!("{address}:{port}")
                    }
                });
            }
        }
    }
    list.text("")
}

pub(super) fn endpoint_slice() -> Vec<Column> {
    vec![
        Column::name(),
        text("AddressType", "What kind of addresses these are.", |slice, _| {
            string(&slice["addressType"])
        }),
        text("Ports", "The ports that all of them listen on.", |slice, _| {
            let mut list = Shortened::default();
            for port in items(&slice["ports"]) {
                list.push(|| match port["port"].as_i64() {
                    Some(number) => number.to_string(),
                    None => port["name"].as_str().unwrap_or("*").to_owned(),
                });
            }
            list.text("<unset>").into()
        }),
        text("Endpoints", "The addresses.", |slice, _| {
            let mut list = Shortened::default();
            let addresses = items(&slice["endpoints"])
                .iter()
                .flat_map(|endpoint| items(&endpoint["addresses"]));
            for address in addresses {
                list.push(|| text_of(address).to_owned());
            }
            list.text("<unset>").into()
        }),
        age(),
    ]
}

/// A list of which only the beginning is shown.
#[derive(Default)]
struct Shortened {
    shown: Vec<String>,
    total: usize,
}

impl Shortened {
    fn push(&mut self, item: impl FnOnce() -> String) {
        self.total += 1;
        if self.shown.len() < SHOWN {
            self.shown.push(item());
        }
    }

    fn text(&self, when_empty: &str) -> String {
        let shown = self.shown.join(",");
        match self.total {
            0 => when_empty.to_owned(),
            total if total > SHOWN => format!("{shown} + {} more...", total - SHOWN),
            _ => shown,
        }
    }
}
