//! Ops whose results have no elements. Nothing is computed, however many rows without elements an array has.

use crate::kernels::context::PlanCx;
use crate::memory::OutOfMemory;
use crate::plan::{Kernel, KernelCx, Step, StepKind};
use shardwise_ir::OpView;
use shardwise_ops::{Opcode, Semantics};

struct Empty {
    results: usize,
}

/// Returns true if the op is pure, has results, and all of them are arrays without elements.
pub fn is_empty(view: &OpView<'_>) -> bool {
    let mut types = view.results().iter().map(|&v| view.body.ty(v).as_tensor());
    !view.results().is_empty()
        && types.all(|ty| ty.is_some_and(|t| t.size() == 0))
        && Opcode::of_view(view).facts().semantics(view) == Semantics::Pure
}

/// Returns the step of an op whose results have no elements. It reads nothing.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Step {
    let kernel = Empty { results: view.results().len() };
    let outputs = view.results().iter().map(|&v| plan.slot(v)).collect();
    let points = plan.result_points(view);
    plan.step_with(view, StepKind::Kernel(Box::new(kernel)), vec![], outputs, points)
}

impl Kernel for Empty {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        for result in 0..self.results {
            let buffers = cx.allocate(0)?;
            cx.set(result, buffers);
        }
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        self.run(cx)
    }
}

#[cfg(test)]
mod tests {
    use crate::HostEngine;
    use crate::kernels::testing::parse;
    use shardwise_base::{DType, Literal};
    use shardwise_engine::{Argument, Engine, ShardedType, Signature};

    /// Runs a function whose arguments have no elements, and returns its result, the value `%0`. `N` stands for 2^40.
    /// The ops in `lines` take hours if they go through all rows of an array.
    fn run(arguments: &str, lines: &str, result: &str) -> Literal {
        let source = format!("func.func @main({arguments}) -> {result} {{\n  {lines}\n  return %0 : {result}\n}}");
        let module = parse(&source.replace('N', "1099511627776"));
        let engine = HostEngine::default();
        let types = Signature::of(module.main().expect("it has a main function")).expect("arrays only").inputs;
        let put = |ty: &ShardedType| {
            let x = Literal::zeros(DType::F32, ty.ty.shape.clone());
            Argument::Lent(engine.put(&x, ty).expect("it fits"))
        };
        let program = engine.compile(&module).unwrap_or_else(|e| panic!("{e}\n{source}"));
        let results = program.execute(types.iter().map(put).collect()).expect("it runs");
        results[0].to_literal()
    }

    fn check(arguments: &str, lines: &str, result: &str) {
        assert_eq!(run(arguments, lines, result).size(), 0);
    }

    #[test]
    fn rows_without_elements_take_no_time() {
        let (x, y) = ("tensor<Nx0xf32>", "tensor<0xNxf32>");
        let check = |lines: &str, result: &str| check(&format!("%x: {x}, %y: {y}"), lines, result);
        check(&format!("%0 = stablehlo.iota dim = 0 : {x}"), x);
        check(
            &format!("%t = stablehlo.transpose %y, dims = [1, 0] : ({y}) -> {x}\n  %0 = stablehlo.add %x, %t : {x}"),
            x,
        );
        check(&format!("%0 = stablehlo.reverse %x, dims = [0] : {x}"), x);
        check(&format!("%0 = stablehlo.concatenate %x, %x, dim = 1 : ({x}, {x}) -> {x}"), x);
        check(
            &format!(
                "%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [1], contracting_dims = [] x [] : ({x}, {y}) \
                 -> tensor<Nx0x0xf32>"
            ),
            "tensor<Nx0x0xf32>",
        );
        let region = |op: &str| {
            format!(
                "({{ ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    {op}\n    stablehlo.return %r : tensor<{}>\n  }})",
                if op.contains("compare") { "i1" } else { "f32" }
            )
        };
        let less = region("%r = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>");
        check(&format!("%0 = \"stablehlo.sort\"(%x) <{{dimension = 1 : i64}}> {less} : ({x}) -> {x}"), x);
        let minus = region("%r = stablehlo.subtract %a, %b : tensor<f32>");
        check(
            &format!(
                "%i = stablehlo.constant dense<0.0> : tensor<f32>\n  %0 = \"stablehlo.reduce\"(%x, %i) \
                 <{{dimensions = array<i64: 0>}}> {minus} : ({x}, tensor<f32>) -> tensor<0xf32>"
            ),
            "tensor<0xf32>",
        );
    }

    #[test]
    fn convolutions_of_nothing_take_no_time() {
        check(
            "%x: tensor<0xNx1xf32>",
            "%k = stablehlo.constant dense<1.0> : tensor<2x1x3xf32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} \
             {batch_group_count = 1 : i64, feature_group_count = 1 : i64} \
             : (tensor<0xNx1xf32>, tensor<2x1x3xf32>) -> tensor<0x1099511627775x3xf32>",
            "tensor<0x1099511627775x3xf32>",
        );
    }

    #[test]
    fn top_k_of_nothing_takes_no_time() {
        let (x, i) = ("tensor<Nx0xf32>", "tensor<Nx0xi32>");
        check(&format!("%x: {x}"), &format!("%0, %1 = chlo.top_k(%x, k = 0) : {x} -> ({x}, {i})"), x);
    }

    #[test]
    fn reductions_of_rows_without_elements_return_the_initial_value() {
        let regions = [
            "{ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }",
            "{ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.subtract %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }",
        ];
        for region in regions {
            for (from, dims) in [("3xNx0", "1, 2"), ("Nx0x3", "0, 1"), ("0xNx3", "0, 1"), ("3x0xN", "1, 2")] {
                let lines = format!(
                    "%i = stablehlo.constant dense<2.5> : tensor<f32>
  %0 = \"stablehlo.reduce\"(%x, %i) <{{dimensions = array<i64: {dims}>}}> ({region}) \
                     : (tensor<{from}xf32>, tensor<f32>) -> tensor<3xf32>"
                );
                let result = run(&format!("%x: tensor<{from}xf32>"), &lines, "tensor<3xf32>");
                assert_eq!(result, Literal::new([3], &[2.5f32; 3]), "{from} {dims}");
            }
        }
    }
}
