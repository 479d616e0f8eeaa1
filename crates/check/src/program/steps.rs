//! Statements of a single op.

use super::Maker;
use super::scope::{Grade, Live, Scope};
use crate::single::{self, Draft, Fill};
use shardwise_base::{DType, DTypeKind};
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;

/// In regions of this nesting depth or more, [`Maker::statement`] writes no loops, branches and manual computations.
const MAX_DEPTH: usize = 3;

impl Maker {
    pub(super) fn statement(&mut self, scope: &mut Scope) {
        let may_nest = scope.place.depth < MAX_DEPTH;
        if self.moves && !scope.place.in_manual && !scope.place.in_function && self.choose.one_in(3) {
            return self.along_dimension(scope);
        }
        match self.choose.below(24) {
            0..=9 => self.op_of_table(scope),
            10 | 11 => self.chained(scope),
            12 | 13 => self.reduction(scope),
            14 | 15 if may_nest => self.loop_or_branch(scope),
            16 | 17 if may_nest && !scope.place.in_manual && !scope.place.in_function => self.manual(scope),
            18 | 19 => self.call(scope),
            20 => self.mark(scope),
            21 => self.rare(scope),
            _ => self.op_of_table(scope),
        }
    }

    pub(super) fn any_argument(&mut self, scope: &mut Scope) {
        let ty = self.any_type();
        self.argument(scope, ty);
    }

    pub(super) fn any_type(&mut self) -> TensorType {
        let rank = self.choose.below(4);
        let shape: Vec<usize> = (0..rank).map(|_| *self.choose.of(&[0, 1, 2, 3, 4, 5, 7, 8, 8, 6])).collect();
        let dtype = if self.choose.one_in(2) { *self.choose.of(DType::ALL) } else { *self.choose.of(COMMON) };
        TensorType::new(dtype, shape)
    }

    pub(super) fn note_type(&mut self, ty: &TensorType) {
        for &n in &ty.shape {
            match n {
                0 => self.features.insert("size 0"),
                1 => self.features.insert("size 1"),
                3 | 5 | 7 => self.features.insert("odd primes"),
                _ => false,
            };
        }
        self.features.insert(ty.dtype.name());
    }

    /// Writes an op of the table of single ops. Its operands are existing values or made for it. Writes nothing if the
    /// op sums elements and its sums might not be exact.
    fn op_of_table(&mut self, scope: &mut Scope) {
        let draft = single::draft(&mut self.choose);
        if is_summed(draft.op) && !sums_exactly(&draft) {
            return;
        }
        let operands: Vec<Live> = (0..draft.operands.len()).map(|i| self.operand(scope, &draft, i)).collect();
        let grade = result_grade(draft.op, &operands);
        let names: Vec<String> = operands.iter().map(|o| o.name.clone()).collect();
        self.op(
            scope,
            draft.op.name(),
            &names,
            &draft.attrs,
            &draft.regions,
            &draft.operand_types(),
            &draft.results,
            grade,
        );
    }

    fn operand(&mut self, scope: &mut Scope, draft: &Draft, i: usize) -> Live {
        let (ty, fill) = &draft.operands[i];
        // The bits of a NaN are unspecified.
        let shows_bits = matches!(draft.op, Opcode::BitcastConvert | Opcode::Compare) && ty.dtype.is_float();
        let is_narrow = matches!(ty.dtype, DType::BF16 | DType::F16);
        let fill = match fill {
            Fill::Any if shows_bits => &Fill::Small,
            Fill::Small if is_narrow && is_summed(draft.op) => &Fill::Ints(0, 1),
            fill => fill,
        };
        self.provide(scope, ty, fill)
    }

    /// Writes an op in the generic form, sometimes with shardings of its results, and returns its results. `from` and
    /// `to` have the types of the operands and results. `grade` holds for every result.
    #[expect(clippy::too_many_arguments, reason = "these are the parts of an op")]
    pub(super) fn op(
        &mut self,
        scope: &mut Scope,
        op: &str,
        operands: &[String],
        attrs: &str,
        regions: &[String],
        from: &[TensorType],
        to: &[TensorType],
        grade: Grade,
    ) -> Vec<Live> {
        let name = self.name();
        if operands.len() > 1 && operands.iter().enumerate().any(|(i, o)| operands[..i].contains(o)) {
            self.features.insert("duplicate operands");
        }
        let list = |types: &[TensorType]| types.iter().map(TensorType::to_string).collect::<Vec<_>>().join(", ");
        let many = if to.len() == 1 { String::new() } else { format!(":{}", to.len()) };
        let attrs = if attrs.is_empty() { String::new() } else { format!(" <{{{attrs}}}>") };
        let inside = if regions.is_empty() { String::new() } else { format!(" ({})", regions.join(", ")) };
        let shardings = self.result_shardings(scope, to);
        let result = if to.is_empty() { String::new() } else { format!("{name}{many} = ") };
        scope.line(format!(
            "{result}\"{op}\"({}){attrs}{inside}{shardings} : ({}) -> ({})",
            operands.join(", "),
            list(from),
            list(to)
        ));
        let result_name = |i: usize| if to.len() == 1 { name.clone() } else { format!("{name}#{i}") };
        to.iter().for_each(|ty| self.note_type(ty));
        to.iter().enumerate().map(|(i, ty)| scope.push(&result_name(i), ty.clone(), grade)).collect()
    }

    fn result_shardings(&mut self, scope: &Scope, to: &[TensorType]) -> String {
        if scope.place.in_function || to.is_empty() || !self.choose.one_in(4) {
            return String::new();
        }
        let taken = scope.manual_axes.clone();
        let shardings: Option<Vec<String>> = to.iter().map(|ty| self.maybe_sharding(&ty.shape, &taken)).collect();
        match shardings {
            Some(list) => format!(" {{sdy.sharding = #sdy.sharding_per_value<[{}]>}}", list.join(", ")),
            None => String::new(),
        }
    }

    /// Writes an elementwise op on two existing values of one type, or on one value twice. Writes nothing for floats
    /// without arithmetic.
    fn chained(&mut self, scope: &mut Scope) {
        let x = self.choose.of(&scope.live).clone();
        let same: Vec<Live> = scope.live.iter().filter(|l| l.ty == x.ty).cloned().collect();
        let y = self.choose.of(&same).clone();
        let ops: &[Opcode] = match x.ty.dtype.kind() {
            DTypeKind::Bool => &[Opcode::And, Opcode::Or, Opcode::Xor],
            DTypeKind::Complex => &[Opcode::Add, Opcode::Subtract, Opcode::Multiply],
            _ => &[Opcode::Add, Opcode::Subtract, Opcode::Multiply, Opcode::Maximum, Opcode::Minimum],
        };
        let op = *self.choose.of(ops);
        if !x.ty.dtype.is_computed() && x.ty.dtype.is_float() {
            return;
        }
        let grade = result_grade(op, &[x.clone(), y.clone()]);
        let names = [x.name, y.name];
        self.op(scope, op.name(), &names, "", &[], &[x.ty.clone(), x.ty.clone()], std::slice::from_ref(&x.ty), grade);
    }
}

/// Element types that most programs use.
const COMMON: &[DType] = &[DType::F32, DType::F32, DType::I32, DType::BF16, DType::F64, DType::I8, DType::I1];

impl Draft {
    fn operand_types(&self) -> Vec<TensorType> {
        self.operands.iter().map(|(ty, _)| ty.clone()).collect()
    }
}

/// Returns true for those ops of the table of single ops that sum their operands' elements in an order that depends on
/// the layout. The sums of a batch normalization are always taken on one device.
fn is_summed(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Reduce | ReduceWindow | SelectAndScatter | Scatter | DotGeneral | Convolution | DynamicConv)
}

/// Returns false if an operand of bf16 or f16 has so many elements that their sum may be rounded.
fn sums_exactly(draft: &Draft) -> bool {
    let is_narrow = |dtype| matches!(dtype, DType::BF16 | DType::F16);
    draft.operands.iter().all(|(ty, _)| !is_narrow(ty.dtype) || ty.size() <= 200)
}

fn result_grade(op: Opcode, operands: &[Live]) -> Grade {
    use Opcode::*;
    let of = |i: usize| operands.get(i).map_or(Grade::Wild, |o| o.grade);
    match op {
        BroadcastInDim | Reshape | Transpose | Slice | Reverse | DynamicSlice | Gather => of(0),
        Concatenate => operands.iter().map(|o| o.grade).reduce(Grade::join).unwrap_or(Grade::Wild),
        Pad | DynamicUpdateSlice | Maximum | Minimum => of(0).join(of(1)),
        Select => of(1).join(of(2)),
        Negate => match of(0) {
            Grade::Integers(a, b) if operands[0].ty.dtype.is_signed() || operands[0].ty.dtype.is_float() => {
                bounded(-b, -a)
            }
            _ => Grade::Wild,
        },
        Add => combined(of(0), of(1), |a, b| a + b),
        Multiply => combined(of(0), of(1), |a, b| a * b),
        _ => Grade::Wild,
    }
}

fn bounded(low: i64, high: i64) -> Grade {
    if low >= -64 && high <= 64 { Grade::Integers(low, high) } else { Grade::Wild }
}

fn combined(x: Grade, y: Grade, f: impl Fn(i64, i64) -> i64) -> Grade {
    let (Grade::Integers(a, b), Grade::Integers(c, d)) = (x, y) else { return Grade::Wild };
    let ends = [f(a, c), f(a, d), f(b, c), f(b, d)];
    let (low, high) = ends.iter().fold((i64::MAX, i64::MIN), |(low, high), &n| (low.min(n), high.max(n)));
    bounded(low, high)
}
