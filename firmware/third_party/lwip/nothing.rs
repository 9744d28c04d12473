//! Empty on purpose: this package exists for its lock file, which pins the sources of lwIP.
