//! `wirelab serve`: the store as pages in a browser.

use wirelab_serve::{ServeError, ServeOptions, serve};

use super::results::location;
use crate::args::ServeArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, say};

/// The variable with the token of readers, which a list of processes does not show.
const TOKEN: &str = "WIRELAB_TOKEN";

pub fn run(args: &ServeArgs) -> Result {
    let store = location(args.at.store.as_deref())?;
    let name = store.to_string();
    let options = ServeOptions {
        listen: args.listen,
        token: std::env::var(TOKEN).ok().filter(|token| !token.is_empty()),
        store,
    };
    let cancel = cancel_on_signal();
    let begun = |at| {
        say!("http://{at}/ shows the store {name}");
        say!("Ctrl-C ends it.");
    };
    match serve(options, begun, move || cancel.is_cancelled()) {
        Ok(()) => Ok(Outcome::Done),
        Err(ServeError::Store(error)) => Err(error.into()),
        Err(error) => Err(Failure::usage(error)),
    }
}
