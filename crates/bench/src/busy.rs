//! How busy the tester's host was while a trial ran: its cores are read beside the trial, for the course of the load.

use std::sync::{Condvar, Mutex, PoisonError};

use wirelab_cores::course::EVERY;
use wirelab_cores::{Course, Meter, allowed};
use wirelab_trial::over_time::{Cores, MOST_KEPT};
use wirelab_trial::{BusyOverTime, ClockKind, Observation};

/// Runs a trial, and adds how busy this host was from its first arrival to its last.
pub fn beside<E>(run: impl FnOnce() -> Result<Observation, E>) -> Result<Observation, E> {
    let Some(mut meter) = allowed().ok().and_then(|cores| Meter::new(&cores).ok()) else {
        return run();
    };
    let (over, wake) = (Mutex::new(false), Condvar::new());
    let (observed, course) = std::thread::scope(|scope| {
        let read = scope.spawn(|| read_on(&mut meter, &over, &wake));
        let ends = Ends(&over, &wake);
        let observed = run();
        drop(ends);
        (observed, read.join().ok())
    });
    let mut observation = observed?;
    let span = arrivals(&observation).zip(course);
    let slices = span.and_then(|((first, last), course)| course.between(&meter, first, last));
    observation
        .busy_over_time
        .extend(slices.map(|found| BusyOverTime::new(Cores::Tester, found.from_ns, &found.slices)));
    Ok(observation)
}

/// Ends the reading, also where a trial panics: the scope waits for it.
struct Ends<'a>(&'a Mutex<bool>, &'a Condvar);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }
}

fn read_on(meter: &mut Meter, over: &Mutex<bool>, wake: &Condvar) -> Course {
    let mut course = Course::new(MOST_KEPT);
    let mut is_over = over.lock().unwrap_or_else(PoisonError::into_inner);
    while !*is_over {
        if let Ok(sample) = meter.sample() {
            course.take(&sample);
        }
        is_over = match wake.wait_timeout_while(is_over, EVERY, |over| !*over) {
            Ok((over, _)) => over,
            Err(poisoned) => poisoned.into_inner().0,
        };
    }
    course
}

/// From the first arrival to the last, by the clock of this host; `None` where it is unknown, or not in real time.
fn arrivals(observation: &Observation) -> Option<(u64, u64)> {
    let spans = observation.flows.iter().filter_map(|flow| {
        let is_real = flow.elapsed.value()?.clock == ClockKind::Wall;
        flow.over_time.span_ns().filter(|_| is_real)
    });
    spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wirelab_trial::host_clock::now_ns;
    use wirelab_trial::slices::{Slice, Slices};
    use wirelab_trial::{Elapsed, Field, OverTime, ResultsFile, Spans};

    use super::*;

    /// A trial of 700 ms whose frames arrived `later_ns` after its begin, by a clock.
    fn trial(clock: ClockKind, later_ns: u64) -> Result<Observation, ()> {
        let text = include_str!("../../../spec/examples/ports.json");
        let mut observation = ResultsFile::parse(text).unwrap().observations.remove(0);
        let begun = now_ns();
        std::thread::sleep(Duration::from_millis(700));
        let lasted = now_ns() - begun;
        let slice = Slice {
            ns: lasted / 8,
            amount: 10,
            distinct: 10,
            passed: 10,
        };
        let slices = Slices {
            all: vec![slice; 8],
            first_ns: Some(begun + later_ns),
        };
        for flow in &mut observation.flows {
            flow.over_time = OverTime::of_frames(&slices);
            flow.elapsed = Field::measured(Elapsed {
                ps: lasted * 1000,
                spans: Spans::Wire,
                clock,
            });
        }
        Ok(observation)
    }

    #[test]
    fn a_trial_has_the_load_of_this_host_from_its_first_arrival_on() {
        let observation = beside(|| trial(ClockKind::Wall, 0)).unwrap();
        let [load] = &observation.busy_over_time[..] else {
            panic!("{:?}", observation.busy_over_time);
        };
        assert_eq!(load.of, Cores::Tester);
        let lasted = |list: &[u64]| list.iter().sum::<u64>();
        let all = lasted(&observation.flows[0].over_time.slice_ns);
        assert!(
            load.from_ns + lasted(&load.slice_ns) <= all,
            "{load:?} of {all}"
        );
        assert!(lasted(&load.busy_ns) <= lasted(&load.slice_ns));
        // Arrivals at another time, or of a simulation, have none.
        for (clock, later_ns) in [(ClockKind::Wall, 5_000_000_000), (ClockKind::Simulated, 0)] {
            let observation = beside(|| trial(clock, later_ns)).unwrap();
            assert!(
                observation.busy_over_time.is_empty(),
                "{clock:?}, {later_ns}"
            );
        }
        assert!(beside(|| Err::<Observation, u8>(7)).is_err());
    }

    #[test]
    #[should_panic(expected = "the node failed")]
    fn a_trial_that_panics_ends_the_reading_too() {
        let _ = beside(|| -> Result<Observation, ()> { panic!("the node failed") });
    }
}
