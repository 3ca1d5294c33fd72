//! One stream of pages from a collector: each is analysed, answered, handed to the filesaver, and answered again.
//!
//! One task owns everything about the stream. A page is in exactly one place: with the CPU pool or a converter, or with
//! the filesaver (`saving`), or gone. When too many pages or bytes are under way, no more is read, and HTTP/2 holds the collector
//! back. Pages may overtake each other; for one page, `parsed` always comes before `saved` or `failed`.

mod filesaver_link;

use std::collections::HashMap;
use std::sync::Arc;

use seine_proto::analyser::v1::{AnalyseRequest, AnalyseResponse, ParsedPage, SavedPage, analyse_response::Event};
use seine_proto::common::v1::FetchedPage;
use seine_proto::filesaver::v1::{SaveRequest, SaveResponse, save_response};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::analyse::{AnalyserConfig, Analysis, Begun, Document, begin, finish};
use crate::convert::Converter;
use crate::cpu_pool::CpuPool;
use crate::error::Error;
use crate::filesaver::NOT_MODIFIED;
use crate::filtering::{self, CompiledFilters};
use crate::metrics;
use crate::sitemap;
use filesaver_link::FilesaverLink;

/// Pages of one stream that are under way at once.
pub(crate) const PAGES_PER_STREAM: usize = 128;
/// Bodies of one stream that are under way at once, but for the last one.
const BYTES_PER_STREAM: usize = 64 << 20;
/// Every page is answered twice.
pub(crate) const ANSWERS_PER_STREAM: usize = 2 * PAGES_PER_STREAM;

type Answers = mpsc::Sender<Result<AnalyseResponse, Status>>;

/// The collector does not take answers any more.
struct Gone;

/// What all streams share.
#[derive(Clone)]
pub(crate) struct Tools {
    pub config: Arc<AnalyserConfig>,
    pub cpu: CpuPool,
    pub converter: Option<Arc<Converter>>,
    /// Of all collectors' crawls.
    pub filters: Arc<CompiledFilters>,
}

impl Tools {
    async fn read(self, page: FetchedPage) -> Result<Done, Error> {
        if page.sitemap {
            return self.cpu.run(move || sitemap::read(&page)).await?.map(Done::Sitemap);
        }
        self.analyse(page).await.map(|done| Done::Page(Box::new(done)))
    }

    /// While a document is with its converter, neither a thread nor the stream waits for it.
    async fn analyse(self, page: FetchedPage) -> Result<(FetchedPage, Analysis), Error> {
        let (config, filters) = (Arc::clone(&self.config), Arc::clone(&self.filters));
        let work = move || {
            let begun = begin(&page, &config)?;
            Ok(match begun {
                Begun::Analysed(analysis) => Begin::Done(decided(page, *analysis, &filters)),
                Begun::Document(document) => Begin::Converts(page, document),
            })
        };
        let (page, document) = match self.cpu.run(work).await.and_then(|result| result)? {
            Begin::Done(done) => return Ok(done),
            Begin::Converts(page, document) => (page, document),
        };
        let converted = match &self.converter {
            Some(converter) => converter.convert(document.format, document.body).await,
            None => Err("no converter is running".to_owned()),
        };
        if let Err(reason) = &converted {
            tracing::debug!(url = page.url, reason, "document not converted");
        }
        let (config, filters, content_type) = (self.config, self.filters, document.content_type);
        let work = move || {
            let analysis = finish(&page, &config, content_type, converted)?;
            Ok(decided(page, analysis, &filters))
        };
        self.cpu.run(work).await.and_then(|result| result)
    }
}

#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are of the large kind, and a box would be an allocation for each"
)]
enum Begin {
    Done((FetchedPage, Analysis)),
    Converts(FetchedPage, Document),
}

/// The last word of the crawl's filters, which need not travel on then.
fn decided(mut page: FetchedPage, mut analysis: Analysis, filters: &CompiledFilters) -> (FetchedPage, Analysis) {
    filtering::apply(&page, &mut analysis, filters);
    (page.enumeration, page.generation) = (None, None);
    (page, analysis)
}

pub(crate) struct Intake {
    tools: Tools,
    answers: Answers,
    link: FilesaverLink,
    analysing: JoinSet<Analysed>,
    /// The caller's page for each number under which the filesaver knows it.
    saving: HashMap<u64, UnderWay>,
    next_number: u64,
    bytes_under_way: usize,
}

#[derive(Clone, Copy)]
struct UnderWay {
    page_id: u64,
    bytes: usize,
}

struct Analysed {
    under_way: UnderWay,
    result: Result<Done, Error>,
}

enum Done {
    Page(Box<(FetchedPage, Analysis)>),
    Sitemap(sitemap::Sitemap),
}

impl Intake {
    pub fn new(filesaver: Channel, tools: Tools, answers: Answers) -> Self {
        Self {
            tools,
            answers,
            link: FilesaverLink::new(filesaver),
            analysing: JoinSet::new(),
            saving: HashMap::new(),
            next_number: 0,
            bytes_under_way: 0,
        }
    }

    /// Until the collector has closed the stream and every page of it is answered, or until it is gone.
    pub async fn run(mut self, mut pages: Streaming<AnalyseRequest>) {
        let mut is_open = true;
        while is_open || !self.analysing.is_empty() || !self.saving.is_empty() {
            let step = tokio::select! {
                message = pages.message(), if is_open && self.has_room() => match message {
                    Ok(Some(request)) => self.accept(request).await,
                    Ok(None) => { is_open = false; Ok(()) }
                    Err(status) => {
                        tracing::debug!(%status, "analyse stream broke");
                        is_open = false;
                        Ok(())
                    }
                },
                Some(analysed) = self.analysing.join_next() => {
                    self.analysed(analysed.expect("analysing tasks neither panic nor are aborted")).await
                }
                response = self.link.next(), if !self.saving.is_empty() => match response {
                    Ok(response) => self.answered(response).await,
                    Err(reason) => self.link_broke(&reason).await,
                },
                () = self.answers.closed() => Err(Gone),
            };
            if let Err(Gone) = step {
                return;
            }
        }
    }

    fn has_room(&self) -> bool {
        self.analysing.len() + self.saving.len() < PAGES_PER_STREAM && self.bytes_under_way < BYTES_PER_STREAM
    }

    async fn accept(&mut self, request: AnalyseRequest) -> Result<(), Gone> {
        let page_id = request.page_id;
        if request.withdrawn.is_some() {
            let request = SaveRequest { withdrawn: request.withdrawn, ..SaveRequest::default() };
            return self.save(UnderWay { page_id, bytes: 0 }, request).await;
        }
        let Some(page) = request.page else {
            return self.failed(page_id, Error::Missing("page").to_string()).await;
        };
        if page.status == NOT_MODIFIED {
            return self
                .save(UnderWay { page_id, bytes: 0 }, SaveRequest { page: Some(page), ..SaveRequest::default() })
                .await;
        }
        let under_way = UnderWay { page_id, bytes: page.body.len() };
        self.bytes_under_way += under_way.bytes;
        let tools = self.tools.clone();
        self.analysing.spawn(async move { Analysed { under_way, result: tools.read(page).await } });
        Ok(())
    }

    /// The page is parsed: the collector learns what it says, the filesaver gets it.
    async fn analysed(&mut self, Analysed { under_way, result }: Analysed) -> Result<(), Gone> {
        let page_id = under_way.page_id;
        let (page, analysis) = match result {
            Ok(Done::Page(done)) => *done,
            Ok(Done::Sitemap(sitemap)) => {
                self.bytes_under_way -= under_way.bytes;
                return self.sitemap_read(page_id, sitemap).await;
            }
            Err(error) => {
                self.bytes_under_way -= under_way.bytes;
                return self.failed(page_id, error.to_string()).await;
            }
        };
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
        // A stream that is found broken here belongs to the pages before; this one gets a new one.
        let (sent, lost) = self.link.send(request).await;
        if let Some(reason) = lost {
            self.link_broke(&reason).await?;
        }
        match sent {
            Ok(()) => {
                self.saving.insert(number, under_way);
                Ok(())
            }
            Err(reason) => {
                self.bytes_under_way -= under_way.bytes;
                self.failed(under_way.page_id, reason).await
            }
        }
    }

    /// The filesaver has answered.
    async fn answered(&mut self, response: SaveResponse) -> Result<(), Gone> {
        let Some(under_way) = self.saving.remove(&response.page_id) else { return Ok(()) };
        self.bytes_under_way -= under_way.bytes;
        match response.result {
            Some(save_response::Result::Saved(saved)) => {
                let saved = SavedPage { archive: saved.archive, log_offset: saved.log_offset };
                self.answer(under_way.page_id, Event::Saved(saved)).await
            }
            Some(save_response::Result::Failed(reason)) => self.failed(under_way.page_id, reason).await,
            None => self.failed(under_way.page_id, "the filesaver gave no result".to_owned()).await,
        }
    }

    /// Nobody knows what became of the pages that were with the filesaver; they count as not saved.
    async fn link_broke(&mut self, reason: &str) -> Result<(), Gone> {
        tracing::warn!(reason, pages = self.saving.len(), "stream to the filesaver broke");
        for under_way in std::mem::take(&mut self.saving).into_values() {
            self.bytes_under_way -= under_way.bytes;
            self.failed(under_way.page_id, reason.to_owned()).await?;
        }
        Ok(())
    }

    async fn failed(&mut self, page_id: u64, reason: String) -> Result<(), Gone> {
        metrics::page_failed();
        self.answer(page_id, Event::Failed(reason)).await
    }

    async fn answer(&mut self, page_id: u64, event: Event) -> Result<(), Gone> {
        self.answers.send(Ok(AnalyseResponse { page_id, event: Some(event) })).await.map_err(|_| Gone)
    }
}
