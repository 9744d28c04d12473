//! One file for each command.

pub mod audit;
pub mod board;
pub mod compare;
pub mod disassemble;
pub mod explain;
pub mod fit;
pub mod hdl;
pub mod iperf;
pub mod kept;
pub mod lab;
pub mod limits;
pub mod manual;
pub mod measure;
pub mod node;
pub mod predict;
pub mod receive;
pub mod repeats;
pub mod report;
pub mod results;
pub mod selftest;
pub mod send;
pub mod stages;
pub mod study;
pub mod trials;
pub mod verify;
pub mod whatif;
