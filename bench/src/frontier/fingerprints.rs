//! Fingerprints of as many URLs as the source of the method took, and whether two were the same.

use seine_common::fingerprint::Fingerprinter;

use super::FrontierReport;
use crate::measure;

/// As many as in the source, which needed 1,775 CPU seconds.
const URLS: u64 = 23_743_961;

pub fn measure(report: &mut FrontierReport) -> anyhow::Result<()> {
    let mut dice = 0x5eed_1234_abcd_0001_u64;
    let fingerprinter = Fingerprinter::random(|| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        dice
    });
    let mut fingerprints = Vec::with_capacity(URLS as usize);
    let mut text = String::new();
    let before = measure::own_cpu_seconds()?;
    for number in 0..URLS {
        use std::fmt::Write;
        text.clear();
        write!(text, "http://www.host-{}.example.org/section-{}/article-{number}.html", number % 100_003, number % 97)?;
        fingerprints.push(fingerprinter.of(text.as_bytes()));
    }
    report.fingerprint_cpu_seconds = measure::own_cpu_seconds()? - before;
    fingerprints.sort_unstable();
    report.fingerprinted = URLS;
    report.collisions = fingerprints.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    Ok(())
}
