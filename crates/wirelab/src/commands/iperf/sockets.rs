//! Socket options of both generations: addresses to bind, and kernel options.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use wirelab_iperf::v2::amount::parse_bytes;
use wirelab_iperf::{Name, SocketOptions, parse_dscp, parse_tos};

use super::wrong;
use crate::args::IperfArgs;
use crate::exit::Fallible;
use crate::terminal::complain;

/// The address of `-B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bind {
    ip: IpAddr,
    port: Option<u16>,
    device: Option<Name>,
}

/// `ADDRESS`, `ADDRESS:PORT`, `[ADDRESS]:PORT`, each with `%DEVICE` after it or after the address.
fn parse_bind(text: &str) -> Fallible<Bind> {
    let fix = "write an address such as 198.18.0.1, 198.18.0.1:5002, [::1]:5002 or 198.18.0.1%eth0";
    let none = || wrong("--bind", format_args!("invalid value '{text}'; fix: {fix}"));
    let (place, device) = match text.split_once('%') {
        None => (text.to_owned(), None),
        Some((address, rest)) => {
            // In iperf 2 the port may follow the device: ADDRESS%DEVICE:PORT.
            let end = rest.find([']', ':']).unwrap_or(rest.len());
            let (device, port) = rest.split_at(end);
            let device = device.parse().map_err(|error| wrong("--bind", error))?;
            (format!("{address}{port}"), Some(device))
        }
    };
    let bare = place.trim_start_matches('[').trim_end_matches(']');
    let (ip, port) = match (place.parse::<SocketAddr>(), bare.parse::<IpAddr>()) {
        (_, Ok(ip)) => (ip, None),
        (Ok(address), _) => (address.ip(), Some(address.port())),
        _ => return Err(none()),
    };
    if port == Some(0) {
        return Err(none());
    }
    Ok(Bind { ip, port, device })
}

fn bind(args: &IperfArgs) -> Fallible<Option<Bind>> {
    let bind = args.bind.as_deref().map(parse_bind).transpose()?;
    if let Some(bind) = bind {
        if args.ipv4 && bind.ip.is_ipv6() {
            let why = format_args!("{} is of IPv6; fix: leave -4 out", bind.ip);
            return Err(wrong("--bind", why));
        }
    }
    Ok(bind)
}

/// The address to listen on, by default with `port`.
pub fn listen(args: &IperfArgs, port: u16) -> Fallible<SocketAddr> {
    let any = match args.ipv6 {
        true => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        false => IpAddr::from(Ipv4Addr::UNSPECIFIED),
    };
    let ip = match bind(args)? {
        Some(Bind { port: Some(_), .. }) => {
            let fix = "give the address alone";
            return Err(wrong(
                "--bind",
                format_args!("it names a port, but the port of a server is that of -p; fix: {fix}"),
            ));
        }
        Some(bind) => bind.ip,
        None => any,
    };
    Ok(SocketAddr::new(ip, args.port.unwrap_or(port)))
}

/// Host and interface of `-c HOST%DEVICE`. Of an IPv6 address the interface is the zone, which is part of it.
pub fn host_and_device(text: &str) -> (&str, Option<&str>) {
    match text.split_once('%') {
        Some((host, device)) if !host.contains(':') => (host, Some(device)),
        _ => (text, None),
    }
}

/// The interface of the client's own address, or of the server's.
fn device(args: &IperfArgs, bind: Option<Bind>) -> Fallible<Option<Name>> {
    let named = args.client.as_deref();
    let named = named.and_then(|text| host_and_device(text).1);
    let named = named.map(str::parse).transpose();
    let named = named.map_err(|error| wrong("--client", error))?;
    Ok(bind.and_then(|bind| bind.device).or(named))
}

/// The chosen options of each socket.
pub fn options(args: &IperfArgs) -> Fallible<SocketOptions> {
    let options = &args.socket;
    let bind = bind(args)?;
    // A server listens on the address of `listen`.
    let client = bind.filter(|_| args.client.is_some());
    let port = client.and_then(|bind| bind.port);
    let options = SocketOptions {
        address: client.map(|bind| bind.ip),
        port: options.cport.or(port).unwrap_or(0),
        device: device(args, bind)?,
        mss_bytes: options.mss.as_deref().map(mss).transpose()?,
        no_delay: options.no_delay,
        tos: tos(args)?,
        congestion: congestion(args)?,
    };
    let of_tcp = [
        (zerocopy(args), "--zerocopy"),
        (options.mss_bytes.is_some(), "--mss"),
        (options.no_delay, "--nodelay"),
        (options.congestion.is_some(), "--congestion"),
    ];
    for (_, option) in of_tcp.iter().filter(|(given, _)| args.test.udp && *given) {
        complain(format_args!(
            "warning: {option} is for TCP: it has no effect with -u"
        ));
    }
    Ok(options)
}

fn mss(text: &str) -> Fallible<u32> {
    let bytes = parse_bytes(text).map_err(|error| wrong("--mss", error))?;
    let fix = "give 88 to 32767 bytes, as Linux takes them";
    u32::try_from(bytes)
        .map_err(|_| wrong("--mss", format_args!("invalid value {bytes}; fix: {fix}")))
}

fn tos(args: &IperfArgs) -> Fallible<Option<u8>> {
    let (tos, dscp) = (&args.socket.tos, &args.socket.dscp);
    let tos = tos.as_deref().map(parse_tos).transpose();
    let dscp = dscp.as_deref().map(parse_dscp).transpose();
    let tos = tos.map_err(|error| wrong("--tos", error))?;
    Ok(tos.or(dscp.map_err(|error| wrong("--dscp", error))?))
}

/// The algorithm of `-Z` or, in iperf3, of `-C`.
fn congestion(args: &IperfArgs) -> Fallible<Option<Name>> {
    let fix = "name an algorithm, such as reno, cubic or bbr";
    let named = |option: &str, text: &Option<String>| match text {
        Some(text) => text.parse().map_err(|error| wrong(option, error)),
        None => Err(wrong(
            option,
            format_args!("it has no algorithm; fix: {fix}"),
        )),
    };
    let long = args.socket.congestion.clone().map(Some);
    match (
        long.as_ref().or(args.socket.z.as_ref()),
        &args.test.compatibility,
    ) {
        (_, Some(algorithm)) if args.iperf3 => named("-C", algorithm).map(Some),
        (_, Some(Some(value))) => {
            let fix = "leave the value out, or write -Z for the congestion control of TCP";
            let why = format_args!("of iperf 2 takes no value, not {value}; fix: {fix}");
            Err(wrong("--compatibility", why))
        }
        // In iperf3 the letter alone is another option.
        (Some(None), _) if args.iperf3 => Ok(None),
        (Some(algorithm), _) => named("--congestion", algorithm).map(Some),
        (None, _) => Ok(None),
    }
}

/// Whether zerocopy is requested: `-Z` of iperf3, without a value.
pub fn zerocopy(args: &IperfArgs) -> bool {
    args.iperf3 && (args.three.zerocopy || args.socket.z == Some(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Option<u16>, Option<String>) {
        let bind = parse_bind(text).unwrap_or_else(|_| panic!("{text} is taken"));
        let device = bind.device.map(|device| device.to_string());
        (bind.ip.to_string(), bind.port, device)
    }

    #[test]
    fn places_as_iperf_2_writes_them() {
        let own =
            |ip: &str, port, device: Option<&str>| (ip.to_owned(), port, device.map(str::to_owned));
        assert_eq!(parsed("10.0.0.1"), own("10.0.0.1", None, None));
        assert_eq!(parsed("10.0.0.1:50"), own("10.0.0.1", Some(50), None));
        assert_eq!(parsed("10.0.0.1%eth0"), own("10.0.0.1", None, Some("eth0")));
        let all = own("10.0.0.1", Some(50), Some("eth0"));
        assert_eq!(parsed("10.0.0.1%eth0:50"), all);
        assert_eq!(parsed("::1"), own("::1", None, None));
        assert_eq!(parsed("[::1]"), own("::1", None, None));
        assert_eq!(parsed("[::1]:50"), own("::1", Some(50), None));
        assert_eq!(parsed("fe80::1%eth0"), own("fe80::1", None, Some("eth0")));
        assert_eq!(
            parsed("[fe80::1%e]:50"),
            own("fe80::1", Some(50), Some("e"))
        );
        for text in ["", "host", "10.0.0.1:0", "10.0.0.1:x", "10.0.0.1%", "%eth0"] {
            assert!(parse_bind(text).is_err(), "{text}");
        }
    }
}
