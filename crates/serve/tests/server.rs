//! The server as a browser and as an attacker meet it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use wirelab_serve::{ServeError, ServeOptions, serve};
use wirelab_store::{Location, Store};
use wirelab_trial::{Field, ResultsFile};

const DAY: u64 = 86_400_000_000_000;

struct Server {
    at: SocketAddr,
    store: Location,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
    _folder: tempfile::TempDir,
}

impl Server {
    /// A server on a store that `fill` filled.
    fn begin(fill: impl FnOnce(&mut Store)) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Location::File(folder.path().join("results.db"));
        fill(&mut Store::open(&store).expect("a store"));
        let over = Arc::new(AtomicBool::new(false));
        let (told, began) = channel();
        let options = ServeOptions {
            listen: "127.0.0.1:0".parse().expect("an address"),
            token: None,
            store: store.clone(),
        };
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            serve(
                options,
                |at| told.send(at).expect("a listener"),
                move || is_over.load(Ordering::Relaxed),
            )
        });
        Server {
            at: began
                .recv_timeout(Duration::from_secs(60))
                .expect("it begins"),
            store,
            over,
            thread: Some(thread),
            _folder: folder,
        }
    }

    /// An answer to a request as it is written here, with its own host's name.
    fn ask(&self, request: &str) -> Answer {
        let (line, rest) = request.split_once('\n').unwrap_or((request, ""));
        let host = if rest.contains("Host:") {
            String::new()
        } else {
            format!("Host: {}\n", self.at)
        };
        let (head, body) = rest.split_once("\n\n").unwrap_or((rest, ""));
        let head = if head.is_empty() {
            String::new()
        } else {
            format!("{head}\n")
        };
        let length = body.len();
        let text =
            format!("{line} HTTP/1.1\n{host}{head}Content-Length: {length}\nConnection: close\n\n");
        let text = text.replace('\n', "\r\n") + body;
        let mut stream = TcpStream::connect(self.at).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a socket");
        stream.write_all(text.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        // A server that refuses a body may close before it has read all of it.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Answer {
            status: status.unwrap_or(0),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    fn page(&self, path: &str) -> String {
        let answer = self.ask(&format!("GET {path}"));
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(matches!(ended, Some(Ok(Ok(())))) || std::thread::panicking());
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

fn file(day: u64) -> ResultsFile {
    let text = include_str!("../../../spec/examples/ports.json");
    let mut file = ResultsFile::parse(text).expect("an example");
    file.created_unix_ns = day * DAY;
    file
}

/// The same, with all rates of frames changed by a factor.
fn faster(day: u64, factor: f64) -> ResultsFile {
    let mut file = file(day);
    for flow in file.observations.iter_mut().flat_map(|o| &mut o.flows) {
        if let Field::Observed { value, .. } = &mut flow.frames_per_s {
            *value *= factor;
        }
    }
    file
}

fn two_runs(store: &mut Store) {
    for day in [1, 2] {
        store
            .import(&file(day))
            .expect("a store")
            .expect("a new run");
    }
    store.tag(&[2], "main").expect("a tag");
}

/// The token in the forms of a page.
fn token(page: &str) -> &str {
    let begin = page.find("name=\"token\" value=\"").expect("a form") + 20;
    &page[begin..begin + 32]
}

#[test]
fn runs_are_listed_filtered_shown_and_compared() {
    let server = Server::begin(two_runs);
    let list = server.page("/");
    assert!(
        list.contains("href=\"/runs/1\"")
            && list.contains("href=\"/runs/2\"")
            && list.contains("1970-01-02")
    );
    let tagged = server.page("/?tag=main&node=&since=1970-01-03&until=");
    assert!(!tagged.contains("href=\"/runs/1\"") && tagged.contains("href=\"/runs/2\""));
    assert!(
        server
            .page("/?node=lab%3A9")
            .contains("No run is selected.")
    );
    assert!(server.page("/runs/1").contains("<!DOCTYPE html>"));
    assert!(server.page("/runs/1/figures").contains("forwarding rate"));
    assert!(ResultsFile::parse(&server.page("/runs/2/results.json")).unwrap() == file(2));
    let compared = server.page("/compare?run=2&run=1");
    assert!(compared.contains("run 2 against run 1"), "{compared}");
    for (path, status, says) in [
        ("/?since=soon", 400, "it is not a date"),
        ("/runs/9", 404, "there is no run 9"),
        ("/runs/x", 400, ""),
        ("/runs/9/figures", 404, "there is no run 9"),
        ("/compare?run=1", 400, "tick two runs"),
        ("/trend/none", 404, "No run of this selection"),
        ("/nothing", 404, "no such page"),
    ] {
        let answer = server.ask(&format!("GET {path}"));
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert!(answer.body.contains(says), "{path}: {}", answer.body);
    }
}

/// The data of the one picture of a page.
fn picture(page: &str) -> serde_json::Value {
    let (_, data) = page.split_once("id=\"wirelab-data\">").expect("a picture");
    let (data, _) = data.split_once("</script>").expect("an end");
    let mut data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    data["pictures"][0].take()
}

fn changes(picture: &serde_json::Value) -> usize {
    picture["marked"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_planted_regression_is_shown_at_its_run() {
    // Thirty runs with a noise of 1 %, of which those from the 21st on are 5 % slower.
    let server = Server::begin(|store| {
        for run in 1..=30_u64 {
            let noise = ((run * 7_919) % 21) as f64 / 1000.0 - 0.01;
            let level = if run > 20 { 0.95 } else { 1.0 };
            store
                .import(&faster(run, level * (1.0 + noise)))
                .expect("a store")
                .expect("a new run");
        }
    });
    let figures = server.page("/runs/30/figures");
    let link = figures
        .split("href=\"")
        .find(|part| part.starts_with("/trend/"))
        .expect("a trend");
    let trend = server.page(&link[..link.find('"').unwrap()]);
    let picture = picture(&trend);
    let points = picture["panes"][0]["series"][0]["points"].as_array();
    assert_eq!(points.map(Vec::len), Some(30));
    assert_eq!(picture["marked"][0][0], 20.5, "between run 20 and run 21");
    assert_eq!(changes(&picture), 1);
    assert!(
        trend.contains("▼ worse")
            && trend.contains(
                "from run <a href=\"/runs/20\">20</a> to run <a href=\"/runs/21\">21</a>"
            )
    );
    let key = &link[..link.find('?').unwrap()];
    assert_eq!(changes(&self::picture(&server.page(key))), 1);
    assert_eq!(server.ask(&format!("GET {key}?tag=none")).status, 404);
}

#[test]
fn words_of_the_store_stay_words_and_no_page_takes_a_script_of_them() {
    let hostile = "\"><script>alert(1)</script>&amp;'";
    let server = Server::begin(|store| {
        let mut file = file(1);
        file.command = vec![hostile.to_owned()];
        file.observations
            .iter_mut()
            .for_each(|o| o.node.name = hostile.to_owned());
        store.import(&file).expect("a store").expect("a new run");
        store.tag(&[1], hostile).expect("a tag");
    });
    let figures = server.page("/runs/1/figures");
    let link = figures
        .split("href=\"")
        .find(|part| part.starts_with("/trend/"))
        .expect("a trend");
    let trend = &link[..link.find('"').unwrap()];
    let asked = "/?node=%22%3E%3Cscript%3Ealert(1)%3C/script%3E%26amp;%27";
    for path in [
        "/",
        "/runs/1/figures",
        trend,
        asked,
        "/?since=%3Cscript%3E",
        "/%3Cscript%3E",
    ] {
        let answer = server.ask(&format!("GET {path}"));
        // A picture has its data and the program of reports, and nothing else has a script.
        let own = [
            "<script type=\"application/json\" id=\"wirelab-data\">",
            "<script src=\"/page.js\">",
        ];
        let scripts = own.map(|script| answer.body.matches(script).count());
        let drawn = usize::from(path == trend);
        assert_eq!(scripts, [drawn; 2], "{path}");
        assert_eq!(answer.body.matches("<script").count(), 2 * drawn, "{path}");
        assert!(
            answer
                .head
                .contains("content-security-policy: default-src 'none'; style-src 'self'"),
            "{}",
            answer.head
        );
        assert!(
            answer.head.contains("x-content-type-options: nosniff"),
            "{}",
            answer.head
        );
    }
    assert!(
        server.page(asked).contains("href=\"/runs/1\""),
        "the link of a node finds its runs"
    );
    for path in ["/runs/1", "/compare?run=1&run=1"] {
        let report = server.page(path);
        assert!(
            report.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'")
        );
        assert!(!report.contains("<script>alert"), "{path}");
    }
}

#[test]
fn writes_need_the_token_and_the_origin_of_a_page() {
    let server = Server::begin(two_runs);
    let form = "Content-Type: application/x-www-form-urlencoded";
    let origin = format!("Origin: http://{}", server.at);
    let tags = || {
        Store::open(&server.store)
            .unwrap()
            .list(&"1".parse().unwrap())
            .unwrap()
            .remove(0)
            .tags
    };
    let page = server.page("/runs/1/figures");
    let token = token(&page);
    let body = |token: &str| format!("token={token}&run=1&tag=good+one");
    for (head, body) in [
        (format!("{form}\n{origin}"), body("")),
        (format!("{form}\n{origin}"), body(&"0".repeat(32))),
        (form.to_owned(), body(token)),
        (format!("{form}\nOrigin: http://evil.example"), body(token)),
        (
            format!("{form}\nHost: evil.example\nOrigin: http://evil.example"),
            body(token),
        ),
    ] {
        let answer = server.ask(&format!("POST /tag\n{head}\n\n{body}"));
        assert_eq!(answer.status, 403, "{head}: {}", answer.body);
    }
    assert!(tags().is_empty());
    let answer = server.ask(&format!("POST /tag\n{form}\n{origin}\n\n{}", body(token)));
    assert_eq!((answer.status, tags()), (303, vec!["good one".to_owned()]));
    let answer = server.ask(&format!("POST /untag\n{form}\n{origin}\n\n{}", body(token)));
    assert_eq!((answer.status, tags()), (303, Vec::new()));
    let long = format!(
        "POST /tag\n{form}\n{origin}\n\ntoken={token}&run=1&tag={}",
        "x".repeat(100_000)
    );
    assert_eq!(server.ask(&long).status, 413);
    assert!(tags().is_empty());
}

#[test]
fn nothing_outside_of_the_store_is_reached() {
    let server = Server::begin(two_runs);
    for path in [
        "/../../../../etc/passwd",
        "/runs/..%2f..%2f..%2fetc%2fpasswd",
        "/style.css/../../../etc/passwd",
        "/runs/1/../../../etc/passwd",
        "/trend/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "//etc/passwd",
        "/runs/-1",
        "/runs/99999999999999999999",
    ] {
        let answer = server.ask(&format!("GET {path}"));
        assert!(
            matches!(answer.status, 400 | 404),
            "{path}: {} {}",
            answer.status,
            answer.body
        );
        assert!(!answer.body.contains("root:"), "{path}");
    }
    assert_eq!(server.ask("GET /\nHost: evil.example").status, 403);
}

#[test]
fn two_hundred_readers_and_a_writer_get_their_answers() {
    let server = Server::begin(two_runs);
    let whole = file(3);
    std::thread::scope(|scope| {
        let mut store = Store::open(&server.store).unwrap();
        scope.spawn(move || {
            let mut growing = ResultsFile {
                observations: Vec::new(),
                ..whole.clone()
            };
            let run = store.begin(&growing, &whole.observations[0].node).unwrap();
            for observation in whole.observations.iter().cycle().take(60) {
                growing.observations.push(observation.clone());
                store.keep(run, &growing).unwrap();
            }
            store.finish(run, &growing).unwrap();
        });
        let paths = ["/", "/runs/1", "/runs/2/figures", "/?tag=main"];
        for reader in 0..200 {
            let server = &server;
            scope.spawn(move || server.page(paths[reader % paths.len()]));
        }
    });
    assert!(server.page("/").contains("href=\"/runs/3\""));
}

#[test]
fn a_run_is_watched_while_it_measures_and_stopped() {
    let whole = file(3);
    let mut growing = ResultsFile {
        observations: Vec::new(),
        ..whole.clone()
    };
    let server = Server::begin(two_runs);
    let mut store = Store::open(&server.store).unwrap();
    let run = store.begin(&growing, &whole.observations[0].node).unwrap();
    store.plan(run, 3).unwrap();
    let page = server.ask(&format!("GET /runs/{run}/figures"));
    assert!(
        page.body.contains("<script src=\"/live.js\"></script>") && !page.body.contains("<script>")
    );
    assert!(
        page.head.contains("script-src 'self'; connect-src 'self'"),
        "{}",
        page.head
    );
    assert!(server.page("/live.js").contains("EventSource"));
    // A browser that watches: each trial arrives as an event, and the end is the last one.
    let mut watched = TcpStream::connect(server.at).unwrap();
    watched
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    write!(
        watched,
        "GET /runs/{run}/events HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        server.at
    )
    .unwrap();
    let mut lines = BufReader::new(watched).lines().map_while(Result::ok);
    // A comment keeps a connection alive on which nothing happens.
    let mut until = |words: &str| {
        let mut said = lines.by_ref().take_while(|line| !line.starts_with(':'));
        said.any(|line| line.contains(words))
    };
    assert!(
        until("text/event-stream") && until("event: figures") && until("trials so far: 0 of 3.")
    );
    for (at, observation) in whole.observations.iter().enumerate().take(2) {
        growing.observations.push(observation.clone());
        assert!(!store.keep(run, &growing).unwrap());
        let trials = format!("trials so far: {} of 3, about", at + 1);
        assert!(until(&trials) && until("forwarding rate"), "{trials}");
    }
    let form = "Content-Type: application/x-www-form-urlencoded";
    let origin = format!("Origin: http://{}", server.at);
    let body = format!("token={}&run={run}", token(&page.body));
    assert_eq!(
        server
            .ask(&format!(
                "POST /stop\n{form}\nOrigin: http://evil.example\n\n{body}"
            ))
            .status,
        403
    );
    assert_eq!(
        server
            .ask(&format!("POST /stop\n{form}\n{origin}\n\n{body}"))
            .status,
        303
    );
    growing.observations.push(whole.observations[0].clone());
    assert!(store.keep(run, &growing).unwrap(), "a stop was requested");
    store.finish(run, &growing).unwrap();
    assert!(until("event: end"));
    let page = server.page(&format!("/runs/{run}/figures"));
    assert!(!page.contains("<script") && !page.contains("so far"));
}

#[test]
fn a_server_ends_though_a_reader_watches() {
    let whole = file(3);
    let server = Server::begin(|store| {
        let begun = ResultsFile {
            observations: Vec::new(),
            ..whole.clone()
        };
        store.begin(&begun, &whole.observations[0].node).unwrap();
    });
    let mut watched = TcpStream::connect(server.at).unwrap();
    write!(
        watched,
        "GET /runs/1/events HTTP/1.1\r\nHost: {}\r\n\r\n",
        server.at
    )
    .unwrap();
    let mut begin = [0; 12];
    watched.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    drop(server);
    let mut rest = Vec::new();
    watched.read_to_end(&mut rest).unwrap();
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let store = Location::File(folder.path().join("results.db"));
    let refused = |listen: &str, token: Option<&str>| {
        let options = ServeOptions {
            listen: listen.parse().unwrap(),
            token: token.map(str::to_owned),
            store: store.clone(),
        };
        serve(options, |_| panic!("it serves"), || true)
            .unwrap_err()
            .to_string()
    };
    assert!(refused("0.0.0.0:0", None).contains("fix: put one of at least 16 characters"));
    assert!(refused("[::]:0", Some("short")).contains("fix: "));
    assert!(refused("127.0.0.1:0", None).contains("there is no store"));
    drop(Store::open(&store).unwrap());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    assert!(refused(&at, None).contains("fix: name another address"));
}
