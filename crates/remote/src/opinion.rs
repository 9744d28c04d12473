//! A second opinion on a peer with an iperf 2 server: the same trial with wirelab's client and the distribution's.
//!
//! Both use the same server, so they agree unless a host or the peer is at its limit.

use std::io::Read;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wirelab_trial::format::{percent, si};
use wirelab_trial::{Cancel, Direction, Extent, Layer, Load, Node, Trial, Warning, WarningCode};

use crate::IperfNode;

/// The program.
const PROGRAM: &str = "iperf";
/// Time of each client's test.
const TIME: Duration = Duration::from_millis(500);
/// How much longer the program may run before it is killed: it waits for a report.
const GRACE: Duration = Duration::from_secs(10);
/// Most bytes of its output.
const MOST_BYTES: u64 = 256 * 1024;
/// Allowed difference of two rates of a paced UDP flow, relative to the larger.
const UDP_WITHIN: f64 = 0.05;
/// Allowed difference of two rates over TCP, which depend on two processes and on other work of the host.
const TCP_WITHIN: f64 = 0.5;
/// Allowed difference of two losses.
const LOSS_WITHIN: f64 = 0.02;

/// The figures of an iperf 2 client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientFigures {
    /// Rate of what arrived, in application bit/s.
    pub bits_per_s: f64,
    /// The loss that the receiver reported.
    pub loss_ratio: Option<f64>,
}

/// The figures of both clients.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinions {
    /// Wirelab's client.
    pub ours: ClientFigures,
    /// The distribution's client.
    pub theirs: ClientFigures,
    /// The version text of the distribution's client.
    pub version: String,
    within: f64,
}

/// Whether both can run a trial: TCP to or from the peer as fast as possible, or UDP to it at a rate.
pub fn suits(trial: &Trial) -> bool {
    match (trial.framing.layer, trial.direction) {
        (Layer::TcpIpv4, Direction::Receive | Direction::Transmit) => trial.load == Load::Max,
        (Layer::UdpIpv4, Direction::Receive) => trial.load != Load::Max,
        _ => false,
    }
}

/// The version text of the distribution's iperf; `None` where it is not installed or is another program.
pub fn version() -> Option<String> {
    // It prints this on standard error or output, depending on its release.
    let said = Command::new(PROGRAM).arg("-v").output().ok()?;
    let text = [said.stdout, said.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let number = text.split("iperf version ").nth(1)?;
    let number = number.split_whitespace().next()?;
    number.starts_with('2').then(|| format!("iperf {number}"))
}

/// Runs both, one after the other.
///
/// # Errors
/// An error text.
pub fn ask(peer: IpAddr, trial: &Trial, version: &str) -> Result<Opinions, String> {
    let udp = trial.framing.layer.is_udp();
    let short = Trial {
        extent: Extent::Time {
            time_ps: TIME.as_nanos() as u64 * 1000,
        },
        ..trial.clone()
    };
    let mut node = IperfNode::open("iperf", &peer.to_string()).map_err(|e| e.to_string())?;
    let observation = node
        .run(&short, &(), &Cancel::new())
        .map_err(|e| e.to_string())?;
    let flow = observation.flows.first().ok_or("our client saw nothing")?;
    let ours = ClientFigures {
        bits_per_s: *flow
            .goodput_bits_per_s
            .value()
            .ok_or("our client found no rate")?,
        loss_ratio: flow.loss_ratio.value().copied().filter(|_| udp),
    };
    // The server mistakes a client that comes too early for the earlier one.
    std::thread::sleep(crate::iperf::SETTLE);
    let text = run(&arguments(peer, &short)?)?;
    let theirs = parse(&text, trial.direction == Direction::Transmit, udp)
        .ok_or_else(|| format!("{version} printed no result"))?;
    Ok(Opinions {
        ours,
        theirs,
        version: version.to_owned(),
        within: if udp { UDP_WITHIN } else { TCP_WITHIN },
    })
}

impl Opinions {
    /// Whether the two agree within the limits stated in [`Opinions::warning`].
    pub fn agree(&self) -> bool {
        let (a, b) = (self.ours.bits_per_s, self.theirs.bits_per_s);
        let losses = self.ours.loss_ratio.zip(self.theirs.loss_ratio);
        (a - b).abs() <= self.within * a.max(b)
            && losses.is_none_or(|(a, b)| (a - b).abs() <= LOSS_WITHIN)
    }

    /// The note for a reader of the trial.
    pub fn warning(&self) -> Warning {
        let rate_and_loss = |found: &ClientFigures| {
            let loss = found.loss_ratio.map(|l| format!(", {} % lost", percent(l)));
            format!(
                "{}{}",
                si(found.bits_per_s, "bit/s"),
                loss.unwrap_or_default()
            )
        };
        let (verdict, code, fix) = match self.agree() {
            true => ("agree", WarningCode::SECOND_OPINION, "nothing is wrong"),
            false => (
                "do not agree",
                WarningCode::SECOND_OPINION_DIFFERS,
                "free the host's processors of other work and measure again",
            ),
        };
        Warning::new(
            code,
            format!(
                "the node's own iperf 2 for {} ms: {} by wirelab, {} by {}; they {verdict} within {} %",
                TIME.as_millis(),
                rate_and_loss(&self.ours),
                rate_and_loss(&self.theirs),
                self.version,
                percent(self.within)
            ),
            fix,
        )
    }
}

fn arguments(peer: IpAddr, trial: &Trial) -> Result<Vec<String>, String> {
    let mut all: Vec<String> = ["-c", &peer.to_string(), "-f", "b", "-t"]
        .map(str::to_owned)
        .to_vec();
    all.push(TIME.as_secs_f64().to_string());
    if trial.direction == Direction::Transmit {
        all.push("-r".to_owned());
    }
    if trial.framing.layer.is_udp() {
        let sizes = trial.sizes().map_err(|e| e.to_string())?;
        let datagram = sizes.datagram.unwrap_or(0);
        let rate = trial
            .load
            .frames_per_s(&sizes, trial.framing.layer, trial.link());
        let rate = rate.map_err(|e| e.to_string())?.unwrap_or(0.0);
        let bits = (rate * 8.0 * f64::from(datagram)).round();
        let udp = ["-u", "-l", &datagram.to_string(), "-b", &bits.to_string()];
        all.extend(udp.map(str::to_owned));
    }
    Ok(all)
}

/// The output of the program, which is killed if it takes too long.
fn run(arguments: &[String]) -> Result<String, String> {
    let failed = |e: std::io::Error| format!("{PROGRAM}: {e}");
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let output = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let read = output.map(|o| o.take(MOST_BYTES).read_to_end(&mut text));
        drop(read);
        text
    });
    let deadline = Instant::now() + 2 * TIME + GRACE;
    while child.try_wait().map_err(failed)?.is_none() {
        if Instant::now() > deadline {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let text = reader.join().unwrap_or_default();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The result in the output of `iperf -f b`: of the traffic back with `back`, else of the client's, over UDP as the
/// server reports it.
fn parse(text: &str, back: bool, udp: bool) -> Option<ClientFigures> {
    let mut reported = false;
    let mut found = None;
    for line in text.lines() {
        reported |= line.contains("Server Report");
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|w| *w == "bits/sec") else {
            continue;
        };
        // The second test has the number 2: `[  2]` or `[ *2]`.
        let id = line.split(']').next().unwrap_or_default();
        let is_back = id.ends_with('2');
        if is_back != back || (udp && !back && !reported) {
            continue;
        }
        let bits_per_s = words.get(at.checked_sub(1)?)?.parse().ok()?;
        let loss = words.iter().skip(at + 1).find_map(|word| {
            let (lost, all) = word.split_once('/')?;
            let (lost, all): (f64, f64) = (lost.parse().ok()?, all.parse().ok()?);
            (all > 0.0).then_some(lost / all)
        });
        found = Some(ClientFigures {
            bits_per_s,
            loss_ratio: loss.filter(|_| udp),
        });
    }
    found.filter(|f: &ClientFigures| f.bits_per_s.is_finite() && f.bits_per_s > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: &str = "\
[  1] 0.0000-0.5003 sec  627690 Bytes  10037379 bits/sec
[  1] Sent 428 datagrams
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-0.5000 sec  627690 Bytes  10042036 bits/sec   0.002 ms 107/428 (25%)
";
    const TRADEOFF: &str = "\
[  1] 0.0000-0.5272 sec  397541436 Bytes  6032495235 bits/sec
[ *2] local 10.55.0.1 port 5001 connected with 10.55.0.2 port 63681 (icwnd/mss/irtt=14/1460/0)
[ ID] Interval       Transfer     Bandwidth
[ *2] 0.0000-1.0053 sec  9858155 Bytes  78447663 bits/sec
";

    #[test]
    fn the_receivers_word_counts_and_directions_are_told_apart() {
        let udp = parse(UDP, false, true).unwrap();
        assert_eq!((udp.bits_per_s, udp.loss_ratio), (10_042_036.0, Some(0.25)));
        let there = parse(TRADEOFF, false, false).unwrap();
        assert_eq!(
            (there.bits_per_s, there.loss_ratio),
            (6_032_495_235.0, None)
        );
        assert_eq!(
            parse(TRADEOFF, true, false).unwrap().bits_per_s,
            78_447_663.0
        );
    }

    #[test]
    fn what_is_no_result_is_none() {
        for text in [
            "",
            "bits/sec",
            "[  1] nan bits/sec",
            "[  1] -5 bits/sec",
            "connect failed: Connection refused",
        ] {
            assert_eq!(parse(text, false, false), None, "{text}");
        }
        let without_report = UDP.split("[  1] Server").next().unwrap();
        assert_eq!(parse(without_report, false, true), None);
    }

    #[test]
    fn bounds_are_stated_and_kept() {
        let opinions = |ours: f64, theirs: f64, lost: f64, within: f64| Opinions {
            ours: ClientFigures {
                bits_per_s: ours,
                loss_ratio: Some(0.0),
            },
            theirs: ClientFigures {
                bits_per_s: theirs,
                loss_ratio: Some(lost),
            },
            version: "iperf 2.1.8".to_owned(),
            within,
        };
        assert!(opinions(50e6, 48e6, 0.0, UDP_WITHIN).agree());
        assert!(!opinions(50e6, 47e6, 0.0, UDP_WITHIN).agree());
        assert!(!opinions(50e6, 50e6, 0.03, UDP_WITHIN).agree());
        assert!(opinions(400e6, 210e6, 0.0, TCP_WITHIN).agree());
        let warning = opinions(50e6, 47e6, 0.0, UDP_WITHIN).warning();
        assert_eq!(warning.code, "second-opinion-differs");
        for part in ["50", "47", "iperf 2.1.8", "do not agree"] {
            assert!(warning.text.contains(part), "{}", warning.text);
        }
    }
}
