//! Open stores, one for each request that is answered at the same time.

use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;
use wirelab_store::{Location, Store, StoreError};

/// Most requests answered at once; a run may take a lot of memory.
const AT_ONCE: usize = 4;

/// The store, for any number of requests.
#[derive(Clone)]
pub struct Stores {
    at: Location,
    idle: Arc<Mutex<Vec<Store>>>,
    turns: Arc<Semaphore>,
}

impl Stores {
    /// Opens the store at a location; it must exist.
    pub fn open(at: Location) -> Result<Stores, StoreError> {
        let store = Store::open_existing(&at)?;
        Ok(Stores {
            at,
            idle: Arc::new(Mutex::new(vec![store])),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        })
    }

    /// Its name, without a password.
    pub fn name(&self) -> String {
        self.at.to_string()
    }

    /// Runs `work` with a store, on a thread that may block.
    pub async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let this = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let idle = this.idle.lock().unwrap_or_else(|e| e.into_inner()).pop();
            let mut store = match idle {
                Some(store) => store,
                None => Store::open(&this.at)?,
            };
            let done = work(&mut store);
            // A store that failed may have lost its connection.
            if done.is_ok() || done.as_ref().is_err_and(StoreError::is_usage) {
                this.idle
                    .lock()
                    .unwrap_or_else(|e| e.into_inner())
                    .push(store);
            }
            done
        });
        done.await.unwrap_or_else(|error| {
            Err(StoreError::Failed {
                store: self.name(),
                why: error.to_string(),
            })
        })
    }
}
