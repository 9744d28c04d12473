//! The transmit ring (TPACKET_V2): slots of a frame each, and a status word that says whose a slot is.

use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use libc::{TP_STATUS_AVAILABLE, TP_STATUS_SEND_REQUEST, TP_STATUS_WRONG_FORMAT, tpacket2_hdr};

use super::mapping::Mapping;
use super::socket::PacketSocket;

/// Where the kernel looks for the frame in a slot: behind the aligned header (net/packet/af_packet.c:
/// `tp_hdrlen - sizeof(struct sockaddr_ll)`).
const FRAME_OFFSET: usize = size_of::<tpacket2_hdr>();

/// Status bits that say where a time stamp comes from, and nothing about the slot's owner.
const TIME_BITS: u32 =
    libc::TP_STATUS_TS_SOFTWARE | libc::TP_STATUS_TS_SYS_HARDWARE | libc::TP_STATUS_TS_RAW_HARDWARE;

/// `struct virtio_net_hdr`, which `PACKET_VNET_HDR` puts in front of each frame.
const VIRTIO_HEADER: usize = 10;

const PAGE: usize = 4096;

/// Whose a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::packet) enum Owner {
    /// Ours: its frame has left, or never had one.
    Application,
    /// Ready, and the kernel has not looked at it yet.
    Waiting,
    /// The kernel's: on its way.
    Kernel,
    /// Ours again, because the kernel would not take it.
    Refused,
}

/// Slots shared with the kernel, used in order.
pub(in crate::packet) struct TxRing {
    map: Mapping,
    slots: usize,
    slot_bytes: usize,
    /// Bytes in front of each frame that tell the kernel how much of it to copy; 0 for none.
    head: usize,
}

impl TxRing {
    /// A ring of `slots` frames of up to `length` bytes on a socket that has none yet.
    ///
    /// Of frames handed over `whole` the kernel copies every byte when it takes them, instead of referring to the
    /// ring's pages (net/packet/af_packet.c: `tpacket_fill_skb` copies `hdr_len` bytes).
    pub(in crate::packet) fn new(
        socket: &PacketSocket,
        slots: usize,
        length: usize,
        whole: bool,
    ) -> io::Result<TxRing> {
        let head = if whole { VIRTIO_HEADER } else { 0 };
        if whole {
            socket.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1i32)?;
        }
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        socket.set(libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        // Powers of two, so that slots follow one another without holes and short frames stay in one page.
        let slot_bytes = (FRAME_OFFSET + head + length).next_power_of_two();
        let block_bytes = if slots == 1 {
            slot_bytes.max(PAGE)
        } else {
            (slot_bytes * slots.min(4)).max(PAGE)
        };
        // A ring of one slot has to be a block of one frame.
        let slot_bytes = if slots * slot_bytes < block_bytes {
            block_bytes / slots
        } else {
            slot_bytes
        };
        let request = libc::tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: (slots * slot_bytes / block_bytes) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_TX_RING, &request)?;
        Ok(TxRing {
            map: Mapping::new(socket, slots * slot_bytes)?,
            slots,
            slot_bytes,
            head,
        })
    }

    pub(in crate::packet) fn slots(&self) -> usize {
        self.slots
    }

    fn status(&self, slot: usize) -> &AtomicU32 {
        self.map
            .word(slot * self.slot_bytes + offset_of!(tpacket2_hdr, tp_status))
    }

    pub(in crate::packet) fn owner(&self, slot: usize) -> Owner {
        match self.status(slot).load(Ordering::Acquire) & !TIME_BITS {
            TP_STATUS_AVAILABLE => Owner::Application,
            TP_STATUS_SEND_REQUEST => Owner::Waiting,
            status if status & TP_STATUS_WRONG_FORMAT != 0 => Owner::Refused,
            _ => Owner::Kernel,
        }
    }

    /// The frame's memory of a slot that is ours.
    ///
    /// # Panics
    /// If it is not.
    pub(in crate::packet) fn frame(&mut self, slot: usize) -> &mut [u8] {
        assert_eq!(
            self.owner(slot),
            Owner::Application,
            "slot {slot} is not ours"
        );
        let at = slot * self.slot_bytes + FRAME_OFFSET + self.head;
        // SAFETY: the slot is ours until `ready` gives it away, which needs `self` too.
        unsafe {
            self.map
                .slice_mut(at, self.slot_bytes - FRAME_OFFSET - self.head)
        }
    }

    /// Gives a slot of ours to the kernel, with a frame of `length` bytes in it.
    pub(in crate::packet) fn ready(&mut self, slot: usize, length: usize) {
        let start = slot * self.slot_bytes;
        if self.head > 0 {
            // flags and gso_type are zero, then comes hdr_len in the machine's order (virtio 1.2, 5.1.6).
            let [low, high] = (length as u16).to_ne_bytes();
            let word = u32::from_ne_bytes([0, 0, low, high]);
            self.map
                .word(start + FRAME_OFFSET)
                .store(word, Ordering::Relaxed);
        }
        let at = start + offset_of!(tpacket2_hdr, tp_len);
        let bytes = (self.head + length) as u32;
        self.map.word(at).store(bytes, Ordering::Relaxed);
        // What was written into the frame must be there before the kernel may look.
        fence(Ordering::Release);
        self.status(slot)
            .store(TP_STATUS_SEND_REQUEST, Ordering::Release);
    }
}
