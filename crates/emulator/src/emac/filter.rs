//! The receive filter: accepts frames by their destination (UM10360, chapter 10, receive filtering).

use super::regs::filter;
use crate::fcs::hash_bits;

/// Registers of the filter (UM10360: SA0 to SA2, RxFilterCtrl, HashFilterL and H).
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// RxFilterCtrl.
    pub control: u32,
    /// HashFilterL and HashFilterH.
    pub hash: [u32; 2],
    /// SA0, SA1 and SA2.
    pub station: [u32; 3],
}

impl Filter {
    /// The station address in wire order. NXP's driver has its first byte in the low half of SA2, and its last in the
    /// high half of SA0.
    pub fn address(&self) -> [u8; 6] {
        let [sa0, sa1, sa2] = self.station.map(|half| (half as u16).to_le_bytes());
        [sa2[0], sa2[1], sa1[0], sa1[1], sa0[0], sa0[1]]
    }

    /// Whether the filter accepts a frame to `destination`.
    pub fn passes(&self, destination: [u8; 6]) -> bool {
        let on = |bit| self.control & bit != 0;
        if destination == [0xFF; 6] {
            return on(filter::BROADCAST);
        }
        let multicast = destination[0] & 1 == 1;
        let (all, hashed) = if multicast {
            (filter::MULTICAST, filter::MULTICAST_HASH)
        } else {
            (filter::UNICAST, filter::UNICAST_HASH)
        };
        on(all)
            || (on(hashed) && self.in_hash(destination))
            || (on(filter::PERFECT) && destination == self.address())
    }

    fn in_hash(&self, destination: [u8; 6]) -> bool {
        let bit = hash_bits(destination) & 0x3F;
        self.hash[(bit / 32) as usize] >> (bit % 32) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [u8; 6] = [0x02, 0x00, 0x0A, 0x37, 0x00, 0x02];

    fn filter(control: u32) -> Filter {
        Filter {
            control,
            hash: [0; 2],
            // The values that NXP's driver writes.
            station: [0x0200, 0x370A, 0x0002],
        }
    }

    #[test]
    fn the_station_address_lies_as_nxps_driver_writes_it() {
        assert_eq!(filter(0).address(), OWN);
    }

    #[test]
    fn each_bit_lets_its_own_kind_pass() {
        let other = [0x02, 0, 0, 0, 0, 9];
        let group = [0x01, 0, 0x5E, 0, 0, 1];
        let cases = [
            (0, [false, false, false, false]),
            (filter::PERFECT, [true, false, false, false]),
            (filter::UNICAST, [true, true, false, false]),
            (filter::MULTICAST, [false, false, true, false]),
            (filter::BROADCAST, [false, false, false, true]),
        ];
        for (control, expected) in cases {
            let filter = filter(control);
            let passes = [OWN, other, group, [0xFF; 6]].map(|to| filter.passes(to));
            assert_eq!(passes, expected, "{control:#x}");
        }
    }

    #[test]
    fn the_hash_filter_takes_the_address_whose_bit_is_set() {
        let group = [0x01, 0, 0x5E, 0, 0, 1];
        let mut filter = filter(filter::MULTICAST_HASH);
        assert!(!filter.passes(group));
        let bit = hash_bits(group) & 0x3F;
        filter.hash[(bit / 32) as usize] |= 1 << (bit % 32);
        assert!(filter.passes(group));
        filter.hash = filter.hash.map(|word| !word);
        assert!(!filter.passes(group));
    }
}
