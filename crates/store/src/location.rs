//! Where a store is: a SQLite file, or a PostgreSQL database whose password no message shows.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::StoreError;

/// The variable that names the store where the command line does not.
const VARIABLE: &str = "WIRELAB_STORE";
/// How addresses of PostgreSQL begin.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Where a store is.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A SQLite file.
    File(PathBuf),
    /// The address of a PostgreSQL database.
    Postgres(String),
}

impl Location {
    /// The store of `WIRELAB_STORE`, or the user's own file.
    ///
    /// # Errors
    /// [`StoreError::Location`] where the variable is wrong, or the user has no home.
    pub fn default_of_user() -> Result<Location, StoreError> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(text) = set(VARIABLE) {
            return text.to_string_lossy().parse();
        }
        // XDG Base Directory Specification 0.8: a relative path is to be ignored.
        let data = set("XDG_DATA_HOME").map(PathBuf::from);
        let data = data.filter(|path| path.is_absolute());
        let home = || set("HOME").map(|home| PathBuf::from(home).join(".local/share"));
        match data.or_else(home) {
            Some(data) => Ok(Location::File(data.join("wirelab/results.db"))),
            None => Err(StoreError::Location(format!(
                "no place for the store: HOME is not set; fix: name it, as --store=FILE or in {VARIABLE}"
            ))),
        }
    }

    /// Whether a text is the address of a database.
    pub fn is_address(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }
}

impl FromStr for Location {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Location, StoreError> {
        let refused = |why: String| Err(StoreError::Location(why));
        if text.is_empty() {
            return refused(
                "the store has no name; fix: --store=FILE or --store=postgres://…".to_owned(),
            );
        }
        if Location::is_address(text) {
            return Ok(Location::Postgres(text.to_owned()));
        }
        match text.split_once("://") {
            Some((scheme, _)) => refused(format!(
                "'{scheme}' is not a database that wirelab supports; fix: write postgres://…, or the name of a file"
            )),
            None => Ok(Location::File(text.into())),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File(path) => write!(f, "{}", path.display()),
            Location::Postgres(address) => f.write_str(&without_password(address)),
        }
    }
}

/// Logs get this form too, so that they show no password.
impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A text in which `***` is in place of the password of a database's address, if it has one.
pub fn without_password(text: &str) -> String {
    let Some(begin) = SCHEMES
        .iter()
        .filter_map(|scheme| text.find(scheme).map(|at| at + scheme.len()))
        .min()
    else {
        return text.to_owned();
    };
    let (head, rest) = text.split_at(begin);
    // Up to the last @: a password that should have been escaped may hold one, or a slash.
    let rest = match (rest.find(':'), rest.rfind('@')) {
        (Some(colon), Some(at)) if colon < at => {
            format!("{}:***{}", &rest[..colon], &rest[at..])
        }
        _ => rest.to_owned(),
    };
    let mut parts = rest.split("password=");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str("password=***");
        shown.push_str(part.find('&').map_or("", |at| &part[at..]));
    }
    format!("{head}{shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        for (typed, shown) in [
            ("postgres://me:geheim@db/x", "postgres://me:***@db/x"),
            (
                "postgresql://me:ge/he@im@db:5/x",
                "postgresql://me:***@db:5/x",
            ),
            ("postgres://me@db/x", "postgres://me@db/x"),
            ("postgres://db:5432/x", "postgres://db:5432/x"),
            (
                "--store=postgres:///x?host=/run&password=geheim&user=me",
                "--store=postgres:///x?host=/run&password=***&user=me",
            ),
            ("lab:1", "lab:1"),
        ] {
            assert_eq!(without_password(typed), shown);
            if let Ok(location @ Location::Postgres(_)) = typed.parse::<Location>() {
                assert_eq!(
                    format!("{location} {location:?}"),
                    format!("{shown} {shown}")
                );
            }
        }
    }

    #[test]
    fn a_text_names_a_file_or_a_database() {
        let file = "runs/a.db".parse::<Location>().unwrap();
        assert_eq!(file, Location::File("runs/a.db".into()));
        for wrong in ["", "mysql://db/x"] {
            let refused = wrong.parse::<Location>().unwrap_err();
            assert!(
                refused.is_usage() && refused.to_string().contains("fix: "),
                "{refused}"
            );
        }
    }
}
