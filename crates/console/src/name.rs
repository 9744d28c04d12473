//! Names of consoles: `serial:DEVICE[,BAUD]`, `tcp:HOST:PORT`, `unix:PATH`, `ssh:USER@HOST`, `exec:COMMAND`.

use std::fmt;
use std::str::FromStr;

use wirelab_trial::nearest::did_you_mean;

/// Baud rate of a serial line whose name has none.
pub const BAUD: u32 = 115_200;

/// How a console is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsoleName {
    /// A serial line.
    Serial {
        /// Its device.
        device: String,
        /// Bits per second.
        baud: u32,
    },
    /// A TCP port, with or without telnet.
    Tcp {
        /// `HOST:PORT`.
        address: String,
    },
    /// A Unix socket, as emulators have them.
    Unix {
        /// Its path.
        path: String,
    },
    /// A login by the system's `ssh`.
    Ssh {
        /// `[USER@]HOST[:PORT]`.
        target: String,
    },
    /// A command of this host on a pseudo terminal.
    Exec {
        /// The command, for the shell.
        command: String,
    },
}

/// A text that is no console.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid console '{text}': {why}; fix: write serial:/dev/ttyUSB0,115200, tcp:HOST:PORT, unix:PATH, ssh:USER@HOST or exec:COMMAND"
)]
pub struct ConsoleNameError {
    text: String,
    why: String,
}

/// Reads the text after a type's colon.
type Read = fn(&str) -> Result<ConsoleName, &'static str>;

const TYPES: [(&str, Read); 5] = [
    ("serial", serial),
    ("tcp", tcp),
    ("unix", |target| {
        let path = target.to_owned();
        Ok(ConsoleName::Unix { path })
    }),
    ("ssh", ssh),
    ("exec", |target| {
        let command = target.to_owned();
        Ok(ConsoleName::Exec { command })
    }),
];

impl FromStr for ConsoleName {
    type Err = ConsoleNameError;

    fn from_str(text: &str) -> Result<ConsoleName, ConsoleNameError> {
        let bad = |why: &str| ConsoleNameError {
            text: text.chars().take(100).collect(),
            why: why.to_owned(),
        };
        let (transport, target) = text
            .split_once(':')
            .ok_or_else(|| bad("its type is missing"))?;
        if target.trim().is_empty() {
            return Err(bad("nothing follows the colon"));
        }
        if target.contains('\0') {
            return Err(bad("it has a zero byte"));
        }
        match TYPES.into_iter().find(|(name, _)| *name == transport) {
            Some((_, read)) => read(target).map_err(bad),
            None => {
                let meant = did_you_mean(transport, TYPES.into_iter().map(|(name, _)| name));
                let why = format!("there is no such type; {meant}");
                Err(bad(why.trim_end_matches([' ', ';'])))
            }
        }
    }
}

fn ssh(target: &str) -> Result<ConsoleName, &'static str> {
    if target.starts_with('-') || target.contains(char::is_whitespace) {
        return Err("a host has no spaces and begins with no '-'");
    }
    Ok(ConsoleName::Ssh {
        target: target.to_owned(),
    })
}

fn serial(target: &str) -> Result<ConsoleName, &'static str> {
    let (device, baud) = match target.split_once(',') {
        None => (target, Ok(BAUD)),
        Some((device, baud)) => (device, baud.parse()),
    };
    let baud = baud.ok().filter(|baud| (50..=12_000_000).contains(baud));
    let baud = baud.ok_or("a baud rate is a number from 50 to 12000000")?;
    if device.is_empty() {
        return Err("the device is missing");
    }
    Ok(ConsoleName::Serial {
        device: device.to_owned(),
        baud,
    })
}

fn tcp(target: &str) -> Result<ConsoleName, &'static str> {
    let (host, port) = target.rsplit_once(':').ok_or("the port is missing")?;
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err("the host is missing");
    }
    match port.parse::<u16>() {
        Ok(port) if port > 0 => Ok(ConsoleName::Tcp {
            address: target.to_owned(),
        }),
        _ => Err("a port is a number from 1 to 65535"),
    }
}

impl fmt::Display for ConsoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConsoleName::Serial { device, baud } => write!(f, "serial:{device},{baud}"),
            ConsoleName::Tcp { address } => write!(f, "tcp:{address}"),
            ConsoleName::Unix { path } => write!(f, "unix:{path}"),
            ConsoleName::Ssh { target } => write!(f, "ssh:{target}"),
            ConsoleName::Exec { command } => write!(f, "exec:{command}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_shown() {
        for (text, shown) in [
            ("serial:/dev/ttyUSB0", "serial:/dev/ttyUSB0,115200"),
            ("serial:/dev/ttyACM1,921600", "serial:/dev/ttyACM1,921600"),
            ("tcp:192.168.1.10:23", "tcp:192.168.1.10:23"),
            ("tcp:[fe80::1]:4000", "tcp:[fe80::1]:4000"),
            ("unix:/run/a:b,c.sock", "unix:/run/a:b,c.sock"),
            ("ssh:root@board", "ssh:root@board"),
            (
                "exec:picocom -b 115200 /dev/x",
                "exec:picocom -b 115200 /dev/x",
            ),
        ] {
            let name: ConsoleName = text.parse().unwrap();
            assert_eq!(name.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_console_says_what_is() {
        for (text, why) in [
            ("/dev/ttyUSB0", "its type is missing"),
            ("uart:/dev/ttyUSB0", "there is no such type"),
            ("serial:", "nothing follows"),
            ("serial:,9600", "the device is missing"),
            ("serial:/dev/ttyUSB0,fast", "a baud rate is a number"),
            ("serial:/dev/ttyUSB0,0", "a baud rate is a number"),
            ("tcp:host", "the port is missing"),
            ("tcp:host:telnet", "a port is a number"),
            ("tcp::23", "the host is missing"),
            ("unix:", "nothing follows"),
            ("ssh:-oProxyCommand=x", "begins with no '-'"),
            ("exec:a\0b", "zero byte"),
        ] {
            let error = text.parse::<ConsoleName>().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("fix: "), "{error}");
        }
    }
}
