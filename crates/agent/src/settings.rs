//! Offloads, rings and interrupt pacing of an interface, as its driver tells them (linux/ethtool.h).

use wirelab_port::iface::Interface;

use crate::facts::yes;
use crate::sys::ethtool::{Ethtool, Ring};

/// Settings of an interface. What the driver does not tell is absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    checksum_tx: Option<bool>,
    checksum_rx: Option<bool>,
    scatter_gather: Option<bool>,
    segmentation_tx: Option<bool>,
    joining_rx: Option<bool>,
    ring: Option<Ring>,
    pacing_us: Option<u32>,
}

impl Settings {
    /// Ask the driver, in the network namespace of the calling thread.
    pub fn of(interface: &Interface) -> Settings {
        let Ok(ethtool) = Ethtool::open(&interface.port.interface) else {
            return Settings::default();
        };
        Settings {
            checksum_tx: ethtool.checksum_tx(),
            checksum_rx: ethtool.checksum_rx(),
            scatter_gather: ethtool.scatter_gather(),
            segmentation_tx: ethtool.segmentation_tx(),
            joining_rx: ethtool.joining_rx(),
            ring: ethtool.ring(),
            pacing_us: ethtool.interrupt_pacing_us(),
        }
    }

    /// As set-up keys.
    pub fn keys(&self) -> Vec<(&'static str, String)> {
        let by = |hardware: bool| if hardware { "hardware" } else { "software" }.to_owned();
        let number = |n: u32| n.to_string();
        let all = [
            ("checksum_tx", self.checksum_tx.map(by)),
            ("checksum_rx", self.checksum_rx.map(by)),
            ("scatter_gather_tx", self.scatter_gather.map(yes)),
            ("segmentation_tx", self.segmentation_tx.map(yes)),
            ("joining_rx", self.joining_rx.map(yes)),
            ("rx_descriptors", self.ring.map(|ring| number(ring.rx))),
            ("tx_descriptors", self.ring.map(|ring| number(ring.tx))),
            ("interrupt_pacing", self.pacing_us.map(|us| yes(us > 0))),
            (
                "interrupt_pacing_us",
                self.pacing_us.filter(|us| *us > 0).map(number),
            ),
        ];
        all.into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }
}
