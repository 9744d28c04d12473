//! The four sizes of a frame, never mixed, and the headers between them.

use crate::{header, lfsr};

/// Length of the Ethernet header (destination, source, EtherType) in bytes.
pub const ETHERNET_HEADER: u32 = 14;
/// Length of one VLAN tag in bytes (IEEE 802.1Q).
pub const VLAN_TAG: u32 = 4;
/// Length of the frame check sequence in bytes.
pub const FCS: u32 = 4;
/// Smallest frame of Ethernet in bytes, with FCS (IEEE 802.3).
pub const MIN_FRAME: u32 = 64;

/// The layer whose data a trial sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Layer {
    /// The payload is the test data itself.
    #[default]
    Ethernet,
    /// UDP over IPv4 without options.
    #[cfg_attr(feature = "serde", serde(rename = "udp_ipv4"))]
    UdpIpv4,
    /// UDP over IPv6 without extension headers.
    #[cfg_attr(feature = "serde", serde(rename = "udp_ipv6"))]
    UdpIpv6,
    /// TCP over IPv4 without options.
    #[cfg_attr(feature = "serde", serde(rename = "tcp_ipv4"))]
    TcpIpv4,
    /// TCP over IPv6 without options.
    #[cfg_attr(feature = "serde", serde(rename = "tcp_ipv6"))]
    TcpIpv6,
}

impl Layer {
    /// All layers, in the order of lists.
    pub const ALL: [Layer; 5] = [
        Layer::Ethernet,
        Layer::UdpIpv4,
        Layer::UdpIpv6,
        Layer::TcpIpv4,
        Layer::TcpIpv6,
    ];

    /// Its word in files and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Layer::Ethernet => "ethernet",
            Layer::UdpIpv4 => "udp4",
            Layer::UdpIpv6 => "udp6",
            Layer::TcpIpv4 => "tcp4",
            Layer::TcpIpv6 => "tcp6",
        }
    }

    /// The layer of a word.
    pub fn of_word(word: &str) -> Option<Layer> {
        Layer::ALL.into_iter().find(|layer| layer.word() == word)
    }

    /// Whether it is UDP, over either IP.
    pub const fn is_udp(self) -> bool {
        matches!(self, Layer::UdpIpv4 | Layer::UdpIpv6)
    }

    /// Whether it is TCP, over either IP.
    pub const fn is_tcp(self) -> bool {
        matches!(self, Layer::TcpIpv4 | Layer::TcpIpv6)
    }

    /// Bytes of network and transport header at the start of the payload (RFC 791, 8200, 768, 9293).
    pub const fn header_bytes(self) -> u32 {
        match self {
            Layer::Ethernet => 0,
            Layer::UdpIpv4 => 20 + 8,
            Layer::UdpIpv6 => 40 + 8,
            Layer::TcpIpv4 => 20 + 20,
            Layer::TcpIpv6 => 40 + 20,
        }
    }
}

/// The headers around the data: VLAN tags and the layer's headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Framing {
    /// The layer the data belong to.
    pub layer: Layer,
    /// Number of VLAN tags, 0 to 2.
    pub vlan_tags: u8,
}

impl Framing {
    /// Header bytes before the payload: the Ethernet header and the tags.
    pub const fn header_bytes(self) -> u32 {
        ETHERNET_HEADER + VLAN_TAG * self.vlan_tags as u32
    }

    /// The smallest frame that carries a test header in this framing, in bytes with FCS.
    pub const fn min_test_frame(self) -> u32 {
        let needed = self.header_bytes() + self.layer.header_bytes() + header::LEN as u32 + FCS;
        if needed > MIN_FRAME {
            needed
        } else {
            MIN_FRAME
        }
    }

    /// The largest frame whose LFSR part fits the payload table, in bytes with FCS.
    pub const fn max_test_frame(self) -> u32 {
        self.header_bytes()
            + self.layer.header_bytes()
            + (header::LEN + lfsr::MAX_BYTES) as u32
            + FCS
    }
}

/// The meaning of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum SizeUnit {
    /// Destination address through FCS (RFC 2544: 64 to 1518).
    Frame,
    /// The frame without its FCS, as a capture shows it.
    Length,
    /// The bytes after the Ethernet header and its tags, without FCS.
    Payload,
    /// UDP payload.
    Datagram,
}

impl SizeUnit {
    /// Bytes in this unit of a test frame of `frame` bytes, at least those of the smallest one in this framing.
    pub const fn of_frame(self, frame: u32, framing: Framing) -> u32 {
        let length = frame - FCS;
        match self {
            SizeUnit::Frame => frame,
            SizeUnit::Length => length,
            SizeUnit::Payload => length - framing.header_bytes(),
            // A datagram is at least the test header, with any padding.
            SizeUnit::Datagram if frame == MIN_FRAME => header::LEN as u32,
            SizeUnit::Datagram => length - framing.header_bytes() - framing.layer.header_bytes(),
        }
    }

    /// Its word in the vocabulary.
    pub const fn name(self) -> &'static str {
        match self {
            SizeUnit::Frame => "frame",
            SizeUnit::Length => "length",
            SizeUnit::Payload => "payload",
            SizeUnit::Datagram => "datagram",
        }
    }
}

/// A requested size: a number of bytes and their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Size {
    /// The meaning of the bytes.
    pub unit: SizeUnit,
    /// The number of bytes.
    pub bytes: u32,
}

impl Size {
    /// The frame sizes of RFC 2544 for Ethernet, in bytes.
    pub const RFC_2544_FRAMES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

    /// The usual sizes of a layer: RFC 2544's frames, the usual datagrams of iperf, a full TCP segment.
    pub fn usual(layer: Layer) -> impl DoubleEndedIterator<Item = Size> {
        let (unit, bytes): (_, &[u32]) = match layer {
            Layer::Ethernet => (SizeUnit::Frame, &Size::RFC_2544_FRAMES),
            Layer::UdpIpv4 | Layer::UdpIpv6 => (SizeUnit::Datagram, &[64, 256, 512, 1024, 1470]),
            Layer::TcpIpv4 => (SizeUnit::Datagram, &[1460]),
            Layer::TcpIpv6 => (SizeUnit::Datagram, &[1440]),
        };
        bytes.iter().map(move |bytes| Size::new(unit, *bytes))
    }
}

/// All four sizes of one frame, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
pub struct Sizes {
    /// Destination address through FCS.
    #[cfg_attr(feature = "serde", serde(rename = "frame_bytes"))]
    pub frame: u32,
    /// Without FCS.
    #[cfg_attr(feature = "serde", serde(rename = "length_bytes"))]
    pub length: u32,
    /// After the Ethernet header and its tags, without FCS.
    #[cfg_attr(feature = "serde", serde(rename = "payload_bytes"))]
    pub payload: u32,
    /// UDP (or TCP) data; absent on Ethernet trials.
    #[cfg_attr(feature = "serde", serde(rename = "datagram_bytes"))]
    pub datagram: Option<u32>,
}

/// Why a size cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Smaller than the smallest frame with a test header in this framing.
    #[error(
        "{} {bytes} is too small: the smallest test frame with this framing has {min}; fix: give {min} or more",
        unit.name()
    )]
    TooSmall {
        /// The requested unit.
        unit: SizeUnit,
        /// Its bytes.
        bytes: u32,
        /// The smallest value in the same unit.
        min: u32,
    },
    /// Larger than the payload table allows.
    #[error("{} {bytes} is too large: the largest test frame has {max}; fix: give {max} or less", unit.name())]
    TooLarge {
        /// The requested unit.
        unit: SizeUnit,
        /// Its bytes.
        bytes: u32,
        /// The largest value in the same unit.
        max: u32,
    },
    /// A datagram size on a layer without datagrams.
    #[error(
        "a datagram size needs UDP or TCP; fix: choose --frame, --length or --payload on Ethernet"
    )]
    NoDatagram,
}

impl Size {
    /// A size of `bytes` counted as `unit`.
    pub const fn new(unit: SizeUnit, bytes: u32) -> Size {
        Size { unit, bytes }
    }

    /// All four sizes in this framing, without a check of limits; only padding is applied: a frame is at least 64
    /// bytes.
    ///
    /// # Errors
    /// [`SizeError::NoDatagram`] for a datagram size on a layer without datagrams.
    pub fn resolve(self, framing: Framing) -> Result<Sizes, SizeError> {
        let headers = framing.header_bytes();
        let inner = framing.layer.header_bytes();
        let payload = match self.unit {
            SizeUnit::Frame => self.bytes.saturating_sub(headers + FCS),
            SizeUnit::Length => self.bytes.saturating_sub(headers),
            SizeUnit::Payload => self.bytes,
            SizeUnit::Datagram if framing.layer == Layer::Ethernet => {
                return Err(SizeError::NoDatagram);
            }
            SizeUnit::Datagram => self.bytes.saturating_add(inner),
        };
        let payload = payload.max((MIN_FRAME - FCS).saturating_sub(headers));
        let length = payload.saturating_add(headers);
        let datagram = match (framing.layer, self.unit) {
            (Layer::Ethernet, _) => None,
            // Padding of a short frame does not belong to the datagram.
            (_, SizeUnit::Datagram) => Some(self.bytes),
            _ => Some(payload.saturating_sub(inner)),
        };
        Ok(Sizes {
            frame: length.saturating_add(FCS),
            length,
            payload,
            datagram,
        })
    }

    /// All four sizes, checked against the limits of a test frame in this framing.
    ///
    /// # Errors
    /// [`SizeError`] gives the limit in the requested unit.
    pub fn resolve_test(self, framing: Framing) -> Result<Sizes, SizeError> {
        let min = self.unit.of_frame(framing.min_test_frame(), framing);
        let max = self.unit.of_frame(framing.max_test_frame(), framing);
        let sizes = self.resolve(framing)?;
        let (unit, bytes) = (self.unit, self.bytes);
        if bytes < min {
            return Err(SizeError::TooSmall { unit, bytes, min });
        }
        if bytes > max {
            return Err(SizeError::TooLarge { unit, bytes, max });
        }
        Ok(sizes)
    }
}

impl Sizes {
    /// Length in bytes of the LFSR part of a test frame of this size.
    pub const fn lfsr_len(&self) -> u32 {
        match self.datagram {
            Some(datagram) => datagram.saturating_sub(header::LEN as u32),
            None => self.payload.saturating_sub(header::LEN as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn framing(layer: Layer, vlan_tags: u8) -> Framing {
        Framing { layer, vlan_tags }
    }

    #[test]
    fn smallest_frames_are_those_of_the_specification() {
        assert_eq!(framing(Layer::Ethernet, 0).min_test_frame(), 64);
        assert_eq!(framing(Layer::Ethernet, 1).min_test_frame(), 64);
        assert_eq!(framing(Layer::UdpIpv4, 0).min_test_frame(), 64);
        assert_eq!(framing(Layer::UdpIpv4, 1).min_test_frame(), 68);
        assert_eq!(framing(Layer::UdpIpv6, 0).min_test_frame(), 84);
    }

    #[test]
    fn the_zynq_documents_64_bytes() {
        // Its 64 bytes are a capture length: a 68-byte frame with a 22-byte datagram.
        let sizes = Size::new(SizeUnit::Length, 64)
            .resolve(framing(Layer::UdpIpv4, 0))
            .unwrap();
        assert_eq!(
            sizes,
            Sizes {
                frame: 68,
                length: 64,
                payload: 50,
                datagram: Some(22)
            }
        );
    }

    #[test]
    fn too_small_names_the_limit_in_the_unit_asked() {
        let error = Size::new(SizeUnit::Frame, 60)
            .resolve_test(Framing::default())
            .unwrap_err();
        assert_eq!(
            std::format!("{error}"),
            "frame 60 is too small: the smallest test frame with this framing has 64; fix: give 64 or more"
        );
        let error = Size::new(SizeUnit::Datagram, 17)
            .resolve_test(framing(Layer::UdpIpv4, 0))
            .unwrap_err();
        assert_eq!(
            error,
            SizeError::TooSmall {
                unit: SizeUnit::Datagram,
                bytes: 17,
                min: 18
            }
        );
        assert_eq!(
            Size::new(SizeUnit::Datagram, 64).resolve(Framing::default()),
            Err(SizeError::NoDatagram)
        );
    }

    proptest! {
        #[test]
        fn the_four_sizes_agree(bytes in 64u32..9000, tags in 0u8..3, layer in 0usize..5, unit in 0usize..3) {
            let layer =
                [Layer::Ethernet, Layer::UdpIpv4, Layer::UdpIpv6, Layer::TcpIpv4, Layer::TcpIpv6][layer];
            let unit = [SizeUnit::Frame, SizeUnit::Length, SizeUnit::Payload][unit];
            let f = framing(layer, tags);
            let s = Size::new(unit, bytes + 100).resolve(f).unwrap();
            prop_assert_eq!(s.frame, s.length + 4);
            prop_assert_eq!(s.length, s.payload + 14 + 4 * u32::from(tags));
            if let Some(d) = s.datagram {
                prop_assert_eq!(s.payload, d + layer.header_bytes());
            }
            // Each of the other sizes gives the same frame.
            for (unit, bytes) in [(SizeUnit::Frame, s.frame), (SizeUnit::Length, s.length),
                (SizeUnit::Payload, s.payload)] {
                prop_assert_eq!(Size::new(unit, bytes).resolve(f).unwrap(), s);
            }
        }

        #[test]
        fn no_size_panics(bytes: u32, tags in 0u8..3, unit in 0usize..4) {
            let unit = [SizeUnit::Frame, SizeUnit::Length, SizeUnit::Payload, SizeUnit::Datagram][unit];
            let _ = Size::new(unit, bytes).resolve_test(framing(Layer::UdpIpv4, tags));
        }
    }
}
