//! CSV (RFC 4180) for scripts and spreadsheets: stable names with units, plain numbers without separators.

use wirelab_trial::Field;

use super::Document;
use super::escape::disarmed;

/// The content of a place.
pub enum Value {
    /// Untrusted text.
    Text(String),
    /// A number, or a word of wirelab.
    Number(String),
    /// A figure with its kind, or why it is absent: two places.
    Figure(Field<String>),
}

/// Rows under names.
#[derive(Default)]
pub struct Records {
    /// Name of each column with its unit, and whether the kind of its figures stands beside it as `…_kind`.
    pub heads: Vec<(&'static str, bool)>,
    /// Rows with a value for each name.
    pub rows: Vec<Vec<Value>>,
}

/// Where a figure comes from, or `absent: ` and why.
pub fn kind_of<T>(field: &Field<T>) -> String {
    match field {
        Field::Observed { kind, .. } => kind.name().to_owned(),
        Field::Absent { absent } => format!("absent: {absent}"),
    }
}

/// The rows of a report as text that ends with a line end.
pub fn render(document: &Document<'_>) -> String {
    let records = &document.records;
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    let heads = records.heads.iter().flat_map(|(name, kinds)| {
        let kind = kinds.then(|| format!("{name}_kind"));
        std::iter::once((*name).to_owned()).chain(kind)
    });
    let to_memory = "memory takes every byte, and rows are of one length";
    writer.write_record(heads).expect(to_memory);
    for row in &records.rows {
        let cells = row.iter().flat_map(|value| match value {
            Value::Text(text) => [Some(disarmed(text)), None],
            Value::Number(text) => [Some(text.clone()), None],
            Value::Figure(field) => {
                let value = field.value().cloned().unwrap_or_default();
                [Some(value), Some(disarmed(&kind_of(field)))]
            }
        });
        writer.write_record(cells.flatten()).expect(to_memory);
    }
    let bytes = writer.into_inner().expect(to_memory);
    String::from_utf8(bytes).expect("text in is text out")
}
