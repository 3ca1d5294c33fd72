//! `seine index`: work on the index.

use seine_common::clock::Clock;
use seine_common::config::Config;
use seine_proto::common::v1::Withdrawn;
use seine_proto::filesaver::v1::WithdrawRequest;
use seine_proto::indexer::v1::{FlushRequest, RebuildRequest};
use seine_proto::monitor::v1::{ForgetRequest, forget_request};

use crate::End;
use crate::args::{Role, Target};
use crate::connect::{Connection, Services, with_admin};
use crate::failure::Result;
use crate::filesavers::{self, Answering};
use crate::output::damage_text;

/// Takes in all logs, but for those that are left out.
pub async fn rebuild(without_logs: Vec<String>, target: Target, config: &Config) -> Result<End> {
    // Without the Monitor: what is saved can be searched again whatever became of the frontier.
    let connection = Connection::open(&target, &[Role::Filesaver, Role::Indexer], config).await?;
    eprintln!("rebuilding the index from the description logs; searches go on meanwhile");
    let rebuilt = connection.services().indexer.rebuild(RebuildRequest { without_logs }).await;
    connection.close().await;
    let documents = rebuilt?.into_inner().documents;
    if target.json {
        say!("{{\"documents\":{documents}}}");
    } else {
        say!("rebuilt: {documents} documents");
    }
    Ok(End::Done)
}

/// The Monitor forgets first, so that nothing brings a page back; then the pages leave the index. Interrupted in between,
/// the same command does the rest.
pub async fn forget(what: &str, target: &Target, config: &Config) -> Result<End> {
    let roles = [Role::Monitor, Role::Filesaver, Role::Indexer];
    let connection = Connection::open(target, &roles, config).await?;
    let forgotten = forget_with(&mut connection.services(), what).await;
    connection.close().await;
    let pages = forgotten?;
    if target.json {
        say!("{{\"forgotten\":{pages}}}");
    } else {
        say!("forgotten: {pages} pages of {what}; they are not visited again unless --undo lets them back in");
    }
    Ok(End::Done)
}

/// Lets back in what was forgotten. Nothing comes back into the index before it is fetched again.
pub async fn unforget(what: &str, target: &Target, config: &Config) -> Result<End> {
    with_admin(target, config, async |mut admin| {
        let (mut cursor, mut urls) = (Default::default(), 0);
        loop {
            let request = ForgetRequest { what: Some(subject(what)), cursor, undo: true };
            let answer = admin.forget(request).await?.into_inner();
            urls += answer.urls.len();
            cursor = answer.cursor;
            if cursor.is_empty() {
                break;
            }
        }
        match target.json {
            true => say!("{{\"let_back_in\":{urls}}}"),
            false if urls == 0 => say!("nothing of {what} was forgotten"),
            false => {
                say!("let back in: {urls} URLs of {what}; a running server, or the next `seine crawl`, fetches them")
            }
        }
        Ok(())
    })
    .await
}

/// A URL has a scheme, a host has none.
fn subject(what: &str) -> forget_request::What {
    match what.contains("://") {
        true => forget_request::What::Url(what.to_owned()),
        false => forget_request::What::Host(what.to_owned()),
    }
}

/// The withdrawals go into every log, so that each tells it by itself.
async fn forget_with(services: &mut Services, what: &str) -> Result<u64> {
    let mut filesavers = filesavers::answering(&services.filesavers).await?;
    let (mut cursor, mut pages) = (Default::default(), 0);
    loop {
        let request = ForgetRequest { what: Some(subject(what)), cursor, undo: false };
        let answer = services.admin.forget(request).await?.into_inner();
        pages += answer.urls.len() as u64;
        let at_ms = Clock::System.now_ms();
        let (epoch, token) = (answer.epoch, answer.token);
        let withdrawn = answer.urls.into_iter().map(|url| Withdrawn { url, at_ms, token, epoch });
        let withdrawn: Vec<Withdrawn> = withdrawn.collect();
        for filesaver in &mut filesavers {
            let request = WithdrawRequest { pages: withdrawn.clone() };
            filesaver.end_offset = filesaver.client.withdraw(request).await?.into_inner().end_offset;
        }
        cursor = answer.cursor;
        if cursor.is_empty() {
            break;
        }
    }
    for Answering { log_id, end_offset: until_offset, .. } in filesavers {
        for stretch in services.indexer.flush(FlushRequest { log_id, until_offset }).await?.into_inner().damaged {
            eprintln!("{}; it is not in the index", damage_text(&stretch));
        }
    }
    Ok(pages)
}
