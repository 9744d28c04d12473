//! The page of each address, and what all answers have in common.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use tokio::sync::Semaphore;
use wirelab_report::compare::{Rules, compare, render};
use wirelab_report::{Format, Options, document};
use wirelab_store::{Selection, StoreError};

use crate::guard::{Answer, Guard};
use crate::html::{DRAWN_POLICY, LIVE, LIVE_POLICY, POLICY, STYLE, page, xml};
use crate::live;
use crate::pages::{self, Filter, LISTED};
use crate::stores::Stores;
use crate::trend::Trend;

/// Longest form in bytes.
const FORM: usize = 4096;
/// Most runs of a trend.
const TREND: u32 = 1000;

/// Most readers of running measurements at a time.
const WATCHERS: usize = 100;

struct Served {
    stores: Stores,
    guard: Guard,
    watchers: Arc<Semaphore>,
    is_over: Arc<AtomicBool>,
}

type ServedState = State<Arc<Served>>;
type Pairs = Vec<(String, String)>;

/// All pages.
pub fn router(stores: Stores, guard: Guard, is_over: Arc<AtomicBool>) -> Router {
    let served = Arc::new(Served {
        stores,
        guard,
        watchers: Arc::new(Semaphore::new(WATCHERS)),
        is_over,
    });
    Router::new()
        .route("/", get(list))
        .route("/style.css", get(style))
        // Browsers request an icon of each site.
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/runs/{id}", get(report))
        .route("/runs/{id}/figures", get(figures))
        .route("/runs/{id}/events", get(events))
        .route("/live.js", get(async || script(LIVE)))
        .route("/page.js", get(async || script(document::html::SCRIPT)))
        .route("/stop", post(stop))
        .route("/runs/{id}/results.json", get(results))
        .route("/trend/{key}", get(trend))
        .route("/compare", get(comparison))
        .route("/tag", post(tag))
        .route("/untag", post(untag))
        .fallback(async || trouble(StatusCode::NOT_FOUND, "There is no such page."))
        .layer(DefaultBodyLimit::max(FORM))
        .layer(middleware::from_fn_with_state(Arc::clone(&served), guarded))
        .with_state(served)
}

/// Judges each request, and gives each answer the headers that let a browser only show it.
async fn guarded(State(served): ServedState, request: Request, next: Next) -> Response {
    let judged = served
        .guard
        .judge(request.method(), request.uri(), request.headers());
    let mut response = match judged {
        Answer::Allowed => next.run(request).await,
        Answer::SignedIn { again, cookie } => {
            let mut response = Redirect::to(&again).into_response();
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            response
        }
        Answer::Refused(why) => trouble(StatusCode::FORBIDDEN, why),
    };
    let headers = response.headers_mut();
    let always = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in always {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = HeaderValue::from_static(POLICY);
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(policy);
    response
}

fn shown(body: String) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], body).into_response()
}

/// A report as a page. It carries its own policy, which allows only its own style and program.
fn reported(body: String) -> Response {
    under(
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
        shown(body),
    )
}

/// A page with its own content security policy.
fn under(policy: &'static str, mut page: Response) -> Response {
    let policy = HeaderValue::from_static(policy);
    page.headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, policy);
    page
}

fn trouble(status: StatusCode, why: &str) -> Response {
    let title = status.canonical_reason().unwrap_or("Error");
    let body = page(title, &format!("<p class=\"bad\">{}</p>\n", xml(why)));
    (status, shown(body)).into_response()
}

fn failed(error: &StoreError) -> Response {
    let status = match error {
        StoreError::NoRun { .. } => StatusCode::NOT_FOUND,
        error if error.is_usage() => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    trouble(status, &error.to_string())
}

fn answered(done: Result<Response, StoreError>) -> Response {
    done.unwrap_or_else(|error| failed(&error))
}

async fn style() -> Response {
    let all = format!("{}\n{STYLE}", document::html::STYLE);
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], all).into_response()
}

/// The first value of a name, without spaces around it.
fn value(pairs: &Pairs, name: &str) -> String {
    let found = pairs.iter().find(|(known, _)| known == name);
    found.map_or_else(String::new, |(_, value)| value.trim().to_owned())
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

async fn list(State(served): ServedState, Query(pairs): Query<Pairs>) -> Response {
    let filter = Filter {
        node: value(&pairs, "node"),
        tag: value(&pairs, "tag"),
        since: value(&pairs, "since"),
        until: value(&pairs, "until"),
    };
    let selection = selected(&filter);
    let name = served.stores.name();
    match selection {
        Ok(selection) => {
            let runs = served.stores.ask(move |store| store.list(&selection)).await;
            answered(runs.map(|runs| shown(pages::runs(&name, &filter, &runs, None))))
        }
        Err(error) => {
            let body = pages::runs(&name, &filter, &[], Some(&error.to_string()));
            (StatusCode::BAD_REQUEST, shown(body)).into_response()
        }
    }
}

fn selected(filter: &Filter) -> Result<Selection, StoreError> {
    let selection = Selection {
        node: some(&filter.node),
        tag: some(&filter.tag),
        last: Some(LISTED),
        ..Selection::default()
    };
    let [since, until] = [&filter.since, &filter.until].map(|date| some(date));
    selection.within(since.as_deref(), until.as_deref())
}

async fn report(State(served): ServedState, Path(id): Path<i64>) -> Response {
    let done = served.stores.ask(move |store| {
        let file = store.load(id)?;
        Ok(wirelab_report::render(
            &file,
            Format::Html,
            &Options::default(),
        ))
    });
    answered(done.await.map(reported))
}

async fn figures(State(served): ServedState, Path(id): Path<i64>) -> Response {
    let found = served.stores.ask(move |store| {
        let run = store.chosen(&Selection::of(id))?.remove(0);
        Ok((run, store.figures(id)?))
    });
    let token = &served.guard.writers;
    answered(found.await.map(|(run, figures)| {
        let page = shown(pages::figures(&run, &figures, token));
        match run.finished {
            true => page,
            false => under(LIVE_POLICY, page),
        }
    }))
}

async fn events(State(served): ServedState, Path(id): Path<i64>) -> Response {
    let Ok(permit) = Arc::clone(&served.watchers).try_acquire_owned() else {
        return trouble(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many readers watch; fix: close pages of running measurements.",
        );
    };
    live::events(
        served.stores.clone(),
        id,
        Arc::clone(&served.is_over),
        permit,
    )
    .into_response()
}

fn script(program: &'static str) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/javascript; charset=utf-8")];
    (kind, program).into_response()
}

async fn stop(served: ServedState, form: Form<Pairs>) -> Response {
    write(served, form, false, |store, run, _| store.stop(&[run])).await
}

async fn results(State(served): ServedState, Path(id): Path<i64>) -> Response {
    let done = served
        .stores
        .ask(move |store| Ok(store.load(id)?.to_json()));
    let json = |text| ([(header::CONTENT_TYPE, "application/json")], text).into_response();
    answered(done.await.map(json))
}

async fn trend(
    State(served): ServedState,
    Path(key): Path<String>,
    Query(pairs): Query<Pairs>,
) -> Response {
    let (node, tag) = (value(&pairs, "node"), value(&pairs, "tag"));
    let selection = Selection {
        node: some(&node),
        tag: some(&tag),
        last: Some(TREND),
        ..Selection::default()
    };
    let points = served
        .stores
        .ask(move |store| Ok(Trend::of(store.trend(&key, &selection)?)));
    answered(points.await.map(|of| match of {
        Some(of) => under(DRAWN_POLICY, shown(pages::trend(&of, &node, &tag))),
        None => trouble(
            StatusCode::NOT_FOUND,
            "No run of this selection has this figure.",
        ),
    }))
}

async fn comparison(State(served): ServedState, Query(pairs): Query<Pairs>) -> Response {
    let runs = pairs.iter().filter(|(name, _)| name == "run");
    let runs: Vec<i64> = runs.filter_map(|(_, id)| id.parse().ok()).collect();
    let [first, second] = runs[..] else {
        return trouble(
            StatusCode::BAD_REQUEST,
            "A comparison takes two runs; fix: tick two runs of the list.",
        );
    };
    // The later is compared with the earlier.
    let (before, after) = (first.min(second), first.max(second));
    let done = served.stores.ask(move |store| {
        let files = [store.load(before)?, store.load(after)?];
        let names = [format!("run {before}"), format!("run {after}")];
        let of = compare(
            (&names[0], &files[0]),
            (&names[1], &files[1]),
            Rules::default(),
        );
        let page = render(&of, Format::Html, &Options::default(), &[]);
        Ok(page.expect("a page has a place for a comparison"))
    });
    answered(done.await.map(reported))
}

async fn tag(served: ServedState, form: Form<Pairs>) -> Response {
    write(served, form, true, |store, run, tag| store.tag(&[run], tag)).await
}

async fn untag(served: ServedState, form: Form<Pairs>) -> Response {
    write(served, form, true, |store, run, tag| {
        store.untag(&[run], tag)
    })
    .await
}

async fn write(
    State(served): ServedState,
    Form(pairs): Form<Pairs>,
    needs_tag: bool,
    work: fn(&mut wirelab_store::Store, i64, &str) -> Result<(), StoreError>,
) -> Response {
    if !served.guard.may_write(&value(&pairs, "token")) {
        return trouble(
            StatusCode::FORBIDDEN,
            "This form is from an earlier start of the server; fix: load its page again.",
        );
    }
    let tag = value(&pairs, "tag");
    let Ok(run) = value(&pairs, "run").parse::<i64>() else {
        return trouble(StatusCode::BAD_REQUEST, "A form takes a run.");
    };
    if tag.is_empty() && needs_tag {
        return trouble(StatusCode::BAD_REQUEST, "A tag takes a word.");
    }
    let done = served.stores.ask(move |store| work(store, run, &tag)).await;
    answered(done.map(|()| Redirect::to(&format!("/runs/{run}/figures")).into_response()))
}
