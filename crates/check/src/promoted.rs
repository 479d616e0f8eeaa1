//! Tests reductions whose reducer works on wider elements than the operands have, or on equally wide ones: every op
//! that reduces, with every pair of types that the verifier accepts except those of `f8E8M0FNU`. In turn, the programs
//! have one operand or two where the op takes two, run whole or split over devices, and differ in the reducer. Both
//! engines must return the interpreter's results for the partitioned program, and the host engine also for a program
//! without a mesh.

use crate::run;
use shardwise_base::{DType, Literal};
use shardwise_host::HostEngine;
use shardwise_ir::text;
use shardwise_ops::OPS;

const ROWS: usize = 5;
const COLUMNS: usize = 6;

/// A reducer: how elements `%a` and `%b` of a type, from operand `n`, are combined to `%c`.
#[derive(Clone, Copy, Debug)]
enum Body {
    Sum,
    Maximum,
    And,
    /// A reducer without a named kind, which uses a value from outside.
    Unnamed,
}

impl Body {
    fn of(self, n: usize, t: &str) -> String {
        let (a, b, c) = (format!("%a{n}"), format!("%b{n}"), format!("%c{n}"));
        match self {
            Body::Sum => format!("{c} = stablehlo.add {a}, {b} : tensor<{t}>"),
            Body::Maximum => format!("{c} = stablehlo.maximum {b}, {a} : tensor<{t}>"),
            Body::And => format!("{c} = stablehlo.and {a}, {b} : tensor<{t}>"),
            Body::Unnamed => format!(
                "%m{n} = stablehlo.maximum {a}, %k : tensor<{t}>\n{c} = stablehlo.subtract %m{n}, {b} : tensor<{t}>"
            ),
        }
    }

    /// Returns the reducers to test on a type. The results of the named ones do not depend on where a reduction is
    /// split. A reduction by the unnamed one is not split.
    fn on(t: DType) -> Vec<Body> {
        // The elements are small integers, whose sums 16 bits hold exactly. Sums of 8-bit floats are rounded.
        let is_exact = !t.is_float() || t.bits() >= 16;
        let mut all = vec![];
        if is_exact {
            all.push(Body::Sum);
        }
        if !t.is_complex() {
            all.push(Body::Maximum);
        }
        if t.is_integer() || t.is_bool() {
            all.push(Body::And);
        }
        if !t.is_complex() && !t.is_bool() {
            all.push(Body::Unnamed);
        }
        all
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Reduce,
    ReduceAll,
    ReduceWindow,
    Scatter,
    SelectAndScatter,
    AllReduce,
    ReduceScatter,
    CollectiveReduce,
}

const ALL: [Op; 8] = [
    Op::Reduce,
    Op::ReduceAll,
    Op::ReduceWindow,
    Op::Scatter,
    Op::SelectAndScatter,
    Op::AllReduce,
    Op::ReduceScatter,
    Op::CollectiveReduce,
];

#[derive(Debug)]
struct Program {
    op: Op,
    from: DType,
    to: DType,
    body: Body,
    /// The number of operands that are reduced, 1 or 2. The elements of the second one already have the type `to`.
    operands: usize,
    /// The dimension of the arrays among the program's arguments that is split over two devices, or `None` if no
    /// dimension is.
    split: Option<usize>,
}

fn list(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<_>>().join(", ")
}

impl Program {
    fn elem(&self, operand: usize) -> DType {
        if operand == 0 { self.from } else { self.to }
    }

    fn region(&self, n: usize) -> String {
        let (t, body) = (self.to.name(), self.body);
        let args = |name: &str| list(n, |i| format!("%{name}{i}: tensor<{t}>"));
        let lines: Vec<String> = (0..n).map(|i| body.of(i, t)).collect();
        let (results, types) = (list(n, |i| format!("%c{i}")), list(n, |_| format!("tensor<{t}>")));
        let (a, b) = (args("a"), args("b"));
        format!("({{\n^bb0({a}, {b}):\n{}\nstablehlo.return {results} : {types}\n}})", lines.join("\n"))
    }

    /// Returns the op's lines, and the start of its results' types, as in `5x6x`, or an empty text for scalars. The
    /// lines use arrays `%x0`, `%x1` of two dimensions, scalars `%i0`, `%i1`, and the constants `%k` and `%at`.
    fn op_text(&self) -> (String, String) {
        let (n, t) = (self.operands, self.to.name());
        let shaped = |shape: &str| list(n, |i| format!("tensor<{shape}{}>", self.elem(i).name()));
        let (arrays, inits) = (list(n, |i| format!("%x{i}")), list(n, |i| format!("%i{i}")));
        let (x, i, region) = (shaped(&format!("{ROWS}x{COLUMNS}x")), shaped(""), self.region(n));
        let results = |shape: &str| list(n, |_| format!("tensor<{shape}{t}>"));
        let line = |name: &str, args: &str, attrs: &str, types: &str, shape: &str| {
            let results = results(shape);
            (
                format!("%r:{n} = \"stablehlo.{name}\"({args}) <{{{attrs}}}> {region} : ({types}) -> ({results})"),
                shape.to_string(),
            )
        };
        let with_inits = format!("{arrays}, {inits}");
        match self.op {
            Op::Reduce => {
                line("reduce", &with_inits, "dimensions = array<i64: 1>", &format!("{x}, {i}"), &format!("{ROWS}x"))
            }
            Op::ReduceAll => line("reduce", &with_inits, "dimensions = array<i64: 0, 1>", &format!("{x}, {i}"), ""),
            Op::ReduceWindow => {
                let attrs = "window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>, \
                             padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>";
                line("reduce_window", &with_inits, attrs, &format!("{x}, {i}"), &format!("{ROWS}x4x"))
            }
            Op::Scatter => {
                let attrs = "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], \
                             inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>";
                let args = format!("{arrays}, %at, {arrays}");
                line("scatter", &args, attrs, &format!("{x}, tensor<{ROWS}x1xi8>, {x}"), &format!("{ROWS}x{COLUMNS}x"))
            }
            Op::SelectAndScatter => {
                let f = self.from.name();
                let select = format!(
                    "({{\n^bb0(%p: tensor<{f}>, %q: tensor<{f}>):\n%s = stablehlo.compare GE, %p, %q : (tensor<{f}>, tensor<{f}>) -> tensor<i1>\nstablehlo.return %s : tensor<i1>\n}}, "
                );
                let region = region.replacen('(', &select, 1);
                let shape = format!("{ROWS}x{COLUMNS}x");
                let text = format!(
                    "%h = stablehlo.slice %x0 [0:{ROWS}, 0:3] : (tensor<{shape}{f}>) -> tensor<{ROWS}x3x{f}>\n\
                     %r:1 = \"stablehlo.select_and_scatter\"(%x0, %h, %i0) <{{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}}> {region} : (tensor<{shape}{f}>, tensor<{ROWS}x3x{f}>, tensor<{f}>) -> tensor<{shape}{t}>"
                );
                (text, shape)
            }
            Op::AllReduce => self.manual("all_reduce", "", COLUMNS),
            Op::ReduceScatter => self.manual("reduce_scatter", "scatter_dimension = 1 : i64, ", COLUMNS / 2),
            Op::CollectiveReduce => self.manual("collective_reduce", "", COLUMNS),
        }
    }

    /// Returns the lines of a manual computation, and the start of its results' types, as in `10x6x`. Each array is
    /// concatenated with itself along dimension 0 and split there over two devices, so that each device has the whole
    /// array as an operand of the collective. `columns` is the number of columns of the results.
    fn manual(&self, name: &str, attrs: &str, columns: usize) -> (String, String) {
        let (n, t) = (self.operands, self.to.name());
        let rows = 2 * ROWS;
        let at = |rows: usize, columns: usize, t: &str| format!("tensor<{rows}x{columns}x{t}>");
        let types = |rows: usize, columns: usize| list(n, |i| at(rows, columns, self.elem(i).name()));
        let results = |rows: usize| list(n, |_| at(rows, columns, t));
        let doubled = |i: usize| {
            let f = self.elem(i).name();
            let (one, two) = (at(ROWS, COLUMNS, f), at(rows, COLUMNS, f));
            format!("%d{i} = stablehlo.concatenate %x{i}, %x{i}, dim = 0 : ({one}, {one}) -> {two}\n")
        };
        let doubled: String = (0..n).map(doubled).collect();
        let shardings = list(n, |_| "<@mesh, [{\"x\"}, {}]>".to_string());
        let groups = match self.op {
            Op::CollectiveReduce => "",
            _ => "use_global_device_ids, ",
        };
        let (names, locals) =
            (list(n, |i| format!("%d{i}")), list(n, |i| format!("%l{i}: {}", at(ROWS, COLUMNS, self.elem(i).name()))));
        let (inner, given) = (list(n, |i| format!("%l{i}")), list(n, |i| format!("%g#{i}")));
        let (types_local, types_global) = (types(ROWS, COLUMNS), types(rows, COLUMNS));
        let (results_local, results_global) = (results(ROWS), results(rows));
        let region = self.region(n.min(1));
        let text = format!(
            "{doubled}%r:{n} = sdy.manual_computation({names}) in_shardings=[{shardings}] out_shardings=[{shardings}] manual_axes={{\"x\"}} ({locals}) {{\n\
             %one = stablehlo.constant dense<1> : tensor<i32>\n\
             %k = stablehlo.convert %one : (tensor<i32>) -> tensor<{t}>\n\
             %g:{n} = \"stablehlo.{name}\"({inner}) <{{{attrs}{groups}channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> {region} : ({types_local}) -> ({results_local})\n\
             sdy.return {given} : {results_local}\n}} : ({types_global}) -> ({results_global})"
        );
        (text, format!("{rows}x{columns}x"))
    }

    fn text(&self) -> String {
        let (op, shape) = self.op_text();
        let (n, t) = (self.operands, self.to.name());
        let sharding = |rank: usize| match self.split {
            Some(split) if rank == 2 => {
                let dims = list(2, |d| if d == split { "{\"x\"}".into() } else { "{}".into() });
                format!(" {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}")
            }
            _ => String::new(),
        };
        let params = list(n, |i| format!("%p{i}: tensor<{ROWS}x{COLUMNS}xi32>{}, %q{i}: tensor<i32>", sharding(2)));
        let converted = |i: usize| {
            let f = self.elem(i).name();
            format!(
                "%x{i} = stablehlo.convert %p{i} : (tensor<{ROWS}x{COLUMNS}xi32>) -> tensor<{ROWS}x{COLUMNS}x{f}>\n\
                 %i{i} = stablehlo.convert %q{i} : (tensor<i32>) -> tensor<{f}>\n"
            )
        };
        let converted: String = (0..n).map(converted).collect();
        let results = list(n, |_| format!("tensor<{shape}{t}>"));
        let given = list(n, |i| format!("%r#{i}"));
        // A manual computation defines a `%k` of its own.
        let constant = match self.op {
            Op::AllReduce | Op::ReduceScatter | Op::CollectiveReduce => String::new(),
            _ => format!("%k = stablehlo.convert %q0 : (tensor<i32>) -> tensor<{t}>\n"),
        };
        let mesh = if self.runs_whole() { "" } else { "sdy.mesh @mesh = <[\"x\"=2]>\n" };
        format!(
            "{mesh}func.func @main({params}) -> ({results}) {{\n{converted}{constant}\
             %at = stablehlo.constant dense<[[1], [3], [-1], [1], [4]]> : tensor<{ROWS}x1xi8>\n{op}\nreturn {given} : {results}\n}}"
        )
    }

    /// Returns true if no mesh is needed, so that the host engine can run the program as it is.
    fn runs_whole(&self) -> bool {
        self.split.is_none() && !matches!(self.op, Op::AllReduce | Op::ReduceScatter | Op::CollectiveReduce)
    }

    fn inputs(&self) -> Vec<Literal> {
        // Integers overflow the narrow type. Floats stay in a range where all types are exact.
        let value = |i: usize, k: usize| match self.to.is_integer() {
            true => ((i * 37 + k * 11) % 201) as i32 - 100,
            false => ((i * 7 + k * 3 + i * i) % 5) as i32 - 2,
        };
        let array = |k: usize| Literal::from_fn([ROWS, COLUMNS], |i| value(i, k));
        (0..self.operands).flat_map(|k| [array(k), Literal::scalar(2i32)]).collect()
    }

    fn check(&self) -> Result<(), String> {
        let text = self.text();
        let at = |e: String| format!("{self:?}: {e}");
        let inputs = self.inputs();
        let want = run::agreed(&text, &inputs).map_err(at)?;
        if !self.runs_whole() {
            return Ok(());
        }
        let module = text::parse("test.mlir", &text, &OPS).map_err(|e| at(e.to_string()))?;
        let got = run::on(&HostEngine::default(), &module, &inputs).map_err(|e| at(e.to_string()))?;
        if got == want { Ok(()) } else { Err(at(format!("host, whole:\n got {got:?}\nwant {want:?}\n{text}"))) }
    }
}

/// Returns the pairs of element types, of operand and result, that reducers accept: two integers, floats, complex
/// numbers or booleans, of which the second has at least as many bits. Leaves out `f8E8M0FNU`, which has neither zero
/// nor negative numbers.
fn pairs() -> Vec<(DType, DType)> {
    let kind = |t: DType| (t.is_float(), t.is_complex(), t.is_bool());
    let all = DType::ALL.iter().filter(|t| **t != DType::F8E8M0FNU);
    let pairs = all.clone().flat_map(|&from| all.clone().map(move |&to| (from, to)));
    pairs.filter(|&(from, to)| kind(from) == kind(to) && from.bits() <= to.bits()).collect()
}

#[test]
fn reducers_on_wider_elements_mean_the_same_everywhere() {
    let mut turn = 0;
    let mut wrong = vec![];
    for (from, to) in pairs() {
        // Complex numbers have no order by which to select.
        for op in ALL.into_iter().filter(|op| !from.is_complex() || !matches!(op, Op::SelectAndScatter)) {
            let bodies = Body::on(to);
            let body = bodies[turn % bodies.len()];
            let one = matches!(op, Op::SelectAndScatter | Op::ReduceScatter | Op::CollectiveReduce);
            let operands = if one { 1 } else { 1 + turn / 5 % 2 };
            let split = [None, Some(0), Some(1)][turn / 3 % 3];
            wrong.extend(Program { op, from, to, body, operands, split }.check().err());
            turn += 1;
        }
        turn += 1;
    }
    assert!(wrong.is_empty(), "{} of {turn} differ\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(turn > 1000, "{turn}");
}
