//! The frame that announces a port before a run.

use wirelab_wire::frame::{TPID_CUSTOMER, TPID_SERVICE};

use super::error::PacketError;
use crate::iface::{Interface, PortName};

/// IEEE Std 802 Local Experimental EtherType 2. No host answers it, and no checker takes it for a frame of its flow.
const ETHERTYPE: u16 = 0x88B6;

/// The smallest Ethernet frame in bytes, without FCS.
const SMALLEST: usize = 60;

/// Sends one frame from `port`, from its own address to `peer`, with these tags. A switch on the path learns the port
/// from it, so it need not flood the first measured frames (RFC 2544, 23).
///
/// # Errors
/// [`PacketError::Iface`], [`PacketError::Privilege`] or [`PacketError::Setup`], which name what is missing.
pub fn announce(
    port: &PortName,
    peer: [u8; 6],
    vlans: [Option<u16>; 2],
) -> Result<(), PacketError> {
    let failed = |what| move |e| PacketError::setup(port, what, e);
    let interface = Interface::query(port)?;
    let mut frame = head(peer, interface.mac.0, vlans, ETHERTYPE);
    frame.resize(SMALLEST, 0);
    let first_type = u16::from_be_bytes([frame[12], frame[13]]);
    let socket = super::socket_of(port)?;
    socket.hear_nothing().map_err(failed("a filter"))?;
    socket
        .bind(interface.index, first_type)
        .map_err(failed("the interface"))?;
    let length = frame.len();
    socket
        .send_frames(&mut frame, length, &[length])
        .map_err(failed("a frame"))?;
    Ok(())
}

/// The start of a frame: addresses, tags, EtherType.
pub(super) fn head(to: [u8; 6], from: [u8; 6], vlans: [Option<u16>; 2], ethertype: u16) -> Vec<u8> {
    let mut frame = [to, from].concat();
    let tags = vlans.iter().flatten().count();
    for (n, tag) in vlans.iter().flatten().enumerate() {
        let outer_of_two = tags == 2 && n == 0;
        let tpid = if outer_of_two {
            TPID_SERVICE
        } else {
            TPID_CUSTOMER
        };
        frame.extend(tpid.to_be_bytes());
        frame.extend(tag.to_be_bytes());
    }
    frame.extend(ethertype.to_be_bytes());
    frame
}
