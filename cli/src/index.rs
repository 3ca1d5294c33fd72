//! `seine index`: work on the index.

use seine_common::config::Config;
use seine_proto::indexer::v1::RebuildRequest;
use seine_proto::monitor::v1::{ForgetProgress, ForgetRequest, UnforgetRequest, forget_request, unforget_request};

use crate::End;
use crate::args::{Role, Target};
use crate::connect::{Admin, Connection, with_admin};
use crate::failure::{Failure, Result};
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

/// The server does it, or this process where nobody holds the directory, and does the rest later if this command is broken off.
pub async fn forget(what: &str, target: &Target, config: &Config) -> Result<End> {
    let roles = [Role::Monitor, Role::Filesaver, Role::Indexer];
    let connection = Connection::open(target, &roles, config).await?;
    let forgotten = follow_forgetting(&mut connection.services().admin, what).await;
    connection.close().await;
    let ForgetProgress { pages, away, damaged, .. } = forgotten?;
    for stretch in damaged {
        eprintln!("{}; it is not in the index", damage_text(&stretch));
    }
    for log_id in &away {
        eprintln!("the filesaver with log {log_id} does not run; it is told when it does");
    }
    if target.json {
        say!("{{\"forgotten\":{pages}}}");
    } else {
        say!("forgotten: {pages} pages of {what}; they are not visited again unless --undo lets them back in");
    }
    Ok(End::Done)
}

async fn follow_forgetting(admin: &mut Admin, what: &str) -> Result<ForgetProgress> {
    let what = Some(match subject(what) {
        Subject::Url(url) => forget_request::What::Url(url),
        Subject::Host(host) => forget_request::What::Host(host),
    });
    let mut told = admin.forget(ForgetRequest { what }).await?.into_inner();
    let mut last = ForgetProgress::default();
    while let Some(progress) = told.message().await? {
        if !progress.waits_for.is_empty() && progress.waits_for != last.waits_for {
            eprintln!("waiting: {}; it is tried again until it is done, also if you do not wait", progress.waits_for);
        }
        last = progress;
    }
    match last.done {
        true => Ok(last),
        false => Err(Failure::failed("it was taken back, or asked for once more, before it was done")),
    }
}

/// Lets back in what was forgotten. Nothing comes back into the index before it is fetched again.
pub async fn unforget(what: &str, target: &Target, config: &Config) -> Result<End> {
    with_admin(target, config, async |mut admin| {
        let (mut cursor, mut urls) = (Default::default(), 0);
        loop {
            let what = Some(match subject(what) {
                Subject::Url(url) => unforget_request::What::Url(url),
                Subject::Host(host) => unforget_request::What::Host(host),
            });
            let answer = admin.unforget(UnforgetRequest { what, cursor }).await?.into_inner();
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

enum Subject {
    Url(String),
    Host(String),
}

/// A URL has a scheme, a host has none.
fn subject(what: &str) -> Subject {
    match what.contains("://") {
        true => Subject::Url(what.to_owned()),
        false => Subject::Host(what.to_owned()),
    }
}
