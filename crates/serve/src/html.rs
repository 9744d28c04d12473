//! The frame of a page, and text that stays text in it.

pub use wirelab_report::document::escape::xml;

/// What a browser may do with a page: only show it, with the style of this server, and send its forms back.
pub const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The same for the page of a running measurement, which has a program of this server.
pub const LIVE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'none'";

/// The same for a page with a picture, which the program of reports draws and saves.
pub const DRAWN_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src data: blob:; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'none'";

/// The program of the page of a running measurement.
pub const LIVE: &str = include_str!("live.js");

/// The style that all pages add to the style of reports.
pub const STYLE: &str = include_str!("style.css");

/// A page with a title, which is escaped, and a body, which is HTML already.
pub fn page(title: &str, body: &str) -> String {
    let title = xml(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} · wirelab</title>\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n<nav><a href=\"/\">Runs</a></nav>\n<main>\n\
         <h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
}

/// A text for the query of an address (RFC 3986, 2.1), which needs no escaping in HTML.
pub fn query(text: &str) -> String {
    let part = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        let shown = page("<script>alert(1)</script>", "");
        assert!(!shown.contains("<script") && shown.contains("&lt;script&gt;"));
        assert_eq!(query("a&b=\"ü\"<"), "a%26b%3D%22%C3%BC%22%3C");
    }
}
