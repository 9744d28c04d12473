//! The folders of firmware images that come with the program.

use std::path::{Path, PathBuf};

/// The variable that names a folder with images.
pub const FOLDER_VARIABLE: &str = "WIRELAB_FIRMWARE";

/// The folders that are searched for images, in this order.
pub fn folders() -> Vec<PathBuf> {
    let variable = std::env::var_os(FOLDER_VARIABLE).filter(|v| !v.is_empty());
    let program = std::env::current_exe().and_then(|exe| exe.canonicalize());
    folders_of(variable.map(PathBuf::from), program.ok().as_deref())
}

/// The file of a built or installed image.
///
/// # Errors
/// The searched folders.
pub fn installed(file: &str) -> Result<PathBuf, Vec<PathBuf>> {
    let searched = folders();
    let mut paths = searched.iter().map(|folder| folder.join(file));
    paths.find(|path| path.is_file()).ok_or(searched)
}

fn folders_of(variable: Option<PathBuf>, program: Option<&Path>) -> Vec<PathBuf> {
    if let Some(folder) = variable {
        // A folder named by the user is the only one.
        return vec![folder];
    }
    let Some(folder) = program.and_then(Path::parent) else {
        return Vec::new();
    };
    let mut folders = Vec::new();
    // Programs are in target/release, test programs in target/debug/deps; installed ones in PREFIX/bin.
    for up in folder.ancestors().skip(1).take(2) {
        folders.push(up.join("firmware"));
    }
    if let Some(prefix) = folder.parent() {
        folders.push(prefix.join("share/wirelab/firmware"));
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_beside_the_program_or_where_the_user_says() {
        let of = |program: &str| folders_of(None, Some(Path::new(program)));
        assert!(of("/x/target/release/wirelab").contains(&"/x/target/firmware".into()));
        assert!(of("/x/target/debug/deps/t-1").contains(&"/x/target/firmware".into()));
        assert!(of("/usr/bin/wirelab").contains(&"/usr/share/wirelab/firmware".into()));
        assert_eq!(folders_of(Some("/mine".into()), None), [Path::new("/mine")]);
    }
}
