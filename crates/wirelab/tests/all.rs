//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod attacks;
mod attacks_common;
mod board;
mod board_common;
mod board_datasheet;
mod board_lpc1768;
mod cli;
mod common;
mod compare;
mod console_boards;
#[cfg(feature = "hdl")]
mod docs;
#[cfg_attr(
    not(feature = "hdl"),
    expect(dead_code, reason = "most of the pages' tests need hdl")
)]
mod docs_common;
#[cfg(feature = "hdl")]
mod docs_flags;
#[cfg(feature = "hdl")]
mod docs_pages;
mod docs_spans;
mod exit_status;
mod fit_common;
mod fit_intervals;
mod fit_intervals_whole;
mod fit_table;
mod fit_table_turns;
#[path = "../../iperf/tests/v2_common/forged.rs"]
mod forged;
#[path = "common/granted.rs"]
mod granted;
#[cfg(feature = "hdl")]
mod hardware;
#[cfg(feature = "hdl")]
mod hardware_stages;
#[cfg(feature = "hdl")]
mod hardware_tap;
mod honest_tables;
mod impossible_results;
mod iperf3_flags;
mod iperf3_help;
mod iperf3_users;
mod iperf_commands;
mod iperf_common;
mod iperf_csv;
mod iperf_flags;
mod iperf_lab;
mod iperf_options;
mod iperf_table;
mod iperf_times;
mod leash;
mod machine;
mod measure_console;
mod measure_datasheet;
mod measure_loaded;
mod measure_peers;
mod model_commands;
mod model_commands_linux;
mod node;
#[path = "../../cores/tests/common/over.rs"]
mod over;
#[path = "../../store/tests/common/postgres.rs"]
mod postgres;
mod privileges;
mod pulse;
mod receive;
#[cfg(feature = "hdl")]
mod reference_model;
mod refused_lines;
mod report_datasheet;
mod results;
#[path = "../../remote/tests/serial_common/mod.rs"]
mod serial_common;
mod session;
mod stacks_rows;
mod stages;
mod stages_common;
mod stages_lab;
mod stages_lab_here;
mod stages_lab_load;
mod stages_lab_ways;
mod strict_gaps;
mod studies;
mod study_import;
#[path = "../../trial/tests/common/table.rs"]
mod table;
mod terminal_width;
#[cfg(feature = "hdl")]
#[path = "docs_common/typed.rs"]
mod typed;
mod user_namespaces;
#[cfg(feature = "hdl")]
mod vlan;
