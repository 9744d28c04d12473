//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod corpus;
mod drops;
#[path = "v2_common/forged.rs"]
mod forged;
mod fuzz;
mod memory;
#[path = "v2_common/older.rs"]
mod older;
#[path = "../../cores/tests/common/over.rs"]
mod over;
mod rings;
mod stopped;
mod v2_common;
mod v2_counts;
mod v2_forged;
mod v2_generations;
mod v2_lab_clients;
mod v2_lab_common;
mod v2_lab_impair;
mod v2_lab_servers;
mod v2_lab_strangers;
mod v2_lab_trouble;
mod v2_older;
mod v2_ours;
mod v2_real_clients;
mod v2_real_servers;
mod v2_trouble;
mod v2_wrong_peers;
mod v3_both_directions;
mod v3_chosen;
mod v3_common;
mod v3_jitter;
mod v3_lab;
mod v3_ours;
mod v3_real;
mod v3_refusals;
mod v3_wrong_peers;
