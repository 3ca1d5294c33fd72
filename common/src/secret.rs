//! A text that is shown to nobody: not in `Debug`, so neither in logs nor in errors. Who must have it asks with
//! [`Secret::reveal`].

use std::fmt;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// For whoever it is meant for.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_only_to_who_asks_for_it() {
        let secret = Secret::new("opensesame");
        assert_eq!(secret.reveal(), "opensesame");
        assert!(!format!("{secret:?} {:?}", Some(&secret)).contains("sesame"));
    }
}
