//! What the pages' commands need, and how those are run that cannot be typed as they stand. A command that no row names
//! is run as it is written and ends with 0.

use super::how::{Before, How, Page, Row, Text, ends, instead, interrupted, plain, row};

/// The built-in page with the shortest trials that fill all of its rows. Its searches stay as they are: one that ends
/// before its rate is found ends the command with 1.
const SHORT_PAGE: (&str, Text) = (
    "quick.toml",
    Text::File(
        "plans/datasheet-quick.toml",
        &[
            // Two threads of each side share two cores: in less time one of them waits for a tenth of it.
            ("\"500ms\"", "\"200ms\""),
            ("\"300ms\"", "\"40ms\""),
            ("frames    = 128", "frames    = 20"),
        ],
    ),
);
const TIME: &str = "the same for less time";
const ENDLESS: &str = "it runs until Ctrl-C";

const READY: &str = "Ctrl-C ends it.";
/// The sender of the next command would be too early else.
const LISTENS: &str =
    "until ip -d link show eth0 | grep -Eq 'promiscuity [1-9]|prog/xdp'; do sleep .01; done";
const FOUND: &str = "its figures that cannot be are what is shown (exit-status.md)";

/// The main measurement of README.md and docs/lab.md.
const LAB_4: Row = instead(
    "wirelab measure lab:4 --payload 66,438,810,1182,1498 --direction both --rate 100M --time 2s -o link.json -o link.html",
    "wirelab measure lab:4 --payload 66,438,810,1182,1498 --direction both --rate 100M --time 200ms --no-ceiling -o link.json -o link.html",
    TIME,
);

/// Every page that shows a command of wirelab.
pub const PAGES: &[Page] = &[
    Page {
        name: "README.md",
        files: &[],
        before: &[Before::Peer(
            "wirelab node serve --listen 198.18.0.1",
            READY,
        )],
        rows: &[
            LAB_4,
            // docs/datasheet.md has the whole page of this run.
            interrupted("wirelab measure node:198.18.0.1 --quick -o board.json -o board.html"),
            ends("wirelab audit ethernet-fmc", 1, FOUND),
        ],
    },
    Page {
        name: "docs/any-firmware.md",
        files: &[],
        before: &[],
        rows: &[
            instead(
                "wirelab stages qemu:nuttx-rv-virt --image nuttx --length 106,1512 --count 128 -o before.json -o before.svg",
                "wirelab stages qemu:mps2-an385 --length 106,1512 --count 16 -o before.json -o before.svg",
                "no test has the sources of NuttX",
            ),
            instead(
                "wirelab stages qemu:nuttx-rv-virt --image nuttx --length 106,1512 --count 128 --against before.json --gate +2% -o gate.xml",
                "wirelab stages qemu:mps2-an385 --length 106,1512 --count 16 --against before.json --gate +2% -o gate.xml",
                "the same image passes; crates/wirelab/tests/machine.rs has one with an added loop",
            ),
        ],
    },
    plain("docs/board-lpc1768.md"),
    Page {
        name: "docs/real-lpc1768.md",
        files: &[],
        before: &[],
        rows: &[instead(
            "wirelab measure serial:/dev/ttyUSB0,port=eth1 --direction tx --length 1514 --frames 50 --buffers copied --pulse pin.sr,channel=D0 -o typical.json",
            "wirelab measure board:lpc1768,vcd=pin.vcd --direction tx --length 1514 --frames 50 --buffers copied --pulse pin.vcd -o typical.json",
            "no board is at a serial line",
        )],
    },
    Page {
        name: "docs/board.md",
        files: &[],
        before: &[],
        rows: &[
            interrupted("wirelab measure board:zynq7000"),
            row("wirelab board run zynq7000", How::Serves(READY), 0, ENDLESS),
        ],
    },
    Page {
        name: "docs/by-hand.md",
        files: &[],
        before: &[],
        rows: &[row(
            "wirelab receive eth0 --write seen.pcapng --sent 1000 &",
            How::Beside(LISTENS),
            0,
            "the next command is its sender",
        )],
    },
    Page {
        name: "docs/captures.md",
        files: &[],
        before: &[],
        rows: &[instead(
            "tcpdump -i eth0 -w - | wirelab verify -",
            "cat out.pcapng | wirelab verify -",
            "no test needs tcpdump; this is the same on standard input",
        )],
    },
    Page {
        name: "docs/console.md",
        files: &[],
        before: &[],
        rows: &[
            instead(
                "wirelab measure iperf:192.168.1.10 --console serial:/dev/ttyUSB0,115200 --profile nuttx -o board.json -o board.html",
                "wirelab measure iperf:127.0.0.1 --console 'exec:bash --norc -i' --profile linux --layer tcp4 --direction rx --time 300ms --no-ceiling -o board.json -o board.html",
                "there is no board; a shell of this host is one",
            ),
            instead(
                "wirelab measure iperf:198.18.0.1 --console 'exec:ip netns exec lab-node bash --norc -i' --profile linux --layer udp4 --datagram 1470 --load 20M --time 1s --direction rx,tx -o board.json",
                "wirelab measure iperf:127.0.0.1 --console 'exec:bash --norc -i' --profile linux --layer udp4 --datagram 1470 --load 20M --time 300ms --direction rx,tx --no-ceiling -o board.json",
                "the same without a lab and for less time",
            ),
        ],
    },
    Page {
        name: "docs/datasheet.md",
        files: &[
            SHORT_PAGE,
            (
                "my-datasheet.toml",
                Text::File("plans/datasheet-quick.toml", &[]),
            ),
        ],
        before: &[Before::Peer(
            "wirelab node serve --listen 192.168.1.10",
            READY,
        )],
        rows: &[
            interrupted("wirelab measure iperf:192.168.1.10 -o board.json -o board.html"),
            ends(
                "wirelab measure iperf:192.168.1.10 --console serial:/dev/ttyUSB0 --profile zephyr -o board.json",
                1,
                "no serial line is there",
            ),
            interrupted("wirelab measure node:192.168.1.10 -o board.json -o board.html"),
            interrupted("wirelab measure lab:1 --datasheet"),
            row(
                "wirelab node serve --listen 198.18.0.1 --set phy=DP83869HM --set phy_rx_ps=193000 --set phy_tx_ps=384000",
                How::ServesThere(READY),
                0,
                ENDLESS,
            ),
            interrupted("wirelab measure node:192.168.1.10 --plan my-datasheet.toml -o board.json"),
            instead(
                "wirelab measure iperf:198.18.0.1 --quick",
                "wirelab measure iperf:192.168.1.10 --plan quick.toml --no-ceiling",
                "the same for less time, of the server that is there",
            ),
            instead(
                "wirelab measure node:198.18.0.1 --quick -o board.json -o board.html",
                "wirelab measure node:198.18.0.1 --plan quick.toml --no-ceiling -o board.json -o board.html",
                TIME,
            ),
            interrupted("wirelab measure iperf:198.18.0.1 --quick -o board.json"),
            interrupted("wirelab measure iperf:198.18.0.1 --quick --resume board.json"),
            ends(
                "wirelab measure am263x --datasheet --resume board.json",
                2,
                "the file is of another node, as the page says",
            ),
        ],
    },
    Page {
        name: "docs/explain.md",
        files: &[],
        before: &[Before::Run(
            "wirelab predict am263x --layer udp4 --datagram 128,512,1470 --direction rx --time 200ms -o results.json",
        )],
        rows: &[],
    },
    Page {
        name: "docs/fast-track.md",
        files: &[],
        before: &[Before::Peer(
            "wirelab node serve --listen 10.55.0.10",
            READY,
        )],
        rows: &[
            instead(
                "wirelab stages lab: --fast-track port=1026",
                "wirelab stages lab: --fast-track port=1026 --length 64 --count 32 --wait spin --probes off",
                TIME,
            ),
            instead(
                "wirelab stages lab: --fast-track port=1026 --background half",
                "wirelab stages lab: --fast-track port=1026 --background 20kpps --length 64 --count 32 --wait spin --probes off",
                "half searches for the rate first, which takes 20 s (crates/wirelab/tests/stages_lab_load.rs does)",
            ),
            instead(
                "wirelab stages lab: --fast-track ethertype=0x88b5,priority=6",
                "wirelab stages lab: --fast-track ethertype=0x88b5,priority=6 --length 64 --count 32 --wait spin --probes off",
                TIME,
            ),
            instead(
                "wirelab stages node:10.55.0.2 --fast-track own,port=1026",
                "wirelab stages node:10.55.0.10 --fast-track own,port=1026 --length 64 --count 32 --wait spin --probes off",
                "the other machine has another address",
            ),
            instead(
                "wirelab stages lab: --length 64 --count 8192 --wait spin --fast-track port=1026 --background 120kpps,length=64",
                "wirelab stages lab: --length 64 --count 64 --wait spin --fast-track port=1026 --background 20kpps,length=64",
                TIME,
            ),
        ],
    },
    Page {
        name: "docs/fit.md",
        files: &[],
        before: &[],
        rows: &[
            instead(
                "wirelab measure … --json > results.json",
                "wirelab measure am263x --layer udp4 --datagram 128,256,512,1024,1470 --direction rx --load 5M,10M --time 200ms --json > results.json",
                "the page leaves the node open",
            ),
            instead(
                "wirelab stages lab: --fast-track port=1026 --wait both -o stages.json",
                "wirelab stages lab: --fast-track port=1026 --wait both --length 64 --count 32 -o stages.json",
                TIME,
            ),
        ],
    },
    Page {
        name: "docs/hdl.md",
        files: &[],
        before: &[],
        rows: &[
            instead(
                "wirelab measure hdl:4 --payload 66,438,810,1182,1498 --load max",
                "wirelab measure hdl:4 --payload 66,438,810,1182,1498 --load max --frames 100",
                TIME,
            ),
            row(
                "wirelab hdl tap0 --sent 300",
                How::BesideUntilInterrupted("until [ -e /sys/class/net/tap0 ]; do sleep .01; done"),
                0,
                ENDLESS,
            ),
            Row {
                instead: Some(
                    "(sleep 4; echo; sleep 60) | wirelab hdl tap0 --frames 300 --payload 1000",
                ),
                ..row(
                    "wirelab hdl tap0 --frames 300 --payload 1000",
                    How::BesideUntilInterrupted(
                        "until [ -e /sys/class/net/tap0 ]; do sleep .01; done",
                    ),
                    0,
                    "Enter is pressed when the next command runs; it runs until Ctrl-C",
                )
            },
            instead(
                "wirelab stages hdl:reference --mac lite-device --length 64,256,1024 --count 512",
                "wirelab stages hdl:reference --mac lite-device --length 64,256,1024 --count 4",
                TIME,
            ),
            instead(
                "wirelab stages hdl:reference --mac dma --fast-track port=1026 --length 64",
                "wirelab stages hdl:reference --mac dma --fast-track port=1026 --length 64 --count 4",
                TIME,
            ),
            instead(
                "wirelab measure hdl:reference,mac=lite-ordered --length 64,256,1024 --frames 100",
                "wirelab measure hdl:reference,mac=lite-ordered --length 64,256,1024 --frames 4",
                TIME,
            ),
        ],
    },
    Page {
        name: "docs/iperf.md",
        files: &[],
        before: &[],
        rows: &[
            row(
                "wirelab iperf -s",
                How::ServesThere("iperf 2"),
                0,
                "on the other machine; it runs until Ctrl-C",
            ),
            instead(
                "wirelab iperf -c 198.18.0.1 -u -l 64 -b 5M -r",
                "wirelab iperf -c 198.18.0.1 -u -l 64 -b 5M -r -t 1",
                TIME,
            ),
            row(
                "wirelab iperf -3 -s &",
                How::ServesThere("iperf3"),
                0,
                "on the other machine; it runs until Ctrl-C",
            ),
        ],
    },
    Page {
        name: "docs/lab.md",
        files: &[],
        before: &[],
        rows: &[
            instead(
                "wirelab lab exec node --name demo iperf -s",
                "wirelab lab exec node --name demo ip link show n3",
                "a server runs until Ctrl-C, and iperf need not be there",
            ),
            LAB_4,
            instead(
                "wirelab measure lab:1 --frame 64,1518 --time 1s",
                "wirelab measure lab:1 --frame 64,1518 --time 100ms",
                TIME,
            ),
        ],
    },
    Page {
        name: "docs/latency.md",
        files: &[],
        before: &[Before::Peer("wirelab node serve --listen 192.0.2.7", READY)],
        rows: &[
            instead(
                "wirelab measure node:192.0.2.7  --direction echo --layer udp4 --datagram 64  --load 500pps --time 10s --background 100M,datagram=1470",
                "wirelab measure node:192.0.2.7  --direction echo --layer udp4 --datagram 64  --load 500pps --time 300ms --background 100M,datagram=1470",
                TIME,
            ),
            instead(
                "wirelab measure iperf:192.0.2.7 --direction echo --layer tcp4 --datagram 128 --load 500pps --time 10s --background 50kpps",
                "wirelab measure iperf:192.0.2.7 --direction echo --layer tcp4 --datagram 128 --load 500pps --time 300ms --background 50kpps",
                TIME,
            ),
            instead(
                "wirelab measure lab: --direction echo --layer udp4 --datagram 64 --load 200pps --time 5s --background 20M,datagram=1470 --no-ceiling",
                "wirelab measure lab: --direction echo --layer udp4 --datagram 64 --load 200pps --time 300ms --background 20M,datagram=1470 --no-ceiling",
                TIME,
            ),
            instead(
                "wirelab measure lab:            --direction echo --layer udp4 --datagram 64  --load 500pps --time 10s --background 100M,datagram=1470",
                "wirelab measure lab:            --direction echo --layer udp4 --datagram 64  --load 500pps --time 300ms --background 100M,datagram=1470",
                TIME,
            ),
        ],
    },
    Page {
        name: "docs/node.md",
        files: &[("bench.token", Text::File("LICENSE-MIT", &[]))],
        before: &[Before::Peer("wirelab node serve --listen 192.0.2.7", READY)],
        rows: &[
            row(
                "wirelab node serve --listen 198.18.0.1 --name dut --set phy=DP83869HM --set phy_rx_ps=193000",
                How::ServesThere(READY),
                0,
                ENDLESS,
            ),
            row(
                "wirelab node serve --listen 192.168.1.10 --allow 192.168.1.0/24 --token bench.token",
                How::ServesThere(READY),
                0,
                ENDLESS,
            ),
            interrupted("wirelab measure node:192.168.1.10,token=bench.token"),
        ],
    },
    plain("docs/nodes/am263x.md"),
    plain("docs/nodes/esp32-nuttx.md"),
    Page {
        name: "docs/nodes/ethernet-fmc.md",
        files: &[],
        before: &[],
        rows: &[ends("wirelab audit ethernet-fmc", 1, FOUND)],
    },
    plain("docs/nodes/lpc1768.md"),
    plain("docs/nodes/reference.md"),
    plain("docs/nodes/zynq-emaclite.md"),
    plain("docs/nodes/zynq-gem.md"),
    plain("docs/nodes/zynq-temac.md"),
    Page {
        name: "docs/plans.md",
        files: &[
            (
                "plans/demo-link.toml",
                Text::File("plans/demo-link.toml", &[("2s", "100ms")]),
            ),
            ("night.toml", Text::File("plans/datasheet-quick.toml", &[])),
        ],
        before: &[Before::Peer(
            "wirelab node serve --listen 192.168.1.10",
            READY,
        )],
        rows: &[
            instead(
                "wirelab measure lab:4 --plan plans/demo-link.toml -o link.json",
                "wirelab measure lab:4 --plan plans/demo-link.toml --no-ceiling -o link.json",
                TIME,
            ),
            interrupted("wirelab measure node:192.168.1.10 --plan night.toml -o night.json"),
            interrupted("wirelab measure node:192.168.1.10 --plan night.toml --resume night.json"),
        ],
    },
    Page {
        name: "docs/reference-node.md",
        files: &[],
        before: &[],
        rows: &[instead(
            "wirelab stages hdl:reference --mac lite-device --length 64,256,1024 --count 512 --fast-track port=1026",
            "wirelab stages hdl:reference --mac lite-device --length 64,256,1024 --count 16 --fast-track port=1026",
            TIME,
        )],
    },
    Page {
        name: "docs/report.md",
        files: &[],
        before: &[Before::Run("wirelab measure am263x --quick -o run.json")],
        rows: &[],
    },
    Page {
        name: "docs/search.md",
        files: &[],
        before: &[
            Before::Run("ip link set eth0 down; ip link set eth0 name eth2; ip link set eth2 up"),
            Before::Peer("wirelab node serve --listen 192.168.1.10", READY),
        ],
        rows: &[
            instead(
                "wirelab measure node:192.168.1.10 --layer udp4 --datagram 1470 --search no-loss,loss=2.5% --time 10s",
                "wirelab measure node:192.168.1.10 --layer udp4 --datagram 1470 --search no-loss,loss=2.5% --time 100ms",
                TIME,
            ),
            instead(
                "wirelab measure lab:1 --frame 512 --search loss=0.5% --trials 21 --exceed 50% --width 1% --around 50%,90%",
                "wirelab measure lab:1 --frame 512 --search loss=0.5% --trials 3 --exceed 50% --width 1% --around 50%,90% --time 50ms",
                TIME,
            ),
            instead(
                "wirelab measure ports:eth1:eth2 --frame 64 --direction rx --loss-curve",
                "wirelab measure ports:eth1:eth2 --frame 64 --direction rx --loss-curve --rate 100M --time 50ms",
                "the test's ports have no link rate of their own",
            ),
            instead(
                "wirelab measure ports:eth1:eth2 --frame 64 --bursts",
                "wirelab measure ports:eth1:eth2 --frame 64 --bursts --rate 1G --time 50ms",
                "the test's ports have no link rate of their own",
            ),
        ],
    },
    Page {
        name: "docs/stages.md",
        files: &[],
        before: &[Before::Peer("wirelab node serve --listen 192.0.2.7", READY)],
        rows: &[
            instead(
                "wirelab stages lab: --length 64,256,1024 --count 512",
                "wirelab stages lab: --length 64 --count 32",
                TIME,
            ),
            instead(
                "wirelab stages lab: --fast-track port=1026 --background half",
                "wirelab stages lab: --fast-track port=1026 --background 20kpps --length 64 --count 32 --wait spin --probes off",
                "half searches for the rate first, which takes 20 s (crates/wirelab/tests/stages_lab_load.rs does)",
            ),
            row(
                "wirelab stages here:eth0 --port 5003 --count 512",
                How::Beside(
                    "ip address add 198.18.5.2/24 dev eth0; until ss -lun | grep -q :5003; do sleep .01; done",
                ),
                0,
                "the next command is its sender",
            ),
            instead(
                "wirelab send eth1 --layer udp4 --load 1kpps --to MAC",
                "wirelab send eth1 --layer udp4 --load 1kpps --to $(cat /sys/class/net/eth0/address) --frames 4000",
                "the page leaves the address open, and without --frames it takes a second",
            ),
            instead(
                "wirelab stages node:192.0.2.7 --load 1kpps",
                "wirelab stages node:192.0.2.7 --load 1kpps --length 64 --count 32 --probes off",
                TIME,
            ),
        ],
    },
    Page {
        name: "docs/studies.md",
        files: &[
            (
                "vendor.toml",
                Text::Block("UDP performance of the Example One", &[("10s", "100ms")]),
            ),
            (
                "page.html",
                Text::File("crates/study/tests/data/import/vendor.html", &[]),
            ),
        ],
        before: &[],
        rows: &[ends("wirelab audit page.toml", 1, FOUND)],
    },
    plain("docs/whatif.md"),
    plain("docs/compare.md"),
    plain("docs/store.md"),
    Page {
        name: "docs/serve.md",
        files: &[],
        before: &[],
        rows: &[row("wirelab serve", How::Serves(READY), 0, ENDLESS)],
    },
];
