//! Sharding rules, which describe an op as an einsum over factors.
//!
//! A dimension consists of one or more factors, major to minor: a reshape of `8` to `2x4` is `([ij])->([i, j])`. Sizes
//! and kinds belong to the factors, so a rule contains all that propagation and partitioning must know about an op:
//! `([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}`.

use shardwise_base::counted;
use smallvec::SmallVec;
use std::fmt;

/// A factor of a rule, identified by its position. It is printed as `i`, `j`, … `z`, `z_1`, `z_2`, …
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Factor(u16);

/// The number of factors that are named by one letter: `i` to `z`.
pub(crate) const LETTER_COUNT: usize = 18;

impl Factor {
    /// Returns the factor at position `index` of the rule.
    ///
    /// # Panics
    /// Panics if `index` is larger than 65535.
    pub fn new(index: usize) -> Factor {
        Factor(u16::try_from(index).expect("a rule has at most 65536 factors"))
    }

    /// Returns the position of the factor in the rule.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index() {
            i if i < LETTER_COUNT => write!(f, "{}", char::from(b'i' + i as u8)),
            i => write!(f, "z_{}", i + 1 - LETTER_COUNT),
        }
    }
}

impl fmt::Debug for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The requirements for running an op that is split along a factor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FactorKind {
    /// Nothing: the op runs on each shard separately.
    #[default]
    PassThrough,
    /// Each shard has a partial result. The partial results must be summed, or combined by the op's own reducer.
    Reduction,
    /// The op cannot run split: the factor must be whole on each device.
    NeedReplication,
    /// Elements may have to move between devices (a halo, a shift, a reversal).
    Permutation,
}

/// The size and kind of a factor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FactorSpec {
    pub size: usize,
    pub kind: FactorKind,
    /// True if shardings do not propagate along it, in either direction.
    pub is_blocked: bool,
}

impl FactorSpec {
    /// Returns a factor that is not blocked.
    pub fn new(size: usize, kind: FactorKind) -> FactorSpec {
        FactorSpec { size, kind, is_blocked: false }
    }

    /// Returns a pass-through factor that is not blocked.
    pub fn pass_through(size: usize) -> FactorSpec {
        FactorSpec::new(size, FactorKind::PassThrough)
    }

    /// Returns a reduction factor that is not blocked.
    pub fn reduction(size: usize) -> FactorSpec {
        FactorSpec::new(size, FactorKind::Reduction)
    }

    /// Returns a factor that needs replication and is not blocked.
    pub fn need_replication(size: usize) -> FactorSpec {
        FactorSpec::new(size, FactorKind::NeedReplication)
    }

    /// Returns a permutation factor that is not blocked.
    pub fn permutation(size: usize) -> FactorSpec {
        FactorSpec::new(size, FactorKind::Permutation)
    }

    /// Returns the same specification with propagation blocked if `is_blocked` is true, and not blocked otherwise.
    pub fn blocked_if(self, is_blocked: bool) -> FactorSpec {
        FactorSpec { is_blocked, ..self }
    }
}

/// The factors of one dimension, major to minor. The list is never empty in a rule.
pub type DimFactors = SmallVec<[Factor; 2]>;

/// The factors of one tensor, dimension by dimension. Scalars, tokens and tensors that the rule leaves out have none.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mapping {
    pub dims: SmallVec<[DimFactors; 4]>,
}

impl Mapping {
    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Returns true if a dimension of the tensor has the factor.
    pub fn contains(&self, factor: Factor) -> bool {
        self.dims.iter().any(|dim| dim.contains(&factor))
    }

    /// Returns every factor of the tensor, in the order of its dimensions.
    pub fn factors(&self) -> impl Iterator<Item = Factor> + '_ {
        self.dims.iter().flatten().copied()
    }
}

/// The largest number of factors of a written rule. To try the layouts of an op takes a recursion over its factors.
const MAX_FACTORS: usize = 4096;

/// An op as an einsum over factors.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rule {
    pub factors: Vec<FactorSpec>,
    pub operands: Vec<Mapping>,
    pub results: Vec<Mapping>,
    /// True if the rule's text ends in `custom`, which marks rules that a user wrote. False for rules that ops make.
    pub is_custom: bool,
}

impl Rule {
    /// Returns the rule of an op with one operand and one result of the same shape, in which each dimension is a
    /// pass-through factor of its own.
    pub fn identity(shape: &[usize]) -> Rule {
        Rule::pointwise(shape, 1, 1)
    }

    /// Returns the rule of an op whose operands and results all have the same shape, in which each dimension is a
    /// pass-through factor of its own.
    pub fn pointwise(shape: &[usize], operand_count: usize, result_count: usize) -> Rule {
        let dims = (0..shape.len()).map(|i| DimFactors::from_elem(Factor::new(i), 1)).collect();
        let mapping = Mapping { dims };
        Rule {
            factors: shape.iter().map(|&n| FactorSpec::pass_through(n)).collect(),
            operands: vec![mapping.clone(); operand_count],
            results: vec![mapping; result_count],
            is_custom: false,
        }
    }

    /// Returns the size and kind of a factor.
    pub fn spec(&self, factor: Factor) -> &FactorSpec {
        &self.factors[factor.index()]
    }

    /// Returns the size of a factor.
    pub fn size(&self, factor: Factor) -> usize {
        self.spec(factor).size
    }

    /// Returns the kind of a factor.
    pub fn kind(&self, factor: Factor) -> FactorKind {
        self.spec(factor).kind
    }

    /// Returns every factor, in order.
    pub fn all_factors(&self) -> impl Iterator<Item = Factor> + use<> {
        (0..self.factors.len()).map(Factor::new)
    }

    /// Returns the other factors of the operands that have `factor`, in order.
    pub fn factors_beside(&self, factor: Factor) -> impl Iterator<Item = Factor> + '_ {
        let is_beside = move |other: Factor| self.operands.iter().any(|m| m.contains(factor) && m.contains(other));
        self.all_factors().filter(move |&other| other != factor && is_beside(other))
    }

    /// Returns the mappings of the operands, then of the results.
    pub fn mappings(&self) -> impl Iterator<Item = &Mapping> {
        self.operands.iter().chain(&self.results)
    }

    /// Returns the number of operands and results.
    pub fn tensor_count(&self) -> usize {
        self.operands.len() + self.results.len()
    }

    /// Returns the mapping of tensor `index` (operands, then results).
    pub fn mapping(&self, index: usize) -> &Mapping {
        match index.checked_sub(self.operands.len()) {
            None => &self.operands[index],
            Some(i) => &self.results[i],
        }
    }

    /// Returns the reason why the rule does not fit an op with tensors of these shapes, or `None` if it does. There
    /// must be at most 4096 factors and a mapping for each tensor, of its rank, and the sizes of the factors of a
    /// dimension must multiply to the dimension's size.
    pub fn misfit(&self, operands: &[&[usize]], results: &[&[usize]]) -> Option<String> {
        let count = self.all_factors().count();
        if count > MAX_FACTORS {
            return Some(format!("it has {count} factors, more than {MAX_FACTORS}"));
        }
        let sides = [("operand", &self.operands, operands), ("result", &self.results, results)];
        for (what, mappings, shapes) in sides {
            if mappings.len() != shapes.len() {
                return Some(format!("it has {}, the op has {}", counted(mappings.len(), what), shapes.len()));
            }
            for (i, (mapping, shape)) in mappings.iter().zip(shapes).enumerate() {
                if mapping.rank() != shape.len() {
                    let (found, rank) = (counted(mapping.rank(), "dimension"), shape.len());
                    return Some(format!("{what} {i} has {found} in it and {rank} in the op"));
                }
                for (d, (factors, &size)) in mapping.dims.iter().zip(*shape).enumerate() {
                    let product = factors.iter().try_fold(1usize, |n, &f| n.checked_mul(self.size(f)));
                    if product != Some(size) {
                        return Some(format!(
                            "dimension {d} of {what} {i} has size {size}, and its factors multiply to another size"
                        ));
                    }
                }
            }
        }
        None
    }

    /// Returns true if an op that is split along the factor runs on each shard separately.
    pub fn is_pass_through(&self, factor: Factor) -> bool {
        self.kind(factor) == FactorKind::PassThrough
    }

    /// Returns true if the op does the same separately for each index of the factor: the factor passes through, and
    /// every tensor that is not a scalar has it.
    pub fn is_batching(&self, factor: Factor) -> bool {
        self.is_pass_through(factor) && self.mappings().all(|m| m.rank() == 0 || m.contains(factor))
    }

    /// Returns true if some dimension consists of more than one factor, as in reshapes.
    pub fn has_compound_dims(&self) -> bool {
        self.mappings().any(|m| m.dims.iter().any(|d| d.len() > 1))
    }

    fn factors_where(&self, test: impl Fn(&FactorSpec) -> bool) -> impl Iterator<Item = Factor> {
        self.all_factors().filter(move |&f| test(self.spec(f)))
    }
}

/// Prints `([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_mappings(f, &self.operands)?;
        f.write_str("->")?;
        write_mappings(f, &self.results)?;
        if !self.factors.is_empty() {
            f.write_str(" {")?;
            write_list(f, self.all_factors(), |f, i| write!(f, "{i}={}", self.size(i)))?;
            f.write_str("}")?;
        }
        let kinds = [
            ("reduction", FactorKind::Reduction),
            ("need_replication", FactorKind::NeedReplication),
            ("permutation", FactorKind::Permutation),
        ];
        for (word, kind) in kinds {
            write_set(f, word, self.factors_where(|s| s.kind == kind))?;
        }
        write_set(f, "blocked_propagation", self.factors_where(|s| s.is_blocked))?;
        if self.is_custom { f.write_str(", custom") } else { Ok(()) }
    }
}

fn write_mappings(f: &mut fmt::Formatter<'_>, mappings: &[Mapping]) -> fmt::Result {
    f.write_str("(")?;
    write_list(f, mappings, |f, mapping| {
        f.write_str("[")?;
        write_list(f, &mapping.dims, |f, dim| dim.iter().try_for_each(|factor| write!(f, "{factor}")))?;
        f.write_str("]")
    })?;
    f.write_str(")")
}

fn write_set(f: &mut fmt::Formatter<'_>, word: &str, factors: impl Iterator<Item = Factor>) -> fmt::Result {
    let mut factors = factors.peekable();
    if factors.peek().is_none() {
        return Ok(());
    }
    write!(f, " {word}={{")?;
    write_list(f, factors, |f, factor| write!(f, "{factor}"))?;
    f.write_str("}")
}

fn write_list<T>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    Ok(())
}
