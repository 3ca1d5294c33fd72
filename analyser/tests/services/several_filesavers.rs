//! Pages through an analyser to several filesavers.

use std::collections::BTreeMap;

use seine_analyser::filesaver::Filesaver;
use seine_node::membership::Filesavers;
use seine_node::transport::user_client::user_channel;
use seine_proto::analyser::v1::AnalyseRequest;
use seine_proto::analyser::v1::analyse_response::Event;
use seine_proto::common::v1::ArchivePosition;
use seine_proto::filesaver::v1::{ReadForm, ReadRequest, read_request::Record};
use tonic::Code;

use crate::analysing::{Process, analyse_request, analyser_of, next, open};
use crate::support::*;

const PAGES: u64 = 60;

fn known(node: &Node) -> (String, seine_node::transport::Channel) {
    (node.filesaver.log_id().to_owned(), node.channel())
}

#[tokio::test]
async fn pages_are_spread_and_each_position_names_who_has_it() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let nodes = dirs.each_ref().map(|dir| Node::open(dir.path()));
    let (sender, mut stream) = open(analyser_of(Filesavers::of(nodes.each_ref().map(known)))).await;
    let mut saved: BTreeMap<u64, ArchivePosition> = BTreeMap::new();
    for number in 0..PAGES {
        sender.send(analyse_request(number)).await.unwrap();
        assert!(matches!(next(&mut stream).await, (_, Event::Parsed(_))));
        let (_, Event::Saved(page)) = next(&mut stream).await else { panic!("page {number} was not saved") };
        saved.insert(number, page.archive.unwrap());
    }
    let form = ReadForm::Decoded.into();
    for (number, position) in &saved {
        let of = nodes.iter().position(|node| node.filesaver.log_id() == position.filesaver).expect("one of them");
        let request = ReadRequest { record: Some(Record::Position(position.clone())), form, document: None };
        let read = nodes[of].client().read(request.clone()).await.unwrap().into_inner();
        assert_eq!((read.url, read.position), (url(*number), Some(position.clone())));
        let refused = nodes[1 - of].client().read(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    }
    for node in &nodes {
        let (entries, _) = node.read_log(0).await;
        assert!(entries.len() > 10, "{} of {PAGES}", entries.len());
        for description in entries.iter().map(description) {
            assert_eq!(description.archive.as_ref().unwrap().filesaver, node.filesaver.log_id());
        }
    }

    // A visit that finds its page unchanged goes to who has the page, and names that record.
    let mut visit = analyse_request(7);
    let page = visit.page.as_mut().unwrap();
    (page.status, page.known) = (304, Some(saved[&7].clone()));
    sender.send(visit).await.unwrap();
    let (_, Event::Saved(noted)) = next(&mut stream).await else { panic!("the visit was not noted") };
    assert_eq!(noted.archive.unwrap().filesaver, saved[&7].filesaver);
    for node in nodes {
        node.close().await;
    }
}

#[tokio::test]
async fn what_a_dead_filesaver_did_not_acknowledge_is_asked_for_again_and_goes_to_another() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let stays = Node::open(dirs[0].path());
    let dies = Filesaver::open(dirs[1].path(), config()).unwrap();
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let process = Process::start(address, dies.service());
    let route = (dies.log_id().to_owned(), user_channel(&address.to_string(), None).unwrap());
    let (sender, mut stream) = open(analyser_of(Filesavers::of([known(&stays), route]))).await;
    let mut saved = BTreeMap::new();
    let mut process = Some(process);
    for number in 0..PAGES {
        if number == PAGES / 2 {
            process = None;
        }
        sender.send(analyse_request(number)).await.unwrap();
        while !saved.contains_key(&number) {
            match next(&mut stream).await {
                (_, Event::Parsed(_)) => {}
                (page, Event::Saved(position)) => drop(saved.insert(page, position.archive.unwrap().filesaver)),
                (page, Event::Again(_)) => {
                    let again = AnalyseRequest { page_id: page, ..analyse_request(page) };
                    sender.send(again).await.unwrap();
                }
                (page, event) => panic!("{page}: {event:?}"),
            }
        }
    }
    assert!(process.is_none());
    let by = |log_id: &str| saved.values().filter(|filesaver| *filesaver == log_id).count();
    assert!(by(dies.log_id()) > 5 && by(stays.filesaver.log_id()) >= PAGES as usize / 2, "{saved:?}");
    assert!(saved.range(PAGES / 2..).all(|(_, filesaver)| filesaver == stays.filesaver.log_id()), "{saved:?}");
    stays.close().await;
    soon(dies.close()).await.unwrap();
}
