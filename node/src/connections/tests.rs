//! Over real sockets.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::*;

const DEADLINE: Duration = Duration::from_secs(30);

struct Server {
    listener: TcpListener,
    connections: Connections,
    shutdown: CancellationToken,
}

impl Server {
    async fn new(most: usize, patience: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shutdown = CancellationToken::new();
        let connections = Connections::new(ConnectionLimits { most, patience }, shutdown.clone());
        Self { listener, connections, shutdown }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.listener.local_addr().unwrap()).await.unwrap()
    }

    /// Accepts and reads until there is nothing more, as a server does.
    async fn accept(&self) -> (Arc<Connection>, JoinHandle<io::Result<usize>>) {
        let mut stream = self.connections.accept(&self.listener).await;
        let connection = Arc::clone(stream.connection());
        (connection, tokio::spawn(async move { stream.read(&mut [0; 8]).await }))
    }

    fn open(&self) -> usize {
        self.connections.shared.table().open
    }
}

async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.expect("within the deadline")
}

#[tokio::test]
async fn the_connection_that_has_waited_longest_makes_room_for_a_new_one() {
    let server = Server::new(2, DEADLINE).await;
    let _clients = [server.connect().await, server.connect().await];
    let (first, first_ended) = server.accept().await;
    let (_second, second_ended) = server.accept().await;
    drop(first.work());
    let _third = server.connect().await;
    in_time(server.accept()).await;
    let error = in_time(second_ended).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    assert!(!first_ended.is_finished(), "its request ended after the other was opened");
    assert_eq!(server.open(), 2);
}

#[tokio::test]
async fn while_all_work_a_new_connection_waits_until_one_does_not() {
    let server = Server::new(1, DEADLINE).await;
    let _client = server.connect().await;
    let (first, first_ended) = server.accept().await;
    let (one, two) = (first.work(), first.work());
    let _late = server.connect().await;
    let mut accepting = std::pin::pin!(server.accept());
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut accepting).await.is_err());
    drop(one);
    assert!(
        tokio::time::timeout(Duration::from_millis(50), &mut accepting).await.is_err(),
        "the second request goes on"
    );
    drop(two);
    in_time(accepting).await;
    assert!(in_time(first_ended).await.unwrap().is_err());
    assert_eq!(server.open(), 1);
}

#[tokio::test]
async fn a_connection_without_a_request_ends_when_patience_does_and_one_with_a_request_stays() {
    let patience = Duration::from_millis(50);
    let server = Server::new(10, patience).await;
    let _clients = [server.connect().await, server.connect().await];
    let (busy, busy_ended) = server.accept().await;
    let working = busy.work();
    let (_, idle_ended) = server.accept().await;
    assert_eq!(in_time(idle_ended).await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    tokio::time::sleep(2 * patience).await;
    assert!(!busy_ended.is_finished());
    drop(working);
    assert!(in_time(busy_ended).await.unwrap().is_err());
    assert_eq!(server.open(), 0);
}

#[tokio::test]
async fn a_request_that_outlives_its_connection_takes_no_place() {
    let server = Server::new(1, DEADLINE).await;
    let client = server.connect().await;
    let (connection, ended) = server.accept().await;
    let working = connection.work();
    drop(client);
    assert_eq!(in_time(ended).await.unwrap().unwrap(), 0);
    let _next = server.connect().await;
    in_time(server.accept()).await;
    drop(working);
    assert_eq!((server.open(), server.connections.shared.table().waiting.len()), (1, 1));
}

#[tokio::test]
async fn after_shutdown_nobody_waits_for_long_and_requests_end_in_order() {
    let server = Server::new(10, 100 * DEADLINE).await;
    let _clients = [server.connect().await, server.connect().await];
    let (busy, busy_ended) = server.accept().await;
    let working = busy.work();
    let (_, idle_ended) = server.accept().await;
    server.shutdown.cancel();
    assert_eq!(in_time(idle_ended).await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert!(!busy_ended.is_finished());
    drop(working);
    assert!(in_time(busy_ended).await.unwrap().is_err());
}
