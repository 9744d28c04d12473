//! A node at the other end of a serial line, `serial:/dev/ttyUSB0[,BAUD][,port=[NS/]IF]`: the node control protocol over a
//! UART, and its frames at a port of this host.

use std::io;
use std::time::Duration;

use serial2::SerialPort;
use wirelab_control::transport::StreamTransport;
use wirelab_port::iface::{Interface, PortName};
use wirelab_trial::system_error::without_fix;
use wirelab_trial::{
    NameError, Node, NodeName, NodeType, OpenError, OpenOptions, Profile, unknown_option,
};

use crate::node::{Connect, ControlNode};

/// Rate of a line whose name has none, in Bd.
const BAUD: u32 = 115_200;
/// Rates that a UART may have.
const BAUDS: std::ops::RangeInclusive<u32> = 1200..=12_000_000;
/// Longest single wait of a read or write.
const WAIT: Duration = Duration::from_millis(2);
const KNOWN: &str = "write /dev/ttyUSB0, with ,BAUD (115200 by default) and ,port=[NS/]IF, the port of this host that hears the node";

/// The node type of `serial:`.
pub static SERIAL: NodeType = NodeType {
    about: "firmware controlled over a serial line; its frames arrive at a port of this host",
    target: "DEVICE[,BAUD][,port=[NS/]IF]",
    examples: &["serial:/dev/ttyUSB0,port=eth1"],
    profile: |_| Profile::USUAL,
    ..NodeType::new("serial", open)
};

/// The parts of a name.
#[derive(Debug, PartialEq)]
struct SerialTarget {
    device: String,
    baud: u32,
    port: Option<PortName>,
}

impl SerialTarget {
    fn of(name: &NodeName) -> Result<SerialTarget, NameError> {
        let wrong = |why: String| NameError::new(name, why);
        let mut line = SerialTarget {
            device: name.target().to_owned(),
            baud: BAUD,
            port: None,
        };
        if !line.device.starts_with('/') {
            return Err(wrong(format!(
                "a serial line is a device file; fix: {KNOWN}"
            )));
        }
        for (key, value) in name.options() {
            match (key, value) {
                ("port", Some(value)) => {
                    let port = value.parse::<PortName>();
                    line.port = Some(port.map_err(|error| wrong(error.to_string()))?);
                }
                (digits, None) if digits.starts_with(|c: char| c.is_ascii_digit()) => {
                    let baud = digits.parse().ok().filter(|baud| BAUDS.contains(baud));
                    let why = || {
                        wrong(format!(
                            "invalid rate '{digits}'; fix: write a number of bauds, e.g. 115200"
                        ))
                    };
                    line.baud = baud.ok_or_else(why)?;
                }
                (other, _) => {
                    return Err(wrong(unknown_option(other, &["port"], KNOWN)));
                }
            }
        }
        Ok(line)
    }

    fn connect(&self) -> io::Result<StreamTransport<SerialPort>> {
        let mut port = SerialPort::open(&self.device, self.baud)?;
        port.set_read_timeout(WAIT)?;
        port.set_write_timeout(Duration::from_secs(1))?;
        // What the board printed before is not an answer.
        port.discard_buffers()?;
        StreamTransport::new(port)
    }
}

fn open(name: &NodeName, options: &OpenOptions) -> Result<Box<dyn Node>, OpenError> {
    let line = SerialTarget::of(name)?;
    let port = line.port.as_ref().map(Interface::query);
    let port = port.transpose().map_err(OpenError::usage)?;
    let device = line.device.clone();
    // Opened once to distinguish a missing device from a board that does not answer.
    drop(line.connect().map_err(|error| no_device(&device, &error))?);
    let baud = line.baud;
    let connect: Connect = Box::new(move || Ok(Box::new(line.connect()?)));
    let node = ControlNode::at_port(&name.to_string(), SERIAL.name, port, connect);
    let mut node = node.map_err(|error| {
        let error = error.to_string();
        // The fix for a host on a network does not help on a serial line.
        let what = without_fix(&error);
        OpenError::failed(format!(
            "{device} at {baud} Bd: {what}; fix: give the board firmware with wirelab's protocol and a UART of this rate, and \
             end other programs that hold the line"
        ))
    })?;
    node.know([("serial_line".to_owned(), format!("{device}, {baud} Bd"))]);
    Ok(Box::new(node.with_ports(options.ports)))
}

/// Why a device cannot be opened, with those that are there.
fn no_device(device: &str, error: &io::Error) -> OpenError {
    let fix = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "join the group of the device (often dialout), or run as root".to_owned()
        }
        _ => {
            let all = SerialPort::available_ports().unwrap_or_default();
            let all: Vec<String> = all.iter().map(|path| path.display().to_string()).collect();
            match all.is_empty() {
                true => "connect the adapter: this host has no serial line".to_owned(),
                false => format!("name one that is there: {}", all.join(", ")),
            }
        }
    };
    let text = format!("{device}: {error}; fix: {fix}");
    match error.kind() {
        io::ErrorKind::PermissionDenied => OpenError::Privilege(text),
        _ => OpenError::Usage(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_rate_and_a_port() {
        let line = |text: &str| SerialTarget::of(&text.parse().unwrap()).unwrap();
        let plain = line("serial:/dev/ttyUSB0");
        assert_eq!((plain.baud, plain.port), (115_200, None));
        let all = line("serial:/dev/ttyACM1,921600,port=lab/n0");
        assert_eq!((&*all.device, all.baud), ("/dev/ttyACM1", 921_600));
        assert_eq!(all.port, Some("lab/n0".parse().unwrap()));
    }

    #[test]
    fn what_is_no_line_is_refused_with_the_fix() {
        for (text, words) in [
            (
                "serial:ttyUSB0",
                "is a device file; fix: write /dev/ttyUSB0",
            ),
            ("serial:/dev/ttyUSB0,7", "invalid rate '7'"),
            ("serial:/dev/ttyUSB0,9600x", "invalid rate '9600x'"),
            (
                "serial:/dev/ttyUSB0,prot=eth1",
                "unknown option 'prot'; did you mean 'port'? fix: ",
            ),
            ("serial:/dev/no-such-line", "/dev/no-such-line: "),
            ("serial:/dev/null,port=no-such-port0", "no-such-port0"),
        ] {
            let opened = open(&text.parse().unwrap(), &OpenOptions::default());
            let why = opened.err().unwrap().to_string();
            assert!(why.contains(words), "{text}: {why}");
        }
    }
}
