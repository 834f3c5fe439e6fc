//! How much of a reply a text takes.

/// The most that the long part of one answer takes of a reply, which has 32 KiB: what is longer comes in pages, for what the
/// host cuts an agent has to ask for in another way.
pub(crate) const ROOM: usize = 24_000;

/// The bytes that a text takes within JSON.
pub(crate) fn of(text: &str) -> usize {
    text.chars().map(of_one).sum()
}

fn of_one(one: char) -> usize {
    match one {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        one => one.len_utf8(),
    }
}

/// As much of a text as has room, and how many characters that is.
pub(crate) fn cut(text: &str, room: usize) -> (&str, usize) {
    let (mut taken, mut count) = (0, 0);
    for (at, one) in text.char_indices() {
        taken += of_one(one);
        if taken > room {
            return (&text[..at], count);
        }
        count += 1;
    }
    (text, count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_takes_what_json_makes_of_it(text in any::<String>()) {
            prop_assert_eq!(of(&text) + 2, serde_json::to_string(&text).unwrap().len());
        }

        #[test]
        fn what_is_cut_has_room_and_one_more_has_not(text in any::<String>(), room in 0usize..40) {
            let (part, count) = cut(&text, room);
            prop_assert!(of(part) <= room && text.starts_with(part));
            prop_assert_eq!(part.chars().count(), count);
            let longer: String = text.chars().take(count + 1).collect();
            prop_assert!(part == text || of(&longer) > room);
        }
    }
}
