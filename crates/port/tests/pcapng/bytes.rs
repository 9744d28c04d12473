//! Captures as other tools write them, assembled byte by byte, in either byte order; and test frames.

use wirelab_port::inject::Schedule;
use wirelab_port::pcapng::{GenerateSpec, VerifyOptions, VerifyReport, verify_from};
use wirelab_wire::{Flags, FrameSpec, Header, LineRate, Size, SizeUnit, Sizes, Transport};

pub const SENDER: [u8; 6] = [2, 0x57, 0x4C, 0, 0, 1];
pub const OTHER_SENDER: [u8; 6] = [2, 0x57, 0x4C, 0, 0, 2];

/// A byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    pub fn u64(self, value: u64) -> [u8; 8] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }
}

/// A pcapng file that grows block by block.
pub struct Ng {
    pub order: Order,
    pub bytes: Vec<u8>,
}

impl Ng {
    /// A file that starts with a section.
    pub fn new(order: Order) -> Ng {
        let mut ng = Ng {
            order,
            bytes: Vec::new(),
        };
        ng.section(order);
        ng
    }

    pub fn section(&mut self, order: Order) {
        self.order = order;
        let mut body = order.u32(0x1A2B_3C4D).to_vec();
        body.extend(order.u16(1));
        body.extend(order.u16(0));
        body.extend(order.u64(u64::MAX));
        self.block(0x0A0D_0D0A, &body);
    }

    pub fn block(&mut self, kind: u32, body: &[u8]) {
        let padding = body.len().next_multiple_of(4) - body.len();
        let len = (body.len() + padding + 12) as u32;
        self.bytes.extend(self.order.u32(kind));
        self.bytes.extend(self.order.u32(len));
        self.bytes.extend(body);
        self.bytes.extend(&[0; 3][..padding]);
        self.bytes.extend(self.order.u32(len));
    }

    pub fn interface(&mut self, link_type: u16, snap_len: u32, options: &[(u16, &[u8])]) {
        let mut body = self.order.u16(link_type).to_vec();
        body.extend([0; 2]);
        body.extend(self.order.u32(snap_len));
        body.extend(self.options(options));
        self.block(1, &body);
    }

    fn options(&self, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (code, value) in options {
            out.extend(self.order.u16(*code));
            out.extend(self.order.u16(value.len() as u16));
            out.extend(*value);
            out.resize(out.len().next_multiple_of(4), 0);
        }
        if !options.is_empty() {
            out.extend([0; 4]);
        }
        out
    }

    pub fn packet(&mut self, interface: u32, ticks: u64, frame: &[u8], original: usize) {
        self.packet_with(interface, ticks, frame, original, &[]);
    }

    pub fn packet_with(
        &mut self,
        interface: u32,
        ticks: u64,
        frame: &[u8],
        original: usize,
        options: &[(u16, &[u8])],
    ) {
        let mut body = Vec::new();
        for word in [
            interface,
            (ticks >> 32) as u32,
            ticks as u32,
            frame.len() as u32,
            original as u32,
        ] {
            body.extend(self.order.u32(word));
        }
        body.extend(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(self.options(options));
        self.block(6, &body);
    }

    pub fn simple(&mut self, frame: &[u8], original: usize) {
        let mut body = self.order.u32(original as u32).to_vec();
        body.extend(frame);
        self.block(3, &body);
    }

    pub fn obsolete(&mut self, interface: u16, ticks: u64, frame: &[u8]) {
        let mut body = self.order.u16(interface).to_vec();
        body.extend(self.order.u16(0));
        for word in [
            (ticks >> 32) as u32,
            ticks as u32,
            frame.len() as u32,
            frame.len() as u32,
        ] {
            body.extend(self.order.u32(word));
        }
        body.extend(frame);
        self.block(2, &body);
    }
}

/// A pcap file with these frames: (seconds, fraction, captured bytes, original length).
pub fn classic(
    order: Order,
    magic: u32,
    link: u32,
    frames: &[(u32, u32, &[u8], usize)],
) -> Vec<u8> {
    let mut out = order.u32(magic).to_vec();
    out.extend(order.u16(2));
    out.extend(order.u16(4));
    for word in [0, 0, 65535, link] {
        out.extend(order.u32(word));
    }
    for (seconds, fraction, kept, original) in frames {
        for word in [*seconds, *fraction, kept.len() as u32, *original as u32] {
            out.extend(order.u32(word));
        }
        out.extend(*kept);
    }
    out
}

pub fn spec(source: [u8; 6]) -> FrameSpec {
    FrameSpec {
        destination: [2, 0x57, 0x4C, 0, 0, 9],
        source,
        vlans: [None, None],
        transport: Transport::Ethernet,
        dscp: 0,
    }
}

pub fn sizes(spec: &FrameSpec, frame: u32) -> Sizes {
    let size = Size::new(SizeUnit::Frame, frame);
    size.resolve_test(spec.framing()).unwrap()
}

/// A test frame from [`SENDER`], stream 0.
pub fn frame(size: u32, sequence: u32) -> Vec<u8> {
    frame_of(&spec(SENDER), size, 0, sequence, Flags::NONE)
}

pub fn frame_of(spec: &FrameSpec, size: u32, stream: u8, sequence: u32, flags: Flags) -> Vec<u8> {
    let sizes = sizes(spec, size);
    let header = Header {
        flags,
        stream,
        sequence,
        time_ns: 0,
        lfsr_len: 0,
    };
    let mut out = vec![0; sizes.length as usize];
    spec.build(&sizes, &header, &mut out);
    out
}

/// `sequences` frames of 128 bytes at 1 Gbit/s.
pub fn generate_spec(sequences: u64, faults: Schedule) -> GenerateSpec {
    let frame = spec(SENDER);
    GenerateSpec {
        interface: "veth0".to_owned(),
        frame,
        sizes: vec![sizes(&frame, 128)],
        stream: 3,
        sequences,
        link: LineRate::new(1_000_000_000).unwrap(),
        start_ns: 1_700_000_000_000_000_000,
        with_time: true,
        slots: None,
        faults,
    }
}

pub fn judge(bytes: &[u8], options: &VerifyOptions) -> VerifyReport {
    let report = verify_from("memory", bytes, options).unwrap();
    for flow in &report.flows {
        flow.check_identity().unwrap();
    }
    report
}
