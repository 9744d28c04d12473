//! `wirelab completions` and `wirelab man`: both from the definition of the command line.

use std::path::Path;

use clap::CommandFactory;

use crate::args::Cli;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::put;

pub fn completions(shell: clap_complete::Shell) -> Result {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "wirelab", &mut text);
    put!("{}", String::from_utf8_lossy(&text));
    Ok(Outcome::Done)
}

pub fn man(folder: Option<&Path>) -> Result {
    let Some(folder) = folder else {
        let page = clap_mangen::Man::new(Cli::command());
        let mut text = Vec::new();
        page.render(&mut text).map_err(Failure::failed)?;
        put!("{}", String::from_utf8_lossy(&text));
        return Ok(Outcome::Done);
    };
    clap_mangen::generate_to(Cli::command(), folder).map_err(|e| {
        Failure::usage(format!(
            "man pages cannot be written into {}: {e}",
            folder.display()
        ))
    })?;
    Ok(Outcome::Done)
}
