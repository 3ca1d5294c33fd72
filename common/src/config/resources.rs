//! The share of the machine that the process may take.

use serde::Deserialize;

use super::{ConfigError, value};

/// With less, the shares of the tiers are too small to work with.
const LEAST_MEMORY: u64 = 128_000_000;
const MOST_MEMORY: u64 = 1 << 44;

#[derive(Clone, Copy, Debug)]
pub struct ResourcesConfig {
    pub memory_bytes: u64,
}

impl ResourcesConfig {
    /// A part of the memory, from 0 to 1, in bytes.
    pub fn share(&self, part: f64) -> usize {
        (self.memory_bytes as f64 * part) as usize
    }
}

#[derive(Deserialize)]
pub struct RawResources {
    memory: String,
}

impl RawResources {
    pub fn validate(self) -> Result<ResourcesConfig, ConfigError> {
        let Self { memory } = self;
        let problem = match parse_size(&memory) {
            None => format!("{memory:?} is not an amount of memory; write a number with M or G, such as 240M"),
            Some(bytes) if !(LEAST_MEMORY..=MOST_MEMORY).contains(&bytes) => {
                format!("{memory:?} is not between 128M and 16000G")
            }
            Some(memory_bytes) => return Ok(ResourcesConfig { memory_bytes }),
        };
        Err(value("resources.memory", problem))
    }
}

/// A number of bytes as people write it: 900, 500k, 256M or 2G, in steps of a thousand.
pub fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = match text.char_indices().next_back()? {
        (at, 'k') => (&text[..at], 1_000),
        (at, 'M') => (&text[..at], 1_000_000),
        (at, 'G') => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_thousands() {
        let expected = [Some(900), Some(500_000), Some(256_000_000), Some(2_000_000_000)];
        assert_eq!(["900", "500k", "256M", "2G"].map(parse_size), expected);
        for wrong in ["", "k", "2.5M", "-1", "2m", "2é", "99999999999999999999G", "18446744073709551615k"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn memory_that_is_no_amount_or_too_little_is_refused_with_the_value() {
        for wrong in ["much", "64M", "99999G"] {
            let refusal = RawResources { memory: wrong.to_owned() }.validate().unwrap_err().to_string();
            assert!(refusal.contains(wrong) && refusal.contains("resources.memory"), "{refusal}");
        }
        let resources = RawResources { memory: "400M".to_owned() }.validate().unwrap();
        assert_eq!((resources.memory_bytes, resources.share(0.25)), (400_000_000, 100_000_000));
    }
}
