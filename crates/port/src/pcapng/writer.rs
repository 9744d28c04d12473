//! Writing a capture: pcapng with ns times, buffered, and readable after any failure.
//!
//! Blocks are collected and written together. When a write fails (a full disk), the file is truncated to its last
//! whole block, so that everything that the error calls safe can be read.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::encode::{self, InterfaceSpec, kind};
use super::error::CaptureError;
use wirelab_trial::NodeError;

/// Bytes collected before a write.
const GATHER: usize = 1024 * 1024;

/// How a capture is written.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Replace an existing file.
    pub overwrite: bool,
    /// Name and version of the program, for the section header.
    pub application: String,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            overwrite: false,
            application: concat!("wirelab ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// The content of a written file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureSummary {
    /// Frames.
    pub frames: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
}

/// The destination of the bytes, and how to truncate it.
pub(super) trait Sink: Write {
    /// Keep only the first `len` bytes.
    fn cut_back(&mut self, len: u64) -> io::Result<()>;
}

impl Sink for File {
    fn cut_back(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// The writer's state of one interface.
#[derive(Clone, Copy, Default)]
struct InterfaceCounts {
    frames: u64,
    last_ns: u64,
    /// Received and dropped frames, if the capturing program reports them.
    statistics: Option<(u64, u64)>,
}

/// Writes a capture. Dropped without [`CaptureWriter::finish`], it still writes what it has collected.
pub struct CaptureWriter {
    inner: Inner<File>,
}

impl CaptureWriter {
    /// Make a capture at `path` with these interfaces, numbered from 0.
    ///
    /// # Errors
    /// [`CaptureError::Exists`] if the file exists and `options.overwrite` is not set; [`CaptureError::Open`] and
    /// [`CaptureError::Write`] with the system's error.
    pub fn create(
        path: &Path,
        interfaces: &[InterfaceSpec],
        options: &WriterOptions,
    ) -> Result<CaptureWriter, CaptureError> {
        let name = path.display().to_string();
        // A pipe or a device is written to, but not replaced.
        let special = path.metadata().is_ok_and(|found| !found.is_file());
        let mut how = OpenOptions::new();
        how.write(true);
        match (special, options.overwrite) {
            (true, _) => {}
            (false, true) => _ = how.create(true).truncate(true),
            (false, false) => _ = how.create_new(true),
        }
        let file = how.open(path).map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => CaptureError::Exists { name: name.clone() },
            _ => CaptureError::Open {
                name: name.clone(),
                source,
            },
        })?;
        let inner = Inner::new(file, name, interfaces, options)?;
        Ok(CaptureWriter { inner })
    }

    /// Add a frame (destination address first, without FCS) that arrived at `time_ns` (ns since 1970).
    ///
    /// # Errors
    /// [`CaptureError::Write`] with the number of frames that are safely in the file; [`CaptureError::BadRequest`] for an
    /// undeclared interface.
    pub fn write_frame(
        &mut self,
        interface: u32,
        time_ns: u64,
        frame: &[u8],
    ) -> Result<(), CaptureError> {
        self.write_cut_frame(interface, time_ns, frame, frame.len() as u32)
    }

    /// Add the captured part of a frame that had `original_len` bytes (without FCS) on the link.
    ///
    /// # Errors
    /// As [`CaptureWriter::write_frame`].
    pub fn write_cut_frame(
        &mut self,
        interface: u32,
        time_ns: u64,
        frame: &[u8],
        original_len: u32,
    ) -> Result<(), CaptureError> {
        self.inner.add(interface, time_ns, frame, original_len)
    }

    /// Set how many frames the interface received and how many of them the capture lost. Without this the statistics
    /// at the end of the file report no losses.
    ///
    /// # Errors
    /// [`CaptureError::BadRequest`] for an undeclared interface.
    pub fn set_statistics(
        &mut self,
        interface: u32,
        received: u64,
        dropped: u64,
    ) -> Result<(), CaptureError> {
        self.inner.counts_of(interface)?.statistics = Some((received, dropped));
        Ok(())
    }

    /// From now on, frames belong to the run whose frames are sent from `sent_since_ns` on, a time of the sender's
    /// clock. They go into a new section, which is judged separately. The same or an earlier run changes nothing.
    pub fn begin_run(&mut self, sent_since_ns: u64) {
        self.inner.begin_run(sent_since_ns);
    }

    /// Write everything collected.
    ///
    /// # Errors
    /// [`CaptureError::Write`].
    pub fn flush(&mut self) -> Result<(), CaptureError> {
        self.inner.write_out()
    }

    /// Add the statistics of each interface and write what is left.
    ///
    /// # Errors
    /// [`CaptureError::Write`].
    pub fn finish(mut self) -> Result<CaptureSummary, CaptureError> {
        self.inner.finish()
    }
}

/// A capture that several checkers write into.
pub type SharedCapture = Arc<Mutex<CaptureWriter>>;

/// End a capture that has no other owner; `None` if it has one, which ends it later.
///
/// # Errors
/// As [`CaptureWriter::finish`].
pub fn end_shared(capture: SharedCapture) -> Result<Option<CaptureSummary>, CaptureError> {
    let writer =
        Arc::into_inner(capture).map(|w| w.into_inner().unwrap_or_else(|e| e.into_inner()));
    writer.map(CaptureWriter::finish).transpose()
}

/// Start the capture of a node's interfaces, for [`wirelab_trial::Node::start_capture`].
///
/// # Errors
/// [`NodeError::BadTrial`] if the file cannot be made.
pub fn start_of_node(
    file: &Path,
    interfaces: &[InterfaceSpec],
) -> Result<SharedCapture, NodeError> {
    let writer = CaptureWriter::create(file, interfaces, &WriterOptions::default());
    Ok(Arc::new(Mutex::new(writer.map_err(NodeError::bad)?)))
}

/// End the capture of a node, if it has one; returns the number of its frames if it has no other owner.
///
/// # Errors
/// [`NodeError::Failed`] if the file cannot be written.
pub fn end_of_node(capture: Option<SharedCapture>) -> Result<Option<u64>, NodeError> {
    let ended = capture.map(end_shared).transpose();
    let ended = ended.map_err(|error| NodeError::Failed(error.to_string()))?;
    Ok(ended.flatten().map(|summary| summary.frames))
}

impl Drop for CaptureWriter {
    fn drop(&mut self) {
        // To get the error, call `finish`.
        let _ = self.inner.write_out();
    }
}

/// The writer over any sink, so that its failures can be tested.
struct Inner<S> {
    sink: S,
    name: String,
    gathered: Vec<u8>,
    /// Safely in the file: bytes (at the end of a block) and frames.
    safe: CaptureSummary,
    frames: u64,
    interfaces: Vec<InterfaceSpec>,
    application: String,
    /// The section's run, as the time from which its frames are sent.
    run: Option<u64>,
    counts: Vec<InterfaceCounts>,
    /// The error that ended the writing; further blocks would damage the file.
    failed: Option<(ErrorKind, Option<i32>)>,
}

impl<S: Sink> Inner<S> {
    fn new(
        sink: S,
        name: String,
        interfaces: &[InterfaceSpec],
        options: &WriterOptions,
    ) -> Result<Inner<S>, CaptureError> {
        if interfaces.is_empty() {
            let why = "a capture needs an interface; fix: announce one".to_owned();
            return Err(CaptureError::BadRequest { name, why });
        }
        let mut inner = Inner {
            sink,
            name,
            gathered: Vec::with_capacity(GATHER + 64 * 1024),
            safe: CaptureSummary::default(),
            frames: 0,
            interfaces: interfaces.to_vec(),
            application: options.application.clone(),
            run: None,
            counts: vec![InterfaceCounts::default(); interfaces.len()],
            failed: None,
        };
        inner.begin_section();
        // A disk that is full from the start is reported before a long trial, not after it.
        inner.write_out()?;
        Ok(inner)
    }

    fn begin_section(&mut self) {
        encode::section_header(&mut self.gathered, &self.application);
        for spec in &self.interfaces {
            encode::interface_description(&mut self.gathered, spec, self.run);
        }
    }

    fn begin_run(&mut self, sent_since_ns: u64) {
        if self.run.is_some_and(|run| sent_since_ns <= run) {
            return;
        }
        // The first run needs no section of its own.
        let is_first = self.run.is_none() && self.frames == 0;
        self.run = Some(sent_since_ns);
        if !is_first {
            self.end_section();
            self.begin_section();
        }
    }

    fn counts_of(&mut self, interface: u32) -> Result<&mut InterfaceCounts, CaptureError> {
        let known = self.counts.len();
        match self.counts.get_mut(interface as usize) {
            Some(counts) => Ok(counts),
            None => Err(CaptureError::BadRequest {
                name: self.name.clone(),
                why: format!(
                    "interface {interface} was not announced; fix: use one of the {known}, counted from 0"
                ),
            }),
        }
    }

    fn add(
        &mut self,
        interface: u32,
        time_ns: u64,
        frame: &[u8],
        original_len: u32,
    ) -> Result<(), CaptureError> {
        let counts = self.counts_of(interface)?;
        counts.frames += 1;
        counts.last_ns = time_ns;
        self.frames += 1;
        encode::enhanced_packet(&mut self.gathered, interface, time_ns, frame, original_len);
        if self.gathered.len() >= GATHER {
            self.write_out()?;
        }
        Ok(())
    }

    /// The statistics of each interface.
    fn end_section(&mut self) {
        for (interface, counts) in self.counts.iter_mut().enumerate() {
            let counts = std::mem::take(counts);
            let (received, dropped) = counts.statistics.unwrap_or((counts.frames, 0));
            encode::interface_statistics(
                &mut self.gathered,
                interface as u32,
                counts.last_ns,
                received,
                dropped,
            );
        }
    }

    fn finish(&mut self) -> Result<CaptureSummary, CaptureError> {
        self.end_section();
        self.write_out()?;
        Ok(self.safe)
    }

    fn write_out(&mut self) -> Result<(), CaptureError> {
        if let Some((kind, code)) = self.failed {
            self.gathered.clear();
            return Err(self.error(code.map_or(kind.into(), io::Error::from_raw_os_error)));
        }
        let mut written = 0;
        while written < self.gathered.len() {
            match self.sink.write(&self.gathered[written..]) {
                Ok(0) => return Err(self.fail(written, ErrorKind::WriteZero.into())),
                Ok(n) => written += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fail(written, error)),
            }
        }
        self.safe.bytes += written as u64;
        self.safe.frames = self.frames;
        self.gathered.clear();
        Ok(())
    }

    /// Writing stopped after `written` collected bytes: keep the whole blocks among them.
    fn fail(&mut self, written: usize, source: io::Error) -> CaptureError {
        let (bytes, frames) = whole_blocks(&self.gathered, written);
        self.safe.bytes += bytes as u64;
        self.safe.frames += frames;
        self.gathered.clear();
        self.failed = Some((source.kind(), source.raw_os_error()));
        // If truncating fails too (a pipe), the reader finds the last whole block.
        let _ = self.sink.cut_back(self.safe.bytes);
        self.error(source)
    }

    fn error(&self, source: io::Error) -> CaptureError {
        CaptureError::Write {
            name: self.name.clone(),
            frames: self.safe.frames,
            bytes: self.safe.bytes,
            source,
        }
    }
}

/// Bytes and frames of the blocks in `gathered` that lie completely within the first `written` bytes.
fn whole_blocks(gathered: &[u8], written: usize) -> (usize, u64) {
    let word = |at: usize| {
        let bytes = gathered[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    };
    let (mut at, mut frames) = (0, 0);
    while at + 8 <= written {
        let end = at + word(at + 4) as usize;
        if end > written {
            break;
        }
        frames += u64::from(word(at) == kind::ENHANCED_PACKET);
        at = end;
    }
    (at, frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcapng::{CaptureReader, End};

    /// A disk with space for `room` bytes that takes at most `step` at once.
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
        step: usize,
    }

    impl Write for Disk {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            let n = data.len().min(self.step).min(self.room - self.bytes.len());
            if n == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.bytes.extend_from_slice(&data[..n]);
            Ok(n)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Sink for Disk {
        fn cut_back(&mut self, len: u64) -> io::Result<()> {
            self.bytes.truncate(len as usize);
            Ok(())
        }
    }

    fn read_back(bytes: &[u8]) -> (u64, End) {
        let mut reader = CaptureReader::new("disk", bytes).unwrap();
        while let Some(frame) = reader.next_frame().unwrap() {
            assert_eq!(frame.bytes, [frame.number as u8 - 1; 61]);
        }
        (reader.frames(), reader.end().unwrap().clone())
    }

    #[test]
    fn a_full_disk_leaves_a_readable_file_whatever_its_size() {
        let interfaces = [InterfaceSpec::named("a"), InterfaceSpec::named("b")];
        let options = WriterOptions::default();
        let mut full = 0;
        for room in 160..2000 {
            let disk = Disk {
                bytes: Vec::new(),
                room,
                step: 97,
            };
            let Ok(mut writer) = Inner::new(disk, "disk".into(), &interfaces, &options) else {
                continue;
            };
            for i in 0..10u8 {
                writer.add(1, u64::from(i), &[i; 61], 61).unwrap();
            }
            let result = writer.finish();
            let (frames, end) = read_back(&writer.sink.bytes);
            assert_eq!(end, End::Whole);
            match result {
                Ok(summary) => assert_eq!((summary.frames, frames), (10, 10)),
                Err(CaptureError::Write {
                    frames: safe,
                    bytes,
                    ..
                }) => {
                    full += 1;
                    assert_eq!(safe, frames);
                    assert_eq!(bytes, writer.sink.bytes.len() as u64);
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert!(full > 900, "the disk was full only {full} times");
    }

    #[test]
    fn after_a_failure_nothing_is_written_any_more() {
        let disk = Disk {
            bytes: Vec::new(),
            room: 300,
            step: 1000,
        };
        let options = WriterOptions::default();
        let mut writer =
            Inner::new(disk, "disk".into(), &[InterfaceSpec::named("a")], &options).unwrap();
        for i in 0..10 {
            writer.add(0, 0, &[i; 61], 61).unwrap();
        }
        let first = writer.write_out().unwrap_err().to_string();
        writer.sink.room = usize::MAX;
        writer.add(0, 0, &[0; 61], 61).unwrap();
        assert_eq!(writer.write_out().unwrap_err().to_string(), first);
        assert!(first.contains("disk") && first.contains("safely in the file"));
        assert_eq!(read_back(&writer.sink.bytes).0, writer.safe.frames);
    }

    #[test]
    fn an_unannounced_interface_is_named() {
        let disk = Disk {
            bytes: Vec::new(),
            room: 300,
            step: 1000,
        };
        let options = WriterOptions::default();
        let mut writer =
            Inner::new(disk, "disk".into(), &[InterfaceSpec::named("a")], &options).unwrap();
        let error = writer.add(1, 0, &[], 0).unwrap_err().to_string();
        assert!(error.contains("interface 1 was not announced"), "{error}");
    }
}
