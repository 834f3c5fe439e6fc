//! What the host, the SDK and the plugins say is said in some test too: no text of an error is first read by whoever meets it.

use std::collections::HashSet;

use crate::source::{Fault, Kind, Source, Token, assert_none, sources_below};

/// Where texts are that people and models read.
const SPEAKERS: &[&str] = &["host/src", "plugin-sdk/src", "plugins"];

/// So many words in a row tell a text from every other.
const WORDS: usize = 4;

/// A text of less words is a name or a value.
const LEAST: usize = 3;

/// Texts that no test brings about, each as it begins, below the reason.
const OUT_OF_REACH: &[(&str, &[&str])] = &[
    (
        "what comes before it sees to it",
        &[
            "a look ahead met a key",
            "a run that ended has no result",
            "a run to be asked for again",
            "an attempt without an end",
            "an operand is missing here",
            "stored body is no JSON",
            "the answer is no JSON",
            "the attempt is over",
            "the call brings nothing",
            "the host ends the attempt",
            "the run {run} has no result after its decision",
            "the script is no text",
            "the secret cannot be a key",
            "what was repeated left nothing behind",
        ],
    ),
    (
        "the system, the disk or the network must fail at that very moment",
        &[
            "`chmod 700 {}`; until then each start compiles",
            "a host function panicked",
            "cannot be waited for: {error}",
            "checking the output failed",
            "checking the output took longer than",
            "clients take paths in Unicode alone, and this",
            "compiled code is not kept in {}: {error}",
            "compiled code is not kept: {} cannot be",
            "declares something else by now",
            "ends when the calls under way have ended, or at",
            "it cannot be locked in {}: {error}",
            "it cannot be written: {error}",
            "it is not taken note of how backends answered:",
            "its folder is no longer granted for writing",
            "less than {} MiB are free on its disk",
            "let the user that the host runs as read it: `ls",
            "looking at what it declares failed",
            "mend what it says, and ask again",
            "no client is served",
            "no connection began: {text}",
            "no threads can be started",
            "nobody is asked what became of calls:",
            "plugins could not be asked what they declare:",
            "runs that nobody drives are not closed:",
            "signals cannot be heard",
            "standard output cannot be written: {error}",
            "take what is yours: `chown $USER {shown}`",
            "the SDK does not lie beside this program",
            "the call was withdrawn",
            "the code changed meanwhile",
            "the compiled code of {} is lost, and its file",
            "the compiler could not be waited for",
            "the compiler ended with {status}",
            "the component was not handed over whole",
            "the component was not handed over: {error}",
            "the configuration's folder is not known",
            "the connection was closed before anything was",
            "the folder `{name}` cannot be opened: {error:#}",
            "the host's file work failed inside",
            "the instance could not be made: {text}",
            "the instance ended: {error:#}",
            "the name has no address",
            "the pool of instances is used up: {error:#}",
            "the program that was started is no compiler of",
            "the question after a backend ended without an",
            "the request cannot be written: {error}",
            "the request was given up",
            "the system gives no random bytes",
            "the task of an effect ended without an answer",
            "this program does not know where it lies",
            "trust {plugin} as it is now?",
            "was compiled in vain",
            "what is known of a plugin is not kept in {}:",
            "what was built is no component",
            "write into its Cargo.toml: [lib] crate-type =",
            "{dropped} lines of the log were dropped: nobody",
        ],
    ),
    (
        "a part of a text that is told, or no text that anybody reads alone",
        &[
            "# under [secrets], unless it stands there",
            "`airlock help` lists the commands, `airlock",
            "`connect` of its grant",
            "`read` of its grant",
            "a call may change it",
            "an empty list",
            "an object of {}",
            "in the format",
            "at its root",
            "connecting among it: the time of an attempt",
            "is no command",
            "it has none",
            "looking at everything",
            "methods in one need",
            "one retry fits",
            "only its author can change that",
            "sends requests that change something",
            "text/html, application/xhtml+xml,",
            "the host puts back what the call changed in the",
            "the test says so",
            "whatever is granted",
            "written by airlock; `airlock trust NAME`",
        ],
    ),
    (
        "its time must end in the very moment between its reply and the look at what it touched",
        &["the attempt's time is over"],
    ),
];

/// What stands in a token of text, without quotes and escapes.
fn read(token: &Token) -> String {
    let inner = token.text.split_once('"').map_or("", |(_, rest)| rest).trim_end_matches('#');
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut text = String::new();
    let mut letters = inner.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('\n')) => while letters.next_if(|next| next.is_whitespace()).is_some() {},
            ('\\', Some('n' | 'r' | 't')) => {
                letters.next();
                text.push(' ');
            }
            ('\\', Some(_)) => text.extend(letters.next()),
            (letter, _) => text.push(letter),
        }
    }
    text
}

/// The words of a text, without the signs around them.
fn words(text: &str) -> Vec<&str> {
    let bare = |word: &'_ str| -> (usize, usize) {
        let start = word.find(char::is_alphanumeric).unwrap_or(word.len());
        let end = word.rfind(char::is_alphanumeric).map_or(start, |at| at + 1);
        (start, end.max(start))
    };
    text.split(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '('))
        .filter_map(|word| {
            let (start, end) = bare(word);
            word.get(start..end).or(Some(word)).filter(|word| !word.is_empty())
        })
        .collect()
}

/// The parts of a text between what is filled in.
fn parts(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let doubled = depth == 0 && matches!(letter, '{' | '}') && letters.peek() == Some(&letter);
        match (letter, depth) {
            _ if doubled => {
                letters.next();
                parts.last_mut().unwrap().push(letter);
            }
            ('{', _) => depth += 1,
            ('}', 1..) => {
                depth -= 1;
                parts.push(String::new());
            }
            (letter, 0) => parts.last_mut().unwrap().push(letter),
            (_, _) => {}
        }
    }
    let last = parts.len() - 1;
    parts.iter().enumerate().map(|(at, part)| whole_words(part, at > 0, at < last).to_owned()).collect()
}

/// A part without the beginnings and ends of words that what is filled in goes on with.
fn whole_words(part: &str, filled_before: bool, filled_after: bool) -> &str {
    let from = if filled_before { part.find(char::is_whitespace).unwrap_or(part.len()) } else { 0 };
    let part = &part[from..];
    let to = if filled_after { part.rfind(char::is_whitespace).map_or(0, |at| at + 1) } else { part.len() };
    part.get(..to).unwrap_or(part)
}

/// The texts of a file that are sentences, and no attributes, statements or names.
fn sentences(source: &Source) -> Vec<(usize, String)> {
    let (mut found, mut depth) = (Vec::new(), 0);
    for (at, token) in source.tokens.iter().enumerate() {
        let attribute = token.text == "["
            && at > 0
            && (source.tokens[at - 1].text == "#"
                || (at > 1 && source.tokens[at - 2].text == "#" && source.tokens[at - 1].text == "!"));
        match (token.kind, token.text.as_str()) {
            (Kind::Sign, "[") if depth > 0 || attribute => depth += 1,
            (Kind::Sign, "]") if depth > 0 => depth -= 1,
            (Kind::Text, _) if depth == 0 && !token.in_test => {
                let text = read(token);
                if is_sentence(&text) {
                    found.push((token.line, text));
                }
            }
            (Kind::Word | Kind::Sign | Kind::Text | Kind::Other, _) => {}
        }
    }
    found
}

/// Errors begin with a small letter; statements of the store and what tools say of themselves do not.
fn is_sentence(text: &str) -> bool {
    let statement = text.split_whitespace().any(|word| matches!(word, "IN" | "OR" | "SELECT" | "UPDATE"));
    let spaced = |part: &String| {
        part.trim().split(' ').filter(|word| word.starts_with(char::is_alphabetic)).count() >= LEAST
    };
    !statement && !text.starts_with(char::is_uppercase) && parts(text).iter().any(spaced)
}

/// Every run of words in what tests say.
fn told(tests: &[Source]) -> HashSet<String> {
    let mut told = HashSet::new();
    let tokens = tests.iter().flat_map(|source| &source.tokens);
    for token in tokens.filter(|token| token.kind == Kind::Text && token.in_test) {
        let text = read(token);
        let words = words(&text);
        for length in [LEAST, WORDS] {
            told.extend(words.windows(length).map(|run| run.join(" ")));
        }
    }
    told
}

/// Whether words of a text that stand in a row are told in a test: four, or three where it has no more.
fn is_told(text: &str, told: &HashSet<String>) -> bool {
    let parts = parts(text);
    let most = parts.iter().map(|part| words(part).len()).max().unwrap_or(0);
    let length = most.clamp(LEAST, WORDS);
    parts.iter().any(|part| words(part).windows(length).any(|run| told.contains(&run.join(" "))))
}

fn untold(speakers: &[Source], told: &HashSet<String>, out_of_reach: &[(&str, &[&str])]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut met = HashSet::new();
    let starts = || out_of_reach.iter().flat_map(|(_, starts)| *starts);
    for source in speakers {
        for (line, text) in sentences(source) {
            let listed = starts().find(|start| text.trim_start().starts_with(**start));
            match (is_told(&text, told), listed) {
                (true, None) => {}
                (false, None) => faults.push(source.fault(line, format!("no test tells this text: {text}"))),
                (true, Some(start)) => {
                    met.insert(*start);
                    faults.push(
                        source.fault(line, format!("is told by a test, so take it off the list: {start}")),
                    );
                }
                (false, Some(start)) => {
                    met.insert(*start);
                }
            }
        }
    }
    for start in starts().filter(|start| !met.contains(**start)) {
        faults.push(Fault {
            path: "tests/suites/texts.rs".to_owned(),
            line: 1,
            text: format!("is listed and nobody says it: {start}"),
        });
    }
    faults
}

#[test]
fn every_text_that_people_read_is_told_by_a_test() {
    let speakers: Vec<Source> = SPEAKERS
        .iter()
        .flat_map(|folder| sources_below(folder))
        // The words of the contract.
        .filter(|source| source.path != "plugin-sdk/src/bindings.rs")
        .collect();
    let folders = SPEAKERS.iter().chain(&["tests/suites", "tests/src"]);
    let tests: Vec<Source> = folders
        .flat_map(|folder| sources_below(folder))
        .filter(|source| source.path != "tests/suites/texts.rs")
        .collect();
    let told = told(&tests);
    assert!(told.len() > 10_000, "{}", told.len());
    assert_none(&untold(&speakers, &told, OUT_OF_REACH));
}

#[test]
fn a_text_is_told_by_four_words_of_it_in_a_row() {
    let speaker = Source::parse(
        "host/src/x.rs",
        "fn f() { g(format!(\"the run {run} was decided by \\\n   somebody else\")); g(\"state\"); g(\"the disk is full\"); }",
    );
    let test = |text: &str| told(&[Source::parse("tests/suites/x.rs", &format!("fn t() {{ \"{text}\"; }}"))]);
    let lines = |text: &str, listed: &[&str]| {
        let listed: &[(&str, &[&str])] = &[("it cannot be", listed)];
        untold(std::slice::from_ref(&speaker), &test(text), listed)
            .iter()
            .map(|fault| fault.text.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(lines("error: 01RUN was decided by somebody; the disk is full", &[]), [""; 0]);
    assert_eq!(
        lines("the disk is full", &[]),
        ["no test tells this text: the run {run} was decided by somebody else"]
    );
    assert_eq!(lines("was decided by somebody", &["the disk"]), [""; 0]);
    let both = ["the disk", "the run", "the host"];
    assert_eq!(
        lines("was decided by somebody", &both),
        ["is told by a test, so take it off the list: the run", "is listed and nobody says it: the host",]
    );
}
