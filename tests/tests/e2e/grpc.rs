//! The gRPC port as other people's programs see it: searching, health of each tier, and reflection in both versions.

use seine_proto::query::v1::query_client::QueryClient;
use seine_proto::query::v1::{GetRequest, SearchRequest, Sort, SuggestRequest};
use seine_tests::sandbox::{Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

async fn channel(server: &Running) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{}", server.grpc())).expect("it is an address");
    endpoint.connect().await.expect("the server accepts connections")
}

async fn status_of(channel: &Channel, service: &str) -> Result<ServingStatus, Status> {
    let request = HealthCheckRequest { service: service.to_owned() };
    Ok(HealthClient::new(channel.clone()).check(request).await?.into_inner().status())
}

#[tokio::test]
async fn searches_are_answered_over_grpc_as_over_http() {
    let web = FakeWeb::start(FakeWebConfig::small(12));
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let mut query = QueryClient::new(channel(&server).await);
    let search = |words: &str| SearchRequest { query: words.to_owned(), ..SearchRequest::default() };

    let first = SearchRequest { limit: 8, facets: true, ..search("fake") };
    let found = query.search(first.clone()).await.unwrap().into_inner();
    assert_eq!((found.total, found.hits.len()), (13, 8));
    assert!(found.hits.iter().all(|hit| hit.url.starts_with(&web.url("/")) && hit.score > 0.0), "{found:?}");
    assert_eq!(found.facets.unwrap().site[0].count, 13);
    let rest = query.search(SearchRequest { cursor: found.cursor, ..first }).await.unwrap().into_inner();
    assert_eq!((rest.hits.len(), rest.cursor.as_str()), (5, ""), "the cursor leads to the rest");
    let word = FakeWebConfig::unique_word(0, 3);
    let one = query.search(SearchRequest { sort: Sort::Date.into(), ..search(&word) }).await.unwrap().into_inner();
    assert!(one.total == 1 && one.hits[0].snippet.contains(&format!("<mark>{word}</mark>")), "{one:?}");
    let elsewhere = SearchRequest { site: "example.org".to_owned(), ..search("fake") };
    assert_eq!(query.search(elsewhere).await.unwrap().into_inner().total, 0);

    let hit = &one.hits[0];
    for asked in [
        GetRequest { id: hit.id.clone(), ..GetRequest::default() },
        GetRequest { url: hit.url.clone(), ..GetRequest::default() },
    ] {
        let document = query.get(asked).await.unwrap().into_inner().document.unwrap();
        assert_eq!((&document.id, &document.url, &document.title), (&hit.id, &hit.url, &hit.title));
        assert!(document.bytes > 0 && document.archive.is_some_and(|archive| archive.length > 0));
    }
    let typed = SuggestRequest { query: word[..word.len() - 1].to_owned(), limit: 3 };
    let suggestions = query.suggest(typed).await.unwrap().into_inner().suggestions;
    assert!(suggestions.contains(&word), "{suggestions:?}");
}

#[tokio::test]
async fn what_is_wrong_in_a_grpc_search_is_told_by_code_and_sentence() {
    let seine = Seine::new();
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let mut query = QueryClient::new(channel(&server).await);
    let request = SearchRequest::default;
    for (wrong, word) in [
        (SearchRequest { limit: 101, ..request() }, "101"),
        (SearchRequest { offset: 10_001, ..request() }, "10001"),
        (SearchRequest { per_host: 101, ..request() }, "101"),
        (SearchRequest { site: "http://a/".to_owned(), ..request() }, "http://a/"),
        (SearchRequest { lang: "english".to_owned(), ..request() }, "english"),
        (SearchRequest { after: "soon".to_owned(), ..request() }, "soon"),
        (SearchRequest { cursor: "x".to_owned(), ..request() }, "cursor"),
        (SearchRequest { query: "x".repeat(1_025), ..request() }, "1025"),
    ] {
        let refused = query.search(wrong).await.unwrap_err();
        assert!(refused.code() == Code::InvalidArgument && refused.message().contains(word), "{refused:?}");
    }
    let refused = query.suggest(SuggestRequest { query: "a".to_owned(), limit: 21 }).await.unwrap_err();
    assert!(refused.code() == Code::InvalidArgument && refused.message().contains("21"), "{refused:?}");
    let get = |id: &str, url: &str| GetRequest { id: id.to_owned(), url: url.to_owned() };
    for (asked, code) in [
        (get(&"0".repeat(32), ""), Code::NotFound),
        (get("", "http://a.example/"), Code::NotFound),
        (get("nonsense", ""), Code::InvalidArgument),
        (get("", "nonsense"), Code::InvalidArgument),
        (get("", ""), Code::InvalidArgument),
    ] {
        let refused = query.get(asked.clone()).await.unwrap_err();
        assert!(refused.code() == code && !refused.message().is_empty(), "{asked:?}: {refused:?}");
    }
}

#[tokio::test]
async fn health_is_told_for_the_process_for_each_tier_and_for_each_service() {
    let seine = Seine::new();
    let all = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let every = channel(&all).await;
    for name in [
        "",
        "monitor",
        "collector",
        "analyser",
        "filesaver",
        "indexer",
        "query",
        "seine.monitor.v1.Admin",
        "seine.node.v1.Membership",
        "seine.monitor.v1.Work",
        "seine.analyser.v1.Analyser",
        "seine.filesaver.v1.Filesaver",
        "seine.indexer.v1.Indexer",
        "seine.query.v1.Query",
    ] {
        assert_eq!(status_of(&every, name).await.unwrap(), ServingStatus::Serving, "{name:?}");
    }
    let unknown = status_of(&every, "seine.query.v2.Query").await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    let search = seine.start(&["serve", "--roles", "query", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let one = channel(&search).await;
    assert_eq!(status_of(&one, "seine.query.v1.Query").await.unwrap(), ServingStatus::Serving);
    assert_eq!(
        status_of(&one, "seine.monitor.v1.Admin").await.unwrap_err().code(),
        Code::NotFound,
        "it runs elsewhere"
    );
}

/// The services that reflection lists, in one of its versions, which differ only in their names.
macro_rules! listed {
    ($version:ident, $channel:expr) => {{
        use tonic_reflection::pb::$version::ServerReflectionRequest;
        use tonic_reflection::pb::$version::server_reflection_client::ServerReflectionClient;
        use tonic_reflection::pb::$version::server_reflection_request::MessageRequest;
        use tonic_reflection::pb::$version::server_reflection_response::MessageResponse;
        let ask = |message| ServerReflectionRequest { host: String::new(), message_request: Some(message) };
        let list = MessageRequest::ListServices(String::new());
        let describe = MessageRequest::FileContainingSymbol("grpc.health.v1.Health".to_owned());
        let requests = futures::stream::iter([ask(list), ask(describe)]);
        let mut client = ServerReflectionClient::new($channel);
        let mut answers = client.server_reflection_info(requests).await.unwrap().into_inner();
        let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
        let MessageResponse::ListServicesResponse(list) = answer else { panic!("{answer:?}") };
        let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
        assert!(matches!(answer, MessageResponse::FileDescriptorResponse(_)), "{answer:?}");
        list.service.into_iter().map(|service| service.name).collect::<Vec<String>>()
    }};
}

#[tokio::test]
async fn reflection_lists_what_a_process_serves_in_both_versions() {
    let seine = Seine::new();
    let server = seine.start(&["serve", "--roles", "query", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let channel = channel(&server).await;
    let expected = [
        "seine.query.v1.Query",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
    ];
    assert_eq!(listed!(v1, channel.clone()), expected);
    assert_eq!(listed!(v1alpha, channel), expected);
}
