//! The progress line of a crawl, on standard error and only on a terminal.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use seine_proto::monitor::v1::CrawlStatus;

/// Speed is told over this stretch of time.
const SPEED_WINDOW: Duration = Duration::from_secs(5);

pub struct Progress {
    bar: ProgressBar,
    /// Times and page counts of the last seconds.
    recent: VecDeque<(Instant, u64)>,
}

impl Progress {
    pub fn start() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}").expect("the template is valid");
        bar.set_style(style.progress_chars("█▓░"));
        Self { bar, recent: VecDeque::new() }
    }

    pub fn show(&mut self, status: &CrawlStatus) {
        let known = status.pages + status.failed + status.refused_by_robots + status.redirected + status.unwanted;
        self.bar.set_length(known + status.queued);
        self.bar.set_position(known);
        let mut message = format!("{} pages", status.pages);
        if let Some(speed) = self.speed(status.pages) {
            message.push_str(&format!(", {speed:.0}/s"));
        }
        message.push_str(&format!(", {}", HumanBytes(status.bytes)));
        if status.failed > 0 {
            message.push_str(&format!(", {} failed", status.failed));
        }
        if !status.waiting_reason.is_empty() {
            message.push_str(&format!("; waiting: {}", status.waiting_reason));
        }
        for trouble in &status.troubles {
            message.push_str(&format!("; {trouble}"));
        }
        self.bar.set_message(message);
    }

    fn speed(&mut self, pages: u64) -> Option<f64> {
        let now = Instant::now();
        self.recent.push_back((now, pages));
        while self.recent.front().is_some_and(|(at, _)| now - *at > SPEED_WINDOW) {
            self.recent.pop_front();
        }
        let (at, before) = self.recent.front()?;
        let seconds = (now - *at).as_secs_f64();
        (seconds > 0.5).then(|| pages.saturating_sub(*before) as f64 / seconds)
    }

    pub fn finish(&self) {
        self.bar.finish();
    }
}
