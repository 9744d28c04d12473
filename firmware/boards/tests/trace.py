"""Which instructions a board executes, one by one, as QEMU logs them: exact counts without a probe in the image."""

import contextlib
import itertools
import re
from pathlib import Path

LINE = re.compile(rb"^Trace \d+: \S+ \[\w+/(\w+)/\w+/\w+\] ?(\S*)", re.M)


class Trace(list):
    """(address, function) of each instruction, in their order."""

    def entries(self, function):
        """Where a function is entered: at its first instruction."""
        first = min((address for address, name in self if name == function), default=None)
        return [n for n, (address, name) in enumerate(self) if name == function and address == first]

    def ways(self, first, last):
        """The stretches from the entry of `first` to the next entry of another function, without another `first` between."""
        ends = self.entries(last)
        starts = self.entries(first)
        for n, start in enumerate(starts):
            until = starts[n + 1] if n + 1 < len(starts) else len(self)
            if end := next((at for at in ends if start < at < until), None):
                yield Trace(self[start:end])

    def by_function(self):
        """Instructions by function, in the order of their runs."""
        return [(name, len(list(run))) for name, run in itertools.groupby(self, key=lambda step: step[1])]


@contextlib.contextmanager
def tracing(board):
    """Traces the board within `with`; the list is filled at its end."""
    found = Trace()
    log = Path(board.folder, "trace")
    with board.qmp() as command:

        def monitor(line):
            answer = command("human-monitor-command", **{"command-line": line})
            assert answer == "", answer

        monitor(f"logfile {log}")
        monitor("singlestep on")
        monitor("log exec,nochain")
        try:
            yield found
        finally:
            monitor("log none")
            monitor("singlestep off")
    found.extend((int(pc, 16), name.decode()) for pc, name in LINE.findall(log.read_bytes()))
    log.unlink()
