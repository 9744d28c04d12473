//! One port: its clock, its line, and one access at a time on its bus.

use thiserror::Error;

use crate::sys::{Inputs, Model, Outputs};

/// Clocks within which a register answers; it needs four to seven.
const BUS_PATIENCE: u32 = 64;

/// What a line carries during one clock (GMII, IEEE 802.3, clause 35).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GmiiSignals {
    /// The byte; without `enable` it has no meaning.
    pub data: u8,
    /// Whether a frame is on the line, its preamble included.
    pub enable: bool,
    /// Whether the sender marks this byte as wrong.
    pub error: bool,
}

/// Why a register access failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BusError {
    /// The reply was an error: there is no register at that offset, or it is read-only or write-only.
    #[error("the register at 0x{0:03X} refused the access; fix: check the design's address map")]
    Refused(u16),
    /// There was no reply.
    #[error(
        "the register at 0x{0:03X} did not answer within {BUS_PATIENCE} clocks; fix: check that the design answers each access"
    )]
    Silent(u16),
    /// Another access is pending.
    #[error(
        "an access to the register at 0x{0:03X} is still pending; fix: wait for its answer first"
    )]
    Busy(u16),
}

#[derive(Clone, Copy, Debug)]
struct Access {
    address: u16,
    /// The word to write; `None` for a read.
    data: Option<u32>,
    address_taken: bool,
    data_taken: bool,
    age: u32,
}

/// A port of hardware in simulation.
pub struct Port {
    model: Model,
    line: GmiiSignals,
    wanted: bool,
    access: Option<Access>,
    answer: Option<Result<u32, BusError>>,
    clocks: u64,
}

impl Port {
    /// A port after its reset.
    #[must_use]
    pub fn new() -> Self {
        let mut port = Self {
            model: Model::new(),
            line: GmiiSignals::default(),
            wanted: false,
            access: None,
            answer: None,
            clocks: 0,
        };
        let reset = Inputs {
            rst: 1,
            ..Inputs::default()
        };
        for _ in 0..8 {
            port.model.clock(&reset);
        }
        port
    }

    /// One clock with the received line; [`Port::line`] has what it sends.
    pub fn clock(&mut self, received: GmiiSignals) {
        let mut inputs = Inputs {
            rxd: received.data,
            rx_dv: u8::from(received.enable),
            rx_er: u8::from(received.error),
            ..Inputs::default()
        };
        if let Some(access) = &self.access {
            request(access, &mut inputs);
        }
        let outputs = self.model.clock(&inputs);
        self.line = GmiiSignals {
            data: outputs.txd,
            enable: outputs.tx_en != 0,
            error: outputs.tx_er != 0,
        };
        self.wanted = outputs.wanted != 0;
        self.clocks += 1;
        if let Some(access) = self.access.take() {
            self.progress(access, &outputs);
        }
    }

    /// What the port sends now.
    #[must_use]
    pub fn line(&self) -> GmiiSignals {
        self.line
    }

    /// Whether the frame that arrives, or the last one, matches the packet identifier.
    #[must_use]
    pub fn wanted(&self) -> bool {
        self.wanted
    }

    /// Clocks since the reset.
    #[must_use]
    pub fn clocks(&self) -> u64 {
        self.clocks
    }

    /// Begins to write a register; [`Port::answer`] returns the result.
    ///
    /// # Errors
    /// `Busy` while another access is pending.
    pub fn begin_write(&mut self, address: u16, data: u32) -> Result<(), BusError> {
        self.begin(address, Some(data))
    }

    /// Begins to read a register; [`Port::answer`] returns the word.
    ///
    /// # Errors
    /// `Busy` while another access is pending.
    pub fn begin_read(&mut self, address: u16) -> Result<(), BusError> {
        self.begin(address, None)
    }

    /// The result of the access, once: the word that was read (0 for a write) or the error.
    pub fn answer(&mut self) -> Option<Result<u32, BusError>> {
        self.answer.take()
    }

    fn begin(&mut self, address: u16, data: Option<u32>) -> Result<(), BusError> {
        if let Some(access) = &self.access {
            return Err(BusError::Busy(access.address));
        }
        self.answer = None;
        self.access = Some(Access {
            address,
            data,
            address_taken: false,
            data_taken: false,
            age: 0,
        });
        Ok(())
    }

    /// Processes the bus's signals of this clock.
    fn progress(&mut self, mut access: Access, outputs: &Outputs) {
        let reads = access.data.is_none();
        let (answered, response) = if reads {
            access.address_taken |= outputs.arready != 0;
            (outputs.rvalid != 0, outputs.rresp)
        } else {
            access.address_taken |= outputs.awready != 0;
            access.data_taken |= outputs.wready != 0;
            (outputs.bvalid != 0, outputs.bresp)
        };
        access.age += 1;
        if answered {
            self.answer = Some(match response {
                0 => Ok(if reads { outputs.rdata } else { 0 }),
                _ => Err(BusError::Refused(access.address)),
            });
        } else if access.age >= BUS_PATIENCE {
            self.answer = Some(Err(BusError::Silent(access.address)));
        } else {
            self.access = Some(access);
        }
    }
}

impl Default for Port {
    fn default() -> Self {
        Self::new()
    }
}

/// Puts an access on the bus (AXI4-Lite): each half stays until it is accepted, and the reply is always accepted.
fn request(access: &Access, inputs: &mut Inputs) {
    if let Some(data) = access.data {
        inputs.awaddr = access.address;
        inputs.wdata = data;
        inputs.awvalid = u8::from(!access.address_taken);
        inputs.wvalid = u8::from(!access.data_taken);
        inputs.bready = 1;
    } else {
        inputs.araddr = access.address;
        inputs.arvalid = u8::from(!access.address_taken);
        inputs.rready = 1;
    }
}
