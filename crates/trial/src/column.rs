//! A list of numbers that a results file keeps packed after its text, and the packed form.
//!
//! In the text a long list is the number of its rows; the list itself is in `samples`, in the order of the text. Packed,
//! the numbers have their lowest bytes first, then the next ones, and so on, compressed with zlib: the high bytes of
//! samples hardly differ, and the low ones are noise that no method makes smaller.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longer lists are packed.
const INLINE: usize = 16;
/// Longer lists are not accepted: no series keeps as many, and a few hostile bytes could claim more.
const MOST_ROWS: usize = 1 << 20;
/// Level of zlib: more takes twice the time for a hundredth of the size.
const LEVEL: u8 = 6;
/// Rows that show whether the difference to another column is smaller.
const PROBE: usize = 4096;

/// A list of numbers, or of pairs of them: here, or only its length while the list is packed elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column<T> {
    values: Vec<T>,
    /// Rows that are packed elsewhere; 0 when the list is here.
    apart: u64,
}

impl<T> Default for Column<T> {
    fn default() -> Column<T> {
        Column::from(Vec::new())
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Column<T> {
        Column { values, apart: 0 }
    }
}

impl<T> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Column<T> {
        Column::from(Vec::from_iter(values))
    }
}

impl<T> From<Column<T>> for Vec<T> {
    fn from(column: Column<T>) -> Vec<T> {
        column.values
    }
}

impl<T> Deref for Column<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.values
    }
}

impl<T> DerefMut for Column<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.values
    }
}

impl<T> IntoIterator for Column<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Column<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for Column<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        self.values == other
    }
}

impl<T: PartialEq> PartialEq<Vec<T>> for Column<T> {
    fn eq(&self, other: &Vec<T>) -> bool {
        self.values == *other
    }
}

impl<T: Serialize> Serialize for Column<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.apart {
            0 => self.values.serialize(serializer),
            rows => serializer.serialize_u64(rows),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Column<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Column<T>, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Column<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list, or the number of its rows in 'samples'")
            }
            fn visit_u64<E>(self, apart: u64) -> Result<Column<T>, E> {
                let values = Vec::new();
                Ok(Column { values, apart })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Column<T>, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = all.next_element()? {
                    values.push(value);
                }
                Ok(Column::from(values))
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

/// The content of a column's row.
pub(crate) trait ColumnRow: Sized {
    /// Numbers of a row.
    const NUMBERS: u64;
    /// Whether the next column of the same length may resemble this one.
    const RESEMBLES: bool;
    /// All rows as numbers that pack well.
    fn numbers(rows: &[Self]) -> Vec<u64>;
    /// The rows of such numbers.
    fn rows(numbers: Vec<u64>) -> Vec<Self>;
}

/// Samples.
impl ColumnRow for u64 {
    const NUMBERS: u64 = 1;
    const RESEMBLES: bool = true;
    fn numbers(rows: &[u64]) -> Vec<u64> {
        rows.to_vec()
    }
    fn rows(numbers: Vec<u64>) -> Vec<u64> {
        numbers
    }
}

/// Buckets: the steps from one value to the next, then the counts.
impl ColumnRow for (u64, u64) {
    const NUMBERS: u64 = 2;
    const RESEMBLES: bool = false;
    fn numbers(rows: &[(u64, u64)]) -> Vec<u64> {
        let values = rows.iter().map(|row| row.0);
        let before = [0].into_iter().chain(values.clone());
        let steps = values
            .zip(before)
            .map(|(this, last)| this.wrapping_sub(last));
        steps.chain(rows.iter().map(|row| row.1)).collect()
    }
    fn rows(numbers: Vec<u64>) -> Vec<(u64, u64)> {
        let (steps, counts) = numbers.split_at(numbers.len() / 2);
        let values = steps.iter().scan(0u64, |value, step| {
            *value = value.wrapping_add(*step);
            Some(*value)
        });
        values.zip(counts.iter().copied()).collect()
    }
}

/// The first byte of a packed column: the bytes of each number, 0 to 8.
const MOST_BYTES: u8 = 8;
/// A bit of this byte: the numbers are differences to the column of samples before.
const DIFFERENCE: u8 = 16;

/// Packs columns, or unpacks them, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    /// The samples of the column before.
    before: Vec<u64>,
}

impl Packer {
    /// Takes the list out of a column that is long enough, and packs it.
    pub fn pack<T: ColumnRow>(&mut self, column: &mut Column<T>) -> Option<Vec<u8>> {
        if !(INLINE + 1..=MOST_ROWS).contains(&column.values.len()) {
            return None;
        }
        let numbers = T::numbers(&column.values);
        let resembles = T::RESEMBLES && self.before.len() == numbers.len();
        let is_smaller = resembles && {
            let probe = PROBE.min(numbers.len());
            let these = squeezed(&numbers[..probe]).len();
            squeezed(&differences(&numbers[..probe], &self.before)).len() < these
        };
        let mut packed = match is_smaller {
            true => squeezed(&differences(&numbers, &self.before)),
            false => squeezed(&numbers),
        };
        packed[0] |= if is_smaller { DIFFERENCE } else { 0 };
        column.apart = column.values.len() as u64;
        column.values = Vec::new();
        if T::RESEMBLES {
            self.before = numbers;
        }
        Some(packed)
    }

    /// Puts the packed list back into its column; nothing takes more memory than the rows that the column states.
    pub fn unpack<T: ColumnRow>(
        &mut self,
        column: &mut Column<T>,
        packed: &[u8],
    ) -> Result<(), String> {
        if column.apart > MOST_ROWS as u64 {
            return Err(format!("has more than {MOST_ROWS} rows"));
        }
        let numbers = (column.apart * T::NUMBERS) as usize;
        let (form, planes) = packed.split_first().ok_or("is empty")?;
        let (differs, width) = (form & DIFFERENCE != 0, form & !DIFFERENCE);
        if width > MOST_BYTES {
            return Err(format!("has the unknown form {form}"));
        }
        if differs && !(T::RESEMBLES && self.before.len() == numbers) {
            return Err("has no list before it to differ from".to_owned());
        }
        let mut list = expanded(planes, numbers, width.into())?;
        if differs {
            for (number, before) in list.iter_mut().zip(&self.before) {
                *number = before.wrapping_add(unfolded(*number));
            }
        }
        if T::RESEMBLES {
            self.before.clone_from(&list);
        }
        *column = Column::from(T::rows(list));
        Ok(())
    }
}

/// Numbers of a column that are packed elsewhere; `None` when its list is here.
pub(crate) fn numbers_apart<T: ColumnRow>(column: &Column<T>) -> Option<u64> {
    (column.apart > 0).then(|| column.apart.saturating_mul(T::NUMBERS))
}

/// Differences with the sign in the lowest bit, so that small ones are small numbers.
fn differences(numbers: &[u64], before: &[u64]) -> Vec<u64> {
    let each = numbers.iter().zip(before);
    each.map(|(this, last)| {
        let step = this.wrapping_sub(*last) as i64;
        ((step << 1) ^ (step >> 63)) as u64
    })
    .collect()
}

/// The difference of such a number.
const fn unfolded(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// The width of numbers, and their bytes, lowest bytes first, compressed.
fn squeezed(numbers: &[u64]) -> Vec<u8> {
    let all = numbers.iter().fold(0, |all, number| all | number);
    let width = (64 - all.leading_zeros()).div_ceil(8) as u8;
    let planes = (0..width).flat_map(|at| numbers.iter().map(move |n| (n >> (8 * at)) as u8));
    let mut packed = vec![width];
    packed.extend(compress_to_vec_zlib(&planes.collect::<Vec<u8>>(), LEVEL));
    packed
}

/// Numbers of `width` bytes.
fn expanded(planes: &[u8], numbers: usize, width: usize) -> Result<Vec<u64>, String> {
    let expected = numbers.saturating_mul(width);
    let planes = decompress_to_vec_zlib_with_limit(planes, expected)
        .map_err(|error| format!("cannot be decompressed: {error}"))?;
    if planes.len() != expected {
        let has = planes.len();
        return Err(format!("has {has} bytes for {numbers} numbers of {width}"));
    }
    let mut list = vec![0u64; numbers];
    for (at, plane) in planes.chunks_exact(numbers).enumerate() {
        for (number, byte) in list.iter_mut().zip(plane) {
            *number |= u64::from(*byte) << (8 * at);
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn through<T: ColumnRow + Clone + PartialEq + fmt::Debug>(lists: &[Vec<T>]) -> Vec<Vec<T>> {
        let (mut packer, mut unpacker) = (Packer::default(), Packer::default());
        let back = lists.iter().map(|list| {
            let mut column = Column::from(list.clone());
            if let Some(packed) = packer.pack(&mut column) {
                assert!(column.is_empty() && column.apart == list.len() as u64);
                unpacker.unpack(&mut column, &packed).unwrap();
            }
            column.into()
        });
        back.collect()
    }

    proptest! {
        #[test]
        fn every_list_comes_back(
            samples in prop::collection::vec(any::<u64>(), 0..200),
            shift in any::<u64>(),
            buckets in prop::collection::vec(any::<(u64, u64)>(), 0..100),
        ) {
            let next = samples.iter().map(|n| n.wrapping_add(shift % 9)).collect();
            let far = samples.iter().map(|n| n.wrapping_add(shift)).collect();
            let lists = [samples, next, far];
            prop_assert_eq!(through(&lists), lists);
            let lists = [buckets];
            prop_assert_eq!(through(&lists), lists);
        }
    }

    #[test]
    fn only_lists_of_a_size_that_is_read_are_packed() {
        let packed = |rows: usize| {
            let mut column = Column::from(vec![7u64; rows]);
            Packer::default()
                .pack(&mut column)
                .map(|list| (column, list))
        };
        assert!(packed(INLINE).is_none() && packed(MOST_ROWS + 1).is_none());
        for rows in [INLINE + 1, MOST_ROWS] {
            let (mut column, list) = packed(rows).unwrap();
            Packer::default().unpack(&mut column, &list).unwrap();
            assert!(column == vec![7; rows]);
        }
    }

    #[test]
    fn a_column_that_resembles_the_one_before_is_its_difference() {
        let noise = (0..20_000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
        let first: Vec<u64> = noise.collect();
        let second: Vec<u64> = first
            .iter()
            .enumerate()
            .map(|(at, n)| n + at as u64 % 3)
            .collect();
        let mut packer = Packer::default();
        let mut size = |list: &[u64]| packer.pack(&mut Column::from(list.to_vec())).unwrap().len();
        let (first, second) = (size(&first), size(&second));
        assert!(second < first / 10, "{first} bytes, then {second}");
    }

    #[test]
    fn damaged_columns_are_refused() {
        let mut column = Column::from((0..100u64).collect::<Vec<_>>());
        let packed = Packer::default().pack(&mut column).unwrap();
        let refused = |rows: u64, packed: &[u8]| {
            let mut column = Column {
                values: Vec::<u64>::new(),
                apart: rows,
            };
            Packer::default().unpack(&mut column, packed).unwrap_err()
        };
        let mut flipped = packed.clone();
        flipped[40] ^= 1;
        let bomb = [&[1], &compress_to_vec_zlib(&[0; 1 << 20], 9)[..]].concat();
        for (rows, packed, why) in [
            (99, &packed[..], "cannot be decompressed"),
            (200, &packed, "has 100 bytes for 200 numbers of 1"),
            (100, &flipped, "cannot be decompressed"),
            (100, &packed[..50], "cannot be decompressed"),
            (100, &bomb, "cannot be decompressed"),
            (100, &[], "is empty"),
            (1 << 21, &packed, "has more than 1048576 rows"),
        ] {
            let said = refused(rows, packed);
            assert!(said.contains(why), "{said}, not {why}");
        }
        let other = |form: u8| [&[form], &packed[1..]].concat();
        assert!(refused(100, &other(DIFFERENCE | 1)).contains("no list before"));
        assert!(refused(100, &other(9)).contains("unknown form 9"));
    }
}
