//! The figures of runs as a Parquet file, for notebooks: a row for each figure of each run.

use std::sync::Arc;

use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::error::StoreError;
use crate::figures::StoredFigure;
use crate::list::Run;
use crate::store::Store;

/// The columns, in the order of [`column`].
const SCHEMA: &str = "message figures {
    REQUIRED INT64 run;
    REQUIRED INT64 begun (TIMESTAMP(NANOS, true));
    REQUIRED BYTE_ARRAY node (STRING);
    REQUIRED BYTE_ARRAY node_kind (STRING);
    REQUIRED BYTE_ARRAY tags (STRING);
    REQUIRED BYTE_ARRAY wirelab_version (STRING);
    REQUIRED BYTE_ARRAY command (STRING);
    REQUIRED BYTE_ARRAY figure_key (STRING);
    REQUIRED BYTE_ARRAY trial (STRING);
    REQUIRED BYTE_ARRAY figure (STRING);
    REQUIRED BYTE_ARRAY unit (STRING);
    REQUIRED BYTE_ARRAY kind (STRING);
    REQUIRED BOOLEAN higher_is_better;
    REQUIRED INT64 repeats;
    REQUIRED DOUBLE median;
    REQUIRED DOUBLE low;
    REQUIRED DOUBLE high;
    REQUIRED INT64 tester_limited;
}";

/// A figure with its run.
type FigureRow<'a> = (&'a Run, StoredFigure);

impl Store {
    /// The figures of runs as the bytes of a Parquet file.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read.
    pub fn parquet(&mut self, runs: &[Run]) -> Result<Vec<u8>, StoreError> {
        let mut lines: Vec<FigureRow<'_>> = Vec::new();
        for run in runs {
            let figures = self.figures(run.id)?;
            lines.extend(figures.into_iter().map(|figure| (run, figure)));
        }
        Ok(written(&lines).expect("memory takes all bytes, and all columns have a value a line"))
    }
}

fn written(lines: &[FigureRow<'_>]) -> Result<Vec<u8>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties)?;
    let mut group = writer.next_row_group()?;
    let mut at = 0;
    while let Some(mut open) = group.next_column()? {
        column(open.untyped(), at, lines)?;
        open.close()?;
        at += 1;
    }
    group.close()?;
    writer.close()?;
    Ok(bytes)
}

fn column(
    writer: &mut ColumnWriter<'_>,
    at: usize,
    lines: &[FigureRow<'_>],
) -> Result<(), ParquetError> {
    match writer {
        ColumnWriter::Int64ColumnWriter(writer) => {
            let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
            let value = |(run, figure): &FigureRow<'_>| match at {
                0 => run.id,
                1 => count(run.created_unix_ns),
                13 => count(figure.repeats),
                _ => count(figure.tester_limited),
            };
            writer.write_batch(&lines.iter().map(value).collect::<Vec<_>>(), None, None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let value = |(_, figure): &FigureRow<'_>| match at {
                14 => figure.median,
                15 => figure.low,
                _ => figure.high,
            };
            writer.write_batch(&lines.iter().map(value).collect::<Vec<_>>(), None, None)?;
        }
        ColumnWriter::BoolColumnWriter(writer) => {
            let values: Vec<bool> = lines.iter().map(|(_, f)| f.higher_is_better).collect();
            writer.write_batch(&values, None, None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let value = |line: &FigureRow<'_>| ByteArray::from(words(at, line).into_bytes());
            writer.write_batch(&lines.iter().map(value).collect::<Vec<_>>(), None, None)?;
        }
        _ => unreachable!("the schema has no other type"),
    }
    Ok(())
}

fn words(at: usize, (run, figure): &FigureRow<'_>) -> String {
    match at {
        2 => run.node.clone(),
        3 => run.node_kind.clone(),
        4 => run.tags.join(", "),
        5 => run.wirelab_version.clone(),
        6 => run.command.clone(),
        7 => figure.key.clone(),
        8 => figure.trial.clone(),
        9 => figure.figure.clone(),
        10 => figure.unit.clone(),
        _ => figure.kind.name().to_owned(),
    }
}
