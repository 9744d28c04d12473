//! The firmware of the reference node on its model, in each attachment of its MAC: it comes up, answers, sends every byte
//! back, and its capture unit shows what the Zynq document found.

mod firmware;

use firmware::Bench;
use wirelab_control::value::UnitPoint;
use wirelab_hdl::reference::{Attachment, Straps};

const ATTACHMENTS: [Attachment; 2] = [Attachment::LiteDevice, Attachment::LiteOrdered];
const LENGTHS: [u32; 3] = [64, 256, 1024];

/// Do something with a node of each attachment, where there is an image.
fn each(mut work: impl FnMut(Attachment, &mut Bench)) {
    for attachment in ATTACHMENTS {
        let Some(mut bench) = Bench::start(Straps::new(attachment)) else {
            return;
        };
        work(attachment, &mut bench);
        assert!(!bench.node().has_strayed());
        assert_eq!(bench.node().exit_status(), None);
        let said = &bench.control.transport().console;
        assert!(!said.contains("FAULT"), "{said}");
    }
}

#[test]
fn it_comes_up_and_says_what_it_is() {
    each(|attachment, bench| {
        let said = &bench.control.transport().console;
        assert_eq!(said, "READY name=reference mac=02:00:0a:37:00:02 ip=10.55.0.2\n");
        assert_eq!(bench.control.identity().name, "reference");
        let setup = bench.control.setup().unwrap();
        let key = |name: &str| setup.iter().find(|(key, _)| key == name).unwrap().1.clone();
        let expected = match attachment {
            Attachment::LiteDevice => ("slot MAC, posted writes", "5/3"),
            Attachment::LiteOrdered => ("slot MAC, every access answered", "17/18"),
            Attachment::Dma => ("ring MAC", "5/3"),
        };
        assert_eq!((&*key("interface"), &*key("wait_states")), expected);
        println!("{attachment:?}: ready after {} clocks", bench.node().clocks());
    });
}

#[test]
fn every_byte_comes_back() {
    each(|_, bench| {
        bench.resolve();
        for length in [64, 65, 66, 67, 68, 255, 256, 1024, 1514] {
            bench.echoes(length, 3, None, false);
        }
    });
}

fn mean(counts: &[(u32, u64)]) -> f64 {
    counts.iter().map(|(_, count)| *count as f64).sum::<f64>() / counts.len() as f64
}

#[test]
fn the_capture_unit_takes_each_point() {
    let points = [
        UnitPoint::InInterrupt,
        UnitPoint::InDriver,
        UnitPoint::InApplication,
        UnitPoint::OutApplication,
        UnitPoint::OutDriver,
        UnitPoint::OutMac,
    ];
    each(|attachment, bench| {
        bench.resolve();
        for point in points {
            let means: Vec<f64> = LENGTHS
                .iter()
                .map(|&length| {
                    let counts = bench.echoes(length, 16, Some(point), false);
                    assert_eq!(counts.len(), 16);
                    mean(&counts) / 100.0
                })
                .collect();
            println!("{attachment:?} {point:?}: {means:.2?} us");
        }
    });
}
