//! Frames that a checker hands on while it checks them, e.g. to a capture.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wirelab_trial::format;

use crate::pcapng::CaptureWriter;

/// A receiver of frames while they are checked.
pub trait FrameSink: Send {
    /// Takes a frame (destination address first, without FCS, tags in place) that arrived `unix_ns` after 1970.
    ///
    /// # Errors
    /// Why it takes no more frames. It is not called again; the check continues, and the report has the error.
    fn frame(&mut self, unix_ns: u64, frame: &[u8]) -> io::Result<()>;

    /// No frame follows. The port received this many frames, and the checker missed this many of them.
    ///
    /// # Errors
    /// The error at the end, which the report has.
    fn end(&mut self, received_frames: u64, missed_frames: u64) -> io::Result<()> {
        let _ = (received_frames, missed_frames);
        Ok(())
    }
}

/// Writes the frames of a port into a capture, as one of its interfaces. Several ports may share the capture.
///
/// The owner of the writer finishes it after all checkers have ended.
#[derive(Clone)]
pub struct CaptureSink {
    /// The capture.
    pub writer: Arc<Mutex<CaptureWriter>>,
    /// The number of the interface in it.
    pub interface: u32,
    /// If the capture holds several runs: frames of this one were sent from this time of the sender's clock on, in
    /// ns.
    pub sent_since_ns: Option<u64>,
}

impl CaptureSink {
    /// The writer, ready for this run.
    fn writer(&self) -> MutexGuard<'_, CaptureWriter> {
        // A writer still knows what is safely in its file after another checker panicked with it.
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
    /// Why it failed.
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

    /// The note on it at the end.
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
