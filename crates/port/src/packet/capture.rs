//! Frames that a checker sees, handed on while they are checked, e.g. into a capture.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wirelab_trial::format;

use crate::pcapng::CaptureWriter;

/// Whatever frames are to be handed to while they are checked.
pub trait FrameSink: Send {
    /// Takes a frame (destination address first, without FCS, tags in place) that came `unix_ns` after 1970.
    ///
    /// # Errors
    /// What keeps it from taking more. It is not asked again; the check goes on, and the report says so.
    fn frame(&mut self, unix_ns: u64, frame: &[u8]) -> io::Result<()>;

    /// No frame follows: the port received so many, of which the checker missed so many.
    ///
    /// # Errors
    /// What is wrong at the end; the report says so.
    fn end(&mut self, received_frames: u64, missed_frames: u64) -> io::Result<()> {
        let _ = (received_frames, missed_frames);
        Ok(())
    }
}

/// Writes the frames of a port into a capture, as one of its interfaces; several ports may share the capture.
///
/// Whoever made the writer finishes it when all checkers have ended.
#[derive(Clone)]
pub struct CaptureSink {
    /// The capture.
    pub writer: Arc<Mutex<CaptureWriter>>,
    /// The number of the interface in it.
    pub interface: u32,
    /// Where the capture holds several runs: frames of this one are sent from this time of the sender's clock on, in ns.
    pub sent_since_ns: Option<u64>,
}

impl CaptureSink {
    /// The writer, ready for this run.
    fn writer(&self) -> MutexGuard<'_, CaptureWriter> {
        // A writer that another checker died over still knows what is safely in its file.
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since_ns) = self.sent_since_ns {
            writer.begin_run(since_ns);
        }
        writer
    }
}

impl FrameSink for CaptureSink {
    fn frame(&mut self, unix_ns: u64, frame: &[u8]) -> io::Result<()> {
        self.writer()
            .write_frame(self.interface, unix_ns, frame)
            .map_err(io::Error::other)
    }

    fn end(&mut self, received_frames: u64, missed_frames: u64) -> io::Result<()> {
        self.writer()
            .set_statistics(self.interface, received_frames, missed_frames)
            .map_err(io::Error::other)
    }
}

/// A sink until it fails.
pub(super) struct Capture {
    sink: Option<Box<dyn FrameSink>>,
    frames: u64,
    /// How it failed.
    ended: Option<String>,
}

impl Capture {
    pub(super) fn new(sink: Option<Box<dyn FrameSink>>) -> Capture {
        Capture {
            sink,
            frames: 0,
            ended: None,
        }
    }

    #[inline]
    pub(super) fn take(&mut self, unix_ns: u64, frame: &[u8]) {
        let Some(sink) = &mut self.sink else { return };
        match sink.frame(unix_ns, frame) {
            Ok(()) => self.frames += 1,
            Err(error) => {
                let frames = format::count(self.frames, "frame");
                self.ended = Some(format!("the capture ended after {frames}: {error}"));
                self.sink = None;
            }
        }
    }

    /// What is to be said of it at the end.
    pub(super) fn finish(mut self, missed_frames: u64) -> Option<String> {
        let received = self.frames + missed_frames;
        let result = self
            .sink
            .as_mut()
            .map(|sink| sink.end(received, missed_frames));
        match result {
            Some(Err(error)) => Some(format!("the capture could not be ended well: {error}")),
            _ => self.ended,
        }
    }
}
