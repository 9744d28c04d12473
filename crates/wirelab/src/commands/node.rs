//! `wirelab node`: runs this host as a node.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use wirelab_agent::{AgentError, OnRefusal, Options, Serving, Started};
use wirelab_control::PORT;
use wirelab_control::token::Token;

use crate::args::{NodeArgs, NodeCommand, NodeServeArgs, ReceiveWork};
use crate::ask;
use crate::exit::{Failure, Outcome, Result};
use crate::refusals::Refusals;
use crate::terminal::{cancel_on_signal, complain, show_json_line, show_started};

/// Time between checks whether to end.
const LOOK: Duration = Duration::from_millis(50);

pub fn run(args: &NodeArgs) -> Result {
    match &args.command {
        NodeCommand::Serve(args) => serve(args),
    }
}

fn serve(args: &NodeServeArgs) -> Result {
    let options = options(args)?;
    let cancel = cancel_on_signal();
    let node = Serving::start(options).map_err(failure)?;
    if args.json {
        show_json_line(node.started())?;
    } else {
        print(node.started(), args);
    }
    while !cancel.is_cancelled() && node.is_running() {
        std::thread::sleep(LOOK);
    }
    let ended = node.is_running();
    drop(node);
    if !ended {
        return Err(Failure::failed(
            "the node's sockets failed; fix: start it again",
        ));
    }
    complain(format_args!(
        "the node has ended; the cores of receive work are restored"
    ));
    Ok(Outcome::Done)
}

fn options(args: &NodeServeArgs) -> std::result::Result<Options, Failure> {
    let mut options = Options::on(address(&args.listen)?);
    options.interface.clone_from(&args.interface);
    options.name.clone_from(&args.name);
    options.iperf = !args.no_iperf;
    options.xdp = args
        .xdp
        .parse()
        .map_err(|why| Failure::usage(format_args!("--xdp: {why}")))?;
    options.steer = args.receive_work == ReceiveWork::Steer;
    let cores = args.cpus.as_deref().map(str::parse).transpose();
    options.cores = cores.map_err(|why| Failure::usage(format_args!("--cpus: {why}")))?;
    for assignment in &args.set {
        options.set(assignment).map_err(Failure::usage)?;
    }
    let rate = args.max_rate.as_deref();
    options.limits.bits_per_s = rate.map(|r| ask::rate("--max-rate", r)).transpose()?;
    options.limits.time_ps = ask::time_ps("--max-time", &args.max_time)?;
    for text in &args.allow_mac {
        options.allowed_macs.push(ask::mac("--allow-mac", text)?);
    }
    options.allow_reverse.clone_from(&args.allow_reverse);
    options.allow.clone_from(&args.allow);
    let token = args.token.as_deref().map(Token::read).transpose();
    options.token = token.map_err(|why| Failure::usage(format_args!("--token: {why}")))?;
    let refusals = Refusals::default();
    options.on_refusal = OnRefusal(Arc::new(move |peer, why| refusals.tell(peer, why)));
    Ok(options)
}

/// `ADDRESS`, `ADDRESS:PORT` or `[ADDRESS]:PORT`.
fn address(text: &str) -> std::result::Result<SocketAddr, Failure> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, PORT));
    }
    text.parse().map_err(|_| {
        Failure::usage(format_args!(
            "invalid --listen {text}; fix: write an address of this host, with a port if another than {PORT} is wanted, e.g. \
             10.0.0.1 or 10.0.0.1:6002 or [fd00::1]:6002"
        ))
    })
}

fn failure(error: AgentError) -> Failure {
    match error {
        AgentError::Threads(_) | AgentError::Addresses(_) => Failure::failed(error),
        other => Failure::usage(other),
    }
}

fn print(started: &Started, args: &NodeServeArgs) {
    let ip = started.control.ip();
    let to = match (ip, started.control.port()) {
        (_, PORT) => ip.to_string(),
        _ => started.control.to_string(),
    };
    let work = match started.shared {
        true => "for its work, and perhaps the tester's: CPU load is marked as shared",
        false => "for its work and the receive work of its interface",
    };
    let of = |at: Option<SocketAddr>, what| at.map(|at| format!("{what} on port {}", at.port()));
    let iperf = [of(started.iperf2, "iperf 2"), of(started.iperf3, "iperf3")];
    let iperf: Vec<String> = iperf.into_iter().flatten().collect();
    let iperf = match iperf.is_empty() {
        true => "not served".to_owned(),
        false => iperf.join(", "),
    };
    let mut facts = vec![("measure it", format!("wirelab measure node:{to}"))];
    if ip.is_loopback() {
        let only = "this host alone; give --listen ADDRESS to serve others";
        facts.push(("reached from", only.to_owned()));
    }
    facts.extend([
        ("interface", started.interface.clone()),
        ("layers", started.layers.join(", ")),
        ("cores", format!("{}, {work}", started.cores)),
        ("iperf", iperf),
        ("who may use it", who(args)),
    ]);
    facts.extend(
        started
            .notices
            .iter()
            .map(|notice| ("note", notice.clone())),
    );
    let title = format!(
        "node {} listens on {} (TCP and UDP)",
        started.name, started.control
    );
    show_started(title, facts);
}

/// Who may use the node.
fn who(args: &NodeServeArgs) -> String {
    let allow: Vec<String> = args.allow.iter().map(ToString::to_string).collect();
    let token = args.token.as_ref().map(|file| file.display());
    match (allow.is_empty(), token) {
        (true, None) => {
            "every host that reaches it; --allow PREFIX or --token FILE restricts that".to_owned()
        }
        (false, None) => allow.join(", "),
        (true, Some(file)) => format!("clients with the token of {file}"),
        (false, Some(file)) => format!("{} with the token of {file}", allow.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_protocols_port_unless_told_otherwise() {
        assert_eq!(address("10.0.0.1").unwrap().to_string(), "10.0.0.1:5002");
        assert_eq!(address("fd00::1").unwrap().to_string(), "[fd00::1]:5002");
        assert_eq!(address("10.0.0.1:6").unwrap().to_string(), "10.0.0.1:6");
        for bad in ["", "host", "10.0.0.1:", "10.0.0.1:99999", "10.0.0"] {
            let failure = address(bad).unwrap_err();
            assert_eq!(failure.code(), 2);
            assert!(failure.to_string().contains("e.g."), "{failure}");
        }
    }
}
