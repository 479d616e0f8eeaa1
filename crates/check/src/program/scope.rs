//! The values that a statement may use, and the lines of a region.

use shardwise_ir::TensorType;

#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub name: String,
    pub ty: TensorType,
}

/// The knowledge about the elements of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Grade {
    /// Integers between these bounds, both included. Sums of a few of them are exact.
    Integers(i64, i64),
    /// Anything, including NaN and infinities.
    Wild,
}

impl Grade {
    /// Returns the grade of elements that have one of two grades.
    pub fn join(self, other: Grade) -> Grade {
        match (self, other) {
            (Grade::Integers(a, b), Grade::Integers(c, d)) => Grade::Integers(a.min(c), b.max(d)),
            _ => Grade::Wild,
        }
    }

    /// Returns true if all elements are known to be integers between these bounds.
    pub fn is_within(self, low: i64, high: i64) -> bool {
        matches!(self, Grade::Integers(a, b) if low <= a && b <= high)
    }
}

/// A value that may be used.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub name: String,
    pub ty: TensorType,
    pub grade: Grade,
    /// The nesting of the region in which the value was made.
    pub depth: usize,
}

impl Live {
    pub fn typed(&self) -> Typed {
        Typed { name: self.name.clone(), ty: self.ty.clone() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Surroundings {
    pub is_main: bool,
    pub in_manual: bool,
    pub in_branch: bool,
    pub in_loop: bool,
    pub in_function: bool,
    pub depth: usize,
}

/// A region that is being written.
pub(super) struct Scope {
    lines: Vec<String>,
    pub live: Vec<Live>,
    pub place: Surroundings,
    /// The indices of the first mesh's axes that enclosing manual computations use.
    pub manual_axes: Vec<usize>,
}

impl Scope {
    pub fn of_main() -> Scope {
        Scope::isolated(Surroundings { is_main: true, ..Surroundings::default() })
    }

    /// Returns a region that cannot use values from outside.
    pub fn isolated(place: Surroundings) -> Scope {
        Scope { lines: vec![], live: vec![], place, manual_axes: vec![] }
    }

    /// Returns a region inside this one, which can use its values.
    pub fn inner(&self, change: impl FnOnce(&mut Surroundings)) -> Scope {
        let mut place = Surroundings { is_main: false, depth: self.place.depth + 1, ..self.place };
        change(&mut place);
        Scope { lines: vec![], live: self.live.clone(), place, manual_axes: self.manual_axes.clone() }
    }

    pub fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    pub fn push(&mut self, name: &str, ty: TensorType, grade: Grade) -> Live {
        let live = Live { name: name.to_string(), ty, grade, depth: self.place.depth };
        self.live.push(live.clone());
        live
    }

    /// Returns the indented lines, each with a line end.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("  {line}\n")).collect()
    }
}
