//! JSON, laid out for reading without a change to any value.

use serde::de::IgnoredAny;

/// The longest text that is laid out; a longer one is given as it came.
const LONGEST: usize = 1 << 20;

/// How deep each item has a line of its own: what lies deeper stays on the line, so that indents do not
/// outgrow the text.
const DEEPEST: usize = 12;

/// JSON with its items on lines of their own. Numbers and texts stay as they were written. Nothing where it is
/// no JSON, or too long.
pub(crate) fn laid_out(text: &str) -> Option<String> {
    if text.len() > LONGEST || serde_json::from_str::<IgnoredAny>(text).is_err() {
        return None;
    }
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if in_text {
            out.push(char);
            in_text = escaped || char != '"';
            escaped = char == '\\' && !escaped;
            continue;
        }
        match char {
            '"' => {
                out.push(char);
                in_text = true;
            }
            '{' | '[' => {
                out.push(char);
                while chars.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(close) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    break_line(&mut out, depth, depth);
                }
            }
            '}' | ']' => {
                break_line(&mut out, depth.saturating_sub(1), depth);
                depth = depth.saturating_sub(1);
                out.push(char);
            }
            ',' => {
                out.push(char);
                break_line(&mut out, depth, depth);
            }
            ':' => out.push_str(": "),
            space if space.is_ascii_whitespace() => {}
            other => out.push(other),
        }
    }
    Some(out)
}

/// Begins a line with this indent, where items of this depth have lines of their own.
fn break_line(out: &mut String, indent: usize, depth: usize) {
    if depth <= DEEPEST {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", indent));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_item_has_its_line() {
        insta::assert_snapshot!(laid_out(r#"{"a": [1, {"b": "x, {y}\"]"}],"c":{ },"d":[],"e":null}"#).unwrap(), @r#"
        {
          "a": [
            1,
            {
              "b": "x, {y}\"]"
            }
          ],
          "c": {},
          "d": [],
          "e": null
        }
        "#);
    }

    #[test]
    fn no_value_is_changed() {
        for text in ["12345678901234567890123.4500e+7", r#""\u202e\\""#, "true", r#"{"a":1,"a":2}"#] {
            let bare: String = laid_out(text).unwrap().split_whitespace().collect();
            assert_eq!(bare, text);
        }
        let text = r#"[{"k \" {": [" a : b ", "\\"], "x": -0.0}]"#;
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(&laid_out(text).unwrap()), read(text));
    }

    #[test]
    fn what_is_no_json_is_not_laid_out() {
        for text in ["", "{", "[1,]", "{'a': 1}", "1 2", "<html>"] {
            assert_eq!(laid_out(text), None, "{text}");
        }
    }

    #[test]
    fn depth_costs_neither_stack_nor_room() {
        let text = format!("{}{}", "[".repeat(400_000), "]".repeat(400_000));
        let laid_out = laid_out(&text).unwrap();
        assert!(laid_out.len() < text.len() + 1000);
    }
}
