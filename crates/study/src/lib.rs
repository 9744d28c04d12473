//! Published tables: their format, what a node says to them, and their audit.
