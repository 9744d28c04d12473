//! `wirelab lab`: makes and removes namespaces and veth pairs.

use wirelab_port::lab::{EphemeralLab, Lab, LabOwner, LabSpec, LabStatus, Side};
use wirelab_port::netns::NetNs;
use wirelab_report::format;

use crate::args::{LabArgs, LabCommand};
use crate::ask;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::say;

pub fn run(args: &LabArgs) -> Result {
    match &args.command {
        LabCommand::Up {
            name,
            pairs,
            mtu,
            rate,
        } => {
            let rate = rate
                .as_deref()
                .map(|r| ask::rate("--rate", r))
                .transpose()?;
            let mut spec = LabSpec::new(name, *pairs);
            spec.mtu = *mtu;
            // Until it is kept, a failure removes it with this process.
            let lab = EphemeralLab::up(&spec)?;
            if rate.is_some() {
                lab.set_link_rates(rate)?;
            }
            let lab = lab.keep()?;
            say!(
                "lab {name} is up: measure it with 'wirelab measure lab:{name}', end it with 'wirelab lab down {name}'"
            );
            if let Some(command) = way_in(&lab) {
                say!(
                    "it belongs to this user namespace; in a shell outside 'unshare' measure it with '{command}'"
                );
            }
            Ok(Outcome::Done)
        }
        LabCommand::Down { name } => {
            Lab::down(name)?;
            Ok(Outcome::Done)
        }
        LabCommand::Status { json } => status(*json),
        LabCommand::Exec {
            side,
            name,
            command,
        } => {
            let status = Lab::exec(name, ask::side(side)?, command)?;
            Ok(Outcome::Code(u8::try_from(status).unwrap_or(1)))
        }
    }
}

/// The command to measure a lab of a user namespace (`unshare -r`) from outside, whose network namespaces no other user
/// namespace can open.
fn way_in(lab: &Lab) -> Option<String> {
    let map = std::fs::read_to_string("/proc/self/uid_map").ok()?;
    if map.split_whitespace().eq(["0", "0", "4294967295"]) {
        return None;
    }
    let namespace = lab.netns(Side::Node).ok()?;
    let link = std::fs::read_link(NetNs::path(namespace.name()?).ok()?).ok()?;
    // A link to /proc/PID/ns/net.
    let holder = link.iter().nth(2)?.to_str()?;
    Some(format!(
        "nsenter --preserve-credentials --user --target {holder} wirelab measure lab:{}",
        lab.name()
    ))
}

fn status(json: bool) -> Result {
    let labs = Lab::status()?;
    if json {
        let list: Vec<_> = labs.iter().map(as_json).collect();
        say!(
            "{}",
            serde_json::to_string_pretty(&list).map_err(Failure::failed)?
        );
        return Ok(Outcome::Done);
    }
    if labs.is_empty() {
        say!("no lab on this host; make one with 'wirelab lab up'");
    }
    for lab in &labs {
        say!(
            "{} ({}, {})",
            lab.name,
            format::count(lab.pairs.into(), "pair"),
            owner(lab)
        );
        for i in &lab.interfaces {
            let state = match &i.interface {
                Ok(found) if i.is_up() => format!("up    {}", found.mac),
                Ok(found) => format!("down  {}", found.mac),
                Err(why) => format!("gone  {why}"),
            };
            let addresses: Vec<String> = i.addresses.iter().map(ToString::to_string).collect();
            say!(
                "  pair {} {:<7} {state}  {}",
                i.pair,
                i.side.to_string(),
                addresses.join(" ")
            );
        }
    }
    Ok(Outcome::Done)
}

fn owner(lab: &LabStatus) -> String {
    match lab.owner {
        LabOwner::Nobody => "stays until it is taken down".to_owned(),
        LabOwner::Process { pid, alive: true } => format!("goes with process {pid}"),
        LabOwner::Process { pid, alive: false } => format!("left behind by process {pid}"),
    }
}

fn as_json(lab: &LabStatus) -> serde_json::Value {
    let interfaces: Vec<_> = lab
        .interfaces
        .iter()
        .map(|i| {
            serde_json::json!({
                "pair": i.pair,
                "side": i.side.to_string(),
                "port": i.interface.as_ref().ok().map(|f| f.port.to_string()),
                "mac": i.interface.as_ref().ok().map(|f| f.mac.to_string()),
                "up": i.is_up(),
                "addresses": i.addresses,
            })
        })
        .collect();
    let pid = match lab.owner {
        LabOwner::Process { pid, .. } => Some(pid),
        LabOwner::Nobody => None,
    };
    serde_json::json!({ "name": lab.name, "pairs": lab.pairs, "owner_pid": pid, "interfaces": interfaces })
}
