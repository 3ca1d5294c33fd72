//! How a crawl goes on: its rate and its memory while each quarter of its pages was answered.

use serde::Serialize;

use crate::measure::Sample;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quarter {
    pub pages_per_second: f64,
    pub cpu_per_1000: f64,
    /// Highest of what no file backs.
    pub anon_mb: f64,
}

/// `times` are of the answers with a page, in seconds since 1970. None for fewer than four answers.
pub fn quarters(mut times: Vec<f64>, samples: &[Sample]) -> Option<[Quarter; 4]> {
    times.sort_by(f64::total_cmp);
    let end_of = |quarter: usize| (quarter * times.len() / 4).checked_sub(1).map(|last| times[last]);
    let first = *times.first()?;
    let mut quarters = [Quarter { pages_per_second: 0.0, cpu_per_1000: 0.0, anon_mb: 0.0 }; 4];
    for (number, quarter) in quarters.iter_mut().enumerate() {
        let (from, to) = (if number == 0 { first } else { end_of(number)? }, end_of(number + 1)?);
        let pages = times.len() as f64 / 4.0;
        let within = || samples.iter().filter(|sample| (from..=to).contains(&sample.at));
        let cpu = within().next_back()?.cpu_seconds - within().next()?.cpu_seconds;
        quarter.pages_per_second = pages / (to - from);
        quarter.cpu_per_1000 = 1000.0 * cpu / pages;
        quarter.anon_mb = within().map(|sample| sample.anon_mb).fold(0.0, f64::max);
    }
    Some(quarters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quarter_of_the_pages_has_the_rate_and_the_memory_of_its_time() {
        // A page a second, then two a second.
        let times = [1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 5.5, 6.0].to_vec();
        let sample = |at: f64| Sample { at, cpu_seconds: at / 2.0, machine_cpu_seconds: 0.0, anon_mb: 100.0 - at };
        let samples: Vec<Sample> = (0..80).map(|tenth| sample(f64::from(tenth) / 10.0)).collect();
        let quarters = quarters(times, &samples).unwrap();
        assert_eq!(quarters[1].pages_per_second, 1.0);
        assert_eq!(quarters[3].pages_per_second, 2.0);
        assert!((quarters[1].anon_mb - 98.0).abs() < 1e-9 && (quarters[3].anon_mb - 95.0).abs() < 1e-9);
        assert!((quarters[1].cpu_per_1000 - 500.0).abs() < 1e-6);
    }

    #[test]
    fn too_few_pages_have_no_quarters() {
        assert_eq!(quarters(vec![1.0, 2.0, 3.0], &[]), None);
    }
}
