//! iperf3 over links that lose, repeat and swap packets, against the distribution's binary: what the impairer did is
//! what is counted, in both roles and both directions.
//!
//! ```text
//! server = A-node/n0 ── A-tester/t0 <─ impairer ─> B-tester/t0 ── B-node/n0 = client
//! ```

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::v3_common::real::{number, there_is_iperf3};
use crate::v3_common::{ask, bytes, tcp, told_bytes};
use serde_json::Value;
use wirelab_impair::{
    DirectionReport, DirectionSpec, FramesHit, ImpairHandle, ImpairSpec, Impairer,
};
use wirelab_iperf::v3::{Parameters, Server, TestOutcome};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::{self, NetNs};
use wirelab_trial::Cancel;

const SERVER: &str = "198.18.0.1";
const SERVER_IPV6: &str = "fd57:4c::1";
const IPV4: u16 = 0x0800;
/// Numbers of packets that are all datagrams of the test: what opens it is over by then, and it is not near its end.
const DROPPED: [u64; 7] = [120, 150, 151, 152, 200, 260, 300];

struct Bench {
    labs: [EphemeralLab; 2],
    server: NetNs,
    client: NetNs,
    ip: &'static str,
}

impl Bench {
    /// Two labs with a cable between them; `None` where the test must be skipped.
    fn new() -> Option<Bench> {
        if !netns::may_test() {
            return None;
        }
        if !there_is_iperf3() {
            return None;
        }
        let labs =
            ["wl3a", "wl3b"].map(|name| EphemeralLab::up(&LabSpec::unique(name, 1)).unwrap());
        let [server, client] = [0, 1].map(|at: usize| labs[at].netns(Side::Node).unwrap());
        for args in [
            &["flush", "dev", "n0"][..],
            &["add", "198.18.0.3/24", "dev", "n0"],
        ] {
            let status = Command::new("ip")
                .args(["-n", client.name().unwrap(), "address"])
                .args(args)
                .status();
            assert!(status.unwrap().success());
        }
        Some(Bench {
            labs,
            server,
            client,
            ip: SERVER,
        })
    }

    /// The same with IPv6, which a lab leaves out.
    fn over_ipv6(mut self) -> Bench {
        for (place, address) in [
            (&self.server, "fd57:4c::1/64"),
            (&self.client, "fd57:4c::3/64"),
        ] {
            let on = |which: &str| format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
            let work = || ["all", "n0"].map(|which| std::fs::write(on(which), "0").unwrap());
            place.run_in(work).unwrap();
            let status = Command::new("ip")
                .args(["-n", place.name().unwrap(), "-6", "address", "add", address])
                .args(["dev", "n0", "nodad"])
                .status();
            assert!(status.unwrap().success());
        }
        self.ip = SERVER_IPV6;
        self
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::new(self.ip.parse().unwrap(), 5201)
    }

    /// `forward` is from the client to the server.
    fn impair(&self, forward: DirectionSpec, backward: DirectionSpec) -> ImpairHandle {
        let mut spec = ImpairSpec::new(3).only_ethertype(IPV4);
        (spec.forward, spec.backward) = (forward, backward);
        let [a, b] = [0, 1].map(|at: usize| self.labs[at].port(0, Side::Tester).unwrap());
        Impairer::start(&b, &a, spec).unwrap()
    }

    fn real_server(&self) -> Real {
        let mut command = Command::new("iperf3");
        command.args(["-s", "--forceflush"]).stdout(Stdio::piped());
        let mut child = self.server.spawn(&mut command).unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let listens = lines
            .map_while(Result::ok)
            .any(|line| line.contains("Server listening"));
        assert!(listens);
        Real(child)
    }

    fn ask(&self, parameters: Parameters) -> TestOutcome {
        let server = self.address();
        let outcome = self.client.run_in(|| ask(server, parameters)).unwrap();
        outcome.unwrap()
    }

    /// Our server and the real client: what each says.
    fn serve_real(&self, options: &[&str]) -> (TestOutcome, Value) {
        let bind = || Server::bind(self.address());
        let mut server = self.server.run_in(bind).unwrap().unwrap();
        let mut command = Command::new("iperf3");
        command.args(["-c", self.ip, "-J"]).args(options);
        let child = self.client.spawn(command.stdout(Stdio::piped())).unwrap();
        let work = || server.serve_one(&Cancel::new());
        let outcome = self.server.run_in(work).unwrap().unwrap();
        let printed = child.wait_with_output().unwrap().stdout;
        (outcome, serde_json::from_slice(&printed).unwrap())
    }
}

/// A real server, killed at the end.
struct Real(Child);

impl Drop for Real {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn drops() -> DirectionSpec {
    DirectionSpec {
        drop: FramesHit::Frames(DROPPED.to_vec()),
        ..DirectionSpec::default()
    }
}

/// 600 datagrams a stream in 1.5 s.
fn datagrams() -> Parameters {
    Parameters {
        seconds: 0,
        blocks: 600,
        length_bytes: 500,
        rate_bit_s: 1_600_000,
        ..Parameters::udp()
    }
}

const OPTIONS: [&str; 7] = ["-u", "-k", "600", "-l", "500", "-b", "1.6M"];

fn dropped(report: &DirectionReport) -> u64 {
    assert!(report.is_complete(), "{report:?}");
    report.dropped_frames
}

/// Losses in our own count, which must agree with what was sent.
fn lost(outcome: &TestOutcome) -> u64 {
    assert_eq!(outcome.failure, None);
    let streams = outcome.streams.iter().filter(|s| !s.ends.sender);
    let each = streams.map(|stream| {
        let seen = stream.counted.received;
        assert_eq!(seen.distinct + seen.lost, seen.peer_packets, "{seen:?}");
        seen.lost
    });
    each.sum()
}

#[test]
fn losses_are_those_of_the_impairer() {
    let Some(bench) = Bench::new() else { return };
    let all = DROPPED.len() as u64;
    let run = bench.impair(drops(), DirectionSpec::default());
    let (ours, theirs) = bench.serve_real(&OPTIONS);
    assert_eq!((dropped(&run.stop().forward), lost(&ours)), (all, all));
    assert_eq!(number(&theirs, "/end/sum/lost_packets") as u64, all);

    let run = bench.impair(DirectionSpec::default(), drops());
    let (_, theirs) = bench.serve_real(&[&OPTIONS[..], &["-R"]].concat());
    assert_eq!(dropped(&run.stop().backward), all);
    assert_eq!(number(&theirs, "/end/sum/lost_packets") as u64, all);

    let real = bench.real_server();
    let run = bench.impair(drops(), DirectionSpec::default());
    let outcome = bench.ask(datagrams());
    assert_eq!(dropped(&run.stop().forward), all);
    let told = outcome.peer_results.unwrap();
    assert_eq!(
        (told.streams[0].errors, told.streams[0].packets),
        (all, 600)
    );
    drop(real);

    let _real = bench.real_server();
    let run = bench.impair(DirectionSpec::default(), drops());
    let outcome = bench.ask(Parameters {
        reverse: true,
        ..datagrams()
    });
    assert_eq!((dropped(&run.stop().backward), lost(&outcome)), (all, all));
}

#[test]
fn losses_in_both_directions_and_of_several_streams() {
    let Some(bench) = Bench::new() else { return };
    let all = DROPPED.len() as u64;
    let _real = bench.real_server();
    let run = bench.impair(drops(), drops());
    let outcome = bench.ask(Parameters {
        bidirectional: true,
        streams: 2,
        blocks: 1200,
        ..datagrams()
    });
    let report = run.stop();
    assert_eq!((dropped(&report.backward), lost(&outcome)), (all, all));
    let told = outcome.peer_results.as_ref().unwrap();
    let sent = outcome.streams.iter().filter(|s| s.ends.sender);
    let errors: u64 = sent.map(|s| told.stream(s.ends.id).unwrap().errors).sum();
    assert_eq!((dropped(&report.forward), errors), (all, all));

    let run = bench.impair(drops(), drops());
    let more = ["--bidir", "-P", "2", "-k", "1200"];
    drop(_real);
    let (ours, theirs) = bench.serve_real(&[&OPTIONS[..], &more].concat());
    let report = run.stop();
    assert_eq!((dropped(&report.forward), lost(&ours)), (all, all));
    let theirs = number(&theirs, "/end/sum_bidir_reverse/lost_packets") as u64;
    assert_eq!((dropped(&report.backward), theirs), (all, all));
}

#[test]
fn duplicates_hide_no_loss_from_us() {
    let Some(bench) = Bench::new() else { return };
    let forward = DirectionSpec {
        duplicate: FramesHit::Frames(vec![130, 170, 171]),
        swap: FramesHit::Frames(vec![180, 220]),
        ..drops()
    };
    let run = bench.impair(forward, DirectionSpec::default());
    let (ours, theirs) = bench.serve_real(&OPTIONS);
    let report = run.stop().forward;
    let seen = ours.streams[0].counted.received;
    let all = DROPPED.len() as u64;
    assert_eq!((dropped(&report), lost(&ours)), (all, all));
    assert_eq!((seen.duplicated, seen.reordered), (3, 2));
    assert_eq!((report.duplicated_frames, report.swapped_frames), (3, 2));
    // iperf3's arithmetic takes each duplicate from the losses, and its client shows the reported value.
    assert_eq!((seen.peer_lost, seen.peer_out_of_order), (all - 3, 5));
    assert_eq!(number(&theirs, "/end/sum/lost_packets") as u64, all - 3);
}

#[test]
fn tcp_over_a_link_that_loses() {
    let Some(bench) = Bench::new() else { return };
    let lossy = DirectionSpec {
        drop: FramesHit::Every(200),
        ..DirectionSpec::default()
    };
    let run = bench.impair(lossy.clone(), lossy);
    let amount = Parameters {
        seconds: 0,
        bytes: 1 << 20,
        length_bytes: 8192,
        streams: 2,
        ..tcp()
    };
    let real = bench.real_server();
    for (reverse, bidirectional) in [(false, false), (false, true), (true, false)] {
        let outcome = bench.ask(Parameters {
            reverse,
            bidirectional,
            ..amount.clone()
        });
        assert!(bytes(&outcome) >= 1 << 20 && told_bytes(&outcome) > 0);
        // The server listens again soon after the end of a test.
        thread::sleep(Duration::from_millis(500));
    }
    drop(real);
    for more in [&[][..], &["-R"], &["--bidir"]] {
        let options = [&["-n", "1M", "-l", "8K", "-P", "2"][..], more].concat();
        let (ours, theirs) = bench.serve_real(&options);
        assert_eq!(theirs.get("error"), None, "{options:?}");
        assert!(
            bytes(&ours) >= 1 << 20 && told_bytes(&ours) > 0,
            "{options:?}"
        );
    }
    assert!(run.stop().forward.dropped_frames > 0);
}

#[test]
fn a_cable_that_is_cut_keeps_what_was_measured() {
    let Some(bench) = Bench::new() else { return };
    let _real = bench.real_server();
    let run = bench.impair(DirectionSpec::default(), DirectionSpec::default());
    let outcome = thread::scope(|scope| {
        let asked = Parameters {
            seconds: 3,
            blocks: 0,
            ..datagrams()
        };
        let client = scope.spawn(|| bench.ask(asked));
        while run.received_frames()[0] < 300 {
            thread::sleep(Duration::from_millis(10));
        }
        drop(run);
        client.join().unwrap()
    });
    let why = outcome.failure.unwrap();
    assert!(why.contains("sent nothing for 10 s"), "{why}");
    assert!(outcome.streams[0].counted.packets > 250);
    assert!(!outcome.intervals.is_empty() && outcome.peer_results.is_none());
}

#[test]
fn over_ipv6() {
    let Some(bench) = Bench::new().map(Bench::over_ipv6) else {
        return;
    };
    let _run = bench.impair(DirectionSpec::default(), DirectionSpec::default());
    let brief = [&OPTIONS[..], &["-k", "200"]].concat();
    for options in [&["-n", "1M"][..], &["-n", "1M", "-R"], &brief] {
        let (ours, theirs) = bench.serve_real(options);
        assert_eq!(
            (ours.failure, theirs.get("error")),
            (None, None),
            "{options:?}"
        );
    }
    let _real = bench.real_server();
    let outcome = bench.ask(Parameters {
        bidirectional: true,
        ..datagrams()
    });
    assert_eq!(lost(&outcome), 0);
    assert!(told_bytes(&outcome) > 0);
}
