//! The partitions of AWS, which have nothing in common but how things are called in them.

/// A partition of AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its name, as it stands in ARNs.
    pub name: &'static str,
    /// How the names of its regions begin.
    regions: &'static str,
    /// Where its services are.
    domain: &'static str,
    /// Where those are that also speak IPv6.
    dual_stack_domain: &'static str,
}

/// Those whose regions begin in a way of their own, and at last the one that all other regions are in. AWS publishes them
/// with its SDKs, as `partitions.json`.
const PARTITIONS: [Partition; 8] = [
    partition(
        "aws-cn",
        "cn-",
        "amazonaws.com.cn",
        "api.amazonwebservices.com.cn",
    ),
    partition("aws-eusc", "eusc-", "amazonaws.eu", "api.amazonwebservices.eu"),
    partition("aws-iso", "us-iso-", "c2s.ic.gov", "api.aws.ic.gov"),
    partition("aws-iso-b", "us-isob-", "sc2s.sgov.gov", "api.aws.scloud"),
    partition(
        "aws-iso-e",
        "eu-isoe-",
        "cloud.adc-e.uk",
        "api.cloud-aws.adc-e.uk",
    ),
    partition("aws-iso-f", "us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
    partition("aws-us-gov", "us-gov-", "amazonaws.com", "api.aws"),
    COMMERCIAL,
];
const COMMERCIAL: Partition = partition("aws", "", "amazonaws.com", "api.aws");

const fn partition(
    name: &'static str,
    regions: &'static str,
    domain: &'static str,
    dual_stack_domain: &'static str,
) -> Partition {
    Partition {
        name,
        regions,
        domain,
        dual_stack_domain,
    }
}

impl Partition {
    /// The partition that a region is in.
    #[must_use]
    pub fn of(region: &str) -> Self {
        let mut all = PARTITIONS.into_iter();
        all.find(|one| region.starts_with(one.regions))
            .unwrap_or(COMMERCIAL)
    }
}

/// Where a region is asked who somebody is.
#[must_use]
pub fn sts_host(region: &str) -> String {
    format!("sts.{region}.{}", Partition::of(region).domain)
}

/// Whether a host is the API server of an EKS cluster, in any partition: `….REGION.eks.DOMAIN`, or
/// `….eks-cluster.REGION.DOMAIN` where it also speaks IPv6.
#[must_use]
pub fn is_eks(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let under = |domain: &str| host.strip_suffix(domain)?.strip_suffix('.');
    let is_eks = |name: &str| {
        let before_region = name.rsplit_once('.').map_or("", |(before, _)| before);
        [name, before_region]
            .into_iter()
            .any(|name| name.ends_with(".eks") || name.ends_with(".eks-cluster"))
    };
    PARTITIONS
        .iter()
        .flat_map(|one| [one.domain, one.dual_stack_domain])
        .any(|domain| under(domain).is_some_and(is_eks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_is_known_by_its_regions_and_calls_things_in_its_own_way() {
        for (region, name, sts, eks) in [
            ("eu-central-1", "aws", "amazonaws.com", "api.aws"),
            ("us-east-1", "aws", "amazonaws.com", "api.aws"),
            ("xy-new-1", "aws", "amazonaws.com", "api.aws"),
            ("us-gov-west-1", "aws-us-gov", "amazonaws.com", "api.aws"),
            (
                "cn-north-1",
                "aws-cn",
                "amazonaws.com.cn",
                "api.amazonwebservices.com.cn",
            ),
            ("us-iso-east-1", "aws-iso", "c2s.ic.gov", "api.aws.ic.gov"),
            ("us-isob-east-1", "aws-iso-b", "sc2s.sgov.gov", "api.aws.scloud"),
            (
                "eu-isoe-west-1",
                "aws-iso-e",
                "cloud.adc-e.uk",
                "api.cloud-aws.adc-e.uk",
            ),
            (
                "us-isof-south-1",
                "aws-iso-f",
                "csp.hci.ic.gov",
                "api.aws.hci.ic.gov",
            ),
            (
                "eusc-de-east-1",
                "aws-eusc",
                "amazonaws.eu",
                "api.amazonwebservices.eu",
            ),
        ] {
            assert_eq!(Partition::of(region).name, name, "{region}");
            assert_eq!(sts_host(region), format!("sts.{region}.{sts}"));
            for host in [
                format!("0A1B.gr7.{region}.eks.{sts}"),
                format!("0A1B.gr7.eks.{region}.{sts}"),
                format!("0A1B.eks-cluster.{region}.{eks}"),
            ] {
                assert!(is_eks(&host), "{host}");
            }
        }
    }

    #[test]
    fn what_only_looks_like_a_host_of_eks_is_none() {
        for host in [
            "eks.amazonaws.com",
            "eks.amazonaws.com.example.org",
            "abc.eks.amazonaws.com.example.org",
            "abc.eks.example.org",
            "abc.eks.notamazonaws.eu",
            "abc.elb.eu-central-1.amazonaws.com",
            "api.example.org",
            "127.0.0.1",
            "::1",
            "",
        ] {
            assert!(!is_eks(host), "{host}");
        }
        assert!(
            is_eks("ABC.GR7.EU-CENTRAL-1.EKS.AMAZONAWS.COM."),
            "as DNS reads names"
        );
    }
}
