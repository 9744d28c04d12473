//! The driver alone: a program sends, and a program reflects. No application takes part.

use std::net::{IpAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::Duration;

use wirelab_port::ebpf::Mode;
use wirelab_port::xdp::{Generator, GeneratorOptions, XdpError};
use wirelab_socket::flow::Offer;
use wirelab_stages::{Reflect, Reflector, StagesError};
use wirelab_wire::rule::FixedList;
use wirelab_wire::{FrameSpec, Layer, Sizes};

use super::{FastTrackTrial, failed};
use crate::engine::{Work, WorkReport};
use crate::ethernet::{job, sending};
use crate::meter::stamp;

/// Interval between two checks of the reflector's progress.
const LOOK: Duration = Duration::from_millis(5);

/// The work of the sender in the driver.
///
/// # Errors
/// [`XdpError`]: what is missing, and the fix.
pub fn send(
    past: &FastTrackTrial,
    frame: FrameSpec,
    offer: &Offer,
    sizes: Sizes,
) -> Result<Work, XdpError> {
    let job = job(frame, offer, sizes, None);
    let bytes = sizes.datagram.unwrap_or(sizes.payload);
    let generator = Generator::load(&[(past.port.clone(), job)], GeneratorOptions::default())?;
    Ok(sending(bytes, move |cancel| {
        let mut reports = generator.run(cancel).map_err(failed)?;
        Ok(reports.pop().unwrap_or_default())
    }))
}

/// The work of the reflector; also its program's mode, and notes for the reader. Frames are reflected from now on.
/// `holder` keeps the flow's UDP port.
///
/// # Errors
/// [`StagesError`]: what is missing, and the fix.
pub fn echo(
    past: &FastTrackTrial,
    peer: IpAddr,
    holder: Option<UdpSocket>,
) -> Result<(Work, Option<Mode>, Option<String>), StagesError> {
    let udp = past.layer != Layer::Ethernet;
    let reflect = Reflect {
        ethernet: !udp,
        udp_ports: FixedList::of(if udp {
            std::slice::from_ref(&past.udp_port)
        } else {
            &[]
        })
        .unwrap_or_default(),
        peer_mac: Some(past.peer.0),
        peer: udp.then_some(peer),
    };
    let reflector = Reflector::attach(&past.port, &reflect, past.xdp, None)?;
    let (mode, remark) = (reflector.mode(), reflector.remark().map(str::to_owned));
    let work: Work = Box::new(move |live, cancel| {
        while !cancel.is_cancelled() {
            std::thread::sleep(LOOK);
            let frames = reflector.counters().reflected;
            if frames != live.frames.load(Ordering::Relaxed) {
                stamp(live);
                live.frames.store(frames, Ordering::Relaxed);
            }
        }
        let counted = reflector.counters();
        live.frames.store(counted.reflected, Ordering::Relaxed);
        drop((reflector, holder));
        Ok(WorkReport {
            echoed: Some(counted.reflected),
            counters: vec![
                ("reflected_frames", counted.reflected),
                ("not_reflected_frames", counted.not_reflected),
            ],
            ..WorkReport::default()
        })
    });
    Ok((work, Some(mode), remark))
}
