//! An analyser that takes every line of a page for a link, and can be told to fail and to refuse.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use seine_common::url::CanonicalUrl;
use seine_proto::analyser::v1::analyse_response::Event;
use seine_proto::analyser::v1::analyser_server::Analyser;
use seine_proto::analyser::v1::{AnalyseRequest, AnalyseResponse, ParsedPage, SavedPage};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

#[derive(Default)]
pub struct LineAnalyser {
    /// Pages that can never be saved, from now on.
    pub failures: AtomicU32,
    /// Pages that cannot be saved now, before those.
    pub refusals: Arc<AtomicU32>,
    /// Different pages that came while it refused.
    pub pages_while_refusing: Arc<AtomicU32>,
}

#[tonic::async_trait]
impl Analyser for LineAnalyser {
    type AnalyseStream = ReceiverStream<Result<AnalyseResponse, Status>>;

    async fn analyse(
        &self,
        request: Request<Streaming<AnalyseRequest>>,
    ) -> Result<Response<Self::AnalyseStream>, Status> {
        let (answers, receiver) = mpsc::channel(64);
        let mut pages = request.into_inner();
        let failures = Arc::new(AtomicU32::new(self.failures.swap(0, Ordering::SeqCst)));
        let (refusals, refused) = (Arc::clone(&self.refusals), Arc::clone(&self.pages_while_refusing));
        tokio::spawn(async move {
            let take = |count: &AtomicU32| {
                count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
            };
            let mut seen = HashSet::new();
            while let Ok(Some(AnalyseRequest { page_id, page, .. })) = pages.message().await {
                let page = page.unwrap_or_default();
                let base = CanonicalUrl::parse(&page.url).expect("pages have URLs");
                let text = std::str::from_utf8(&page.body).unwrap_or_default();
                let links = text.lines().filter(|line| line.starts_with('/'));
                let links = links.filter_map(|line| CanonicalUrl::join(base.as_url(), line).ok());
                let links = links.map(|link| link.as_str().to_owned()).collect();
                let parsed = ParsedPage { links, generate: true, fingerprint: 1, ..ParsedPage::default() };
                let end = if take(&refusals) {
                    refused.fetch_add(u32::from(seen.insert(page_id)), Ordering::SeqCst);
                    Event::Unavailable("no room".into())
                } else if take(&failures) {
                    Event::Failed("it cannot be read".into())
                } else {
                    Event::Saved(SavedPage::default())
                };
                for event in [Event::Parsed(parsed), end] {
                    let _ = answers.send(Ok(AnalyseResponse { page_id, event: Some(event) })).await;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}
