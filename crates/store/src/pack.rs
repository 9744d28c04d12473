//! JSON in few bytes, and back from bytes that may be damaged.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wirelab_trial::results_reader::MOST_BYTES;

/// A run waits while its trials are written, and higher levels save few bytes of them.
const LEVEL: u8 = 4;

/// A value as compressed JSON.
pub fn pack(value: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(value).expect("plain data always serialise");
    compress_to_vec_zlib(&json, LEVEL)
}

/// The value of compressed JSON, or what is wrong with it.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let json = inflate(bytes, usize::try_from(MOST_BYTES).unwrap_or(usize::MAX))?;
    serde_json::from_slice(&json).map_err(|error| error.to_string())
}

fn inflate(bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
    decompress_to_vec_zlib_with_limit(bytes, most).map_err(|error| {
        match error.output.len() >= most {
            true => format!("longer than the {most} bytes that are read"),
            false => format!("not compressed data ({})", error.status as i32),
        }
    })
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
        for at in 0..packed.len() {
            let mut changed = packed.clone();
            changed[at] ^= 0x40;
            assert!(unpack::<Vec<String>>(&changed).is_err(), "{at}");
        }
        assert!(unpack::<Vec<u8>>(b"not a zlib stream").is_err());
        let bomb = compress_to_vec_zlib(&[b' '; 4096], 1);
        assert!(inflate(&bomb, 4095).unwrap_err().contains("longer than"));
        assert_eq!(inflate(&bomb, 4096).unwrap().len(), 4096);
    }
}
