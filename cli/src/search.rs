//! `seine search`: in a data directory, or at a server.

use seine_common::data_dir::DataDir;
use seine_query::{QueryConfig, QueryError, QueryService, SearchRequest, SearchResponse};

use crate::End;
use crate::args::SearchArguments;
use crate::failure::{Failure, Result};
use crate::process::INDEX_DIR;

pub async fn run(arguments: SearchArguments) -> Result<End> {
    let answer = match &arguments.server {
        Some(server) => ask_server(server, &arguments).await?,
        None => search_directory(&arguments)?,
    };
    if arguments.json {
        say!("{}", serde_json::to_string(&answer).map_err(Failure::failed)?);
    } else {
        print(&answer, &arguments);
    }
    Ok(End::Done)
}

/// The index is only read, so it does not matter whether a process holds the directory.
fn search_directory(arguments: &SearchArguments) -> Result<SearchResponse> {
    let data = DataDir::open_existing(&arguments.data)?;
    let query = QueryService::open(&data.root().join(INDEX_DIR), QueryConfig::default()).map_err(Failure::failed)?;
    let request = SearchRequest {
        query: arguments.words.join(" "),
        limit: arguments.limit as usize,
        offset: arguments.offset as usize,
        site: arguments.site.clone(),
        lang: arguments.lang.clone(),
        ..SearchRequest::default()
    };
    query.search(&request).map_err(|error| match error {
        QueryError::Invalid { .. } => Failure::usage(error),
        QueryError::NotReady(_) | QueryError::Busy => Failure::failed(error),
    })
}

async fn ask_server(server: &str, arguments: &SearchArguments) -> Result<SearchResponse> {
    let base = if server.contains("://") { server.to_owned() } else { format!("http://{server}") };
    let mut url = url::Url::parse(&base).and_then(|base| base.join("/api/v1/search")).map_err(|error| {
        Failure::usage(format!("--server {server:?} is not a URL ({error}); write http://HOST:PORT"))
    })?;
    url.query_pairs_mut()
        .append_pair("q", &arguments.words.join(" "))
        .append_pair("limit", &arguments.limit.to_string())
        .append_pair("offset", &arguments.offset.to_string())
        .extend_pairs(arguments.site.iter().map(|site| ("site", site)))
        .extend_pairs(arguments.lang.iter().map(|lang| ("lang", lang)));
    let unreachable =
        |error: reqwest::Error| Failure::failed(format!("{server} does not answer ({error}); is it running?"));
    let response = reqwest::get(url).await.map_err(unreachable)?;
    let (status, body) = (response.status(), response.bytes().await.map_err(unreachable)?);
    if status.is_success() {
        return serde_json::from_slice(&body).map_err(|_| Failure::failed(format!("{server} is not a Seine server")));
    }
    let error: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let message =
        error["error"]["message"].as_str().map_or_else(|| format!("{server} answered {status}"), str::to_owned);
    Err(if status.as_u16() == 400 { Failure::usage(message) } else { Failure::failed(message) })
}

fn print(answer: &SearchResponse, arguments: &SearchArguments) {
    if answer.hits.is_empty() {
        say!("nothing found for {:?}", arguments.words.join(" "));
        return;
    }
    for (number, hit) in answer.hits.iter().enumerate() {
        say!("{}. {}\n   {}", arguments.offset as usize + number + 1, hit.title, hit.url);
        say!("   {}\n", plain_text(&hit.snippet));
    }
    say!("{} of {} hits, {:.1} ms", answer.hits.len(), answer.total, answer.took_ms);
}

/// A snippet without its marks and escapes.
fn plain_text(snippet: &str) -> String {
    let unmarked = snippet.replace("<mark>", "").replace("</mark>", "").replace('\n', " ");
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    pairs.iter().fold(unmarked, |text, (escape, character)| text.replace(escape, character))
}
