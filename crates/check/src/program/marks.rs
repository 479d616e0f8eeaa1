//! Shardy's ops that state how values are split, and ops that few programs have.

use super::Maker;
use super::reduce::sizes;
use super::scope::{Grade, Live, Scope};
use crate::single::Fill;
use shardwise_base::DType;
use shardwise_ir::{TensorType, Type};
use shardwise_ops::{OPS, Opcode};

impl Maker {
    /// Writes one or more ops about layouts, most of them Shardy's, or an optimization barrier, on a value. Sometimes
    /// writes nothing. Inside manual computations, functions and named computations, writes only a barrier or a data
    /// flow edge.
    pub(super) fn mark(&mut self, scope: &mut Scope) {
        let x = self.choose.of(&scope.live).clone();
        let ty = x.ty.clone();
        if scope.place.in_manual || scope.place.in_function {
            return self.barrier(scope, &x);
        }
        match self.choose.below(8) {
            0 | 1 => {
                let Some(sharding) = self.maybe_sharding(&ty.shape, &[]) else { return };
                let op = *self.choose.of(&["sdy.sharding_constraint", "sdy.reshard"]);
                self.features.insert("constraints");
                self.plain(scope, &format!("{op} {} {sharding} : {ty}", x.name), ty, x.grade);
            }
            2 => self.barrier(scope, &x),
            3 if !scope.place.in_branch && !scope.place.in_loop => {
                // Members of a group have the same shape.
                let id = ty.shape.iter().fold(ty.shape.len() + 1, |id, n| id * 100 + n) * 10 + self.choose.below(3);
                scope.line(format!("sdy.sharding_group {} group_id={id} : {ty}", x.name));
            }
            _ => self.steps(scope, &x),
        }
    }

    fn barrier(&mut self, scope: &mut Scope, x: &Live) {
        let op = match self.choose.below(6) {
            0 => format!("stablehlo.optimization_barrier {} : {}", x.name, x.ty),
            1 => format!("sdy.data_flow_edge {} : {}", x.name, x.ty),
            2 => format!("sdy.func_data_flow_edge {} : {}", x.name, x.ty),
            n => {
                let direction = ["NONE", "FORWARD", "BACKWARD"][n - 3];
                format!("sdy.propagation_barrier {} allowed_direction={direction} : {}", x.name, x.ty)
            }
        };
        self.plain(scope, &op, x.ty.clone(), x.grade);
    }

    pub(super) fn rare(&mut self, scope: &mut Scope) {
        match self.choose.below(15) {
            0 => self.tokens(scope),
            1 => self.tuple(scope),
            2 => self.quantized(scope),
            3 => self.random(scope),
            4 => self.dot(scope),
            5..=7 => self.expectation(scope),
            8 => self.example(scope),
            9 | 10 => self.custom_call(scope),
            11 => self.join(scope),
            12 => self.resize(scope),
            13 => {
                self.sums_over_parts(scope);
            }
            _ => self.alike(scope),
        }
    }

    fn tokens(&mut self, scope: &mut Scope) {
        let [first, second] = [self.name(), self.name()];
        scope.line(format!("{first} = stablehlo.create_token : !stablehlo.token"));
        scope.line(format!("{second} = stablehlo.after_all {first}, {first} : !stablehlo.token"));
    }

    fn tuple(&mut self, scope: &mut Scope) {
        let [x, y] = [self.choose.of(&scope.live).clone(), self.choose.of(&scope.live).clone()];
        let tuple = self.name();
        let ty = format!("tuple<{}, {}>", x.ty, y.ty);
        scope.line(format!("{tuple} = stablehlo.tuple {}, {} : {ty}", x.name, y.name));
        let (i, of) = if self.choose.one_in(2) { (0, &x) } else { (1, &y) };
        let op = format!("stablehlo.get_tuple_element {tuple}[{i}] : ({ty}) -> {}", of.ty);
        self.plain(scope, &op, of.ty.clone(), of.grade);
    }

    fn quantized(&mut self, scope: &mut Scope) {
        let shape = self.any_type().shape.clone();
        let x = self.summable(scope, &TensorType::new(DType::F32, shape));
        let dims: String = x.ty.shape.iter().map(|n| format!("{n}x")).collect();
        let ty = format!("tensor<{dims}!quant.uniform<i8:f32, 0.5:-20>>");
        let integers = self.name();
        scope.line(format!("{integers} = stablehlo.uniform_quantize {} : ({}) -> {ty}", x.name, x.ty));
        let op = format!("stablehlo.uniform_dequantize {integers} : ({ty}) -> {}", x.ty);
        self.plain(scope, &op, x.ty, Grade::Wild);
    }

    fn random(&mut self, scope: &mut Scope) {
        let shape = self.any_type().shape.clone();
        let scalar = TensorType::new(DType::F32, []);
        let [low, high] = [0, 1].map(|n| self.number(scope, DType::F32, n));
        let sizes: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
        let list = TensorType::new(DType::I64, [shape.len()]);
        let sizes = self.provide(scope, &list, &Fill::Exact(sizes)).name;
        let to = TensorType::new(DType::F32, shape);
        let op = format!(
            "stablehlo.rng {low}, {high}, {sizes}, distribution = UNIFORM : ({scalar}, {scalar}, {list}) -> {to}"
        );
        self.plain(scope, &op, to, Grade::Wild);
    }

    fn dot(&mut self, scope: &mut Scope) {
        let [m, k, n] = [(); 3].map(|()| *self.choose.of(&[0, 1, 2, 3, 5, 8]));
        let dtype = *self.choose.of(&[DType::F32, DType::I32, DType::F64]);
        let x = self.summable(scope, &TensorType::new(dtype, [m, k]));
        let y = self.summable(scope, &TensorType::new(dtype, [k, n]));
        let to = TensorType::new(dtype, [m, n]);
        let op = format!("stablehlo.dot {}, {} : ({}, {}) -> {to}", x.name, y.name, x.ty, y.ty);
        self.plain(scope, &op, to, Grade::Wild);
    }

    /// Adds the op table's example of one of three ops as a function, and writes a call of it. Does nothing in regions
    /// and in other functions than `@main`.
    fn example(&mut self, scope: &mut Scope) {
        if !scope.place.is_main {
            return;
        }
        let op = *self.choose.of(&[Opcode::RaggedDot, Opcode::Scan, Opcode::ChloConstant]);
        let text = op.facts().example(op);
        let Ok(module) = shardwise_ir::text::parse("example", text, &OPS) else { return };
        let Some(main) = module.main() else { return };
        let tensors =
            |types: Vec<&Type>| types.into_iter().map(|ty| ty.as_tensor().cloned()).collect::<Option<Vec<_>>>();
        let arguments = tensors(main.body.args().iter().map(|&v| main.body.ty(v)).collect());
        let (Some(from), Some(to)) = (arguments, tensors(main.result_types.iter().collect())) else { return };
        let name = format!("@e{}", self.functions.len() + self.examples.len());
        let own = text
            .replace("func.func public @main", "func.func @main")
            .replace("func.func @main", &format!("func.func private {name}"));
        self.examples.push(own);
        let names: Vec<String> = from.iter().map(|ty| self.provide(scope, ty, &Fill::Ints(0, 1)).name).collect();
        self.op(scope, "func.call", &names, &format!("callee = {name}"), &[], &from, &to, Grade::Wild);
    }

    /// Writes a call of a target that returns its operand.
    fn custom_call(&mut self, scope: &mut Scope) {
        let x = self.choose.of(&scope.live).clone();
        let target = *self.choose.of(&["annotate_device_placement", "LayoutConstraint", "MoveToHost", "MoveToDevice"]);
        let op = format!("stablehlo.custom_call @{target}({0}) : ({1}) -> {1}", x.name, x.ty);
        self.plain(scope, &op, x.ty, x.grade);
    }

    /// Writes a `shardwise.join` of parts of one or two values along a dimension, often with a stride. Writes nothing
    /// for a scalar, or if the dimension is empty.
    fn join(&mut self, scope: &mut Scope) {
        let x = self.choose.of(&scope.live).clone();
        if x.ty.rank() == 0 {
            return;
        }
        let dim = self.choose.below(x.ty.rank());
        if x.ty.shape[dim] == 0 {
            return;
        }
        let y = if self.choose.one_in(2) { x.clone() } else { self.of_type(scope, &x.ty) };
        let mut to = x.ty.clone();
        to.shape[dim] = 0;
        let stride = (1 + self.choose.below(3)).min(x.ty.shape[dim]);
        let mut parts = vec![];
        for i in 0..2 + self.choose.below(4) {
            // Each operand has a part that is not empty.
            let (operand, least) = if i < 2 { (i, 1) } else { (self.choose.below(2), 0) };
            let start = self.choose.below(x.ty.shape[dim]);
            let most = (x.ty.shape[dim] - start).div_ceil(stride);
            let size = least + self.choose.below(most + 1 - least);
            parts.extend([operand, start, size]);
            to.shape[dim] += size;
        }
        let attrs = format!("dimension = {dim} : i64, parts = {}, stride = {stride} : i64", sizes(&parts));
        let (names, types) = ([x.name, y.name], [x.ty.clone(), x.ty]);
        self.op(scope, "shardwise.join", &names, &attrs, &[], &types, &[to], x.grade.join(y.grade));
    }

    /// Writes a `shardwise.resize` that makes each dimension of a value at most 2 elements shorter or longer. Added
    /// elements are 0.
    fn resize(&mut self, scope: &mut Scope) {
        let x = self.choose.of(&scope.live).clone();
        let shape: Vec<usize> = x.ty.shape.iter().map(|&n| (n + self.choose.below(5)).saturating_sub(2)).collect();
        let to = TensorType::new(x.ty.dtype, shape.clone());
        let attrs = format!("sizes = {}", sizes(&shape));
        let grade = x.grade.join(Grade::Integers(0, 0));
        self.op(scope, "shardwise.resize", &[x.name], &attrs, &[], &[x.ty], &[to], grade);
    }

    fn alike(&mut self, scope: &mut Scope) {
        let x = self.choose.of(&scope.live).clone();
        let y = self.choose.of(&scope.live).clone();
        let names = [x.name, y.name];
        let types = [x.ty, y.ty];
        self.op(scope, "stablehlo.optimization_barrier", &names, "", &[], &types, &types, x.grade.join(y.grade));
    }
}
