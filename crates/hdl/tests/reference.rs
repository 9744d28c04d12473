//! The reference node with a small program: it boots, prints, echoes frames, and has the clocks of its straps.

use std::collections::HashMap;

use wirelab_hdl::GmiiSignals;
use wirelab_hdl::reference::{
    Attachment, CLOCKS_PER_BYTE, CPU_TURN_CLOCKS, REFERENCE_CLOCK_PS, Reference, Straps, TimedFrame,
};
use wirelab_wire::fcs;

use crate::smoke;

const NODE: [u8; 6] = [0x02, 0, 0x5E, 0x10, 0, 1];
const TESTER: [u8; 6] = [0x02, 0, 0x5E, 0x10, 0, 2];
const PATIENCE_CLOCKS: u64 = 200_000;

/// A node that has printed READY, if its program can be compiled here.
fn started(straps: Straps) -> Option<(Reference, String)> {
    let mut node = Reference::new(straps);
    node.load(&smoke::program()?).unwrap();
    let hello = line_of(&mut node);
    assert!(hello.ends_with("READY\n"), "{hello}");
    Some((node, hello))
}

/// The next line of the node.
fn line_of(node: &mut Reference) -> String {
    assert!(
        node.run_until(PATIENCE_CLOCKS, |it| it.uart_waiting().contains(&b'\n')),
        "the node says nothing; so far: {:?}",
        String::from_utf8(node.uart_read())
    );
    String::from_utf8(node.uart_read()).unwrap()
}

/// The node's reply, as name and value of each number.
fn asked(node: &mut Reference, question: u8) -> Vec<(String, u32)> {
    node.uart_write(&[question]);
    line_of(node)
        .split_whitespace()
        .map(|word| {
            let (name, value) = word.split_once('=').unwrap();
            (name.to_owned(), u32::from_str_radix(value, 16).unwrap())
        })
        .collect()
}

/// A frame from one address to the other with its own payload, and its FCS.
fn frame(destination: [u8; 6], source: [u8; 6], payload: usize, first: u8) -> Vec<u8> {
    let mut bytes = [destination, source].concat();
    bytes.extend([0x88, 0xB5]);
    bytes.extend((0..payload).map(|at| first.wrapping_add(at as u8)));
    let fcs = fcs::fcs(&bytes);
    bytes.extend(fcs);
    bytes
}

/// The next frame of the node.
fn echoed(node: &mut Reference) -> TimedFrame {
    assert!(
        node.run_until(PATIENCE_CLOCKS, |it| it.sent_frames() > 0),
        "no frame came back"
    );
    node.take_sent().unwrap()
}

const ALL: [Attachment; 3] = [
    Attachment::LiteDevice,
    Attachment::LiteOrdered,
    Attachment::Dma,
];

#[test]
fn the_program_starts_and_sees_its_straps() {
    let straps = Straps {
        fast_track: true,
        loopback_1: true,
        read_clocks: 17,
        write_clocks: 18,
        attachment: Attachment::LiteOrdered,
    };
    let Some((_, hello)) = started(straps) else {
        return;
    };
    // WR and the version; attachment 1 with both bits; the wait states.
    assert_eq!(hello, "id=57520001 straps=00000031 waits=00001211 READY\n");
}

#[test]
fn frames_come_back_whole_through_slots_and_rings() {
    for attachment in ALL {
        let Some((mut node, _)) = started(Straps::new(attachment)) else {
            return;
        };
        for (number, payload) in [46, 50, 51, 52, 53, 242, 1010, 1500]
            .into_iter()
            .enumerate()
        {
            node.send(&frame(NODE, TESTER, payload, number as u8));
            let back = echoed(&mut node);
            assert_eq!(back.bytes, frame(TESTER, NODE, payload, number as u8));
            assert!(!back.marked);
            let line_bytes = (payload + 14 + 4 + 8) as u64;
            assert_eq!(
                back.end_ps - back.start_ps,
                line_bytes * CLOCKS_PER_BYTE * REFERENCE_CLOCK_PS
            );
        }
    }
}

#[test]
fn the_capture_unit_counts_what_the_line_shows() {
    for attachment in ALL {
        let Some((mut node, _)) = started(Straps::new(attachment)) else {
            return;
        };
        let mut seen = Vec::new();
        for payload in [46, 242, 1010, 46] {
            node.send(&frame(NODE, TESTER, payload, 1));
            let back = echoed(&mut node);
            let came = node.take_received().unwrap();
            seen.push(((back.start_ps - came.end_ps) / REFERENCE_CLOCK_PS) as u32);
        }
        let captured = asked(&mut node, b'c');
        let counts: Vec<u32> = captured
            .iter()
            .filter(|(name, _)| name == "count")
            .map(|(_, count)| *count)
            .collect();
        assert_eq!(counts, seen, "{attachment:?}");
        assert_eq!(captured[0], ("level".to_owned(), 4));
        assert_eq!(captured[1], ("missed".to_owned(), 0));
        // Longer frames take longer to copy; otherwise only the cache differs.
        assert!(counts[1] > counts[3] && counts[2] > counts[1], "{counts:?}");
    }
}

#[test]
fn accesses_take_the_clocks_that_were_strapped() {
    const ACCESSES: u32 = 8;
    for (attachment, read_clocks, write_clocks) in [
        (Attachment::LiteDevice, 3, 3),
        (Attachment::LiteOrdered, 15, 18),
        (Attachment::LiteOrdered, 40, 60),
        (Attachment::LiteDevice, 40, 60),
    ] {
        let straps = Straps {
            read_clocks,
            write_clocks,
            ..Straps::new(attachment)
        };
        let Some((mut node, _)) = started(straps) else {
            return;
        };
        let times: HashMap<String, u32> = asked(&mut node, b't').into_iter().collect();
        let interval = u32::from(read_clocks + CPU_TURN_CLOCKS);
        assert_eq!(times["reads"], ACCESSES * interval, "{straps:?}");
        let write_clocks = u32::from(write_clocks);
        // The last of the posted writes is answered in its second clock.
        let writes = match attachment {
            Attachment::LiteDevice => (ACCESSES - 1) * write_clocks + 2,
            _ => ACCESSES * write_clocks,
        };
        assert_eq!(times["writes"], writes, "{straps:?}");
    }
}

#[test]
fn the_bus_of_the_document_is_the_default() {
    let clocks = |attachment| {
        let straps = Straps::new(attachment);
        (straps.read_clocks + CPU_TURN_CLOCKS, straps.write_clocks)
    };
    assert_eq!(clocks(Attachment::LiteDevice), (5, 3));
    assert_eq!(clocks(Attachment::LiteOrdered), (17, 18));
}

#[test]
fn what_is_not_for_the_node_or_damaged_is_counted_and_not_echoed() {
    for attachment in ALL {
        let Some((node, _)) = started(Straps::new(attachment)) else {
            return;
        };
        damage_is_counted(node);
    }
}

fn damage_is_counted(mut node: Reference) {
    let mut bad = frame(NODE, TESTER, 46, 0);
    bad[20] ^= 1;
    node.send(&bad);
    node.send(&frame(TESTER, NODE, 46, 0));
    node.send(&frame(NODE, TESTER, 40, 0));
    node.send(&frame(NODE, TESTER, 1600, 0));
    let marked = frame(NODE, TESTER, 46, 0)
        .into_iter()
        .enumerate()
        .map(|(at, data)| GmiiSignals {
            data,
            enable: true,
            error: at == 30,
        });
    let delimiter = GmiiSignals {
        data: 0xD5,
        enable: true,
        error: false,
    };
    let line = std::iter::once(delimiter).chain(marked);
    node.send_raw(line.chain([GmiiSignals::default(); 12]).collect());
    node.send(&frame([0xFF; 6], TESTER, 46, 7));
    let back = echoed(&mut node);
    assert_eq!(back.bytes, frame(TESTER, [0xFF; 6], 46, 7));
    let counts: Vec<u32> = asked(&mut node, b'n').iter().map(|(_, n)| *n).collect();
    // received, dropped, bad FCS, rx errors, runts, oversizes, filtered, sent, overflow; interrupts, frames identified.
    assert_eq!(counts[..11], [1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 6]);
}

#[test]
fn slots_that_are_full_drop_frames_and_count_them() {
    // So slow that frames arrive faster than they are copied.
    let straps = Straps {
        read_clocks: 255,
        write_clocks: 255,
        ..Straps::new(Attachment::LiteOrdered)
    };
    let Some((mut node, _)) = started(straps) else {
        return;
    };
    const FRAMES: u32 = 12;
    for number in 0..FRAMES {
        node.send(&frame(NODE, TESTER, 242, number as u8));
    }
    assert!(node.run_until(1_000_000, Reference::is_line_free));
    node.run(500_000);
    let mut numbers = Vec::new();
    while let Some(back) = node.take_sent() {
        numbers.push(back.bytes[14]);
        assert_eq!(back.bytes, frame(TESTER, NODE, 242, back.bytes[14]));
    }
    assert!(numbers.is_sorted(), "{numbers:?}");
    let counts: Vec<u32> = asked(&mut node, b'n').iter().map(|(_, n)| *n).collect();
    assert_eq!(counts[0] as usize, numbers.len());
    assert_eq!(counts[0] + counts[1], FRAMES);
    assert!(counts[1] > 0);
}

#[test]
fn frames_without_a_buffer_are_dropped_and_counted_and_the_others_come_back() {
    for (attachment, kept, event) in [
        (Attachment::LiteDevice, 2, 0),
        // With eight buffers, two frames that wait in the store of the MAC would have none.
        (Attachment::Dma, 8, 4),
    ] {
        let Some((mut node, _)) = started(Straps::new(attachment)) else {
            return;
        };
        const FRAMES: u32 = 12;
        node.uart_write(b"h");
        line_of(&mut node);
        for number in 0..FRAMES {
            node.send(&frame(NODE, TESTER, 100, number as u8));
        }
        assert!(node.run_until(1_000_000, Reference::is_line_free));
        node.run(10_000);
        assert_eq!(node.sent_frames(), 0);
        node.uart_write(b"g");
        line_of(&mut node);
        node.run(200_000);
        for number in 0..kept {
            let back = node.take_sent().unwrap();
            assert_eq!(back.bytes, frame(TESTER, NODE, 100, number as u8));
        }
        assert_eq!(node.take_sent(), None);
        let counts: Vec<u32> = asked(&mut node, b'n').iter().map(|(_, n)| *n).collect();
        // The ring's frames were received, and dropped later.
        let received = if event == 0 { kept } else { FRAMES };
        assert_eq!(counts[..2], [received, FRAMES - kept], "{attachment:?}");
        assert_eq!(counts[11] & 4, event);
        // And it continues.
        node.send(&frame(NODE, TESTER, 700, 99));
        assert_eq!(echoed(&mut node).bytes, frame(TESTER, NODE, 700, 99));
    }
}

#[test]
fn an_interrupt_comes_later_for_longer_frames_with_dma_alone() {
    for attachment in ALL {
        let Some((mut node, _)) = started(Straps::new(attachment)) else {
            return;
        };
        node.uart_write(b"i");
        line_of(&mut node);
        // The first one fills the caches.
        const PAYLOADS: [usize; 3] = [46, 46, 1010];
        for payload in PAYLOADS {
            node.send(&frame(NODE, TESTER, payload, 1));
            echoed(&mut node);
        }
        let captured = asked(&mut node, b'c');
        let delays: Vec<u32> = captured[2..].iter().map(|(_, count)| *count).collect();
        assert_eq!(delays.len(), 3, "{captured:?}");
        println!("{attachment:?}: {delays:?}");
        let words = |payload: usize| (payload + 14).div_ceil(4) as u32;
        let longer = delays[2].abs_diff(delays[1]);
        if attachment == Attachment::Dma {
            // Two clocks for each word, if the memory has no other user.
            let least = 2 * (words(PAYLOADS[2]) - words(PAYLOADS[1]));
            assert!(longer >= least, "{delays:?}");
        } else {
            // The CPU's loop is at another point when it arrives.
            assert!(longer <= 16, "{delays:?}");
        }
    }
}

#[test]
fn a_descriptor_outside_of_the_memory_stops_the_ring_and_is_reported() {
    let Some((mut node, _)) = started(Straps::new(Attachment::Dma)) else {
        return;
    };
    let told = asked(&mut node, b'w');
    assert_eq!(told[0], ("events".to_owned(), 1 << 4));
    assert_eq!(told[1], ("control".to_owned(), 0));
}

#[test]
fn port_1_tests_itself_and_refuses_while_its_clock_stands() {
    let straps = Straps {
        loopback_1: true,
        ..Straps::new(Attachment::LiteDevice)
    };
    let Some((mut node, _)) = started(straps) else {
        return;
    };
    let told: Vec<u32> = asked(&mut node, b'p').iter().map(|(_, n)| *n).collect();
    // Nothing; WL and its version; sent, good, received; nothing again.
    assert_eq!(told, [0, 0x574C_0001, 50, 50, 50, 0]);
}

#[test]
fn an_access_to_nothing_is_reported_and_a_program_ends_with_its_status() {
    let Some((mut node, _)) = started(Straps::new(Attachment::LiteDevice)) else {
        return;
    };
    let fault = asked(&mut node, b'f');
    assert_eq!(fault[0].1, 0);
    assert_eq!(fault[1].1, 0x9000_0005);
    assert_eq!(node.exit_status(), None);
    node.uart_write(b"x");
    assert!(node.run_until(PATIENCE_CLOCKS, |it| it.exit_status().is_some()));
    assert_eq!(node.exit_status(), Some(42));
    assert!(!node.has_strayed());
}

#[test]
fn a_cpu_that_leaves_its_memory_is_reported() {
    let Some((mut node, _)) = started(Straps::new(Attachment::LiteDevice)) else {
        return;
    };
    node.uart_write(b"j");
    assert!(node.run_until(PATIENCE_CLOCKS, |it| it.exit_status().is_some()));
    assert!(node.has_strayed());
    assert_eq!(node.exit_status(), Some(0xDEAD));
    // An illegal instruction, and where it was.
    let said = String::from_utf8(node.uart_read()).unwrap();
    assert_eq!(said, "trap=00000002 at=00200000 ");
}
