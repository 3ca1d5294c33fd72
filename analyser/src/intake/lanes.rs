//! Pages of one stream that wait to be read, in three lanes, so that none waits for pages of another kind.
//!
//! An ordinary page decodes to a few times its size, and is begun when there is room for that. One that turns out to be
//! *large* goes back to wait for its turn alone. A *document* waits as it was received, and is decoded by its converter.
//! Documents and large pages keep their place until they are saved, so that what was read in them is bounded too.
//!
//! Documents that come faster than they are converted hold the stream back when their room is full. When none of them can
//! be begun for some time, because each converter is busy with one that takes long, half of those that wait are given up:
//! they are saved without their text, and other pages go on.
//!
//! Pure but for the counting: what a job does is in `work`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use seine_node::limits::{CONVERTERS, Limit};
use seine_proto::common::v1::FetchedPage;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::held_bytes::{Account, HeldBytes, Holding};
use super::page_watch::PageWatch;
use crate::analyse::{Document, header};
use crate::decode::MAX_DECODED_BYTES;

/// Ordinary pages of one stream that are under way at once, from the first byte to the last answer.
pub(crate) const PAGES_PER_STREAM: usize = 128;
/// Documents of one stream that are under way at once. A lease has fewer pages under way, so no host takes all of them.
pub(crate) const DOCUMENTS_PER_STREAM: usize = 1024;
/// Jobs that wait for each core, so that it finds the next one when it is done.
const PAGES_PER_CORE: usize = 4;
/// A converter finds the next document while those before are saved.
const DOCUMENTS_BESIDE_WORKERS: usize = 2;

/// Pages decode to so many times their size, and some more; the others count as large.
const ORDINARY_RATIO: usize = 32;
const ORDINARY_BYTES: usize = 256 << 10;

/// What is to be done with a page.
pub(super) enum Step {
    /// The number of bytes is what it may decode to.
    Read(usize),
    ReadLarge,
    Convert(Document),
    /// Saved without being converted.
    GiveUp(Document),
}

pub(super) struct Job {
    pub under_way: UnderWay,
    pub page: FetchedPage,
    pub step: Step,
}

/// What belongs to a page until it is answered for the last time.
pub(super) struct UnderWay {
    pub page_id: u64,
    _received: Holding,
    /// What it decodes to, and then what was read in it.
    grown: Option<Holding>,
    place: Option<OwnedSemaphorePermit>,
    pub watch: PageWatch,
}

impl UnderWay {
    /// The page was read: this is what is known of it now.
    pub fn was_read(&mut self, described_bytes: usize) {
        if let Some(grown) = &mut self.grown {
            grown.resize(described_bytes);
        }
    }

    /// The next page may be begun.
    pub fn free_place(&mut self) {
        self.place = None;
    }
}

struct Lane {
    waiting: VecDeque<Job>,
    most: usize,
    places: Arc<Semaphore>,
    grown: Arc<Account>,
}

impl Lane {
    fn new(places: usize, all: &Arc<HeldBytes>) -> Self {
        let (waiting, grown) = (VecDeque::new(), Account::new(all));
        Self { waiting, most: places, places: Arc::new(Semaphore::new(places)), grown }
    }

    /// The first that waits, when there is a place for it, with so much room beside what it received.
    fn next(&mut self, room: impl FnOnce(&Job) -> usize, budget: usize) -> Option<Job> {
        self.next_of(self.most, room, budget)
    }

    /// The same where fewer than it has places for may be begun now.
    fn next_of(&mut self, most: usize, room: impl FnOnce(&Job) -> usize, budget: usize) -> Option<Job> {
        if self.most - self.places.available_permits() >= most {
            return None;
        }
        let room = room(self.waiting.front()?);
        let fits = self.grown.bytes() + room <= budget || self.grown.holdings() == 0;
        let place = if fits { Arc::clone(&self.places).try_acquire_owned().ok()? } else { return None };
        let mut job = self.waiting.pop_front()?;
        job.under_way.place = Some(place);
        job.under_way.grown = Some(self.grown.hold(room));
        Some(job)
    }
}

pub(super) struct Lanes {
    /// For the bodies of ordinary pages but for the last one, and as much again for what those that were begun decode to and say.
    /// Half of it is for the bodies of documents: a collector keeps as much in memory and needs room for other pages.
    page_bytes: usize,
    received_pages: Arc<Account>,
    received_documents: Arc<Account>,
    pages: Lane,
    large: Lane,
    documents: Lane,
    workers: Option<Arc<Limit>>,
    /// When the last document was begun or given up.
    document_begun_at: Instant,
    patience: Duration,
}

impl Lanes {
    pub fn new(all: &Arc<HeldBytes>, page_bytes: usize, workers: Option<Arc<Limit>>, patience: Duration) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            page_bytes,
            received_pages: Account::new(all),
            received_documents: Account::new(all),
            pages: Lane::new(cores * PAGES_PER_CORE, all),
            large: Lane::new(1, all),
            documents: Lane::new(CONVERTERS.1 as usize + DOCUMENTS_BESIDE_WORKERS, all),
            workers,
            document_begun_at: Instant::now(),
            patience,
        }
    }

    /// Whether another page may be read from the stream, of whichever kind it will be.
    pub fn have_room(&self) -> bool {
        self.received_pages.has_room(PAGES_PER_STREAM, self.page_bytes) && self.documents_have_room()
    }

    fn documents_have_room(&self) -> bool {
        self.received_documents.has_room(DOCUMENTS_PER_STREAM, self.page_bytes / 2)
    }

    /// Until when other pages wait for a document to be begun; `None` while they do not.
    pub fn patience_ends(&self) -> Option<Instant> {
        (!self.documents_have_room()).then(|| self.document_begun_at + self.patience)
    }

    /// Half of the documents that wait: those that have waited longest.
    pub fn give_up_documents(&mut self) -> Vec<Job> {
        self.document_begun_at = Instant::now();
        let half = self.documents.waiting.len().div_ceil(2);
        let given_up = self.documents.waiting.drain(..half).map(|job| match job.step {
            Step::Convert(document) => Job { step: Step::GiveUp(document), ..job },
            _ => job,
        });
        given_up.collect()
    }

    /// For what is saved as it is.
    pub fn pass(&self, page_id: u64, bytes: usize) -> UnderWay {
        let watch = PageWatch::none();
        UnderWay { page_id, _received: self.received_pages.hold(bytes), grown: None, place: None, watch }
    }

    pub fn push(&mut self, page_id: u64, page: FetchedPage) {
        let watch = PageWatch::begin(&page);
        let under_way = UnderWay { watch, ..self.pass(page_id, page.body.len()) };
        // A sitemap is of whatever type its server thinks, and of whatever size.
        if page.sitemap {
            return self.push_large(under_way, page);
        }
        match Document::of_header(&page) {
            Some(document) => self.push_document(under_way, page, document),
            None => {
                let step = Step::Read(ordinary_bytes(&page));
                self.pages.waiting.push_back(Job { under_way, page, step });
            }
        }
    }

    pub fn push_large(&mut self, under_way: UnderWay, page: FetchedPage) {
        let under_way = UnderWay { grown: None, place: None, ..under_way };
        self.large.waiting.push_back(Job { under_way, page, step: Step::ReadLarge });
    }

    pub fn push_document(&mut self, under_way: UnderWay, page: FetchedPage, document: Document) {
        let _received = self.received_documents.hold(page.body.len());
        let under_way = UnderWay { _received, grown: None, place: None, ..under_way };
        self.documents.waiting.push_back(Job { under_way, page, step: Step::Convert(document) });
    }

    /// The next job for which there is a place and memory.
    pub fn next(&mut self) -> Option<Job> {
        let decoded = |job: &Job| match job.step {
            Step::Read(bytes) => bytes,
            _ => 0,
        };
        self.pages
            .next(decoded, self.page_bytes)
            .or_else(|| self.large.next(|_| MAX_DECODED_BYTES, MAX_DECODED_BYTES))
            .or_else(|| {
                // It is copied once, into its converter.
                let workers = self.workers.as_ref().map_or(1, |workers| workers.value() as usize);
                let most = workers + DOCUMENTS_BESIDE_WORKERS;
                let begun = self.documents.next_of(most, |job| job.page.body.len(), usize::MAX)?;
                self.document_begun_at = Instant::now();
                Some(begun)
            })
    }

    pub fn is_empty(&self) -> bool {
        [&self.pages, &self.large, &self.documents].iter().all(|lane| lane.waiting.is_empty())
    }
}

/// What a page decodes to unless it is large; as much as it has where it is not encoded.
fn ordinary_bytes(page: &FetchedPage) -> usize {
    match header(page, "content-encoding").next() {
        Some(_) => page.body.len().saturating_mul(ORDINARY_RATIO).clamp(ORDINARY_BYTES, MAX_DECODED_BYTES),
        None => page.body.len(),
    }
}
