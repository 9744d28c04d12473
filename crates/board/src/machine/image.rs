//! The image of a machine: found, and read whole.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use wirelab_trial::images;

use super::MachineError;
use super::file::MachineFile;

/// Largest image in bytes.
const MOST_IMAGE: u64 = 256 << 20;

/// The image of a machine, whole.
pub struct Image {
    /// Its file.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Image {
    /// The requested image, or that of the machine file: beside it, or among wirelab's own.
    ///
    /// # Errors
    /// [`MachineError::NoImage`], [`MachineError::BadImage`].
    pub fn find(file: &MachineFile, given: Option<&Path>) -> Result<Image, MachineError> {
        let missing = |image: &Path, searched: String| MachineError::NoImage {
            machine: file.name.clone(),
            image: image.display().to_string(),
            searched,
        };
        let path = match (given, &file.image) {
            (Some(path), _) if path.is_file() => path.to_owned(),
            (Some(path), _) => {
                let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                return Err(missing(path, whole.display().to_string()));
            }
            (None, None) => {
                return Err(MachineError::Other(format!(
                    "{}: it has no image; fix: name one with --image FILE, or write image = \"FILE\" into the machine file",
                    file.name
                )));
            }
            (None, Some(image)) => {
                let beside = file.folder.as_ref().map(|folder| folder.join(image));
                let own = images::installed(image);
                let searched = own.as_ref().err().cloned().unwrap_or_default();
                match beside.clone().filter(|path| path.is_file()) {
                    Some(path) => path,
                    None => own.map_err(|_| {
                        let all = beside.into_iter().chain(searched);
                        let all: Vec<_> = all.map(|path| path.display().to_string()).collect();
                        missing(Path::new(image), all.join(", "))
                    })?,
                }
            }
        };
        let bad = |why: String| MachineError::BadImage {
            path: path.clone(),
            why,
        };
        let path = path.canonicalize().map_err(|e| bad(e.to_string()))?;
        let opened = std::fs::File::open(&path).map_err(|e| bad(e.to_string()))?;
        let mut bytes = Vec::new();
        let read = opened.take(MOST_IMAGE + 1).read_to_end(&mut bytes);
        read.map_err(|e| bad(e.to_string()))?;
        match bytes.len() as u64 > MOST_IMAGE {
            true => Err(bad(format!("it has more than {MOST_IMAGE} bytes"))),
            false => Ok(Image { path, bytes }),
        }
    }
}
