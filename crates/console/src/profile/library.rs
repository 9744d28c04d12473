//! The built-in profiles, and the user's profiles by their paths.

use std::path::Path;

use wirelab_config::{FileError, read_text};
use wirelab_trial::nearest::{did_you_mean, unknown};
use wirelab_trial::system_error::without_fix;

use super::{MOST_BYTES, Profile};

/// A file of `consoles/` with its name.
macro_rules! profile {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../consoles/", $name, ".toml")),
        )
    };
}

/// Every file of `consoles/`, in alphabetical order.
const ALL: [(&str, &str); 7] = [
    profile!("esp-idf"),
    profile!("freertos"),
    profile!("linux"),
    profile!("lwip"),
    profile!("nuttx"),
    profile!("u-boot"),
    profile!("zephyr"),
];

/// The names of the built-in profiles.
pub const NAMES: [&str; ALL.len()] = {
    let mut names = [""; ALL.len()];
    let mut at = 0;
    while at < ALL.len() {
        names[at] = ALL[at].0;
        at += 1;
    }
    names
};

/// The file of a built-in profile.
pub fn text_of(name: &str) -> Option<&'static str> {
    ALL.iter()
        .find(|(own, _)| *own == name)
        .map(|(_, text)| *text)
}

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// It is neither a known name nor a path.
    #[error("{}", no_profile(.0))]
    Unknown(String),
    /// A variable that is not `NAME=VALUE`, or that the profile does not have.
    #[error("{0}")]
    Variable(String),
    /// The file is wrong.
    #[error(transparent)]
    File(#[from] FileError),
}

fn no_profile(name: &str) -> String {
    let why = unknown("profile", name, NAMES);
    format!("{why}, or the path of your own, as ./{name}.toml")
}

/// The profile `NAME` or `FILE`, with the values of `,NAME=VALUE` after it.
///
/// # Errors
/// [`ProfileError`] names the file with line and column, and the fix.
pub fn find(text: &str) -> Result<Profile, ProfileError> {
    let mut words = text.split(',');
    let name = words.next().unwrap_or_default();
    let mut profile = match text_of(name) {
        Some(text) => Profile::parse(name, text, &format!("consoles/{name}.toml"))?,
        None if name.contains('/') || name.ends_with(".toml") => {
            let path = Path::new(name);
            let text = read_text(path, "a profile", MOST_BYTES)?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            Profile::parse(&stem, &text, name)?
        }
        None => return Err(ProfileError::Unknown(name.chars().take(60).collect())),
    };
    for word in words {
        set(&mut profile, word).map_err(ProfileError::Variable)?;
    }
    Ok(profile)
}

/// Gives a variable its value: one of the profile, the user of a login, or a file with the password.
fn set(profile: &mut Profile, word: &str) -> Result<(), String> {
    let name = &profile.name;
    let shown: String = word.chars().take(60).collect();
    let wrong = || {
        let own = profile.variables.keys().map(String::as_str);
        let known: Vec<&str> = own.chain(["user", "password_file", "bits_kilo"]).collect();
        let key = word.split('=').next().unwrap_or_default();
        let meant = match known.contains(&key) {
            true => String::new(),
            false => did_you_mean(key, known.iter().copied()),
        };
        format!(
            "--profile {name}: '{shown}' sets nothing that it has; {meant}fix: write NAME=VALUE with one of {}, or leave it out",
            known.join(", ")
        )
    };
    let (key, value) = word.split_once('=').ok_or_else(wrong)?;
    if value.is_empty() || value.chars().any(char::is_control) {
        return Err(wrong());
    }
    let (key, value) = match key {
        "password_file" => {
            let text = read_text(Path::new(value), "a password", 4096).map_err(|error| {
                let error = error.to_string();
                let why = without_fix(&error);
                format!(
                    "--profile {name}: {why}; fix: name a file with the password in its first line"
                )
            })?;
            let first = text.lines().next().unwrap_or_default();
            ("password", first.to_owned())
        }
        "user" => ("user", value.to_owned()),
        "bits_kilo" => return set_bits_kilo(profile, value),
        key if profile.variables.contains_key(key) => (key, value.to_owned()),
        _ => return Err(wrong()),
    };
    profile.variables.insert(key.to_owned(), value);
    Ok(())
}

/// Versions of a program differ in the meaning of an M in rates.
fn set_bits_kilo(profile: &mut Profile, value: &str) -> Result<(), String> {
    let kilo = match value {
        "1000" => 1000,
        "1024" => 1024,
        _ => {
            return Err(format!(
                "--profile {}: bits_kilo={value}: invalid value; fix: write 1000 or 1024",
                profile.name
            ));
        }
    };
    for program in profile.programs.values_mut() {
        program.bits_kilo = kilo;
    }
    Ok(())
}
