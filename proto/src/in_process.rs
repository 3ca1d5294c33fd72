//! Hands messages over as they are where both ends of a call are in one process, instead of encoding, copying and decoding them.
//!
//! The generated code encodes and decodes with [`Codec`], which is that of prost but for this: an encoder that runs within
//! [`collect`] puts its message aside and writes a number in its place, and a decoder that comes to the number takes the message
//! that [`deliver`] has put there on the same thread. Whoever polls the body of such a call does both; see the channels of the
//! crate `node`. A number means nothing to anybody else, so it never leaves the process: bodies that are polled otherwise are
//! encoded.
//!
//! Invariant: a frame of such a body holds one message, so that it is decoded before the next is delivered.

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Buf, BufMut};
use prost::Message;
use tonic::Status;
use tonic::codec::{BufferSettings, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// A message that was put aside, and its number.
pub struct Parcel {
    number: u64,
    message: Box<dyn Any + Send>,
}

enum Collecting {
    /// Messages are encoded.
    No,
    Yes(Option<Parcel>),
}

thread_local! {
    static COLLECTING: RefCell<Collecting> = const { RefCell::new(Collecting::No) };
    static DELIVERED: RefCell<Option<Parcel>> = const { RefCell::new(None) };
}

/// Puts the message that is encoded meanwhile aside. Only a body whose frames are decoded on this thread, each before anything
/// else is delivered, may be polled in it.
pub fn collect<R>(poll: impl FnOnce() -> R) -> (R, Option<Parcel>) {
    let _restored_even_if_it_panics = Outer(COLLECTING.replace(Collecting::Yes(None)));
    let result = poll();
    match COLLECTING.replace(Collecting::No) {
        Collecting::Yes(parcel) => (result, parcel),
        Collecting::No => (result, None),
    }
}

/// Bodies are polled within others.
struct Outer(Collecting);

impl Drop for Outer {
    fn drop(&mut self) {
        COLLECTING.set(std::mem::replace(&mut self.0, Collecting::No));
    }
}

/// Puts a message where the next decoder of this thread finds it.
pub fn deliver(parcel: Parcel) {
    DELIVERED.replace(Some(parcel));
}

fn is_collecting() -> bool {
    COLLECTING.with_borrow(|collecting| matches!(collecting, Collecting::Yes(_)))
}

/// The number of the message, or the message itself where it must be encoded.
fn put_aside<T: Send + 'static>(message: T) -> Result<u64, T> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    COLLECTING.with_borrow_mut(|collecting| match collecting {
        Collecting::Yes(parcel @ None) => {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            *parcel = Some(Parcel { number, message: Box::new(message) });
            Ok(number)
        }
        _ => Err(message),
    })
}

fn take_delivered(bytes: &mut impl Buf) -> Option<Box<dyn Any + Send>> {
    let parcel = DELIVERED.take()?;
    if bytes.remaining() != size_of::<u64>() || *bytes.chunk() != parcel.number.to_le_bytes() {
        return None;
    }
    bytes.advance(size_of::<u64>());
    Some(parcel.message)
}

#[derive(Debug)]
pub struct Codec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Codec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> tonic::codec::Codec for Codec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = Coder<T>;
    type Decoder = Coder<U>;

    fn encoder(&mut self) -> Coder<T> {
        Coder(PhantomData)
    }

    fn decoder(&mut self) -> Coder<U> {
        Coder(PhantomData)
    }
}

#[derive(Debug)]
pub struct Coder<T>(PhantomData<T>);

impl<T: Message + Send + 'static> Encoder for Coder<T> {
    type Item = T;
    type Error = Status;

    fn encode(&mut self, message: T, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        match put_aside(message) {
            Ok(number) => buffer.put_u64_le(number),
            Err(message) => message.encode(buffer).map_err(|error| Status::internal(error.to_string()))?,
        }
        Ok(())
    }

    fn buffer_settings(&self) -> BufferSettings {
        match is_collecting() {
            // A frame for each message.
            true => BufferSettings::new(64, 1),
            false => BufferSettings::default(),
        }
    }
}

impl<T: Message + Default + Send + 'static> Decoder for Coder<T> {
    type Item = T;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<T>, Status> {
        match take_delivered(buffer) {
            Some(message) => {
                let message = message.downcast().map_err(|_| Status::internal("a message of another call came"))?;
                Ok(Some(*message))
            }
            None => T::decode(buffer).map(Some).map_err(|error| Status::internal(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_put_aside_only_while_somebody_collects() {
        assert_eq!(put_aside(1), Err(1));
        let (numbers, parcel) = collect(|| {
            let (_, inner) = collect(|| put_aside(2));
            assert_eq!(inner.expect("it was put aside").message.downcast_ref(), Some(&2));
            // One at a time.
            (put_aside(3), put_aside(4))
        });
        let parcel = parcel.expect("it was put aside");
        assert_eq!(numbers, (Ok(parcel.number), Err(4)));
        assert_eq!(parcel.message.downcast_ref(), Some(&3));
        assert_eq!(put_aside(5), Err(5));
    }

    #[test]
    fn who_panics_while_collecting_leaves_nothing_behind() {
        let panicked = std::panic::catch_unwind(|| collect(|| panic!("as a body may")).1.is_some());
        assert!(panicked.is_err());
        assert_eq!(put_aside(1), Err(1));
    }

    #[test]
    fn a_delivered_message_is_taken_once_and_by_its_number_alone() {
        let parcel = || Parcel { number: 7, message: Box::new("message") };
        deliver(parcel());
        assert!(take_delivered(&mut &7u64.to_le_bytes()[..]).is_some());
        assert!(take_delivered(&mut &7u64.to_le_bytes()[..]).is_none());
        for bytes in [&8u64.to_le_bytes()[..], b"", b"an encoded message"] {
            deliver(parcel());
            assert!(take_delivered(&mut &*bytes).is_none());
        }
    }
}
