//! Users of iperf3 servers, in both roles against the distribution's iperf3, which hides passwords as 3.16 and older do.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use nix::pty::openpty;

use crate::common;

use crate::common::{stderr, stdout};
use crate::iperf_common::{Background, Ours, Real, free_port, has, wait_until_listens};

const PASSWORD: &str = "lab-secret";

fn key(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../iperf/tests/keys");
    folder.join(name).to_str().unwrap().to_owned()
}

fn lets_in() -> String {
    format!(
        "--rsa-private-key-path {} --authorized-users-path {}",
        key("private.pem"),
        key("users.csv")
    )
}

fn asks(user: &str) -> String {
    let key = key("public.pem");
    format!("--username {user} --rsa-public-key-path {key}")
}

/// A client, ours or the real one, with a password in its environment.
fn client(program: &[&str], port: &str, options: &str, password: Option<&str>) -> Output {
    let mut command = Command::new(program[0]);
    command
        .args(&program[1..])
        .args(["-c", "127.0.0.1", "-p", port])
        .args(options.split_whitespace())
        .env_remove("IPERF3_PASSWORD")
        .stdin(Stdio::null());
    if let Some(password) = password {
        command.env("IPERF3_PASSWORD", password);
    }
    command.output().unwrap()
}

const OURS: [&str; 3] = [env!("CARGO_BIN_EXE_wirelab"), "iperf", "-3"];
const NOT_ACCEPTED: &str = "it did not accept the user (iperf3 error 142); fix: check --username";

#[test]
fn the_real_server_lets_our_user_in() {
    if !has("iperf3") {
        return;
    }
    let real = Real::start("iperf3", &lets_in());
    let asked = |user: &str, more: &str| format!("-n 100K {} {more}", asks(user));
    let old = asked("wire", "--use-pkcs1-padding");
    let output = client(&OURS, &real.port, &old, Some(PASSWORD));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (options, password) in [
        (&old, "wrong"),
        (&asked("nobody", "--use-pkcs1-padding"), PASSWORD),
        (&asked("wire", ""), PASSWORD),
        (&"-n 100K".to_owned(), PASSWORD),
    ] {
        let real = Real::start("iperf3", &lets_in());
        let output = client(&OURS, &real.port, options, Some(password));
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{options}: {errors}");
        assert!(errors.contains(NOT_ACCEPTED), "{options}: {errors}");
        assert!(!errors.contains(PASSWORD), "{errors}");
    }
}

/// Our server with users, whose complaints are read.
struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start(more: &str) -> Server {
        let port = free_port();
        let child = Command::new(OURS[0])
            .args(["iperf", "-3", "-s", "-B", "127.0.0.1", "-p"])
            .arg(port.to_string())
            .args(lets_in().split_whitespace())
            .args(more.split_whitespace())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until_listens(port);
        let port = port.to_string();
        Server { child, port }
    }

    /// End it; what it complained of.
    fn end(mut self) -> String {
        self.child.kill().unwrap();
        let mut errors = String::new();
        let mut stream = self.child.stderr.take().unwrap();
        stream.read_to_string(&mut errors).unwrap();
        self.child.wait().unwrap();
        errors
    }
}

#[test]
fn our_server_lets_the_real_user_in() {
    if !has("iperf3") {
        return;
    }
    let server = Server::start("--use-pkcs1-padding");
    let asked = format!("-n 100K {}", asks("wire"));
    let output = client(&["iperf3"], &server.port, &asked, Some(PASSWORD));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = client(&["iperf3"], &server.port, &asked, Some("wrong"));
    let said = stdout(&output) + &stderr(&output);
    assert!(said.contains("test authorization failed"), "{said}");
    let output = client(&["iperf3"], &server.port, "-n 100K", None);
    let said = stdout(&output) + &stderr(&output);
    assert!(said.contains("test authorization failed"), "{said}");
    let errors = server.end();
    assert!(
        errors.contains("was not let in: the user or the password is wrong"),
        "{errors}"
    );
    assert!(
        errors.contains("was not let in: it named no user; fix: "),
        "{errors}"
    );
}

#[test]
fn a_server_in_the_background_finds_its_list_where_it_was_started() {
    let port = free_port().to_string();
    let output = Command::new(OURS[0])
        .args([
            "iperf",
            "-3",
            "-s",
            "-D",
            "-1",
            "-B",
            "127.0.0.1",
            "-p",
            &port,
        ])
        .args(["--rsa-private-key-path", "private.pem"])
        .args(["--authorized-users-path", "users.csv"])
        .current_dir(Path::new(&key("users.csv")).parent().unwrap())
        .output()
        .unwrap();
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    let _background = Background::of(&said);
    let asked = format!("-n 100K {}", asks("wire"));
    let output = client(&OURS, &port, &asked, Some(PASSWORD));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn our_two_ends_need_the_same_padding() {
    let asked = format!("-n 100K {}", asks("wire"));
    let server = Server::start("");
    let output = client(&OURS, &server.port, &asked, Some(PASSWORD));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let old = format!("{asked} --use-pkcs1-padding");
    let output = client(&OURS, &server.port, &old, Some(PASSWORD));
    assert!(
        stderr(&output).contains(NOT_ACCEPTED),
        "{}",
        stderr(&output)
    );
    let errors = server.end();
    assert!(
        errors.contains("its token cannot be read with this key; fix: "),
        "{errors}"
    );
}

#[test]
fn bad_usage_names_the_fix() {
    let server = Ours::start(&["-3"]);
    let asked =
        |name: &str, file: &str| format!("--username {name} --rsa-public-key-path {}", key(file));
    for (options, password, text) in [
        ("--username wire", Some("a"), "--rsa-public-key-path"),
        (&asked("wire", "public.pem"), None, "IPERF3_PASSWORD"),
        (
            &asked("wire", "public.pem"),
            Some("a b"),
            "up to the first space",
        ),
        (
            &asked("wire", "private.pem"),
            Some("a"),
            "-pubout writes it",
        ),
        (&asked("wire", "none.pem"), Some("a"), "No such file"),
    ] {
        let output = client(&OURS, &server.tcp, options, password);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{options}: {errors}");
        assert!(errors.contains(text), "{options}: {errors}");
    }
    let encrypted = key("private_encrypted.pem");
    let output = common::wirelab(&[
        "iperf",
        "-3",
        "-s",
        "--rsa-private-key-path",
        &encrypted,
        "--authorized-users-path",
        &key("users.csv"),
    ]);
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("openssl rsa -in FILE"), "{errors}");
}

#[test]
fn a_password_is_asked_on_the_terminal_and_not_shown() {
    let server = Server::start("");
    let terminal = openpty(None, None).unwrap();
    let mut client = Command::new(OURS[0])
        .args(["iperf", "-3", "-c", "127.0.0.1", "-p", &server.port])
        .args(["-n", "100K"])
        .args(asks("wire").split_whitespace())
        .env_remove("IPERF3_PASSWORD")
        .stdin(Stdio::from(terminal.slave))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = client.stderr.take().unwrap();
    let mut asked = [0; 10];
    errors.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"Password: ");
    let mut screen = std::fs::File::from(terminal.master);
    screen
        .write_all(format!("{PASSWORD}\r").as_bytes())
        .unwrap();
    let status = client.wait().unwrap();
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert!(status.success(), "{rest}");
    // Nothing was echoed; the other end of the terminal is closed, which Linux reports as an error.
    let mut shown = Vec::new();
    let _ = screen.read_to_end(&mut shown);
    assert_eq!(String::from_utf8_lossy(&shown), "");
    server.end();
}
