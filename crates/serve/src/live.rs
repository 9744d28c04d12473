//! A running measurement as server-sent events: its figures as they grow, and its end.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;
use wirelab_store::{Selection, StoreError};

use crate::pages;
use crate::stores::Stores;

/// How often the store is queried.
const EVERY: Duration = Duration::from_millis(500);

/// The position from which a stream of events continues.
struct RunFollower {
    stores: Stores,
    run: i64,
    /// Trials that were reported; none before the first event.
    shown: Option<u64>,
    is_over: Arc<AtomicBool>,
    _permit: OwnedSemaphorePermit,
}

/// Events of a run until the run, the server or the reader ends.
pub fn events(
    stores: Stores,
    run: i64,
    is_over: Arc<AtomicBool>,
    permit: OwnedSemaphorePermit,
) -> impl IntoResponse {
    let watch = RunFollower {
        stores,
        run,
        shown: None,
        is_over,
        _permit: permit,
    };
    let events = stream::unfold(Some(watch), async |watch| next(watch?).await);
    Sse::new(events).keep_alive(KeepAlive::default())
}

type Next = Option<(Result<Event, Infallible>, Option<RunFollower>)>;

async fn next(mut watch: RunFollower) -> Next {
    loop {
        if watch.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let (id, shown) = (watch.run, watch.shown);
        let found = watch.stores.ask(move |store| {
            let run = store.chosen(&Selection::of(id))?.remove(0);
            let is_new = shown != Some(run.trials) && !run.finished;
            let figures = if is_new {
                store.figures(id)?
            } else {
                Vec::new()
            };
            Ok::<_, StoreError>((run, figures))
        });
        let Ok((run, figures)) = found.await else {
            return Some((Ok(Event::default().event("end").data("gone")), None));
        };
        if run.finished {
            return Some((Ok(Event::default().event("end").data("finished")), None));
        }
        if watch.shown != Some(run.trials) {
            watch.shown = Some(run.trials);
            let data = pages::so_far(&run, &figures);
            return Some((
                Ok(Event::default().event("figures").data(data)),
                Some(watch),
            ));
        }
        tokio::time::sleep(EVERY).await;
    }
}
