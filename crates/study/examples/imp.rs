//! Temporary.
use wirelab_study::import::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&a[1]).unwrap();
    let mut options = Options::default();
    if let Some(m) = a.get(2) { options.mapping = Some((std::fs::read_to_string(m).unwrap(), m.clone())); }
    let mut n = Nobody::default();
    match import(&bytes, &a[1], &options, &mut n) {
        Ok(i) => { println!("{}", i.text); for x in i.notes.iter().chain(&n.assumed) { eprintln!("note: {x}"); }
            if let Ok((s, _)) = wirelab_study::table::Study::parse_whole(&i.text, "x.toml") { for f in wirelab_study::audit::audit(&s) { eprintln!("{} {} {}", f.severity.name(), f.rule, f.says); } } }
        Err(e) => eprintln!("ERR {e}"),
    }
}
