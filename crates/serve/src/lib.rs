//! The store as pages on this host: runs by node, tag and date, a run's page, figures over time, two runs compared.
//!
//! Pages load nothing from elsewhere. Only the page of a running measurement has a script. Text from the store is escaped.
//! Reading needs no token on a loopback address, and a token everywhere else. Writing needs a token of the page and the page's
//! own origin.
//!
//! The command line uses it. It knows `report`, `statistics`, `store` and `trial`. Start reading at `routes.rs`.
#![forbid(unsafe_code)]

mod chart;
mod guard;
mod html;
mod live;
mod pages;
mod routes;
mod stores;
mod trend;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wirelab_store::{Location, StoreError};

/// What is served, and where.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The address to listen at; port 0 for any that is free.
    pub listen: SocketAddr,
    /// The readers' token; required unless the address is a loopback address.
    pub token: Option<String>,
    /// The store.
    pub store: Location,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A token is missing, or too short to be a secret.
    #[error(
        "{0} is reachable from other hosts, so readers need a token; fix: put one of at least 16 characters into \
         WIRELAB_TOKEN, or listen at 127.0.0.1"
    )]
    NoToken(SocketAddr),
    /// The address is in use, or does not belong to this host.
    #[error("cannot listen at {at}: {why}; fix: name another address with --listen")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// The reason.
        why: std::io::Error,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The shortest token.
const SHORTEST: usize = 16;

/// Serves until `is_over`, which is checked several times a second; `begun` gets the address.
///
/// # Errors
/// [`ServeError`], before anything is served.
pub fn serve(
    options: ServeOptions,
    begun: impl FnOnce(SocketAddr),
    is_over: impl Fn() -> bool + Send + 'static,
) -> Result<(), ServeError> {
    let has_token = options
        .token
        .as_ref()
        .is_some_and(|token| token.len() >= SHORTEST);
    if !has_token && (!options.listen.ip().is_loopback() || options.token.is_some()) {
        return Err(ServeError::NoToken(options.listen));
    }
    let stores = stores::Stores::open(options.store)?;
    let at = options.listen;
    let listen = |why| ServeError::Listen { at, why };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(listen)?.block_on(async move {
        let listener = tokio::net::TcpListener::bind(at).await.map_err(listen)?;
        let at = listener.local_addr().map_err(listen)?;
        let guard = guard::Guard::new(at, options.token);
        begun(at);
        let ended = Arc::new(AtomicBool::new(false));
        let router = routes::router(stores, guard, Arc::clone(&ended));
        let over = async move {
            while !is_over() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            // Ends event streams, which would otherwise stay open until their readers close them.
            ended.store(true, Ordering::Relaxed);
        };
        let served = axum::serve(listener, router)
            .with_graceful_shutdown(over)
            .await;
        served.map_err(|why| ServeError::Listen { at, why })
    })
}
