//! Which addresses requests may go to: those of the public network, and those that the operator granted by address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::config::AddressRange;
use crate::model::origin::OriginPattern;

/// The addresses as they are, where every one of them may be dialled.
///
/// # Errors
/// Where some may not: a name that has both kinds of address is refused whole. Those that lack a grant come with
/// the rule, as a grant names them.
pub(super) fn check(
    addresses: &[IpAddr],
    granted: &[AddressRange],
) -> Result<Vec<IpAddr>, (Vec<IpAddr>, String)> {
    let mut lacking = Vec::new();
    let mut kinds = Vec::new();
    for address in addresses {
        let plain = unmapped(*address);
        let allowed = granted.iter().any(|range| range.contains(*address) || range.contains(plain));
        if !allowed && let Some(kind) = special(*address) {
            lacking.push(plain);
            kinds.push(kind);
        }
    }
    match kinds.first() {
        None => Ok(addresses.to_vec()),
        Some(kind) => {
            let a = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            Err((lacking, format!("the name leads to {a} {kind} address, which must be granted by address")))
        }
    }
}

/// The addresses that an origin leads to by its name alone, and that would have to be granted by address. Where any other
/// name leads is known once it is asked for.
pub fn ungranted(origin: &OriginPattern, granted: &[AddressRange]) -> Vec<IpAddr> {
    let host = origin.one().map(|origin| origin.host.as_str()).unwrap_or_default();
    let this_machine = host == "localhost" || host.ends_with(".localhost");
    let named = match host.parse() {
        Ok(address) => vec![address],
        Err(_) if this_machine => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Err(_) => Vec::new(),
    };
    check(&named, granted).err().map(|(lacking, _)| lacking).unwrap_or_default()
}

fn unmapped(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// What kind of address it is, where it is none of the public network (IANA's special-purpose registries).
fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(four) => special_four(four),
        IpAddr::V6(six) => special_six(six),
    }
}

fn special_four(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (0, _, _) => Some("unspecified"),
        (127, _, _) => Some("loopback"),
        (10, _, _) | (172, 16..=31, _) | (192, 168, _) => Some("private"),
        (169, 254, _) => Some("link-local"),
        (100, 64..=127, _) => Some("shared"),
        (192, 0, 0) | (192, 0, 2) | (198, 18..=19, _) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) => {
            Some("reserved")
        }
        (224..=239, _, _) => Some("multicast"),
        (240..=255, _, _) => Some("reserved"),
        _ => None,
    }
}

fn special_six(address: Ipv6Addr) -> Option<&'static str> {
    let [a, b, c, d, e, f, ..] = address.segments();
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xffff) => Some("mapped"),
        (0, 0, 0, 0, 0, 0) => Some(if address.is_loopback() { "loopback" } else { "unspecified" }),
        (0x64, 0xff9b, ..) => Some("translated"),
        (0x100, 0, 0, 0, ..) => Some("discarded"),
        (0x2001, 0..=0x1ff, ..) | (0x2001, 0xdb8, ..) | (0x3fff, 0..=0xfff, ..) | (0x5f00, ..) => {
            Some("reserved")
        }
        (0x2002, ..) => Some("translated"),
        (0xfc00..=0xfdff, ..) => Some("private"),
        (0xfe80..=0xfebf, ..) => Some("link-local"),
        (0xfec0..=0xfeff, ..) => Some("private"),
        (0xff00..=0xffff, ..) => Some("multicast"),
        (0x2000..=0x3fff, ..) => None,
        _ => Some("reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn nothing_but_the_public_network_is_reached_ungranted() {
        for bad in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.0.0.5",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "fc00::1",
            "fd00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(check(&addresses(&[bad]), &[]).is_err(), "{bad}");
        }
        for good in ["8.8.8.8", "100.63.0.1", "100.128.0.1", "172.32.0.1", "2606:4700::1", "2a00:1450::1"] {
            assert!(check(&addresses(&[good]), &[]).is_ok(), "{good}");
        }
    }

    #[test]
    fn a_name_with_one_bad_address_is_refused_whole() {
        assert!(check(&addresses(&["8.8.8.8", "10.0.0.1"]), &[]).is_err());
    }

    #[test]
    fn what_is_granted_by_address_is_reached_and_nothing_beside_it() {
        let granted = [AddressRange { base: "10.1.0.0".parse().unwrap(), bits: 16 }];
        assert!(check(&addresses(&["10.1.2.3"]), &granted).is_ok());
        assert!(check(&addresses(&["::ffff:10.1.2.3"]), &granted).is_ok());
        assert!(check(&addresses(&["10.2.0.1"]), &granted).is_err());
        let all = [AddressRange { base: "0.0.0.0".parse().unwrap(), bits: 0 }];
        assert!(check(&addresses(&["10.2.0.1"]), &all).is_ok());
        assert!(check(&addresses(&["::1"]), &all).is_err());
    }

    #[test]
    fn what_leads_to_no_public_address_by_its_name_is_known_before_it_is_asked_for() {
        let table = [
            ("http://127.0.0.1:8080", "127.0.0.1"),
            ("http://[::1]:8080", "::1"),
            ("http://10.1.2.3", ""),
            ("http://localhost", "127.0.0.1 ::1"),
            ("http://desk.localhost", "127.0.0.1 ::1"),
            ("https://8.8.8.8", ""),
            ("https://desk.example.com", ""),
            ("https://*.localhost", ""),
        ];
        let granted = [AddressRange { base: "10.1.0.0".parse().unwrap(), bits: 16 }];
        for (origin, lacking) in table {
            let found = ungranted(&origin.parse().unwrap(), &granted);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), lacking, "{origin}");
        }
    }
}
