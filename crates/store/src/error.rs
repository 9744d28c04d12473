//! Errors of a store: each error says what, where, and what to do.

/// Why a request to a store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The invalid name of a store, with the fix.
    #[error("--store: {0}")]
    Location(String),
    /// There is no store at that place.
    #[error(
        "there is no store at {0}; fix: measure with --store, import results files, or name another store with --store=FILE"
    )]
    Missing(String),
    /// The store cannot be opened.
    #[error("the store {store} cannot be opened: {why}; fix: {fix}")]
    Closed {
        /// The store.
        store: String,
        /// The reason.
        why: String,
        /// What to do.
        fix: &'static str,
    },
    /// A later wirelab made it.
    #[error(
        "the store {store} has version {found}, and this wirelab knows version {known}; fix: use a newer wirelab"
    )]
    Newer {
        /// The store.
        store: String,
        /// Its version.
        found: i64,
        /// The latest version known.
        known: i64,
    },
    /// A statement failed.
    #[error(
        "the store {store} failed: {why}; fix: check that it is reachable and has space, and try again"
    )]
    Failed {
        /// The store.
        store: String,
        /// The reason.
        why: String,
    },
    /// An invalid selection.
    #[error("invalid selection '{text}': {why}")]
    Selection {
        /// The typed text.
        text: String,
        /// The reason, and the fix.
        why: String,
    },
    /// No run is selected, or a run does not exist.
    #[error("{store}: {what}; fix: 'wirelab results list' lists the runs")]
    NoRun {
        /// The store.
        store: String,
        /// What is missing.
        what: String,
    },
    /// The stored content of a run is damaged.
    #[error(
        "{store}: run {run}{place} is damaged: {why}; fix: delete the run, or restore the store from a backup"
    )]
    Damaged {
        /// The store.
        store: String,
        /// The run's number.
        run: i64,
        /// Where in the run; empty for its head.
        place: String,
        /// What is wrong.
        why: String,
    },
}

impl StoreError {
    /// Whether the request was wrong, or names something that is not a store; otherwise the store failed.
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            StoreError::Location(_)
                | StoreError::Missing(_)
                | StoreError::Closed { .. }
                | StoreError::Newer { .. }
                | StoreError::Selection { .. }
                | StoreError::NoRun { .. }
        )
    }
}
