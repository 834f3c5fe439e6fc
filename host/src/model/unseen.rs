//! Characters that are not seen, or that change how their neighbours are shown.

/// Each from, to.
const UNSEEN: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),       // soft hyphen
    ('\u{34f}', '\u{34f}'),     // grapheme joiner
    ('\u{61c}', '\u{61c}'),     // Arabic letter mark
    ('\u{115f}', '\u{1160}'),   // Hangul fillers
    ('\u{17b4}', '\u{17b5}'),   // Khmer inherent vowels
    ('\u{180b}', '\u{180f}'),   // Mongolian selectors and separator
    ('\u{200b}', '\u{200f}'),   // zero-width space and joiners, marks of direction
    ('\u{2028}', '\u{202e}'),   // separators of lines, embeddings and overrides of direction
    ('\u{2060}', '\u{206f}'),   // word joiner, invisible operators, isolates of direction
    ('\u{3164}', '\u{3164}'),   // Hangul filler
    ('\u{fe00}', '\u{fe0f}'),   // variation selectors
    ('\u{feff}', '\u{feff}'),   // byte order mark
    ('\u{ffa0}', '\u{ffa0}'),   // Hangul filler
    ('\u{fff0}', '\u{fffb}'),   // annotations of lines
    ('\u{13430}', '\u{1345f}'), // controls of hieroglyphs
    ('\u{1bca0}', '\u{1bca3}'), // controls of shorthand
    ('\u{1d173}', '\u{1d17a}'), // controls of music
    ('\u{e0000}', '\u{e0fff}'), // tags and variation selectors
];

/// Whether a terminal or a page would act on the character, or show it as nothing.
pub fn is_unseen(letter: char) -> bool {
    letter.is_control() || UNSEEN.iter().any(|(from, to)| (*from..=*to).contains(&letter))
}
