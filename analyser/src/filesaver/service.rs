//! The gRPC face of the filesaver: turns streams of requests into commands for the writer.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::{Stream, StreamExt};
use seine_proto::filesaver::v1::filesaver_server;
use seine_proto::filesaver::v1::read_request::Record;
use seine_proto::filesaver::v1::{
    AnswersRequest, AnswersResponse, ArchivedAnswer, FollowRequest, FollowResponse, LogEndRequest, LogEndResponse,
    ReadRequest, ReadResponse, SaveRequest, SaveResponse, SealRequest, SealResponse, WithdrawRequest, WithdrawResponse,
};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinSet;
use tonic::{Request, Response, Status, Streaming};

use super::archive_index::answers;
use super::commit::{Ack, Command};
use super::follow::follow;
use super::prepare::PreparedPage;
use super::read::read;
use super::save_watch::SaveWatch;
use super::{QUEUED_BYTES, Shared, may_be_of, nowhere};
use crate::error::Error;
use crate::owned_stream::OwnedStream;

/// Pages of one stream between their arrival and the moment their answer is sent.
const PAGES_PER_STREAM: usize = 256;

/// Batches of answers that wait to be sent.
const ANSWER_BATCHES: usize = 4;

pub struct FilesaverService {
    shared: Arc<Shared>,
}

type ResponseStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl FilesaverService {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

#[tonic::async_trait]
impl filesaver_server::Filesaver for FilesaverService {
    type SaveStream = OwnedStream<Result<SaveResponse, Status>>;
    type FollowStream = ResponseStream<FollowResponse>;
    type AnswersStream = OwnedStream<Result<AnswersResponse, Status>>;

    async fn save(&self, request: Request<Streaming<SaveRequest>>) -> Result<Response<Self::SaveStream>, Status> {
        let (answers, to_send) = mpsc::channel(PAGES_PER_STREAM);
        let pages = take_pages(Arc::clone(&self.shared), request.into_inner(), answers);
        Ok(Response::new(OwnedStream::spawn(to_send, pages)))
    }

    async fn follow(&self, request: Request<FollowRequest>) -> Result<Response<Self::FollowStream>, Status> {
        let stream = follow(Arc::clone(&self.shared), request.into_inner()).await?;
        Ok(Response::new(Box::pin(stream.map(|response| response.map_err(Status::from)))))
    }

    async fn seal(&self, _: Request<SealRequest>) -> Result<Response<SealResponse>, Status> {
        let (done, answer) = oneshot::channel();
        self.shared.command(Command::Seal { done }).await?;
        let files = answer.await.map_err(|_| Error::Closed)?.map_err(Error::NotSaved)?;
        Ok(Response::new(SealResponse { files }))
    }

    async fn withdraw(&self, request: Request<WithdrawRequest>) -> Result<Response<WithdrawResponse>, Status> {
        // All are handed over before the first is waited for, so that they share a sync.
        let pages = request.into_inner().pages.into_iter().map(|page| self.shared.withdraw(page));
        let ends = futures::future::try_join_all(pages).await?;
        let end_offset = ends.into_iter().max().unwrap_or_else(|| *self.shared.durable_end.borrow());
        Ok(Response::new(WithdrawResponse { end_offset }))
    }

    async fn read(&self, request: Request<ReadRequest>) -> Result<Response<ReadResponse>, Status> {
        let (archive, request) = (Arc::clone(&self.shared.archive_dir), request.into_inner());
        if let Some(Record::Position(position)) = &request.record
            && !may_be_of(position, &self.shared.log_id)
        {
            let (asked, own) = (position.filesaver.clone(), self.shared.log_id.to_string());
            return Err(Error::OtherFilesaver { asked, own }.into());
        }
        let mut answer = self.shared.readers.run(move |cancelled| read(&archive, request, cancelled)).await?;
        answer.position = answer.position.map(|position| self.shared.here(position));
        Ok(Response::new(answer))
    }

    async fn answers(&self, _: Request<AnswersRequest>) -> Result<Response<Self::AnswersStream>, Status> {
        let (batches, to_send) = mpsc::channel(ANSWER_BATCHES);
        let shared = Arc::clone(&self.shared);
        let listing = move || {
            let take = |mut answers: Vec<ArchivedAnswer>| {
                for answer in &mut answers {
                    answer.position = answer.position.take().map(|position| shared.here(position));
                }
                batches.blocking_send(Ok(AnswersResponse { answers })).is_ok()
            };
            if let Err(error) = answers::list(&shared.archive_dir, take) {
                let _ = batches.blocking_send(Err(error.into()));
            }
        };
        let listing = tokio::task::spawn_blocking(listing);
        Ok(Response::new(OwnedStream::spawn(to_send, async move { drop(listing.await) })))
    }

    async fn log_end(&self, _: Request<LogEndRequest>) -> Result<Response<LogEndResponse>, Status> {
        let end_offset = *self.shared.durable_end.borrow();
        let highest_epoch = self.shared.highest_epoch.load(Ordering::Relaxed);
        Ok(Response::new(LogEndResponse { log_id: self.shared.log_id.to_string(), end_offset, highest_epoch }))
    }
}

/// Reads a stream to its end. The place of a page's answer is taken before the page is read: a client that does not
/// take its answers is not read from.
async fn take_pages(
    shared: Arc<Shared>,
    mut requests: Streaming<SaveRequest>,
    answers: mpsc::Sender<Result<SaveResponse, Status>>,
) {
    let mut under_way = JoinSet::new();
    while let Ok(place) = answers.clone().reserve_owned().await {
        let mut request = match requests.message().await {
            Ok(Some(request)) => request,
            Ok(None) => break,
            Err(status) => {
                tracing::debug!(%status, "save stream broke");
                break;
            }
        };
        let watch = SaveWatch::begin(&mut request);
        let ack = Ack::new(request.page_id, Arc::clone(&shared.log_id), place, watch);
        let queued = room_for(&shared, &request).await;
        under_way.spawn(take_page(Arc::clone(&shared), request, queued, ack));
        while under_way.try_join_next().is_some() {}
    }
    drop(answers);
    while under_way.join_next().await.is_some() {}
}

/// Waits until the page's body fits in the memory that all pages share.
async fn room_for(shared: &Shared, request: &SaveRequest) -> OwnedSemaphorePermit {
    let bytes = request.page.as_ref().map_or(0, |page| page.body.len()).min(QUEUED_BYTES);
    let room = Arc::clone(&shared.queue).acquire_many_owned(u32::try_from(bytes).unwrap_or(u32::MAX)).await;
    room.expect("the queue's semaphore is never closed")
}

async fn take_page(shared: Arc<Shared>, mut request: SaveRequest, queued: OwnedSemaphorePermit, ack: Ack) {
    if let Some(withdrawn) = request.withdrawn.take() {
        return match shared.withdraw(withdrawn).await {
            Ok(log_offset) => ack.saved(nowhere(), log_offset),
            Err(error) => ack.unavailable(error.to_string()),
        };
    }
    if let Some(page) = &mut request.page {
        // What another filesaver has cannot be read here; a visit to it is noted all the same.
        page.known = page.known.take().filter(|position| may_be_of(position, &shared.log_id));
    }
    let (known, archive) = (Arc::clone(&shared.known), Arc::clone(&shared.archive_dir));
    // The page's memory is counted as long as the work holds it, also when its stream has gone.
    let work = move || PreparedPage::of(request, &known, &archive).map(|page| (page, queued));
    match shared.cpu.run(work).await {
        Ok(Ok((page, queued))) => {
            // A closed writer drops the command, and with it the acknowledgement, which tells the client.
            let _ = shared.command(Command::Save { page, ack, queued }).await;
        }
        Ok(Err(error)) | Err(error) if error.is_of_the_page() => ack.failed(error.to_string()),
        Ok(Err(error)) | Err(error) => ack.unavailable(error.to_string()),
    }
}
