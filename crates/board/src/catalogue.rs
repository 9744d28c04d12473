//! The list of boards: what each is, what emulates it, and which images run on it.

use serde::Serialize;
use wirelab_trial::nearest::{did_you_mean, head};

use crate::BoardError;
use crate::machine::file::MachineFile;

/// What emulates a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Emulator {
    /// QEMU, as a separate process, by the machine file of the board's name.
    #[serde(rename = "QEMU")]
    Qemu,
    /// The emulator of this project, in this process.
    #[serde(rename = "wirelab")]
    Own,
}

impl Emulator {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Emulator::Qemu => "QEMU",
            Emulator::Own => "wirelab",
        }
    }
}

/// A board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoardInfo {
    /// Its name, as in `board:NAME`.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// What emulates it.
    pub emulator: Emulator,
    /// Files of the images that run on it; the first is the default.
    pub images: &'static [&'static str],
}

impl BoardInfo {
    /// How QEMU emulates it: the machine file of its name.
    pub fn machine(&self) -> Option<MachineFile> {
        match self.emulator {
            Emulator::Qemu => MachineFile::find(self.name).ok(),
            Emulator::Own => None,
        }
    }
}

/// All boards.
pub const BOARDS: &[BoardInfo] = &[
    BoardInfo {
        name: "zynq7000",
        about: "Xilinx Zynq-7000: Cortex-A9, Cadence GEM with DMA descriptors, lwIP",
        emulator: Emulator::Qemu,
        images: &["zynq7000.elf"],
    },
    BoardInfo {
        name: "mps2-an385",
        about: "Arm MPS2 with AN385: Cortex-M3, LAN9118 with programmed I/O, lwIP",
        emulator: Emulator::Qemu,
        images: &["mps2-an385.elf"],
    },
    BoardInfo {
        name: "lpc1768",
        about: "NXP LPC1768: Cortex-M3 at 100 MHz, EMAC and GPDMA on one bus matrix, no stack",
        emulator: Emulator::Own,
        images: &["lpc1768-ram.elf", "lpc1768-flash.elf"],
    },
];

/// Finds the board called `name`.
///
/// # Errors
/// [`BoardError::Unknown`] with the nearest name and all names.
pub fn find(name: &str) -> Result<&'static BoardInfo, BoardError> {
    BOARDS
        .iter()
        .find(|board| board.name == name)
        .ok_or_else(|| BoardError::Unknown {
            name: head(name).to_owned(),
            meant: did_you_mean(name, names()),
            names: names().collect::<Vec<_>>().join(", "),
        })
}

/// The names of all boards.
fn names() -> impl Iterator<Item = &'static str> {
    BOARDS.iter().map(|board| board.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_found_by_its_name_and_an_unknown_one_lists_them_all() {
        assert_eq!(find("zynq7000").unwrap().images, ["zynq7000.elf"]);
        let error = find("zynq").unwrap_err().to_string();
        for board in BOARDS {
            assert!(error.contains(board.name), "{error}");
        }
        for (wrong, right) in [("zynq700", "zynq7000"), ("lcp1768", "lpc1768")] {
            let error = find(wrong).unwrap_err().to_string();
            assert!(
                error.contains(&format!("did you mean '{right}'?")),
                "{error}"
            );
        }
        assert!(!find("stm32f4").unwrap_err().to_string().contains("did you"));
    }

    #[test]
    fn an_instruction_is_longer_than_two_ticks_of_any_boards_timer() {
        // Stamps come back as exact counts only then.
        for (board, tick_ns) in [("zynq7000", 10), ("mps2-an385", 40)] {
            let machine = find(board).unwrap().machine().unwrap();
            assert!(1 << machine.icount.unwrap() > 2 * tick_ns, "{board}");
        }
        assert_eq!(find("lpc1768").unwrap().machine(), None);
    }
}
