//! Captures as a user sees them: written captures are read back, those of other programs are understood, each fault
//! in a file is found and named, and in a truncated or damaged file only the part after the damage is lost.
