//! Recordings of a pulse of known times, as the programs and devices write them.

use std::fmt::Write as _;
use std::io::Write as _;

use zip::write::SimpleFileOptions;

/// A pulse on channel 1, and how it is sampled.
pub struct Recorded {
    pub start_ps: u64,
    pub width_ps: u64,
    pub period_ps: u64,
    pub length_ps: u64,
}

/// A format and what its files say.
pub struct Format {
    pub name: &'static str,
    pub states_sampling: bool,
    pub is_analogue: bool,
}

const fn of(name: &'static str, states_sampling: bool, is_analogue: bool) -> Format {
    Format {
        name,
        states_sampling,
        is_analogue,
    }
}

/// All formats that are read.
pub const FORMATS: [Format; 14] = [
    of("sigrok.vcd", true, false),
    of("analyser.vcd", false, false),
    of("sigrok.sr", true, false),
    of("sigrok-analogue.sr", true, true),
    of("logic1.csv", false, false),
    of("logic1-each.csv", true, false),
    of("logic2.csv", false, false),
    of("logic2-analogue.csv", true, true),
    of("rigol-ds1000.csv", true, true),
    of("rigol-mso5000.csv", true, true),
    of("siglent.csv", true, true),
    of("keysight.csv", true, true),
    of("tek-tds.csv", true, true),
    of("tek-mdo.csv", true, true),
];

impl Recorded {
    fn is_high(&self, ps: u64) -> bool {
        (self.start_ps..self.start_ps + self.width_ps).contains(&ps)
    }

    fn samples(&self) -> impl Iterator<Item = (u64, bool)> {
        let all = 0..self.length_ps / self.period_ps;
        all.map(|n| (n * self.period_ps, self.is_high(n * self.period_ps)))
    }

    /// Samples at which the level changes, with the first.
    fn changes(&self) -> Vec<(u64, bool)> {
        let mut all: Vec<(u64, bool)> = self.samples().collect();
        all.dedup_by_key(|(_, high)| *high);
        all
    }

    /// A voltage with noise that is the same each time.
    fn volts(&self, ps: u64, high: bool) -> f64 {
        let noise =
            ((ps / self.period_ps).wrapping_mul(2_654_435_761) >> 16 & 0xFF) as f64 / 255.0 - 0.5;
        f64::from(u8::from(high)) * 3.3 + 0.2 * noise
    }

    fn seconds(ps: u64) -> f64 {
        ps as f64 / 1e12
    }

    fn hz(&self) -> f64 {
        1e12 / self.period_ps as f64
    }
}

/// The bytes of a file.
pub fn write(format: &str, recorded: &Recorded) -> Vec<u8> {
    match format {
        "sigrok.sr" | "sigrok-analogue.sr" => session(recorded, format == "sigrok-analogue.sr"),
        "sigrok.vcd" => dump(recorded, true).into_bytes(),
        "analyser.vcd" => dump(recorded, false).into_bytes(),
        _ => table(format, recorded).into_bytes(),
    }
}

/// sigrok writes its sampling rate into a comment, and times in ns; others the levels alone. Here the sampling of the
/// latter is as fine as its times.
fn dump(recorded: &Recorded, is_sigrok: bool) -> String {
    let mut text = String::from("$date Thu Nov 26 05:00:00 2026 $end\n");
    let fine = Recorded {
        period_ps: 1000,
        ..*recorded
    };
    let (changes, comment) = match is_sigrok {
        true => {
            let comment = format!(
                "$version libsigrok 0.5.2 $end\n$comment\n  Acquisition with 2/8 channels at {} Hz\n$end\n",
                recorded.hz()
            );
            (recorded.changes(), comment)
        }
        false => (edges(&fine), String::new()),
    };
    text += &comment;
    text += "$timescale 1 ns $end\n$scope module logic $end\n$var wire 1 ! D0 $end\n$var wire 1 \" D1 $end\n$upscope $end\n$enddefinitions $end\n#0\n1!\n0\"\n";
    for (n, (ps, high)) in changes.iter().enumerate().skip(1) {
        let _ = write!(
            text,
            "#{}\n{}\"\n{}!\n",
            (*ps as f64 / 1000.0).round(),
            u8::from(*high),
            n % 2
        );
    }
    text + &format!("#{}\n", recorded.length_ps / 1000)
}

/// The same without a sample for each ns.
fn edges(recorded: &Recorded) -> Vec<(u64, bool)> {
    let up = |ps: u64| ps.div_ceil(recorded.period_ps) * recorded.period_ps;
    let (start, end) = (recorded.start_ps, recorded.start_ps + recorded.width_ps);
    vec![(0, false), (up(start), true), (up(end), false)]
}

fn session(recorded: &Recorded, analogue: bool) -> Vec<u8> {
    let mut file = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    let mut put = |name: &str, bytes: &[u8]| {
        file.start_file(name, options).unwrap();
        file.write_all(bytes).unwrap();
    };
    put("version", b"2");
    let (hz, channels) = (
        recorded.hz(),
        match analogue {
            true => "total analog=1\nanalog1=D1\n",
            false => "total probes=10\nprobe1=D0\nprobe2=D1\nprobe10=D9\nunitsize=2\n",
        },
    );
    let metadata = format!(
        "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\nsamplerate={hz} Hz\n{channels}"
    );
    put("metadata", metadata.as_bytes());
    let bytes: Vec<u8> = recorded
        .samples()
        .flat_map(|(ps, high)| match analogue {
            true => (recorded.volts(ps, high) as f32).to_le_bytes().to_vec(),
            // Other bits change too.
            false => vec![
                u8::from(high) << 1 | (ps / recorded.period_ps % 2) as u8,
                0xAA,
            ],
        })
        .collect();
    let name = if analogue { "analog-1-1" } else { "logic-1" };
    // A part ends where it does, also within a sample.
    for (n, part) in bytes.chunks(997).enumerate() {
        put(&format!("{name}-{}", n + 1), part);
    }
    file.finish().unwrap().into_inner()
}

fn table(format: &str, recorded: &Recorded) -> String {
    let period = Recorded::seconds(recorded.period_ps);
    let mut text = match format {
        "logic1.csv" | "logic1-each.csv" => "Time[s], Channel 0, Channel 1\n".to_owned(),
        "logic2.csv" | "logic2-analogue.csv" => "Time [s],Channel 0,Channel 1\n".to_owned(),
        "rigol-ds1000.csv" => {
            format!("X,CH1,Start,Increment,\nSequence,Volt,-1.000000e-03,{period:e},\n")
        }
        "rigol-mso5000.csv" => format!("CH1V,t0 =-1.000000e-03s, tInc = {period:e},\n"),
        "siglent.csv" => format!(
            "Record Length,Analog:7000\nSample Interval,Analog:{period:e}\nVertical Units,CH1:V\nVertical Scale,CH1:1.00\nHorizontal Units,S\nModel Number,SDS1104X-E\nSource,CH1\nSecond,Value\n"
        ),
        "keysight.csv" => "x-axis,1\nsecond,Volt\n".to_owned(),
        "tek-mdo.csv" => format!(
            "Model,MDO3024\nFirmware Version,1.28\n\nPoint Format,Y,\nHorizontal Units,S,\nSample Interval,{period:e},\nRecord Length,10000,\n\n\nTIME,CH1\n"
        ),
        _ => String::new(),
    };
    let rows: Vec<(u64, bool)> = match format {
        // These write changes, from a sampling that is as fine as their times.
        "logic1.csv" | "logic2.csv" => edges(&Recorded {
            period_ps: 1000,
            ..*recorded
        }),
        _ => recorded.samples().collect(),
    };
    let beside = [
        "Record Length",
        "Sample Interval",
        "Trigger Point",
        "Source",
        "Vertical Units",
    ];
    for (n, (ps, high)) in rows.into_iter().enumerate() {
        let (s, level, volts) = (
            Recorded::seconds(ps),
            u8::from(high),
            recorded.volts(ps, high),
        );
        let after = -1e-3 + s;
        let _ = match format {
            "logic1.csv" => writeln!(text, "{s:.15}, 0, {level}"),
            "logic1-each.csv" => writeln!(text, "{s:.15}, {}, {level}", n % 2),
            "logic2.csv" => writeln!(text, "{s:.9},1,{level}"),
            "logic2-analogue.csv" => writeln!(text, "{s:.9},0.01,{volts:.4}"),
            "rigol-ds1000.csv" => writeln!(text, "{n},{volts:e},"),
            "rigol-mso5000.csv" => writeln!(text, "{volts:.6},,,"),
            "keysight.csv" => writeln!(text, "{after:+.9E},{volts:+.3E}"),
            "tek-tds.csv" => {
                let (word, value) = beside.get(n).map_or(("", ""), |word| (*word, "1"));
                writeln!(text, "{word},{value},,{after:.12},{volts:.5},")
            }
            _ => writeln!(text, "{after:.10},{volts:.4}"),
        };
    }
    text
}
