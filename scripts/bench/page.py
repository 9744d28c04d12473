"""The page that the bench writes, and its number formats."""

METHOD = """\
`make bench` measured every figure on this page; run it to measure your machine.

- All subjects run in turn ({rounds} rounds, every other one in reverse order, {seconds:g} s a run), all at the same
  priority (`nice -n -20`). Senders of frames use a veth pair between two private network namespaces, created for the
  run and removed after it. Ratios are those of medians, with the 95 % interval of a bootstrap over the rounds.
- **wirelab, fast path**: one XDP program generates the frames, and another checks them. Each carries sequence,
  transmit time, checksum and LFSR payload; the checker compares every byte of every frame, and follows losses,
  duplicates and reordering. Only verified frames count, by the checker's own number and clock. A run with
  a single finding is void. {cores}
- **wirelab, portable path**: AF_PACKET on both ends, sender on core 0, checker on core 1, every byte compared. Only
  verified frames count. The transmit time is read once for 16 frames at maximum load. {missed}
- **trafgen** (netsniff-ng) sends one constant frame from a TX ring and bypasses the queueing discipline, one
  process on core 0. It verifies nothing; the receiving interface counts its frames. Where no program receives them,
  the kernel drops them at once, and trafgen is at its fastest. With a program or a ring, the far end does the same
  work as for wirelab except verifying. Other flags (`-q`, `-t 0`, `-H`, rings of 64 KiB to 64 MiB) were no faster.
- **xdp-trafficgen** (xdp-tools) sends UDP over IPv6 by the same kernel facility as the fast path, with a constant
  payload and without times; at the far end an XDP program drops the frames without reading them, and the interface
  counts them.
- **iperf** and **echo**: the client and the server of one tool measure each other, in a lab with offloads
  (`crates/iperf/examples/speed.rs`), the server on core 1 and the client on core 0. Datagrams count if they arrived,
  by the server's report; the median loss of wirelab must not be higher than the peer's. *Segmented* means that the
  system gets up to 32 datagrams in one piece, each with its own number, and that a veth pair never splits them; *not
  segmented* is `--no-segmentation`, up to 64 datagrams with one system call. wirelab's server sleeps 30 µs where
  datagrams arrive faster than one in 10 µs, so that it need not wake for each, and requests a receive queue of 8 MiB
  (iperf 2) or 4 MiB (iperf3). The peers run with their defaults, iperf 2 with `-b 100G`, because it does not accept
  the rate 0. Half a median round trip is sockperf's figure, not a one-way latency.
- **load kept**: the share of the datagrams of 64 bytes due in {seconds:g} s that were sent, while a busy loop runs on each
  core at the usual priority, in its own session. wirelab and iperf3 start at the usual priority as well, so that
  only the priority that the sender requests itself counts; wirelab catches up within a limit, iperf3 without one.
- **reflector**: `crates/stages/examples/reflect_rate.rs`; XDP in the node's driver reflects frames, and an application
  echoes them over a UDP socket, in the same lab. In both cases the generator on core 0 sends and the checker on its
  port compares every returned byte. The application has core 1 to itself and is measured at its best load: a search
  finds the load with the most echoes, sleeping or spinning, and each run takes the best of three loads around it. The
  reflector runs on core 0, as does the tester.
- **stages**: `wirelab stages lab:`, the node's application on core 1, the tester on core 0; each process measures the
  fast track and the stack in turn, both spinning, with the driver's work on the same core. The programs measure their
  own cost per point on each eighth frame, including one reading of the clock; system calls are left out.
- **simulation**: `crates/sim/examples/events.rs` simulates frames in two stages with four buffers between them, on
  core 0; an event is the end of a stage. **SimPy** does the same with two processes and a store of four
  (`scripts/bench/simpy_pipeline.py`), in turn with it on the same core. Its events differ, so frames are compared.
- **board:zynq7000**: `firmware/boards/tests/speed.py`, QEMU by the wall clock on a TAP; datagrams from the
  distribution's iperf 2, lost by the board's own report or dropped by the host's TAP. These figures show the speed of
  the emulation on this machine, not of the silicon.
- **QEMU's plugin**: `scripts/bench/loop.c` on QEMU's Cortex-A9, processor time of the whole process,
  without and with the plugin in turn (`scripts/bench/plugin.py`). The loop calls a function every eight instructions,
  so that a step is as frequent as it gets; another process reads the records.
- **hdl:4, hdl:reference**: simulated hardware by the wall clock (`crates/hdl/examples/sweep.rs`, `reference_speed.rs`,
  `wirelab stages hdl:reference`); figures in simulated time do not depend on the machine and are not on this page.
- **board:lpc1768**: the project's own emulator; the figures are wall-clock time, not simulated time.
- **`whatif`**: `crates/model/examples/whatif.rs` tries every change, and pairs of the five best, at two sizes on each
  path of every node in `nodes/`; the figure is the list that took longest.
"""
CORES = (
    "Sending and checking share\n  ONE core, number 0: a veth delivers frames in the sender's softirq. "
    "A checker on the other core (threaded NAPI)\n  loses frames in the veth's queue of 256. At maximum load the "
    "transmit time is read once for the 16 frames that the\n  kernel hands to the driver together; paced frames "
    "each have their own. The checker\n  reads the arrival time of one frame in 16."
)


def million(figure):
    return f"{figure / 1e6:.2f} M frames/s"


def ratio(found):
    return f"{found['ratio']:.2f} ({found['low']:.2f} to {found['high']:.2f})"


def verdict(met, limit, goal_met):
    """The verdict of a row; `met` or `missed` refers to the requirement."""
    words = [] if limit is None else ["met" if met else "missed"]
    if goal_met is not None:
        words.append("goal met" if goal_met else "goal not met")
    return ", ".join(words) or "shown for comparison"


def table(rows):
    lines = [
        "| what | requirement | goal | wirelab, median | peer, median | ratio or range (95 %) | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    keys = ("what", "requirement", "goal", "ours", "peer", "ratio", "verdict")
    lines += ["| " + " | ".join(row[key].replace("|", "\\|") for key in keys) + " |" for row in rows]
    return "\n".join(lines)


def each_run(rows):
    lines = ["| what | who | unit | runs |", "|---|---|---|---|"]
    for row in rows:
        for who, unit, figures in row["runs"]:
            shown = " ".join(f"{figure:.3g}" for figure in figures)
            lines.append(f"| {row['what']} | {who} | {unit} | {shown} |")
    return "\n".join(lines)


def missed_sentence(subjects):
    """The frames that the portable checker's queue dropped."""
    shares = [share for found in subjects.remarks.values() for share in found]
    if not shares:
        return "Its queue lost no frame in any run."
    return f"In {len(shares)} runs its queue lost frames, at most {max(shares):.2%} of them; no figure counts them."


def render(host, warning, rows, subjects, asked, folder):
    method = METHOD.format(
        rounds=asked.rounds, seconds=asked.seconds, cores=CORES, missed=missed_sentence(subjects)
    )
    machine = "\n".join(f"| {name} | {value} |" for name, value in host)
    commands = "\n".join(f"# {name}\n{words}" for name, words in subjects.commands.items())
    commands = commands.replace(str(folder), "$FOLDER").replace(str(asked.target), "target")
    commands = commands.replace(subjects.trafficgen, "xdp-trafficgen")
    return f"""\
# Benchmarks

Written by `make bench` (`scripts/bench.sh`); do not edit. {warning}

{table(rows)}

The median must meet the requirement; where marked *lower bound*, the lower end of the interval must.

## How it was measured

{method}
## The machine

| | |
|---|---|
{machine}

## Each run

{each_run(rows)}

## Commands

`{{port}}`, `{{source}}` and `{{destination}}` stand for the lab's interface and addresses; everything that sends
runs under `nice -n -20`, as root. `rate` is `crates/port/examples/rate.rs`.

```
{commands}
```
"""
