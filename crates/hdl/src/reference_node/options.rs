//! Options of the node's name: the attachment of its MAC, and the wait states of its bus.

use wirelab_trial::{NameError, NodeName, crossover};

use crate::reference::{Attachment, CPU_TURN_CLOCKS, Straps};

/// The known options, for error messages.
const KNOWN: &str = "write mac=lite-device, lite-ordered or dma, and with slots read-clocks=N and write-clocks=N, the clocks \
                     from one access of the bus to the next";
/// Least clocks from one access to the next: an access without wait states.
const LEAST_READ_CLOCKS: u8 = 2 + CPU_TURN_CLOCKS;
const LEAST_WRITE_CLOCKS: u8 = 2;
const MOST_CLOCKS: u8 = 250;

/// The straps of a name: `hdl:reference,mac=lite-ordered,read-clocks=9,write-clocks=9`.
///
/// # Errors
/// [`NameError`] with what is wrong, and the valid options.
pub fn straps(name: &NodeName) -> Result<Straps, NameError> {
    let whole = |why: &dyn std::fmt::Display| NameError::new(name, why.to_string());
    name.only_options(&["mac", "read-clocks", "write-clocks"], KNOWN)?;
    let value = |key: &str| {
        let value = name.option(key);
        value.map(|value| value.ok_or_else(|| whole(&format!("{key} has no value; fix: {KNOWN}"))))
    };
    let clocks = |key: &str, least| {
        let text = value(key).transpose()?;
        text.map(|text| clocks(text, least).map_err(|why| whole(&why)))
            .transpose()
    };
    let attachment = match value("mac").transpose()? {
        None => Attachment::default(),
        Some(name) => name.parse().map_err(|error| whole(&error))?,
    };
    let read = clocks("read-clocks", LEAST_READ_CLOCKS)?.map(|clocks| clocks - CPU_TURN_CLOCKS);
    let write = clocks("write-clocks", LEAST_WRITE_CLOCKS)?;
    if attachment == Attachment::Dma && (read.is_some() || write.is_some()) {
        let why = "the bus to the ring's registers does not wait, and frames there use no single accesses; fix: \
                   leave read-clocks and write-clocks out";
        return Err(whole(&why));
    }
    let usual = Straps::new(attachment);
    Ok(Straps {
        read_clocks: read.unwrap_or(usual.read_clocks),
        write_clocks: write.unwrap_or(usual.write_clocks),
        ..usual
    })
}

/// The straps as set-up keys, to compare nodes.
#[must_use]
pub fn setup(straps: Straps) -> Vec<(String, String)> {
    let name = match straps.attachment {
        Attachment::LiteDevice => "lite-device",
        Attachment::LiteOrdered => "lite-ordered",
        Attachment::Dma => crossover::DMA,
    };
    let mut keys = vec![(crossover::ATTACHMENT, name.to_owned())];
    if straps.attachment != Attachment::Dma {
        let read = straps.read_clocks + CPU_TURN_CLOCKS;
        keys.push((crossover::READ_CLOCKS, read.to_string()));
        keys.push((crossover::WRITE_CLOCKS, straps.write_clocks.to_string()));
    }
    let keys = keys.into_iter();
    keys.map(|(key, text)| (key.to_owned(), text)).collect()
}

fn clocks(text: &str, least: u8) -> Result<u8, String> {
    let clocks = text.parse().ok();
    clocks
        .filter(|clocks| (least..=MOST_CLOCKS).contains(clocks))
        .ok_or_else(|| {
            format!("invalid number of clocks '{text}'; fix: write {least} to {MOST_CLOCKS}")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn straps(options: &str) -> Result<Straps, NameError> {
        super::straps(&format!("hdl:reference{options}").parse()?)
    }

    #[test]
    fn the_attachment_follows_the_name() {
        assert_eq!(straps("").unwrap(), Straps::new(Attachment::LiteDevice));
        assert_eq!(straps(",mac=dma").unwrap().attachment, Attachment::Dma);
        for (rest, words) in [
            (",mac=gem", "lite-ordered"),
            (",image=x", "write mac="),
            (",", "nothing follows a comma"),
            (",mac", "mac has no value; fix: write mac="),
            (",read-clocks=3", "write 4 to 250"),
            (",write-clocks=many", "write 2 to 250"),
            (",mac=dma,read-clocks=9", "leave read-clocks"),
            (",mac=dma,mac=lite-device", "'mac' was given before"),
            (
                ",read-clocks=9,read-clocks=9",
                "'read-clocks' was given before",
            ),
            (
                ",write-clocks=9,mac=lite-device,write-clocks=4",
                "'write-clocks' was given before",
            ),
        ] {
            let error = straps(rest).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn the_bus_is_as_slow_as_it_is_asked_to_be() {
        let usual = straps(",mac=lite-ordered").unwrap();
        assert_eq!(
            usual,
            straps(",mac=lite-ordered,read-clocks=17,write-clocks=18").unwrap()
        );
        let slower = straps(",read-clocks=30").unwrap();
        assert_eq!((slower.read_clocks, slower.write_clocks), (28, 3));
        let words = setup(slower).into_iter().map(|(_, text)| text);
        assert!(words.eq(["lite-device", "30", "3"]));
        assert_eq!(setup(straps(",mac=dma").unwrap()).len(), 1);
    }
}
