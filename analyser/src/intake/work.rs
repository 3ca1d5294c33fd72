//! What is done with one page: read on the CPU pool, or converted by a worker process.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use seine_common::panics;
use seine_proto::analyser::v1::ConvertedDocument;
use seine_proto::common::v1::FetchedPage;
use tracing::Instrument;

use super::lanes::{Job, Step, UnderWay};
use crate::analyse::{AnalyserConfig, Analysis, Begun, Document, begin, finish, header};
use crate::convert::Converter;
use crate::cpu_pool::CpuPool;
use crate::decode::MAX_DECODED_BYTES;
use crate::error::Error;
use crate::filtering::{self, CompiledFilters};
use crate::sitemap::{self, Sitemap};

/// What a converter made of a document, or why it made nothing.
type Converted = Result<ConvertedDocument, String>;

/// Why a document is given up that others have kept waiting.
const NO_CONVERTER_FREE: &str = "all converters were busy for long with other documents; [convert] workers allows more";

/// What all streams share.
#[derive(Clone)]
pub(crate) struct Tools {
    pub config: Arc<AnalyserConfig>,
    pub cpu: CpuPool,
    pub converter: Option<Arc<Converter>>,
    /// Of all collectors' crawls.
    pub filters: Arc<CompiledFilters>,
}

pub(super) struct Worked {
    pub under_way: UnderWay,
    pub result: Result<Done, Error>,
}

pub(super) enum Done {
    Page(Box<(FetchedPage, Analysis)>),
    Sitemap(Sitemap),
    /// It decodes to more than was allowed.
    Larger(Box<FetchedPage>),
    /// It has turned out to be one.
    Document(Box<FetchedPage>, Document),
}

impl Tools {
    pub(super) async fn work(self, job: Job) -> Worked {
        let Job { mut under_way, page, step } = job;
        let frees_place = matches!(step, Step::Read(_));
        // Whatever a page does to its reader is the end of that page, not of the stream.
        let done = AssertUnwindSafe(self.take(page, step).instrument(under_way.watch.span())).catch_unwind().await;
        if frees_place {
            under_way.free_place();
        }
        let result = done.unwrap_or_else(|panic| Err(Error::Panicked(panics::message(panic.as_ref()))));
        Worked { under_way, result }
    }

    async fn take(self, page: FetchedPage, step: Step) -> Result<Done, Error> {
        match step {
            Step::Read(limit) => self.read(page, limit).await,
            Step::ReadLarge if page.sitemap => {
                self.cpu.run(move || sitemap::read(&page)).await.and_then(|read| read).map(Done::Sitemap)
            }
            Step::ReadLarge => self.read(page, MAX_DECODED_BYTES).await,
            Step::Convert(document) => self.convert(page, document).await,
            Step::GiveUp(document) => self.finish(page, document, Err(NO_CONVERTER_FREE.to_owned())).await,
        }
    }

    async fn read(self, page: FetchedPage, limit: usize) -> Result<Done, Error> {
        let (config, filters) = (self.config, self.filters);
        let work = move || {
            Ok(match begin(&page, &config, limit)? {
                Begun::Analysed(analysis) => decided(page, *analysis, &filters),
                Begun::Document(document) => Done::Document(Box::new(page), document),
                Begun::Larger => Done::Larger(Box::new(page)),
            })
        };
        self.cpu.run(work).await.and_then(|result| result)
    }

    /// While a document is with its converter, neither a thread nor the stream waits for it.
    async fn convert(self, page: FetchedPage, document: Document) -> Result<Done, Error> {
        let encodings = header(&page, "content-encoding").map(str::to_owned).collect();
        let converted = match &self.converter {
            Some(converter) => converter.convert(document.format, encodings, page.body.clone()).await,
            None => Err("no converter is running".to_owned()),
        };
        self.finish(page, document, converted).await
    }

    async fn finish(self, page: FetchedPage, document: Document, converted: Converted) -> Result<Done, Error> {
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

/// The last word of the crawl's filters, which need not travel on then.
fn decided(mut page: FetchedPage, mut analysis: Analysis, filters: &CompiledFilters) -> Done {
    filtering::apply(&page, &mut analysis, filters);
    (page.enumeration, page.generation) = (None, None);
    Done::Page(Box::new((page, analysis)))
}

/// About what an analysis takes in memory until the page is saved.
pub(super) fn described_bytes(analysis: &Analysis) -> usize {
    const LINK_BYTES: usize = 64;
    let links = analysis.description.links.iter().map(|link| LINK_BYTES + link.url.len() + link.text.len());
    let follow = analysis.follow.iter().map(|link| LINK_BYTES + link.len());
    analysis.description.text.len() + links.sum::<usize>() + follow.sum::<usize>()
}
