//! The token that lets a machine join: `seine1.<pin>.<id>.<secret>`.
//!
//! The pin tells the machine which authority is the right one, so that it shows the secret to nobody else; the id is
//! public and names the token in lists; the secret lets it in. The text of a token exists where somebody asked for it
//! with [`JoinToken::reveal`] and nowhere else: not in `Debug`, not in errors.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE32_NOPAD_NOCASE;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::name::base32;

const PREFIX: &str = "seine1";
const PIN_CHARACTERS: usize = 52;
const ID_CHARACTERS: usize = 8;
const SECRET_CHARACTERS: usize = 26;

/// What is wrong with a text that should be a token. Says nothing of what stands in the secret's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongToken {
    #[error("the join token is empty; create one with `seine nodes token create` on the first machine")]
    Empty,
    #[error(
        "this is no join token: it does not begin with \"seine1.\"; copy the whole line that `seine nodes token \
         create` printed"
    )]
    NotAToken,
    #[error(
        "this join token was made for another version of seine: it does not begin with \"seine1.\"; upgrade this \
         machine's seine"
    )]
    OtherVersion,
    #[error("the join token has {0} parts between dots and not 4; was a part of it lost when it was copied?")]
    Parts(usize),
    #[error(
        "the second part of the join token, the pin, is not 52 letters and digits of base32; was it cut or mistyped?"
    )]
    Pin,
    #[error("the third part of the join token, its id, is not 8 letters and digits of base32; was it cut or mistyped?")]
    Id,
    #[error(
        "the last part of the join token, the secret, is not 26 letters and digits of base32; was it cut or mistyped?"
    )]
    Secret,
}

/// SHA-256 of a root certificate's DER: which authority is meant.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pin([u8; 32]);

/// Names a token. Public.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TokenId(String);

/// 128 random bits.
#[derive(Clone)]
pub struct Secret([u8; 16]);

#[derive(Clone)]
pub struct JoinToken {
    pub pin: Pin,
    pub id: TokenId,
    pub secret: Secret,
}

impl Pin {
    pub fn of(root_der: &[u8]) -> Self {
        Self(Sha256::digest(root_der).into())
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&base32(&self.0))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Pin({self})")
    }
}

impl FromStr for Pin {
    type Err = WrongToken;

    fn from_str(text: &str) -> Result<Self, WrongToken> {
        decode(text, PIN_CHARACTERS).map(Self).ok_or(WrongToken::Pin)
    }
}

impl TokenId {
    pub(crate) fn draw() -> Self {
        Self(base32(&rand::random::<[u8; 5]>()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for TokenId {
    type Err = WrongToken;

    fn from_str(text: &str) -> Result<Self, WrongToken> {
        let bytes = decode::<5>(text, ID_CHARACTERS).ok_or(WrongToken::Id)?;
        Ok(Self(base32(&bytes)))
    }
}

impl TryFrom<String> for TokenId {
    type Error = WrongToken;

    fn try_from(text: String) -> Result<Self, WrongToken> {
        text.parse()
    }
}

impl From<TokenId> for String {
    fn from(id: TokenId) -> String {
        id.0
    }
}

impl Secret {
    pub(crate) fn draw() -> Self {
        Self(rand::random())
    }

    /// Its text, for the call that shows it to the Monitor, after the pin was checked.
    pub fn reveal(&self) -> String {
        base32(&self.0)
    }

    /// What may be stored. 128 random bits cannot be guessed from it, so it needs neither salt nor a slow hash.
    pub(crate) fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }
}

impl FromStr for Secret {
    type Err = WrongToken;

    fn from_str(text: &str) -> Result<Self, WrongToken> {
        decode(text, SECRET_CHARACTERS).map(Self).ok_or(WrongToken::Secret)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(hidden)")
    }
}

impl JoinToken {
    /// The whole token, secret included: for the terminal of whoever created it.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}.{}.{}.{}", self.pin, self.id, self.secret.reveal())
    }
}

impl fmt::Debug for JoinToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "JoinToken({PREFIX}.{}.{}.hidden)", self.pin, self.id)
    }
}

impl FromStr for JoinToken {
    type Err = WrongToken;

    /// White space around it is ignored: tokens come from files and the clipboard.
    fn from_str(text: &str) -> Result<Self, WrongToken> {
        let text = text.trim();
        if text.is_empty() {
            return Err(WrongToken::Empty);
        }
        let parts: Vec<&str> = text.split('.').collect();
        if !parts[0].eq_ignore_ascii_case(PREFIX) {
            let version = parts[0].get(.."seine".len()).filter(|start| start.eq_ignore_ascii_case("seine"));
            let other = version.is_some_and(|start| parts[0][start.len()..].parse::<u32>().is_ok());
            return Err(if other { WrongToken::OtherVersion } else { WrongToken::NotAToken });
        }
        let [_, pin, id, secret] = parts[..] else { return Err(WrongToken::Parts(parts.len())) };
        Ok(Self { pin: pin.parse()?, id: id.parse()?, secret: secret.parse()? })
    }
}

fn decode<const BYTES: usize>(text: &str, characters: usize) -> Option<[u8; BYTES]> {
    if text.len() != characters {
        return None;
    }
    BASE32_NOPAD_NOCASE.decode(text.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token() -> JoinToken {
        JoinToken { pin: Pin::of(b"a root"), id: TokenId::draw(), secret: Secret::draw() }
    }

    #[test]
    fn a_token_is_read_back_as_it_was_written() {
        let token = token();
        let text = token.reveal();
        assert_eq!(text.len(), 6 + 1 + 52 + 1 + 8 + 1 + 26);
        assert_eq!(text, text.to_lowercase());
        for copied in [text.clone(), format!(" {text}\n"), text.to_uppercase()] {
            let again: JoinToken = copied.parse().unwrap();
            assert_eq!((again.pin, &again.id, again.reveal()), (token.pin, &token.id, text.clone()));
        }
    }

    #[test]
    fn each_way_to_be_wrong_has_its_sentence() {
        let text = token().reveal();
        let parts: Vec<&str> = text.split('.').collect();
        let with = |at: usize, part: &str| {
            let mut parts = parts.clone();
            parts[at] = part;
            parts.join(".")
        };
        let cases = [
            (String::new(), WrongToken::Empty),
            (" \n".into(), WrongToken::Empty),
            ("SWMTKN-1-abc".into(), WrongToken::NotAToken),
            ("seineé.a.b.c".into(), WrongToken::NotAToken),
            (with(0, "seine"), WrongToken::NotAToken),
            (with(0, "seine2"), WrongToken::OtherVersion),
            (parts[..3].join("."), WrongToken::Parts(3)),
            (format!("{text}.more"), WrongToken::Parts(5)),
            (with(1, &parts[1][..51]), WrongToken::Pin),
            (with(1, &"1".repeat(52)), WrongToken::Pin),
            // The last character of a pin has four bits that must be zero.
            (with(1, &"7".repeat(52)), WrongToken::Pin),
            (with(2, ""), WrongToken::Id),
            (with(2, "abcdefg1"), WrongToken::Id),
            (with(3, &parts[3][..25]), WrongToken::Secret),
            (with(3, &format!("{}!", &parts[3][..25])), WrongToken::Secret),
        ];
        for (text, wrong) in cases {
            assert_eq!(text.parse::<JoinToken>().unwrap_err(), wrong);
        }
    }

    #[test]
    fn neither_debug_nor_errors_show_the_secret() {
        let token = token();
        let secret = token.secret.reveal();
        let mut shown = format!("{token:?} {:?}", token.secret);
        let cut = token.reveal()[..90].to_owned();
        shown += &cut.parse::<JoinToken>().unwrap_err().to_string();
        assert!(!shown.contains(&secret[..8]), "{shown}");
        assert!(shown.contains(token.id.as_str()));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(seine[0-9]?)?[.a-z2-7é]{0,100}") {
            if let Ok(token) = text.parse::<JoinToken>() {
                prop_assert_eq!(token.reveal(), text);
            }
        }
    }
}
