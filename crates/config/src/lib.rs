//! TOML files that people write: values with their places, and errors that name file, line, column and field.
