//! Two programs by whole crawls of the same web, in turns: what "no slower than before" means.
//!
//! A machine's speed drifts by more than most changes are worth, so single runs prove nothing. Each pair runs both programs
//! within a minute or two, the order changes from pair to pair, and what counts is the median of the pairs' ratios.

use std::path::Path;

use serde::Serialize;

use crate::report::CrawlerRun;
use crate::seine::Contender;

/// One crawl by each program, one right after the other.
#[derive(Debug, Serialize)]
pub struct Pair<R = CrawlerRun> {
    pub before: R,
    pub now: R,
}

/// Crawls in the way that the last argument does.
pub async fn compare<W, R>(
    web: &W,
    now: &Contender,
    before: &Contender,
    pairs: u32,
    work: &Path,
    crawl: impl AsyncFn(&W, &Contender, &Path) -> anyhow::Result<R>,
) -> anyhow::Result<Vec<Pair<R>>> {
    let mut done = Vec::new();
    for pair in 0..pairs {
        eprintln!("pair {} of {pairs}", pair + 1);
        let pair = if pair % 2 == 0 {
            let before = crawl(web, before, work).await?;
            Pair { before, now: crawl(web, now, work).await? }
        } else {
            let now = crawl(web, now, work).await?;
            Pair { before: crawl(web, before, work).await?, now }
        };
        done.push(pair);
    }
    Ok(done)
}

/// A figure of a crawl: its name, how it is read, and the digits that are worth printing.
pub type Figure<R> = (&'static str, fn(&R) -> f64, usize);

pub const FIGURES: [Figure<CrawlerRun>; 4] = [
    ("pages/s", CrawlerRun::pages_per_second, 0),
    ("CPU s/1000 pages", CrawlerRun::cpu_per_1000, 2),
    ("anonymous memory MB", |run| run.cost.peak_anon_mb, 0),
    ("RSS MB", |run| run.cost.peak_rss_mb, 0),
];

/// A line per figure: the medians, and each pair's ratio.
pub fn rows<R>(pairs: &[Pair<R>], figures: &[Figure<R>]) -> Vec<Vec<String>> {
    let head = ["crawls in turns, medians", "before", "now", "ratio", "ratios of the pairs"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for &(name, figure, digits) in figures {
        let before = median(pairs.iter().map(|pair| figure(&pair.before)));
        let now = median(pairs.iter().map(|pair| figure(&pair.now)));
        let ratios: Vec<f64> = pairs.iter().map(|pair| figure(&pair.now) / figure(&pair.before)).collect();
        let each: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.3}")).collect();
        rows.push(vec![
            format!("{name}, {} pairs", pairs.len()),
            format!("{before:.digits$}"),
            format!("{now:.digits$}"),
            format!("{:.3}", median(ratios.iter().copied())),
            each.join(" "),
        ]);
    }
    rows
}

/// Of an even number, the mean of the two in the middle.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Cost;
    use crate::web::Sighting;

    fn run(seconds: f64, cpu_seconds: f64) -> CrawlerRun {
        CrawlerRun {
            name: "seine".to_owned(),
            does: String::new(),
            pages: 1000,
            indexed: Some(1000),
            capped: false,
            cost: Cost { seconds, cpu_seconds, peak_rss_mb: 200.0, peak_anon_mb: 100.0 },
            seen: Sighting { pages: 1000, repeated: 0, unexpected: 0, missed: 0 },
        }
    }

    #[test]
    fn one_disturbed_pair_does_not_move_the_ratio() {
        let pairs = [(2.0, 1.0, 1.0), (2.0, 1.0, 1.0), (2.0, 9.0, 30.0)]
            .map(|(before, now, cpu)| Pair { before: run(before, 2.0), now: run(now, cpu) });
        let rows = rows(&pairs, &FIGURES);
        assert_eq!(rows[1][..4], ["pages/s, 3 pairs", "500", "1000", "2.000"]);
        assert_eq!(rows[2][..4], ["CPU s/1000 pages, 3 pairs", "2.00", "1.00", "0.500"]);
        assert_eq!(rows[3][3..], ["1.000", "1.000 1.000 1.000"]);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_ones() {
        assert_eq!(median([4.0, 1.0, 3.0, 2.0].into_iter()), 2.5);
    }
}
