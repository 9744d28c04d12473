//! `wirelab lab`: makes and removes namespaces and veth pairs.

use std::net::IpAddr;

use serde::Serialize;
use wirelab_port::lab::{EphemeralLab, Lab, LabInterface, LabOwner, LabSpec, LabStatus, Side};
use wirelab_port::netns::NetNs;
use wirelab_report::document::Block;
use wirelab_report::document::table::{Cell, Table};
use wirelab_report::format;

use crate::args::{LabArgs, LabCommand};
use crate::ask;
use crate::exit::{Outcome, Result};
use crate::terminal::{say, show, show_json};

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
            if let Some(command) = shell_command(&lab) {
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
fn shell_command(lab: &Lab) -> Option<String> {
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
        show_json(&labs.iter().map(LabRecord::of).collect::<Vec<_>>())?;
        return Ok(Outcome::Done);
    }
    if labs.is_empty() {
        say!("no lab on this host; make one with 'wirelab lab up'");
    }
    let tables = labs.iter().map(|lab| Block::Table(interfaces(lab)));
    show(String::new(), tables.collect());
    Ok(Outcome::Done)
}

fn interfaces(lab: &LabStatus) -> Table {
    let heads = ["pair", "side", "link", "MAC", "addresses"];
    let heads = heads.map(|name| (name, name == "pair"));
    let row = |i: &LabInterface| {
        let (link, mac) = match &i.interface {
            Ok(found) if i.is_up() => (Cell::from("up"), found.mac.to_string()),
            Ok(found) => (Cell::from("down"), found.mac.to_string()),
            Err(why) => {
                let gone = Cell::Noted {
                    text: "gone".to_owned(),
                    note: why.to_string(),
                    kind: None,
                    alarm: true,
                };
                (gone, String::new())
            }
        };
        let addresses: Vec<String> = i.addresses.iter().map(ToString::to_string).collect();
        let pair = format::integer(i.pair.into());
        let side = i.side.to_string();
        vec![
            pair.into(),
            side.into(),
            link,
            mac.into(),
            addresses.join(" ").into(),
        ]
    };
    let pairs = format::count(lab.pairs.into(), "pair");
    Table {
        caption: format!("{} ({pairs}, {})", lab.name, owner(lab)),
        ..Table::sentences(heads.into(), lab.interfaces.iter().map(row).collect())
    }
}

fn owner(lab: &LabStatus) -> String {
    match lab.owner {
        LabOwner::Nobody => "stays until it is taken down".to_owned(),
        LabOwner::Process { pid, alive: true } => format!("ends with process {pid}"),
        LabOwner::Process { pid, alive: false } => format!("left behind by process {pid}"),
    }
}

/// A lab, as `lab status --json` prints it.
#[derive(Serialize)]
struct LabRecord<'a> {
    name: &'a str,
    pairs: u8,
    owner_pid: Option<u32>,
    interfaces: Vec<InterfaceRecord<'a>>,
}

#[derive(Serialize)]
struct InterfaceRecord<'a> {
    pair: u8,
    side: String,
    port: Option<String>,
    mac: Option<String>,
    up: bool,
    addresses: &'a [IpAddr],
}

impl<'a> LabRecord<'a> {
    fn of(lab: &'a LabStatus) -> LabRecord<'a> {
        let interface = |i: &'a LabInterface| {
            let found = i.interface.as_ref().ok();
            InterfaceRecord {
                pair: i.pair,
                side: i.side.to_string(),
                port: found.map(|found| found.port.to_string()),
                mac: found.map(|found| found.mac.to_string()),
                up: i.is_up(),
                addresses: &i.addresses,
            }
        };
        LabRecord {
            name: &lab.name,
            pairs: lab.pairs,
            owner_pid: match lab.owner {
                LabOwner::Process { pid, .. } => Some(pid),
                LabOwner::Nobody => None,
            },
            interfaces: lab.interfaces.iter().map(interface).collect(),
        }
    }
}
