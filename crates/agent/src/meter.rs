//! The load of the node's cores during a trial and before it.
//!
//! A thread reads the idle times at intervals, which are shorter during a trial. The window of a trial lasts from the
//! first reading after its first frame to the last reading before its last frame, so it contains only the trial. The
//! baseline is as long, lies before the trial, and contains nothing of the trial before.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wirelab_control::slices::MOST_REPORTED;
use wirelab_cores::busy::now_ns;
use wirelab_cores::{Busy, BusyError, Cores, Course, Meter, Sample};
use wirelab_socket::flow::FlowProgress;
use wirelab_trial::BusyOverTime;
use wirelab_trial::over_time;

/// Interval between two readings while nothing runs.
const IDLE: Duration = Duration::from_millis(200);
/// Interval between two readings during a trial: the window may miss this much at each end.
const BUSY: Duration = Duration::from_millis(20);
/// Readings that are kept: a minute before a trial.
const KEPT: usize = 300;
/// Readings near the end of a trial that are kept, because the last frame is known only afterwards.
const LAST: usize = 16;

/// Reads idle times until it is dropped.
#[derive(Debug)]
pub struct LoadMeter {
    shared: Arc<SharedReadings>,
    thread: Option<JoinHandle<()>>,
    cores: Cores,
}

#[derive(Debug, Default)]
struct SharedReadings {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    stop: bool,
    /// Readings since the last trial ended.
    before: VecDeque<Sample>,
    trial: Option<Trial>,
    failure: Option<String>,
}

/// Readings of one trial.
#[derive(Debug)]
struct Trial {
    flows: Vec<Arc<FlowProgress>>,
    running: bool,
    baseline: VecDeque<Sample>,
    first: Option<Sample>,
    /// The newest reading that is known to lie before the last frame.
    inside: Option<Sample>,
    last: VecDeque<Sample>,
    /// Readings over the whole trial.
    course: Course,
}

/// Load of one core during a trial, and before it if known.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub trial: Busy,
    pub idle: Option<Busy>,
}

impl SharedReadings {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoadMeter {
    /// Begin to read.
    pub fn start(cores: &Cores) -> Result<LoadMeter, BusyError> {
        let mut meter = Meter::new(cores)?;
        let shared = Arc::new(SharedReadings::default());
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("wirelab-meter".to_owned())
            .spawn(move || read_on(&own, &mut meter))?;
        Ok(LoadMeter {
            shared,
            thread: Some(thread),
            cores: cores.clone(),
        })
    }

    /// A trial begins.
    pub fn begin(&self) -> Begun {
        let mut inner = self.shared.lock();
        let baseline = std::mem::take(&mut inner.before);
        inner.trial = Some(Trial {
            flows: Vec::new(),
            running: true,
            baseline,
            first: None,
            inside: None,
            last: VecDeque::with_capacity(LAST),
            course: Course::new(MOST_REPORTED),
        });
        self.shared.changed.notify_all();
        Begun(Arc::clone(&self.shared))
    }

    /// The load of each core over the last trial.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn loads(&self) -> Result<Vec<Load>, String> {
        let inner = self.shared.lock();
        if let Some(failure) = &inner.failure {
            return Err(failure.clone());
        }
        let trial = inner.trial.as_ref().ok_or("there was no trial")?;
        let meter = Meter::new(&self.cores).map_err(|e| e.to_string())?;
        trial.loads(&meter)
    }

    /// How busy the cores were in the course of the last trial; `None` while it runs, or if it was too short.
    pub fn course(&self) -> Option<BusyOverTime> {
        let inner = self.shared.lock();
        let trial = inner.trial.as_ref().filter(|trial| !trial.running)?;
        trial.course(&Meter::new(&self.cores).ok()?)
    }
}

/// A trial that has begun. If its work could not be started, it has no flows and no load.
#[derive(Debug)]
pub struct Begun(Arc<SharedReadings>);

impl Begun {
    /// The flows of the trial.
    pub fn set(&self, flows: Vec<Arc<FlowProgress>>) {
        if let Some(trial) = &mut self.0.lock().trial {
            trial.flows = flows;
        }
    }

    /// A function that ends the trial here.
    pub fn ender(&self) -> impl FnOnce() + Send + 'static {
        let shared = Arc::clone(&self.0);
        move || {
            if let Some(trial) = &mut shared.lock().trial {
                trial.running = false;
                trial.settle();
            }
        }
    }
}

impl Drop for LoadMeter {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read_on(shared: &SharedReadings, meter: &mut Meter) {
    let mut inner = shared.lock();
    while !inner.stop {
        let running = inner.trial.as_ref().is_some_and(|trial| trial.running);
        drop(inner);
        let sample = meter.sample();
        inner = shared.lock();
        match sample {
            Ok(sample) => inner.take(sample),
            Err(error) => inner.failure = Some(error.to_string()),
        }
        let wait = if running { BUSY } else { IDLE };
        let unchanged = |inner: &mut Inner| {
            !inner.stop && inner.trial.as_ref().is_some_and(|trial| trial.running) == running
        };
        inner = match shared.changed.wait_timeout_while(inner, wait, unchanged) {
            Ok((inner, _)) => inner,
            Err(poisoned) => poisoned.into_inner().0,
        };
    }
}

impl Inner {
    fn take(&mut self, sample: Sample) {
        match &mut self.trial {
            Some(trial) if trial.running => trial.take(sample),
            _ => {
                if self.before.len() == KEPT {
                    self.before.pop_front();
                }
                self.before.push_back(sample);
            }
        }
    }
}

impl Trial {
    /// First and last frame of all flows so far, in ns; a flow without times lasts until now.
    fn frames(&self) -> Option<(u64, u64)> {
        let times = self.flows.iter().filter_map(|live| {
            let first = live.first_ns.load(Ordering::Relaxed);
            (first > 0).then(|| (first, live.last_ns.load(Ordering::Relaxed)))
        });
        times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    fn take(&mut self, sample: Sample) {
        let Some((first, _)) = self.frames() else {
            return;
        };
        if sample.at_ns >= first {
            self.course.take(&sample);
        }
        if self.first.is_none() && sample.at_ns >= first {
            self.first = Some(sample);
            return;
        }
        self.settle();
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(sample);
    }

    /// Move the readings before the last frame from `last` to `inside`, which keeps the newest of them.
    fn settle(&mut self) {
        let Some((_, end)) = self.frames() else {
            return;
        };
        while self.last.front().is_some_and(|sample| sample.at_ns <= end) {
            self.inside = self.last.pop_front();
        }
    }

    fn course(&self, meter: &Meter) -> Option<BusyOverTime> {
        let (first, end) = self.frames()?;
        let found = self.course.between(meter, first, end)?;
        Some(BusyOverTime::new(
            over_time::Cores::Node,
            found.from_ns,
            &found.slices,
        ))
    }

    fn loads(&self, meter: &Meter) -> Result<Vec<Load>, String> {
        if self.running {
            return Err("the trial still runs".to_owned());
        }
        let (Some(first), Some(last)) = (&self.first, &self.inside) else {
            return Err(too_short(self.frames()));
        };
        let busy = meter.between(first, last).map_err(|e| e.to_string())?;
        let idle = self.idle(meter, last.at_ns - first.at_ns);
        let load = |(at, trial)| Load {
            trial,
            idle: idle.as_ref().and_then(|all| all.get(at).copied()),
        };
        Ok(busy.into_iter().enumerate().map(load).collect())
    }

    /// The interval without load before the trial: as long as the trial, or as long as there are readings.
    fn idle(&self, meter: &Meter, window_ns: u64) -> Option<Vec<Busy>> {
        let last = self.baseline.back()?;
        let from = last.at_ns.saturating_sub(window_ns);
        let first = self.baseline.iter().rev().find(|s| s.at_ns <= from);
        meter
            .between(first.or_else(|| self.baseline.front())?, last)
            .ok()
    }
}

fn too_short(frames: Option<(u64, u64)>) -> String {
    match frames {
        None => "no frame was sent or received".to_owned(),
        Some((first, last)) => format!(
            "{} ms between first and last frame are too short for a share of busy time",
            last.saturating_sub(first) / 1_000_000
        ),
    }
}

/// CLOCK_MONOTONIC in ns, for flows without times.
pub fn stamp(live: &FlowProgress) {
    let now = now_ns();
    if live.first_ns.load(Ordering::Relaxed) == 0 {
        live.first_ns.store(now, Ordering::Relaxed);
    }
    live.last_ns.store(now, Ordering::Relaxed);
}
