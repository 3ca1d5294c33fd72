//! A crawl by a whole cluster while its processes are killed, stopped, cut off and started again, and what must hold then.
//!
//! [`form`] says how large: the tests run a small one, the bench a whole one. [`cluster`] starts the processes, each as a
//! machine of its own: the frontier lies on the disk of one Monitor, or there are two [`monitors`] and it lies in a
//! [`shared_store`]. [`severable`] is the wire that a collector is cut off by. [`plan`] draws from a seed which fault comes
//! when; [`faults`] does them. Meanwhile [`searches`] asks all the time. When a collector is struck, [`strike`] asks the
//! Monitor what it has settled, so that afterwards [`record`] can tell from the web's own record which pages were fetched twice
//! and whether they may have been. [`verdict`] is what all of it comes to.
//!
//! Nothing here knows how Seine does it: everything is seen from the web, from searches and from what the Monitor answers.

pub mod form;
mod severable;
mod shared_store;
mod monitors;
mod cluster;
mod plan;
mod strike;
mod faults;
mod searches;
mod record;
pub mod verdict;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use self::cluster::Cluster;
use self::faults::Faults;
pub use self::form::Form;
pub use self::plan::Fault;
use self::plan::Plan;
use self::searches::Searches;
use self::shared_store::SharedStore;
pub use self::verdict::Verdict;
use crate::FakeWeb;

/// The seed to take instead of a new one, to see a run again that failed.
pub const SEED: &str = "SEINE_CHAOS_SEED";
/// A directory in which the processes' logs are kept.
pub const LOGS: &str = "SEINE_CHAOS_LOGS";

/// Between two looks at how far the crawl is.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// From the environment, or by chance.
pub fn seed() -> u64 {
    match std::env::var(SEED) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{SEED} is {text:?}, give a whole number")),
        Err(_) => u64::from(rand::random::<u32>()),
    }
}

/// Runs this program's cluster, with its data below a directory, through all faults to the end of the crawl. Panics where a
/// process does not start or the crawl does not end; all else is in the verdict.
pub async fn run(form: &Form, program: PathBuf, below: &Path, seed: u64) -> Verdict {
    run_over(None, form, program, below, seed).await
}

/// The same with two Monitors over a store; `None`, with a printed reason, on a machine without one.
pub async fn run_over_store(form: &Form, program: PathBuf, below: &Path, seed: u64) -> Option<Verdict> {
    let store = SharedStore::start(seed)?;
    Some(run_over(Some(store), form, program, below, seed).await)
}

async fn run_over(store: Option<SharedStore>, form: &Form, program: PathBuf, below: &Path, seed: u64) -> Verdict {
    let plan = Plan::draw(form, seed);
    eprintln!("chaos with {SEED}={seed}: {plan}");
    let web = FakeWeb::start(form.web());
    let cluster = Cluster::start(program, below, store);
    let searches = Searches::start(&cluster.query_address()).await;
    cluster.add_crawl(form, &web);
    let mut faults = Faults::new(cluster, &web, form.stands_still);
    for (fraction, fault) in &plan.faults {
        let asked = (form.requests() as f64 * fraction) as usize;
        let deadline = Instant::now() + form.deadline;
        while web.request_count() < asked {
            assert!(Instant::now() < deadline, "the crawl stands still before {fault:?}: {}", faults.cluster().shown());
            faults.end_what_is_over();
            sleep(LOOK_EVERY).await;
        }
        faults.strike(*fault).await;
    }
    faults.end_all().await;
    let (cluster, done) = faults.into_parts();
    let status = cluster.finished(form.deadline).await;
    let indexed = searches::indexed(&cluster.query_address(), &web, form.deadline).await;
    let misplaced = cluster.misplaced(form).await;
    let searches = searches.stop();
    verdict::judge(&verdict::Evidence { form, plan: &plan, web: &web, status, indexed, misplaced, searches, done })
}
