//! What is written can be read and is the same; whatever bytes come, nothing breaks.

use crate::common;
use crate::common::transmit;
use proptest::prelude::*;
use wirelab_control::line::Line;
use wirelab_control::value::{Extent, Load, Mac};
use wirelab_control::{LineBuf, Reply, Request, RequestId};
use wirelab_trial::{Direction, Wait};
use wirelab_wire::{Size, SizeUnit};

fn any_start() -> impl Strategy<Value = wirelab_control::message::Start> {
    let size = prop_oneof![
        Just(None),
        (0..4usize, any::<u32>()).prop_map(|(unit, bytes)| {
            let units = [
                SizeUnit::Frame,
                SizeUnit::Length,
                SizeUnit::Payload,
                SizeUnit::Datagram,
            ];
            Some(Size::new(units[unit], bytes))
        })
    ];
    let load = prop_oneof![
        Just(None),
        Just(Some(Load::Max)),
        any::<u32>().prop_map(|n| Some(Load::LinkPpm(n))),
        any::<u64>().prop_map(|n| Some(Load::MilliframesPerS(n))),
        any::<u64>().prop_map(|n| Some(Load::BitsPerS(n))),
        any::<u32>().prop_map(|n| Some(Load::GapBytes(n))),
    ];
    let extent = prop_oneof![
        any::<u64>().prop_map(Extent::Frames),
        any::<u64>().prop_map(Extent::TimePs)
    ];
    (
        size,
        load,
        extent,
        any::<Option<[u8; 6]>>(),
        any::<Option<u128>>(),
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        any::<Option<bool>>(),
        proptest::option::of("\\PC{0,20}"),
    )
        .prop_map(|(size, load, extent, mac, ip, port, stream, spin, rule)| {
            wirelab_control::message::Start {
                direction: Direction::Both,
                size,
                load,
                extent,
                peer_mac: mac.map(Mac),
                peer_ip: ip.map(|n| std::net::Ipv6Addr::from(n).into()),
                node_port: port,
                tx_stream: stream,
                wait: spin.map(|spin| if spin { Wait::Spin } else { Wait::Sleep }),
                rule,
                background_port: port,
                ..transmit(1)
            }
        })
}

proptest! {
    #[test]
    fn any_start_comes_back_the_same(start in any_start(), session in any::<u32>(), number in any::<u32>()) {
        let id = RequestId { session, number };
        let mut out = LineBuf::new();
        let request = Request::Start(start);
        let bytes = request.emit(id, &mut out).unwrap();
        let line = Line::parse(bytes, true).unwrap();
        prop_assert_eq!(line.id, id);
        prop_assert_eq!(Request::parse(&line).unwrap(), request);
    }

    #[test]
    fn any_text_comes_back_the_same(why in "\\PC{0,60}", limit in any::<Option<u64>>()) {
        let refusal = wirelab_control::Refusal { limit, ..wirelab_control::Refusal::failed(&why) };
        let mut out = LineBuf::new();
        let id = RequestId { session: 1, number: 2 };
        let bytes = Reply::Error(refusal.clone()).emit(id, &mut out).unwrap();
        let line = Line::parse(bytes, true).unwrap();
        prop_assert_eq!(Reply::parse(&line).unwrap(), Reply::Error(refusal));
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        common::demo::fuzz_line(&bytes);
        common::demo::fuzz_server(&bytes);
    }
}
