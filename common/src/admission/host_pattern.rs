//! One pattern for hosts, as used where settings differ for some of them.

use super::AdmissionError;
use super::host_list::HostList;
use super::verdict::RuleName;
use crate::host::HostKey;

#[derive(Clone, Debug)]
pub struct HostPattern(HostList);

impl HostPattern {
    pub fn parse(text: &str) -> Result<Self, AdmissionError> {
        let mut wrong = Vec::new();
        let list = HostList::compile(RuleName::Hosts, &[text.to_owned()], &mut wrong);
        if wrong.is_empty() { Ok(Self(list)) } else { Err(AdmissionError { wrong }) }
    }

    pub fn matches(&self, host: &HostKey) -> bool {
        self.0.find(host.as_str()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_as_in_the_lists() {
        let matches = |pattern: &str, host: &str| {
            HostPattern::parse(pattern).unwrap().matches(&HostKey::from_stored(host.to_owned()))
        };
        assert!(matches("*.a.test", "x.a.test") && !matches("*.a.test", "a.test"));
        assert!(matches("a.test", "a.test") && matches("re:^a", "abc.test") && matches("*", "any.test:8080"));
        assert!(HostPattern::parse("re:(").is_err() && HostPattern::parse("").is_err());
    }
}
