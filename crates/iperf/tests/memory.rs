//! What a server keeps: nothing more with time, and a bounded amount for each client.

use std::net::{SocketAddr, UdpSocket};

use crate::v2_common::{Ours, our_client};
use wirelab_iperf::v2::{Amount, ClientConfig, Leg, Protocol, Rate, ServerConfig};

/// More than a flow needs: the numbers that a receiver remembers are 65,536, with 8 bytes each and a bit.
const MOST_FLOW_KIB: u64 = 1024;
/// What allocators and threads of a test may keep besides.
const SLACK_KIB: u64 = 4096;

/// Resident memory of this process in KiB (proc_pid_status(5)).
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn test(server: SocketAddr, protocol: Protocol, bytes: u64) -> ClientConfig {
    ClientConfig {
        rate: Rate::Max,
        length_bytes: (protocol == Protocol::Udp).then_some(200),
        amount: Amount::Bytes(bytes),
        ..ClientConfig::new(server, protocol)
    }
}

#[test]
fn a_server_keeps_nothing_with_time_and_a_bounded_amount_for_a_client() {
    // One after the other: both look at the memory of this process.
    many_times_the_traffic_takes_no_more_memory();
    clients_beyond_the_limit_take_no_more_memory();
}

fn many_times_the_traffic_takes_no_more_memory() {
    let ours = Ours::start("127.0.0.1", ServerConfig::default());
    let (udp, tcp) = (ours.server.udp_address(), ours.server.tcp_address());
    let run = |protocol, bytes| {
        let address = if protocol == Protocol::Udp { udp } else { tcp };
        let (outcome, _) = our_client(&test(address, protocol, bytes));
        assert!(outcome.trouble.is_none(), "{:?}", outcome.trouble);
        assert!(matches!(
            ours.legs(1).0[0].0,
            Leg::UdpReceived(_) | Leg::TcpReceived { .. }
        ));
    };
    // A flow that has used every number that a receiver remembers.
    run(Protocol::Udp, 200 * 70_000);
    run(Protocol::Tcp, 20_000_000);
    let before = resident_kib();
    run(Protocol::Udp, 200 * 500_000);
    run(Protocol::Tcp, 500_000_000);
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < MOST_FLOW_KIB + SLACK_KIB, "{grown} KiB");
}

fn clients_beyond_the_limit_take_no_more_memory() {
    let config = ServerConfig::default();
    let most = config.max_flows as u64;
    let ours = Ours::start("127.0.0.1", config);
    let to = ours.server.udp_address();
    let before = resident_kib();
    // Each from a port of its own; every jump of numbers makes the receiver write all that it remembers.
    let mut clients = 0;
    while clients < 8 * most {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for number in [1u32, 80_000, 160_000] {
            let mut datagram = [0; 64];
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            socket.send_to(&datagram, to).unwrap();
        }
        clients += 1;
        // Not faster than the server takes them: a leg is reported for each flow that was replaced.
        if clients > most {
            ours.legs(1);
        }
    }
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < most * MOST_FLOW_KIB + SLACK_KIB, "{grown} KiB");
}
