//! The lines to a board: a serial line, telnet and bad ones, with a shell at the other end that is like NuttX's.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::pty::openpty;
use nix::unistd::ttyname;
use wirelab_console::profile::find;
use wirelab_console::{Board, ConsoleName, Profile};
use wirelab_trial::Cancel;

/// What is wrong with the line.
#[derive(Clone, Copy, Default)]
struct Faults {
    /// How often each line is typed with a character lost.
    loses: usize,
    /// Asks for a user and a password first.
    asks: bool,
    /// Prints so many bytes before the first prompt.
    floods: usize,
}

/// The commands that the shell knows, and its answers.
const KNOWN: [(&str, &str); 4] = [
    ("uname -a", "NuttX 12.6 of a test\r\n"),
    (
        "ifconfig eth0",
        "eth0 at RUNNING mtu 1500\r\n\tinet addr:192.0.2.9\r\n",
    ),
    ("cat /proc/cpuload", "  7.5%\r\n"),
    ("", ""),
];

/// A shell that echoes and answers; it ends with its line.
fn shell(mut line: impl Read + Write, faults: Faults) {
    let say = |line: &mut dyn Write, text: &str| line.write_all(text.as_bytes()).is_ok();
    for _ in 0..faults.floods / 100 {
        say(&mut line, &format!("{}\r\n", "x".repeat(98)));
    }
    let mut typed = String::new();
    let mut state = if faults.asks {
        "login: "
    } else {
        "nsh> \x1b[K"
    };
    say(&mut line, state);
    let (mut count, mut lost, mut byte) = (0, 0, [0]);
    while let Ok(1) = line.read(&mut byte) {
        let ends = matches!(byte[0], b'\n' | b'\r');
        count = if ends { 0 } else { count + 1 };
        if count == 4 && lost < faults.loses {
            lost += 1;
            continue;
        }
        if byte[0] == 3 {
            typed.clear();
            continue;
        }
        if !ends {
            typed.push(char::from(byte[0]));
            if state != "Password: " {
                say(&mut line, &typed[typed.len() - 1..]);
            }
            continue;
        }
        say(&mut line, "\r\r\n");
        let text = std::mem::take(&mut typed);
        state = match (state, text.trim()) {
            ("login: ", "root") => "Password: ",
            ("login: ", _) => "login: ",
            ("Password: ", "secret word") => "nsh> \x1b[K",
            ("Password: ", _) => "login: ",
            (_, command) => {
                let known = KNOWN.iter().find(|(known, _)| *known == command);
                if known.is_some() {
                    lost = 0;
                }
                let unknown = "nsh: x: command not found\r\n";
                say(&mut line, known.map_or(unknown, |(_, answer)| answer));
                "nsh> \x1b[K"
            }
        };
        say(&mut line, state);
    }
}

/// A board at the other end of a new serial line.
fn on_a_serial_line(profile: Profile, faults: Faults) -> Board {
    let pty = openpty(None, None).unwrap();
    let device = ttyname(&pty.slave).unwrap();
    let name: ConsoleName = format!("serial:{},115200", device.display())
        .parse()
        .unwrap();
    let board = Board::open(&name, profile, Some([192, 0, 2, 9].into()));
    let board = board.unwrap_or_else(|error| panic!("{error}"));
    // Its other end stays open until the board is read no more.
    std::thread::spawn(move || shell(File::from(pty.master), faults));
    board
}

fn lines(board: &Board) -> String {
    board.transcript().log().lines.join("\n")
}

#[test]
fn a_board_on_a_serial_line_answers() {
    let mut board = on_a_serial_line(find("nuttx").unwrap(), Faults::default());
    let cancel = Cancel::new();
    board
        .ready(&cancel)
        .unwrap_or_else(|error| panic!("{error}\n{}", lines(&board)));
    assert_eq!(board.facts()["version"], "NuttX 12.6 of a test");
    assert_eq!(board.facts()["link"], "RUNNING");
    assert!(board.cpu(&cancel).unwrap().is_some());
    let error = board
        .command("frobnicate", &cancel)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("command not found' to 'frobnicate'; fix: "),
        "{error}"
    );
}

#[test]
fn a_board_behind_telnet_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name: ConsoleName = format!("tcp:{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // WILL echo, WILL suppress go-ahead, DO window size.
        stream
            .write_all(&[255, 251, 1, 255, 251, 3, 255, 253, 31])
            .unwrap();
        // What is typed meanwhile stands between the answers.
        let mut answer: Vec<u8> = Vec::new();
        let mut byte = [0];
        while answer.len() < 9 {
            stream.read_exact(&mut byte).unwrap();
            answer.extend(byte.iter().filter(|byte| **byte != b'\n'));
        }
        shell(stream, Faults::default());
        answer
    });
    let mut board =
        Board::open(&name, find("nuttx").unwrap(), Some([192, 0, 2, 9].into())).unwrap();
    board
        .ready(&Cancel::new())
        .unwrap_or_else(|error| panic!("{error}\n{}", lines(&board)));
    assert_eq!(board.facts()["version"], "NuttX 12.6 of a test");
    drop(board);
    assert_eq!(
        server.join().unwrap(),
        [255, 253, 1, 255, 253, 3, 255, 252, 31]
    );
}

#[test]
fn a_board_behind_a_unix_socket_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("uart.sock");
    let name: ConsoleName = format!("unix:{}", path.display()).parse().unwrap();
    let open = || Board::open(&name, find("nuttx").unwrap(), Some([192, 0, 2, 9].into()));
    let none = open().unwrap_err().to_string();
    assert!(
        none.contains("uart.sock: No such file") && none.contains("fix: "),
        "{none}"
    );
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || shell(listener.accept().unwrap().0, Faults::default()));
    let mut board = open().unwrap();
    board
        .ready(&Cancel::new())
        .unwrap_or_else(|error| panic!("{error}\n{}", lines(&board)));
    assert_eq!(board.facts()["version"], "NuttX 12.6 of a test");
    drop(board);
    server.join().unwrap();
}

#[test]
fn characters_that_a_line_loses_are_typed_again_more_slowly() {
    let faults = Faults {
        loses: 2,
        ..Faults::default()
    };
    let mut board = on_a_serial_line(find("nuttx").unwrap(), faults);
    board
        .ready(&Cancel::new())
        .unwrap_or_else(|error| panic!("{error}\n{}", lines(&board)));
    let log = lines(&board);
    let version = board.facts().get("version").map(String::as_str);
    assert_eq!(version, Some("NuttX 12.6 of a test"), "{log}");
    assert!(log.contains("# the echo lacks characters; typed again"));
}

#[test]
fn a_line_that_always_loses_characters_is_named_with_its_fix() {
    let faults = Faults {
        loses: usize::MAX,
        ..Faults::default()
    };
    let mut board = on_a_serial_line(find("nuttx").unwrap(), faults);
    let error = board.ready(&Cancel::new()).unwrap_err().to_string();
    assert!(
        error.contains("characters are lost; fix: lower the baud rate"),
        "{error}"
    );
}

#[test]
fn a_login_is_answered_and_its_password_is_kept_out_of_the_transcript() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "secret word\n").unwrap();
    let text = format!(
        "{}\n[[login]]\nexpect = 'login: $'\nanswer = \"{{user}}\"\n[[login]]\nexpect = 'Password: $'\nanswer = \"{{password}}\"\nsecret = true\n",
        wirelab_console::profile::text_of("nuttx").unwrap()
    );
    let own = folder.path().join("own.toml");
    std::fs::write(&own, text).unwrap();
    let asks = Faults {
        asks: true,
        ..Faults::default()
    };
    let given = format!(
        "{},user=root,password_file={}",
        own.display(),
        file.display()
    );
    let mut board = on_a_serial_line(find(&given).unwrap(), asks);
    board
        .ready(&Cancel::new())
        .unwrap_or_else(|error| panic!("{error}\n{}", lines(&board)));
    let log = lines(&board);
    assert!(
        log.contains("> root") && log.contains("> (secret)"),
        "{log}"
    );
    assert!(!log.contains("secret word"), "{log}");
    // Without them it says what is missing, and with wrong ones that they are not taken.
    let mut board = on_a_serial_line(find(&own.display().to_string()).unwrap(), asks);
    let error = board.ready(&Cancel::new()).unwrap_err().to_string();
    assert!(
        error.contains("needs a value for {user}; fix: --profile"),
        "{error}"
    );
    let wrong = format!("{},user=nobody", own.display());
    let mut board = on_a_serial_line(find(&wrong).unwrap(), asks);
    let error = board.ready(&Cancel::new()).unwrap_err().to_string();
    assert!(
        error.contains("repeats its question") && error.contains("; fix: "),
        "{error}"
    );
}

#[test]
fn a_flood_is_bounded_and_said() {
    let floods = Faults {
        floods: 4 << 20,
        ..Faults::default()
    };
    let mut board = on_a_serial_line(find("nuttx").unwrap(), floods);
    let begun = Instant::now();
    board
        .ready(&Cancel::new())
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(begun.elapsed() < Duration::from_secs(60));
    let log = board.transcript().log();
    assert!(log.cut_bytes > 2 << 20, "{}", log.cut_bytes);
    let kept: usize = log.lines.iter().map(String::len).sum();
    assert!(kept < (1 << 20) + 1000, "{kept}");
}

#[test]
fn a_console_that_is_closed_is_said_at_once() {
    let name: ConsoleName = "exec:echo gone; exit 3".parse().unwrap();
    let mut board = Board::open(&name, find("nuttx").unwrap(), None).unwrap();
    let begun = Instant::now();
    let error = board.ready(&Cancel::new()).unwrap_err().to_string();
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(
        error.contains(
            "was closed by its other end (its last line is 'gone'); fix: run the command behind exec: by hand"
        )
            || error.contains("cannot write to the console"),
        "{error}"
    );
}

#[test]
fn a_command_has_the_priority_of_the_session_that_starts_it() {
    const CHILD: &str = "WIRELAB_TEST_CONSOLE_SESSION";
    let own = "/proc/self/autogroup";
    if std::env::var_os(CHILD).is_some() {
        std::fs::write(own, "5").unwrap();
        // The priority is there once the command has begun, so it is looked at until then.
        let name: ConsoleName = format!("exec:while sleep 0.1; do cat {own}; done")
            .parse()
            .unwrap();
        let board = Board::open(&name, find("nuttx").unwrap(), None).unwrap();
        let begun = Instant::now();
        while !lines(&board).contains("nice 5") {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "{}",
                lines(&board)
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        return;
    }
    if !std::path::Path::new(own).exists() {
        return;
    }
    // The session of these tests is left as it is.
    let test = "lines::a_command_has_the_priority_of_the_session_that_starts_it";
    let output = Command::new("setsid")
        .arg("--wait")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(CHILD, "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
}

/// A board that a command starts: its shell answers before the network is up, and before the banner of its boot is there,
/// which comes once there is a file.
const LATE: &str = r#"exec:sh -c '
(until [ -e FILE ]; do sleep 0.05; done; echo "*** Booting Zephyr OS build ***") &
asked=0
printf "uart:~$ "
while read -r line; do
    case "$line" in
        *"net iface"*) asked=$((asked + 1)); if [ $asked -gt 2 ]; then echo "  192.0.2.9 manual"; else echo "Interface is down."; fi ;;
        *version*) echo "Zephyr version 4.1.0" ;;
        *again*) echo "*** Booting Zephyr OS build ***" ;;
    esac
    printf "uart:~$ "
done'"#;

#[test]
fn a_shell_that_answers_before_its_banner_was_not_reset() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("booted");
    let name: ConsoleName = LATE
        .replace("FILE", file.to_str().unwrap())
        .parse()
        .unwrap();
    let cancel = Cancel::new();
    let own = Some([192, 0, 2, 9].into());
    let mut board = Board::open(&name, find("zephyr").unwrap(), own).unwrap();
    let begun = board.mark();
    board
        .ready(&cancel)
        .unwrap_or_else(|error| panic!("{error}\n{}", lines(&board)));
    let log = lines(&board);
    assert_eq!(log.matches("Interface is down").count(), 2, "{log}");
    assert!(!log.contains("Booting"), "{log}");
    std::fs::write(&file, "").unwrap();
    let since = Instant::now();
    while !lines(&board).contains("Booting") {
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "{}",
            lines(&board)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!board.booted_since(begun), "{}", lines(&board));
    // The next one is a reset.
    let mark = board.mark();
    board.command("again", &cancel).unwrap();
    assert!(board.booted_since(mark), "{}", lines(&board));
}

/// Ctrl-C would end what is not a shell, or not one yet.
#[test]
fn a_command_that_starts_slowly_is_not_interrupted() {
    for command in [
        "sleep 2.5; exec bash --norc -i",
        "sleep 2.5; PS1=\"$ \"; while printf %s \"$PS1\"; read -r line; do eval \"$line\"; done",
    ] {
        let name: ConsoleName = format!("exec:{command}").parse().unwrap();
        let mut board = Board::open(&name, find("linux").unwrap(), None).unwrap();
        board
            .ready(&Cancel::new())
            .unwrap_or_else(|error| panic!("{command}: {error}\n{}", lines(&board)));
        assert!(board.facts()["version"].starts_with("Linux "));
    }
}

/// What passes keys on takes them from its terminal as they are.
#[test]
fn a_program_in_the_foreground_of_a_board_is_interrupted() {
    let name: ConsoleName = "exec:stty raw -echo; until dd bs=1 count=1 2>/dev/null | od -An -tx1 | grep -q 03; do :; done; stty sane; exec bash --norc -i"
        .parse()
        .unwrap();
    let mut board = Board::open(&name, find("linux").unwrap(), None).unwrap();
    board
        .ready(&Cancel::new())
        .unwrap_or_else(|error| panic!("{error}\n{}", lines(&board)));
    assert!(board.facts()["version"].starts_with("Linux "));
}
