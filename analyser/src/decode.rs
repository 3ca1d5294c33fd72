//! Undoes content encodings: gzip, deflate, br, zstd.
//!
//! Bodies are hostile and often broken: what was decoded before a break is kept, output is limited, and an encoding
//! that is not known gives nothing rather than noise. Not responsible for transfer encoding; the client undid that.

use std::borrow::Cow;
use std::io::Read;

use flate2::{Decompress, FlushDecompress, Status};

/// Decoded bytes beyond this are cut off.
pub(crate) const MAX_DECODED_BYTES: usize = 64 << 20;
/// More encodings on top of each other than this are an attack, not a page.
const MAX_LAYERS: usize = 3;
/// Gzip bodies have one member, rarely a few; each costs a new decoder.
const MAX_MEMBERS: usize = 64;
/// Largest zstd window, as RFC 9659 sets it for HTTP.
const ZSTD_WINDOW_LOG: u32 = 23;
const FIRST_OUTPUT_BYTES: usize = 64 << 10;
const BROTLI_BUFFER_BYTES: usize = 16 << 10;

/// The body without its encodings. `encodings` are the values of the content-encoding headers, in order.
///
/// `None` when an encoding is unknown.
pub(crate) fn decode<'b>(encodings: &[&str], body: &'b [u8]) -> Option<Cow<'b, [u8]>> {
    decode_up_to(encodings, body, MAX_DECODED_BYTES).map(|decoded| decoded.bytes)
}

/// What was decoded within a limit.
pub(crate) struct Decoded<'b> {
    pub bytes: Cow<'b, [u8]>,
    /// There is more, or as much as the limit to the byte.
    pub is_cut: bool,
}

/// No layer gives more than `limit` bytes, nor takes more memory than about that.
pub(crate) fn decode_up_to<'b>(encodings: &[&str], body: &'b [u8], limit: usize) -> Option<Decoded<'b>> {
    let limit = limit.min(MAX_DECODED_BYTES);
    let mut decoded = Cow::Borrowed(body);
    let mut is_cut = false;
    let layers = encodings.iter().flat_map(|value| value.split(',')).map(str::trim);
    let layers: Vec<&str> = layers.filter(|layer| !layer.is_empty() && !is(layer, "identity")).collect();
    if layers.len() > MAX_LAYERS {
        return None;
    }
    for layer in layers.into_iter().rev() {
        let undone = if is(layer, "gzip") || is(layer, "x-gzip") {
            gunzip(&decoded, limit)
        } else if is(layer, "deflate") {
            Some(inflate(&decoded, limit))
        } else if is(layer, "br") {
            Some(read_limited(brotli_decompressor::Decompressor::new(&*decoded, BROTLI_BUFFER_BYTES), limit))
        } else if is(layer, "zstd") {
            Some(unzstd(&decoded, limit))
        } else {
            return None;
        };
        is_cut |= undone.as_ref().is_some_and(|undone| undone.len() >= limit);
        decoded = undone.map_or(decoded, Cow::Owned);
    }
    if decoded.len() > MAX_DECODED_BYTES {
        decoded = Cow::Owned(decoded[..MAX_DECODED_BYTES].to_vec());
    }
    Some(Decoded { bytes: decoded, is_cut })
}

fn is(layer: &str, name: &str) -> bool {
    layer.eq_ignore_ascii_case(name)
}

/// All members one after the other. `None` when the bytes are not gzip at all: some servers only say so.
fn gunzip(mut input: &[u8], limit: usize) -> Option<Vec<u8>> {
    const MAGIC: [u8; 2] = [0x1f, 0x8b];
    if !input.starts_with(&MAGIC) {
        return None;
    }
    let mut out = Vec::new();
    for _ in 0..MAX_MEMBERS {
        match pump(Decompress::new_gzip(15), input, &mut out, limit) {
            Some(consumed) if input[consumed..].starts_with(&MAGIC) => input = &input[consumed..],
            _ => break,
        }
    }
    Some(out)
}

/// With the zlib wrapper that the standard asks for, or without, as many servers send it.
fn inflate(input: &[u8], limit: usize) -> Vec<u8> {
    let wrapped = matches!(input, [method, flags, ..]
        if method & 0x0f == 8 && u16::from_be_bytes([*method, *flags]).is_multiple_of(31));
    let mut out = Vec::new();
    pump(Decompress::new(wrapped), input, &mut out, limit);
    out
}

/// Appends what one stream decodes to. The number of bytes the stream took, or `None` when it broke or hit the limit.
fn pump(mut stream: Decompress, input: &[u8], out: &mut Vec<u8>, limit: usize) -> Option<usize> {
    loop {
        if out.len() == out.capacity() {
            // Exactly, so that growing never takes twice the limit.
            out.reserve_exact(out.len().max(FIRST_OUTPUT_BYTES).min(limit - out.len().min(limit) + 1));
        }
        let consumed = stream.total_in() as usize;
        let produced = out.len();
        let status = stream.decompress_vec(&input[consumed..], out, FlushDecompress::None);
        if out.len() >= limit {
            out.truncate(limit);
            return None;
        }
        match status {
            Ok(Status::StreamEnd) => return Some(stream.total_in() as usize),
            Ok(_) if stream.total_in() as usize > consumed || out.len() > produced => {}
            _ => return None,
        }
    }
}

fn unzstd(input: &[u8], limit: usize) -> Vec<u8> {
    let Ok(mut decoder) = zstd::stream::read::Decoder::with_buffer(input) else {
        return Vec::new();
    };
    match decoder.window_log_max(ZSTD_WINDOW_LOG) {
        Ok(()) => read_limited(decoder, limit),
        Err(_) => Vec::new(),
    }
}

/// Reads in pieces, so that an error costs no more than the piece it is met in.
fn read_limited(mut reader: impl Read, limit: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut piece = [0; 4 << 10];
    while out.len() < limit {
        match reader.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(length) => out.extend_from_slice(&piece[..length]),
        }
    }
    out.truncate(limit);
    out
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn deflate(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    /// `pages pages pages`, compressed by the reference encoder at quality 5.
    const BROTLI: &[u8] = &[0x1b, 0x10, 0x00, 0x00, 0xa4, 0x40, 0xe0, 0x4a, 0x11, 0x64, 0xea, 0xd8, 0x1c, 0x0d];

    #[test]
    fn every_encoding_is_undone() {
        let text = b"pages pages pages";
        assert_eq!(&*decode(&[], text).unwrap(), text);
        assert_eq!(&*decode(&["identity"], text).unwrap(), text);
        assert_eq!(&*decode(&["GZIP"], &gzip(text)).unwrap(), text);
        assert_eq!(&*decode(&["deflate"], &zlib(text)).unwrap(), text);
        assert_eq!(&*decode(&["deflate"], &deflate(text)).unwrap(), text);
        assert_eq!(&*decode(&["br"], BROTLI).unwrap(), text);
        assert_eq!(&*decode(&["zstd"], &zstd::encode_all(&text[..], 1).unwrap()).unwrap(), text);
    }

    #[test]
    fn layers_are_undone_from_the_outermost_in() {
        let text = b"twice wrapped";
        let wrapped = gzip(&zlib(text));
        assert_eq!(&*decode(&["deflate, gzip"], &wrapped).unwrap(), text);
        assert_eq!(&*decode(&["deflate", "gzip"], &wrapped).unwrap(), text);
    }

    #[test]
    fn members_of_one_gzip_body_are_joined() {
        let body = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(&*decode(&["gzip"], &body).unwrap(), b"one two");
    }

    #[test]
    fn a_body_that_only_claims_to_be_gzip_is_kept() {
        assert_eq!(&*decode(&["gzip"], b"<html>plain").unwrap(), b"<html>plain");
    }

    #[test]
    fn unknown_and_endless_encodings_give_nothing() {
        assert!(decode(&["rot13"], b"x").is_none());
        assert!(decode(&["gzip,gzip,gzip,gzip"], b"x").is_none());
    }

    /// 64 MiB and 1,000 bytes of zeros, compressed by the reference encoder.
    const BROTLI_BOMB: &[u8] = &[
        0xcf, 0xff, 0xff, 0x7f, 0x00, 0x24, 0x00, 0xe2, 0xb1, 0x40, 0x72, 0xef, 0xff, 0xf9, 0xff, 0xff, 0x0f, 0x80,
        0x04, 0x40, 0x1c, 0x16, 0x80, 0xee, 0xfd, 0x3f, 0xff, 0xff, 0xff, 0x01, 0x90, 0x00, 0x88, 0xc3, 0x02, 0xd0,
        0xbd, 0xff, 0xe7, 0xff, 0xff, 0x3f, 0x00, 0x12, 0x00, 0x71, 0x58, 0x00, 0xba, 0xf7, 0xff, 0x71, 0x3e, 0x00,
        0x40, 0x02, 0x20, 0x0a, 0x0b, 0x40, 0x34,
    ];

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let zeros = vec![0u8; MAX_DECODED_BYTES + 1000];
        for (encoding, body) in [
            ("gzip", gzip(&zeros)),
            ("deflate", deflate(&zeros)),
            ("br", BROTLI_BOMB.to_vec()),
            ("zstd", zstd::encode_all(&zeros[..], 1).unwrap()),
        ] {
            assert_eq!(decode(&[encoding], &body).unwrap().len(), MAX_DECODED_BYTES, "{encoding}");
        }
    }

    #[test]
    fn a_body_that_opens_to_more_than_is_allowed_says_that_it_is_cut() {
        let zeros = vec![0u8; 300_000];
        for (encoding, body) in [
            ("gzip", gzip(&zeros)),
            ("deflate", zlib(&zeros)),
            ("br", BROTLI_BOMB.to_vec()),
            ("zstd", zstd::encode_all(&zeros[..], 1).unwrap()),
            // The inner layer is small, what is in it is not.
            ("deflate, gzip", gzip(&zlib(&zeros))),
        ] {
            let cut = decode_up_to(&[encoding], &body, 100_000).unwrap();
            assert_eq!((cut.bytes.len(), cut.is_cut), (100_000, true), "{encoding}");
            let whole = decode_up_to(&[encoding], &body, MAX_DECODED_BYTES).unwrap();
            assert_eq!(whole.is_cut, encoding == "br", "{encoding}");
        }
        assert!(!decode_up_to(&[], &zeros, 100_000).unwrap().is_cut, "nothing is decoded, so nothing grows");
    }

    #[test]
    fn a_megabyte_that_opens_to_ten_gigabytes_stops_at_the_limit() {
        // Small enough that gzip sees the repetition.
        const PIECE: usize = 16 << 20;
        const PIECES: usize = (10 << 30) / PIECE;
        let zeros = vec![0u8; PIECE];
        let zstd = zstd::encode_all(&zeros[..], 1).unwrap().repeat(PIECES);
        // One layer of gzip opens to a thousand times its size at most; two open to ten gigabytes.
        let mut best = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        best.write_all(&zeros).unwrap();
        let gzips = gzip(&best.finish().unwrap().repeat(PIECES));
        for (encoding, body) in [("zstd", zstd), ("gzip, gzip", gzips)] {
            assert!(body.len() < 1 << 20, "{encoding} {}", body.len());
            assert_eq!(decode(&[encoding], &body).unwrap().len(), MAX_DECODED_BYTES, "{encoding}");
        }
    }

    proptest! {
        #[test]
        fn a_cut_stream_keeps_what_was_decoded_before_the_cut(text in "[a-z ]{200,2000}", part in 0.3f64..1.0) {
            for (encoding, body) in [("gzip", gzip(text.as_bytes())), ("deflate", deflate(text.as_bytes()))] {
                let cut = &body[..(body.len() as f64 * part) as usize];
                let decoded = decode(&[encoding], cut).unwrap();
                prop_assert!(text.as_bytes().starts_with(&decoded));
                // The dictionary of a dynamic block comes first; behind half the stream there must be text.
                prop_assert!(part < 0.9 || !decoded.is_empty(), "{} {}", encoding, cut.len());
            }
        }

        #[test]
        fn no_bytes_make_a_decoder_panic(body: Vec<u8>, encoding in "(gzip|deflate|br|zstd)") {
            let _ = decode(&[&encoding], &body);
            let _ = decode(&[&encoding], &[&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], body.as_slice()].concat());
        }
    }
}
