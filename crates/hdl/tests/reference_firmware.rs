//! The firmware of the reference node on its model, in each attachment of its MAC: it starts, answers, sends every
//! byte back, and its capture unit shows the Zynq document's findings.

use crate::firmware;
use crate::firmware::Bench;
use wirelab_control::value::UnitPoint;
use wirelab_hdl::reference::{Attachment, Straps};

const ATTACHMENTS: [Attachment; 3] = [
    Attachment::LiteDevice,
    Attachment::LiteOrdered,
    Attachment::Dma,
];
const LENGTHS: [u32; 3] = [64, 256, 1024];
/// In the order of all units' records.
const POINTS: [UnitPoint; 6] = [
    UnitPoint::InInterrupt,
    UnitPoint::InDriver,
    UnitPoint::InApplication,
    UnitPoint::OutApplication,
    UnitPoint::OutDriver,
    UnitPoint::OutMac,
];

/// Runs `work` with a node of each attachment, if there is an image.
fn each(mut work: impl FnMut(Attachment, &mut Bench)) {
    for attachment in ATTACHMENTS {
        let Some(mut bench) = Bench::start(Straps::new(attachment)) else {
            return;
        };
        work(attachment, &mut bench);
        assert!(!bench.node().has_strayed());
        assert_eq!(bench.node().exit_status(), None);
        let said = bench.control.transport().console();
        assert!(!said.contains("FAULT"), "{said}");
    }
}

#[test]
fn it_comes_up_and_says_what_it_is() {
    each(|attachment, bench| {
        let said = bench.control.transport().console();
        assert_eq!(
            said,
            "READY name=reference mac=02:00:0a:37:00:02 ip=10.55.0.2\n"
        );
        assert_eq!(bench.control.identity().name, "reference");
        let setup = bench.control.setup().unwrap();
        let key = |name: &str| setup.iter().find(|(key, _)| key == name).unwrap().1.clone();
        let interface = match attachment {
            Attachment::LiteDevice => "slot MAC, posted writes",
            Attachment::LiteOrdered => "slot MAC, every access answered",
            Attachment::Dma => "ring MAC",
        };
        assert_eq!(key("interface"), interface);
        let straps = Straps::new(attachment);
        let waits = format!("{}/{}", straps.read_clocks, straps.write_clocks);
        assert_eq!(key("wait_states"), waits);
        println!(
            "{attachment:?}: ready after {} clocks",
            bench.node().clocks()
        );
    });
}

#[test]
fn every_byte_comes_back() {
    each(|_, bench| {
        bench.resolve();
        let lengths = [64, 65, 66, 67, 68, 255, 256, 1024, 1514];
        bench.echoes(&lengths.repeat(2), None, false);
    });
}

/// DMA clocks for each word of a frame to the memory.
const IN_CLOCKS_A_WORD: f64 = 2.0;
/// The same from the memory: the driver waits meanwhile, and after each third word one of its reads of the descriptor
/// has priority (`polls` of nodes/reference-dma.toml).
const OUT_CLOCKS_A_WORD: f64 = 2.0 + 2.0 / 3.0;
/// Clocks of a line that the instruction cache fetches.
const LINE_CLOCKS: f64 = 13.0;

/// The MAC's own time at each of [`LENGTHS`]: with slots it varies by two clocks, with DMA it grows by this for each
/// word (Figures 3 and 8). It may be later by `late` clocks, depending on what the program did before.
fn assert_alone(attachment: Attachment, means: [f64; 3], clocks_a_word: f64, late: f64) {
    const MOST_CLOCKS: f64 = 2.0;
    const MOST_CLOCKS_A_WORD: f64 = 0.2;
    if attachment != Attachment::Dma {
        let most = means.into_iter().fold(f64::MIN, f64::max);
        let least = means.into_iter().fold(f64::MAX, f64::min);
        assert!(most - least <= MOST_CLOCKS + late, "{means:?}");
        return;
    }
    for at in 1..LENGTHS.len() {
        let words = f64::from(LENGTHS[at] - LENGTHS[at - 1]) / 4.0;
        let off = (means[at] - means[at - 1]) / words - clocks_a_word;
        assert!(off.abs() <= MOST_CLOCKS_A_WORD + late / words, "{means:?}");
    }
}

#[test]
fn an_interrupt_and_a_start_are_independent_of_the_size_with_slots_and_grow_by_the_word_with_dma() {
    // A start waits for the line's next byte, one to eight clocks, so the mean of this many frames is exact to half a
    // clock.
    const EACH: usize = 24;
    each(|attachment, bench| {
        bench.resolve();
        let lengths = LENGTHS.iter().flat_map(|&length| [length; EACH]);
        let sent: Vec<u32> = std::iter::once(LENGTHS[0]).chain(lengths).collect();
        let points = bench.all_points(&sent);
        let [interrupt, start] = [0, 5].map(|point: usize| means_of_each(&points[point], EACH));
        println!("{attachment:?}: interrupt {interrupt:.2?}, start {start:.2?} clocks");
        assert_alone(attachment, interrupt, IN_CLOCKS_A_WORD, 0.0);
        assert_alone(attachment, start, OUT_CLOCKS_A_WORD, 0.0);
    });
}

/// The means of a point's counts for each of some lengths, in clocks of 10 ns.
fn means<const N: usize>(
    bench: &mut Bench,
    lengths: [u32; N],
    point: UnitPoint,
    fast: bool,
) -> [f64; N] {
    const EACH: usize = 8;
    // The first frame waits for the instruction cache, after the control lines.
    let mut sent = vec![lengths[0]];
    sent.extend(lengths.iter().flat_map(|&length| [length; EACH]));
    let counts = bench.echoes(&sent, Some(point), fast);
    let sequences = counts.iter().map(|(sequence, _)| *sequence);
    assert!(sequences.eq(0..sent.len() as u32), "{counts:?}");
    means_of_each(&counts, EACH)
}

/// The means of consecutive groups of counts, each without its first.
fn means_of_each<const N: usize>(counts: &[(u32, u64)], each: usize) -> [f64; N] {
    let mut of_each = counts[1..].chunks_exact(each);
    std::array::from_fn(|_| {
        let counts = of_each.next().expect("there is a record for each frame");
        counts.iter().map(|(_, count)| *count as f64).sum::<f64>() / each as f64
    })
}

#[test]
fn each_point_shows_what_the_zynq_document_found() {
    let mut slowest = Vec::new();
    each(|attachment, bench| {
        bench.resolve();
        let [interrupt, driver, application, call, copy, start] = POINTS.map(|point| {
            let clocks = means(bench, LENGTHS, point, false);
            println!("{attachment:?} {point:?}: {clocks:.0?} clocks at 64, 256 and 1024 bytes");
            clocks
        });
        assert_alone(attachment, interrupt, IN_CLOCKS_A_WORD, LINE_CLOCKS);
        assert_alone(attachment, start, OUT_CLOCKS_A_WORD, LINE_CLOCKS);
        // A copy has a cost for each byte (Figures 4 and 7).
        for linear in [driver, copy] {
            let (few, many) = (
                (linear[1] - linear[0]) / 192.0,
                (linear[2] - linear[1]) / 768.0,
            );
            assert!(few > 0.0 && (many / few - 1.0).abs() < 0.1, "{linear:?}");
        }
        for at in 0..LENGTHS.len() {
            assert!(interrupt[at] < driver[at] && driver[at] < application[at]);
            assert!(start[at] < copy[at] && copy[at] < call[at]);
        }
        slowest.push((driver[2], copy[2]));
    });
    // A bus that waits for each access (section II: 35 against 7.73 us).
    if let [posted, ordered, _] = slowest[..] {
        assert!(
            ordered.0 > 1.5 * posted.0 && ordered.1 > 1.5 * posted.1,
            "{slowest:?}"
        );
    }
}

#[test]
fn points_taken_together_have_the_writes_of_earlier_ones_and_nothing_else() {
    const FRAMES: usize = 9;
    let Some(mut bench) = Bench::start(Straps::new(Attachment::LiteDevice)) else {
        return;
    };
    bench.resolve();
    let mean = |counts: &[(u32, u64)]| {
        assert_eq!(counts.len(), FRAMES, "{counts:?}");
        counts[1..].iter().map(|(_, count)| *count).sum::<u64>() as f64 / (FRAMES - 1) as f64
    };
    let together = bench.all_points(&[64; FRAMES]).map(|counts| mean(&counts));
    let alone = POINTS.map(|point| mean(&bench.echoes(&[64; FRAMES], Some(point), false)));
    println!("together {together:.1?}, alone {alone:.1?} clocks");
    // A write, and sometimes another line of the instruction cache.
    const MOST_CLOCKS: f64 = 40.0;
    for (together, alone) in together.iter().zip(alone) {
        assert!((together - alone).abs() < MOST_CLOCKS, "{together} {alone}");
    }
}

#[test]
fn the_fast_track_takes_half_of_the_stacks_way() {
    each(|attachment, bench| {
        bench.resolve();
        let [[stack], [fast]] =
            [false, true].map(|fast| means(bench, [64], UnitPoint::InApplication, fast));
        println!("{attachment:?}: {fast:.0} of {stack:.0} clocks");
        // The linker's placement of a function changes this by some lines of the instruction cache in either
        // direction.
        assert!(fast <= 0.51 * stack, "{fast} of {stack}");
    });
}

#[test]
fn generator_and_checker_of_port_1_are_set_up_through_their_drivers() {
    let straps = Straps {
        loopback_1: true,
        ..Straps::new(Attachment::LiteDevice)
    };
    let Some(mut link) = firmware::start(straps, "reference-port.elf") else {
        return;
    };
    assert_eq!(link.console(), "READY name=reference-port\n");
    let mut told = |request: &[u8]| {
        let known_bytes = link.console().len();
        link.node.uart_write(request);
        firmware::next_line(&mut link, known_bytes)
    };
    let counts = |text: &str| -> Vec<u64> {
        let words = text
            .split_whitespace()
            .map(|word| word.split_once('=').unwrap().1);
        words.map(|number| number.parse().unwrap()).collect()
    };
    // sent, sequences, good, lost, corrupted, bad FCS, verified bytes; and clocks.
    let whole = counts(&told(b"1498 50 0\n"));
    assert_eq!(whole[..7], [50, 50, 50, 0, 0, 0, 50 * 1498]);
    // One byte for each clock: payload, 14 of header, 4 of FCS, 8 of preamble and 12 of gap. The run ends within the
    // last frame.
    assert!((49 * 1536..51 * 1536).contains(&whole[7]), "{whole:?}");
    let dropped = counts(&told(b"46 20 8\n"));
    assert_eq!(dropped[..7], [18, 20, 18, 2, 0, 0, 18 * 46]);
    assert_eq!(told(b"45 5 0\n"), "REFUSED\n");
}
