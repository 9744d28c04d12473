//! The receive ring (TPACKET_V3): blocks of frames, each handed over when it is full or has waited long enough.

use std::io;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

use libc::{tpacket_block_desc, tpacket_hdr_v1, tpacket3_hdr};

use super::mapping::Mapping;
use super::socket::PacketSocket;

/// Bytes of a block: far more than the longest frame, and few enough blocks to walk.
pub(in crate::packet) const BLOCK: usize = 256 * 1024;

/// Space before each frame for a VLAN tag that the kernel removed.
pub(in crate::packet) const HEADROOM: usize = 4;

/// Offsets in a block's header (linux/if_packet.h: `struct tpacket_block_desc`).
const HEADER: usize = offset_of!(tpacket_block_desc, hdr);
const STATUS: usize = HEADER + offset_of!(tpacket_hdr_v1, block_status);
const COUNT: usize = HEADER + offset_of!(tpacket_hdr_v1, num_pkts);
const FIRST: usize = HEADER + offset_of!(tpacket_hdr_v1, offset_to_first_pkt);

/// `TPACKET_ALIGN(sizeof(struct tpacket3_hdr))`: offset of a frame's link-layer address.
const ADDRESS: usize = size_of::<tpacket3_hdr>().next_multiple_of(16);

/// Blocks shared with the kernel, used in order.
pub(in crate::packet) struct RxRing {
    map: Mapping,
    blocks: usize,
}

/// A block of frames that the application owns until it is given back.
pub(in crate::packet) struct Block<'a> {
    bytes: &'a mut [u8],
    left: u32,
    at: usize,
}

/// A frame in a block.
pub(in crate::packet) struct RingFrame<'a> {
    /// [`HEADROOM`] bytes, then the frame's bytes in the ring.
    pub bytes: &'a mut [u8],
    /// Length of the frame before the ring cut it.
    pub length: u32,
    /// CLOCK_REALTIME in ns when the kernel put it into the ring.
    pub unix_ns: u64,
    /// Its direction and destination (`PACKET_HOST`, `PACKET_OUTGOING`, …).
    pub kind: u8,
    /// The outermost tag, TPID and TCI, if the kernel removed it.
    pub tag: Option<(u16, u16)>,
}

impl RxRing {
    /// A ring of `bytes` on a socket that is not bound yet. Blocks are handed over after `patience_ms` at the latest.
    pub(in crate::packet) fn new(
        socket: &PacketSocket,
        bytes: usize,
        patience_ms: u32,
    ) -> io::Result<RxRing> {
        let version = libc::tpacket_versions::TPACKET_V3 as i32;
        socket.set(libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_RESERVE, &(HEADROOM as u32))?;
        let blocks = (bytes / BLOCK).max(2);
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            // Frames are packed in a block; this value only has to divide it.
            tp_frame_size: 4096,
            tp_frame_nr: (blocks * BLOCK / 4096) as u32,
            tp_retire_blk_tov: patience_ms,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        Ok(RxRing {
            map: Mapping::new(socket, blocks * BLOCK)?,
            blocks,
        })
    }

    /// Bytes of the whole ring.
    pub(in crate::packet) fn bytes(&self) -> usize {
        self.blocks * BLOCK
    }

    /// Block number `turn` (counted without end) if the kernel has handed it over.
    pub(in crate::packet) fn block(&mut self, turn: usize) -> Option<Block<'_>> {
        let start = turn % self.blocks * BLOCK;
        let status = self.map.word(start + STATUS).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the status gives the block to the application; `give_back` needs `self`, which the slice borrows.
        let bytes = unsafe { self.map.slice_mut(start, BLOCK) };
        Some(Block {
            left: word(bytes, COUNT),
            at: word(bytes, FIRST) as usize,
            bytes,
        })
    }

    /// Gives block number `turn` back to the kernel.
    pub(in crate::packet) fn give_back(&mut self, turn: usize) {
        let start = turn % self.blocks * BLOCK;
        self.map
            .word(start + STATUS)
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }
}

impl Block<'_> {
    /// The next frame of the block.
    pub(in crate::packet) fn next(&mut self) -> Option<RingFrame<'_>> {
        self.left = self.left.checked_sub(1)?;
        let header = self.bytes.get(self.at..)?;
        let field = |offset| word(header, offset);
        let status = field(offset_of!(tpacket3_hdr, tp_status));
        let tags = offset_of!(tpacket3_hdr, hv1);
        // tp_rxhash, tp_vlan_tci (4 bytes), tp_vlan_tpid (2 bytes)
        let (tci, tpid) = (field(tags + 4) as u16, field(tags + 8) as u16);
        let tpid = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 {
            tpid
        } else {
            wirelab_wire::frame::TPID_CUSTOMER
        };
        let tag = (status & libc::TP_STATUS_VLAN_VALID != 0).then_some((tpid, tci));
        let unix_ns = u64::from(field(offset_of!(tpacket3_hdr, tp_sec))) * 1_000_000_000
            + u64::from(field(offset_of!(tpacket3_hdr, tp_nsec)));
        let length = field(offset_of!(tpacket3_hdr, tp_len));
        let kept = field(offset_of!(tpacket3_hdr, tp_snaplen)) as usize;
        let mac = header[offset_of!(tpacket3_hdr, tp_mac)..].first_chunk::<2>()?;
        let start = self.at + usize::from(u16::from_ne_bytes(*mac));
        let kind = *header.get(ADDRESS + offset_of!(libc::sockaddr_ll, sll_pkttype))?;
        let next = field(offset_of!(tpacket3_hdr, tp_next_offset)) as usize;
        self.at += next;
        Some(RingFrame {
            bytes: self
                .bytes
                .get_mut(start.checked_sub(HEADROOM)?..start + kept)?,
            length,
            unix_ns,
            kind,
            tag,
        })
    }
}

/// A field of four bytes in the machine's order; 0 if the block ends before it.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk::<4>())
        .map_or(0, |field| u32::from_ne_bytes(*field))
}
