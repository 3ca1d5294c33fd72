//! Which versions of the program work together: those whose first number is the same and whose second differs by at most one.

/// Says which side to upgrade where two versions do not fit.
pub fn fit(monitor: &str, node: &str) -> Result<(), String> {
    let (Some(ours), Some(theirs)) = (numbers(monitor), numbers(node)) else {
        return Err(format!("the node's version {node:?} is not one of seine; the Monitor runs {monitor}"));
    };
    if ours.0 == theirs.0 && ours.1.abs_diff(theirs.1) <= 1 {
        return Ok(());
    }
    let older = if theirs < ours { "the node" } else { "the Monitor" };
    Err(format!("the Monitor runs seine {monitor} and the node {node}, which are too far apart; upgrade {older}"))
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_minor_version_apart_works_and_further_apart_says_which_to_upgrade() {
        for fitting in ["1.4.0", "1.3.9", "1.5.2"] {
            assert_eq!(fit("1.4.0", fitting), Ok(()));
        }
        assert!(fit("1.4.0", "1.2.0").unwrap_err().ends_with("upgrade the node"));
        assert!(fit("1.4.0", "0.4.0").unwrap_err().ends_with("upgrade the node"));
        assert!(fit("1.4.0", "1.6.0").unwrap_err().ends_with("upgrade the Monitor"));
        assert!(fit("1.4.0", "2.4.0").unwrap_err().ends_with("upgrade the Monitor"));
        assert!(fit("1.4.0", "").is_err() && fit("1.4.0", "new").is_err());
    }
}
