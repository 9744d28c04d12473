//! `wirelab completions` and `wirelab man`: both from the definition of the command line.

use std::io::Write;
use std::path::Path;

use clap::CommandFactory;

use crate::args::Cli;
use crate::exit::{Failure, Outcome, Result};

pub fn completions(shell: clap_complete::Shell) -> Result {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "wirelab", &mut text);
    std::io::stdout()
        .write_all(&text)
        .map_err(Failure::failed)?;
    Ok(Outcome::Done)
}

pub fn man(folder: Option<&Path>) -> Result {
    let Some(folder) = folder else {
        let page = clap_mangen::Man::new(Cli::command());
        page.render(&mut std::io::stdout())
            .map_err(Failure::failed)?;
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
