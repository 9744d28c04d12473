//! Rules of the packet identifier: which frames go past the stack of a Linux node, and the reference for matching.
//!
//! A rule is written `port=1026:1027,priority=6`, `ethertype=0x88b5` or `own,protocol=17`, and matches if all its
//! conditions hold. Several rules are separated by `;`, and a frame matches if it matches any of them. Firmware
//! has the same as `wl_rule` in `firmware/lib/include/wirelab/identify.h`; both define a whole packet in
//! the same way.

use core::fmt;
use core::str::FromStr;

mod headers;

pub use headers::Datagram;
use headers::FrameParts;

/// Most rules of one packet identifier.
pub const MAX_RULES: usize = 8;
/// Most UDP ports of one rule.
pub const MAX_PORTS: usize = 8;
/// Most own IP addresses of a port.
pub const MAX_ADDRESSES: usize = 8;

/// A list of at most `N` values, without allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedList<T, const N: usize> {
    items: [T; N],
    count: u8,
}

impl<T: Copy + Default, const N: usize> FixedList<T, N> {
    /// The list of `items`; `None` if they are more than `N`.
    pub fn of(items: &[T]) -> Option<FixedList<T, N>> {
        let mut list = FixedList::default();
        items.iter().all(|item| list.push(*item)).then_some(list)
    }

    /// Append an item; false if the list is full.
    pub fn push(&mut self, item: T) -> bool {
        let Some(slot) = self.items.get_mut(usize::from(self.count)) else {
            return false;
        };
        *slot = item;
        self.count += 1;
        true
    }
}

impl<T: Copy + Default, const N: usize> Default for FixedList<T, N> {
    fn default() -> Self {
        FixedList {
            items: [T::default(); N],
            count: 0,
        }
    }
}

impl<T, const N: usize> core::ops::Deref for FixedList<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items[..usize::from(self.count)]
    }
}

/// The conditions of a match. Without conditions every frame matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The EtherType after the VLAN tags.
    pub ether_type: Option<u16>,
    /// Sent to the port's own MAC address and, if it is IP, as a whole packet to one of the port's IP addresses.
    pub own_address: bool,
    /// A whole packet of IP with this protocol (IPv6: the next header of the fixed header).
    pub protocol: Option<u8>,
    /// A whole UDP datagram to one of these ports; an empty list is not a condition.
    pub udp_ports: FixedList<u16, MAX_PORTS>,
    /// The outer VLAN tag has this priority (IEEE 802.1Q PCP, 0 to 7); untagged frames have none.
    pub priority: Option<u8>,
}

/// The addresses of the port on which frames arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortAddresses {
    /// The MAC address.
    pub mac: [u8; 6],
    /// The IP addresses; those of IPv4 are mapped into IPv6 (`::ffff:a.b.c.d`, RFC 4291, 2.5.5.2).
    pub addresses: FixedList<[u8; 16], MAX_ADDRESSES>,
}

impl PortAddresses {
    /// An IPv4 address in the form of [`PortAddresses::addresses`].
    pub fn mapped(ipv4: [u8; 4]) -> [u8; 16] {
        let mut address = [0; 16];
        address[10..12].fill(0xFF);
        address[12..].copy_from_slice(&ipv4);
        address
    }
}

impl Rule {
    /// Whether a frame (destination address first, without FCS) that arrives at `own` matches.
    pub fn matches(&self, frame: &[u8], own: &PortAddresses) -> bool {
        FrameParts::in_frame(frame).is_some_and(|found| self.wants(&found, own))
    }

    fn wants(&self, found: &FrameParts<'_>, own: &PortAddresses) -> bool {
        let is_own = || found.destination == own.mac && (!found.is_ip() || found.is_to(own));
        let to_port = |port| self.udp_ports.contains(&port);
        self.ether_type.is_none_or(|t| t == found.ether_type)
            && self.priority.is_none_or(|p| found.priority == Some(p))
            && self
                .protocol
                .is_none_or(|p| found.ip.is_some_and(|ip| ip.protocol == p))
            && (self.udp_ports.is_empty()
                || found.udp.is_some_and(|udp| to_port(udp.destination_port)))
            && (!self.own_address || is_own())
    }
}

/// The UDP datagram in a frame (destination address first, without FCS), if it is a whole one.
pub fn datagram(frame: &[u8]) -> Option<Datagram<'_>> {
    FrameParts::in_frame(frame)?.udp
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        let mut next = || core::mem::replace(&mut comma, ",");
        if let Some(t) = self.ether_type {
            write!(f, "{}ethertype={t:#06x}", next())?;
        }
        if self.own_address {
            write!(f, "{}own", next())?;
        }
        if let Some(p) = self.protocol {
            write!(f, "{}protocol={p}", next())?;
        }
        if let Some((first, rest)) = self.udp_ports.split_first() {
            write!(f, "{}port={first}", next())?;
            rest.iter().try_for_each(|port| write!(f, ":{port}"))?;
        }
        if let Some(p) = self.priority {
            write!(f, "{}priority={p}", next())?;
        }
        Ok(())
    }
}

/// The rules of one packet identifier, at least one after parsing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules(pub FixedList<Rule, MAX_RULES>);

impl Rules {
    /// Whether any rule matches the frame.
    pub fn match_any(&self, frame: &[u8], own: &PortAddresses) -> bool {
        self.0.iter().any(|rule| rule.matches(frame, own))
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, rule) in self.0.iter().enumerate() {
            write!(f, "{}{rule}", if i == 0 { "" } else { ";" })?;
        }
        Ok(())
    }
}

/// Why a text is not a rule, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule of the fast track, character {place}: {fault}")]
pub struct RuleError {
    /// The character at which the faulty part begins, counted from 1.
    pub place: usize,
    /// What is wrong there.
    pub fault: RuleFault,
}

/// What is wrong in a part of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleFault {
    /// An unknown word.
    #[error(
        "not known; fix: write a rule of ethertype=0x88b5, own, protocol=17, port=1026:1027 and priority=6, with commas \
         between them and ';' between rules"
    )]
    Word,
    /// Repeated in one rule.
    #[error("repeated in one rule; fix: write a second rule after a ';'")]
    Twice,
    /// Not a number of the field.
    #[error("{field} takes a number from 0 to {greatest}; fix: write e.g. {field}={example}")]
    Number {
        /// The word before the `=`.
        field: &'static str,
        /// The largest number.
        greatest: u16,
        /// A valid number.
        example: &'static str,
    },
    /// More UDP ports than the limit of a rule.
    #[error("a rule has {MAX_PORTS} ports at most; fix: write a second rule after a ';'")]
    Ports,
    /// More rules than the limit of a packet identifier.
    #[error("there are {MAX_RULES} rules at most; fix: leave some out")]
    Rules,
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Rule, RuleError> {
        parse_rule(text, 1)
    }
}

impl FromStr for Rules {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Rules, RuleError> {
        let mut rules = Rules::default();
        for (place, part) in parts(text, ';', 1) {
            if !rules.0.push(parse_rule(part, place)?) {
                let fault = RuleFault::Rules;
                return Err(RuleError { place, fault });
            }
        }
        Ok(rules)
    }
}

/// The parts of a text with the position of their first character; `first` is that of the text.
fn parts(text: &str, separator: char, first: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut place = first;
    text.split(separator).map(move |part| {
        let begins = place;
        place += part.chars().count() + 1;
        (begins, part)
    })
}

fn parse_rule(text: &str, first: usize) -> Result<Rule, RuleError> {
    let mut rule = Rule::default();
    for (place, word) in parts(text, ',', first) {
        set(&mut rule, word).map_err(|fault| RuleError { place, fault })?;
    }
    Ok(rule)
}

fn set(rule: &mut Rule, word: &str) -> Result<(), RuleFault> {
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    let twice = match key {
        "own" if word == "own" => core::mem::replace(&mut rule.own_address, true),
        "ethertype" => {
            let value = number("ethertype", value, u16::MAX, "0x88b5")?;
            rule.ether_type.replace(value).is_some()
        }
        "protocol" => {
            let value = number("protocol", value, 255, "17")? as u8;
            rule.protocol.replace(value).is_some()
        }
        "priority" => {
            let value = number("priority", value, 7, "6")? as u8;
            rule.priority.replace(value).is_some()
        }
        "port" => {
            let twice = !rule.udp_ports.is_empty();
            for port in value.split(':') {
                if !rule.udp_ports.push(number("port", port, u16::MAX, "1026")?) {
                    return Err(RuleFault::Ports);
                }
            }
            twice
        }
        _ => return Err(RuleFault::Word),
    };
    if twice { Err(RuleFault::Twice) } else { Ok(()) }
}

fn number(
    field: &'static str,
    text: &str,
    greatest: u16,
    example: &'static str,
) -> Result<u16, RuleFault> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // The standard parser would accept a sign.
    let plain = digits.chars().all(|c| c.is_digit(radix));
    u16::from_str_radix(digits, radix)
        .ok()
        .filter(|n| plain && *n <= greatest)
        .ok_or(RuleFault::Number {
            field,
            greatest,
            example,
        })
}

/// For fuzzing: the first line is parsed as rules, the rest is a frame to match. A parsed rule has at least one
/// condition.
pub fn fuzz_rules(bytes: &[u8]) {
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    let frame = bytes.get(line.len() + 1..).unwrap_or_default();
    let Some(Ok(rules)) = core::str::from_utf8(line).ok().map(str::parse::<Rules>) else {
        return;
    };
    let own = PortAddresses {
        mac: frame.first_chunk().copied().unwrap_or_default(),
        addresses: FixedList::of(&[PortAddresses::mapped([198, 18, 0, 2])]).unwrap_or_default(),
    };
    assert!(rules.0.iter().all(|rule| *rule != Rule::default()));
    let _ = rules.match_any(frame, &own);
}

#[cfg(test)]
mod tests;
