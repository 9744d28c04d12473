//! `wirelab completions` and `wirelab man`: both generated from the command line's definition.

use std::path::Path;

use clap::CommandFactory;
use clap::builder::PossibleValuesParser;
use wirelab_wire::Layer;

use crate::args::Cli;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::put;

pub fn completions(shell: clap_complete::Shell) -> Result {
    let mut text = Vec::new();
    let mut command = with_layers(Cli::command());
    clap_complete::generate(shell, &mut command, "wirelab", &mut text);
    put!("{}", String::from_utf8_lossy(&text));
    Ok(Outcome::Done)
}

/// A command with the words for layers, which its own parser also accepts in lists.
fn with_layers(command: clap::Command) -> clap::Command {
    let words = Layer::ALL.map(Layer::word);
    let command = command.mut_args(|arg| match arg.get_id().as_str() {
        "layer" => arg.value_parser(PossibleValuesParser::new(words)),
        _ => arg,
    });
    command.mut_subcommands(with_layers)
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
            "man pages cannot be written into {}: {e}; fix: make that folder, or name another",
            folder.display()
        ))
    })?;
    Ok(Outcome::Done)
}
