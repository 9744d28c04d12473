//! JSON in few bytes, and back from bytes that may be damaged.

use std::io::Read;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wirelab_trial::results_reader::MOST_BYTES;

/// Of zstd: trials are written while a run waits, and higher levels save little of them.
const LEVEL: i32 = 3;

/// A value as compressed JSON.
pub fn pack(value: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(value).expect("plain data always serialise");
    zstd::encode_all(&json[..], LEVEL).expect("memory takes all bytes")
}

/// The value of compressed JSON, or what is wrong with it.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(&inflate(bytes, MOST_BYTES)?).map_err(|error| error.to_string())
}

fn inflate(bytes: &[u8], most: u64) -> Result<Vec<u8>, String> {
    let mut json = Vec::new();
    zstd::Decoder::new(bytes)
        .and_then(|decoder| decoder.take(most + 1).read_to_end(&mut json))
        .map_err(|error| error.to_string())?;
    match json.len() as u64 > most {
        true => Err(format!("longer than the {most} bytes that are read")),
        false => Ok(json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_bytes_are_refused() {
        let packed = pack(&vec!["a trial"; 100]);
        assert_eq!(
            unpack::<Vec<String>>(&packed).unwrap(),
            vec!["a trial"; 100]
        );
        for cut in 0..packed.len() {
            assert!(unpack::<Vec<String>>(&packed[..cut]).is_err(), "{cut}");
        }
        assert!(unpack::<Vec<u8>>(b"no frame of zstd").is_err());
        let bomb = zstd::encode_all(&[b' '; 4096][..], 1).unwrap();
        assert!(inflate(&bomb, 4095).unwrap_err().contains("longer than"));
        assert_eq!(inflate(&bomb, 4096).unwrap().len(), 4096);
    }
}
