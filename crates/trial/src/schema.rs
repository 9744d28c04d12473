//! The JSON schema of the results file, `spec/results.schema.json`, made of the types. Only tests need it, so no build of
//! the program derives it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::ResultsFile;
use crate::column::Column;

impl<T: JsonSchema> JsonSchema for Column<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Column_of_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let rows = "The number of rows of the next list in 'samples'.";
        json_schema!({ "anyOf": [
            Vec::<T>::json_schema(generator),
            { "type": "integer", "format": "uint64", "minimum": 0, "description": rows },
        ]})
    }
}

#[test]
fn the_schema_file_is_that_of_the_types() {
    let schema = schemars::schema_for!(ResultsFile);
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../spec/results.schema.json"
    );
    if std::env::var("INSTA_UPDATE").is_ok_and(|renew| renew == "always") {
        std::fs::write(path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap() == text,
        "spec/results.schema.json differs from the types: run\n  INSTA_UPDATE=always cargo test -p wirelab-trial schema"
    );
}
