//! Says in a sentence why a handshake failed. The side that refuses knows the reason; the other hears of it as an alert,
//! which is all that it can tell.

use std::io;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use super::pinned::PinRefusal;

/// Of an error of accepting or connecting, or of the first read or write after it: in TLS 1.3 a client hears only then
/// that the server refused its certificate.
pub fn explain_io(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(error) => explain(error),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the other side closed the connection during the handshake; is it a node port, and is it overloaded?"
                .to_owned()
        }
        None => error.to_string(),
    }
}

pub fn explain(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(error) => explain_certificate(error),
        Error::AlertReceived(alert) => explain_alert(*alert),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the other side does not speak TLS; use the node port (7071 by default), not the user port".to_owned()
        }
        Error::InvalidMessage(_) => {
            "the other side does not speak TLS as a node does; use the node port (7071 by default)".to_owned()
        }
        Error::PeerIncompatible(_) => {
            "the other side does not speak TLS 1.3; is it a node of this version of seine?".to_owned()
        }
        Error::NoApplicationProtocol => "the other side does not speak HTTP/2; use the node port".to_owned(),
        other => format!("the handshake failed: {other}"),
    }
}

fn explain_certificate(error: &CertificateError) -> String {
    match error {
        // Ours says all; others are words of the library.
        CertificateError::Other(other) if other.0.is::<PinRefusal>() => other.to_string(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the other side's certificate has expired; if it was stopped for weeks, let it join again with a new token, \
             else check the clocks of both machines"
                .to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the other side's certificate is not valid yet; check the clocks of both machines".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the other side is another node than the one that was meant; has another machine taken over its address?"
                .to_owned()
        }
        CertificateError::UnknownIssuer => {
            "the other side's certificate is of another cluster; check the address, and that both have joined the \
             same one"
                .to_owned()
        }
        CertificateError::BadSignature => {
            "the other side's certificate is forged or damaged: its signature is wrong".to_owned()
        }
        other => format!("the other side's certificate cannot be accepted: {other}"),
    }
}

fn explain_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateExpired => {
            "the other side refused this node's certificate as expired or not valid yet; check the clocks of both \
             machines, or let this node join again with a new token"
                .to_owned()
        }
        AlertDescription::UnknownCA => {
            "the other side refused this node's certificate as one of another cluster; check the address, and that both \
             have joined the same one"
                .to_owned()
        }
        AlertDescription::CertificateUnknown
        | AlertDescription::BadCertificate
        | AlertDescription::DecryptError
        | AlertDescription::CertificateRevoked => {
            "the other side refused this node's certificate; its log says why".to_owned()
        }
        AlertDescription::ProtocolVersion => "the other side does not speak TLS 1.3".to_owned(),
        AlertDescription::NoApplicationProtocol => "the other side does not speak HTTP/2; use the node port".to_owned(),
        other => format!("the other side ended the handshake ({other:?}); its log says why"),
    }
}
