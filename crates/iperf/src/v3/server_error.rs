//! The meaning of the two numbers of a server's SERVER_ERROR: iperf3's and its system's.

use std::fmt::Write as _;

use nix::errno::Errno;

/// "An option you are trying to set is not implemented yet".
pub const NOT_IMPLEMENTED: i32 = 13;
/// "Unable to set TCP/SCTP NODELAY".
pub const NO_NODELAY: i32 = 122;
/// "Unable to set TCP/SCTP MSS".
pub const NO_SEGMENT: i32 = 123;
/// "Unable to set IP TOS".
pub const NO_TOS: i32 = 125;
/// "Unable to set TCP_CONGESTION".
pub const NO_CONGESTION: i32 = 134;
/// "Test authorization failed".
pub const NOT_AUTHORIZED: i32 = 142;
/// "Unable to create a new stream".
pub const NO_STREAM: i32 = 200;

/// What happened and the fix, for each number that a server sends.
const MEANINGS: &[(i32, &str, &str)] = &[
    (5, "it allows no test of that time", "ask for less with -t"),
    (
        6,
        "it allows no test of so many streams",
        "ask for fewer with -P",
    ),
    (
        7,
        "it allows no length of that size",
        "ask for less with -l",
    ),
    (
        8,
        "it allows no socket buffer of that size",
        "ask for less with -w",
    ),
    (
        10,
        "it allows no segment of that size",
        "ask for less with -M",
    ),
    (11, "its system has no sendfile", "leave -Z out"),
    (
        12,
        "it allows no omitted start of that time",
        "ask for less with -O",
    ),
    (
        NOT_IMPLEMENTED,
        "it does not know an option of this test",
        "leave options out one by one",
    ),
    (
        20,
        "it allows no datagram of that length",
        "choose another length with -l",
    ),
    (
        21,
        "it allows no such type of service",
        "choose 0 to 255 for -S",
    ),
    (
        27,
        "the rate of all streams together is above its limit",
        "ask for less with -b or -P",
    ),
    (37, "it allows no test of that time", "ask for less with -t"),
    (
        102,
        "it cannot listen for the streams",
        "restart it, or look what else uses its port",
    ),
    (104, "it could not accept a connection", "try again"),
    (
        114,
        "it could not read the parameters of the test",
        "leave out options that its version may not know",
    ),
    (117, "it could not read this side's results", "try again"),
    (119, "its client has ended", "try again"),
    (120, "it was stopped", "start it again"),
    (
        121,
        "it is busy with another test",
        "wait until that is over, or use a server on another port",
    ),
    (NO_NODELAY, "it cannot set TCP_NODELAY", "leave -N out"),
    (
        NO_SEGMENT,
        "it cannot set that segment size",
        "choose another one with -M, or leave it out",
    ),
    (
        124,
        "it cannot set the size of its socket buffers",
        "leave -w out",
    ),
    (
        NO_TOS,
        "it cannot set the type of service",
        "leave -S and --dscp out",
    ),
    (
        126,
        "it cannot set the traffic class of IPv6",
        "leave -S and --dscp out",
    ),
    (
        NO_CONGESTION,
        "its system does not have that congestion control",
        "choose another one with -C, or load it there",
    ),
    (
        140,
        "it cannot set the pace of its sockets",
        "leave the rate out",
    ),
    (
        141,
        "its socket buffers did not get the requested size",
        "ask for less with -w, or raise net.core.rmem_max and wmem_max there",
    ),
    (
        NOT_AUTHORIZED,
        "it did not accept the user",
        "check --username, the password, the key and both clocks; for a server older than 3.17 add --use-pkcs1-padding",
    ),
    (
        144,
        "no data reached it for too long",
        "check that the path is not filtered",
    ),
    (
        160,
        "the test took longer than it allows",
        "ask for less with -t",
    ),
    (
        NO_STREAM,
        "it could not open a stream",
        "try again; check that its port is not filtered",
    ),
    (
        202,
        "it cannot listen for the streams",
        "restart it, or look what else uses its port",
    ),
    (
        203,
        "it could not connect a stream",
        "check that its port is not filtered",
    ),
    (204, "it could not accept a stream", "try again"),
    (205, "it could not write to a stream", "try again"),
    (206, "it could not read from a stream", "try again"),
];

/// The message for iperf3's number and the system's; 0 stands for none.
pub(super) fn describe(iperf: i32, system: i32) -> String {
    let known = MEANINGS.iter().find(|(number, ..)| *number == iperf);
    let (what, fix) = match (known, iperf) {
        (Some((_, what, fix)), _) => (*what, *fix),
        (None, 0) => ("it gives no reason", "look at the server's own output"),
        (None, _) => ("its version knows why", "look at the server's own output"),
    };
    let mut text = format!("the server gave the test up: {what}");
    let mut numbers = Vec::new();
    if iperf != 0 {
        numbers.push(format!("iperf3 error {iperf}"));
    }
    if system != 0 {
        let name = Errno::from_raw(system);
        let said = match name {
            Errno::UnknownErrno => String::new(),
            name => format!(", on Linux: {}", name.desc()),
        };
        numbers.push(format!("its system's error {system}{said}"));
    }
    if !numbers.is_empty() {
        let _ = write!(text, " ({})", numbers.join("; "));
    }
    let _ = write!(text, "; fix: {fix}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_words_and_a_fix() {
        let said = [(142, 0), (102, 98), (0, 0), (9999, 123_456)].map(|(a, b)| describe(a, b));
        insta::assert_snapshot!(said.join("\n"), @r"
        the server gave the test up: it did not accept the user (iperf3 error 142); fix: check --username, the password, the key and both clocks; for a server older than 3.17 add --use-pkcs1-padding
        the server gave the test up: it cannot listen for the streams (iperf3 error 102; its system's error 98, on Linux: Address already in use); fix: restart it, or look what else uses its port
        the server gave the test up: it gives no reason; fix: look at the server's own output
        the server gave the test up: its version knows why (iperf3 error 9999; its system's error 123456); fix: look at the server's own output
        ");
    }

    #[test]
    fn each_number_stands_once() {
        let mut numbers: Vec<i32> = MEANINGS.iter().map(|(number, ..)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), MEANINGS.len());
    }
}
