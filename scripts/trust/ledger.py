"""Whether each loss of a results file has a known place, trial by trial, the steps of searches too.

Node and tester are on one machine, and nothing between them loses a frame. Frames that the tester sent and the node did not
receive were dropped by the node's socket, which the node counts, or by a queue of the host on the way. Frames that the node
sent, echoes and TCP data are not lost: a loss there is the tester's own, shown as the node's.
"""

from dataclasses import dataclass

# Most joined datagrams in one dropped buffer (UDP_MAX_SEGMENTS in crates/trial/src/job.rs).
MOST_JOINED = 128
MOST_JOINED_BYTES = 65_535


@dataclass(frozen=True)
class Loss:
    """The lost frames of a trial, and how many of them the node reports as dropped."""

    trial: int
    what: str
    lost: int
    told: int

    def __str__(self):
        return f"trial {self.trial}, {self.what}: {self.lost:,} lost, {self.told:,} dropped by the node's own count"


@dataclass(frozen=True)
class Ledger:
    """Losses of a run: the number of trials whose loss the node's own count covers, and the losses without such an owner."""

    covered: int
    # On reception of the node: a queue on the way may have dropped the rest, at most so many frames in each buffer.
    beyond: list
    most_in_one: int
    # Losses that only the tester can have caused.
    blamed: list

    def contradictions(self, queues):
        """The unexplained losses, if the host's queues dropped `queues` buffers on the way during the run."""
        open_frames = sum(loss.lost - loss.told for loss in self.beyond)
        return self.blamed + (self.beyond if open_frames > queues * self.most_in_one else [])


def value(field):
    """The value of a field, None where it is absent."""
    return field.get("value") if isinstance(field, dict) else None


def most_joined(observation, flow):
    """The most frames in one buffer that the node's queue dropped."""
    path = (value(flow.get("sender")) or {}).get("path", "")
    is_joined = "segmented" in path or observation["node"]["setup"].get("joining_rx", "no") != "no"
    datagram = observation["sizes"].get("datagram_bytes")
    if datagram is None or not is_joined:
        return 1
    return max(1, min(MOST_JOINED, MOST_JOINED_BYTES // datagram))


def ledger(observations):
    """The losses of all trials that have counts."""
    covered, beyond, most, blamed = 0, [], 1, []
    for number, observation in enumerate(observations, 1):
        layer = observation["trial"]["framing"]["layer"]
        told = value(observation["counters"].get("node_checker_missed_frames")) or 0
        for flow in observation["flows"]:
            lost = (value(flow["counts"]) or {}).get("lost_frames", 0)
            if lost == 0:
                continue
            what = f"{layer} {flow['direction']}"
            if layer.startswith("tcp") or flow["direction"] != "receive":
                blamed.append(Loss(number, what, lost, 0))
                continue
            joined = most_joined(observation, flow)
            if lost <= told * joined:
                covered += 1
            else:
                most = max(most, joined)
                beyond.append(Loss(number, what, lost, told * joined))
    return Ledger(covered, beyond, most, blamed)


def dropped_by_interfaces(text):
    """Received frames that interfaces or their rings dropped, from the text of /proc/net/dev."""
    lines = [line.split(":", 1)[1].split() for line in text.splitlines() if ":" in line]
    return sum(int(columns[at]) for columns in lines for at in (3, 4))


def dropped_by_processors(text):
    """Frames that the queues of the processors dropped, from the text of /proc/net/softnet_stat."""
    return sum(int(line.split()[1], 16) for line in text.splitlines())
