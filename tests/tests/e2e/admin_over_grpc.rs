//! The service for administrators, as programs of other people use it: over gRPC, with messages that say little or nonsense.

use std::time::Duration;

use seine_proto::monitor::v1::admin_client::AdminClient;
use seine_proto::monitor::v1::{
    AddCrawlRequest, Admission, Crawl, HostSettings, Refresh, SetCrawlRequest, SettingChange,
};
use seine_tests::sandbox::{Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use crate::politeness::assert_spaced;

struct Admin {
    client: AdminClient<Channel>,
    token: String,
}

impl Admin {
    async fn of(seine: &Seine, server: &Running) -> Self {
        let token = std::fs::read_to_string(seine.data().join("admin-token")).unwrap();
        let client = AdminClient::connect(format!("http://{}", server.grpc())).await.unwrap();
        Self { client, token: token.trim().to_owned() }
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", format!("Bearer {}", self.token).parse().unwrap());
        request
    }

    async fn add(&mut self, crawl: Crawl) -> Result<Crawl, Status> {
        let request = self.request(AddCrawlRequest { crawl: Some(crawl), again: false });
        let added = self.client.add_crawl(request).await?.into_inner();
        Ok(added.status.unwrap().crawl.unwrap())
    }

    async fn set(&mut self, name: &str, settings: Crawl, fields: &[&str]) -> Result<Vec<SettingChange>, Status> {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        let request = self.request(SetCrawlRequest { name: name.to_owned(), settings: Some(settings), fields });
        Ok(self.client.set_crawl(request).await?.into_inner().changes)
    }
}

fn serve(seine: &Seine) -> Running {
    seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"])
}

#[tokio::test]
async fn a_crawl_of_which_almost_nothing_is_said_is_as_polite_as_one_of_the_command_line() {
    let web = FakeWeb::start(FakeWebConfig::small(50));
    let seine = Seine::new();
    let server = serve(&seine);
    let mut admin = Admin::of(&seine, &server).await;
    let asked = Crawl { seeds: vec![web.url("/")], allow_net: vec!["127.0.0.0/8".into()], ..Crawl::default() };
    let crawl = admin.add(asked).await.unwrap();
    assert_eq!((crawl.delay_ms, crawl.hosts_per_ip, crawl.ignore_robots), (Some(1_000), Some(2), Some(false)));
    assert_eq!((crawl.connections_per_host, crawl.max_attempts), (None, Some(3)));
    assert!(crawl.name.starts_with(&web.addr().to_string()), "{}", crawl.name);
    assert!(crawl.user_agent().starts_with("seine/"), "{}", crawl.user_agent());
    assert_eq!(crawl.admission.as_ref().unwrap().max_path_segments, Some(24));
    eventually(Duration::from_secs(60), "some pages are fetched", async || web.requests().len() >= 4).await;
    assert_spaced(&web.requests(), Duration::from_secs(1));
    let changes = admin.set(&crawl.name, Crawl { delay_ms: Some(2_500), ..Crawl::default() }, &["delay_ms"]).await;
    assert_eq!(changes.unwrap()[0].now, "2.5 s");
}

#[tokio::test]
async fn what_cannot_be_is_an_invalid_argument_that_names_the_field() {
    let seine = Seine::new();
    let server = serve(&seine);
    let mut admin = Admin::of(&seine, &server).await;
    let base = Crawl { seeds: vec!["http://a.invalid/".into()], ..Crawl::default() };
    let rules = Admission { deny_urls: vec!["re:(".into()], ..Admission::default() };
    let host = HostSettings { pattern: "a.test".into(), delay_ms: Some(u32::MAX), ..HostSettings::default() };
    let wrong = [
        ("seeds", Crawl::default()),
        ("seeds", Crawl { seeds: vec!["a.test".into()], ..Crawl::default() }),
        ("scope", Crawl { scope: 17, ..base.clone() }),
        ("strategy", Crawl { strategy: -3, ..base.clone() }),
        ("delay_ms", Crawl { delay_ms: Some(u32::MAX), ..base.clone() }),
        ("response_factor", Crawl { response_factor: Some(f32::NAN), ..base.clone() }),
        ("value_threshold", Crawl { value_threshold: Some(-1.0), ..base.clone() }),
        ("connections_per_host", Crawl { connections_per_host: Some(0), ..base.clone() }),
        ("allow_net", Crawl { allow_net: vec!["10.0.0.0/99".into()], ..base.clone() }),
        ("resolve", Crawl { resolve: vec!["x:y".into()], ..base.clone() }),
        ("admission.deny_urls", Crawl { admission: Some(rules), ..base.clone() }),
        ("hosts[0].delay_ms", Crawl { hosts: vec![host], ..base.clone() }),
        ("refresh.policy", Crawl { refresh: Some(Refresh { policy: 9, ..Refresh::default() }), ..base.clone() }),
        ("user_agent", Crawl { user_agent: Some("two\nlines".into()), ..base.clone() }),
    ];
    for (field, crawl) in wrong {
        let refusal = admin.add(crawl).await.unwrap_err();
        assert_eq!(refusal.code(), Code::InvalidArgument, "{field}: {refusal}");
        assert!(refusal.message().starts_with(&format!("{field}: ")), "{field}: {refusal}");
    }
    let crawl = admin.add(Crawl { name: "c".into(), ..base }).await.unwrap();
    let refusal = admin.set(&crawl.name, Crawl::default(), &["seeds"]).await.unwrap_err();
    assert_eq!((refusal.code(), refusal.message().starts_with("seeds: ")), (Code::InvalidArgument, true), "{refusal}");
    let refusal = admin.set("nobody", Crawl::default(), &[]).await.unwrap_err();
    assert_eq!(refusal.code(), Code::NotFound, "{refusal}");
}
