//! What is chosen of sockets in iperf3, both roles against the distribution's binary.

use crate::v3_common::real::{RealServer, number, serve_real, there_is_iperf3};
use crate::v3_common::tcp;
use wirelab_iperf::SocketOptions;
use wirelab_iperf::v3::{Client, Parameters, report};
use wirelab_trial::Cancel;

use crate::over::Over;
use crate::v3_common;

fn brief() -> Parameters {
    Parameters {
        seconds: 0,
        bytes: 1 << 20,
        ..tcp()
    }
}

#[test]
fn the_real_server_does_what_our_client_chooses() {
    if !there_is_iperf3() {
        return;
    }
    let server = RealServer::start();
    let client = Client {
        options: SocketOptions {
            congestion: Some("reno".parse().unwrap()),
            mss_bytes: Some(1000),
            no_delay: true,
            tos: Some(0x20),
            ..SocketOptions::NONE
        },
        ..Client::new(
            server.address,
            Parameters {
                zerocopy: true,
                bidirectional: true,
                ..brief()
            },
        )
    };
    let outcome = client.run(&Cancel::new()).unwrap();
    assert_eq!(outcome.failure, None);
    let json = report::to_json(&outcome);
    assert_eq!(json["start"]["test_start"]["tos"], 0x20);
    for end in ["sender", "receiver"] {
        let used = &json["end"][format!("{end}_tcp_congestion")];
        assert_eq!(used, "reno", "{json:#}");
    }
    // Both ends know what they sent again.
    for sum in ["sum_sent", "sum_sent_bidir_reverse"] {
        number(&json, &format!("/end/{sum}/retransmits"));
    }
}

#[test]
fn our_server_does_what_the_real_client_chooses() {
    if !there_is_iperf3() {
        return;
    }
    for direction in ["", "-R"] {
        let options = "-n 1M -C reno -M 1000 -N -S 0x20 -Z";
        let options: Vec<&str> = options
            .split(' ')
            .chain(direction.split_whitespace())
            .collect();
        let (ours, theirs) = serve_real(&options);
        assert_eq!(ours.unwrap().failure, None);
        assert_eq!(theirs.get("error"), None, "{theirs:#}");
        for end in ["sender", "receiver"] {
            let used = &theirs["end"][format!("{end}_tcp_congestion")];
            assert_eq!(used, "reno", "{theirs:#}");
        }
        number(&theirs, "/end/sum_sent/retransmits");
    }
}

#[test]
fn what_our_server_cannot_grant_is_said() {
    let mut server = wirelab_iperf::v3::Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.local_addr();
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        scope.spawn(|| server.serve_one(&cancel));
        let _over = Over(cancel.flag());
        let asked = Parameters {
            congestion: Some("nonesuch".to_owned()),
            ..brief()
        };
        let error = v3_common::ask(address, asked).unwrap_err().to_string();
        assert!(
            error.contains("does not have that congestion control (iperf3 error 134); fix: "),
            "{error}"
        );
    });
}
