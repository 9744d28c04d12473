//! The run that a command keeps in the store while it measures.

use std::cell::{Cell, RefCell};

use wirelab_port::host;
use wirelab_store::{Store, StoreError, without_password};
use wirelab_trial::{Description, Observation, Part, ResultsFile};

use super::results::location;
use crate::args::KeepArgs;
use crate::exit::Fallible;
use crate::terminal::complain;

/// The results of a command that runs no plan, and its begin.
pub fn results(
    begun_unix_ns: u64,
    observations: Vec<Observation>,
    parts: Vec<Part>,
    interrupted: bool,
) -> ResultsFile {
    let command = std::env::args().map(|arg| without_password(&arg)).collect();
    ResultsFile {
        interrupted,
        observations,
        parts,
        ..ResultsFile::new(
            env!("CARGO_PKG_VERSION"),
            command,
            begun_unix_ns,
            host::environment(),
        )
    }
}

/// A store, and the run of this command in it.
pub struct StoreRun {
    store: RefCell<Store>,
    name: String,
    run: Cell<Option<i64>>,
    tags: Vec<String>,
}

impl StoreRun {
    pub fn of(args: &KeepArgs) -> Fallible<Option<StoreRun>> {
        let Some(text) = &args.store else {
            return Ok(None);
        };
        let location = location(Some(text))?;
        Ok(Some(StoreRun {
            store: RefCell::new(Store::open(&location)?),
            name: location.to_string(),
            run: Cell::new(None),
            tags: args.tag.clone(),
        }))
    }

    /// Begins the run; `file` has no trials yet, and will have those of `planned` if that is known.
    pub fn begin(
        &self,
        file: &ResultsFile,
        node: &Description,
        planned: Option<u64>,
    ) -> Fallible<()> {
        let mut store = self.store.borrow_mut();
        let run = store.begin(file, node)?;
        if let Some(trials) = planned {
            store.plan(run, trials)?;
        }
        for tag in &self.tags {
            store.tag(&[run], tag)?;
        }
        complain(format_args!(
            "wirelab: this is run {run} in the store {}",
            self.name
        ));
        self.run.set(Some(run));
        Ok(())
    }

    /// Keeps the latest trial of the run; returns whether the run must stop.
    pub fn keep(&self, file: &ResultsFile) -> Result<bool, StoreError> {
        match self.run.get() {
            Some(run) => self.store.borrow_mut().keep(run, file),
            None => Ok(false),
        }
    }

    /// Keeps everything that the run has by now; a run without a trial is not kept. Joined results of several nodes begin their
    /// run only here.
    pub fn finish(&self, file: &ResultsFile) -> Fallible<()> {
        if self.run.get().is_none()
            && let Some(first) = file.observations.first()
        {
            self.begin(file, &first.node, None)?;
        }
        let Some(run) = self.run.get() else {
            return Ok(());
        };
        let mut store = self.store.borrow_mut();
        match file.observations.is_empty() {
            true => {
                store.delete(&[run])?;
                self.run.set(None);
            }
            false => store.finish(run, file)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_without_a_trial_are_no_run_however_often_they_are_finished() {
        let name = format!("wirelab-kept-{}.db", std::process::id());
        let path = std::env::temp_dir().join(name);
        let args = KeepArgs {
            store: Some(path.display().to_string()),
            tag: Vec::new(),
        };
        let run = StoreRun::of(&args).unwrap().expect("a store");
        let text = include_str!("../../../../spec/examples/iperf.json");
        let whole = ResultsFile::parse_unchecked(text).unwrap();
        let empty = results(1, Vec::new(), Vec::new(), true);
        run.begin(&empty, &whole.observations[0].node, None)
            .unwrap();
        for _ in 0..2 {
            run.finish(&empty).unwrap();
        }
        let runs = |run: &StoreRun| run.store.borrow_mut().list(&Default::default()).unwrap();
        assert!(runs(&run).is_empty());
        run.finish(&whole).unwrap();
        assert_eq!(runs(&run).len(), 1);
        std::fs::remove_file(path).unwrap();
    }
}
