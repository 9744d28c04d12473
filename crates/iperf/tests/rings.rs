//! What the rings of the host's interfaces dropped before a server's socket is not a certain loss. No interface of a test
//! can be made to drop there, so the server reads prepared counters: a process in a mount namespace of its own.

use std::fs;
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use crate::v2_common::Ours;
use wirelab_iperf::v2::{Head, IdWidth, Leg, Received, ServerConfig};

const INSIDE: &str = "WIRELAB_TEST_IPERF_RINGS";
const COUNTERS: &str = "/sys/class/net/ring0/statistics";
/// Longer than the server goes without a look at what its host dropped.
const LOOKS: Duration = Duration::from_millis(200);

fn ring_dropped(frames: u64) {
    fs::write(format!("{COUNTERS}/rx_missed_errors"), frames.to_string()).unwrap();
}

/// Of 30 numbers the ten in the middle never arrive, while the ring says that it dropped so many buffers in all.
fn with_a_gap(ours: &Ours, dropped: u64) -> Received {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(ours.server.udp_address()).unwrap();
    let send = |id: i64| {
        let mut datagram = [0; 500];
        let head = Head {
            id,
            seconds: 1,
            microseconds: 0,
        };
        head.emit(&mut datagram, IdWidth::Narrow);
        socket.send(&datagram).unwrap();
    };
    (1..=10).for_each(send);
    std::thread::sleep(LOOKS);
    ring_dropped(dropped);
    (21..=30).for_each(send);
    send(-31);
    let Leg::UdpReceived(seen) = ours.next_leg() else {
        panic!("datagrams were sent");
    };
    std::thread::sleep(LOOKS);
    seen.received
}

fn inside() {
    fs::create_dir_all(COUNTERS).unwrap();
    ring_dropped(7);
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let lost = |received: Received| (received.lost, received.lost_or_missed, received.missed);
    // What it had dropped before the server began is not a flow's.
    assert_eq!(lost(with_a_gap(&ours, 7)), (10, 0, 0));
    assert_eq!(lost(with_a_gap(&ours, 8)), (0, 10, 0));
    // What it had dropped before a flow began is not that flow's.
    assert_eq!(lost(with_a_gap(&ours, 8)), (10, 0, 0));
}

#[test]
fn what_a_ring_before_a_servers_socket_dropped_is_no_certain_loss() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    if !wirelab_port::netns::may_test() {
        return;
    }
    let shell = "mount -t tmpfs none /sys/class/net && exec \"$0\" --exact \"$1\" --nocapture";
    let test = "rings::what_a_ring_before_a_servers_socket_dropped_is_no_certain_loss";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", shell])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
}
