//! A function of an image as the compiler made it, for who wants to know why it takes its time.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use crate::BoardError;

/// The program that disassembles; it comes with the compiler that builds the images.
const OBJDUMP: &str = "arm-none-eabi-objdump";

/// The instructions of `function` in the image at `path`, a line each: address, instruction, operands.
///
/// # Errors
/// [`BoardError::NoObjdump`], [`BoardError::NoFunction`], [`BoardError::Io`] where the program fails.
pub fn disassemble(path: &Path, function: &str) -> Result<String, BoardError> {
    let no_function = || BoardError::NoFunction {
        function: function.to_owned(),
        image: path.to_owned(),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    if function.is_empty() || !function.chars().all(is_name) {
        return Err(no_function());
    }
    let output = Command::new(OBJDUMP)
        .args(["-d", "--no-show-raw-insn"])
        .arg(format!("--disassemble={function}"))
        .arg("--")
        .arg(path)
        .output()
        .map_err(|source| match source.kind() {
            ErrorKind::NotFound => BoardError::NoObjdump,
            _ => BoardError::Io {
                what: OBJDUMP.to_owned(),
                source,
            },
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(BoardError::Io {
            what: format!("{OBJDUMP} {}", path.display()),
            source: std::io::Error::other(said.trim().to_owned()),
        });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mark = format!("<{function}>:");
    let lines = text.lines().skip_while(|line| !line.ends_with(&mark));
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return Err(no_function());
    }
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_is_no_function() {
        for name in ["", "a b", "--help", "x;y"] {
            let error = disassemble(Path::new("/nowhere"), name).unwrap_err();
            assert!(matches!(error, BoardError::NoFunction { .. }), "{error}");
        }
    }
}
