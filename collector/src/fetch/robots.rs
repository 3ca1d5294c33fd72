//! Reads robots.txt: one request of what may be a chain of redirects.

use std::io::Read;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use http::{HeaderMap, HeaderValue, Method};
use reqwest::Request;
use seine_common::clock::Clock;
use seine_common::url::CanonicalUrl;

use super::answer::Answer;
use super::http::OriginClient;
use super::outcome::Ending;
use super::{body, redirect};
use crate::robots::{MAX_ROBOTS_BYTES, Verdict};

/// What one request for robots.txt brought.
#[derive(Debug, PartialEq, Eq)]
pub enum RobotsAnswer {
    Verdict(Verdict),
    /// The file is said to be there.
    Redirect(CanonicalUrl),
}

/// What became of one request, with the answer itself where the archive keeps it.
#[derive(Debug, PartialEq, Eq)]
pub struct RobotsReading {
    pub answer: RobotsAnswer,
    pub kept: Option<Answer>,
}

impl From<RobotsAnswer> for RobotsReading {
    fn from(answer: RobotsAnswer) -> Self {
        Self { answer, kept: None }
    }
}

/// Asks once. `request` is its number in the host's pacing.
pub async fn read_robots(
    client: &OriginClient,
    url: &CanonicalUrl,
    request: u64,
    timeout: Duration,
    keeps_answers: bool,
) -> RobotsReading {
    match tokio::time::timeout(timeout, attempt(client, url, request, keeps_answers)).await {
        Ok(Ok(reading)) => reading,
        Ok(Err(ending)) => unavailable(&ending.detail).into(),
        Err(_) => unavailable(&Ending::timed_out(timeout).detail).into(),
    }
}

fn unavailable(detail: &str) -> RobotsAnswer {
    RobotsAnswer::Verdict(Verdict::Unavailable(format!("robots.txt could not be read: {detail}")))
}

async fn attempt(
    client: &OriginClient,
    url: &CanonicalUrl,
    request: u64,
    keeps_answers: bool,
) -> Result<RobotsReading, Ending> {
    let at_ms = Clock::System.now_ms();
    let mut asking = Request::new(Method::GET, url.as_url().clone());
    asking.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let sent = client.sent_with(&asking);
    let mut response = client.send(asking, request).await?;
    let status = response.status().as_u16();
    let told_by_head = match redirect::target(url, status, response.headers()) {
        Some(target) => Some(RobotsAnswer::Redirect(target)),
        None => Verdict::of_status(status).map(|mut verdict| {
            if let Verdict::SlowDown { retry_after, .. } = &mut verdict {
                *retry_after = Ending::of_answer(url, status, response.headers(), at_ms).retry_after;
            }
            RobotsAnswer::Verdict(verdict)
        }),
    };
    if let Some(answer) = told_by_head {
        // As with pages: a host that asks for patience is heard at once.
        let is_urgent = matches!(answer, RobotsAnswer::Verdict(Verdict::SlowDown { .. }));
        let kept = match keeps_answers && !is_urgent {
            true => Some(Answer::read(client, url, &sent, response, at_ms).await),
            false => {
                body::drain(client.body(&mut response)).await;
                None
            }
        };
        return Ok(RobotsReading { answer, kept });
    }
    let received = body::read_beginning(client.body(&mut response), MAX_ROBOTS_BYTES).await;
    let received = received.map_err(|error| Ending::of_error(&error))?;
    let truncated = if received.len() == MAX_ROBOTS_BYTES { "length" } else { "" };
    let kept = keeps_answers.then(|| Answer::with(url, &sent, &response, received.clone(), truncated, at_ms));
    let answer = match decode(response.headers(), received) {
        Some(file) => RobotsAnswer::Verdict(Verdict::Rules(file)),
        None => unavailable("it is compressed in a way that was not asked for"),
    };
    Ok(RobotsReading { answer, kept })
}

/// Plain text was asked for; some servers compress all the same.
fn decode(headers: &HeaderMap, received: Bytes) -> Option<Bytes> {
    let encoding = headers.get(CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
    let limit = MAX_ROBOTS_BYTES as u64;
    let mut file = Vec::new();
    match encoding.as_deref() {
        None | Some(b"" | b"identity") => return Some(received),
        // Cut files end in the middle of the stream; what came out before counts.
        Some(b"gzip" | b"x-gzip") => drop(flate2::read::GzDecoder::new(&*received).take(limit).read_to_end(&mut file)),
        Some(b"deflate") => drop(flate2::read::ZlibDecoder::new(&*received).take(limit).read_to_end(&mut file)),
        Some(_) => return None,
    }
    Some(file.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_compressed_file_is_read_up_to_the_cut() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&vec![b'a'; 10 * MAX_ROBOTS_BYTES]).unwrap();
        let bomb = Bytes::from(encoder.finish().unwrap());
        let headers =
            |encoding: &'static str| [(CONTENT_ENCODING, HeaderValue::from_static(encoding))].into_iter().collect();
        assert_eq!(decode(&headers("GZIP"), bomb.clone()).unwrap().len(), MAX_ROBOTS_BYTES);
        assert_eq!(decode(&headers("br"), bomb.clone()), None);
        assert_eq!(decode(&HeaderMap::new(), bomb.clone()), Some(bomb));
    }
}
