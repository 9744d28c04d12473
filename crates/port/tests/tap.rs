//! A TAP device between user space and the kernel, with the portable path on the kernel's side.

use std::time::Duration;

use crate::rig;
use crate::rig::{DRAIN, job, spec};
use wirelab_port::iface::{Interface, Mac, PortName};
use wirelab_port::job::{CheckJob, Pace, SendJob};
use wirelab_port::netns::NetNs;
use wirelab_port::netns::may_test;
use wirelab_port::packet::{CheckOptions, Checker, SendOptions, send};
use wirelab_port::tap::{TapError, TapPort, TapSpec};
use wirelab_trial::Cancel;
use wirelab_wire::{Flow, Verdict, classify};

#[test]
fn a_tap_carries_frames_in_both_directions() {
    if !may_test() || !rig::tap_here() {
        return;
    }
    let name = format!("wlt-tap-{}", std::process::id());
    NetNs::create(&name).unwrap();
    let _gone = rig::Namespace(name.clone());
    let port = PortName::new(Some(&name), "tap0").unwrap();
    let mac = Mac([2, 0x57, 0x4C, 0, 0, 7]);
    let wanted = TapSpec {
        mac: Some(mac),
        mtu: 9000,
        ..TapSpec::new(port.clone())
    };
    let tap = TapPort::create(&wanted).unwrap();
    assert!(matches!(
        TapPort::create(&wanted),
        Err(TapError::Exists { .. })
    ));
    rig::until("the tap runs", || {
        let found = Interface::query(&port).unwrap();
        assert_eq!((found.mac, found.mtu), (mac, 9000));
        found.up && found.carrier
    });
    let spec = spec(mac.0, [2, 0x57, 0x4C, 0, 0, 8]);
    let check = CheckJob {
        flow: Flow {
            source: Some(spec.source),
            ..Flow::default()
        },
        slots: None,
        time_every: 1,
    };
    // From user space into the kernel.
    let checker = Checker::start(&port, &check, CheckOptions::default()).unwrap();
    for n in 0..500 {
        tap.write_frame(&rig::built(&spec, 9018, n)).unwrap();
    }
    let seen = checker.finish(DRAIN).unwrap().with_sent(500);
    assert!(
        seen.counts.is_clean() && seen.counts.good_frames == 500,
        "{seen:?}"
    );
    // From the kernel to user space, paced, because the device's queue holds only 1000 frames.
    let job = SendJob {
        pace: Pace::Interval { ps: 100_000_000 },
        ..job(spec, 1518, 500)
    };
    let mut good = 0;
    std::thread::scope(|scope| {
        let sender =
            scope.spawn(|| send(&port, &job, &SendOptions::default(), &Cancel::new()).unwrap());
        let mut buffer = vec![0; 10_000];
        while let Some(length) = tap
            .read_frame(&mut buffer, Some(Duration::from_secs(2)))
            .unwrap()
        {
            if let Verdict::Good(h) = classify(&buffer[..length], &check.flow) {
                assert_eq!(h.sequence, good);
                good += 1;
                if good == 500 {
                    break;
                }
            }
        }
        assert_eq!(sender.join().unwrap().kernel_copied, Some(true));
    });
    assert_eq!(good, 500);
    drop(tap);
    assert!(
        Interface::query(&port).is_err(),
        "the interface goes with its descriptor"
    );
}

#[test]
fn a_tap_has_the_ip_address_and_the_queue_that_were_asked() {
    if !may_test() || !rig::tap_here() {
        return;
    }
    let name = format!("wlt-tap-ip-{}", std::process::id());
    let namespace = NetNs::create(&name).unwrap();
    let _gone = rig::Namespace(name.clone());
    let wanted = TapSpec {
        address: Some([10, 55, 3, 1].into()),
        queue_frames: Some(4321),
        ..TapSpec::new(PortName::new(Some(&name), "tap0").unwrap())
    };
    let _tap = TapPort::create(&wanted).unwrap();
    let shown = namespace
        .run_in(|| {
            std::process::Command::new("ip")
                .args(["addr", "show", "tap0"])
                .output()
        })
        .unwrap()
        .unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("inet 10.55.3.1/24"), "{shown}");
    assert!(shown.contains("qlen 4321"), "{shown}");
}
