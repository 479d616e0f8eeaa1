//! Tests exchanges and products whose sizes the program computes.

use expect_test::{Expect, expect};
use shardwise::prelude::*;
use shardwise_base::Literal;
use shardwise_engine::{Argument, Engine, ShardedType};
use shardwise_interp::InterpEngine;

struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// Checks that the first result of the program has these elements in the reference interpreter, in global view and on a
/// grid of devices.
fn check_reference(text: &str, args: &[Literal], expected: &[i32]) {
    let module = shardwise_ir::text::parse("program", text, &shardwise_ops::OPS).unwrap();
    let meant = shardwise_interp::run(&module, args).unwrap();
    assert_eq!(meant[0].as_slice::<i32>(), expected);
    let local = shardwise_spmd::partition(&module, &mut Default::default()).unwrap().module;
    let program = InterpEngine.compile(&local).unwrap();
    let put = |(a, ty): (&Literal, &ShardedType)| Argument::Lent(InterpEngine.put(a, ty).unwrap());
    let args = args.iter().zip(&program.signature().inputs).map(put).collect();
    assert_eq!(program.execute(args).unwrap()[0].to_literal().as_slice::<i32>(), expected);
}

fn literal(x: &Array) -> Literal {
    Literal::new(x.shape().to_vec(), &x.to_vec::<i32>().unwrap())
}

const ROWS: usize = 6;
const PLACES: usize = 10;

/// Returns the number of rows that each of `n` members sends to each one, itself included. Each sends at most `ROWS` in
/// all, and receives at most `PLACES`.
fn draw_sizes(n: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut draw = Draw(seed);
    let mut sizes = vec![vec![0; n]; n];
    match seed {
        0 => {}
        1 => sizes.iter_mut().take(PLACES / ROWS).for_each(|s| s[n - 1] = ROWS),
        _ => {
            for _ in 0..3 * n {
                let (from, to) = (draw.below(n), draw.below(n));
                let sent: usize = sizes[from].iter().sum();
                let received: usize = sizes.iter().map(|s| s[to]).sum();
                if sent < ROWS && received < PLACES {
                    sizes[from][to] += 1;
                }
            }
        }
    }
    sizes
}

fn offsets(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    sizes.scan(0, |sum, n| Some(std::mem::replace(sum, *sum + n))).collect()
}

/// Returns rows `[devices * ROWS, 2]`, the four lists `[devices * n]` of an exchange in groups of `n`, and the results
/// `[devices * PLACES, 2]`, which are -1 where no row arrives.
fn exchange(groups: &[Vec<usize>], seed: u64) -> (Vec<i32>, [Vec<i32>; 4], Vec<i32>) {
    let devices: usize = groups.iter().map(Vec::len).sum();
    let n = groups[0].len();
    let rows: Vec<i32> = (0..(devices * ROWS * 2) as i32).collect();
    let mut lists = [(); 4].map(|()| vec![0; devices * n]);
    let mut out = vec![-1; devices * PLACES * 2];
    for (g, group) in groups.iter().enumerate() {
        let sizes = draw_sizes(n, seed.min(1).max(seed * (g as u64 + 1)));
        let places: Vec<Vec<usize>> = (0..n).map(|to| offsets(sizes.iter().map(|s| s[to]))).collect();
        for (i, &device) in group.iter().enumerate() {
            let starts = offsets(sizes[i].iter().copied());
            for (j, &target) in group.iter().enumerate() {
                let at = device * n + j;
                let entries = [starts[j], sizes[i][j], places[j][i], sizes[j][i]];
                lists.iter_mut().zip(entries).for_each(|(list, entry)| list[at] = entry as i32);
                for k in 0..sizes[i][j] {
                    let (from, to) = (device * ROWS + starts[j] + k, target * PLACES + places[j][i] + k);
                    out[2 * to..2 * to + 2].copy_from_slice(&rows[2 * from..2 * from + 2]);
                }
            }
        }
    }
    (rows, lists, out)
}

fn check_exchange(axes: &'static [&'static str], groups: &[Vec<usize>], seed: u64) {
    set_mesh(Mesh::auto([("X", 4), ("Y", 2)]).unwrap());
    let (rows, lists, expected) = exchange(groups, seed);
    let all = P!(("X", "Y"));
    let place = |a: Array| a.shard(all.clone());
    let rows = place(array(&rows).reshape([8 * ROWS, 2]));
    let [a, b, c, d] = lists.map(|list| place(array(&list)));
    let f = shard_map(move |rows: &Array, a: &Array, b: &Array, c: &Array, d: &Array| {
        let sizes = Ragged { input_offsets: a, send_sizes: b, output_offsets: c, recv_sizes: d };
        let out = ragged_all_to_all(rows, full([PLACES, 2], -1, I32), axes, sizes);
        assert_eq!(out.ty().to_string(), "i32[10,2]{V:(X,Y)}");
        out
    });
    let f = jit(f.in_specs(all.clone()).out_specs(all.clone()));
    let lowered = f.lower((&rows, &a, &b, &c, &d)).unwrap();
    let text = lowered.as_text();
    assert!(text.contains("@ragged_all_to_all"), "{text}");
    assert_eq!(f(&rows, &a, &b, &c, &d).unwrap().to_vec::<i32>().unwrap(), expected, "{axes:?} {seed}");
    check_reference(&text, &[&rows, &a, &b, &c, &d].map(literal), &expected);
}

#[test]
fn rows_are_exchanged_over_one_axis() {
    let groups = [vec![0, 2, 4, 6], vec![1, 3, 5, 7]];
    (0..8).for_each(|seed| check_exchange(&["X"], &groups, seed));
}

#[test]
fn rows_are_exchanged_over_axes_in_the_order_given() {
    (0..3).for_each(|seed| check_exchange(&["X", "Y"], &[(0..8).collect()], seed));
    (0..4).for_each(|seed| check_exchange(&["Y", "X"], &[vec![0, 2, 4, 6, 1, 3, 5, 7]], seed));
}

#[test]
fn a_program_from_jax_means_the_same() {
    let text = r#"module @jit_f attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4xi32>, %arg1: tensor<4xi32>, %arg2: tensor<4xi32>, %arg3: tensor<4xi32>, %arg4: tensor<4xi32>) -> tensor<6xi32> {
    %0 = sdy.manual_computation(%arg0, %arg1, %arg2, %arg3, %arg4) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<2xi32>, %a: tensor<2xi32>, %b: tensor<2xi32>, %c: tensor<2xi32>, %d: tensor<2xi32>) {
      %c0 = stablehlo.constant dense<0> : tensor<3xi32>
      %1 = stablehlo.custom_call @ragged_all_to_all(%x, %c0, %a, %b, %c, %d) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<2xi32>, tensor<3xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<3xi32>
      sdy.return %1 : tensor<3xi32>
    } : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<6xi32>
    return %0 : tensor<6xi32>
  }
}"#;
    // Device 0 sends its first element to itself and the second one to device 1. Device 1 sends both to device 0.
    let lists = [[7, 8, 9, 10], [0, 1, 0, 0], [1, 1, 2, 0], [0, 0, 1, 0], [1, 2, 1, 0]].map(|l| Literal::new([4], &l));
    check_reference(text, &lists, &[7, 9, 10, 8, 0, 0]);
    let program = Program::parse(text).unwrap().compile().unwrap();
    let args: Vec<Array> = lists.iter().map(|l| array(l.as_slice::<i32>())).collect();
    assert_eq!(program.call(&args).unwrap()[0].to_vec::<i32>().unwrap(), [7, 9, 10, 8, 0, 0]);
    assert!(program.communication().to_string().contains("ragged-all-to-all"), "{}", program.communication());
}

#[test]
fn the_table_says_that_bytes_are_bounds() {
    set_mesh(Mesh::auto([("X", 4)]).unwrap());
    let f = shard_map(|x: &Array, n: &Array| {
        let sizes = Ragged { input_offsets: n, send_sizes: n, output_offsets: n, recv_sizes: n };
        ragged_all_to_all(x, zeros([5], F32), "X", sizes)
    });
    let f = jit(f.in_specs((P!("X"), P!())).out_specs(P!("X")));
    let table = f.lower((&ones([8], F32), &zeros([4], I32))).unwrap().communication().unwrap();
    table.assert_only(["ragged-all-to-all X"]);
    assert_eq!(table.bytes_received(), 5 * 4);
    assert!(table.to_string().contains("at most 20 B"), "{table}");
}

/// Checks the mistakes of an exchange over X=4 of rows `i32[2,3]`, with `here` in place of each location.
fn check_mistake(f: impl Fn(&Array, &Array) -> Array + Send + Sync, lists: [i32; 16], expected: Expect) {
    set_mesh(Mesh::auto([("X", 4)]).unwrap());
    let map = shard_map(move |x: &Array, n: &Array| f(x, n)).in_specs(P!("X")).out_specs(P!("X"));
    let text = jit(map)(&zeros([8, 3], I32), &array(&lists)).expect_err("a mistake").to_string();
    let in_file = |l: &str| l.find("crates/").map_or(l.to_string(), |i| format!("{}here", &l[..i]));
    expected.assert_eq(&text.lines().map(in_file).collect::<Vec<_>>().join("\n"));
}

fn with_lists(x: &Array, into: Array, n: &Array, recv: &Array) -> Array {
    ragged_all_to_all(x, into, "X", Ragged { input_offsets: n, send_sizes: n, output_offsets: n, recv_sizes: recv })
}

#[test]
fn arrays_that_do_not_fit() {
    check_mistake(
        |x, n| with_lists(x, zeros([5, 4], I32), n, n),
        [0; 16],
        expect![[r#"
            error[ragged-rows]: `ragged_all_to_all`: the rows do not fit the array that receives them
              --> here
               | rows i32[2,3]{V:X}, into i32[5,4]
               = expected: two arrays of the same dtype, with at least one dimension and equal sizes after the first"#]],
    );
    check_mistake(
        |x, n| with_lists(x, zeros([5, 3], I32), &n.i(..3), &n.astype(I64)),
        [0; 16],
        expect![[r#"
            error[ragged-lists]: `ragged_all_to_all`: offsets and sizes must be integer lists of one type, with equally many entries for each device
              --> here
               | input_offsets i32[3]{V:X}
               | send_sizes i32[3]{V:X}
               | output_offsets i32[3]{V:X}
               | recv_sizes i64[4]{V:X}
               = expected: one-dimensional integer arrays of one dtype and one length, a positive multiple of the 4 devices along "X""#]],
    );
}

#[test]
fn rows_that_are_not_there() {
    let one_to_one = |x: &Array, n: &Array| {
        let (zero, one) = (&zeros_like(n), &ones_like(n));
        let sizes = Ragged { input_offsets: n, send_sizes: one, output_offsets: zero, recv_sizes: one };
        ragged_all_to_all(x, zeros([5, 3], I32), "X", sizes)
    };
    let mut lists = [0; 16];
    check_mistake(
        one_to_one,
        lists,
        expect![[r#"
        error[ragged-overlap]: `ragged_all_to_all`: the same rows of a device's output are written twice
          --> here
           | device 0 receives rows 0..1 from device 0 and rows 0..1 from device 1
           = note: in a gradient, these are the rows that were sent, each of which must have been sent only once
           = help: `output_offsets` are places in the receiver's output, one after the other for its senders"#]],
    );
    lists[6] = 2;
    check_mistake(
        one_to_one,
        lists,
        expect![[r#"
        error[ragged-bounds]: `ragged_all_to_all` reads rows that the operand does not have
          --> here
           | from device 1 to device 2: 1 rows from row 2 on, of 2
           = help: offsets must not be negative, and offset + size must be at most the number of rows"#]],
    );
    check_mistake(
        |x, n| with_lists(x, zeros([5, 3], I32), n, n),
        [-1; 16],
        expect![[r#"
        error[ragged-bounds]: `ragged_all_to_all` is given a negative size
          --> here
           | from device 0 to device 0: -1 rows
           = help: use 0 where no rows are sent"#]],
    );
    lists = [1; 16];
    lists[15] = 0;
    check_mistake(
        |x, n| with_lists(x, zeros([5, 3], I32), &zeros_like(n), n),
        lists,
        expect![[r#"
        error[ragged-sizes]: `ragged_all_to_all`: the number of rows that a device expects differs from the number that it is sent
          --> here
           | device 0 sends 0 rows to device 0, which expects 1
           = help: `recv_sizes` are the senders' `send_sizes`: an `all_to_all` of them"#]],
    );
}

/// Compares `ragged_dot` of small integers in `dtype` with a loop, and with the reference interpreter.
fn check_dot(dtype: DType, [m, k, g, n]: [usize; 4], sizes: &[i32]) {
    let small = |count: usize| arange(0..count, I32).rem_euclid(5) - 2;
    let (a, b) = (small(m * k).reshape([m, k]), small(g * k * n).reshape([g, k, n]));
    let (x, y): (Vec<i32>, Vec<i32>) = (a.to_vec().unwrap(), b.to_vec().unwrap());
    let mut expected = vec![0; m * n];
    let mut start = 0;
    for (group, &size) in sizes.iter().enumerate() {
        let end = (start + size.max(0) as usize).min(m);
        for i in start..end {
            for j in 0..n {
                expected[i * n + j] = (0..k).map(|p| x[i * k + p] * y[(group * k + p) * n + j]).sum();
            }
        }
        start = end;
    }
    let f = jit(|a: &Array, b: &Array, s: &Array| ragged_dot(a.astype(dtype), b.astype(dtype), s).astype(I32));
    let sizes = array(sizes);
    assert_eq!(f(&a, &b, &sizes).unwrap().to_vec::<i32>().unwrap(), expected, "{dtype:?} {m} {k} {g} {n}");
    let text = f.lower((&a, &b, &sizes)).unwrap().as_text();
    check_reference(&text, &[&a, &b, &sizes].map(literal), &expected);
}

#[test]
fn groups_of_rows_meet_their_matrices() {
    set_mesh(Mesh::auto([("X", 2)]).unwrap());
    for dtype in [F32, BF16, I32, I8, F64, F16] {
        check_dot(dtype, [7, 5, 3, 4], &[2, 0, 5]);
        check_dot(dtype, [7, 5, 3, 4], &[1, 2, 1]);
    }
    for sizes in [[0, 0, 0], [9, 9, 9], [0, 8, 0], [0, 0, 8], [3, 100, 1], [-1, 4, 4]] {
        check_dot(F32, [8, 3, 3, 2], &sizes);
    }
    check_dot(I32, [0, 3, 2, 2], &[0, 0]);
    check_dot(I32, [4, 0, 2, 2], &[1, 2]);
    check_dot(F32, [40, 16, 16, 24], &[3; 16]);
}

#[test]
fn ragged_dot_says_what_it_wants() {
    let f = |a: [usize; 2], b: [usize; 3], s: usize| {
        jit(move || ragged_dot(zeros(a, F32), zeros(b, F32), zeros([s], I32)))().map(|_| ()).unwrap_err().to_string()
    };
    for text in [f([4, 3], [2, 4, 5], 2), f([4, 3], [2, 3, 5], 3)] {
        assert!(text.starts_with("error[ragged-dot]"), "{text}");
    }
    let floats = jit(|| ragged_dot(zeros([4, 3], F32), zeros([2, 3, 5], F32), zeros([2], F32)))();
    assert!(floats.unwrap_err().to_string().starts_with("error[dtype-kind]"));
    let mixed = jit(|| ragged_dot(zeros([4, 3], F32), zeros([2, 3, 5], BF16), zeros([2], I32)))();
    assert!(mixed.unwrap_err().to_string().starts_with("error[dtype-mixed]"));
}
