//! `board:lpc1768`: real firmware on an emulated NXP LPC1768, as a node.
//!
//! Time is simulated: it does not depend on the host, and two runs of a trial give the same figures to the picosecond.
//! The control protocol uses the serial line, and the firmware does not know that it is emulated. The tester is at the
//! other end of the wire: it checks every frame from the board, and sends frames at their due times. The pulse of P0.0
//! is what an oscilloscope would show.

mod keep;
mod observe;
mod options;
mod plan;
mod run;
mod serial;
mod traffic;

use std::collections::BTreeMap;

use serde::Serialize;
use wirelab_control::client::{Client, Patience};
use wirelab_control::node_report;
use wirelab_emulator::lpc1768::Lpc1768;
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::{
    Cancel, CaptureLimits, Description, Node, NodeError, NodeName, Observation, OpenError,
    Progress, Trial, Warning, WarningCode,
};

pub use options::{ImageChoice, Lpc1768Options};

use crate::image::{Image, installed};
use crate::{BoardError, catalogue, facts};
use serial::Serial;

/// The core clock of the emulator's timing rules, in Hz.
const CORE_HZ: u64 = 100_000_000;
/// Cycles within which the firmware must be ready: 1 s of simulated time.
const BOOT: u64 = 100_000_000;
/// The nonce of the first request.
const NONCE: u32 = 1;

/// In simulated time, so a slow line costs little.
const PATIENCE: Patience = Patience {
    first: std::time::Duration::from_secs(1),
    longest: std::time::Duration::from_secs(2),
    tries: 4,
};

/// The board with its firmware, in a session.
pub struct Lpc1768Node {
    name: String,
    options: Lpc1768Options,
    client: Client<Serial>,
    setup: BTreeMap<String, String>,
    /// The image, for the addresses of its functions.
    elf: Vec<u8>,
    address: [u8; 6],
    warnings: Vec<Warning>,
}

impl std::fmt::Debug for Lpc1768Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Lpc1768Node");
        shown
            .field("name", &self.name)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn image(options: &Lpc1768Options) -> Result<Image, BoardError> {
    let board = catalogue::find("lpc1768")?;
    match &options.image {
        ImageChoice::Named(name) => Image::read(&installed(board, &format!("lpc1768-{name}.elf"))?),
        ImageChoice::File(path) => Image::find(board, Some(path)),
    }
}

/// An executed instruction and what it took.
#[derive(Clone, Debug, Serialize)]
pub struct ListedInstruction {
    /// Its address.
    pub address: u32,
    /// As an assembler writes it.
    pub instruction: String,
    /// How often it was executed.
    pub count: u64,
    /// Cycles of all executions, each to the next instruction.
    pub cycles: u64,
}

impl ListedInstruction {
    /// Cycles of one execution, on average.
    pub fn cycles_each(&self) -> f64 {
        self.cycles as f64 / self.count as f64
    }
}

impl Lpc1768Node {
    /// The board of that name, with its options.
    ///
    /// # Errors
    /// [`OpenError`] for a wrong option, and as [`Lpc1768Node::start`].
    pub fn open(name: &NodeName) -> Result<Lpc1768Node, OpenError> {
        let options = Lpc1768Options::of(name)?;
        Ok(Lpc1768Node::start(&name.to_string(), &options)?)
    }

    /// Starts the board; `name` is its name on the command line.
    ///
    /// # Errors
    /// [`BoardError`]: no image or a bad one, or firmware that does not start or has no control protocol.
    pub fn start(name: &str, options: &Lpc1768Options) -> Result<Lpc1768Node, BoardError> {
        let image = image(options)?;
        let mut board = Lpc1768::new();
        board
            .load(&image.bytes)
            .map_err(|error| BoardError::BadImage {
                path: image.path.clone(),
                why: error.to_string(),
            })?;
        let mut serial = Serial::new(board);
        let ended = |serial: &Serial, how: String| BoardError::Died {
            board: "lpc1768".to_owned(),
            how,
            console: printed(serial),
        };
        let up = wait_until_up(&mut serial).map_err(|error| ended(&serial, error.to_string()))?;
        if !up {
            return Err(BoardError::NeverUp {
                board: "lpc1768".to_owned(),
                seconds: BOOT as f64 / CORE_HZ as f64,
                image: image.path,
                console: printed(&serial),
            });
        }
        let no_node = |source| BoardError::NoNode {
            path: image.path.clone(),
            source,
        };
        // No other client uses this line, and a nonce of another length would shift all times by some bits.
        let mut client = Client::open_with(serial, PATIENCE, NONCE).map_err(no_node)?;
        let mut setup = node_report::setup(&mut client).map_err(no_node)?;
        setup.insert("image".to_owned(), image.path.display().to_string());
        setup.insert("emulator".to_owned(), EMULATOR.to_owned());
        if let Some(number) = options.descriptors {
            setup.insert("tx_descriptors".to_owned(), number.to_string());
        }
        let board = &mut client.transport().board;
        let address = board.emac(|emac| emac.address());
        let warnings = clock_warning(board.core_hz()).into_iter().collect();
        Ok(Lpc1768Node {
            name: name.to_owned(),
            options: options.clone(),
            client,
            setup,
            elf: image.bytes,
            address,
            warnings,
        })
    }

    /// The emulated board, for actions outside of trials: frames with a wrong FCS, an unplugged cable.
    pub fn board(&mut self) -> &mut Lpc1768 {
        &mut self.client.transport().board
    }

    /// Runs a trial, and lists the executed instructions of a function with their counts and cycles.
    /// The copy loop explains the time of a scenario.
    ///
    /// # Errors
    /// [`NodeError::BadTrial`] where the image has no such function, and the errors of the trial.
    pub fn listing(
        &mut self,
        function: &str,
        trial: &Trial,
        cancel: &Cancel,
    ) -> Result<Vec<ListedInstruction>, NodeError> {
        let symbol = wirelab_emulator::symbol(&self.elf, function).filter(|symbol| symbol.1 > 0);
        let Some((start, bytes)) = symbol else {
            return Err(NodeError::BadTrial(format!(
                "the image has no function '{function}'; fix: name one that `arm-none-eabi-nm IMAGE` lists; \
                 the copies are board_copy_halfwords and board_copy_words"
            )));
        };
        self.board().machine().watch(start, bytes);
        self.run(trial, &(), cancel)?;
        let listed = self.board().machine().listing().into_iter();
        let listed = listed.map(|(spent, instruction)| ListedInstruction {
            address: spent.address,
            instruction,
            count: spent.count,
            cycles: spent.cycles,
        });
        Ok(listed.collect())
    }

    /// What the firmware printed outside the control protocol.
    pub fn console(&mut self) -> String {
        self.client.transport().console()
    }
}

const EMULATOR: &str = "cycle rules of ARM and NXP, simulated time";

fn printed(serial: &Serial) -> String {
    match serial.console() {
        text if text.is_empty() => "it has printed nothing".to_owned(),
        text => format!("it has printed:\n{text}"),
    }
}

/// Whether the firmware is ready within [`BOOT`].
fn wait_until_up(serial: &mut Serial) -> std::io::Result<bool> {
    while serial.board.cycle() < BOOT {
        serial.run_cycles(CORE_HZ / 1000)?;
        while let Some(line) = serial.line() {
            if line.starts_with(b"READY") {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Software that sets another clock would run at another speed on the chip.
fn clock_warning(core_hz: Option<u64>) -> Option<Warning> {
    (core_hz != Some(CORE_HZ)).then(|| Warning::new(WarningCode::CORE_CLOCK, match core_hz {
            Some(hz) => format!("the firmware sets a core clock of {hz} Hz; the emulator has 100 MHz"),
            None => "the firmware sets a core clock that the manual does not have; the emulator has 100 MHz".to_owned(),
        }, "do not use times of this run, or set the PLL to 100 MHz"))
}

impl Node for Lpc1768Node {
    fn describe(&self) -> Description {
        let identity = self.client.identity();
        Description {
            name: self.name.clone(),
            kind: facts::KIND.to_owned(),
            capabilities: node_report::capabilities(identity, Some(plan::LINK_BITS_PER_S)),
            setup: self.setup.clone(),
            facts: Some(facts::facts()),
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let plan = plan::plan(trial, self.client.identity(), self.options.descriptors)?;
        let mut keeper =
            keep::Keeper::new(self.options.capture.as_deref(), self.options.port.as_ref())?;
        let started_unix_ns = unix_ns();
        let result = run::run(
            &mut self.client,
            &plan,
            self.address,
            &mut keeper,
            progress,
            cancel,
        )?;
        keeper.finish()?;
        keep::pin(self.options.pin.as_deref(), &result.edges)?;
        Ok(observe::observation(observe::Parts {
            plan: &plan,
            node: self.describe(),
            result,
            started_unix_ns,
            warnings: self.warnings.clone(),
        }))
    }

    fn capture_limits(&self) -> CaptureLimits {
        CaptureLimits {
            of_a_trial: u64::MAX,
            in_all: Some(self.client.identity().max_captures.into()),
        }
    }
}
