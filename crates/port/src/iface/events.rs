//! The kernel's notifications about a link (rtnetlink(7), RTNLGRP_LINK). An interface whose carrier does not follow
//! its state, such as a TAP device, keeps no other trace of a time when it was down.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use super::PortName;
use super::link::{IFF_UP, INFO_FLAGS, INFO_INDEX};
use crate::netlink::{self, number32};

/// The group's bit (linux/rtnetlink.h, RTMGRP_LINK).
const LINKS: u32 = 1;

/// Listens for changes of one interface.
#[derive(Debug)]
pub struct LinkEvents {
    socket: OwnedFd,
    index: u32,
    down: AtomicBool,
}

impl LinkEvents {
    /// Begin to listen for interface `index` of `port`; `None` if the host does not allow it.
    pub fn begin(port: &PortName, index: u32) -> Option<LinkEvents> {
        let listen = || netlink::listen(LINKS);
        Some(LinkEvents {
            socket: port.netns().ok()?.run_in(listen).ok()?.ok()?,
            index,
            down: AtomicBool::new(false),
        })
    }

    /// Whether the interface was down at any time since the beginning.
    pub fn was_down(&self) -> bool {
        let changes = netlink::heard(&self.socket);
        if changes.iter().any(|info| is_down(info, self.index)) {
            self.down.store(true, Ordering::Relaxed);
        }
        self.down.load(Ordering::Relaxed)
    }
}

/// Whether a message says that this interface is down. Bridges report their ports in messages of another family.
fn is_down(info: &[u8], index: u32) -> bool {
    let word = |at: usize| number32(info.get(at..)?);
    let of_link = info.first() == Some(&(libc::AF_UNSPEC as u8));
    of_link && word(INFO_INDEX) == Some(index) && word(INFO_FLAGS).is_some_and(|f| f & IFF_UP == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(family: u8, index: u32, flags: u32) -> Vec<u8> {
        let mut info = vec![family, 0, 0, 0];
        info.extend(index.to_ne_bytes());
        info.extend(flags.to_ne_bytes());
        info
    }

    #[test]
    fn only_a_message_of_the_interface_itself_says_that_it_is_down() {
        assert!(is_down(&message(0, 4, 0), 4));
        assert!(!is_down(&message(0, 4, IFF_UP), 4));
        assert!(!is_down(&message(0, 5, 0), 4), "another interface");
        assert!(!is_down(&message(7, 4, 0), 4), "of a bridge");
        assert!(!is_down(&message(0, 4, 0)[..10], 4), "cut short");
    }
}
