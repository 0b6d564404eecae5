//! Which field of a spec a failure is about.
//!
//! Terraform speaks of variables. Who wrote a field of a CAPTCluster or a CAPTControlPlane does not know what the module
//! calls it.

/// A variable of a module, and the field that it comes from.
pub(crate) type Field = (&'static str, &'static str);

/// What a person changes to mend a failure: the fields behind the variables that it names, or the spec.
pub(crate) fn to_be_changed(failure: &str, fields: &[Field]) -> String {
    let named = fields.iter().filter(|(variable, _)| names(failure, variable));
    let named: Vec<String> = named
        .map(|(variable, field)| format!("{field} (the variable {variable})"))
        .collect();
    match named.as_slice() {
        [] => "the spec".to_owned(),
        named => named.join(" or "),
    }
}

/// Whether a text speaks of a variable, as Terraform and our runner do: `var.name`, `variable name`, or its name in quotes.
fn names(text: &str, variable: &str) -> bool {
    let is_part_of_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let is_named = |words: String| {
        let mut places = text.match_indices(&words);
        places.any(|(place, _)| {
            let rest = text.get(place + words.len()..).unwrap_or_default();
            !rest.starts_with(is_part_of_name)
        })
    };
    text.contains(&format!("\"{variable}\""))
        || is_named(format!("var.{variable}"))
        || is_named(format!("variable {variable}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_fields_behind_its_variables() {
        let fields = [("vpc_cidr", "spec.vpcConfig.cidr"), ("region", "spec.region")];
        for (failure, expected) in [
            ("no subnets", "the spec"),
            ("the region is full, and so is vpc_cidr", "the spec"),
            (
                "cidrsubnet(var.vpc_cidr, 4, 0): invalid prefix",
                "spec.vpcConfig.cidr (the variable vpc_cidr)",
            ),
            (
                "Invalid value for variable \"region\"",
                "spec.region (the variable region)",
            ),
            (
                "Invalid value for variable at spec.forProvider.vars, variable vpc_cidr",
                "spec.vpcConfig.cidr (the variable vpc_cidr)",
            ),
            ("var.vpc_cidr_block and var.region-name", "the spec"),
            (
                "var.vpc_cidr, var.region",
                "spec.vpcConfig.cidr (the variable vpc_cidr) or spec.region (the variable region)",
            ),
        ] {
            assert_eq!(to_be_changed(failure, &fields), expected, "{failure}");
        }
    }
}
