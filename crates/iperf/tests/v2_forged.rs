//! Requests for traffic back over UDP from an address that may be forged: bounded in time, rate and number, and
//! ended when the host of the address refuses it.

use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use wirelab_iperf::v2::{
    Amount, ClientHeader, Head, IdWidth, Leg, Mode, Rate, ServerConfig, Trouble,
};

use crate::v2_common::{Ours, time};

/// The first datagram of a client that asks for ten hours, back to `port` where the mode needs one.
fn request(mode: Mode, port: u16, rate: Rate) -> [u8; 100] {
    let mut out = [0; 100];
    let head = Head {
        id: 1,
        seconds: 0,
        microseconds: 0,
    };
    head.emit(&mut out, IdWidth::Wide);
    let header = ClientHeader::new(true, port, 100, time(3_600_000), rate).with_mode(mode);
    header.emit(&mut out[16..]).unwrap();
    out
}

fn udp_sent(ours: &Ours) -> (wirelab_iperf::v2::Sent, Option<Trouble>) {
    loop {
        if let (Leg::UdpSent(sent), trouble) = ours.next_leg_with_trouble() {
            return (*sent, trouble);
        }
    }
}

#[test]
fn a_host_that_refuses_gets_no_more() {
    for mode in [Mode::Reverse, Mode::FullDuplex, Mode::Dual] {
        let quiet = Duration::from_millis(200);
        let ours = Ours::start(
            "127.0.0.1",
            ServerConfig {
                quiet,
                ..ServerConfig::default()
            },
        );
        let victim = UdpSocket::bind("127.0.0.1:0").unwrap();
        let closed = UdpSocket::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let asked = request(mode, closed.port(), Rate::PacketsPerS(500));
        victim.send_to(&asked, ours.server.udp_address()).unwrap();
        // From here on nobody has the port, as where the address was forged.
        drop(victim);
        let (sent, trouble) = udp_sent(&ours);
        assert!(
            matches!(trouble, Some(Trouble::Gone { .. })),
            "{mode:?}: {trouble:?}"
        );
        assert!(sent.duration_ns < 30_000_000_000, "{mode:?}: {sent:?}");
    }
}

#[test]
fn time_rate_and_number_are_bounded() {
    let config = ServerConfig {
        max_back: 2,
        max_back_time: Duration::from_secs(2),
        max_back_bits_per_s: 80_000,
        ..ServerConfig::default()
    };
    let ours = Ours::start("127.0.0.1", config);
    let victims: Vec<UdpSocket> = (0..3)
        .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
        .collect();
    for victim in &victims[..2] {
        let asked = request(Mode::Reverse, 1, Rate::BitsPerS(400_000_000_000));
        victim.send_to(&asked, ours.server.udp_address()).unwrap();
    }
    ours.began(2);
    // Without a rate, the least that iperf sends is used.
    let asked = request(Mode::Reverse, 1, Rate::Max);
    victims[2]
        .send_to(&asked, ours.server.udp_address())
        .unwrap();
    assert_eq!(
        ours.refusal(),
        "traffic back: the server sends as many flows as it may"
    );
    for _ in 0..2 {
        let (sent, trouble) = udp_sent(&ours);
        assert!(trouble.is_none(), "{trouble:?}");
        // 100 datagrams of 100 bytes a second, for two seconds.
        assert!(sent.datagrams <= 201, "{sent:?}");
    }
    // A place is free again.
    let another = UdpSocket::bind("127.0.0.1:0").unwrap();
    another.send_to(&asked, ours.server.udp_address()).unwrap();
    assert!(udp_sent(&ours).0.datagrams <= 201);
}

#[test]
fn bytes_are_bounded_too() {
    let ours = Ours::start(
        "127.0.0.1",
        ServerConfig {
            max_back_bytes: 1000,
            ..ServerConfig::default()
        },
    );
    let victim = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut asked = request(Mode::Reverse, 1, Rate::PacketsPerS(1000));
    asked[36..40].copy_from_slice(&Amount::Bytes(1 << 30).to_wire().to_be_bytes());
    victim.send_to(&asked, ours.server.udp_address()).unwrap();
    assert_eq!(udp_sent(&ours).0.bytes, 1000);
}

/// Bytes do not extend the limit of time: at a slow rate over UDP, or where the peer reads nothing over TCP.
#[test]
fn an_amount_of_bytes_is_bounded_in_time() {
    let config = ServerConfig {
        max_back: 1,
        max_back_time: Duration::from_millis(300),
        ..ServerConfig::default()
    };
    let ours = Ours::start("127.0.0.1", config);
    let victim = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut asked = request(Mode::Reverse, 1, Rate::BitsPerS(1));
    let amount = Amount::Bytes(1 << 30);
    asked[36..40].copy_from_slice(&amount.to_wire().to_be_bytes());
    victim.send_to(&asked, ours.server.udp_address()).unwrap();
    assert_eq!(
        udp_sent(&ours).0.datagrams,
        1,
        "one of 100 bytes, at 1 bit/s"
    );

    let mut idle = TcpStream::connect(ours.server.tcp_address()).unwrap();
    let mut header = [0; 60];
    let asked = ClientHeader::new(false, 1, 0, amount, Rate::Max).with_mode(Mode::Reverse);
    asked.emit(&mut header).unwrap();
    idle.write_all(&header).unwrap();
    let (leg, trouble) = ours.next_leg_with_trouble();
    let Leg::TcpSent { bytes, .. } = leg else {
        panic!("{leg}");
    };
    assert!(bytes < 1 << 30 && trouble.is_none(), "{bytes} {trouble:?}");
}
