//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod audit_corpus;
mod audit_corpus_whole;
mod audit_model;
mod audit_pages;
mod audit_patterns;
mod audit_rules;
mod audit_safe;
mod audit_studies;
mod audit_suspects;
mod common;
mod corpus;
mod import_five;
mod import_formats;
mod import_safe;
mod loss_ends;
mod study_errors;
mod study_library;
mod study_quantities;
mod study_run;
mod study_whole;
#[path = "../../trial/tests/common/table.rs"]
mod table;
