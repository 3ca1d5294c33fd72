//! One stream of pages from a collector: each is analysed, answered, handed to the filesaver, and answered again.
//!
//! One task owns everything about the stream. A page is in exactly one place: waiting in its [`lanes`], at [`work`] with the
//! CPU pool or a converter, with the filesaver (`saving`), or gone. What it holds in memory is counted ([`held_bytes`]). When
//! too many pages or bytes are under way, no more is read, and HTTP/2 holds the collector back. Pages may overtake each
//! other; for one page, `parsed` always comes before `saved`, `failed`, `unavailable` or `again`.

mod held_bytes;
mod lanes;
mod work;
mod page_watch;
mod filesaver_links;

use std::collections::HashMap;
use std::sync::Arc;

use seine_node::membership::Filesavers;
use seine_proto::analyser::v1::{AnalyseRequest, AnalyseResponse, ParsedPage, SavedPage, analyse_response::Event};
use seine_proto::filesaver::v1::{SaveRequest, SaveResponse, save_response};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::{Status, Streaming};

use crate::error::Error;
use crate::filesaver::NOT_MODIFIED;
use crate::metrics;
use crate::sitemap;
use filesaver_links::{FilesaverLinks, LinkId, Lost};
pub use held_bytes::HeldBytes;
use lanes::{DOCUMENTS_PER_STREAM, Lanes, PAGES_PER_STREAM, UnderWay};
pub(crate) use work::Tools;
use work::{Done, Worked, described_bytes};

/// Pages of one stream that can be with the filesaver at once.
const SAVING_PER_STREAM: usize = PAGES_PER_STREAM + DOCUMENTS_PER_STREAM;
/// Every page is answered twice.
pub(crate) const ANSWERS_PER_STREAM: usize = 2 * PAGES_PER_STREAM;

type Answers = mpsc::Sender<Result<AnalyseResponse, Status>>;

/// The collector does not take answers any more.
struct Gone;

pub(crate) struct Intake {
    tools: Tools,
    answers: Answers,
    links: FilesaverLinks,
    lanes: Lanes,
    at_work: JoinSet<Worked>,
    /// The caller's page for each number under which a filesaver knows it, and the stream that it went on.
    saving: HashMap<u64, (LinkId, UnderWay)>,
    next_number: u64,
}

impl Intake {
    pub fn new(filesavers: &Filesavers, tools: Tools, held: &Arc<HeldBytes>, answers: Answers) -> Self {
        let workers = tools.config.converter.as_ref().map(|converter| Arc::clone(&converter.workers));
        let lanes = Lanes::new(held, tools.config.page_bytes, workers, tools.config.document_patience);
        Self {
            tools,
            answers,
            links: FilesaverLinks::new(filesavers),
            lanes,
            at_work: JoinSet::new(),
            saving: HashMap::new(),
            next_number: 0,
        }
    }

    /// Until the collector has closed the stream and every page of it is answered, or until it is gone.
    pub async fn run(mut self, mut pages: Streaming<AnalyseRequest>) {
        let mut is_open = true;
        loop {
            while let Some(job) = self.lanes.next() {
                self.at_work.spawn(self.tools.clone().work(job));
            }
            if !is_open && self.lanes.is_empty() && self.at_work.is_empty() && self.saving.is_empty() {
                return;
            }
            let patience = self.lanes.patience_ends();
            let step = tokio::select! {
                message = pages.message(), if is_open && self.lanes.have_room() => match message {
                    Ok(Some(request)) => self.accept(request).await,
                    Ok(None) => { is_open = false; Ok(()) }
                    Err(status) => {
                        tracing::debug!(%status, "analyse stream broke");
                        is_open = false;
                        Ok(())
                    }
                },
                Some(worked) = self.at_work.join_next() => {
                    self.worked(worked.expect("tasks that read pages neither panic nor are aborted")).await
                }
                response = self.links.next(), if !self.saving.is_empty() => match response {
                    Ok((_, response)) => self.answered(response).await,
                    Err(lost) => self.link_broke(lost).await,
                },
                () = tokio::time::sleep_until(patience.unwrap_or_else(Instant::now)), if patience.is_some() => {
                    self.give_up_documents();
                    Ok(())
                }
                () = self.answers.closed() => Err(Gone),
            };
            if let Err(Gone) = step {
                return;
            }
        }
    }

    async fn accept(&mut self, request: AnalyseRequest) -> Result<(), Gone> {
        let page_id = request.page_id;
        if request.withdrawn.is_some() {
            let request = SaveRequest { withdrawn: request.withdrawn, ..SaveRequest::default() };
            return self.save(self.lanes.pass(page_id, 0), request).await;
        }
        let Some(page) = request.page else {
            return self.failed(page_id, Error::Missing("page").to_string()).await;
        };
        if page.status == NOT_MODIFIED || page.archive_only {
            let under_way = self.lanes.pass(page_id, page.body.len());
            return self.save(under_way, SaveRequest { page: Some(page), ..SaveRequest::default() }).await;
        }
        self.lanes.push(page_id, page);
        Ok(())
    }

    fn give_up_documents(&mut self) {
        let given_up = self.lanes.give_up_documents();
        tracing::warn!(
            documents = given_up.len(),
            "converters are busy for long; documents are saved without their text"
        );
        for job in given_up {
            self.at_work.spawn(self.tools.clone().work(job));
        }
    }

    /// The page is parsed: the collector learns what it says, the filesaver gets it.
    async fn worked(&mut self, Worked { mut under_way, result }: Worked) -> Result<(), Gone> {
        let page_id = under_way.page_id;
        let (mut page, analysis) = match result {
            Ok(Done::Page(done)) => *done,
            Ok(Done::Sitemap(sitemap)) => return self.sitemap_read(page_id, sitemap).await,
            Ok(Done::Larger(page)) => {
                self.lanes.push_large(under_way, *page);
                return Ok(());
            }
            Ok(Done::Document(page, document)) => {
                self.lanes.push_document(under_way, *page, document);
                return Ok(());
            }
            Err(error) if error.is_of_the_page() => return self.failed(page_id, error.to_string()).await,
            Err(error) => return self.unavailable(page_id, error.to_string()).await,
        };
        under_way.was_read(described_bytes(&analysis));
        under_way.watch.read(&mut page);
        metrics::page_analysed(page.body.len() as u64);
        let parsed = ParsedPage {
            links: analysis.follow,
            generate: analysis.description.generate,
            fingerprint: analysis.description.fingerprint,
            title: analysis.description.title.clone(),
            value: analysis.value,
            usability: analysis.description.usability,
            generation_rule: analysis.description.generation_rule.clone(),
            enumeration_rule: analysis.description.enumeration_rule.clone(),
            not_converted: analysis.description.not_converted.clone(),
            ..ParsedPage::default()
        };
        self.answer(page_id, Event::Parsed(parsed)).await?;
        let (page, description) = (Some(page), Some(analysis.description));
        self.save(under_way, SaveRequest { page, description, ..SaveRequest::default() }).await
    }

    /// There is nothing to save in a sitemap.
    async fn sitemap_read(&mut self, page_id: u64, sitemap: sitemap::Sitemap) -> Result<(), Gone> {
        let sitemap::Sitemap { pages, lastmod_ms, sitemaps } = sitemap;
        let parsed = ParsedPage { links: pages, lastmod_ms, sitemaps, ..ParsedPage::default() };
        self.answer(page_id, Event::Parsed(parsed)).await?;
        self.answer(page_id, Event::Saved(SavedPage::default())).await
    }

    async fn save(&mut self, under_way: UnderWay, request: SaveRequest) -> Result<(), Gone> {
        let number = self.next_number;
        self.next_number += 1;
        let request = SaveRequest { page_id: number, ..request };
        // Streams that are found broken here belong to the pages before; this one gets a new one.
        let (sent, lost) = self.links.send(request).await;
        for lost in lost {
            self.link_broke(lost).await?;
        }
        match sent {
            Ok(link) => {
                self.saving.insert(number, (link, under_way));
                Ok(())
            }
            Err(reason) => self.unavailable(under_way.page_id, reason).await,
        }
    }

    /// A filesaver has answered.
    async fn answered(&mut self, response: SaveResponse) -> Result<(), Gone> {
        let Some((link, under_way)) = self.saving.remove(&response.page_id) else { return Ok(()) };
        match response.result {
            Some(save_response::Result::Saved(saved)) => {
                let saved = SavedPage { archive: saved.archive, log_offset: saved.log_offset };
                self.answer(under_way.page_id, Event::Saved(saved)).await
            }
            Some(save_response::Result::Failed(reason)) => self.failed(under_way.page_id, reason).await,
            Some(save_response::Result::Unavailable(reason)) => {
                self.links.rest_link(link);
                self.not_saved(under_way.page_id, reason).await
            }
            None => self.failed(under_way.page_id, "the filesaver gave no result".to_owned()).await,
        }
    }

    /// Nobody knows what became of the pages that were with that filesaver; they count as not saved.
    async fn link_broke(&mut self, (link, reason): Lost) -> Result<(), Gone> {
        let lost: Vec<(LinkId, UnderWay)> =
            self.saving.extract_if(|_, (on, _)| *on == link).map(|(_, page)| page).collect();
        if !lost.is_empty() {
            tracing::warn!(reason, pages = lost.len(), "stream to a filesaver broke");
        }
        for (_, under_way) in lost {
            self.not_saved(under_way.page_id, reason.clone()).await?;
        }
        Ok(())
    }

    /// The collector still has the page. Another filesaver takes it, where there is one.
    async fn not_saved(&mut self, page_id: u64, reason: String) -> Result<(), Gone> {
        match self.links.has_others() {
            true => self.answer(page_id, Event::Again(reason)).await,
            false => self.unavailable(page_id, reason).await,
        }
    }

    async fn failed(&mut self, page_id: u64, reason: String) -> Result<(), Gone> {
        metrics::page_failed();
        self.answer(page_id, Event::Failed(reason)).await
    }

    async fn unavailable(&mut self, page_id: u64, reason: String) -> Result<(), Gone> {
        self.answer(page_id, Event::Unavailable(reason)).await
    }

    async fn answer(&mut self, page_id: u64, event: Event) -> Result<(), Gone> {
        self.answers.send(Ok(AnalyseResponse { page_id, event: Some(event) })).await.map_err(|_| Gone)
    }
}
