//! Sends answers that are no pages to the archive, by the way that pages take.

use seine_proto::common::v1::{FetchedPage, LeaseRef};
use tokio::sync::mpsc;

use super::events::{Event, PageId};
use crate::deliver::{Content, Delivery, Parcel};
use crate::fetch::answer::Answer;
use crate::gate::BodyPermit;

pub(super) struct AnswerKeeper {
    pub lease: LeaseRef,
    /// Names the request in a trace.
    pub traceparent: String,
    pub mailbox: mpsc::Sender<Event>,
    pub delivery: Delivery,
}

impl AnswerKeeper {
    /// `event` is what the worker learns of the answer; it goes through the mailbox, so that it stands before the news
    /// that the archive has it.
    pub async fn keep(
        self,
        record: PageId,
        event: Event,
        answer: Answer,
        depth: u32,
        ip: String,
        mut body: BodyPermit,
    ) -> Option<Event> {
        body.shrink_to(answer.body.len());
        self.mailbox.send(event).await.ok()?;
        let page = FetchedPage {
            lease: Some(self.lease),
            url: answer.url.as_str().to_owned(),
            depth,
            fetched_at_ms: answer.at_ms,
            ip,
            request_head: answer.request_head,
            response_head: answer.response_head,
            status: answer.status.into(),
            body: answer.body,
            archive_only: true,
            truncated: answer.truncated.to_owned(),
            traceparent: self.traceparent,
            ..FetchedPage::default()
        };
        let content = Content::Page(Box::new(page));
        self.delivery.submit(Parcel { content, id: record, answers: self.mailbox, body }).await;
        None
    }
}
