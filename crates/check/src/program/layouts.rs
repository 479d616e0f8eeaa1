//! Shardy's steps between layouts, as its partitioner prints them. On global values each of them is the identity.

use super::Maker;
use super::scope::{Live, Scope};

/// A layout over the first mesh.
#[derive(Clone)]
struct Layout {
    /// The axes that split each dimension, major to minor.
    dims: Vec<Vec<&'static str>>,
    /// The axis over which the value is unreduced: its parts along this axis have yet to be summed. `None` if there is
    /// no such axis.
    unreduced: Option<&'static str>,
}

impl Layout {
    fn whole(rank: usize) -> Layout {
        Layout { dims: vec![vec![]; rank], unreduced: None }
    }

    fn split(mut self, dim: usize, axes: &[&'static str]) -> Layout {
        self.dims[dim] = axes.to_vec();
        self
    }

    /// Returns the axes of each dimension: `[{"x"}, {}]`.
    fn lists(&self) -> String {
        let lists: Vec<String> = self.dims.iter().map(|axes| list(axes)).collect();
        format!("[{}]", lists.join(", "))
    }

    fn text(&self) -> String {
        let unreduced = self.unreduced.map_or(String::new(), |axis| format!(", unreduced={}", list(&[axis])));
        format!("<@mesh, {}{unreduced}>", self.lists())
    }
}

fn list(axes: &[&str]) -> String {
    let quoted: Vec<String> = axes.iter().map(|axis| format!("\"{axis}\"")).collect();
    format!("{{{}}}", quoted.join(", "))
}

impl Maker {
    /// Writes a value in some layout and one or two steps from there. Writes nothing for scalars and empty arrays, and
    /// sometimes nothing for booleans and for types whose small integers are not exact.
    pub(super) fn steps(&mut self, scope: &mut Scope, x: &Live) {
        let rank = x.ty.rank();
        if rank == 0 || x.ty.shape.contains(&0) {
            return;
        }
        let mut axes: Vec<&'static str> = self.meshes.first().iter().map(|axis| axis.0).collect();
        self.choose.shuffle(&mut axes);
        self.features.insert("Shardy's collectives");
        match self.choose.below(5) {
            0 | 1 => self.sums(scope, x, axes[0]),
            2 | 3 if axes.len() > 1 => self.reordered(scope, x, [axes[0], axes[1]]),
            _ => self.moved_along(scope, x, axes[0]),
        }
    }

    fn in_layout(&mut self, scope: &mut Scope, x: &Live, layout: &Layout) -> Live {
        let op = format!("sdy.sharding_constraint {} {} : {}", x.name, layout.text(), x.ty);
        self.plain(scope, &op, x.ty.clone(), x.grade)
    }

    fn step(&mut self, scope: &mut Scope, op: &str, x: &Live, to: &Layout) -> Live {
        let op = format!("{op} {} out_sharding={} : {}", x.name, to.text(), x.ty);
        self.plain(scope, &op, x.ty.clone(), x.grade)
    }

    /// Writes a value that is whole, split along one dimension, and whole again or split along another one.
    fn moved_along(&mut self, scope: &mut Scope, x: &Live, axis: &'static str) {
        let whole = Layout::whole(x.ty.rank());
        let [from, to] = [(); 2].map(|()| self.choose.below(x.ty.rank()));
        let (split, other) = (whole.clone().split(from, &[axis]), whole.clone().split(to, &[axis]));
        let value = self.in_layout(scope, x, &whole);
        let value = self.step(scope, &format!("sdy.all_slice {}", split.lists()), &value, &split);
        match from == to || self.choose.one_in(2) {
            true => self.step(scope, &format!("sdy.all_gather {}", split.lists()), &value, &whole),
            false => self.step(scope, &format!("sdy.all_to_all [{}: {from}->{to}]", list(&[axis])), &value, &other),
        };
    }

    /// Writes a value that is split over two axes along a dimension, and then over these axes in the other order, or
    /// with one of them along another dimension.
    fn reordered(&mut self, scope: &mut Scope, x: &Live, [major, minor]: [&'static str; 2]) {
        let whole = Layout::whole(x.ty.rank());
        let dim = self.choose.below(x.ty.rank());
        let value = self.in_layout(scope, x, &whole.clone().split(dim, &[major, minor]));
        let other = self.choose.below(x.ty.rank());
        if other == dim {
            self.step(scope, "sdy.collective_permute", &value, &whole.split(dim, &[minor, major]));
        } else {
            let sizes = [major, minor].map(|name| self.meshes.first().iter().find(|axis| axis.0 == name).map(|a| a.1));
            // An axis may only take the place of one of the same size.
            let (kept, moved) = if sizes[0] == sizes[1] { (minor, major) } else { (major, minor) };
            let apart = whole.split(dim, &[kept]).split(other, &[moved]);
            self.step(scope, "shardwise.exchange", &value, &apart);
        }
    }

    /// Writes a value that becomes unreduced over an axis, and is summed over it by an `all_reduce` or a
    /// `reduce_scatter`. The other summands are 0 and change nothing. Writes nothing for booleans and for types whose
    /// small integers are not exact.
    fn sums(&mut self, scope: &mut Scope, x: &Live, axis: &'static str) {
        let (dtype, rank) = (x.ty.dtype, x.ty.rank());
        if dtype.is_bool() || !(dtype.is_computed() || dtype.is_integer()) {
            return;
        }
        let whole = Layout::whole(rank);
        let [from, to] = [(); 2].map(|()| whole.clone().split(self.choose.below(rank), &[axis]));
        let (start, op) = match self.choose.one_in(2) {
            true => (&whole, format!("sdy.replicated_to_unreduced {}", list(&[axis]))),
            false => (&from, format!("sdy.sharded_to_unreduced {}", from.lists())),
        };
        let value = self.in_layout(scope, x, start);
        let unreduced = Layout { unreduced: Some(axis), ..whole.clone() };
        // No other op uses the unreduced value: infinity times a summand that is 0 is not a number.
        let sum = Live { name: self.name(), ..value.clone() };
        scope.line(format!("{} = {op} {} out_sharding={} : {ty}", sum.name, value.name, unreduced.text(), ty = x.ty));
        match self.choose.one_in(2) {
            true => self.step(scope, &format!("sdy.all_reduce {}", list(&[axis])), &sum, &whole),
            false => self.step(scope, &format!("sdy.reduce_scatter {}", to.lists()), &sum, &to),
        };
    }
}
