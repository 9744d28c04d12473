"""Judges skips: one counts only if tests/skips.toml lists its feature and the probe says it is absent."""

import subprocess
import tomllib

KEYS = {"feature", "why", "probe"}
PROBE_SECONDS = 30


class SkipListError(Exception):
    """tests/skips.toml is invalid."""


def load(text):
    """The features of a skip list: name → entry. Raises SkipListError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SkipListError(f"not TOML: {error}; fix: correct it") from error
    if extra := set(document) - {"skip"}:
        raise SkipListError(f"unknown table {', '.join(sorted(extra))}; fix: use only [[skip]]")
    features = {}
    for number, entry in enumerate(document.get("skip", []), 1):
        if set(entry) != KEYS or not all(isinstance(v, str) and v.strip() for v in entry.values()):
            raise SkipListError(f"entry {number} must have {', '.join(sorted(KEYS))}, each a non-empty string")
        if entry["feature"] in features:
            raise SkipListError(f"feature {entry['feature']} is listed twice; fix: remove one entry")
        features[entry["feature"]] = entry
    return features


def run_probe(command, prefix, cwd):
    """Whether the feature is present: the probe exits with 0. `prefix` runs tests as root."""
    try:
        done = subprocess.run(
            [*prefix, "sh", "-c", command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


class Judge:
    """Decides on skips; each probe runs once."""

    def __init__(self, features, probe):
        self.features = features
        self.probe = probe
        self.present = {}

    def objection(self, skip):
        """Why a skip does not count, or None if it does."""
        entry = self.features.get(skip.feature)
        if not skip.feature:
            return "names no feature"
        if entry is None:
            return f"feature {skip.feature} is not in tests/skips.toml"
        if skip.feature not in self.present:
            self.present[skip.feature] = self.probe(entry["probe"])
        if self.present[skip.feature]:
            return f"feature {skip.feature} is there, its probe says (`{entry['probe']}`)"
        return None
