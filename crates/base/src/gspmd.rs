//! XLA's older notation of shardings: `{devices=[2,1,4]<=[8] last_tile_dim_replicate}`.
//!
//! A tensor is cut into a grid of tiles, and device numbers are assigned to the grid: as a list (the first version of
//! the notation, `[2,2]0,2,1,3`), or as the numbers from 0 on, reshaped and transposed (the second,
//! `[2,2]<=[2,2]T(1,0)`). Trailing dimensions of the grid that are no dimensions of the tensor are dimensions over
//! which the tensor is replicated or manual.
//!
//! Here the dimensions of the grid are described by *runs*: `size` devices with a distance of `stride`. A grid that is
//! no product of runs is described by a list.

use crate::{AxisRef, Data, Mesh, Sharding};
use std::fmt;
use std::str::FromStr;

/// A sharding in XLA's notation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum HloSharding {
    Replicated,
    Manual,
    /// The whole tensor is on one device.
    Maximal(usize),
    Tiled(Tiling),
    /// The shardings of the elements of a tuple, or of the results of an op.
    Tuple(Vec<HloSharding>),
}

/// A grid of tiles and the devices that hold them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tiling {
    /// The number of tiles along each dimension of the tensor.
    pub tiles: Vec<usize>,
    /// The kinds and sizes of the trailing dimensions of the grid.
    pub rest: Vec<(Rest, usize)>,
    /// The device at each position of the grid, in row-major order.
    pub devices: Data<usize>,
}

/// The kind of a dimension of the grid that is no dimension of the tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rest {
    Replicated,
    Manual,
}

/// `size` devices whose numbers are `stride` apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Run {
    pub stride: usize,
    pub size: usize,
}

/// The largest number of dimensions of a grid, or of the list after `<=`, that is accepted.
const MAX_DIMS: usize = 1024;

impl Tiling {
    /// Returns the sizes of the grid: the tensor's dimensions, then the rest.
    pub fn grid(&self) -> impl Iterator<Item = usize> + '_ {
        self.tiles.iter().copied().chain(self.rest.iter().map(|&(_, size)| size))
    }

    /// Returns true if the devices are 0, 1, 2, …, each once, in any order.
    pub fn names_each_device(&self) -> bool {
        let mut is_named = vec![false; self.devices.len()];
        self.devices.iter().all(|&d| is_named.get_mut(d).is_some_and(|named| !std::mem::replace(named, true)))
    }

    /// Returns each dimension of the grid as runs, major to minor, or `None` if the grid is no product of runs, or if
    /// it does not name each device from 0 on once.
    ///
    /// # Panics
    /// May panic if a size of the grid is 0, or if there are fewer devices than positions.
    pub fn runs(&self) -> Option<Vec<Vec<Run>>> {
        if !self.names_each_device() {
            return None;
        }
        let sizes: Vec<usize> = self.grid().collect();
        let mut runs = vec![];
        let mut step: usize = self.devices.len();
        for &size in &sizes {
            step /= size;
            let line: Vec<usize> = (0..size).map(|i| self.devices[i * step]).collect();
            runs.push(runs_of(&line)?);
        }
        let flat: Vec<Run> = runs.iter().flatten().copied().collect();
        let mut rebuilt = vec![0];
        for run in &flat {
            rebuilt = rebuilt.iter().flat_map(|&d| (0..run.size).map(move |i| d + i * run.stride)).collect();
        }
        (rebuilt == *self.devices).then_some(runs)
    }
}

/// Returns the runs whose product is `line`, major to minor. There are no runs if `line` is device 0 alone. Returns
/// `None` if the line is no product of runs or does not start at device 0. It must not be empty, and its devices must
/// be so few that their numbers times its length do not overflow.
fn runs_of(line: &[usize]) -> Option<Vec<Run>> {
    if line.len() == 1 {
        return (line[0] == 0).then_some(vec![]);
    }
    let stride = line[1].checked_sub(line[0]).filter(|&s| s > 0)?;
    let size = (1..line.len()).take_while(|&i| line[i] == line[0] + i * stride).count() + 1;
    let minor = Run { stride, size };
    if line.len() == size {
        return (line[0] == 0).then_some(vec![minor]);
    }
    let is_product = line.len().is_multiple_of(size)
        && line.chunks(size).all(|chunk| chunk.iter().enumerate().all(|(i, &d)| d == chunk[0] + i * stride));
    let majors: Vec<usize> = line.chunks(size).map(|chunk| chunk[0]).collect();
    let mut runs = runs_of(&majors).filter(|_| is_product)?;
    runs.push(minor);
    Some(runs)
}

/// Converts from Shardy's form. Priorities, explicitly replicated axes, unreduced and reduced axes, and whether
/// dimensions are open are lost.
impl From<&Sharding> for HloSharding {
    fn from(sharding: &Sharding) -> HloSharding {
        let mesh = &sharding.mesh;
        if mesh.is_maximal() {
            return HloSharding::Maximal(mesh.device(0));
        }
        if sharding.dims.iter().all(|d| d.axes.is_empty()) {
            return HloSharding::Replicated;
        }
        let used: Vec<AxisRef> = sharding.split_axes().collect();
        let free: Vec<AxisRef> = mesh.all_axes().flat_map(|a| a.minus(mesh, &used)).collect();
        let order: Vec<AxisRef> = used.iter().chain(&free).copied().collect();
        let mut positions = vec![0];
        for axis in &order {
            let stride = axis.stride(mesh);
            positions = positions.iter().flat_map(|&p| (0..axis.size(mesh)).map(move |i| p + i * stride)).collect();
        }
        let rest = AxisRef::total_size(mesh, &free);
        HloSharding::Tiled(Tiling {
            tiles: sharding.shard_counts(),
            rest: if rest > 1 { vec![(Rest::Replicated, rest)] } else { vec![] },
            devices: Data::collect(positions.len(), positions.into_iter().map(|p| mesh.device(p))),
        })
    }
}

impl fmt::Display for HloSharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HloSharding::Replicated => f.write_str("{replicated}"),
            HloSharding::Manual => f.write_str("{manual}"),
            HloSharding::Maximal(device) => write!(f, "{{maximal device={device}}}"),
            HloSharding::Tiled(tiling) => write!(f, "{tiling}"),
            HloSharding::Tuple(items) => {
                let items: Vec<String> = items.iter().map(HloSharding::to_string).collect();
                write!(f, "{{{}}}", items.join(", "))
            }
        }
    }
}

impl fmt::Display for Tiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grid: Vec<usize> = self.grid().collect();
        write!(f, "{{devices=[{}]", joined(&grid))?;
        match self.runs() {
            Some(runs) => write_iota(f, &runs.concat())?,
            None => f.write_str(&joined(&self.devices))?,
        }
        match &self.rest[..] {
            [] => {}
            [(Rest::Replicated, _)] => f.write_str(" last_tile_dim_replicate")?,
            rest => {
                let words: Vec<&str> = rest.iter().map(|(rest, _)| rest.word()).collect();
                write!(f, " last_tile_dims={{{}}}", words.join(", "))?;
            }
        }
        f.write_str("}")
    }
}

impl Rest {
    fn word(self) -> &'static str {
        match self {
            Rest::Replicated => "replicated",
            Rest::Manual => "manual",
        }
    }
}

/// Prints `<=[8]` or `<=[2,4]T(1,0)`: the sizes of the runs sorted by stride, the largest stride first, and the places
/// of `runs` in this order if they are not sorted already. Consecutive runs that form one run are merged first.
fn write_iota(f: &mut fmt::Formatter<'_>, runs: &[Run]) -> fmt::Result {
    let mut merged: Vec<Run> = vec![];
    for &run in runs {
        match merged.last_mut() {
            Some(last) if last.stride == run.stride * run.size => {
                *last = Run { stride: run.stride, size: last.size * run.size };
            }
            _ => merged.push(run),
        }
    }
    let mut sorted = merged.clone();
    sorted.sort_by_key(|r| std::cmp::Reverse(r.stride));
    let sizes: Vec<usize> = if sorted.is_empty() { vec![1] } else { sorted.iter().map(|r| r.size).collect() };
    write!(f, "<=[{}]", joined(&sizes))?;
    if sorted != merged {
        let place = |r: &Run| sorted.iter().position(|s| s == r).expect("the same runs");
        let order: Vec<usize> = merged.iter().map(place).collect();
        write!(f, "T({})", joined(&order))?;
    }
    Ok(())
}

fn joined(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// The error of a text that is no sharding, with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HloShardingError {
    /// The position in bytes from the start of the text.
    pub offset: usize,
    expected: &'static str,
}

impl fmt::Display for HloShardingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at byte {}", self.expected, self.offset)
    }
}

impl std::error::Error for HloShardingError {}

impl FromStr for HloSharding {
    type Err = HloShardingError;

    fn from_str(text: &str) -> Result<HloSharding, HloShardingError> {
        let mut p = Parser { text, at: 0 };
        let sharding = p.sharding(0)?;
        p.skip_space();
        if p.at < text.len() { Err(p.error("the end")) } else { Ok(sharding) }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

fn device_count(grid: &[usize]) -> Option<usize> {
    let count = grid.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
    count.filter(|&n| (1..=Mesh::MAX_DEVICES).contains(&n) && grid.len() <= MAX_DIMS)
}

/// The largest depth of tuples within tuples that is accepted.
const MAX_DEPTH: usize = 16;

impl Parser<'_> {
    fn sharding(&mut self, depth: usize) -> Result<HloSharding, HloShardingError> {
        self.expect("{", "`{`")?;
        self.skip_space();
        if depth == MAX_DEPTH && self.rest().starts_with(['{', '}']) {
            return Err(self.error("at most 16 nested tuples"));
        }
        if self.eat("}") {
            return Ok(HloSharding::Tuple(vec![]));
        }
        if self.rest().starts_with('{') {
            let mut items = vec![self.sharding(depth + 1)?];
            while self.eat(",") {
                items.push(self.sharding(depth + 1)?);
            }
            self.expect("}", "`,` or `}`")?;
            return Ok(HloSharding::Tuple(items));
        }
        let sharding = if self.eat("replicated") {
            HloSharding::Replicated
        } else if self.eat("manual") {
            HloSharding::Manual
        } else if self.eat("maximal") {
            self.expect("device=", "`device=`")?;
            HloSharding::Maximal(self.number()?)
        } else {
            self.expect("devices=", "`replicated`, `manual`, `maximal` or `devices=`")?;
            HloSharding::Tiled(self.tiling()?)
        };
        self.expect("}", "`}`")?;
        Ok(sharding)
    }

    fn tiling(&mut self) -> Result<Tiling, HloShardingError> {
        let start = self.at;
        self.expect("[", "`[`")?;
        let mut grid = self.numbers()?;
        self.expect("]", "`]`")?;
        let Some(count) = device_count(&grid) else {
            return Err(HloShardingError {
                offset: start,
                expected: "a grid of 1 to 1048576 devices in at most 1024 dimensions",
            });
        };
        let devices = if self.eat("<=") { self.iota()? } else { self.device_list()? };
        if devices.len() != count {
            return Err(self.error("as many devices as the grid has positions"));
        }
        let mut kinds = vec![];
        if self.eat("last_tile_dim_replicate") {
            kinds.push(Rest::Replicated);
        } else if self.eat("last_tile_dims={") && !self.eat("}") {
            kinds.push(self.kind()?);
            while self.eat(",") {
                kinds.push(self.kind()?);
            }
            self.expect("}", "`,` or `}`")?;
        }
        if kinds.len() > grid.len() {
            return Err(self.error("no more kinds than the grid has dimensions"));
        }
        let rest = grid.split_off(grid.len() - kinds.len());
        Ok(Tiling { tiles: grid, rest: kinds.into_iter().zip(rest).collect(), devices })
    }

    fn kind(&mut self) -> Result<Rest, HloShardingError> {
        if self.eat("replicated") {
            return Ok(Rest::Replicated);
        }
        if self.eat("manual") { Ok(Rest::Manual) } else { Err(self.error("`replicated` or `manual`")) }
    }

    /// Parses `[2,4]` or `[2,4]T(1,0)`. Returns the numbers from 0 on, reshaped and, with `T`, transposed, in row-major
    /// order. Fails if the text has another form, if the numbers after `T` are no permutation of the dimensions, or if
    /// there are no numbers, more than [`Mesh::MAX_DEVICES`] numbers, or more than [`MAX_DIMS`] dimensions.
    fn iota(&mut self) -> Result<Data<usize>, HloShardingError> {
        self.expect("[", "`[`")?;
        let dims = self.numbers()?;
        self.expect("]", "`]`")?;
        let Some(count) = device_count(&dims) else {
            return Err(self.error("1 to 1048576 devices in at most 1024 dimensions"));
        };
        let mut order: Vec<usize> = (0..dims.len()).collect();
        if self.eat("T(") {
            order = self.numbers()?;
            self.expect(")", "`)`")?;
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if !sorted.into_iter().eq(0..dims.len()) {
                return Err(self.error("each dimension once"));
            }
        }
        let strides: Vec<usize> = (0..dims.len()).map(|i| dims[i + 1..].iter().product()).collect();
        let device = |position: usize| {
            let digits = order.iter().rev().scan(position, |rest, &d| {
                let digit = *rest % dims[d];
                *rest /= dims[d];
                Some(digit * strides[d])
            });
            digits.sum()
        };
        Ok(Data::from_fn(count, device))
    }

    fn device_list(&mut self) -> Result<Data<usize>, HloShardingError> {
        let devices = self.numbers()?;
        Ok(Data::collect(devices.len(), devices))
    }

    fn numbers(&mut self) -> Result<Vec<usize>, HloShardingError> {
        let mut all = vec![self.number()?];
        while self.eat(",") {
            all.push(self.number()?);
        }
        Ok(all)
    }

    fn number(&mut self) -> Result<usize, HloShardingError> {
        self.skip_space();
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest()[..digits].parse().map_err(|_| self.error("a number"))?;
        self.at += digits;
        Ok(number)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), HloShardingError> {
        if self.eat(token) { Ok(()) } else { Err(self.error(expected)) }
    }

    fn error(&self, expected: &'static str) -> HloShardingError {
        HloShardingError { offset: self.at, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn round_trip(text: &str) -> String {
        text.parse::<HloSharding>().unwrap_or_else(|e| panic!("{text}: {e}")).to_string()
    }

    #[test]
    fn both_versions_are_read_and_the_second_is_written() {
        let same = [
            "{replicated}",
            "{manual}",
            "{maximal device=3}",
            "{devices=[2,1,4]<=[8] last_tile_dim_replicate}",
            "{devices=[4,2]<=[2,4]T(1,0)}",
            "{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}",
            "{{devices=[2,1]<=[2]}, {replicated}}",
            "{}",
        ];
        same.iter().for_each(|text| assert_eq!(round_trip(text), *text));
        assert_eq!(round_trip("{devices=[2,2]0,1,2,3}"), "{devices=[2,2]<=[4]}");
        assert_eq!(round_trip("{devices=[2,2]0,2,1,3}"), "{devices=[2,2]<=[2,2]T(1,0)}");
        assert_eq!(
            round_trip("{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}"),
            "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"
        );
        assert_eq!(round_trip("{devices=[4]0,3,1,2}"), "{devices=[4]0,3,1,2}");
        assert_eq!(round_trip("{devices=[2,2]<=[2,2]T(0,1)}"), "{devices=[2,2]<=[4]}");
    }

    #[test]
    fn mistakes_have_a_place() {
        let mistake = |text: &str| text.parse::<HloSharding>().unwrap_err().to_string();
        assert_eq!(mistake("{devices=[2]<=[3]}"), "expected as many devices as the grid has positions at byte 17");
        assert_eq!(mistake("{split}"), "expected `replicated`, `manual`, `maximal` or `devices=` at byte 1");
        assert_eq!(mistake("{devices=[2,2]<=[4]T(1,1)}"), "expected each dimension once at byte 25");
        assert_eq!(
            mistake("{devices=[0]<=[0]}"),
            "expected a grid of 1 to 1048576 devices in at most 1024 dimensions at byte 9"
        );
        let iota = mistake("{devices=[1]<=[0,9223372036854775808,9223372036854775808]}");
        assert_eq!(iota, "expected 1 to 1048576 devices in at most 1024 dimensions at byte 57");
        assert_eq!(mistake("{devices=[1]18446744073709551616}"), "expected a number at byte 12");
        assert!(mistake(&"{".repeat(100)).contains("nested"));
        let nested = |depth: usize, inner: &str| format!("{}{inner}{}", "{".repeat(depth), "}".repeat(depth));
        for inner in ["", "{replicated}"] {
            assert!(nested(MAX_DEPTH, inner).parse::<HloSharding>().is_ok());
            assert_eq!(mistake(&nested(MAX_DEPTH + 1, inner)), "expected at most 16 nested tuples at byte 17");
        }
        let rest = |kinds: &str| mistake(&format!("{{devices=[1,1]<=[1] last_tile_dims={{{kinds}}}}}"));
        assert_eq!(rest("manual replicated"), "expected `,` or `}` at byte 43");
        assert_eq!(rest("manual,"), "expected `replicated` or `manual` at byte 43");
    }

    #[test]
    fn other_devices_than_the_first_ones_are_a_list() {
        let same = [
            "{devices=[3]0,9223372036854775808,1}",
            "{devices=[4]0,9223372036854775808,9223372036854775808,0}",
            "{devices=[2,2]0,9223372036854775808,1,9223372036854775809}",
            "{devices=[2]0,18446744073709551615}",
            "{devices=[2]0,4}",
            "{devices=[2]1,2}",
            "{devices=[2,2]0,1,1,2}",
            "{maximal device=18446744073709551615}",
        ];
        same.iter().for_each(|text| assert_eq!(round_trip(text), *text));
    }

    #[test]
    fn shardys_form_becomes_tiles() {
        let mesh = Arc::new(Mesh::new("mesh", [("x", 2), ("y", 4)]).unwrap());
        let axis = |i: usize| AxisRef::full(crate::AxisIndex::new(i));
        let told = |dims: Vec<Vec<AxisRef>>| HloSharding::from(&Sharding::closed(&mesh, dims)).to_string();
        assert_eq!(told(vec![vec![axis(0)], vec![axis(1)]]), "{devices=[2,4]<=[8]}");
        assert_eq!(told(vec![vec![axis(1)], vec![axis(0)]]), "{devices=[4,2]<=[2,4]T(1,0)}");
        assert_eq!(told(vec![vec![axis(1)]]), "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
        assert_eq!(told(vec![vec![], vec![]]), "{replicated}");
    }
}
