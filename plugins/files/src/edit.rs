//! Replacing an exact text by another.

/// A text that was replaced in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edited {
    pub(crate) text: String,
    /// The lines at which it was replaced, from 1.
    pub(crate) lines: Vec<usize>,
}

/// Why a text cannot be replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// It is not there; what comes near.
    NoMatch(Near),
    /// It is there several times, at these lines.
    Several(Vec<usize>),
}

/// What comes near to a text that is not there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Near {
    /// It fits at this line but for white space.
    ButForSpace(usize),
    /// It fits without the numbers of lines that stand in it.
    WithoutNumbers,
    /// Nothing does.
    Nothing,
}

/// Replaces a text where it is exactly once, or everywhere. Line breaks are those of the file.
pub(crate) fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<Edited, Misfit> {
    if !text.contains(old) && text.contains("\r\n") {
        let (crlf_old, crlf_new) = (with_crlf(old), with_crlf(new));
        if text.contains(&crlf_old) {
            return replace_exactly(text, &crlf_old, &crlf_new, all);
        }
    }
    replace_exactly(text, old, new, all)
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn replace_exactly(text: &str, old: &str, new: &str, all: bool) -> Result<Edited, Misfit> {
    let places = places(text, old);
    match places.len() {
        0 => Err(Misfit::NoMatch(near(text, old))),
        1 => Ok(Edited { text: text.replacen(old, new, 1), lines: lines(text, &places) }),
        _ if all => {
            let apart: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
            Ok(Edited { text: text.replace(old, new), lines: lines(text, &apart) })
        }
        _ => Err(Misfit::Several(lines(text, &places))),
    }
}

/// Where a text begins in another, also where it overlaps itself.
fn places(text: &str, old: &str) -> Vec<usize> {
    let (mut places, mut from) = (Vec::new(), 0);
    let step = old.chars().next().map_or(1, char::len_utf8);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(old)) {
        places.push(from + at);
        from += at + step;
    }
    places
}

/// The lines of these places, which ascend.
fn lines(text: &str, places: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let number = |at: &usize| {
        line += text[from..*at].matches('\n').count();
        from = *at;
        line
    };
    places.iter().map(number).collect()
}

fn near(text: &str, old: &str) -> Near {
    let unnumbered = |line: &str| -> Option<String> {
        let (number, rest) = line.split_once('\t')?;
        number.trim().parse::<usize>().is_ok().then(|| rest.to_owned())
    };
    let without: Option<Vec<String>> = old.lines().map(unnumbered).collect();
    if let Some(without) = without
        && !without.is_empty()
        && text.replace("\r\n", "\n").contains(&without.join("\n"))
    {
        return Near::WithoutNumbers;
    }
    let spaceless = |line: &str| line.split_whitespace().collect::<String>();
    let wanted: Vec<String> = old.lines().map(spaceless).filter(|line| !line.is_empty()).collect();
    let there = text.lines().enumerate().map(|(at, line)| (at + 1, spaceless(line)));
    let there: Vec<(usize, String)> = there.filter(|(_, line)| !line.is_empty()).collect();
    let fits = |window: &&[(usize, String)]| window.iter().map(|(_, line)| line).eq(wanted.iter());
    let found = if wanted.is_empty() { None } else { there.windows(wanted.len()).find(fits) };
    found.map_or(Near::Nothing, |window| Near::ButForSpace(window[0].0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_that_is_there_once_is_replaced() {
        let edited = replace("one\ntwo\nthree\n", "two\nth", "2\nTH", false).unwrap();
        assert_eq!(edited, Edited { text: "one\n2\nTHree\n".to_owned(), lines: vec![2] });
    }

    #[test]
    fn a_text_that_is_there_several_times_is_replaced_only_where_all_is_asked() {
        assert_eq!(replace("a\nb\na\n", "a", "c", false), Err(Misfit::Several(vec![1, 3])));
        assert_eq!(replace("a\nb\na\n", "a", "c", true).unwrap().text, "c\nb\nc\n");
        assert_eq!(replace("aaa", "aa", "b", false), Err(Misfit::Several(vec![1, 1])), "it overlaps itself");
        assert_eq!(replace("aaa", "aa", "b", true).unwrap().text, "ba");
    }

    #[test]
    fn line_breaks_are_those_of_the_file() {
        let edited = replace("one\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2", false).unwrap();
        assert_eq!(edited.text, "1\r\n2\r\nthree\r\n");
        assert_eq!(replace("a\r\nb", "a\r\nb", "c", false).unwrap().text, "c");
    }

    #[test]
    fn what_comes_near_is_told() {
        let near = |text, old| match replace(text, old, "x", false) {
            Err(Misfit::NoMatch(near)) => near,
            other => panic!("{other:?}"),
        };
        assert_eq!(near("a\n\tif x {\n\t\ty\n", "if x {\n    y"), Near::ButForSpace(2));
        assert_eq!(near("one\ntwo\n", "1\tone\n2\ttwo"), Near::WithoutNumbers);
        assert_eq!(near("one\n", "four"), Near::Nothing);
        assert_eq!(near("one\n", " \n \n"), Near::Nothing);
    }

    proptest! {
        #[test]
        fn what_is_replaced_can_be_replaced_back(before in "[ab\n]{0,20}", after in "[ab\n]{0,20}") {
            let text = format!("{before}<old>{after}");
            let there = replace(&text, "<old>", "<fresh>", false).unwrap();
            prop_assert_eq!(&there.lines, &vec![before.matches('\n').count() + 1]);
            prop_assert_eq!(replace(&there.text, "<fresh>", "<old>", false).unwrap().text, text);
        }
    }
}
