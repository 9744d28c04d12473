//! Offsets and bits of the EMAC's registers: UM10360, chapter 10, each under the register's name.

/// Bits of MAC1.
pub mod mac1 {
    /// RECEIVE ENABLE.
    pub const RECEIVE_ENABLE: u32 = 1;
    /// PASS ALL RECEIVE FRAMES: control frames too.
    pub const PASS_ALL: u32 = 1 << 1;
    /// RX FLOW CONTROL: obeys pause frames.
    pub const RX_FLOW: u32 = 1 << 2;
    /// LOOPBACK: the transmit interface of the MAC is looped back to its receive interface.
    pub const LOOPBACK: u32 = 1 << 4;
    /// RESET TX, RESET MCS/TX, RESET RX, RESET MCS/RX.
    pub const RESETS: u32 = 0xF00;
    /// SOFT RESET: all of the MAC but the host interface.
    pub const SOFT_RESET: u32 = 1 << 15;
}

/// Bits of MAC2.
pub mod mac2 {
    /// FRAME LENGTH CHECKING.
    pub const LENGTH_CHECK: u32 = 1 << 1;
    /// HUGE FRAME ENABLE: frames beyond MAXF pass whole.
    pub const HUGE: u32 = 1 << 2;
    /// CRC ENABLE.
    pub const CRC: u32 = 1 << 4;
    /// PAD / CRC ENABLE.
    pub const PAD_CRC: u32 = 1 << 5;
}

/// Bits of SUPP.
pub mod supp {
    /// SPEED: 100 Mbit/s where set, else 10 (RMII only).
    pub const SPEED: u32 = 1 << 8;
    /// RESET RMII.
    pub const RESET_RMII: u32 = 1 << 11;
}

/// Bits of MCFG, MCMD and MIND.
pub mod miim {
    /// MCFG: RESET MII MGMT.
    pub const RESET: u32 = 1 << 15;
    /// MCMD: READ.
    pub const READ: u32 = 1;
    /// MCMD: SCAN.
    pub const SCAN: u32 = 1 << 1;
    /// MIND: BUSY.
    pub const BUSY: u32 = 1;
    /// MIND: SCANNING.
    pub const SCANNING: u32 = 1 << 1;
    /// MIND: NOT VALID.
    pub const NOT_VALID: u32 = 1 << 2;
    /// HCLK cycles of one MDC period by CLOCK SELECT.
    pub const DIVIDER: [u64; 16] = [4, 4, 6, 8, 10, 14, 20, 28, 36, 40, 44, 48, 52, 56, 60, 64];
    /// MDC periods of one access: preamble 32, then start, operation, addresses, turnaround and data 32 (IEEE 802.3,
    /// 22.2.4.5).
    pub const PERIODS: u64 = 64;
}

/// Bits of Command and of Status.
pub mod command {
    /// RxEnable; the same bit of Status: the receive channel is active.
    pub const RX_ENABLE: u32 = 1;
    /// TxEnable; the same bit of Status: the transmit channel is active.
    pub const TX_ENABLE: u32 = 1 << 1;
    /// RegReset: all data paths and the host registers are reset.
    pub const REG_RESET: u32 = 1 << 3;
    /// TxReset.
    pub const TX_RESET: u32 = 1 << 4;
    /// RxReset.
    pub const RX_RESET: u32 = 1 << 5;
    /// PassRuntFrame.
    pub const PASS_RUNT: u32 = 1 << 6;
    /// PassRxFilter: the receive filter is bypassed.
    pub const PASS_FILTER: u32 = 1 << 7;
    /// The bits that a write keeps.
    pub const KEPT: u32 = 0x7C3;
}

/// Bits of IntStatus and the other interrupt registers.
pub mod int {
    /// RxOverrun: fatal, the receiver must be reset.
    pub const RX_OVERRUN: u32 = 1;
    /// RxError.
    pub const RX_ERROR: u32 = 1 << 1;
    /// RxFinished: the produce index has reached the consume index.
    pub const RX_FINISHED: u32 = 1 << 2;
    /// RxDone: a descriptor with its Interrupt bit was received.
    pub const RX_DONE: u32 = 1 << 3;
    /// TxUnderrun.
    pub const TX_UNDERRUN: u32 = 1 << 4;
    /// TxError.
    pub const TX_ERROR: u32 = 1 << 5;
    /// TxFinished: all descriptors were sent.
    pub const TX_FINISHED: u32 = 1 << 6;
    /// TxDone: a descriptor with its Interrupt bit was sent.
    pub const TX_DONE: u32 = 1 << 7;
    /// All existing bits, including SoftInt and Wakeup.
    pub const ALL: u32 = 0x30FF;
}

/// Control words of descriptors and status words (UM10360, tables 178 to 182 and those before).
pub mod ring {
    /// Size in bytes less one.
    pub const SIZE: u32 = 0x7FF;
    /// Control: Override; bits 27 to 29 replace those of MAC2.
    pub const OVERRIDE: u32 = 1 << 26;
    /// Control: Huge.
    pub const HUGE: u32 = 1 << 27;
    /// Control: Pad.
    pub const PAD: u32 = 1 << 28;
    /// Control: CRC.
    pub const CRC: u32 = 1 << 29;
    /// Control of a transmit descriptor: Last; status of a receive descriptor: LastFlag.
    pub const LAST: u32 = 1 << 30;
    /// Control: Interrupt.
    pub const INTERRUPT: u32 = 1 << 31;
    /// Any status: Error.
    pub const ERROR: u32 = 1 << 31;
    /// Transmit status: Underrun.
    pub const TX_UNDERRUN: u32 = 1 << 29;
    /// Transmit status: NoDescriptor, a frame ended without a Last fragment.
    pub const TX_NO_DESCRIPTOR: u32 = 1 << 30;
    /// Receive status: ControlFrame.
    pub const RX_CONTROL: u32 = 1 << 18;
    /// Receive status: VLAN.
    pub const RX_VLAN: u32 = 1 << 19;
    /// Receive status: FailFilter.
    pub const RX_FAIL_FILTER: u32 = 1 << 20;
    /// Receive status: Multicast.
    pub const RX_MULTICAST: u32 = 1 << 21;
    /// Receive status: Broadcast.
    pub const RX_BROADCAST: u32 = 1 << 22;
    /// Receive status: CRCError.
    pub const RX_CRC: u32 = 1 << 23;
    /// Receive status: SymbolError.
    pub const RX_SYMBOL: u32 = 1 << 24;
    /// Receive status: LengthError.
    pub const RX_LENGTH: u32 = 1 << 25;
    /// Receive status: RangeError.
    pub const RX_RANGE: u32 = 1 << 26;
    /// Receive status: AlignmentError.
    pub const RX_ALIGNMENT: u32 = 1 << 27;
    /// Receive status: Overrun.
    pub const RX_OVERRUN: u32 = 1 << 28;
    /// Receive status: NoDescriptor, no further descriptor for the rest of the frame.
    pub const RX_NO_DESCRIPTOR: u32 = 1 << 29;
}

/// Bits of the receive status vector.
pub mod rsv {
    /// CRC error.
    pub const CRC: u32 = 1 << 20;
    /// Length check error.
    pub const LENGTH: u32 = 1 << 21;
    /// Length out of range: in truth a type.
    pub const RANGE: u32 = 1 << 22;
    /// Receive OK.
    pub const OK: u32 = 1 << 23;
    /// Multicast.
    pub const MULTICAST: u32 = 1 << 24;
    /// Broadcast.
    pub const BROADCAST: u32 = 1 << 25;
    /// Dribble nibble.
    pub const DRIBBLE: u32 = 1 << 26;
    /// Control frame.
    pub const CONTROL: u32 = 1 << 27;
    /// VLAN.
    pub const VLAN: u32 = 1 << 30;
    /// Receive code violation.
    pub const SYMBOL: u32 = 1 << 19;
}

/// Bits of the transmit status vector.
pub mod tsv0 {
    /// Done: transmission was completed.
    pub const DONE: u32 = 1 << 3;
    /// Length out of range: in truth a type.
    pub const RANGE: u32 = 1 << 2;
    /// Multicast.
    pub const MULTICAST: u32 = 1 << 4;
    /// Broadcast.
    pub const BROADCAST: u32 = 1 << 5;
    /// Giant: beyond MAXF.
    pub const GIANT: u32 = 1 << 10;
    /// Underrun.
    pub const UNDERRUN: u32 = 1 << 11;
    /// Where the total of bytes begins.
    pub const BYTES_SHIFT: u32 = 12;
}

/// Bits of RxFilterCtrl.
pub mod filter {
    /// AcceptUnicastEn: every unicast frame.
    pub const UNICAST: u32 = 1;
    /// AcceptBroadcastEn.
    pub const BROADCAST: u32 = 1 << 1;
    /// AcceptMulticastEn: every multicast frame.
    pub const MULTICAST: u32 = 1 << 2;
    /// AcceptUnicastHashEn.
    pub const UNICAST_HASH: u32 = 1 << 3;
    /// AcceptMulticastHashEn.
    pub const MULTICAST_HASH: u32 = 1 << 4;
    /// AcceptPerfectEn: the station address.
    pub const PERFECT: u32 = 1 << 5;
}
