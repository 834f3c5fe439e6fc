//! Secrets that guests use without seeing: texts that stand for them, filled in where requests leave the host.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use sha2::{Sha256, Sha512};

use crate::model::id::RunId;
use crate::model::origin::Origin;
use crate::sandbox::grants::{Grants, SecretGrant};
use crate::sandbox::wit::secrets::Algorithm;

/// Begins every text that stands for a secret, so that one that was not filled in is recognised.
const STANDS_FOR: &str = "airlock-secret-";

/// How long such a text is: what it begins with, and sixteen bytes in hexadecimal.
const TEXT: usize = STANDS_FOR.len() + 32;

/// The most texts that one attempt is given, and the longest name of a user: the host holds them for the guest.
const MOST_GIVEN: usize = 64;
const USER_BYTES: usize = 1024;

/// The texts that one attempt was given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placeholders {
    given: Vec<Given>,
}

#[derive(Debug, Clone)]
struct Given {
    text: String,
    secret: String,
    /// The user of `Basic` credentials, where the text stands for these.
    user: Option<String>,
}

/// Why a text was not filled in; the words are for the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotHere {
    /// The rule that forbids it.
    pub(crate) rule: String,
}

impl Placeholders {
    /// The text that stands for the secret; the same for every attempt of a run.
    pub(crate) fn plain(
        &mut self,
        grants: &Grants,
        key: &[u8; 32],
        run: RunId,
        name: &str,
    ) -> Result<String, String> {
        self.give(grants, key, run, name, None)
    }

    /// The text that stands for `Basic` credentials.
    pub(crate) fn basic(
        &mut self,
        grants: &Grants,
        key: &[u8; 32],
        run: RunId,
        user: &str,
        name: &str,
    ) -> Result<String, String> {
        if user.len() > USER_BYTES || user.contains(':') || user.chars().any(char::is_control) {
            return Err(format!(
                "a user of Basic credentials has at most {USER_BYTES} bytes, no colon and no control character"
            ));
        }
        self.give(grants, key, run, name, Some(user))
    }

    fn give(
        &mut self,
        grants: &Grants,
        key: &[u8; 32],
        run: RunId,
        name: &str,
        user: Option<&str>,
    ) -> Result<String, String> {
        granted(grants, name)?;
        let text = format!(
            "{STANDS_FOR}{}",
            derived(key, &[b"placeholder", &run.bytes(), name.as_bytes(), user.unwrap_or(":").as_bytes()])
        );
        if !self.given.iter().any(|given| given.text == text) {
            if self.given.len() >= MOST_GIVEN {
                return Err(format!("one call is given at most {MOST_GIVEN} texts that stand for secrets"));
            }
            self.given.push(Given {
                text: text.clone(),
                secret: name.to_owned(),
                user: user.map(str::to_owned),
            });
        }
        Ok(text)
    }

    /// Whether any of the texts stands in these bytes.
    pub(crate) fn stand_in(&self, bytes: &[u8]) -> bool {
        self.next(bytes, 0).is_some()
    }

    /// The first of the texts from a place on, and where it stands.
    fn next(&self, bytes: &[u8], mut from: usize) -> Option<(usize, &Given)> {
        if self.given.is_empty() {
            return None;
        }
        loop {
            let start = from + find(bytes.get(from..)?, STANDS_FOR.as_bytes())?;
            let text = bytes.get(start..start + TEXT)?;
            match self.given.iter().find(|given| given.text.as_bytes() == text) {
                Some(given) => return Some((start, given)),
                None => from = start + 1,
            }
        }
    }

    /// The header's value with every text filled in.
    ///
    /// # Errors
    /// Where a secret is not meant for this origin.
    pub(crate) fn fill_header(
        &self,
        grants: &Grants,
        origin: &Origin,
        value: &str,
    ) -> Result<String, NotHere> {
        let mut filled = value.to_owned();
        for given in self.given.iter().filter(|given| value.contains(&given.text)) {
            let grant = meant_for(grants, &given.secret, origin)?;
            filled = filled.replace(&given.text, &given.fill(grant));
        }
        Ok(filled)
    }

    /// The body with every text filled in.
    ///
    /// # Errors
    /// Where a secret is not meant for this origin or for bodies, or the body becomes longer than `most` bytes.
    pub(crate) fn fill_body(
        &self,
        grants: &Grants,
        origin: &Origin,
        body: Vec<u8>,
        most: u64,
    ) -> Result<Vec<u8>, NotHere> {
        let Some(mut found) = self.next(&body, 0) else { return Ok(body) };
        let mut filled = Vec::new();
        let mut rest = 0;
        loop {
            let (place, given) = found;
            let grant = meant_for(grants, &given.secret, origin)?;
            if !grant.in_body {
                let rule = format!("the secret `{}` is not declared for bodies", given.secret);
                return Err(NotHere { rule });
            }
            filled.extend_from_slice(&body[rest..place]);
            filled.extend_from_slice(given.fill(grant).as_bytes());
            rest = place + TEXT;
            if longer(&filled, most) {
                break;
            }
            match self.next(&body, rest) {
                Some(next) => found = next,
                None => break,
            }
        }
        filled.extend_from_slice(&body[rest..]);
        if longer(&filled, most) {
            return Err(NotHere { rule: format!("the body with its secrets may have {most} bytes") });
        }
        Ok(filled)
    }
}

impl Given {
    fn fill(&self, grant: &SecretGrant) -> String {
        match &self.user {
            None => grant.value.reveal().to_owned(),
            Some(user) => format!("Basic {}", STANDARD.encode(format!("{user}:{}", grant.value.reveal()))),
        }
    }
}

/// The longest name of a secret.
const LONGEST_NAME: usize = 128;

fn longer(bytes: &[u8], most: u64) -> bool {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most
}

/// A signature over bytes with the secret as key.
pub(crate) fn sign(
    grants: &Grants,
    name: &str,
    algorithm: Algorithm,
    bytes: &[u8],
) -> Result<Vec<u8>, String> {
    let key = granted(grants, name)?.value.reveal().as_bytes();
    let bad_key = |_| "the secret cannot be a key".to_owned();
    Ok(match algorithm {
        Algorithm::HmacSha256 => Hmac::<Sha256>::new_from_slice(key)
            .map_err(bad_key)?
            .chain_update(bytes)
            .finalize()
            .into_bytes()
            .to_vec(),
        Algorithm::HmacSha512 => Hmac::<Sha512>::new_from_slice(key)
            .map_err(bad_key)?
            .chain_update(bytes)
            .finalize()
            .into_bytes()
            .to_vec(),
    })
}

/// What belongs to one step of a run: the same in all of its attempts, and no other step's.
pub(crate) fn of_step(secret: &[u8; 32], what: &[u8], run: RunId, step: u32) -> [u8; 32] {
    derived_bytes(secret, &[what, &run.bytes(), &step.to_be_bytes()])
}

/// An HMAC over parts under the store's secret, in hexadecimal.
pub(crate) fn derived(key: &[u8; 32], parts: &[&[u8]]) -> String {
    hex(&derived_bytes(key, parts))
}

/// The first half, which is more than anybody guesses, in hexadecimal.
pub(crate) fn hex(derived: &[u8; 32]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    derived.iter().take(16).flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// An HMAC over parts under the store's secret.
pub(crate) fn derived_bytes(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let digest = crate::model::id::Digest::of_parts(parts);
    Hmac::<Sha256>::new_from_slice(key)
        .map(|mac| mac.chain_update(digest.0).finalize().into_bytes().into())
        .unwrap_or(digest.0)
}

fn granted<'a>(grants: &'a Grants, name: &str) -> Result<&'a SecretGrant, String> {
    if name.len() > LONGEST_NAME {
        return Err(format!("the name of a secret has at most {LONGEST_NAME} bytes"));
    }
    grants.secrets.get(name).ok_or_else(|| format!("the secret `{name}` is not declared or not granted"))
}

fn meant_for<'a>(grants: &'a Grants, name: &str, origin: &Origin) -> Result<&'a SecretGrant, NotHere> {
    let grant = granted(grants, name).map_err(|rule| NotHere { rule })?;
    if grant.origins.iter().any(|places| places.hold(origin)) {
        Ok(grant)
    } else {
        Err(NotHere { rule: format!("the secret `{name}` is not declared for this origin") })
    }
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clock::Timestamp;
    use crate::model::secret::SecretValue;
    use crate::sandbox::grants::Places;

    fn grants(in_body: bool) -> Grants {
        let origins = vec![Places::These("https://api.test".parse().unwrap())];
        let grant = SecretGrant { value: SecretValue::new("v4lue"), origins, in_body };
        Grants { secrets: [("token".to_owned(), grant)].into(), ..Grants::default() }
    }

    fn origin(text: &str) -> Origin {
        Origin::of(&url::Url::parse(text).unwrap()).unwrap()
    }

    const RUN: [u8; 16] = [1; 16];

    #[test]
    fn what_belongs_to_a_step_is_no_other_steps_and_no_other_runs() {
        let (run, other) = (RunId::from_bytes(RUN), RunId::from_bytes([2; 16]));
        let key = of_step(&[7; 32], b"key", run, 1);
        assert_eq!(key, of_step(&[7; 32], b"key", run, 1));
        for another in [
            of_step(&[7; 32], b"key", run, 2),
            of_step(&[7; 32], b"key", other, 1),
            of_step(&[7; 32], b"seed", run, 1),
            of_step(&[8; 32], b"key", run, 1),
        ] {
            assert_ne!(key, another);
        }
    }

    #[test]
    fn a_secret_is_filled_in_toward_its_origin_alone() {
        let mut texts = Placeholders::default();
        let run = RunId::new(Timestamp(1), [1; 10]);
        let text = texts.plain(&grants(false), &[0; 32], run, "token").unwrap();
        assert!(!text.contains("v4lue"));
        let header = format!("Bearer {text}");
        let filled = texts.fill_header(&grants(false), &origin("https://api.test"), &header);
        assert_eq!(filled, Ok("Bearer v4lue".to_owned()));
        assert!(texts.fill_header(&grants(false), &origin("https://other.test"), &header).is_err());
        assert!(texts.plain(&grants(false), &[0; 32], run, "other").is_err());
    }

    #[test]
    fn basic_credentials_are_whole_header_values() {
        let mut texts = Placeholders::default();
        let run = RunId::from_bytes(RUN);
        let text = texts.basic(&grants(false), &[0; 32], run, "bot", "token").unwrap();
        let filled = texts.fill_header(&grants(false), &origin("https://api.test"), &text);
        assert_eq!(filled, Ok("Basic Ym90OnY0bHVl".to_owned()));
        assert!(texts.basic(&grants(false), &[0; 32], run, "a:b", "token").is_err());
        assert!(texts.basic(&grants(false), &[0; 32], run, &"a".repeat(1025), "token").is_err());
    }

    #[test]
    fn one_attempt_is_given_so_many_texts_and_each_again() {
        let mut texts = Placeholders::default();
        let run = RunId::from_bytes(RUN);
        let mut ask = |user: usize| texts.basic(&grants(false), &[0; 32], run, &user.to_string(), "token");
        assert!((0..MOST_GIVEN).all(|user| ask(user).is_ok_and(|text| text.len() == TEXT)));
        assert!(ask(MOST_GIVEN).is_err() && ask(0).is_ok());
    }

    #[test]
    fn a_body_is_filled_in_up_to_its_limit_and_what_only_looks_like_a_text_is_left() {
        let mut texts = Placeholders::default();
        let text = texts.plain(&grants(true), &[0; 32], RunId::from_bytes(RUN), "token").unwrap();
        let fill = |body: String, most| {
            texts.fill_body(&grants(true), &origin("https://api.test"), body.into(), most)
        };
        assert_eq!(fill(text.repeat(3), 18), Ok(b"v4luev4luev4lue".to_vec()));
        assert!(fill(text.repeat(3), 14).is_err());
        let like = format!("{STANDS_FOR}{}{text}{STANDS_FOR}", "0".repeat(32));
        assert_eq!(fill(like.clone(), 200), Ok(like.replace(&text, "v4lue").into_bytes()));
    }

    #[test]
    fn bodies_are_filled_in_only_where_that_is_declared() {
        let mut texts = Placeholders::default();
        let run = RunId::from_bytes(RUN);
        let text = texts.plain(&grants(true), &[0; 32], run, "token").unwrap();
        let body = format!("a={text}&b={text}").into_bytes();
        let filled = texts.fill_body(&grants(true), &origin("https://api.test"), body.clone(), 100);
        assert_eq!(filled, Ok(b"a=v4lue&b=v4lue".to_vec()));
        assert!(texts.fill_body(&grants(false), &origin("https://api.test"), body, 100).is_err());
    }

    #[test]
    fn texts_are_the_same_for_a_run_and_differ_between_runs() {
        let text = |run: [u8; 16]| {
            Placeholders::default().plain(&grants(false), &[0; 32], RunId::from_bytes(run), "token").unwrap()
        };
        assert_eq!(text([1; 16]), text([1; 16]));
        assert_ne!(text([1; 16]), text([2; 16]));
    }

    #[test]
    fn signatures_are_those_of_the_rfc() {
        let mut grants = grants(false);
        grants.secrets.get_mut("token").unwrap().value = SecretValue::new("Jefe");
        let signature =
            sign(&grants, "token", Algorithm::HmacSha256, b"what do ya want for nothing?").unwrap();
        assert_eq!(signature[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    }
}
