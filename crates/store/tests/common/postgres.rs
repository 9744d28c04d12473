//! The distribution's PostgreSQL for one test binary: on a Unix socket in a temporary folder, and gone with the test.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Ends when its standard input does, which is when the test's process is gone, however that ends. The folder is the
/// server's own, as a server refuses to run as root.
const SERVER: &str = r#"
trap : INT TERM
"$1/initdb" -D "$2/data" -U wirelab -A trust -E UTF8 --locale=C -N >"$2/log" 2>&1 || exit 1
"$1/postgres" -D "$2/data" -k "$2" $3 -c fsync=off -c max_connections=50 >>"$2/log" 2>&1 &
read -r _
kill -INT $!
wait $!
rm -rf "$2"
"#;

struct Server {
    folder: PathBuf,
    /// Its standard input is open for as long as this process lives.
    _child: Child,
    databases: AtomicU32,
}

/// The folder of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let all = versions.filter_map(|entry| Some(entry.ok()?.path()));
    let newest = all
        .filter(|path| path.join("bin/initdb").exists())
        .max_by_key(number)?;
    Some(newest.join("bin"))
}

/// A certificate of `localhost` by an authority of its own, with the distribution's openssl.
const CERTIFICATES: &str = r#"
cd "$1" || exit 1
ec="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
openssl req -x509 $ec -days 2 -subj /CN=root -keyout root.key -out root.pem
openssl req $ec -subj /CN=localhost -keyout server.key -out server.req
printf 'subjectAltName=DNS:localhost' >server.ext
openssl x509 -req -in server.req -CA root.pem -CAkey root.key -CAcreateserial -days 2 -extfile server.ext -out server.pem
chmod 600 server.key
"#;

/// A database on a server that takes TLS, as an address without what it asks of TLS, and who signed its certificate.
#[allow(dead_code, reason = "most tests need no TLS")]
pub fn encrypted() -> Option<(String, PathBuf)> {
    static SERVER: OnceLock<Option<(Server, u16)>> = OnceLock::new();
    let begun = || {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        drop(listener);
        Some((begin("tls", Some(port))?, port))
    };
    let Some((server, port)) = SERVER.get_or_init(begun) else {
        eprintln!(
            "WIRELAB-SKIP postgres: no server's programs in /usr/lib/postgresql, or no openssl"
        );
        return None;
    };
    let place = format!("postgres://wirelab@localhost:{port}/postgres");
    Some((place, server.folder.join("root.pem")))
}

fn begin(name: &str, encrypted: Option<u16>) -> Option<Server> {
    let programs = programs()?;
    let name = format!("wirelab-pg-{name}-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("a folder for the server");
    let mut options = "-c listen_addresses=".to_owned();
    if let Some(port) = encrypted {
        let made = Command::new("sh")
            .args(["-c", CERTIFICATES, "sh"])
            .arg(&folder)
            .stderr(Stdio::null())
            .status();
        if !made.is_ok_and(|made| made.success()) {
            return None;
        }
        let file = |name: &str| folder.join(name).display().to_string();
        let (cert, key) = (file("server.pem"), file("server.key"));
        options = format!(
            "-c listen_addresses=localhost -c port={port} -c ssl=on -c ssl_cert_file={cert} -c ssl_key_file={key}"
        );
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&key, Some(NOBODY), Some(NOBODY)).expect("its owner");
        }
    }
    let mut command = if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(&folder, Some(NOBODY), Some(NOBODY)).expect("its owner");
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}")]);
        command.args(["--clear-groups", "sh"]);
        command
    } else {
        Command::new("sh")
    };
    command
        .args(["-c", SERVER, "sh"])
        .args([&programs, &folder])
        .arg(&options)
        .current_dir("/");
    let mut child = command
        .stdin(Stdio::piped())
        .spawn()
        .expect("the server's shell");
    let mut input = child.stdin.take().expect("its standard input");
    let port = encrypted.unwrap_or(5432);
    let begun = Instant::now();
    while run(&folder, port, "postgres", "SELECT 1").is_err() {
        let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        let ended = child.try_wait().expect("its state").is_some();
        assert!(
            !ended && begun.elapsed() < Duration::from_secs(120),
            "{}",
            log()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    input.flush().expect("an open pipe");
    child.stdin = Some(input);
    Some(Server {
        folder,
        _child: child,
        databases: AtomicU32::new(0),
    })
}

/// The user and group `nobody` and `nogroup` of Debian and Ubuntu.
const NOBODY: u32 = 65534;

fn run(folder: &Path, port: u16, database: &str, sql: &str) -> Result<(), postgres::Error> {
    let address = format!("{}&port={port}", address(folder, database));
    postgres::Client::connect(&address, postgres::NoTls)?.batch_execute(sql)
}

fn address(folder: &Path, database: &str) -> String {
    format!(
        "postgres:///{database}?host={}&user=wirelab",
        folder.display()
    )
}

/// The address of a new, empty database; `None`, and a line for the test runner, where there is no PostgreSQL.
pub fn database() -> Option<String> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let Some(server) = SERVER.get_or_init(|| begin("plain", None)) else {
        eprintln!("WIRELAB-SKIP postgres: no server's programs in /usr/lib/postgresql");
        return None;
    };
    let name = format!("test{}", server.databases.fetch_add(1, Ordering::Relaxed));
    run(
        &server.folder,
        5432,
        "postgres",
        &format!("CREATE DATABASE {name}"),
    )
    .expect("a database");
    Some(address(&server.folder, &name))
}
