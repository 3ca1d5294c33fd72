//! RESP2, as far as tests need it: commands are arrays of bulk strings, replies are read one by one.

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A paused server accepts connections and never answers.
const ANSWER_DEADLINE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Simple(String),
    /// Begins with its kind, such as `MOVED` or `CLUSTERDOWN`.
    Error(String),
    Integer(i64),
    Bulk(Bytes),
    Nothing,
    Array(Vec<Reply>),
}

/// Bytes that are shown as text.
#[derive(Clone, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\"", self.0.escape_ascii())
    }
}

impl Reply {
    /// The text of a simple or bulk string.
    pub fn text(&self) -> String {
        match self {
            Self::Simple(text) => text.clone(),
            Self::Bulk(bytes) => String::from_utf8_lossy(&bytes.0).into_owned(),
            other => panic!("not a text: {other:?}"),
        }
    }

    pub fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            other => panic!("not a number: {other:?}"),
        }
    }

    pub fn array(self) -> Vec<Reply> {
        match self {
            Self::Array(items) => items,
            other => panic!("not an array: {other:?}"),
        }
    }
}

/// To one node. Over its Unix socket, which speaks as its port does: so tests need no TLS of their own to look into a store
/// whose ports have it.
pub struct Connection {
    stream: BufReader<UnixStream>,
}

impl Connection {
    pub(crate) fn open(socket: &Path, password: Option<&str>) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(ANSWER_DEADLINE))?;
        stream.set_write_timeout(Some(ANSWER_DEADLINE))?;
        let mut connection = Self { stream: BufReader::new(stream) };
        if let Some(password) = password {
            connection.call(&["AUTH", password])?;
        }
        Ok(connection)
    }

    /// Sends a command and reads its reply.
    pub fn call<W: AsRef<[u8]>>(&mut self, words: &[W]) -> io::Result<Reply> {
        self.send(words)?;
        self.receive()
    }

    /// Sends a command; its reply is read later, in order.
    pub fn send<W: AsRef<[u8]>>(&mut self, words: &[W]) -> io::Result<()> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            let word = word.as_ref();
            bytes.extend(format!("${}\r\n", word.len()).into_bytes());
            bytes.extend(word);
            bytes.extend(b"\r\n");
        }
        self.stream.get_mut().write_all(&bytes)
    }

    pub fn receive(&mut self) -> io::Result<Reply> {
        read_reply(&mut self.stream)
    }
}

fn read_reply(stream: &mut impl BufRead) -> io::Result<Reply> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let Some(line) = line.strip_suffix("\r\n") else {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("the connection ended behind {line:?}")));
    };
    let unexpected = || io::Error::new(io::ErrorKind::InvalidData, format!("not RESP2: {line:?}"));
    let (kind, rest) = line.split_at_checked(1).ok_or_else(unexpected)?;
    let number = || rest.parse::<i64>().map_err(|_| unexpected());
    Ok(match kind {
        "+" => Reply::Simple(rest.to_owned()),
        "-" => Reply::Error(rest.to_owned()),
        ":" => Reply::Integer(number()?),
        "$" | "*" if rest == "-1" => Reply::Nothing,
        "$" => {
            let length = usize::try_from(number()?).map_err(|_| unexpected())?;
            let mut bytes = vec![0; length + 2];
            stream.read_exact(&mut bytes)?;
            bytes.truncate(length);
            Reply::Bulk(Bytes(bytes))
        }
        "*" => Reply::Array((0..number()?).map(|_| read_reply(stream)).collect::<io::Result<_>>()?),
        _ => return Err(unexpected()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_reply_is_read() {
        let bytes = b"*6\r\n+OK\r\n-ERR no\r\n:-7\r\n$4\r\n\r\n\0\xff\r\n$-1\r\n*0\r\n";
        let expected = [
            Reply::Simple("OK".into()),
            Reply::Error("ERR no".into()),
            Reply::Integer(-7),
            Reply::Bulk(Bytes(b"\r\n\0\xff".to_vec())),
            Reply::Nothing,
            Reply::Array(Vec::new()),
        ];
        assert_eq!(read_reply(&mut bytes.as_slice()).unwrap(), Reply::Array(expected.to_vec()));
        read_reply(&mut &bytes[..bytes.len() - 1]).expect_err("a reply that is cut off");
    }
}
