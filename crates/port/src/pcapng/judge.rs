//! The judge of one captured frame: `wirelab_wire::classify`, and the verdict on frames that a snap length cut.
//!
//! A frame that is only partly in the capture cannot be judged to its end. The part is still checked: a damaged
//! header, a wrong byte or a stale start in it is found and named.

use wirelab_wire::check::locate;
use wirelab_wire::{Flow, Header, Verdict, classify, header, lfsr};

/// The verdict on one captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// The verdict of `classify`.
    Verdict(Verdict),
    /// Right as far as the capture has it.
    CutBySnaplen(Header),
    /// A possible test frame, cut so short that its header is not complete.
    CutInHeader,
}

/// Judge the captured part of a frame that had `original_len` bytes on the link (both without FCS).
#[inline]
pub(super) fn judge(frame: &[u8], original_len: u32, flow: &Flow) -> Judged {
    if frame.len() >= original_len as usize {
        return Judged::Verdict(classify(frame, flow));
    }
    judge_cut(frame, original_len as usize, flow)
}

fn judge_cut(frame: &[u8], original_len: usize, flow: &Flow) -> Judged {
    let Some(location) = locate(frame, flow) else {
        return Judged::Verdict(Verdict::Foreign);
    };
    let kept = &frame[location.offset..location.end];
    if kept.len() < header::LEN && location.end == frame.len() {
        return match kept.iter().zip(header::MAGIC).all(|(a, b)| *a == b) {
            true => Judged::CutInHeader,
            false => Judged::Verdict(classify(frame, flow)),
        };
    }
    let verdict = classify(frame, flow);
    let Verdict::Truncated(header) = verdict else {
        return Judged::Verdict(verdict);
    };
    // `classify` calls it truncated, because the capture cut it or because it was too short on the link.
    let data = location.offset + header::LEN;
    let needed = data + usize::from(header.lfsr_len);
    if original_len.min(end_on_link(frame, location.offset, original_len)) < needed {
        return Judged::Verdict(verdict);
    }
    let kept = &frame[data..];
    if kept.len() <= lfsr::MAX_BYTES {
        if *kept == *lfsr::payload(header.sequence, kept.len()) {
            return Judged::CutBySnaplen(header);
        }
        if let Some(start_word) = lfsr::find_start(kept) {
            return Judged::Verdict(Verdict::Stale { header, start_word });
        }
    }
    Judged::Verdict(Verdict::Corrupted(header))
}

/// Where the data ended on the link: the UDP length says so; data of EtherType 0x88B5 extend to the end of the frame.
fn end_on_link(frame: &[u8], offset: usize, original_len: usize) -> usize {
    // Ethernet header and two tags take 22 bytes; UDP data start at 42 at the earliest.
    if offset <= 22 {
        return original_len;
    }
    let length = u16::from_be_bytes([frame[offset - 4], frame[offset - 3]]);
    offset - 8 + usize::from(length)
}

/// For content that contradicts the header: the offset of the first wrong byte from the start of the frame, the
/// expected byte, and the actual byte.
pub(super) fn first_wrong_byte(
    frame: &[u8],
    flow: &Flow,
    header: &Header,
) -> Option<(u32, u8, u8)> {
    let location = locate(frame, flow)?;
    let start = location.offset + header::LEN;
    let data = frame.get(start..location.end)?;
    let len = data.len().min(header.lfsr_len.into()).min(lfsr::MAX_BYTES);
    let right = lfsr::payload(header.sequence, len);
    let at = data[..len].iter().zip(right).position(|(a, b)| a != b)?;
    Some(((start + at) as u32, right[at], data[at]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcapng::generate::tests::{build, ethernet, udp4};

    #[test]
    fn a_whole_frame_is_judged_by_classify() {
        let frame = build(&ethernet(), 128, 5);
        assert!(matches!(
            judge(&frame, frame.len() as u32, &Flow::default()),
            Judged::Verdict(Verdict::Good(h)) if h.sequence == 5
        ));
    }

    #[test]
    fn what_was_kept_of_a_cut_frame_is_still_checked() {
        for spec in [ethernet(), udp4()] {
            let whole = build(&spec, 512, 5);
            let len = whole.len() as u32;
            let header = spec.header_offset();
            let flow = Flow::default();
            for kept in header + 18..whole.len() {
                let judged = judge(&whole[..kept], len, &flow);
                assert!(
                    matches!(judged, Judged::CutBySnaplen(h) if h.sequence == 5),
                    "{kept}"
                );
            }
            for kept in header..header + 18 {
                assert_eq!(
                    judge(&whole[..kept], len, &flow),
                    Judged::CutInHeader,
                    "{kept}"
                );
            }
            let mut bad = whole.clone();
            bad[100] ^= 1;
            assert!(matches!(
                judge(&bad[..128], len, &flow),
                Judged::Verdict(Verdict::Corrupted(_))
            ));
            assert!(matches!(
                judge(&bad[..100], len, &flow),
                Judged::CutBySnaplen(_)
            ));
            assert_eq!(
                first_wrong_byte(&bad[..128], &flow, &five(len, header)),
                Some((100, whole[100], bad[100]))
            );
            bad[header + 5] ^= 1;
            assert_eq!(
                judge(&bad[..96], len, &flow),
                Judged::Verdict(Verdict::HeaderCorrupt)
            );
            let mut stale = whole.clone();
            stale[header + 18..].copy_from_slice(lfsr::payload(9, whole.len() - header - 18));
            assert!(matches!(
                judge(&stale[..128], len, &flow),
                Judged::Verdict(Verdict::Stale { start_word: 9, .. })
            ));
        }
    }

    fn five(len: u32, offset: usize) -> Header {
        Header {
            flags: wirelab_wire::Flags::NONE,
            stream: 0,
            sequence: 5,
            time_ns: 0,
            lfsr_len: len as u16 - offset as u16 - 18,
        }
    }

    #[test]
    fn a_frame_that_was_too_short_on_the_link_stays_truncated() {
        let whole = build(&ethernet(), 512, 5);
        let judged = judge(&whole[..100], 400, &Flow::default());
        assert!(matches!(judged, Judged::Verdict(Verdict::Truncated(_))));
    }
}
