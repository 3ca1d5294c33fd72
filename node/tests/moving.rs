//! Messages within a process move; those of a call that came from elsewhere do not.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use http::{Request, Response};
use http_body_util::BodyExt;
use seine_node::transport::{Channel, in_memory, serve};
use seine_proto::analyser::v1::analyse_response::Event;
use seine_proto::analyser::v1::analyser_client::AnalyserClient;
use seine_proto::analyser::v1::analyser_server::{Analyser, AnalyserServer};
use seine_proto::analyser::v1::{AnalyseRequest, AnalyseResponse};
use seine_proto::common::v1::FetchedPage;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::service::RoutesBuilder;
use tonic::{Status, Streaming};
use tower::{Service, ServiceExt};

const PAGES: u64 = 100;

/// Answers with the body as text, and notes where in memory both were.
#[derive(Clone, Default)]
struct Echo {
    bodies: Arc<Mutex<Vec<usize>>>,
    answers: Arc<Mutex<Vec<usize>>>,
}

#[tonic::async_trait]
impl Analyser for Echo {
    type AnalyseStream = futures::stream::BoxStream<'static, Result<AnalyseResponse, Status>>;

    async fn analyse(
        &self,
        request: tonic::Request<Streaming<AnalyseRequest>>,
    ) -> Result<tonic::Response<Self::AnalyseStream>, Status> {
        let echo = self.clone();
        let answers = request.into_inner().map(move |request| {
            let AnalyseRequest { page_id, page, .. } = request?;
            let body = page.unwrap_or_default().body;
            echo.bodies.lock().unwrap().push(body.as_ptr().addr());
            let text = String::from_utf8(body.to_vec()).unwrap();
            echo.answers.lock().unwrap().push(text.as_ptr().addr());
            Ok(AnalyseResponse { page_id, event: Some(Event::Failed(text)) })
        });
        Ok(tonic::Response::new(answers.boxed()))
    }
}

/// A call that came over a connection, as it is passed on.
#[derive(Clone)]
struct FromElsewhere(Channel);

impl Service<Request<Body>> for FromElsewhere {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let channel = self.0.clone();
        async move {
            let (head, body) = request.into_parts();
            let sent = body.collect().await.unwrap().to_bytes();
            let request = Request::from_parts(head, Body::new(http_body_util::Full::new(sent)));
            let (head, body) = channel.oneshot(request).await.unwrap().into_parts();
            let answered = body.collect().await.unwrap();
            let trailers = answered.trailers().cloned();
            let answered = http_body_util::Full::new(answered.to_bytes()).with_trailers(async { trailers.map(Ok) });
            Ok(Response::from_parts(head, Body::new(answered)))
        }
        .boxed()
    }
}

struct Running {
    echo: Echo,
    channel: Channel,
    shutdown: CancellationToken,
    serving: JoinHandle<()>,
}

fn start() -> Running {
    let (dialer, listener) = in_memory();
    let echo = Echo::default();
    let mut routes = RoutesBuilder::default();
    routes.add_service(AnalyserServer::new(echo.clone()));
    let shutdown = CancellationToken::new();
    let serving = tokio::spawn(serve(routes.routes(), listener, shutdown.clone()));
    Running { echo, channel: dialer.channel(), shutdown, serving }
}

fn bodies() -> Vec<Bytes> {
    (0..PAGES).map(|number| Bytes::from(format!("the body of page {number}").repeat(1000))).collect()
}

fn requests(bodies: Vec<Bytes>) -> impl futures::Stream<Item = AnalyseRequest> + Send {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        for (page_id, body) in (0..).zip(bodies) {
            let page = Some(FetchedPage { body, ..FetchedPage::default() });
            sender.send(AnalyseRequest { page_id, page, withdrawn: None }).await.unwrap();
        }
    });
    ReceiverStream::new(receiver)
}

/// Where the texts of all answers are, which must be those of the bodies.
async fn check(answers: Streaming<AnalyseResponse>, bodies: &[Bytes]) -> Vec<String> {
    let answers: Vec<AnalyseResponse> = answers.map(Result::unwrap).collect().await;
    let texts = answers.into_iter().map(|answer| match answer.event {
        Some(Event::Failed(text)) => text,
        other => panic!("{other:?}"),
    });
    let texts: Vec<String> = texts.collect();
    assert!(texts.iter().map(String::as_bytes).eq(bodies.iter()));
    texts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn within_a_process_bodies_and_answers_are_not_copied() {
    let running = start();
    let bodies = bodies();
    let answers = AnalyserClient::new(running.channel).analyse(requests(bodies.clone())).await.unwrap();
    let texts = check(answers.into_inner(), &bodies).await;
    let sent: Vec<usize> = bodies.iter().map(|body| body.as_ptr().addr()).collect();
    assert_eq!(*running.echo.bodies.lock().unwrap(), sent);
    let received: Vec<usize> = texts.iter().map(|text| text.as_ptr().addr()).collect();
    // The first frame of answers is asked for before the first request has moved; no more than two fit into it.
    assert_eq!(running.echo.answers.lock().unwrap()[2..], received[2..]);
    running.shutdown.cancel();
    running.serving.await.unwrap();
}

#[tokio::test]
async fn a_call_that_is_passed_on_is_answered_in_bytes() {
    let running = start();
    let bodies = bodies();
    let elsewhere = FromElsewhere(running.channel);
    let mut client = AnalyserClient::new(elsewhere).max_decoding_message_size(usize::MAX);
    let answers = client.analyse(requests(bodies.clone())).await.unwrap();
    check(answers.into_inner(), &bodies).await;
    running.shutdown.cancel();
    running.serving.await.unwrap();
}
