//! Systems of others in QEMU behind their consoles: the distribution's U-Boot, and lwIP's own iperf, which only serves.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common;
use crate::common::{fact, skip, stderr, stdout, wirelab};
use wirelab_trial::{Direction, ResultsFile, Status};

const U_BOOT: &str = "/usr/lib/u-boot/qemu_arm/u-boot.bin";

fn is_there(feature: &str, why: &str, there: bool) -> bool {
    if !there {
        skip(feature, why);
    }
    there
}

fn has_qemu() -> bool {
    let version = Command::new("qemu-system-arm").arg("--version").output();
    is_there("qemu", "qemu-system-arm is not installed", version.is_ok())
}

/// U-Boot in QEMU, with Ctrl-C for the guest.
fn u_boot() -> String {
    format!(
        "exec:exec qemu-system-arm -M virt -m 128M -bios {U_BOOT} -display none -serial mon:stdio -nic user,model=virtio"
    )
}

#[test]
fn u_boot_says_what_it_is_and_takes_an_address() {
    if !has_qemu()
        || !is_there(
            "u-boot",
            "u-boot-qemu is not installed",
            Path::new(U_BOOT).is_file(),
        )
    {
        return;
    }
    let check = |profile: &str| {
        let args = ["console", "check", "--console", &u_boot(), "--profile"];
        let more = [profile, "10.0.2.15"];
        wirelab(&[&args[..], &more].concat())
    };
    let output = check("u-boot");
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    assert!(fact(&text, "version").starts_with("U-Boot 20"), "{text}");
    // This one has neither a PHY nor the command clk.
    let lacks = "this board has none";
    assert!(
        fact(&text, "link").starts_with(&format!("{lacks} (No such device: ")),
        "{text}"
    );
    assert!(
        fact(&text, "core_clock").starts_with(&format!("{lacks} (Unknown command 'clk' ")),
        "{text}"
    );
    // The address was set: what shows it was read back, and another would be missed.
    let broken = std::fs::read_to_string("../../consoles/u-boot.toml").expect("a profile");
    let broken = broken.replace("setenv ipaddr {address}", "setenv ipaddr 10.0.2.99");
    let path = common::scratch("u-boot.toml");
    std::fs::write(&path, broken).expect("a scratch folder");
    let output = check(&path.display().to_string());
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    let error = stderr(&output);
    assert!(
        error.contains("does not show 10.0.2.15 after 'printenv ipaddr'"),
        "{error}"
    );
}

/// A namespace with a TAP, gone in the end.
struct Tap(String);

impl Tap {
    fn up() -> Tap {
        let name = format!("console-boards-{}", std::process::id());
        let tap = Tap(name);
        for words in [
            &["netns", "add", &tap.0][..],
            &["-n", &tap.0, "link", "set", "lo", "up"],
            &["-n", &tap.0, "tuntap", "add", "dev", "tap0", "mode", "tap"],
            // By it wirelab knows an emulated peer.
            &[
                "-n",
                &tap.0,
                "link",
                "set",
                "tap0",
                "address",
                "02:57:4c:37:00:01",
            ],
            &["-n", &tap.0, "addr", "add", "10.77.0.1/24", "dev", "tap0"],
            &["-n", &tap.0, "link", "set", "tap0", "up"],
        ] {
            let done = Command::new("ip").args(words).status();
            assert!(done.is_ok_and(|status| status.success()), "ip {words:?}");
        }
        tap
    }

    fn wirelab(&self, args: &[&str]) -> Output {
        let mut command = Command::new("ip");
        command.args([
            "netns",
            "exec",
            &self.0,
            env!("CARGO_BIN_EXE_wirelab"),
            "measure",
        ]);
        command.args(args).output().expect("ip is installed")
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

/// The image that scripts/stacks/lwip.sh builds.
fn lwip_iperf() -> Option<PathBuf> {
    let program = std::env::current_exe().expect("a test knows where it is");
    let mut folders = program.ancestors();
    let found = folders.find_map(|folder| {
        let path = folder.join("stacks/lwip-iperf.elf");
        path.is_file().then_some(path)
    });
    is_there(
        "firmware",
        "there is no lwip-iperf.elf: run scripts/stacks/lwip.sh",
        found.is_some(),
    );
    found
}

#[test]
fn an_iperf_that_only_serves_is_measured_in_all_directions() {
    if !wirelab_port::netns::may_test() || !has_qemu() {
        return;
    }
    let Some(image) = lwip_iperf() else { return };
    let tap = Tap::up();
    let console = format!(
        "exec:exec qemu-system-arm -M mps2-an385 -display none -serial mon:stdio -kernel {} \
         -nic tap,ifname=tap0,script=no,downscript=no,mac=02:00:0a:4d:00:02",
        image.display()
    );
    let output = tap.wirelab(&[
        "iperf:10.77.0.2",
        "--console",
        &console,
        "--profile",
        "lwip",
        "--no-ceiling",
        "--layer",
        "tcp4",
        "--time",
        "1s",
        "--direction",
        "rx,tx,both",
        "--json",
    ]);
    let file = ResultsFile::parse(&stdout(&output)).unwrap_or_else(|error| {
        panic!("{error}\n{}", stderr(&output));
    });
    assert_eq!(file.observations.len(), 3);
    let log = &file.consoles[0].lines.join("\n");
    assert!(!log.contains("did not report its end"), "{log}");
    for observation in &file.observations {
        let what = format!("{:?}: {:?}", observation.trial.direction, observation);
        assert!(
            matches!(observation.status, Status::Complete),
            "{what}\n{log}"
        );
        for flow in &observation.flows {
            assert!(
                flow.goodput_bits_per_s.value().is_some_and(|b| *b > 1e5),
                "{what}"
            );
            if observation.trial.direction == Direction::Both {
                continue;
            }
            let of = |name: &str| {
                let counter = flow.counters.get(name).and_then(|field| field.value());
                *counter.unwrap_or_else(|| panic!("{name}: {what}"))
            };
            let (board, wire) = (of("console_bytes"), of("stream_bytes"));
            // It counts 24 bytes of the header's 60.
            let header = u64::from(observation.trial.direction == Direction::Receive) * 36;
            assert_eq!(board + header, wire, "{what}\n{log}");
        }
    }
}
