//! Reading a capture: pcapng and pcap, either byte order, from a file or a pipe, in bounded memory.
//!
//! This file finds the blocks and checks that they are complete; `decode.rs` reads their content. Reading stops at
//! the first truncated or invalid block and reports its position; everything before it stays valid.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::classic::{self, Classic};
use super::decode::{self, Content, Order, Packet};
use super::encode::{BYTE_ORDER_MAGIC, kind};
use super::error::{CaptureError, End};
use super::interface::Interface;
use super::window::Window;

/// Longest block that is read into memory; longer ones are skipped.
pub(super) const MAX_BLOCK: u32 = 16 * 1024 * 1024;
/// Most interfaces of one file.
const MAX_INTERFACES: usize = 65_536;

/// A frame of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedFrame<'a> {
    /// Its number in the file, counted from 1 as Wireshark does.
    pub number: u64,
    /// Index of its interface in [`CaptureReader::interfaces`].
    pub interface: u32,
    /// Its section of the file, counted from 0.
    pub section: u32,
    /// As in [`Interface::sent_since_ns`].
    pub sent_since_ns: Option<u64>,
    /// Time in ps since 1970; absent if the capture has none (simple packets).
    pub time_ps: Option<i128>,
    /// Its captured bytes: destination address first, without FCS.
    pub bytes: &'a [u8],
    /// Its bytes on the link, without FCS.
    pub original_len: u32,
    /// Link type of its interface; see [`LINKTYPE_ETHERNET`](super::LINKTYPE_ETHERNET).
    pub link_type: u32,
}

/// The type of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Ng(Order),
    Classic(Classic),
}

/// Position of the next frame in the window.
struct FramePosition {
    packet: Packet,
    interface: u32,
    section: u32,
    sent_since_ns: Option<u64>,
    link_type: u32,
    time_ps: Option<i128>,
    /// Length of its block.
    block: usize,
}

/// Walks the frames of a capture.
pub struct CaptureReader<R> {
    window: Window<R>,
    name: String,
    format: Format,
    interfaces: Vec<Interface>,
    /// Index of the first interface of this section.
    base: usize,
    sections: u32,
    /// Bytes of the window to skip before the next block.
    pending: usize,
    blocks: u64,
    frames: u64,
    end: Option<End>,
}

impl CaptureReader<File> {
    /// Open the capture at `path`.
    ///
    /// # Errors
    /// [`CaptureError::Open`], [`CaptureError::NotACapture`] with what the file seems to be instead.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let name = path.display().to_string();
        match File::open(path) {
            // A directory can be opened, but reading it fails as on a damaged disk.
            Ok(file) if file.metadata().is_ok_and(|about| about.is_dir()) => {
                let why = "it is a directory; fix: name a capture in it".to_owned();
                Err(CaptureError::NotACapture { name, why })
            }
            Ok(file) => CaptureReader::new(name, file),
            Err(source) => Err(CaptureError::Open { name, source }),
        }
    }
}

impl<R: Read> CaptureReader<R> {
    /// Read a capture called `name` from `source`.
    ///
    /// # Errors
    /// [`CaptureError::NotACapture`], [`CaptureError::Read`].
    pub fn new(name: impl Into<String>, source: R) -> Result<Self, CaptureError> {
        let mut reader = CaptureReader {
            window: Window::new(source),
            name: name.into(),
            format: Format::Ng(Order::Little),
            interfaces: Vec::new(),
            base: 0,
            sections: 0,
            pending: 0,
            blocks: 0,
            frames: 0,
            end: None,
        };
        reader.start().map_err(|error| reader.read_error(error))??;
        Ok(reader)
    }

    /// The name with which it was opened.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `pcapng`, or `pcap` with its byte order and resolution.
    pub fn format(&self) -> &'static str {
        match self.format {
            Format::Ng(_) => "pcapng",
            Format::Classic(classic) => classic.name(),
        }
    }

    /// The interfaces found so far, across all sections.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Frames read so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Blocks (in a pcap file: records) read so far.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.window.offset() + self.pending as u64
    }

    /// How reading ended, after [`CaptureReader::next_frame`] returned `None`.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// The next frame; `None` at the end, which [`CaptureReader::end`] describes.
    ///
    /// # Errors
    /// [`CaptureError::Read`] if the system cannot read the file.
    #[inline]
    pub fn next_frame(&mut self) -> Result<Option<CapturedFrame<'_>>, CaptureError> {
        let found = match self.find() {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.read_error(error)),
        };
        self.pending = found.block;
        self.frames += 1;
        let Packet {
            at,
            captured,
            original,
            ..
        } = found.packet;
        Ok(Some(CapturedFrame {
            number: self.frames,
            interface: found.interface,
            section: found.section,
            sent_since_ns: found.sent_since_ns,
            time_ps: found.time_ps,
            bytes: &self.window.available()[at..at + captured as usize],
            original_len: original,
            link_type: found.link_type,
        }))
    }

    fn read_error(&self, source: io::Error) -> CaptureError {
        CaptureError::Read {
            name: self.name.clone(),
            offset: self.window.offset(),
            block: self.blocks + 1,
            source,
        }
    }

    /// Recognise the file by its first bytes.
    fn start(&mut self) -> io::Result<Result<(), CaptureError>> {
        let whole = self.window.need(classic::HEADER_LEN)?;
        let head = self.window.available();
        let head = &head[..head.len().min(classic::HEADER_LEN)];
        if let Some((classic, interface)) = classic::header(head) {
            if whole {
                self.interfaces.push(interface);
                self.pending = classic::HEADER_LEN;
            } else {
                self.cut();
            }
            self.format = Format::Classic(classic);
        } else if !head.starts_with(&kind::SECTION_HEADER.to_le_bytes()) {
            return Ok(Err(CaptureError::NotACapture {
                name: self.name.clone(),
                why: classic::describe(head),
            }));
        }
        Ok(Ok(()))
    }

    fn find(&mut self) -> io::Result<Option<FramePosition>> {
        if self.end.is_some() {
            return Ok(None);
        }
        self.window.advance(std::mem::take(&mut self.pending));
        match self.format {
            Format::Ng(order) => self.find_ng(order),
            Format::Classic(classic) => self.find_record(classic),
        }
    }

    /// End here: the source has no more bytes than the window holds.
    fn cut(&mut self) {
        let bytes = self.window.available().len() as u64;
        self.end_cut(self.window.offset(), bytes);
    }

    fn end_cut(&mut self, offset: u64, bytes: u64) {
        self.end = Some(match bytes {
            0 => End::Whole,
            _ => End::Cut {
                offset,
                block: self.blocks + 1,
                bytes,
            },
        });
    }

    fn damaged(&mut self, why: String) {
        self.end = Some(End::Damaged {
            offset: self.window.offset(),
            block: self.blocks + 1,
            why,
        });
    }

    fn find_ng(&mut self, mut order: Order) -> io::Result<Option<FramePosition>> {
        loop {
            if !self.window.need(12)? {
                self.cut();
                return Ok(None);
            }
            let head = self.window.available();
            let kind = order.word(head, 0);
            if kind == kind::SECTION_HEADER {
                let Some(new) = byte_order(head) else {
                    self.damaged("a section header without a byte-order magic".to_owned());
                    return Ok(None);
                };
                order = new;
                self.format = Format::Ng(order);
            }
            let len = order.word(head, 4);
            if let Some(why) = wrong_length(kind, len) {
                self.damaged(why);
                return Ok(None);
            }
            let found = match self.block(kind, len, order)? {
                Some(found) => found,
                None if self.end.is_some() => return Ok(None),
                None => continue,
            };
            return Ok(Some(found));
        }
    }

    /// Read one block. A frame stays in the window, any other block is skipped.
    fn block(&mut self, kind: u32, len: u32, order: Order) -> io::Result<Option<FramePosition>> {
        if !is_needed(kind) {
            self.pass(len, order)?;
            return Ok(None);
        }
        let size = len as usize;
        if !self.window.need(size)? {
            self.cut();
            return Ok(None);
        }
        let bytes = &self.window.available()[..size];
        let again = order.word(bytes, size - 4);
        if again != len {
            self.damaged(unlike_lengths(len, again));
            return Ok(None);
        }
        let taken = match kind {
            kind::ENHANCED_PACKET => decode::enhanced(bytes, order)
                .and_then(|packet| self.packet(packet, size))
                .map(Some),
            kind::OBSOLETE_PACKET => decode::obsolete(bytes, order)
                .and_then(|packet| self.packet(packet, size))
                .map(Some),
            kind::SECTION_HEADER => {
                self.base = self.interfaces.len();
                self.sections += 1;
                Ok(None)
            }
            _ => decode::content(bytes, order).and_then(|content| self.take_in(size, content)),
        };
        match taken {
            Ok(found) => {
                self.blocks += 1;
                if found.is_none() {
                    self.window.advance(size);
                }
                Ok(found)
            }
            Err(why) => {
                self.damaged(why);
                Ok(None)
            }
        }
    }

    fn take_in(
        &mut self,
        block: usize,
        content: Option<Content>,
    ) -> Result<Option<FramePosition>, String> {
        match content {
            None => {}
            Some(Content::Interface(_)) if self.interfaces.len() == MAX_INTERFACES => {
                return Err(format!("more than {MAX_INTERFACES} interfaces"));
            }
            Some(Content::Interface(mut interface)) => {
                interface.section = self.sections - 1;
                interface.id = (self.interfaces.len() - self.base) as u32;
                self.interfaces.push(interface);
            }
            Some(Content::Dropped { interface, frames }) => {
                // The block summarises the whole section, so it includes the drop counts of single frames.
                let interface = &mut self.interfaces[self.base..].get_mut(interface as usize);
                if let Some(interface) = interface {
                    interface.dropped_by_capture = interface.dropped_by_capture.max(frames);
                }
            }
            Some(Content::Packet(packet)) => return self.packet(packet, block).map(Some),
        }
        Ok(None)
    }

    #[inline]
    fn packet(&mut self, mut packet: Packet, block: usize) -> Result<FramePosition, String> {
        let index = self.base + packet.interface as usize;
        let Some(interface) = self.interfaces.get_mut(index) else {
            let known = self.interfaces.len() - self.base;
            return Err(format!(
                "a frame of interface {}, but the section has described {known} so far",
                packet.interface
            ));
        };
        if interface.snap_len > 0 && packet.ticks.is_none() {
            packet.captured = packet.captured.min(interface.snap_len);
        }
        if packet.dropped > 0 {
            interface.dropped_by_capture =
                interface.dropped_by_capture.saturating_add(packet.dropped);
        }
        let fcs = u32::from(packet.fcs.unwrap_or(interface.fcs_bytes));
        packet.original = packet.original.saturating_sub(fcs);
        packet.captured = packet.captured.min(packet.original);
        Ok(FramePosition {
            interface: index as u32,
            section: interface.section,
            sent_since_ns: interface.sent_since_ns,
            link_type: interface.link_type,
            time_ps: packet.ticks.map(|ticks| interface.time_ps(ticks)),
            packet,
            block,
        })
    }

    /// Skip a block whose content is not used.
    fn pass(&mut self, len: u32, order: Order) -> io::Result<()> {
        let offset = self.window.offset();
        let whole = self.window.skip(u64::from(len) - 4)? && self.window.need(4)?;
        if !whole {
            let bytes = self.window.offset() - offset + self.window.available().len() as u64;
            self.end_cut(offset, bytes);
            return Ok(());
        }
        let again = order.word(self.window.available(), 0);
        if again != len {
            self.end = Some(End::Damaged {
                offset,
                block: self.blocks + 1,
                why: unlike_lengths(len, again),
            });
            return Ok(());
        }
        self.window.advance(4);
        self.blocks += 1;
        Ok(())
    }

    fn find_record(&mut self, classic: Classic) -> io::Result<Option<FramePosition>> {
        if !self.window.need(classic::RECORD_LEN)? {
            self.cut();
            return Ok(None);
        }
        let captured = classic.captured(self.window.available());
        if captured > MAX_BLOCK {
            self.damaged(format!("a frame of {captured} bytes"));
            return Ok(None);
        }
        let size = classic::RECORD_LEN + captured as usize;
        if !self.window.need(size)? {
            self.cut();
            return Ok(None);
        }
        match classic
            .record(&self.window.available()[..size])
            .and_then(|packet| self.packet(packet, size))
        {
            Ok(found) => {
                self.blocks += 1;
                Ok(Some(found))
            }
            Err(why) => {
                self.damaged(why);
                Ok(None)
            }
        }
    }
}

fn is_needed(kind: u32) -> bool {
    matches!(
        kind,
        kind::SECTION_HEADER
            | kind::INTERFACE_DESCRIPTION
            | kind::OBSOLETE_PACKET
            | kind::SIMPLE_PACKET
            | kind::INTERFACE_STATISTICS
            | kind::ENHANCED_PACKET
    )
}

fn byte_order(head: &[u8]) -> Option<Order> {
    [Order::Little, Order::Big]
        .into_iter()
        .find(|order| order.word(head, 8) == BYTE_ORDER_MAGIC)
}

fn wrong_length(kind: u32, len: u32) -> Option<String> {
    if kind == 0 && len == 0 {
        return Some(
            "zeros; the file was never written to its end (a crash, or a full disk)".into(),
        );
    }
    if len < 12 || len % 4 != 0 {
        return Some(format!(
            "a block length of {len}, which must be at least 12 and a multiple of 4"
        ));
    }
    if is_needed(kind) && len > MAX_BLOCK {
        return Some(format!(
            "a block of {len} bytes; the longest valid one is {MAX_BLOCK}"
        ));
    }
    None
}

fn unlike_lengths(first: u32, last: u32) -> String {
    format!("a block whose length is {first} at its start and {last} at its end")
}
