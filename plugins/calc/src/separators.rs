//! What a number was meant to be that is written with commas, or with more than one point.

/// The numbers that this text can stand for, written as they are taken here; none where it looks like no number.
///
/// What stands last is the decimal sign, where it stands once; what stands before three digits each time separates
/// thousands. `1,234` can be either, and both are told.
pub(crate) fn meant(text: &str) -> Vec<String> {
    let (commas, points) = (text.matches(',').count(), text.matches('.').count());
    match (commas, points) {
        (1, 0) => one_comma(text),
        (_, 0) => thousands(text, ',').into_iter().collect(),
        (0, _) => thousands(text, '.').into_iter().collect(),
        (_, 1) if text.rfind('.') > text.rfind(',') => mixed(text, '.', ',').into_iter().collect(),
        (1, _) if text.rfind(',') > text.rfind('.') => mixed(text, ',', '.').into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Whether a comma between these two could separate thousands.
pub(crate) fn may_be_thousands(before: &str, after: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let group = after.get(..3).is_some_and(digits);
    let more = after.as_bytes().get(3).is_some_and(u8::is_ascii_digit);
    (1..=3).contains(&before.len()) && digits(before) && group && !more
}

fn one_comma(text: &str) -> Vec<String> {
    let Some((whole, rest)) = text.split_once(',') else { return Vec::new() };
    let decimal = format!("{whole}.{rest}");
    match thousands(text, ',') {
        Some(number) if !whole.starts_with('0') => vec![number, decimal],
        Some(_) | None => vec![decimal],
    }
}

/// The number whose thousands this sign separates.
fn thousands(text: &str, sign: char) -> Option<String> {
    let mut groups = text.split(sign);
    let first = groups.next().is_some_and(|first| (1..=3).contains(&first.len()));
    (first && groups.all(|group| group.len() == 3)).then(|| text.replace(sign, ""))
}

fn mixed(text: &str, decimal: char, separator: char) -> Option<String> {
    let (whole, rest) = text.split_once(decimal)?;
    Some(format!("{}.{rest}", thousands(whole, separator)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_told() {
        for (text, wanted) in [
            ("1,5", vec!["1.5"]),
            ("49,90", vec!["49.90"]),
            ("1,234", vec!["1234", "1.234"]),
            ("0,125", vec!["0.125"]),
            ("1,234,567", vec!["1234567"]),
            ("1,234.50", vec!["1234.50"]),
            ("1.234,50", vec!["1234.50"]),
            ("1.234.567,8", vec!["1234567.8"]),
            ("1.234.567", vec!["1234567"]),
            ("1,2,3", vec![]),
            ("1.2.3", vec![]),
            ("1.2,3.4", vec![]),
        ] {
            assert_eq!(meant(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_comma_before_three_digits_may_separate_thousands() {
        assert!(may_be_thousands("1", "000"));
        assert!(may_be_thousands("100", "200.50"));
        for (before, after) in [("1", "5"), ("1", "0000"), ("1000", "200"), ("1.5", "200"), ("1", "00")] {
            assert!(!may_be_thousands(before, after), "{before},{after}");
        }
    }
}
