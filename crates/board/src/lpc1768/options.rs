//! The options in the name of the board: `board:lpc1768,image=flash,descriptors=4`.

use std::path::PathBuf;

use wirelab_port::iface::PortName;
use wirelab_trial::{NameError, NodeName};

/// Fewest and most descriptors that may be in use at a time.
const DESCRIPTORS: std::ops::RangeInclusive<u16> = 2..=8;

/// How the board is set up and what is saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lpc1768Options {
    /// The firmware.
    pub image: ImageChoice,
    /// Descriptors of the transmit ring in use; the firmware's default (3) if `None`.
    pub descriptors: Option<u16>,
    /// The file for the frames of each trial, as pcapng; a second trial replaces the first.
    pub capture: Option<PathBuf>,
    /// A port of this host at which the frames are sent too, in order and without their gaps.
    pub port: Option<PortName>,
    /// The file for the levels of P0.0, as a value change dump.
    pub pin: Option<PathBuf>,
}

/// The firmware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageChoice {
    /// A built image, `lpc1768-NAME.elf`: `ram`, as in the application note, `flash`, or one with another copy loop.
    Named(String),
    /// A file.
    File(PathBuf),
}

impl Default for ImageChoice {
    fn default() -> ImageChoice {
        ImageChoice::Named("ram".to_owned())
    }
}

impl Lpc1768Options {
    /// The options of a name: none, or any number of `,KEY=VALUE`.
    ///
    /// # Errors
    /// [`NameError`] with the option and all existing ones.
    pub fn of(name: &NodeName) -> Result<Lpc1768Options, NameError> {
        name.only_options(&KEYS, KNOWN)?;
        let mut options = Lpc1768Options::default();
        for (key, value) in name.options() {
            let value = value
                .filter(|value| !value.is_empty())
                .ok_or(KNOWN.to_owned());
            let set = value.and_then(|value| options.set(key, value));
            set.map_err(|why| NameError::new(name, format!("{key}: {why}")))?;
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "image" => {
                self.image = match value {
                    file if file.contains('/') || file.ends_with(".elf") => {
                        ImageChoice::File(file.into())
                    }
                    name => ImageChoice::Named(name.to_owned()),
                }
            }
            "descriptors" => {
                let number = value.parse().ok().filter(|n| DESCRIPTORS.contains(n));
                let why = || "2 to 8 descriptors may be in use".to_owned();
                self.descriptors = Some(number.ok_or_else(why)?);
            }
            "pcapng" => self.capture = Some(value.into()),
            "port" => {
                let port = value.parse::<PortName>();
                self.port = Some(port.map_err(|error| error.to_string())?);
            }
            // The last of the known keys.
            _ => self.pin = Some(value.into()),
        }
        Ok(())
    }
}

const KEYS: [&str; 5] = ["image", "descriptors", "pcapng", "port", "vcd"];
const KNOWN: &str = "write image=ram, flash, ram-pointer, ram-words or FILE.elf, descriptors=2 to 8, pcapng=FILE, vcd=FILE, port=[NS/]IF";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &str) -> Result<Lpc1768Options, NameError> {
        Lpc1768Options::of(&format!("board:lpc1768{options}").parse()?)
    }

    #[test]
    fn options_follow_the_name() {
        assert_eq!(read("").unwrap(), Lpc1768Options::default());
        let options = read(",image=flash,descriptors=8,pcapng=a.pcapng,vcd=p.vcd").unwrap();
        assert_eq!(options.image, ImageChoice::Named("flash".to_owned()));
        assert_eq!(options.descriptors, Some(8));
        assert_eq!(options.capture, Some("a.pcapng".into()));
        assert_eq!(options.pin, Some("p.vcd".into()));
        let file = read(",image=my.elf").unwrap().image;
        assert_eq!(file, ImageChoice::File("my.elf".into()));
    }

    #[test]
    fn an_option_that_is_none_says_what_there_is() {
        for (text, words) in [
            (",descriptors=9", "2 to 8"),
            (",descriptors=1", "2 to 8"),
            (",colour=red", "image=ram"),
            (",image=", "image=ram"),
            (",image", "image=ram"),
            (
                ",descriptors=3,descriptors=4",
                "'descriptors' was given before",
            ),
            (",image=ram,vcd=p.vcd,image=ram", "'image' was given before"),
            (",", "nothing follows a comma"),
            (",image=ram,", "nothing follows a comma"),
            (",image=ram,,descriptors=4", "nothing follows a comma"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
