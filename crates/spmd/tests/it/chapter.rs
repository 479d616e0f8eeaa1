//! The first example of the chapter: a contraction over a sharded dimension, and what is said of its one all-reduce.

use expect_test::{Expect, expect};
use shardwise_base::{AxisRef, DType, Loc, Mesh, Sharding};
use shardwise_ir::{Attrs, Builder, Func, Module, Type};
use shardwise_ops::dot::DotDims;
use shardwise_ops::{OPS, make};
use shardwise_spmd::{Options, Partitioned, hlo, partition};
use std::sync::Arc;

/// Returns the program `einsum("bd,df->bf", in * in, w)` on a mesh 4x2, with these axes for the dimensions of `in`, `w`
/// and the result. An empty name stands for no axis.
fn contraction(specs: [[&str; 2]; 3]) -> Module {
    let mesh = Arc::new(Mesh::new("mesh", [("X", 4), ("Y", 2)]).unwrap());
    let axis = |name: &&str| mesh.axis(name).map(AxisRef::full).into_iter().collect();
    let [x, w, out] = specs.map(|spec| Sharding::closed(&mesh, spec.iter().map(axis).collect()));
    let mut func = Func::new("main", Loc::UNKNOWN);
    let mut b = Builder::new(&mut func.body);
    let args = [b.arg(Type::tensor(DType::BF16, [8, 2048])), b.arg(Type::tensor(DType::BF16, [2048, 8192]))];
    b.set_sharding(args[0], Some(x));
    b.set_sharding(args[1], Some(w));
    b.loc = Loc::file("matmul.rs", 7, 13);
    let square = make::multiply(&mut b, args[0], args[0]);
    b.loc = Loc::file("matmul.rs", 8, 5);
    let dims = DotDims { lhs_batch: vec![], rhs_batch: vec![], lhs_contract: vec![1], rhs_contract: vec![0] };
    let result = make::dot_general(&mut b, square, args[1], &dims, DType::BF16);
    b.ret([result]);
    func.result_types = vec![func.body.ty(result).clone()];
    func.result_shardings = vec![Some(out)];
    func.result_attrs = vec![Attrs::new()];
    func.arg_attrs = vec![Attrs::new(); 2];
    let mut module = Module::new("jit_matmul_square", &OPS);
    module.meshes.push(mesh);
    module.funcs.push(func);
    module
}

fn partitioned(specs: [[&str; 2]; 3]) -> Partitioned {
    partition(&contraction(specs), &mut Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn check(actual: String, expected: Expect) {
    expected.assert_eq(&actual);
}

const CHAPTER: [[&str; 2]; 3] = [["X", "Y"], ["Y", ""], ["X", ""]];

#[test]
fn partial_sums_are_added_by_one_all_reduce() {
    check(
        hlo::print(&partitioned(CHAPTER).module),
        expect![[r#"
            HloModule jit_matmul_square, num_partitions=8

            ENTRY main {
              %param.0 = bf16[2,1024]{1,0} parameter(0), sharding={devices=[4,2]<=[8]}
              %param.1 = bf16[1024,8192]{1,0} parameter(1), sharding={devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}
              %multiply.2 = bf16[2,1024]{1,0} multiply(%param.0, %param.0)
              %dot.3 = bf16[2,8192]{1,0} dot(%multiply.2, %param.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
              ROOT %all-reduce.4 = bf16[2,8192]{1,0} all-reduce(%dot.3), axes={Y}, to_apply=add
            }
        "#]],
    );
}

#[test]
fn the_all_reduce_explains_itself() {
    check(
        partitioned(CHAPTER).communication.to_string(),
        expect![[r#"
            kind        axes  local type    received  over the mesh  times  for
            all-reduce  Y     bf16[2,8192]  32 KiB    256 KiB        1      dot_general at matmul.rs:8:5
              why: `dot_general` reduces factor k, which is split over {"Y"}: partial results are combined
              instead of: i whole, j over {"X"}, k over {"Y"}, 68 KiB
              least: 32 KiB to combine these values
            in all: 32 KiB received by the worst device, 256 KiB over the mesh
            least for these moves: 32 KiB
        "#]],
    );
}

#[test]
fn a_result_split_over_the_contracted_axis_is_scattered() {
    check(
        partitioned([["X", "Y"], ["Y", ""], ["X", "Y"]]).communication.to_string(),
        expect![[r#"
            kind            axes  local type                    received  over the mesh  times  for
            reduce-scatter  Y     bf16[2,8192] -> bf16[2,4096]  16 KiB    128 KiB        1      dot_general at matmul.rs:8:5
              why: `dot_general` reduces factor k, which is split over {"Y"}: partial results are combined; each device sums only its part: result 0 of `dot_general` is computed as [{"X"}, {}] and wanted as [{"X"}, {"Y"}]; it is result 0 of the function
              instead of: i whole, j over {"X"}, k over {"Y"}, 60 KiB
              least: 16 KiB to combine these values
            in all: 16 KiB received by the worst device, 128 KiB over the mesh
            least for these moves: 16 KiB
        "#]],
    );
}

#[test]
fn an_operand_that_disagrees_is_gathered() {
    check(
        partitioned([["X", "Y"], ["", "Y"], ["X", "Y"]]).communication.to_string(),
        expect![[r#"
            kind        axes  local type                    received  over the mesh  times  for
            all-gather  Y     bf16[2,1024] -> bf16[2,2048]  4 KiB     32 KiB         1      dot_general at matmul.rs:8:5
              why: `dot_general` runs with factor k whole, as operand 1 [{}, {"Y"}] has it, and operand 0 is [{"X"}, {"Y"}]
              instead of: i whole, j over {"Y"}, k over {"X"}, 56 KiB
              least: 4 KiB from [{"X"}, {"Y"}] to [{"X"}, {}]
            in all: 4 KiB received by the worst device, 32 KiB over the mesh
            least for these moves: 4 KiB
        "#]],
    );
}
