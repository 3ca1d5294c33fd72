//! What was said to the Monitor and may have been lost with the stream.
//!
//! The Monitor handles the messages of a lease in order, and acknowledges a settlement when all that came before it is
//! durable too. So an acknowledgement confirms everything up to its settlement, and the rest is sent again, in the same
//! order, on the next stream. The Monitor takes each of these messages twice without harm.

use std::collections::VecDeque;

use seine_proto::monitor::v1::collector_message::Message;

use super::events::PageId;

/// Bounded by the pages that may be unsettled: each has a settlement and a few messages with its links.
#[derive(Debug, Default)]
pub struct Unconfirmed {
    messages: VecDeque<Message>,
}

impl Unconfirmed {
    /// Notes what is about to be sent, if that changes what the Monitor knows.
    pub fn note(&mut self, message: &Message) {
        if matches!(message, Message::Robots(_) | Message::Discover(_) | Message::Settle(_)) {
            self.messages.push_back(message.clone());
        }
    }

    /// The settlement of the page is durable, and with it all that was sent before.
    pub fn settled(&mut self, page: PageId) {
        let is_settlement = |message: &Message| matches!(message, Message::Settle(settle) if settle.request_id == page);
        if let Some(at) = self.messages.iter().position(is_settlement) {
            self.messages.drain(..=at);
        }
    }

    /// In the order in which they were sent first.
    pub fn iter(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter()
    }
}
