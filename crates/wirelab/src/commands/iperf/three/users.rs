//! The user of an iperf3 client, and the users that a server accepts.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Read, stdin};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use wirelab_iperf::v3::auth::{AuthError, Authorizer, Credentials, Padding, SKEW_SECONDS};

use super::wrong;
use crate::args::Iperf3Args;
use crate::exit::Fallible;
use crate::terminal::complain;

/// The environment variable with the password, as in iperf3.
const PASSWORD: &str = "IPERF3_PASSWORD";
/// Longest password that is read, in bytes: no key allows more.
const MOST_PASSWORD: usize = 1024;

const fn padding(args: &Iperf3Args) -> Padding {
    match args.use_pkcs1_padding {
        true => Padding::Pkcs1,
        false => Padding::Oaep,
    }
}

/// The user in the options.
pub fn credentials(args: &Iperf3Args) -> Fallible<Option<Credentials>> {
    let (Some(name), Some(key)) = (&args.username, &args.rsa_public_key_path) else {
        return Ok(None);
    };
    let password = match std::env::var(PASSWORD) {
        Ok(password) => password,
        Err(_) => ask()?,
    };
    let credentials = Credentials::new(name, &password, key, padding(args));
    credentials.map(Some).map_err(|error| match error {
        AuthError::Words(_) => wrong("--username:", error),
        _ => wrong("--rsa-public-key-path:", error),
    })
}

/// The accepted users in the options.
pub fn authorizer(args: &Iperf3Args) -> Fallible<Option<Authorizer>> {
    let (Some(key), Some(users)) = (&args.rsa_private_key_path, &args.authorized_users_path) else {
        return Ok(None);
    };
    let skew_s = args.time_skew_threshold.unwrap_or(SKEW_SECONDS);
    let refused = |error: &dyn Display| {
        let options = "--rsa-private-key-path and --authorized-users-path:";
        wrong(options, error)
    };
    // A server in the background changes its folder, and reads the list again for each client.
    let users = std::path::absolute(users).map_err(|error| refused(&error))?;
    let authorizer = Authorizer::new(key, &users, padding(args), skew_s);
    authorizer.map(Some).map_err(|error| refused(&error))
}

/// A terminal without echo, until this is dropped.
struct Hidden(Termios);

impl Hidden {
    fn new() -> nix::Result<Hidden> {
        let shown = tcgetattr(stdin())?;
        let mut hidden = shown.clone();
        // Ctrl-C arrives as a byte, so that the terminal can be restored.
        let off = LocalFlags::ECHO | LocalFlags::ICANON | LocalFlags::ISIG;
        hidden.local_flags.remove(off);
        tcsetattr(stdin(), SetArg::TCSAFLUSH, &hidden)?;
        Ok(Hidden(shown))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A closed terminal needs no restoring.
        let _ = tcsetattr(stdin(), SetArg::TCSAFLUSH, &self.0);
    }
}

/// Asks for the password on the terminal.
fn ask() -> Fallible<String> {
    let fix = format!("write it into the environment variable {PASSWORD}");
    let none = |why: &str| {
        let why = format_args!("has no password: {why}; fix: {fix}");
        wrong("--username", why)
    };
    if !stdin().is_terminal() {
        return Err(none("there is no terminal to ask for it"));
    }
    let hidden = Hidden::new().map_err(|error| none(&error.to_string()))?;
    complain(format_args!("Password: "));
    let typed = read_line(&mut stdin());
    drop(hidden);
    typed.ok_or_else(|| none("nothing was typed"))
}

/// A line read byte by byte; `None` where it is cancelled or not text.
fn read_line(from: &mut impl Read) -> Option<String> {
    let mut typed = Vec::new();
    let mut byte = [0];
    loop {
        match from.read(&mut byte) {
            Ok(0) => return None,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return None,
            Ok(_) => {}
        }
        match byte[0] {
            b'\r' | b'\n' => {
                let line = String::from_utf8(typed).ok();
                return line.filter(|line| !line.is_empty());
            }
            // Ctrl-C, Ctrl-D.
            3 | 4 => return None,
            // Backspace, and Ctrl-U for the whole line.
            8 | 127 => drop(typed.pop()),
            21 => typed.clear(),
            other if typed.len() < MOST_PASSWORD => typed.push(other),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_as_it_is_typed() {
        let typed = |text: &str| read_line(&mut text.as_bytes());
        assert_eq!(typed("lab-secret\nmore"), Some("lab-secret".to_owned()));
        assert_eq!(typed("wrong\x15la\x7fab\r"), Some("lab".to_owned()));
        for given_up in ["ab\x03\n", "\x04", "ab", "\n"] {
            assert_eq!(typed(given_up), None, "{given_up:?}");
        }
        let long = "x".repeat(5000) + "\n";
        assert_eq!(typed(&long).unwrap().len(), MOST_PASSWORD);
    }
}
