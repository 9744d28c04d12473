//! The contents of an image: its functions with their addresses, the code at an address, and where interrupts enter.

use std::collections::BTreeMap;

use object::{Architecture, Endianness, Object, ObjectSegment, ObjectSymbol, SymbolKind};
use wirelab_trial::nearest::nearest;

/// Most functions that are read: an image of Linux has a fifth of that.
const MOST_FUNCTIONS: usize = 1 << 20;
/// Longest function without a size, in bytes: it may be the last before data.
const LONGEST_UNSIZED: u64 = 1 << 16;
/// Most vectors of a Cortex-M: 16 of the core and 480 of the NVIC.
const MOST_VECTORS: usize = 496;
/// Most instructions at which a machine goes to sleep.
const MOST_SLEEPS: usize = 256;
/// Symbols at which interrupts enter, of systems whose ports were read: FreeRTOS, NuttX, Zephyr, and usual names of
/// vectors.
const ENTRIES: &[&str] = &[
    "__trap_vec",
    "exception_common",
    "freertos_risc_v_trap_handler",
    "freertos_risc_v_interrupt_handler",
    "trap_entry",
    "_trap_entry",
    "trap_vector",
    "_isr_wrapper",
    "FreeRTOS_IRQ_Handler",
    "IRQ_Handler",
    "FIQ_Handler",
    "arm_vectorirq",
    "arm_vectorfiq",
];
/// Symbols of tables of vectors of a Cortex-A or -R; IRQ and FIQ are at 0x18 and 0x1C.
const TABLES: &[&str] = &[
    "_vectors",
    "__vectors",
    "vectors",
    "_vector_table",
    "vector_table",
    "_freertos_vector_table",
    "_vector_start",
];

/// A function of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its first address.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// Its name.
    pub name: String,
}

/// How the block before an address ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By a call, which returns to the address after it.
    Call,
    /// By a return to a caller. On a Cortex-M, a return from an interrupt looks the same.
    Return,
    /// By the return from an interrupt or a trap.
    InterruptReturn,
    /// By a call of the system.
    SystemCall,
    /// By a jump, a branch or none of these.
    Other,
}

/// The instruction sets whose calls and returns are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Isa {
    /// A32 and T32: bit 0 of a function's address selects T32.
    Arm,
    Aarch64,
    RiscV,
    Other,
}

/// An image.
#[derive(Debug)]
pub struct Symbols {
    /// In the order of their addresses, without overlap.
    functions: Vec<Function>,
    /// Addresses by name; functions of one file also by `FILE:NAME`.
    names: BTreeMap<String, Vec<u64>>,
    /// Loaded bytes by their first address.
    code: Vec<(u64, Vec<u8>)>,
    /// Starts of functions in T32.
    thumb: Vec<u64>,
    isa: Isa,
    interrupts: Vec<u64>,
}

impl Symbols {
    /// Reads an ELF image.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Symbols, String> {
        let image = object::File::parse(bytes)
            .map_err(|e| format!("it is not a complete ELF file ({e})"))?;
        if image.endianness() != Endianness::Little {
            return Err("it is big-endian, which wirelab does not read".to_owned());
        }
        let isa = match image.architecture() {
            Architecture::Arm => Isa::Arm,
            Architecture::Aarch64 => Isa::Aarch64,
            Architecture::Riscv32 | Architecture::Riscv64 => Isa::RiscV,
            _ => Isa::Other,
        };
        let mut symbols = Symbols {
            functions: Vec::new(),
            names: BTreeMap::new(),
            code: Vec::new(),
            thumb: Vec::new(),
            isa,
            interrupts: Vec::new(),
        };
        for segment in image.segments() {
            if let Ok(data) = segment.data() {
                symbols.code.push((segment.address(), data.to_vec()));
            }
        }
        symbols.take_functions(&image)?;
        symbols.interrupts = symbols.usual_interrupts(image.entry());
        Ok(symbols)
    }

    fn take_functions(&mut self, image: &object::File<'_>) -> Result<(), String> {
        let (mut sized, mut labels) = (BTreeMap::new(), BTreeMap::new());
        let mut file = "";
        for symbol in image.symbols() {
            let Ok(name) = symbol.name() else { continue };
            if symbol.kind() == SymbolKind::File {
                file = name;
                continue;
            }
            let is_mark = name.is_empty() || name.starts_with('$') || name.starts_with(".L");
            if symbol.is_undefined() || is_mark {
                continue;
            }
            let mut at = symbol.address();
            let kind = symbol.kind();
            if self.isa == Isa::Arm && kind == SymbolKind::Text && at & 1 == 1 {
                at -= 1;
                self.thumb.push(at);
            }
            match kind {
                SymbolKind::Text if symbol.size() > 0 => {
                    sized.entry(at).or_insert((symbol.size(), name.to_owned()));
                }
                SymbolKind::Text | SymbolKind::Label | SymbolKind::Unknown if self.is_code(at) => {
                    labels.entry(at).or_insert(name.to_owned());
                }
                _ => continue,
            }
            let mut put = |name: String| {
                let all = self.names.entry(name).or_default();
                if !all.contains(&at) {
                    all.push(at);
                }
            };
            put(name.to_owned());
            if symbol.is_local() && !file.is_empty() {
                put(format!("{file}:{name}"));
            }
        }
        if sized.len() + labels.len() > MOST_FUNCTIONS {
            return Err(format!("it has more than {MOST_FUNCTIONS} functions"));
        }
        self.thumb.sort_unstable();
        self.thumb.dedup();
        self.functions = join(&sized, labels);
        Ok(())
    }

    fn is_code(&self, address: u64) -> bool {
        self.bytes_at(address, 2).is_some()
    }

    fn bytes_at(&self, address: u64, count: usize) -> Option<&[u8]> {
        self.code.iter().find_map(|(start, data)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            data.get(at..at.checked_add(count)?)
        })
    }

    fn word_at(&self, address: u64) -> Option<u32> {
        let bytes = self.bytes_at(address, 4)?;
        bytes.try_into().map(u32::from_le_bytes).ok()
    }

    fn half_before(&self, address: u64) -> Option<u16> {
        let bytes = self.bytes_at(address.checked_sub(2)?, 2)?;
        bytes.try_into().map(u16::from_le_bytes).ok()
    }

    /// Its functions in the order of their addresses.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Whether it has no symbols.
    pub fn is_stripped(&self) -> bool {
        self.names.is_empty()
    }

    /// The addresses of a symbol: several files may have a function of one name.
    pub fn addresses(&self, name: &str) -> &[u64] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// The names, with their files, of the functions that have this name.
    pub fn in_files(&self, name: &str) -> Vec<&str> {
        let names = self.names.keys().map(String::as_str);
        let is = |full: &&str| full.rsplit_once(':').is_some_and(|(_, last)| last == name);
        names.filter(is).collect()
    }

    fn address(&self, name: &str) -> Option<u64> {
        self.addresses(name).first().copied()
    }

    /// A symbol whose name is near a missing one, or contains it.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        let names = || self.names.keys().map(String::as_str);
        let near = nearest(name, names());
        let within = names().filter(|n| name.len() > 3 && n.contains(name) && Some(*n) != near);
        near.into_iter().chain(within).take(3).collect()
    }

    /// The index of the function that an address is in.
    pub fn function_at(&self, address: u64) -> Option<usize> {
        let behind = self.functions.partition_point(|f| f.start <= address);
        let at = behind.checked_sub(1)?;
        (address < self.functions[at].end).then_some(at)
    }

    /// Where interrupts enter: at symbols with usual names, and at the vectors of a Cortex-M; without either, at the
    /// vectors of a Cortex-A or -R.
    pub fn interrupts(&self) -> &[u64] {
        &self.interrupts
    }

    /// Makes an address the start of a function, so that a step to it is recorded.
    pub fn split_at(&mut self, address: u64) {
        let Some(at) = self.function_at(address) else {
            return;
        };
        let whole = &self.functions[at];
        if whole.start == address {
            return;
        }
        let offset = address - whole.start;
        let rest = Function {
            start: address,
            end: whole.end,
            name: format!("{}+{offset:#x}", whole.name),
        };
        self.functions[at].end = address;
        self.functions.insert(at + 1, rest);
    }

    fn usual_interrupts(&self, entry: u64) -> Vec<u64> {
        let mut all: Vec<u64> = ENTRIES
            .iter()
            .filter_map(|name| self.address(name))
            .collect();
        if self.isa == Isa::Arm {
            all.extend(self.vectors_of_m(entry));
            if all.is_empty() {
                let tables = TABLES.iter().filter_map(|name| self.address(name));
                all.extend(tables.flat_map(|table| [table + 0x18, table + 0x1C]));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The handlers of a Cortex-M, from a table at the start of the code or at a usual symbol. The table has the stack,
    /// the reset handler, then one handler for each exception, all of them in T32.
    fn vectors_of_m(&self, entry: u64) -> Vec<u64> {
        let handler = |word: u32| {
            let at = u64::from(word & !1);
            (word & 1 == 1 && self.function_at(at).is_some()).then_some(at)
        };
        let starts = self.code.iter().map(|(start, _)| *start);
        let tables = starts.chain(
            ["__isr_vector", "g_pfnVectors", "_vectors", "vectors"]
                .into_iter()
                .filter_map(|name| self.address(name)),
        );
        for table in tables {
            let reset = self.word_at(table + 4);
            if reset.map(|word| u64::from(word) & !1) != Some(entry & !1) || entry & 1 == 0 {
                continue;
            }
            let words = (2..MOST_VECTORS).map_while(|n| self.word_at(table + 4 * n as u64));
            let known = words.take_while(|word| *word == 0 || handler(*word).is_some());
            return known.filter_map(handler).collect();
        }
        Vec::new()
    }

    /// Where the machine may go to sleep until an interrupt (WFI). Data may look the same, but is never executed.
    pub fn sleeps(&self) -> Vec<u64> {
        let (codes, step): (&[&[u8]], usize) = match self.isa {
            Isa::Arm => (&[&[0x30, 0xBF], &[0x03, 0xF0, 0x20, 0xE3]], 2),
            Isa::Aarch64 => (&[&[0x7F, 0x20, 0x03, 0xD5]], 4),
            Isa::RiscV => (&[&[0x73, 0x00, 0x50, 0x10]], 2),
            Isa::Other => (&[], 4),
        };
        let addresses = self.code.iter().flat_map(|(start, data)| {
            let is_sleep = move |at: &usize| codes.iter().any(|code| data[*at..].starts_with(code));
            let all = (0..data.len()).step_by(step).filter(is_sleep);
            all.map(move |at| start + at as u64)
        });
        let addresses = addresses.filter(|at| self.function_at(*at).is_some());
        addresses.take(MOST_SLEEPS).collect()
    }

    /// How the block that ends at an address ended.
    pub fn ending(&self, end: u64) -> Ending {
        match self.isa {
            Isa::Arm if self.is_thumb(end) => self.thumb_ending(end),
            Isa::Arm => self.word_before(end).map_or(Ending::Other, arm_ending),
            Isa::Aarch64 => self.word_before(end).map_or(Ending::Other, aarch64_ending),
            Isa::RiscV => self.riscv_ending(end),
            Isa::Other => Ending::Other,
        }
    }

    fn word_before(&self, end: u64) -> Option<u32> {
        self.word_at(end.checked_sub(4)?)
    }

    fn is_thumb(&self, end: u64) -> bool {
        let function = self.function_at(end.saturating_sub(2));
        let start = function.map(|at| self.functions[at].start);
        start.is_some_and(|start| self.thumb.binary_search(&start).is_ok())
            || (end % 4 != 0 && !self.thumb.is_empty())
    }

    /// The halves of the T32 instruction that ends at an address, found from the start of its function on: the second half
    /// of a long one may look like a short one.
    fn thumb_before(&self, end: u64) -> Option<(Option<u16>, u16)> {
        let mut at = self.functions[self.function_at(end.checked_sub(2)?)?].start;
        while at < end {
            let first = self.half_before(at + 2)?;
            let is_long = first >> 11 >= 0b11101;
            at += if is_long { 4 } else { 2 };
            if at == end {
                return match is_long {
                    true => Some((Some(first), self.half_before(end)?)),
                    false => Some((None, first)),
                };
            }
        }
        None
    }

    fn thumb_ending(&self, end: u64) -> Ending {
        match self.thumb_before(end) {
            // BL and BLX to a label; LDM and LDR from the stack into PC; the return from an exception.
            Some((Some(b), l)) if b & 0xF800 == 0xF000 && l & 0xC000 == 0xC000 => Ending::Call,
            Some((Some(0xE8BD), l)) if l & 0x8000 != 0 => Ending::Return,
            Some((Some(0xF85D), 0xFB04)) => Ending::Return,
            Some((Some(0xF3DE), l)) if l & 0xFF00 == 0x8F00 => Ending::InterruptReturn,
            // BX LR, POP with PC, BLX with a register, SVC.
            Some((None, 0x4770)) => Ending::Return,
            Some((None, l)) if l & 0xFF00 == 0xBD00 => Ending::Return,
            Some((None, l)) if l & 0xFF87 == 0x4780 => Ending::Call,
            Some((None, l)) if l & 0xFF00 == 0xDF00 => Ending::SystemCall,
            _ => Ending::Other,
        }
    }

    fn riscv_ending(&self, end: u64) -> Ending {
        // The last instruction has four bytes where the two lowest bits of its first half are set, or else two.
        if let Some(half) = self.half_before(end).filter(|half| half & 3 != 3) {
            match half {
                0x8082 => return Ending::Return,
                // C.JALR, not C.EBREAK.
                half if half & 0xF07F == 0x9002 && half != 0x9002 => return Ending::Call,
                _ => {}
            }
        }
        let Some(word) = self.word_before(end).filter(|word| word & 3 == 3) else {
            return Ending::Other;
        };
        let (register, base) = (word >> 7 & 31, word >> 15 & 31);
        match word & 0x7F {
            0x6F if register == 1 || register == 5 => Ending::Call,
            0x67 if register == 1 || register == 5 => Ending::Call,
            0x67 if register == 0 && (base == 1 || base == 5) => Ending::Return,
            0x73 if word == 0x3020_0073 || word == 0x1020_0073 => Ending::InterruptReturn,
            0x73 if word == 0x73 => Ending::SystemCall,
            _ => Ending::Other,
        }
    }
}

#[cfg(test)]
impl Symbols {
    /// An image of A32 code: functions with their ends, and instructions by their addresses.
    pub(super) fn of_arm(functions: &[(&str, u64, u64)], code: &[(u64, u32)]) -> Symbols {
        let function = |&(name, start, end): &(&str, u64, u64)| Function {
            start,
            end,
            name: name.to_owned(),
        };
        Symbols {
            functions: functions.iter().map(function).collect(),
            names: functions
                .iter()
                .map(|f| (f.0.to_owned(), vec![f.1]))
                .collect(),
            code: code
                .iter()
                .map(|(at, word)| (*at, word.to_le_bytes().to_vec()))
                .collect(),
            thumb: Vec::new(),
            isa: Isa::Arm,
            interrupts: Vec::new(),
        }
    }
}

/// A32 (Arm ARM, A5): calls, returns by LR or the stack, and returns that restore the interrupted state.
fn arm_ending(word: u32) -> Ending {
    let always = word >> 28 == 0xF;
    match word {
        w if always && w & 0xFE50_FFFF == 0xF810_0A00 => Ending::InterruptReturn,
        w if always && w >> 25 == 0x7D => Ending::Call,
        _ if always => Ending::Other,
        w if w & 0x0F00_0000 == 0x0B00_0000 => Ending::Call,
        w if w & 0x0FFF_FFF0 == 0x012F_FF30 => Ending::Call,
        w if w & 0x0FFF_FFFF == 0x012F_FF1E => Ending::Return,
        // SUBS PC, LR and MOVS PC, LR.
        w if w & 0x0FFF_F000 == 0x025E_F000 || w & 0x0FFF_FFFF == 0x01B0_F00E => {
            Ending::InterruptReturn
        }
        // LDM with PC: with the state where bit 22 is set.
        w if w & 0x0E10_8000 == 0x0810_8000 && w & 1 << 22 != 0 => Ending::InterruptReturn,
        w if w & 0x0E1F_8000 == 0x081D_8000 => Ending::Return,
        w if w & 0x0FFF_FFFF == 0x049D_F004 || w & 0x0FFF_FFFF == 0x01A0_F00E => Ending::Return,
        w if w & 0x0F00_0000 == 0x0F00_0000 => Ending::SystemCall,
        _ => Ending::Other,
    }
}

/// A64 (Arm ARM, C4): BL, BLR, RET, ERET, SVC.
fn aarch64_ending(word: u32) -> Ending {
    match word {
        w if w >> 26 == 0x25 => Ending::Call,
        w if w & 0xFFFF_FC1F == 0xD63F_0000 => Ending::Call,
        w if w & 0xFFFF_FC1F == 0xD65F_0000 => Ending::Return,
        0xD69F_03E0 => Ending::InterruptReturn,
        w if w & 0xFFE0_001F == 0xD400_0001 => Ending::SystemCall,
        _ => Ending::Other,
    }
}

/// Functions with sizes, and labels of assembly between them, each as far as the next.
fn join(sized: &BTreeMap<u64, (u64, String)>, labels: BTreeMap<u64, String>) -> Vec<Function> {
    let mut all: Vec<Function> = Vec::new();
    let mut starts: BTreeMap<u64, (Option<u64>, &str)> = BTreeMap::new();
    for (at, name) in &labels {
        starts.insert(*at, (None, name));
    }
    for (at, (size, name)) in sized {
        starts.insert(*at, (Some(at.saturating_add(*size)), name));
    }
    let mut sized_to = 0;
    for (start, (end, name)) in starts {
        // A label inside a function does not count.
        if end.is_none() && start < sized_to {
            continue;
        }
        if let Some(last) = all.last_mut() {
            last.end = last.end.min(start);
        }
        sized_to = sized_to.max(end.unwrap_or(0));
        all.push(Function {
            start,
            end: end.unwrap_or(start.saturating_add(LONGEST_UNSIZED)),
            name: name.to_owned(),
        });
    }
    all
}

/// Reads any bytes as an image, and checks how each of its functions ends; for fuzzing.
pub fn fuzz_image(bytes: &[u8]) {
    let Ok(mut symbols) = Symbols::read(bytes) else {
        return;
    };
    for entry in symbols.interrupts().to_vec() {
        symbols.split_at(entry);
    }
    let mut before = 0;
    for function in symbols.functions() {
        assert!(before <= function.start && function.start <= function.end);
        before = function.end;
        symbols.ending(function.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_image_makes_it_panic() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fuzz/corpus/machine_image"
        );
        let files: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
        assert!(files.len() >= 2);
        for file in files {
            let whole = std::fs::read(file.unwrap().path()).unwrap();
            fuzz_image(&whole);
            for cut in (0..whole.len()).step_by(7) {
                fuzz_image(&whole[..cut]);
            }
            for at in 0..whole.len() {
                let mut bytes = whole.clone();
                bytes[at] = 0xFF;
                fuzz_image(&bytes);
            }
        }
    }

    #[test]
    fn a_label_inside_a_function_is_none_and_one_between_reaches_to_the_next() {
        let sized = BTreeMap::from([
            (0x100, (0x20, "one".to_owned())),
            (0x200, (0x10, "two".to_owned())),
        ]);
        let labels = BTreeMap::from([
            (0x110, "inside".to_owned()),
            (0x120, "between".to_owned()),
            (0x210, "last".to_owned()),
        ]);
        let all = join(&sized, labels);
        let shown: Vec<_> = all
            .iter()
            .map(|f| (f.name.as_str(), f.start, f.end))
            .collect();
        assert_eq!(
            shown,
            [
                ("one", 0x100, 0x120),
                ("between", 0x120, 0x200),
                ("two", 0x200, 0x210),
                ("last", 0x210, 0x210 + LONGEST_UNSIZED)
            ]
        );
    }

    #[test]
    fn instructions_that_end_a_block_are_known_in_each_set() {
        // As assembled by arm-none-eabi-as and riscv64-unknown-elf-as.
        for (word, ending) in [
            (0xEB00_0000, Ending::Call),
            (0xFA00_0000, Ending::Call),
            (0xE12F_FF33, Ending::Call),
            (0xE12F_FF1E, Ending::Return),
            (0xE8BD_8010, Ending::Return),
            (0xE49D_F004, Ending::Return),
            (0xE25E_F004, Ending::InterruptReturn),
            (0xE8FD_800F, Ending::InterruptReturn),
            (0xF8BD_0A00, Ending::InterruptReturn),
            (0xEF00_0000, Ending::SystemCall),
            (0xEA00_0000, Ending::Other),
            (0xE1A0_0000, Ending::Other),
        ] {
            assert_eq!(arm_ending(word), ending, "{word:#x}");
        }
        for (word, ending) in [
            (0x9400_0000, Ending::Call),
            (0xD63F_0060, Ending::Call),
            (0xD65F_03C0, Ending::Return),
            (0xD69F_03E0, Ending::InterruptReturn),
            (0xD400_0001, Ending::SystemCall),
            (0x1400_0000, Ending::Other),
        ] {
            assert_eq!(aarch64_ending(word), ending, "{word:#x}");
        }
        let of = |isa, code: &[u8]| {
            let symbols = Symbols {
                functions: vec![Function {
                    start: 0x100,
                    end: 0x200,
                    name: "f".to_owned(),
                }],
                names: BTreeMap::new(),
                code: vec![(0x100, code.to_vec())],
                thumb: vec![0x100],
                isa,
                interrupts: Vec::new(),
            };
            symbols.ending(0x100 + code.len() as u64)
        };
        for (code, ending) in [
            (&[0x00, 0xF0, 0x00, 0xF8][..], Ending::Call),
            (&[0x98, 0x47], Ending::Call),
            (&[0x70, 0x47], Ending::Return),
            (&[0x10, 0xBD], Ending::Return),
            (&[0xBD, 0xE8, 0x10, 0x80], Ending::Return),
            (&[0x5D, 0xF8, 0x04, 0xFB], Ending::Return),
            (&[0x00, 0xDF], Ending::SystemCall),
            (&[0x00, 0xE0], Ending::Other),
            // B to a label far away, whose second half looks like POP; POP behind a BL whose second half looks like its first.
            (&[0xFF, 0xF7, 0x97, 0xBD], Ending::Other),
            (&[0x00, 0xF0, 0x00, 0xF0, 0x10, 0xBD], Ending::Return),
        ] {
            assert_eq!(of(Isa::Arm, code), ending, "{code:x?}");
        }
        for (code, ending) in [
            (&[0xEF, 0x00, 0x00, 0x00][..], Ending::Call),
            (&[0x82, 0x97], Ending::Call),
            (&[0x82, 0x80], Ending::Return),
            (&[0x67, 0x80, 0x00, 0x00], Ending::Return),
            (&[0x73, 0x00, 0x20, 0x30], Ending::InterruptReturn),
            (&[0x73, 0x00, 0x00, 0x00], Ending::SystemCall),
            (&[0x82, 0x87], Ending::Other),
        ] {
            assert_eq!(of(Isa::RiscV, code), ending, "{code:x?}");
        }
    }

    #[test]
    fn a_file_that_is_not_an_image_is_reported() {
        assert!(
            Symbols::read(b"\x7fELF")
                .unwrap_err()
                .contains("not a complete ELF")
        );
        assert!(Symbols::read(&[]).is_err());
    }
}
