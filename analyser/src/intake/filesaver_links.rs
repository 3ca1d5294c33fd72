//! The streams to the filesavers that go with one stream of pages: each opened by the first page for it, and again by the
//! first page after it broke.
//!
//! A visit that found its page unchanged goes to the filesaver that has the page; any other goes where its URL leads by
//! rendezvous hashing, so that a page which is fetched again meets what is known of it, and a filesaver more or less moves
//! only its share. One that broke or could not save rests for a while, and one that drains for good: others take its pages, as long as there are
//! any.
//!
//! Not responsible for which pages are under way; its owner counts them and keeps their number bounded.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use futures::stream::{BoxStream, SelectAll};
use futures::{StreamExt, future, stream};
use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::membership::{Filesavers, KnownPeers, Route};
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{SaveRequest, SaveResponse};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};
use tokio_stream::wrappers::ReceiverStream;

use super::SAVING_PER_STREAM;

/// How long a filesaver may take to accept a stream, and how long one is waited for where none runs.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one that broke is left alone while there are others.
const REST: Duration = Duration::from_secs(5);

/// Names one stream to one filesaver.
pub(super) type LinkId = u64;

/// A stream that is over, and why: what was sent on it and not answered is lost with it.
pub(super) type Lost = (LinkId, String);

pub(super) struct FilesaverLinks {
    known: watch::Receiver<KnownPeers>,
    /// By the names of the filesavers.
    open: HashMap<String, OpenLink>,
    responses: SelectAll<BoxStream<'static, (LinkId, Result<SaveResponse, String>)>>,
    resting: HashMap<String, Instant>,
    last_id: LinkId,
}

struct OpenLink {
    id: LinkId,
    requests: mpsc::Sender<SaveRequest>,
}

impl FilesaverLinks {
    pub fn new(filesavers: &Filesavers) -> Self {
        Self {
            known: filesavers.changes(),
            open: HashMap::new(),
            responses: SelectAll::new(),
            resting: HashMap::new(),
            last_id: 0,
        }
    }

    /// Hands a page over and says on which stream. Streams that turned out to be broken meanwhile are told besides.
    pub async fn send(&mut self, mut request: SaveRequest) -> (Result<LinkId, String>, Vec<Lost>) {
        let mut lost = Vec::new();
        let mut reason = "no filesaver runs".to_owned();
        for name in self.in_turn(&request).await {
            if let Some(link) = self.open.get(&name) {
                match link.requests.try_send(request) {
                    Ok(()) => return (Ok(link.id), lost),
                    Err(error) => {
                        request = error.into_inner();
                        lost.push((link.id, "the stream to the filesaver ended".to_owned()));
                        self.open.remove(&name);
                    }
                }
            }
            match self.open(&name).await {
                Ok(link) => match link.requests.try_send(request) {
                    Ok(()) => return (Ok(link.id), lost),
                    Err(error) => {
                        request = error.into_inner();
                        reason = "the filesaver ended the stream at once".to_owned();
                        self.open.remove(&name);
                    }
                },
                Err(failed) => reason = failed,
            }
            self.rest(&name);
        }
        (Err(reason), lost)
    }

    /// The filesavers to try for a page, one after the other. Waits for the first to appear where there is none.
    async fn in_turn(&mut self, request: &SaveRequest) -> Vec<String> {
        let Ok(Ok(known)) = timeout(OPEN_TIMEOUT, self.known.wait_for(|known| !known.is_empty())).await else {
            return Vec::new();
        };
        let now = Instant::now();
        self.resting.retain(|_, until| *until > now);
        let mut names: Vec<String> = known.keys().cloned().collect();
        if names.len() > 1 {
            let resting =
                |name: &str| self.resting.contains_key(name) || known.get(name).is_some_and(|route| route.draining);
            names.sort_by_cached_key(|name| preference(request, name, resting(name)));
        }
        names
    }

    async fn open(&mut self, name: &str) -> Result<&OpenLink, String> {
        let route = self.known.borrow().get(name).cloned();
        let Route { channel, .. } = route.ok_or("the filesaver went away")?;
        let mut client = FilesaverClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        // As many as can be under way, so that handing one over never waits.
        let (requests, to_send) = mpsc::channel(SAVING_PER_STREAM);
        let opening = timeout(OPEN_TIMEOUT, client.save(ReceiverStream::new(to_send))).await;
        let opened = opening.map_err(|_| "the filesaver did not answer in time".to_owned())?;
        let opened = opened.map_err(|status| format!("cannot reach the filesaver: {}", status.message()))?;
        self.last_id += 1;
        let id = self.last_id;
        let responses = opened.into_inner().map(move |response| {
            (id, response.map_err(|status| format!("the filesaver failed: {}", status.message())))
        });
        let ended = (id, Err("the filesaver ended the stream".to_owned()));
        self.responses.push(responses.chain(stream::once(future::ready(ended))).boxed());
        Ok(self.open.entry(name.to_owned()).insert_entry(OpenLink { id, requests }).into_mut())
    }

    /// The next answer, or why there will be none on that stream. Waits for ever when no stream is open.
    pub async fn next(&mut self) -> Result<(LinkId, SaveResponse), Lost> {
        let Some((id, response)) = self.responses.next().await else { return future::pending().await };
        match response {
            Ok(response) => Ok((id, response)),
            Err(reason) => {
                self.rest_link(id);
                self.open.retain(|_, link| link.id != id);
                Err((id, reason))
            }
        }
    }

    /// The filesaver at the other end cannot save for now.
    pub fn rest_link(&mut self, id: LinkId) {
        if let Some(name) = self.open.iter().find(|(_, link)| link.id == id).map(|(name, _)| name.clone()) {
            self.rest(&name);
        }
    }

    /// Whether there is a filesaver that neither broke nor refused lately.
    pub fn has_others(&self) -> bool {
        self.known.borrow().keys().any(|name| !self.resting.contains_key(name))
    }

    fn rest(&mut self, name: &str) {
        self.resting.insert(name.to_owned(), Instant::now() + REST);
    }
}

/// The smallest is tried first.
fn preference(request: &SaveRequest, name: &str, is_resting: bool) -> (bool, bool, u64) {
    let page = request.page.as_ref();
    let has_it = page.and_then(|page| page.known.as_ref()).is_some_and(|known| known.filesaver == name);
    let url = page.map(|page| &page.url).or(request.withdrawn.as_ref().map(|withdrawn| &withdrawn.url));
    let mut hasher = DefaultHasher::new();
    (name, url).hash(&mut hasher);
    (is_resting, !has_it, hasher.finish())
}

#[cfg(test)]
mod tests {
    use seine_proto::common::v1::{ArchivePosition, FetchedPage};

    use super::*;

    fn request(number: u32, known: &str) -> SaveRequest {
        let known =
            (!known.is_empty()).then(|| ArchivePosition { filesaver: known.to_owned(), ..ArchivePosition::default() });
        let page = FetchedPage { url: format!("http://example.org/{number}"), known, ..FetchedPage::default() };
        SaveRequest { page: Some(page), ..SaveRequest::default() }
    }

    fn first<'n>(request: &SaveRequest, names: &[&'n str], resting: &str) -> &'n str {
        names.iter().min_by_key(|name| preference(request, name, **name == resting)).unwrap()
    }

    #[test]
    fn pages_spread_evenly_and_one_more_filesaver_moves_only_its_share() {
        const PAGES: u32 = 3_000;
        let (two, three) = (["a", "b"], ["a", "b", "c"]);
        let requests: Vec<_> = (0..PAGES).map(|number| request(number, "")).collect();
        for name in three {
            let share = requests.iter().filter(|request| first(request, &three, "") == name).count();
            assert!((800..1_200).contains(&share), "{name} has {share}");
        }
        for request in &requests {
            let (before, after) = (first(request, &two, ""), first(request, &three, ""));
            assert!(after == before || after == "c", "{before} {after}");
        }
    }

    #[test]
    fn a_visit_goes_to_who_has_the_page_unless_that_one_rests() {
        let names = ["a", "b", "c"];
        for number in 0..50 {
            assert_eq!(first(&request(number, "b"), &names, ""), "b");
            assert_ne!(first(&request(number, "b"), &names, "b"), "b");
            assert_ne!(first(&request(number, ""), &names, "a"), "a");
        }
    }
}
