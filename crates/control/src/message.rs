//! Requests and replies as plain structures; each field's name is its key in the line.
//!
//! A list that needs more than one line (set-up keys, counters, capture records) comes in pages. A page has the index
//! of its first item (`from`), the length of the list (`count`) and the index of the next page (`next`, equal to
//! `count` on the last page).

use crate::line::{Kind, Line, LineBuf, RequestId, Value, parse_u64};
use crate::refusal::Refusal;
use crate::value::{Extent, FieldError, Load, Mac, Path, Slot, State, Traffic, UnitPoint};
use core::net::IpAddr;
use wirelab_trial::{Buffers, ClockKind, Direction, Owner, Probes, Spans, Wait};
use wirelab_wire::{Layer, Size};

/// The protocol version of this crate.
pub const VERSION: u16 = 1;
/// Port of the protocol, UDP and TCP.
pub const PORT: u16 = 5002;

macro_rules! message {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }
        impl $name {
            pub(crate) fn take(line: &Line<'_>) -> Result<$name, FieldError> {
                let _ = line;
                Ok($name { $($field: Slot::take(line, stringify!($field))?,)* })
            }
            pub(crate) fn put(&self, out: &mut LineBuf) {
                let _ = &out;
                $(Slot::put(&self.$field, stringify!($field), out);)*
            }
            /// Whether the message has a field of this name.
            #[allow(dead_code)]
            pub(crate) fn knows(field: &str) -> bool {
                let _ = field;
                $(<$type as Slot>::knows(stringify!($field), field) ||)* false
            }
        }
    };
}

message! {
    /// Opens a session.
    Hello {
        /// Highest protocol version of the client.
        version: u16,
        /// Pads the line to the possible length of the reply, over UDP; its content is ignored.
        pad: Option<String>,
    }
}
message! {
    /// Requests set-up keys, from this index on.
    AskSetup {
        /// Index of the first key wanted.
        from: u32,
    }
}
message! {
    /// Requests one trial, which is bounded by its extent and by the node's limits.
    Start {
        /// As the node sees it.
        direction: Direction,
        /// Layer of the trial.
        layer: Layer,
        /// VLAN tags of each frame, 0 to 2; none where absent.
        vlan_tags: Option<u8>,
        /// Test frames by default.
        traffic: Option<Traffic>,
        /// The stack by default.
        path: Option<Path>,
        /// The only size. With TCP, a datagram is one write.
        size: Option<Size>,
        /// The load that the node sends; required where it sends without receiving.
        load: Option<Load>,
        /// When the trial ends.
        extent: Extent,
        /// Latest end in picoseconds after the start, for trials that count frames; by default the node's own limit.
        limit_ps: Option<u64>,
        /// The node's ports in use at once, one by default.
        ports: Option<u32>,
        /// Stream of the frames that the node sends on its first port; the next ports use the next numbers; 0 by
        /// default.
        tx_stream: Option<u8>,
        /// Stream of the frames that the node expects on its first port; 0 by default.
        rx_stream: Option<u8>,
        /// How frame data reach the MAC; by default the node's choice.
        buffers: Option<Buffers>,
        /// Descriptors of the transmit ring to use.
        descriptors: Option<u16>,
        /// Frames whose capture points are to be recorded, by default 0 (none).
        captures: Option<u32>,
        /// The point that the node's capture units record for these frames, instead of the capture points.
        capture_unit: Option<UnitPoint>,
        /// How the application waits for frames; it sleeps by default.
        wait: Option<Wait>,
        /// The frames for the fast track; by default UDP to the node's own address and port.
        rule: Option<String>,
        /// The probes at the capture points; by default the best that the host allows.
        probes: Option<Probes>,
        /// Whether the node's sender does not catch up after a pause; by default it does.
        strict_gaps: Option<bool>,
        /// A second UDP port beside the flow's, served by the same loop.
        background_port: Option<u16>,
        /// The clock of the times in the client's frames, if the node has the same.
        clock_id: Option<String>,
        /// The node's UDP or TCP port.
        node_port: Option<u16>,
        /// The client's UDP or TCP port.
        peer_port: Option<u16>,
        /// Link-layer address to send to; see "Where traffic may go" in the specification.
        peer_mac: Option<Mac>,
        /// Network address to send to; must be the client's own if it has one.
        peer_ip: Option<IpAddr>,
    }
}
message! {
    /// The started trial.
    #[derive(Default)]
    Started {
        /// Number of the trial, assigned by the node.
        trial: u32,
        /// Latest end in picoseconds after the start.
        limit_ps: u64,
        /// All frames have this many bytes with FCS.
        frame_bytes: Option<u32>,
        /// Slots of repeating frames.
        slots: Option<u32>,
        /// Kind of buffers in use.
        buffers: Option<Buffers>,
        /// The node's link-layer address.
        node_mac: Option<Mac>,
        /// The node's network address.
        node_ip: Option<IpAddr>,
        /// The node's UDP or TCP port.
        node_port: Option<u16>,
        /// Destination of frames.
        peer_mac: Option<Mac>,
        /// Destination of datagrams.
        peer_ip: Option<IpAddr>,
        /// Its port.
        peer_port: Option<u16>,
    }
}
message! {
    /// Requests the status of a trial.
    AskStatus {
        /// By default the last one.
        trial: Option<u32>,
    }
}
message! {
    /// The status of the last trial.
    Status {
        /// Its number, 0 before the first.
        trial: u32,
        /// Its state.
        state: State,
        /// Frames sent so far.
        tx_frames: Option<u64>,
        /// Frames received so far.
        rx_frames: Option<u64>,
        /// Time of the trial so far, or of all of it, in ticks.
        elapsed_ticks: Option<u64>,
        /// What that time spans.
        spans: Option<Spans>,
        /// Clock of the ticks.
        clock: Option<ClockKind>,
        /// Picoseconds a tick; absent where ticks are instructions.
        tick_ps: Option<u64>,
        /// Why it failed or why the node stopped it.
        why: Option<String>,
        /// Deviations from the request, and other notes.
        note: Option<String>,
    }
}
message! {
    /// Ends a trial.
    Stop {
        /// Its number.
        trial: u32,
    }
}
message! {
    /// Requests the counters of a port in a trial.
    AskCounters {
        /// Number of the trial.
        trial: u32,
        /// The node's port, counted from 0; by default the first.
        port: Option<u32>,
        /// Index of the first counter wanted.
        from: u32,
    }
}
message! {
    /// Requests the CPU load over a trial.
    AskLoad {
        /// Number of the trial.
        trial: u32,
        /// The node's core, counted from 0; by default the first.
        core: Option<u32>,
    }
}
message! {
    /// CPU load of one core over a trial.
    CpuLoad {
        /// Number of the trial.
        trial: u32,
        /// The core, counted from 0.
        core: u32,
        /// Cores that take part in the trial.
        cores: u32,
        /// Ticks in which the core was busy within the window.
        busy_ticks: u64,
        /// Length of the window: from the first frame of the trial to its last.
        window_ticks: u64,
        /// Busy ticks of an idle interval of the same length before the trial.
        idle_busy_ticks: Option<u64>,
        /// Length of that interval.
        idle_window_ticks: Option<u64>,
        /// Clock of the ticks.
        clock: ClockKind,
        /// Picoseconds a tick; absent where ticks are instructions.
        tick_ps: Option<u64>,
        /// Whether the tester's work ran on the same core, so that the figure includes it.
        shared: bool,
    }
}
message! {
    /// Requests the records of one capture point.
    AskCaptures {
        /// Number of the trial.
        trial: u32,
        /// The capture point, counted from 0.
        point: u32,
        /// Index of the first record wanted.
        from: u32,
    }
}
message! {
    /// A capture point and its clock.
    Point {
        /// Number of the trial.
        trial: u32,
        /// The capture point, counted from 0.
        point: u32,
        /// Capture points of the trial.
        points: u32,
        /// Name of the stage that begins here.
        name: String,
        /// Stream of the frames recorded.
        stream: u8,
        /// Kind of the clock.
        clock: ClockKind,
        /// Picoseconds a tick; absent where ticks are instructions.
        tick_ps: Option<u64>,
        /// Smallest step of the clock in ticks.
        resolution_ticks: u64,
        /// The owner of the clock.
        owner: Owner,
        /// Records that did not fit the node's memory.
        lost: u64,
    }
}
message! {
    /// The node's identity and limits.
    Identity {
        /// Name of the node: a key of at most 32 bytes, e.g. `lpc1768`.
        name: String,
        /// Number of set-up keys.
        setup: u32,
        /// Supported directions, as the node sees them.
        directions: Vec<Direction>,
        /// Layers.
        layers: Vec<Layer>,
        /// Kinds of buffers.
        buffers: Vec<Buffers>,
        /// Traffic.
        traffic: Vec<Traffic>,
        /// Paths through the node.
        paths: Vec<Path>,
        /// Ports.
        ports: u32,
        /// Smallest frame in bytes with FCS.
        min_frame_bytes: u32,
        /// Largest frame in bytes with FCS.
        max_frame_bytes: u32,
        /// Most frames of a trial.
        max_frames: u64,
        /// Longest trial in picoseconds.
        max_time_ps: u64,
        /// Records that one capture point holds, 0 without capture points.
        max_captures: u32,
        /// A trial is abandoned after its client was silent for this many milliseconds.
        idle_ms: u32,
    }
}
message! {
    /// Version and session, before the identity.
    Opened {
        /// The protocol version of this session.
        version: u16,
        /// The session for all further requests.
        session: u32,
        /// If the node requires a token: the challenge that the client must answer first.
        challenge: Option<String>,
    }
}
message! {
    /// Proves that the client has the node's token.
    Auth {
        /// [`crate::token::Token::response`] to the challenge of this session.
        response: String,
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `hello` in session 0.
    Hello(Hello),
    /// `hello` within a session.
    Setup(AskSetup),
    /// `auth`
    Auth(Auth),
    /// `start`
    Start(Start),
    /// `status`
    Status(AskStatus),
    /// `stop`
    Stop(Stop),
    /// `counters`
    Counters(AskCounters),
    /// `load`
    Load(AskLoad),
    /// `captures`
    Captures(AskCaptures),
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A session was opened.
    Hello(Opened, Identity),
    /// Set-up keys.
    Setup(Setup),
    /// The node accepts the client's token.
    Auth,
    /// A trial was started.
    Start(Started),
    /// The status.
    Status(Status),
    /// The final status.
    Stop(Status),
    /// Counters.
    Counters(Counters),
    /// CPU load.
    Load(CpuLoad),
    /// Capture records.
    Captures(Capture),
    /// The request was refused.
    Error(Refusal),
}

/// Refuses fields that the node does not know: ignoring them would measure something else.
fn strict<T>(
    line: &Line<'_>,
    knows: fn(&str) -> bool,
    take: fn(&Line<'_>) -> Result<T, FieldError>,
) -> Result<T, Refusal> {
    if let Some((key, _)) = line.fields().find(|(key, _)| !knows(key)) {
        return Err(FieldError::Unknown(key.to_owned()).into());
    }
    Ok(take(line)?)
}

impl Request {
    /// The command.
    pub const fn command(&self) -> &'static str {
        match self {
            Request::Hello(_) | Request::Setup(_) => "hello",
            Request::Auth(_) => "auth",
            Request::Start(_) => "start",
            Request::Status(_) => "status",
            Request::Stop(_) => "stop",
            Request::Counters(_) => "counters",
            Request::Load(_) => "load",
            Request::Captures(_) => "captures",
        }
    }

    /// The request of a request line.
    ///
    /// # Errors
    /// The [`Refusal`] for the node's answer.
    pub fn parse(line: &Line<'_>) -> Result<Request, Refusal> {
        match line.name {
            "hello" if line.id.session == 0 => {
                strict(line, Hello::knows, Hello::take).map(Request::Hello)
            }
            "hello" => strict(line, AskSetup::knows, AskSetup::take).map(Request::Setup),
            "auth" => strict(line, Auth::knows, Auth::take).map(Request::Auth),
            "start" => strict(line, Start::knows, Start::take).map(Request::Start),
            "status" => strict(line, AskStatus::knows, AskStatus::take).map(Request::Status),
            "stop" => strict(line, Stop::knows, Stop::take).map(Request::Stop),
            "counters" => {
                strict(line, AskCounters::knows, AskCounters::take).map(Request::Counters)
            }
            "load" => strict(line, AskLoad::knows, AskLoad::take).map(Request::Load),
            "captures" => {
                strict(line, AskCaptures::knows, AskCaptures::take).map(Request::Captures)
            }
            _ => Err(Refusal::unknown_command()),
        }
    }

    /// Write the line. `None` where it would be too long.
    pub fn emit<'a>(&self, id: RequestId, out: &'a mut LineBuf) -> Option<&'a [u8]> {
        out.begin(Kind::Request, id, self.command());
        match self {
            Request::Hello(m) => m.put(out),
            Request::Setup(m) => m.put(out),
            Request::Auth(m) => m.put(out),
            Request::Start(m) => m.put(out),
            Request::Status(m) => m.put(out),
            Request::Stop(m) => m.put(out),
            Request::Counters(m) => m.put(out),
            Request::Load(m) => m.put(out),
            Request::Captures(m) => m.put(out),
        }
        out.finish()
    }
}

impl Reply {
    /// The command that it answers; `None` for an error, which may answer any.
    pub const fn command(&self) -> Option<&'static str> {
        match self {
            Reply::Hello(..) | Reply::Setup(_) => Some("hello"),
            Reply::Auth => Some("auth"),
            Reply::Start(_) => Some("start"),
            Reply::Status(_) => Some("status"),
            Reply::Stop(_) => Some("stop"),
            Reply::Counters(_) => Some("counters"),
            Reply::Load(_) => Some("load"),
            Reply::Captures(_) => Some("captures"),
            Reply::Error(_) => None,
        }
    }

    /// The reply of a reply or error line; unknown fields are ignored.
    ///
    /// # Errors
    /// [`FieldError`] names the first unusable field.
    pub fn parse(line: &Line<'_>) -> Result<Reply, FieldError> {
        if line.kind == Kind::Error {
            return Ok(Reply::Error(Refusal::take(line)?));
        }
        Ok(match line.name {
            "hello" if line.id.session == 0 => {
                Reply::Hello(Opened::take(line)?, Identity::take(line)?)
            }
            "hello" => Reply::Setup(Setup::take(line)?),
            "auth" => Reply::Auth,
            "start" => Reply::Start(Started::take(line)?),
            "status" => Reply::Status(Status::take(line)?),
            "stop" => Reply::Stop(Status::take(line)?),
            "counters" => Reply::Counters(Counters::take(line)?),
            "load" => Reply::Load(CpuLoad::take(line)?),
            "captures" => Reply::Captures(Capture::take(line)?),
            other => return Err(FieldError::Unknown(other.to_owned())),
        })
    }

    /// Write the line. `None` where it would be too long; lists are cut to what fits, and `next` shows that.
    pub fn emit<'a>(&self, id: RequestId, out: &'a mut LineBuf) -> Option<&'a [u8]> {
        match self {
            Reply::Error(m) => m.begin(id, out),
            _ => out.begin(Kind::Reply, id, self.command().unwrap_or_default()),
        }
        match self {
            Reply::Hello(opened, identity) => {
                opened.put(out);
                identity.put(out);
            }
            Reply::Setup(m) => m.put(out),
            Reply::Start(m) => m.put(out),
            Reply::Status(m) | Reply::Stop(m) => m.put(out),
            Reply::Counters(m) => m.put(out),
            Reply::Load(m) => m.put(out),
            Reply::Captures(m) => m.put(out),
            Reply::Auth | Reply::Error(_) => {}
        }
        out.finish()
    }
}

/// The longest ` next=4294967295`, reserved until it is known.
const NEXT_BYTES: usize = 16;

/// The position of a page in its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Index of the page's first item.
    pub from: u32,
    /// Items of the whole list.
    pub count: u32,
    /// Index of the first item of the next page; `count` on the last.
    pub next: u32,
}

impl Span {
    fn take(line: &Line<'_>) -> Result<Span, FieldError> {
        let span = Span {
            from: Slot::take(line, "from")?,
            count: Slot::take(line, "count")?,
            next: Slot::take(line, "next")?,
        };
        // Only the last page may be empty: a client that follows `next` always reaches the end.
        if span.next > span.count
            || span.next < span.from
            || (span.next == span.from && span.next < span.count)
        {
            return Err(FieldError::Value("next"));
        }
        Ok(span)
    }

    /// Writes the three fields with the resulting `next`, then the items that fit.
    fn put(self, out: &mut LineBuf, items: usize, mut item: impl FnMut(&mut LineBuf, usize)) {
        out.number_field("from", u64::from(self.from));
        out.number_field("count", u64::from(self.count));
        let mut fitted = 0;
        while fitted < items && out.attempt(NEXT_BYTES, |o| item(o, fitted)) {
            fitted += 1;
        }
        out.number_field("next", u64::from(self.from) + fitted as u64);
    }
}

/// One page of set-up keys (`set.KEY=VALUE`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// The position of the page; `next` is computed when the line is written.
    pub span: Span,
    /// Keys and values.
    pub keys: Vec<(String, String)>,
}

impl Setup {
    pub(crate) fn take(line: &Line<'_>) -> Result<Setup, FieldError> {
        let keys = prefixed(line, "set.").map(|(key, value)| {
            String::from_utf8(value.bytes().collect()).map(|text| (key.to_owned(), text))
        });
        let keys = keys
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| FieldError::Value("set"))?;
        Ok(Setup {
            span: counted(line, keys.len())?,
            keys,
        })
    }

    pub(crate) fn put(&self, out: &mut LineBuf) {
        self.span.put(out, self.keys.len(), |o, at| {
            let (key, value) = &self.keys[at];
            o.key(&format!("set.{key}"));
            o.encoded(value.as_bytes());
        });
    }
}

/// One page of counters (`c.NAME=NUMBER`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Number of the trial.
    pub trial: u32,
    /// The node's port, counted from 0.
    pub port: u32,
    /// The position of the page; `next` is computed when the line is written.
    pub span: Span,
    /// Names and values. A counter that the node does not have is not in the list: it is never 0.
    pub counters: Vec<(String, u64)>,
}

impl Counters {
    pub(crate) fn take(line: &Line<'_>) -> Result<Counters, FieldError> {
        let counters = prefixed(line, "c.")
            .map(|(name, value)| Some((name.to_owned(), value.u64()?)))
            .collect::<Option<Vec<_>>>()
            .ok_or(FieldError::Value("c"))?;
        Ok(Counters {
            trial: Slot::take(line, "trial")?,
            port: Slot::take(line, "port")?,
            span: counted(line, counters.len())?,
            counters,
        })
    }

    pub(crate) fn put(&self, out: &mut LineBuf) {
        out.number_field("trial", u64::from(self.trial));
        out.number_field("port", u64::from(self.port));
        self.span.put(out, self.counters.len(), |o, at| {
            let (name, value) = &self.counters[at];
            o.number_field(&format!("c.{name}"), *value);
        });
    }
}

/// One time recorded at a capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Sequence of the frame.
    pub sequence: u32,
    /// Ticks of the node's clock, extended to 64 bits.
    pub ticks: u64,
}

/// One page of capture records. In the line, `base_sequence` and `base_ticks` are those of the first record and
/// `data` lists `sequence:ticks` of each, both as differences to the base (modulo 2³² and 2⁶⁴).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The capture point.
    pub point: Point,
    /// The position of the page; `next` is computed when the line is written.
    pub span: Span,
    /// The records.
    pub records: Vec<Record>,
}

impl Capture {
    pub(crate) fn take(line: &Line<'_>) -> Result<Capture, FieldError> {
        let records = match line.get("data") {
            None => Vec::new(),
            Some(data) => {
                let base_sequence: u32 = Slot::take(line, "base_sequence")?;
                let base_ticks: u64 = Slot::take(line, "base_ticks")?;
                let record = |part: &[u8]| {
                    let colon = part.iter().position(|b| *b == b':')?;
                    let sequence = u32::try_from(parse_u64(&part[..colon])?).ok()?;
                    Some(Record {
                        sequence: base_sequence.wrapping_add(sequence),
                        ticks: base_ticks.wrapping_add(parse_u64(&part[colon + 1..])?),
                    })
                };
                data.raw()
                    .split(|b| *b == b',')
                    .map(record)
                    .collect::<Option<Vec<_>>>()
                    .ok_or(FieldError::Value("data"))?
            }
        };
        Ok(Capture {
            point: Point::take(line)?,
            span: counted(line, records.len())?,
            records,
        })
    }

    pub(crate) fn put(&self, out: &mut LineBuf) {
        self.point.put(out);
        if let Some(base) = self.records.first() {
            out.number_field("base_sequence", u64::from(base.sequence));
            out.number_field("base_ticks", base.ticks);
        }
        self.span.put(out, self.records.len(), |o, at| {
            let (base, record) = (self.records[0], self.records[at]);
            if at == 0 {
                o.key("data");
            } else {
                o.encoded(b",");
            }
            o.number(u64::from(record.sequence.wrapping_sub(base.sequence)));
            o.encoded(b":");
            o.number(record.ticks.wrapping_sub(base.ticks));
        });
    }
}

fn prefixed<'a>(
    line: &Line<'a>,
    prefix: &'static str,
) -> impl Iterator<Item = (&'a str, Value<'a>)> {
    line.fields()
        .filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?, value)))
}

fn counted(line: &Line<'_>, items: usize) -> Result<Span, FieldError> {
    let span = Span::take(line)?;
    if (span.next - span.from) as usize == items {
        Ok(span)
    } else {
        Err(FieldError::Value("next"))
    }
}

impl Start {
    /// A trial with only the mandatory fields.
    #[must_use]
    pub fn new(direction: Direction, layer: Layer, extent: Extent) -> Start {
        Start {
            direction,
            layer,
            vlan_tags: None,
            traffic: None,
            path: None,
            size: None,
            load: None,
            extent,
            limit_ps: None,
            ports: None,
            tx_stream: None,
            rx_stream: None,
            buffers: None,
            descriptors: None,
            captures: None,
            capture_unit: None,
            wait: None,
            rule: None,
            probes: None,
            strict_gaps: None,
            background_port: None,
            clock_id: None,
            node_port: None,
            peer_port: None,
            peer_mac: None,
            peer_ip: None,
        }
    }
}
