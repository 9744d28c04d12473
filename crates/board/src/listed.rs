//! The boards of this host as a list shows them: what each needs that is not here.

use std::path::PathBuf;

use serde::Serialize;

use crate::catalogue::{BOARDS, BoardInfo, Emulator};
use crate::{image, qemu};

/// A board of the catalogue, and whether it runs here.
#[derive(Clone, Debug, Serialize)]
pub struct ListedBoard {
    /// Its name, as in `board:NAME`.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What emulates it.
    pub emulator: Emulator,
    /// Its image; none where it is not built.
    pub image: Option<PathBuf>,
    /// Why it cannot run here; empty where it can.
    pub lacks: Vec<String>,
}

impl ListedBoard {
    /// All boards.
    pub fn all() -> Vec<ListedBoard> {
        BOARDS.iter().map(ListedBoard::of).collect()
    }

    fn of(board: &BoardInfo) -> ListedBoard {
        let image = image::installed(board, board.images[0]);
        let mut lacks: Vec<String> = image
            .as_ref()
            .err()
            .map(ToString::to_string)
            .into_iter()
            .collect();
        if matches!(board.emulator, Emulator::Qemu) && qemu::version().is_none() {
            lacks.push(qemu::missing(qemu::PROGRAM));
        }
        ListedBoard {
            name: board.name,
            about: board.about,
            emulator: board.emulator,
            image: image.ok(),
            lacks,
        }
    }
}
