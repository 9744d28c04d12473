//! The codes of all warnings: one table of words that scripts may compare, each with its meaning.
//!
//! `docs/warnings.md` is printed from it by `crates/trial/examples/warnings.rs`. Start reading at [`WarningCode`].

/// A stable word for scripts, and what it means. Only the table below makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarningCode {
    name: &'static str,
    word: &'static str,
    meaning: &'static str,
}

impl WarningCode {
    /// The name of its constant.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The word in results, e.g. `sender-below-rate`.
    pub const fn word(self) -> &'static str {
        self.word
    }

    /// What it means, a sentence.
    pub const fn meaning(self) -> &'static str {
        self.meaning
    }
}

macro_rules! codes {
    ($($name:ident = $word:literal: $meaning:literal;)*) => {
        impl WarningCode {
            $(
                #[doc = $meaning]
                pub const $name: WarningCode =
                    WarningCode { name: stringify!($name), word: $word, meaning: $meaning };
            )*

            /// All codes, in the order of their words.
            pub const ALL: &[WarningCode] = &[$(WarningCode::$name),*];
        }
    };
}

codes! {
    BACKGROUND_BELOW_RATE = "background-below-rate": "The background flow fell behind the requested rate.";
    BACKGROUND_ENDED = "background-ended": "The background flow ended before the trial did.";
    BACKGROUND_LOST = "background-lost": "Frames of the background flow were lost.";
    BACKGROUND_REFUSED = "background-refused": "The tester's system did not take frames of the background flow.";
    BAD_TRIAL = "bad-trial": "The trial contradicts itself, or requests more than the node supports.";
    BUFFERED = "buffered": "A TCP peer did not close its side, so data in buffers at the end count as sent.";
    CAPTURE = "capture": "A capture file lacks frames. The counts of the trial are not affected.";
    CAPTURE_NOTES = "capture-notes": "Capture points did not see some frames. No stage includes these frames.";
    CHECKER = "checker": "The checker says how to interpret one of its counts or times.";
    CHECKER_MISSED = "checker-missed": "The tester's own queue overflowed, so the loss is a range.";
    CONSOLE_COUNT = "console-count": "A figure was read from the board's console.";
    CONSOLE_DIFFERS = "console-differs": "The board's console and the wire give two counts of one thing.";
    CONSOLE_RESET = "console-reset": "The board was reset in a trial, or had to be booted again, and the trial was repeated.";
    CONSOLE_SAYS = "console-says": "The board's console names an error of its test program.";
    CORE_CLOCK = "core-clock": "The firmware runs its core at another clock than the emulator's timing is for.";
    DATAGRAM_RAISED = "datagram-raised": "The test tool sends longer datagrams than requested.";
    DEPARTED = "departed": "The tester's interface dropped frames, so the loss is a range.";
    DEPARTURE_UNKNOWN = "departure-unknown": "Whether the last frames were sent is unknown, so the loss is a range.";
    DRIVER_REFUSED = "driver-refused": "The tester's queue or driver refused frames. They do not count as lost.";
    EARLIER_IDLE_BASELINE = "earlier-idle-baseline": "The idle baseline of the CPU load is from an earlier trial.";
    EMULATED = "emulated": "An emulator ran the node, so its speed is the host's.";
    EMULATOR_BEHIND = "emulator-behind": "The emulator did not take frames in time, so the board never received them.";
    EQUAL_RATE = "equal-rate": "All sizes were sent at one rate, so it is the tool's limit rather than the node's.";
    FOREIGN_TRAFFIC = "foreign-traffic": "Foreign frames arrived beside the flow.";
    FRAGMENTED = "fragmented": "IP divides each datagram into several packets.";
    IDEAL_SERVER = "ideal-server": "The model serves at its highest rate above saturation. A real node may serve less.";
    IDENTITY = "identity": "The counts do not add up. Do not use the figures.";
    IMPOSSIBLE_FIGURES = "impossible-figures": "Figures contradict each other, so they were left out.";
    INSEPARABLE = "inseparable": "The data do not separate two parameters of a fit.";
    IPERF_NOTE = "iperf-note": "The counting rule of a version of iperf changes a figure.";
    LATE_FRAMES = "late-frames": "Frames arrived after the longest wait. They count as lost.";
    LEDGER = "ledger": "The found faults differ from the injected ones.";
    LINE_DOES_NOT_FIT = "line-does-not-fit": "A time is not a linear function of the size.";
    LONG_FRAMES = "long-frames": "The frames are too long for XDP, so AF_PACKET sent them.";
    LOSS_WITHOUT_LOAD = "loss-without-load": "Frames were lost while the CPU had time left.";
    MINIMUM_SIZE = "minimum-size": "The smallest size is off the line that fits the others.";
    NO_IDLE_BASELINE = "no-idle-baseline": "The node's CPU load has no idle baseline.";
    NO_INTERFACE = "no-interface": "The board has no interface of this host, so wirelab carries its frames.";
    NO_INTERVAL = "no-interval": "There are too few points for the interval of a parameter.";
    NO_REPORT = "no-report": "An iperf server sent no report, so the arrived datagrams are unknown.";
    NO_SECOND_OPINION = "no-second-opinion": "The system's iperf was run too, and gave no result.";
    NODE = "node": "The node says which times are missing, or how to interpret them.";
    NODE_BUSY = "node-busy": "Other work ran on the node, so an idle node may be faster.";
    NODE_DROPPED = "node-dropped": "The node's MAC dropped good frames.";
    NODE_ENDED = "node-ended": "The process of the node ended.";
    NODE_FAILED = "node-failed": "The node failed, so the trial is void. A resumed run repeats it.";
    NONE_RECEIVED = "none-received": "The node received none of the frames.";
    NOTHING_SEEN = "nothing-seen": "Capture points saw no frame.";
    OTHER_RUN = "other-run": "Frames of an earlier run still arrived when this one began.";
    OTHER_RUN_FRAMES = "other-run-frames": "Frames of an earlier run arrived. No other count includes them.";
    OUTLIER = "outlier": "One observation is far from its fit.";
    OWN_CONNECTION = "own-connection": "The peer could not connect back, so its traffic used the tester's connection.";
    PEER_MARK = "peer-mark": "No one verifies that an iperf peer marked its traffic with the requested code point.";
    PEER_TIME = "peer-time": "The peer counted over a longer time than the sender sent.";
    PILES_UP = "piles-up": "The node takes frames more slowly than they arrive, so a queue grows.";
    PROBE = "probe": "Intervals of a probe were not read in time.";
    PULSE = "pulse": "The pulse of a pin is shorter than its frames take on the link.";
    REORDERING_EXTENT = "reordering-extent": "The checker does not count how far frames were reordered.";
    REPEATS_SCATTER = "repeats-scatter": "Repeats of one trial differ by more than the fit's error.";
    REPORTED_OUT_OF_ORDER = "reported-out-of-order": "An iperf server reports datagrams out of order, which may hide losses.";
    RING_CONTRADICTION = "ring-contradiction": "Two observations imply different sizes of the receive ring.";
    RING_UNKNOWN = "ring-unknown": "The data do not show the size of the receive ring.";
    SECOND_OPINION = "second-opinion": "The system's iperf agrees with the figure.";
    SECOND_OPINION_DIFFERS = "second-opinion-differs": "The system's iperf differs from the figure.";
    SENDER_BELOW_RATE = "sender-below-rate": "The sender fell behind the requested rate.";
    SHAPER_BYPASSED = "shaper-bypassed": "Frames of the fast path do not pass a queueing discipline.";
    SHARED_CORES = "shared-cores": "Tester and node may share cores.";
    SIZE_APART = "size-apart": "One size is off the line that fits the others.";
    SIZE_CLASSES = "size-classes": "Sizes fall into classes, each with a line of its own.";
    SLOW_PATH = "slow-path": "XDP was not possible, so AF_PACKET sent the frames.";
    STALLED = "stalled": "A TCP flow stalled for half a second or more.";
    STICKY = "sticky": "Error bits of a hardware block were set.";
    TESTER_HELD_UP = "tester-held-up": "Other work paused the tester, so the trial is void.";
    TESTER_LOWERED_LOAD = "tester-lowered-load": "The tester's queue overflowed at maximum load, so a lower load was used.";
    TESTER_WAS_LIMIT = "tester-was-limit": "The tester was at its own ceiling, so the node may be faster.";
    UNSEEN_FRAMES = "unseen-frames": "Capture points in the kernel did not see frames that arrived.";
    UNSUPPORTED = "unsupported": "The node does not support this trial.";
    UNTOLD_END = "untold-end": "An iperf3 server stopped counting before the last datagrams.";
    WHOLE_SECONDS = "whole-seconds": "iperf3 takes whole seconds, so the trial took longer or shorter than requested.";
}
