//! CPU load of a trial in the protocol: its window, its baseline, and when it is shared.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{Bench, offer, skip, start};
use crate::over::Over;
use wirelab_agent::{Options, Serving};
use wirelab_control::client::ClientError;
use wirelab_control::refusal::Code;
use wirelab_control::transport::UdpTransport;
use wirelab_control::value::State;
use wirelab_control::{Client, PORT};
use wirelab_cores::{allowed, pin_thread};
use wirelab_socket::flow::FlowProgress;
use wirelab_trial::job::Pace;
use wirelab_trial::{Cancel, Direction};
use wirelab_wire::Layer;

/// Offer 100 frames/s for this long.
fn trickle(bench: &mut Bench, time: Duration) -> u32 {
    let frames = time.as_millis() as u64 / 10;
    let started = bench
        .client
        .start(start(Layer::UdpIpv4, Direction::Receive, frames))
        .unwrap();
    let to = SocketAddr::new(bench.node_ip, started.node_port.unwrap());
    let socket = bench.socket();
    socket.connect(to).unwrap();
    let mut slow = offer(frames);
    slow.pace = Pace::Interval { ps: 10_000_000_000 };
    wirelab_socket::udp::send(&socket, &slow, &FlowProgress::default(), &Cancel::new()).unwrap();
    assert_eq!(bench.ended(started.trial).state, State::Done);
    started.trial
}

#[test]
fn a_spinner_on_the_nodes_core_is_in_the_nodes_load() {
    let cores = allowed().unwrap();
    if cores.numbers().len() < 2 {
        return skip("two-cores", "node and tester need a core each");
    }
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let node = bench.node.as_ref().unwrap().started().clone();
    assert_eq!(
        node.cores.numbers(),
        &cores.numbers()[cores.numbers().len() - 1..]
    );
    assert!(!node.shared, "{:?}", node.notices);
    // The baseline needs some time before the trial.
    std::thread::sleep(Duration::from_millis(600));
    let over = AtomicBool::new(false);
    let (trial, load) = std::thread::scope(|scope| {
        scope.spawn(|| {
            pin_thread(&node.cores).unwrap();
            while !over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        // The spinner ends however the trial does: the scope waits for it.
        let _over = Over(&over);
        let trial = trickle(&mut bench, Duration::from_millis(2000));
        (trial, bench.client.load(trial, 0).unwrap())
    });
    let ratio = load.busy_ticks as f64 / load.window_ticks as f64;
    assert!(
        ratio > 0.97,
        "a core that never rests was busy for {ratio:.3} of the time"
    );
    assert!(!load.shared);
    assert_eq!((load.cores, load.tick_ps), (1, Some(1000)));
    let from = bench.counter(trial, "received_first_ns");
    let to = bench.counter(trial, "received_last_ns");
    assert!(
        load.window_ticks <= to - from,
        "only the trial is in the window"
    );
    // At least half of it, even where readings come late.
    assert!(
        load.window_ticks >= (to - from) / 2,
        "{} of {}",
        load.window_ticks,
        to - from
    );
    // In its course it never rested either.
    let told = bench.client.counters(trial, 0).unwrap();
    let slices = (0..).map_while(|at| {
        let of = |what: &str| told.get(&format!("load_{what}.{at:02}")).copied();
        Some((of("ns")?, of("busy_ns")?))
    });
    let slices: Vec<(u64, u64)> = slices.collect();
    assert!(slices.len() >= 3, "{slices:?}");
    let sum = |of: fn(&(u64, u64)) -> u64| slices.iter().map(of).sum::<u64>();
    assert!(
        sum(|s| s.1) as f64 > 0.9 * sum(|s| s.0) as f64,
        "{slices:?}"
    );
    assert!(bench.counter(trial, "load_from_ns") + sum(|s| s.0) <= to - from);
    let (idle, window) = (
        load.idle_busy_ticks.unwrap(),
        load.idle_window_ticks.unwrap(),
    );
    assert!(idle <= window && window <= load.window_ticks + 400_000_000);
    let refused = bench.client.load(trial, 1).unwrap_err();
    assert!(matches!(refused, ClientError::Refused { refusal, .. } if refusal.code == Code::Limit));
}

#[test]
fn a_trial_too_short_for_a_share_has_no_load() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let trial = trickle(&mut bench, Duration::from_millis(50));
    let refused = bench.client.load(trial, 0).unwrap_err();
    let ClientError::Refused { refusal, .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!(refusal.code, Code::Unsupported);
    assert!(refusal.why.unwrap().contains("too short"));
}

#[test]
fn over_the_loopback_the_load_is_shared_and_the_node_says_so() {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut options = Options::on(address);
    options.iperf = false;
    let node = Serving::start(options).unwrap();
    assert!(node.started().shared);
    assert!(
        node.started()
            .notices
            .iter()
            .any(|n| n.contains("loopback"))
    );
    assert_ne!(node.started().control.port(), PORT);
    let transport = UdpTransport::connect(node.started().control).unwrap();
    let mut client = Client::open(transport, Default::default()).unwrap();
    let setup = client.setup().unwrap();
    let get = |key: &str| setup.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
    assert_eq!(get("host"), wirelab_cores::host_id());
    assert_eq!(get("cpus"), Some(node.started().cores.to_string()));
    assert_eq!(get("ip").as_deref(), Some("127.0.0.1"));
    assert!(get("stack").unwrap().starts_with("Linux "));
    assert_eq!(get("mac"), None, "the loopback has none");
}
