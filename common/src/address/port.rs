//! Ports that are not asked, whoever names them: other services than web servers listen there, and a request could be taken
//! for a command of theirs. The list is that of the Fetch standard, which browsers keep to ("bad ports"), and port 0.

/// In order.
const REFUSED: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Whether no page is asked for on this port.
pub fn is_refused(port: u16) -> bool {
    REFUSED.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_other_services_are_refused_and_those_of_web_servers_not() {
        assert!(REFUSED.is_sorted());
        for port in [0, 22, 25, 53, 110, 143, 587, 993, 2049, 6000, 6667, 10080] {
            assert!(is_refused(port), "{port}");
        }
        for port in [80, 81, 443, 1024, 3000, 5000, 8000, 8080, 8443, 9000, 10081, 32768, 65535] {
            assert!(!is_refused(port), "{port}");
        }
    }
}
