//! The transmit ring (TPACKET_V2): slots of a frame each, and a status word that names a slot's owner.

use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use libc::{TP_STATUS_AVAILABLE, TP_STATUS_SEND_REQUEST, TP_STATUS_WRONG_FORMAT, tpacket2_hdr};

use super::mapping::Mapping;
use super::socket::PacketSocket;

/// Offset at which the kernel reads the frame in a slot: after the aligned header (net/packet/af_packet.c: `tp_hdrlen
/// - sizeof(struct sockaddr_ll)`).
const FRAME_OFFSET: usize = size_of::<tpacket2_hdr>();

/// Status bits for the source of a time stamp, which do not concern the slot's owner.
const TIME_BITS: u32 =
    libc::TP_STATUS_TS_SOFTWARE | libc::TP_STATUS_TS_SYS_HARDWARE | libc::TP_STATUS_TS_RAW_HARDWARE;

/// `struct virtio_net_hdr`, which `PACKET_VNET_HDR` puts before each frame.
const VIRTIO_HEADER: usize = 10;

const PAGE: usize = 4096;

/// The owner of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::packet) enum Owner {
    /// The application: the slot's frame has left, or it had none.
    Application,
    /// Ready, and not yet read by the kernel.
    Waiting,
    /// The kernel, which is sending it.
    Kernel,
    /// The application, because the kernel refused the frame.
    Refused,
}

/// Slots shared with the kernel, used in order.
pub(in crate::packet) struct TxRing {
    map: Mapping,
    slots: usize,
    slot_bytes: usize,
    /// Bytes before each frame that say how much of it the kernel copies; 0 for none.
    head: usize,
}

impl TxRing {
    /// A ring of `slots` frames of up to `length` bytes on a socket without a ring.
    ///
    /// With `whole` the kernel copies every byte of a frame when it takes it, instead of referring to the ring's
    /// pages (net/packet/af_packet.c: `tpacket_fill_skb` copies `hdr_len` bytes).
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
        // Powers of two, so that slots follow each other without gaps and short frames stay in one page.
        let slot_bytes = (FRAME_OFFSET + head + length).next_power_of_two();
        let block_bytes = if slots == 1 {
            slot_bytes.max(PAGE)
        } else {
            (slot_bytes * slots.min(4)).max(PAGE)
        };
        // A ring of one slot must be a block of one frame.
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

    /// The frame memory of a slot that the application owns.
    ///
    /// # Panics
    /// If it does not own it.
    pub(in crate::packet) fn frame(&mut self, slot: usize) -> &mut [u8] {
        assert_eq!(
            self.owner(slot),
            Owner::Application,
            "slot {slot} is not ours"
        );
        let at = slot * self.slot_bytes + FRAME_OFFSET + self.head;
        // SAFETY: the application owns the slot until `ready` gives it away, which also needs `self`.
        unsafe {
            self.map
                .slice_mut(at, self.slot_bytes - FRAME_OFFSET - self.head)
        }
    }

    /// Gives a slot to the kernel, with a frame of `length` bytes in it.
    pub(in crate::packet) fn ready(&mut self, slot: usize, length: usize) {
        let start = slot * self.slot_bytes;
        if self.head > 0 {
            // flags and gso_type are zero; hdr_len follows in the machine's order (virtio 1.2, 5.1.6).
            let [low, high] = (length as u16).to_ne_bytes();
            let word = u32::from_ne_bytes([0, 0, low, high]);
            self.map
                .word(start + FRAME_OFFSET)
                .store(word, Ordering::Relaxed);
        }
        let at = start + offset_of!(tpacket2_hdr, tp_len);
        let bytes = (self.head + length) as u32;
        self.map.word(at).store(bytes, Ordering::Relaxed);
        // The frame's bytes must be visible before the kernel may read them.
        fence(Ordering::Release);
        self.status(slot)
            .store(TP_STATUS_SEND_REQUEST, Ordering::Release);
    }
}
