//! Machines as data. Each constant has its source, and says whether the source was checked for this machine.
//!
//! The table is `data/machines.txt`. A machine of one's own is a text of the same form ([`Machine::parse`]), such as
//! the one that `shardwise calibrate` writes for the machine on which it runs.

use crate::rates::{self, Rates};
use shardwise_base::{DType, Diagnostic, Diagnostics, Loc, did_you_mean};
use shardwise_view::{Limits, MemoryLevel, PeakRate};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// A constant of a machine, with its source.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    /// The value, in the unit that the constant's name ends with, if it ends with one. But `peak_flops` are flops in a
    /// second.
    pub value: f64,
    /// The document or the measurement from which the value comes.
    pub source: Arc<str>,
    /// False if the source was not checked, or if the value is that of another machine.
    pub is_verified: bool,
}

/// Declares the constants of a machine.
macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident)*) => {
        /// The constants of a machine. Rates and sizes are those of one device, or of a host for all devices.
        #[derive(Clone, PartialEq, Debug)]
        pub struct Constants {
            $($(#[$doc])* pub $name: f64,)*
        }

        /// The names of all constants.
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        impl Constants {
            /// Constants that are all 0.
            const ZERO: Constants = Constants { $($name: 0.0,)* };

            /// Returns the constants with these values, or as the error the name of one that has none.
            fn of(facts: &BTreeMap<&'static str, Fact>) -> Result<Constants, &'static str> {
                let value = |name| facts.get(name).map(|fact| fact.value).ok_or(name);
                Ok(Constants { $($name: value(stringify!($name))?,)* })
            }
        }
    };
}

constants! {
    /// The number of dimensions of the torus, or 0 if switches connect the devices, and for a host.
    torus_dims
    /// The size, in chips, of an axis that wraps around whatever the sizes of the others are, or 0 if there is none.
    wrap_axis
    /// If not 0, all axes of more than 2 chips wrap around where each size is a multiple of this.
    wrap_multiple
    /// If not 0, all axes of more than 2 chips wrap around where each size is this.
    wrap_all
    /// 1 if there are twisted tori, where two sizes differ by a factor of 2.
    twists
    /// The number of devices on a chip.
    devices_per_chip
    /// The number of chips of a host, or of devices in a switch's domain.
    host_chips
    /// Cycles per second.
    clock_hz
    /// Multiply-adds of bf16 numbers in a cycle.
    macs_per_cycle
    /// The rows and columns of a weight tile.
    mxu_tile
    /// The fraction of the multiply-adds that large products reach.
    mxu_efficiency
    /// The cycles to load a weight tile.
    push_cycles
    /// The fraction of `push_cycles` that is not hidden behind the products with the previous tile.
    push_exposed
    /// The number of matrix units.
    matrix_units
    /// The published peak rate of bf16, in flops in a second. For a host, the measured one of f32, or 0 if there is
    /// none.
    peak_flops
    /// The number of bf16 products for one of f32, at default precision.
    passes_f32
    /// The number of bf16 products for one of f32, at high precision.
    passes_f32_high
    /// The number of bf16 products for one of f32, at the highest precision.
    passes_f32_highest
    /// The number of bf16 products for one of int32. Like the others, it is 0 if vector units compute it.
    passes_int32
    /// The number of bf16 products for one of int8.
    passes_int8
    /// The number of bf16 products for one of an 8-bit float.
    passes_fp8
    /// The number of bf16 products for one of f64.
    passes_f64
    /// The cycles that a product takes beside its multiply-adds.
    dot_cycles
    /// The cycles that a product of int32 takes beside its multiply-adds.
    dot_cycles_int32
    /// The cycles to store 8x128 results that are rounded to 16 bits or fewer.
    store_cycles_bf16
    /// The cycles to store 8x128 results of more than 16 bits.
    store_cycles_f32
    /// The rate of the vector units in f32.
    vector_flops_per_s
    /// The size of the main memory.
    hbm_bytes
    /// The rate of the main memory.
    hbm_bytes_per_s
    /// The fraction of the main memory's rate that large copies reach.
    hbm_efficiency
    /// The size of the memory from which the units compute: VMEM, or the last cache of a GPU.
    vmem_bytes
    /// The rate of the memory from which the units compute.
    vmem_bytes_per_s
    /// The time until the first bytes of a window arrive, and until the last ones are stored.
    dma_latency_s
    /// The time that each further window adds, and that ops without a product take if they only use the fast memory.
    window_s
    /// 1 if the largest argument that fits into half of VMEM is there when the program starts.
    prefetches
    /// The rate of a link in one direction. With switches, that of a device.
    link_bytes_per_s
    /// The rate between the devices of a chip.
    core_bytes_per_s
    /// The time that each step of a collective adds.
    step_latency_s
    /// The time that each further hop adds.
    hop_latency_s
    /// The fraction of a link's rate that collectives reach where not all axes are rings.
    line_efficiency
    /// The fraction of a link's rate that collectives reach on rings and through switches.
    ring_efficiency
    /// The fraction of a link's rate that permutes reach.
    permute_efficiency
    /// The time that a permute within a pod takes beside its bytes and further hops. With switches, each collective
    /// within a node takes it.
    permute_latency_s
    /// 1 if blocks without wraps are gathered in both directions around a cycle of their links.
    two_way_blocks
    /// The time for which a device waits for all others before the first asynchronous collective.
    barrier_s
    /// The fraction of its time by which an op is slower beside transfers, but at most the time for which they run
    /// beside it.
    contention
    /// 1 if all collectives may run beside other ops, and 0 if only all-gathers, permutes and broadcasts may.
    async_reductions
    /// The rate between a device and its host.
    host_bytes_per_s
    /// The rate of a device to other pods or nodes.
    nic_bytes_per_s
    /// The latency to other pods or nodes.
    nic_latency_s
}

/// A kind of chip with its memories and links, or a host, which runs all devices on its cores.
///
/// # Examples
///
/// ```
/// use shardwise_sim::Machine;
///
/// let v5e = Machine::find("v5e").unwrap();
/// assert_eq!(v5e.constants.clock_hz, 1.5e9);
/// assert!(v5e.fact("clock_hz").unwrap().source.contains("TensorCore"));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// The name in topologies: `v5e`.
    pub name: Arc<str>,
    /// The full name: `TPU v5e`.
    pub title: Arc<str>,
    /// The values of the constants. For a host, those are 0 that its own constants do not imply, except for
    /// `devices_per_chip`, which is 1.
    pub constants: Constants,
    facts: BTreeMap<&'static str, Fact>,
    /// The constants of a host, which runs all devices on its cores. `None` for a chip.
    pub(crate) rates: Option<Rates>,
}

/// The machines of `data/machines.txt`, without those whose names begin with `_`.
static MACHINES: LazyLock<Vec<Arc<Machine>>> = LazyLock::new(|| {
    let text = include_str!("../data/machines.txt");
    let machines = Machine::parse(text, "machines.txt").expect("the table of machines is well formed");
    machines.into_iter().map(Arc::new).collect()
});

impl Machine {
    /// Reads a file, and returns its first machine whose name does not begin with `_`. [`Machine::parse`] describes the
    /// form of the file. All machines of the file must be well formed.
    ///
    /// # Errors
    /// Fails if the file cannot be read or has no machine (`machine-file`), or if its text has mistakes
    /// (`machine-text`).
    pub fn load(path: &Path) -> Result<Machine, Diagnostics> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|e| unreadable(&name, &e.to_string()))?;
        let first = Machine::parse(&text, &name)?.into_iter().next();
        first.ok_or_else(|| unreadable(&name, "the file has no machine").into())
    }

    /// Returns the machine of the file that the environment variable `SHARDWISE_MACHINE` names, or `None` if the
    /// variable is not set or empty.
    ///
    /// # Errors
    /// Fails as [`Machine::load`] does.
    pub fn own() -> Result<Option<Machine>, Diagnostics> {
        match std::env::var_os("SHARDWISE_MACHINE").filter(|path| !path.is_empty()) {
            Some(path) => Machine::load(Path::new(&path)).map(Some),
            None => Ok(None),
        }
    }

    /// Returns true if the machine is a host, which runs all devices on its cores.
    pub fn is_host(&self) -> bool {
        self.rates.is_some()
    }

    /// Returns the peak rates and the memories of a host, or of one device. The peak rates of a device are those of
    /// bf16, f32 and int8, without types that its vector units multiply. Rates and memories that are not known are left
    /// out.
    pub fn limits(&self) -> Limits {
        if let Some(rates) = &self.rates {
            return rates.limits(&self.title);
        }
        let c = &self.constants;
        let rate = |dtype, passes: f64| (passes > 0.0).then(|| PeakRate { dtype, flops_per_s: c.peak_flops / passes });
        let rates = [(DType::BF16, 1.0), (DType::F32, c.passes_f32), (DType::I8, c.passes_int8)];
        let level = |name: &str, bytes, bytes_per_s| MemoryLevel { name: name.into(), bytes, bytes_per_s };
        let memory = [level("VMEM", c.vmem_bytes, c.vmem_bytes_per_s), level("HBM", c.hbm_bytes, c.hbm_bytes_per_s)];
        Limits {
            source: format!("{}, published", self.title),
            rates: rates.into_iter().filter_map(|(dtype, passes)| rate(dtype, passes)).collect(),
            memory: memory.into_iter().filter(|level| level.bytes_per_s > 0.0).collect(),
        }
    }

    /// Returns all constants of the machine as a text that [`Machine::parse`] reads back.
    pub fn to_text(&self) -> String {
        let mut text = format!("{} {} \"{}\"\n", kind(self.is_host()), self.name, self.title);
        let own = self.rates.iter().flat_map(|rates| rates.facts.iter().map(|(name, fact)| (&**name, fact)));
        for (name, fact) in self.facts.iter().map(|(name, fact)| (*name, fact)).chain(own) {
            let mark = if fact.is_verified { "|" } else { "|?" };
            text.push_str(&format!("{name} {} {mark} {}\n", fact.value, fact.source));
        }
        text
    }

    /// Returns the machine of [`Machine::all`] with this name. The prefixes `tpu-`, `tpu` and `gpu-` are ignored, and
    /// so is case.
    ///
    /// # Errors
    /// Fails if there is none (`machine-unknown`).
    pub fn find(name: &str) -> Result<Arc<Machine>, Diagnostics> {
        let lower = name.to_lowercase();
        let is_named = |m: &&Arc<Machine>| {
            *m.name == *lower || ["tpu-", "tpu", "gpu-"].iter().any(|p| lower.strip_prefix(p) == Some(&m.name))
        };
        Machine::all().iter().find(is_named).cloned().ok_or_else(|| unknown_machine(name).into())
    }

    /// Returns the chips that are known without a file. There are no hosts among them.
    pub fn all() -> &'static [Arc<Machine>] {
        &MACHINES
    }

    /// Returns a constant with its source, or `None` if there is no constant of this name.
    pub fn fact(&self, name: &str) -> Option<&Fact> {
        self.facts.get(name).or_else(|| self.rates.as_ref()?.facts.get(name))
    }

    /// Returns all constants of a chip with their sources, sorted by name. Returns none for a host.
    pub fn facts(&self) -> impl Iterator<Item = (&'static str, &Fact)> {
        self.facts.iter().map(|(name, fact)| (*name, fact))
    }

    /// Returns the machine with another value for a constant of a chip, from this source, which counts as checked.
    /// Returns `None` if there is no constant of this name, if it may not have this value, and for a host.
    pub fn with_constant(&self, name: &str, value: f64, source: &str) -> Option<Machine> {
        let mut facts = self.facts.clone();
        *facts.get_mut(name)? = Fact { value, source: source.into(), is_verified: true };
        let (name, title) = (self.name.clone(), self.title.clone());
        let section = Section { name, title, facts, rates: None, loc: Loc::UNKNOWN };
        section.finish().ok().filter(|_| is_value(value))
    }

    /// Returns true if switches connect the devices, and false for a torus and for a host.
    pub fn is_switched(&self) -> bool {
        self.constants.torus_dims == 0.0 && !self.is_host()
    }

    /// Reads machines from a text of the form of `data/machines.txt`, in its order. `file` is its name for messages.
    /// Machines whose names begin with `_` are read but not returned, and may lack constants: they are only for the
    /// `like` of others. If a machine has several lines for a constant, the last one counts.
    ///
    /// # Errors
    /// Fails if a line cannot be read, or if a machine lacks a constant that it must have, or has a value that the
    /// constant may not have (`machine-text`).
    pub fn parse(text: &str, file: &str) -> Result<Vec<Machine>, Diagnostics> {
        let mut sections: Vec<Section> = vec![];
        for (i, line) in text.lines().enumerate() {
            let loc = Loc::file(file, i as u32 + 1, 1);
            let line = line.trim();
            let head = [("chip ", false), ("host ", true)]
                .into_iter()
                .find_map(|(word, is_host)| line.strip_prefix(word).map(|head| (head, is_host)));
            if let Some((head, is_host)) = head {
                let section = Section::parse(head, is_host, &sections, loc)?;
                sections.push(section);
            } else if !line.is_empty() && !line.starts_with('#') {
                let section = sections
                    .last_mut()
                    .ok_or_else(|| bad_head(&loc, "this line comes before the first `chip` or `host`"))?;
                section.add(line, &loc)?;
            }
        }
        sections.into_iter().filter(|s| !s.name.starts_with('_')).map(|s| Ok(s.finish()?)).collect()
    }
}

struct Section {
    name: Arc<str>,
    title: Arc<str>,
    facts: BTreeMap<&'static str, Fact>,
    /// The constants of a host, or `None` for a chip.
    rates: Option<BTreeMap<Arc<str>, Fact>>,
    loc: Loc,
}

impl Section {
    /// Reads `NAME "TITLE"` or `NAME "TITLE" like OTHER`. Fails if the text has another form, or if there is no other
    /// section of that name and kind before.
    fn parse(head: &str, is_host: bool, before: &[Section], loc: Loc) -> Result<Section, Diagnostic> {
        let mut parts = head.splitn(3, '"');
        let (name, title, rest) = match (parts.next(), parts.next(), parts.next()) {
            (Some(name), Some(title), Some(rest)) => (name.trim(), title, rest.trim()),
            _ => return Err(bad_head(&loc, "a machine needs a name and a title in quotes")),
        };
        let (mut facts, mut rates) = (BTreeMap::new(), is_host.then(BTreeMap::new));
        if let Some(like) = rest.strip_prefix("like ") {
            let found = before.iter().find(|s| *s.name == *like.trim() && s.rates.is_some() == is_host);
            let like = found.ok_or_else(|| unknown_like(is_host, like.trim(), &loc))?;
            (facts, rates) = (like.facts.clone(), like.rates.clone());
            // A fact about one machine is an assumption about another one.
            let is_general = like.name.starts_with('_');
            let all = facts.values_mut().chain(rates.iter_mut().flat_map(BTreeMap::values_mut));
            all.for_each(|fact| fact.is_verified &= is_general);
        } else if !rest.is_empty() {
            return Err(bad_head(&loc, "only `like OTHER` can follow the title of a machine"));
        }
        Ok(Section { name: name.into(), title: title.into(), facts, rates, loc })
    }

    fn add(&mut self, line: &str, loc: &Loc) -> Result<(), Diagnostic> {
        let (name, fact) = parse_fact(line, loc)?;
        match &mut self.rates {
            Some(rates) if rates::is_name(name) => {
                rates.insert(name.into(), fact);
            }
            Some(_) => return Err(unknown_constant(true, name, loc, rates::words())),
            None => {
                let known = NAMES.iter().find(|known| **known == name);
                let known = known.ok_or_else(|| unknown_constant(false, name, loc, NAMES.iter().copied()))?;
                self.facts.insert(known, fact);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Machine, Diagnostic> {
        if let Some(facts) = self.rates {
            return Section::finish_host(self.name, self.title, facts, &self.loc);
        }
        let constants =
            Constants::of(&self.facts).map_err(|missing| lacks(&self.name, &self.title, false, missing, &self.loc))?;
        let is_zero = |name: &&&str| self.facts.get(**name).is_none_or(|fact| fact.value == 0.0);
        if let Some(name) = POSITIVE.iter().find(is_zero) {
            return Err(mistake(&self.loc, &format!("the constant `{name}` of `{}` must not be 0", self.name)));
        }
        if ![0.0, 1.0, 2.0, 3.0].contains(&constants.torus_dims) {
            return Err(mistake(
                &self.loc,
                &format!("the constant `torus_dims` of `{}` must be 0, 1, 2 or 3", self.name),
            ));
        }
        Ok(Machine { name: self.name, title: self.title, constants, facts: self.facts, rates: None })
    }

    fn finish_host(
        name: Arc<str>,
        title: Arc<str>,
        facts: BTreeMap<Arc<str>, Fact>,
        loc: &Loc,
    ) -> Result<Machine, Diagnostic> {
        if let Some(missing) = rates::REQUIRED.into_iter().find(|wanted| !facts.contains_key(*wanted)) {
            return Err(lacks(&name, &title, true, missing, loc));
        }
        if let Some(zero) = rates::REQUIRED.into_iter().find(|wanted| facts[*wanted].value <= 0.0) {
            return Err(mistake(loc, &format!("the constant `{zero}` of `{name}` must not be 0")));
        }
        let rates = Rates::new(facts);
        if rates.at("stream", 1.0).is_none() {
            return Err(lacks(&name, &title, true, "stream.BYTES", loc).note(
                "BYTES is the size of the copies of which the constant is the rate; a rate of 0 does not count",
            ));
        }
        let stream = rates.at("stream", 1e9).unwrap_or(0.0);
        let constants = Constants {
            devices_per_chip: 1.0,
            hbm_bytes: rates.or_zero("memory_bytes"),
            hbm_bytes_per_s: stream,
            peak_flops: rates.or_zero("peak.f32"),
            ..Constants::ZERO
        };
        Ok(Machine { name, title, constants, facts: BTreeMap::new(), rates: Some(rates) })
    }
}

/// Constants of chips that must not be 0. The simulator divides by all of them except `host_chips`.
const POSITIVE: [&str; 20] = [
    "devices_per_chip",
    "host_chips",
    "clock_hz",
    "macs_per_cycle",
    "mxu_tile",
    "vmem_bytes",
    "mxu_efficiency",
    "matrix_units",
    "peak_flops",
    "vector_flops_per_s",
    "hbm_bytes_per_s",
    "hbm_efficiency",
    "vmem_bytes_per_s",
    "link_bytes_per_s",
    "core_bytes_per_s",
    "line_efficiency",
    "ring_efficiency",
    "permute_efficiency",
    "host_bytes_per_s",
    "nic_bytes_per_s",
];

/// Reads `NAME VALUE | SOURCE`, or with `|?` in place of `|`. Fails if the text has another form, if the value is
/// negative or not finite, or if the source is empty.
fn parse_fact<'a>(line: &'a str, loc: &Loc) -> Result<(&'a str, Fact), Diagnostic> {
    let (left, source) =
        line.split_once('|').ok_or_else(|| bad_constant(loc, "a constant needs a source behind its value"))?;
    let (source, is_verified) = match source.strip_prefix('?') {
        Some(source) => (source, false),
        None => (source, true),
    };
    let words: Vec<&str> = left.split_whitespace().collect();
    let &[name, value] = &words[..] else {
        return Err(bad_constant(loc, "a constant needs a name and a value, and nothing else, before its source"));
    };
    let value: f64 = value.parse().map_err(|_| bad_constant(loc, &format!("`{value}` is not a number")))?;
    if !is_value(value) {
        return Err(mistake(loc, &format!("the value of `{name}` is {value}, and must be finite and not negative")));
    }
    if source.trim().is_empty() {
        return Err(bad_constant(loc, "a constant needs a source behind its value"));
    }
    Ok((name, Fact { value, source: source.trim().into(), is_verified }))
}

/// Returns true if constants may have this value: it is finite and not negative.
fn is_value(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

fn unknown_constant(is_host: bool, name: &str, loc: &Loc, known: impl Iterator<Item = &'static str>) -> Diagnostic {
    let error = mistake(loc, &format!("a {} has no constant `{name}`", kind(is_host)));
    let first = name.split('.').next().unwrap_or(name);
    let near = did_you_mean(first, known).filter(|near| *near != first);
    near.map_or(error.clone(), |near| error.help(format!("did you mean `{near}`?")))
}

fn unreadable(file: &str, reason: &str) -> Diagnostic {
    Diagnostic::error("machine-file", &Loc::file(file, 1, 1), format!("no machine can be read: {reason}"))
        .help("write the file of this machine with `shardwise calibrate -o FILE`")
}

fn mistake(loc: &Loc, message: &str) -> Diagnostic {
    Diagnostic::error("machine-text", loc, message)
}

/// Builds the error for a line that has to be the first one of a machine, and has another form.
fn bad_head(loc: &Loc, message: &str) -> Diagnostic {
    mistake(loc, message).expected("`chip NAME \"TITLE\"` or `host NAME \"TITLE\"`, alone or followed by `like OTHER`")
}

fn bad_constant(loc: &Loc, message: &str) -> Diagnostic {
    mistake(loc, message).expected("`CONSTANT VALUE | SOURCE`, with `|?` before a source that has not been checked")
}

fn unknown_like(is_host: bool, name: &str, loc: &Loc) -> Diagnostic {
    let kind = kind(is_host);
    mistake(loc, &format!("there is no {kind} `{name}` before this line"))
        .help(format!("name a {kind} that the same text has further up"))
}

/// Builds the error for a machine that lacks a constant, with the way to state it.
fn lacks(name: &str, title: &str, is_host: bool, missing: &str, loc: &Loc) -> Diagnostic {
    let kind = kind(is_host);
    mistake(loc, &format!("`{name}` lacks the constant `{missing}`")).help(format!(
        "add a line `{missing} VALUE | SOURCE`, or take all constants of another {kind} of the text: \
         `{kind} {name} \"{title}\" like OTHER`"
    ))
}

fn kind(is_host: bool) -> &'static str {
    if is_host { "host" } else { "chip" }
}

fn unknown_machine(name: &str) -> Diagnostic {
    let names = || Machine::all().iter().map(|m| &*m.name);
    let d = Diagnostic::error("machine-unknown", &Loc::UNKNOWN, format!("there is no machine `{name}`"));
    let d = match did_you_mean(name, names()) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d,
    };
    let d = d.help(format!("the machines are {}", names().collect::<Vec<_>>().join(", ")));
    match name {
        "host" => d.help("measure this machine with `shardwise calibrate -o FILE`, and name it as `FILE:8`"),
        _ => d,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_units_make_the_published_peaks() {
        for machine in Machine::all() {
            let c = &machine.constants;
            let computed = 2.0 * c.macs_per_cycle * c.clock_hz;
            // The peak of TPU7x implies a clock that libtpu does not know.
            let tolerance = if &*machine.name == "7x" { 0.15 } else { 0.01 };
            assert!((computed / c.peak_flops - 1.0).abs() < tolerance, "{}: {computed}", machine.name);
        }
    }

    /// Tests that with more than 240 rows, a product of bf16 on v5e is bound by its flops, as roofline.md says.
    #[test]
    fn products_on_v5e_need_240_rows() {
        let c = &Machine::find("v5e").unwrap().constants;
        assert_eq!((c.peak_flops / c.hbm_bytes_per_s).floor(), 240.0);
    }

    #[test]
    fn mistakes_in_a_text_have_a_line() {
        let cases = [
            ("clock_hz 1 | a clock", "before the first `chip`"),
            ("chip a", "title"),
            ("chip a \"A\"\nclock 1 | a clock", "no constant `clock`"),
            ("chip a \"A\"\nclock_hz x | a clock", "not a number"),
            ("chip a \"A\"\nclock_hz 1", "source"),
            ("chip a \"A\" like b", "no chip `b`"),
            ("chip a \"A\"\nclock_hz 1 |", "source behind its value"),
            ("chip a \"A\"\nclock_hz NaN | a clock", "`clock_hz` is NaN"),
            ("chip a \"A\" as b", "can follow the title"),
            ("chip a \"A\" \"B\"", "can follow the title"),
            ("chip a \"A\"\nclock_hz 1 | a clock", "add a line `torus_dims VALUE | SOURCE`"),
            ("host a \"A\"\nworkers 1 | counted", "`host a \"A\" like OTHER`"),
        ];
        for (text, expected) in cases {
            let error = Machine::parse(text, "own.txt").unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("own.txt:"), "{error}");
        }
    }

    #[test]
    fn only_lines_of_a_wrong_form_show_the_expected_form() {
        let error = |text: &str| Machine::parse(text, "own.txt").unwrap_err().to_string();
        assert!(error("chip a").contains("expected: `chip NAME"));
        assert!(error("chip a \"A\"\nclock_hz").contains("expected: `CONSTANT VALUE"));
        assert!(!error("chip a \"A\"\nclock_hz 1 | a clock").contains("expected"));
        assert!(!error(&HOST.replace("workers 2", "workers 0")).contains("expected"));
    }

    #[test]
    fn rates_of_chips_are_not_0() {
        let text = Machine::find("v5e").unwrap().to_text();
        for name in POSITIVE {
            let is_it = |line: &str| line.split_whitespace().next() == Some(name);
            let changed = |line: &str| if is_it(line) { format!("{name} 0 | by hand\n") } else { format!("{line}\n") };
            let error =
                Machine::parse(&text.lines().map(changed).collect::<String>(), "own.txt").unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}`")) && error.contains("must not be 0"), "{error}");
        }
    }

    #[test]
    fn tori_have_at_most_3_dimensions() {
        let text = Machine::find("v4").unwrap().to_text();
        for dims in ["4", "5", "2.5", "1e300"] {
            let changed = text.replace("torus_dims 3 ", &format!("torus_dims {dims} "));
            let error = Machine::parse(&changed, "own.txt").unwrap_err().to_string();
            assert!(error.contains("`torus_dims` of `v4` must be 0, 1, 2 or 3"), "{dims}: {error}");
        }
    }

    const HOST: &str = "host mine \"My machine\"\nworkers 2 | counted\nmemory_bytes 1e9 | counted\n\
                        instruction_s 1e-6 | measured\nspeedup 1.9 | measured\nstream.4096 1e10 | measured\n\
                        peak.f32 1e11 |? guessed\nlevel.L2.bytes 1e6 | counted\nlevel.L2.bytes_per_s 1e11 | measured\n";

    #[test]
    fn machines_are_read_back_from_their_texts() {
        let hosts = Machine::parse(HOST, "own.txt").unwrap();
        for machine in Machine::all().iter().map(|m| &**m).chain(&hosts) {
            let read = Machine::parse(&machine.to_text(), "own.txt").unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(&read[..], std::slice::from_ref(machine));
        }
        let limits = hosts[0].limits();
        assert_eq!((limits.rates[0].flops_per_s, limits.memory[0].bytes_per_s), (1e11, 1e11));
        assert!(hosts[0].is_host() && !hosts[0].is_switched());
    }

    /// Tests texts that lack a line, or have other characters or none in the place of one. A text without a line that
    /// is needed is an error, and no text panics.
    #[test]
    fn broken_texts_are_errors_and_never_panic() {
        let lines: Vec<&str> = HOST.lines().collect();
        for i in 0..lines.len() {
            let without: Vec<&str> = lines.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, line)| *line).collect();
            let _ = Machine::parse(&without.join("\n"), "own.txt");
            let is_needed = i < 6;
            assert_eq!(Machine::parse(&without.join("\n"), "own.txt").is_err(), is_needed, "{}", lines[i]);
            for (at, _) in lines[i].char_indices() {
                for junk in ["", "\0", "|", "-", "e999", ".", "x", " ", "\"", "NaN"] {
                    let mut changed: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
                    changed[i].replace_range(at..at + 1, junk);
                    let error = Machine::parse(&changed.join("\n"), "own.txt").err();
                    assert!(error.is_none_or(|e| e.to_string().contains("own.txt:")), "{}", changed[i]);
                }
            }
        }
    }

    #[test]
    fn what_is_taken_from_another_machine_is_not_verified() {
        let h200 = Machine::find("h200").unwrap();
        assert!(!h200.fact("peak_flops").unwrap().is_verified);
        assert!(h200.fact("hbm_bytes").unwrap().is_verified);
        assert!(Machine::find("h20O").unwrap_err().to_string().contains("did you mean `h200`?"));
    }
}
