//! Names what limits, and what a user needs to act on it.

use wirelab_trial::explanation::{CeilingLaw, Limit, LimitKind, Roofline};
use wirelab_trial::format::{frame_rate, integer, percent, si, time, time_f};
use wirelab_trial::{CPU_IS_LIMIT, WIRE_IS_LIMIT};

use super::solve::{Solved, resources_of_first_port};
use super::words;
use crate::build::Instance;
use wirelab_sim::net::Trigger;
use wirelab_sim::steady::{Circuit, CircuitKind, steady_state};

/// The limit, in sentences.
pub(super) fn of(instance: &Instance, solved: &Solved, roofline: &Roofline) -> Limit {
    let case = Case {
        instance,
        solved,
        roofline: Some(roofline),
    };
    match case.kind() {
        LimitKind::Wire => case.wire(),
        LimitKind::Resource => case.resource(),
        LimitKind::InFlight => case.in_flight(),
        LimitKind::Pace => case.pace(),
        LimitKind::Load => case.load(),
        LimitKind::Loss => case.loss(),
    }
}

/// The limit, in a few words: the one name of a limit, wherever one is named.
pub(super) fn brief(instance: &Instance, solved: &Solved) -> String {
    let case = Case {
        instance,
        solved,
        roofline: None,
    };
    case.words()
}

struct Case<'a> {
    instance: &'a Instance,
    solved: &'a Solved,
    roofline: Option<&'a Roofline>,
}

impl Case<'_> {
    fn kind(&self) -> LimitKind {
        if self.solved.loss_ratio > 0.0 {
            return LimitKind::Loss;
        }
        match self.solved.circuit().map(|c| c.kind) {
            Some(CircuitKind::Offered(_)) => LimitKind::Load,
            Some(CircuitKind::Pacing(_)) => LimitKind::Pace,
            _ => match self.limiting_resource() {
                Some(r) if Some(r) == self.wire_resource() => LimitKind::Wire,
                Some(_) => LimitKind::Resource,
                None => LimitKind::InFlight,
            },
        }
    }

    fn words(&self) -> String {
        let name = self.name();
        match self.kind() {
            LimitKind::Wire => "the wire".to_owned(),
            LimitKind::Resource => format!("{name}, never idle"),
            LimitKind::InFlight => match self.solved.circuit() {
                Some(circuit) => format!(
                    "serialization: room for {} ({name})",
                    words::frames(circuit.tokens)
                ),
                None => "stages that wait for one another".to_owned(),
            },
            LimitKind::Pace => format!("the pace of {name}"),
            LimitKind::Load => "the offered load".to_owned(),
            LimitKind::Loss => match self.full_resource() {
                Some(full) => format!("{full}, never idle; frames are lost at {name}"),
                None => format!("{name}, where frames are lost"),
            },
        }
    }

    /// The limit by its name in the node file.
    fn name(&self) -> String {
        let net = &self.instance.net;
        let resource =
            |r: Option<usize>| r.map_or_else(String::new, |r| net.resources[r].name.clone());
        match self.kind() {
            LimitKind::Wire => resource(self.wire_resource()),
            LimitKind::Resource => resource(self.limiting_resource()),
            LimitKind::Loss => {
                let stages = self.solved.lost_at();
                stages
                    .first()
                    .map_or_else(String::new, |s| net.stages[*s].name.clone())
            }
            LimitKind::InFlight | LimitKind::Pace | LimitKind::Load => {
                let circuit = self.solved.circuit();
                circuit.map_or_else(String::new, |c| words::closed_by(self.instance, c))
            }
        }
    }

    fn busy(&self, resource: usize) -> f64 {
        self.solved.busy_ratio(self.instance, resource)
    }

    /// Whether a resource is as good as never idle, by the bounds of a measured figure.
    fn is_full(&self, resource: usize) -> bool {
        let least = match self.wire_resource() {
            Some(wire) if wire == resource => WIRE_IS_LIMIT,
            _ => CPU_IS_LIMIT,
        };
        self.busy(resource) >= least
    }

    fn busiest(&self) -> Option<usize> {
        self.busiest_of(|_| true)
    }

    fn busiest_of(&self, counts: impl Fn(usize) -> bool) -> Option<usize> {
        let used = resources_of_first_port(self.instance).into_iter();
        let used = used.filter(|r| counts(*r));
        used.max_by(|a, b| self.busy(*a).total_cmp(&self.busy(*b)))
    }

    fn busiest_but_the_wire(&self) -> Option<usize> {
        self.busiest_of(|r| Some(r) != self.wire_resource())
    }

    /// A resource of the node itself that is never idle, without the wire.
    fn full_resource(&self) -> Option<&str> {
        let busiest = self.busiest_but_the_wire().filter(|r| self.is_full(*r));
        busiest.map(|r| self.instance.net.resources[r].name.as_str())
    }

    /// The resource that limits.
    ///
    /// The slowest circuit limits, however busy a resource beside it is: a faster one would gain nothing. But where one
    /// resource works for nearly all of a circuit's time, it is the limit and not the number of frames in the circuit:
    /// a wire that is busy for 98.43 % of a circuit gains from a faster link at once, and from more frames in flight
    /// only the 1.57 % that it waits.
    fn limiting_resource(&self) -> Option<usize> {
        let net = &self.instance.net;
        match self.solved.circuit() {
            Some(circuit) => match circuit.kind {
                CircuitKind::Resource(r) => Some(r),
                _ => {
                    let stages = || circuit.stages.iter().map(|s| &net.stages[*s]);
                    let in_it = |r| stages().any(|stage| stage.resource == Some(r));
                    self.busiest_of(|r| in_it(r) && self.is_full(r))
                }
            },
            None => self.busiest_of(|r| self.is_full(r)),
        }
    }

    fn wire_resource(&self) -> Option<usize> {
        let wire = self.instance.chains.first()?.wire;
        self.instance.net.stages[wire].resource
    }

    fn limit(&self, kind: LimitKind, answer: String, because: Vec<String>) -> Limit {
        Limit {
            kind,
            name: self.name(),
            words: self.words(),
            answer,
            because,
        }
    }

    fn wire(&self) -> Limit {
        let sizes = &self.instance.resolved.sizes;
        let mut because = Vec::new();
        let mut answer = "The wire limits.".to_owned();
        if let Some(link) = self.instance.resolved.link {
            answer = format!(
                "The wire limits: a link of {} carries {} frames/s of {} B and no more.",
                si(link.bits_per_s() as f64, "bit/s"),
                frame_rate(link.frames_per_s(sizes)),
                integer(sizes.frame.into()),
            );
            because.push(format!(
                "{} % of its bits are payload; the rest is header, FCS, preamble and gap. Larger frames carry more.",
                percent(link.overhead.efficiency(sizes))
            ));
        }
        let busy = self.wire_resource().map_or(1.0, |r| self.busy(r));
        let wire = self.instance.chains.first().map(|c| c.wire);
        let others: Vec<usize> = match self.solved.circuit() {
            Some(c) => c
                .stages
                .iter()
                .copied()
                .filter(|s| Some(*s) != wire)
                .collect(),
            None => Vec::new(),
        };
        if busy < 0.999_5 && !others.is_empty() {
            because.push(format!(
                "It is busy {} % of the time: between two frames it waits for {}.",
                percent(busy),
                words::stages(self.instance, &others).join(" and ")
            ));
        }
        self.limit(LimitKind::Wire, answer, because)
    }

    fn resource(&self) -> Limit {
        let Some(resource) = self.limiting_resource() else {
            return self.limit(
                LimitKind::Resource,
                "One resource limits.".to_owned(),
                Vec::new(),
            );
        };
        let net = &self.instance.net;
        let name = &net.resources[resource].name;
        let held: Vec<usize> = (0..net.stages.len())
            .filter(|s| net.stages[*s].resource == Some(resource))
            .collect();
        let sum: f64 = held
            .iter()
            .map(|s| self.solved.cost_a_frame_ps(self.instance, *s))
            .sum();
        let answer = format!(
            "{name} limits: each frame takes {} of it, and it is never idle.",
            time_f(sum)
        );
        let mut because: Vec<String> = self.law_of(name).into_iter().collect();
        if held.len() > 1 {
            let parts = held.iter().map(|s| {
                let cost = self.solved.cost_a_frame_ps(self.instance, *s);
                (cost, format!("{} {}", net.stages[*s].name, time_f(cost)))
            });
            let mut parts: Vec<(f64, String)> = parts.filter(|(cost, _)| *cost > 0.0).collect();
            parts.sort_by(|a, b| b.0.total_cmp(&a.0));
            let words: Vec<String> = parts.into_iter().map(|(_, words)| words).collect();
            because.push(format!("Its time goes to {}.", words.join(", ")));
        }
        because.extend(self.idle_wire());
        self.limit(LimitKind::Resource, answer, because)
    }

    /// How the cost of a resource depends on the size.
    fn law_of(&self, resource: &str) -> Option<String> {
        let ceilings = &self.roofline?.ceilings;
        let of = |law| {
            ceilings
                .iter()
                .find(|c| c.law == law && c.name == resource)
                .map(|c| c.cost_ps)
        };
        match (of(CeilingLaw::PerPacket), of(CeilingLaw::PerByte)) {
            (Some(packet), None) => Some(format!(
                "Each packet costs {}, whatever its size: bit/s grow with the size, packets/s do not.",
                time_f(packet)
            )),
            (Some(packet), Some(byte)) => Some(format!(
                "Each packet costs {} and each of its bytes {}.",
                time_f(packet),
                time_f(byte)
            )),
            (None, Some(byte)) => Some(format!(
                "Each byte costs {}, and a packet has no cost of its own.",
                time_f(byte)
            )),
            (None, None) => None,
        }
    }

    fn idle_wire(&self) -> Option<String> {
        let busy = self.busy(self.wire_resource()?);
        Some(format!("The wire is busy {} % of the time.", percent(busy)))
    }

    fn in_flight(&self) -> Limit {
        let Some(circuit) = self.solved.circuit() else {
            let busiest = self
                .busiest()
                .map(|r| self.busy_words(r))
                .unwrap_or_default();
            let answer = format!(
                "No resource is busy all the time: stages wait for one another, and the busiest is {busiest}."
            );
            return self.limit(LimitKind::InFlight, answer, Vec::new());
        };
        let answer = format!(
            "Serialization limits, not one resource: {} to come back, because there is room for only {} ({}).",
            words::waits_for(circuit.tokens),
            words::frames(circuit.tokens),
            words::closed_by(self.instance, circuit),
        );
        let used = resources_of_first_port(self.instance);
        let busy: Vec<String> = used.into_iter().map(|r| self.busy_words(r)).collect();
        let mut because = vec![format!(
            "No resource is busy all the time: {}.",
            busy.join(", ")
        )];
        because.extend(self.not_overlapped(circuit));
        because.extend(self.one_more(circuit));
        self.limit(LimitKind::InFlight, answer, because)
    }

    fn busy_words(&self, resource: usize) -> String {
        format!(
            "{} {} %",
            self.instance.net.resources[resource].name,
            percent(self.busy(resource))
        )
    }

    /// The two longest stages of a circuit that could work at the same time and do not.
    fn not_overlapped(&self, circuit: &Circuit) -> Option<String> {
        let net = &self.instance.net;
        let mut stages: Vec<usize> = circuit.stages.clone();
        stages.sort_by_key(|s| std::cmp::Reverse(net.stages[*s].cost_ps));
        let longest = *stages.first()?;
        let other = stages
            .iter()
            .copied()
            .find(|s| net.stages[*s].resource != net.stages[longest].resource)?;
        if net.stages[other].cost_ps == 0 {
            return None;
        }
        let software = self
            .instance
            .chains
            .first()
            .is_some_and(|c| c.load.is_some());
        let of = if software {
            "the software's structure"
        } else {
            "how frames are handed on"
        };
        Some(format!(
            "{} takes {}, less than the {} of {}, but the two do not overlap: that is a property of {of}, not of \
             how long {} takes.",
            net.stages[other].name,
            time(net.stages[other].cost_ps),
            time(net.stages[longest].cost_ps),
            net.stages[longest].name,
            net.stages[other].name,
        ))
    }

    /// The effect of one more token in the room that closes the circuit, by solving the net again.
    fn one_more(&self, circuit: &Circuit) -> Option<String> {
        let before = circuit.period().ps();
        let tries = words::rooms(self.instance, circuit).filter_map(|room| {
            let mut net = self.instance.net.clone();
            let name = net.places[room].name.clone();
            // Each port has its own room of that name.
            for place in net
                .places
                .iter_mut()
                .filter(|p| p.name == name && !p.carries_frames)
            {
                place.tokens += 1;
            }
            let tokens = net.places[room].tokens;
            let after = steady_state(&net).ok()?;
            let period = after.chains.first()?.as_ref()?.period().ps();
            Some((period, tokens, room))
        });
        let (period, tokens, room) = tries.min_by(|a, b| a.0.total_cmp(&b.0))?;
        if period >= before * 0.999 {
            return None;
        }
        let parameter = self.instance.rooms.get(room).and_then(Option::as_ref);
        let set = parameter.map_or(String::new(), |name| format!(" (--set {name}={tokens})"));
        Some(format!(
            "With {} there{set} it would be {} a frame, {} × the rate: one frame would be worked on while another is on \
             its way.",
            words::frames(tokens.into()),
            time_f(period),
            wirelab_trial::format::decimal(before / period, 2)
        ))
    }

    fn pace(&self) -> Limit {
        let circuit = self.solved.circuit();
        let words = circuit.map_or_else(String::new, |c| words::circuit(self.instance, c).words);
        let answer = format!("The pace of {} limits: {words}.", self.name());
        self.limit(
            LimitKind::Pace,
            answer,
            self.idle_wire().into_iter().collect(),
        )
    }

    fn load(&self) -> Limit {
        let answer = format!(
            "Nothing in the node limits: it carries the {} frames/s that are offered.",
            frame_rate(self.solved.frames_per_s)
        );
        let mut because = Vec::new();
        if let Some(busiest) = self.busiest() {
            because.push(format!(
                "The busiest resource: {}.",
                self.busy_words(busiest)
            ));
        }
        if let Some(next) = self.solved.further_circuits(self.instance).first() {
            because.push(format!(
                "With a higher load it would reach {} frames/s, where this limits: {}.",
                frame_rate(next.period().per_s()),
                words::circuit(self.instance, next).words
            ));
        }
        self.limit(LimitKind::Load, answer, because)
    }

    fn loss(&self) -> Limit {
        let net = &self.instance.net;
        let at = self.name();
        let answer = format!(
            "Frames are lost at {at}: {} % of those that reach the node find no free place.",
            percent(self.solved.loss_ratio)
        );
        let mut because = Vec::new();
        for stage in self.solved.lost_at() {
            for place in net
                .places
                .iter()
                .filter(|p| p.to == stage && !p.carries_frames)
            {
                because.push(format!(
                    "{at} takes a token of '{}', of which there are {}.",
                    place.name, place.tokens
                ));
            }
        }
        if let Some(busiest) = self.busiest_but_the_wire() {
            because.push(match self.full_resource() {
                Some(full) => format!(
                    "{full} is never idle ({} %), so room is freed too late.",
                    percent(self.busy(busiest))
                ),
                None => format!(
                    "No resource of the node is busy all the time (the busiest: {}).",
                    self.busy_words(busiest)
                ),
            });
        }
        for stage in &net.stages {
            match stage.trigger {
                Trigger::Arrivals(a) if a.burst > 1 => {
                    because.push(format!(
                        "Frames come in bursts of {}, all at once.",
                        a.burst
                    ));
                }
                Trigger::Paced { period_ps } => {
                    because.push(format!(
                        "{} takes them off only every {}.",
                        stage.name,
                        time(period_ps)
                    ));
                }
                _ => {}
            }
        }
        self.limit(LimitKind::Loss, answer, because)
    }
}
