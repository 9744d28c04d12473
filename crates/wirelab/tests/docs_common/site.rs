//! A place to type a page's commands in: a scratch folder in network and mount namespaces of its own, with two joined
//! ports `eth0` and `eth1`, and another machine behind a cable that the page's addresses reach.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Far longer than anything here takes on a host that is not stuck.
const PATIENCE: Duration = Duration::from_secs(240);

/// `box` is the other machine. The folder of labs and locks is the site's own, so that names of labs are free.
const SITE: &str = "set -e
mount -t tmpfs tmpfs /run
mount -t sysfs sysfs /sys
ip link set lo up
ip netns add box
ip -n box link set lo up
ip link add cable type veth peer name n0 netns box
ip link add eth0 type veth peer name eth1
for end in 'cable 2 2 2' 'n0 1 10 7'; do
  set -- $end
  in='' ; [ $1 = cable ] || in='-n box'
  ip $in address add 198.18.0.$2/24 dev $1
  ip $in address add 192.168.1.$3/24 dev $1
  ip $in address add 192.0.2.$4/24 dev $1
  ip $in address add 10.55.0.$3/24 dev $1
  ip $in link set $1 up
done
ip link set eth0 up
ip link set eth1 up
echo up
exec cat";

pub struct Site {
    keeper: Child,
    folder: tempfile::TempDir,
    served: Vec<Served>,
    beside: Option<PathComparison>,
    columns: u32,
}

/// A command that ends by itself or is interrupted when the next one has ended, and the status that it is to have.
struct PathComparison {
    command: String,
    child: Child,
    interrupted: bool,
    status: i32,
}

/// A command that runs until it is interrupted, with all that it has started.
struct Served {
    command: String,
    child: Child,
}

impl Site {
    pub fn new() -> Site {
        let mut keeper = Command::new("unshare")
            .args(["--net", "--mount", "--propagation", "slave"])
            .args(["bash", "-c", SITE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is a part of the system");
        let mut line = String::new();
        let said = keeper.stdout.as_mut().expect("piped");
        BufReader::new(said).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n", "the site could not be made");
        Site {
            keeper,
            folder: tempfile::tempdir().unwrap(),
            served: Vec::new(),
            beside: None,
            columns: 200,
        }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// How wide the terminal is from now on.
    pub fn set_width(&mut self, columns: u32) {
        self.columns = columns;
    }

    /// A shell in the site, with the program that is tested as `wirelab`.
    fn shell(&self, command: &str) -> Command {
        use std::os::unix::process::CommandExt;
        let program = Path::new(env!("CARGO_BIN_EXE_wirelab"));
        let path = std::env::var("PATH").unwrap_or_default();
        let folder = program.parent().expect("a folder").display();
        let here = self.folder().display();
        let keeper = self.keeper.id().to_string();
        let mut shell = Command::new("nsenter");
        shell
            .args(["--net", "--mount", "--target", &keeper, "bash", "-c"])
            .arg(format!("cd {here} && {command}"))
            .env("PATH", format!("{folder}:{path}"))
            .env("XDG_DATA_HOME", self.folder())
            .env("COLUMNS", self.columns.to_string())
            .stdin(Stdio::null())
            .process_group(0);
        shell
    }

    /// What a command gives.
    pub fn run(&self, command: &str) -> Output {
        let child = self.start(command, "command");
        self.end(command, child, "command", PATIENCE)
    }

    /// What a command gives that is interrupted after this time, and not before it has begun a new file.
    pub fn interrupted(&self, command: &str, after: Duration, file: Option<&str>) -> Output {
        let begun = std::time::SystemTime::now();
        let mut child = self.start(command, "command");
        std::thread::sleep(after);
        let file = file.map(|name| self.folder().join(name));
        let written = |path: &Path| {
            let about = std::fs::metadata(path);
            about.is_ok_and(|about| about.modified().unwrap() >= begun)
        };
        let patience = Instant::now() + PATIENCE;
        while file.as_deref().is_some_and(|path| !written(path)) && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(20));
        }
        interrupt(&mut child);
        self.end(command, child, "command", PATIENCE)
    }

    fn start(&self, command: &str, files: &str) -> Child {
        let file = |end: &str| File::create(self.folder().join(format!("{files}.{end}"))).unwrap();
        let mut shell = self.shell(command);
        shell.stdout(file("out")).stderr(file("err"));
        shell.spawn().expect("nsenter is a part of the system")
    }

    fn end(&self, command: &str, mut child: Child, files: &str, patience: Duration) -> Output {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > patience {
                signal(&child, "-KILL");
                panic!("{command}: it does not end");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let read = |end: &str| std::fs::read(self.folder().join(format!("{files}.{end}"))).unwrap();
        Output {
            status,
            stdout: read("out"),
            stderr: read("err"),
        }
    }

    /// Starts a command that runs until it is interrupted, and waits until it says this; all that it has said.
    pub fn serve(&mut self, command: &str, says: &str) -> String {
        let files = format!("served-{}", self.served.len());
        let child = self.start(command, &files);
        self.served.push(Served {
            command: command.to_owned(),
            child,
        });
        let begun = Instant::now();
        while !self.said(self.served.len() - 1).contains(says) {
            let said = self.said(self.served.len() - 1);
            assert!(begun.elapsed() < PATIENCE, "{command}: {said}");
            let ended = self.served.last_mut().expect("pushed").child.try_wait();
            assert!(ended.unwrap().is_none(), "{command}: it ended: {said}");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.said(self.served.len() - 1)
    }

    /// Starts a command that the next one needs, and waits until a command of a shell, which shows when it is ready, ends.
    pub fn beside(&mut self, command: &str, ready: &str, interrupted: bool, status: i32) {
        let child = self.start(command, "beside");
        self.beside = Some(PathComparison {
            command: command.to_owned(),
            child,
            interrupted,
            status,
        });
        let waited = self.run(ready);
        assert!(waited.status.success(), "{command}: {ready}");
    }

    /// The end of the command beside, if there is one: its words, what it gave, and the status that it is to have.
    pub fn settle(&mut self) -> Option<(String, Output, i32)> {
        let mut beside = self.beside.take()?;
        if beside.interrupted {
            interrupt(&mut beside.child);
        }
        let output = self.end(&beside.command, beside.child, "beside", PATIENCE);
        Some((beside.command, output, beside.status))
    }

    /// All that a served command has said so far.
    fn said(&self, number: usize) -> String {
        ["out", "err"]
            .map(|end| {
                let path = self.folder().join(format!("served-{number}.{end}"));
                String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
            })
            .concat()
    }

    /// Ends what is served with Ctrl-C or, where it is to end alone, waits for it; what each one gave.
    pub fn finish(&mut self) -> Vec<(String, Output)> {
        let served = std::mem::take(&mut self.served);
        let ends = served.into_iter().enumerate().rev();
        ends.map(|(number, mut served)| {
            if served.child.try_wait().unwrap().is_none() {
                interrupt(&mut served.child);
            }
            let files = format!("served-{number}");
            let output = self.end(&served.command, served.child, &files, PATIENCE);
            (served.command, output)
        })
        .collect()
    }
}

/// Ctrl-C on a terminal reaches every process in the foreground.
fn interrupt(child: &mut Child) {
    if child.try_wait().unwrap().is_none() {
        signal(child, "-INT");
    }
}

fn signal(child: &Child, name: &str) {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args([name, "--", &group]).status();
}

impl Drop for Site {
    fn drop(&mut self) {
        for served in &mut self.served {
            signal(&served.child, "-KILL");
            let _ = served.child.wait();
        }
        if let Some(beside) = &mut self.beside {
            signal(&beside.child, "-KILL");
            let _ = beside.child.wait();
        }
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
