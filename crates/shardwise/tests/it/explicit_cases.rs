//! Compares Explicit mode with JAX's, op by op: `testdata/explicit/cases.txt`, which `oracle/explicit.py` makes.
//!
//! Under `Allow`, our type is JAX's, or JAX refuses the program, or it is in [`REFUSED`], and an accepted program has
//! the values of the unsharded one. Under `Deny`, an accepted program has the same type and communicates nothing, and a
//! refused one would communicate.

use shardwise::prelude::*;
use std::collections::BTreeMap;

type Op = fn(&[Array]) -> Array;

fn op(name: &str) -> Op {
    match name {
        "add" => |x| &x[0] + &x[1],
        "mul" => |x| &x[0] * &x[1],
        "maximum" => |x| x[0].maximum(&x[1]),
        "lt" => |x| x[0].lt(&x[1]),
        "sub_column" => |x| &x[0] - x[1].expand_dims(1),
        "exp" => |x| x[0].exp(),
        "neg" => |x| -&x[0],
        "astype" => |x| x[0].astype(I32),
        "add_number" => |x| &x[0] + 1.0,
        "select" => |x| select(&x[0], &x[1], &x[2]),
        "broadcast_to" => |x| x[0].broadcast_to([3, 8, 16]),
        "expand_dims" => |x| x[0].expand_dims(1),
        "squeeze" => |x| x[0].squeeze(1),
        "transpose" => |x| x[0].transpose([2, 0, 1]),
        "repeat" => |x| x[0].repeat(2, 0),
        "matmul" | "matvec" | "batch_matmul" => |x| x[0].matmul(&x[1]),
        "einsum_outer" => |x| einsum!("i,j->ij", x[0], x[1]),
        "einsum_swap" => |x| einsum!("bd,df->fb", x[0], x[1]),
        "einsum_batch" => |x| einsum!("bik,bjk->bij", x[0], x[1]),
        "sum_0" => |x| x[0].sum(0),
        "sum_1" => |x| x[0].sum(1),
        "sum_all" => |x| x[0].sum(..),
        "max_keep" => |x| x[0].max(keep(1)),
        "argmax" => |x| x[0].argmax(0),
        "mean" => |x| x[0].mean(0),
        "var" => |x| x[0].var(1),
        "softmax" => |x| x[0].softmax(1),
        "logsumexp" => |x| x[0].logsumexp(0),
        "ravel" => |x| x[0].reshape([128]),
        "split_first" => |x| x[0].reshape([4, 2, 16]),
        "split_last" => |x| x[0].reshape([8, 2, 8]),
        "split_both" => |x| x[0].reshape([4, 2, 2, 8]),
        "merge_first" => |x| x[0].reshape([64, 16]),
        "merge_last" => |x| x[0].reshape([8, 128]),
        "split_small" => |x| x[0].reshape([2, 4, 16]),
        "concatenate_0" => |x| concatenate(x, 0),
        "concatenate_1" => |x| concatenate(x, 1),
        "stack" => |x| stack(x, 0),
        "slice_even" => |x| x[0].i(..4),
        "slice_odd" => |x| x[0].i(..5),
        "slice_stride" => |x| x[0].i((.., step(.., 2))),
        "row" => |x| x[0].i(3),
        "column" => |x| x[0].i((.., 3)),
        "dynamic_slice" => |x| x[0].i(ds(&x[1], 4)),
        "dynamic_row" => |x| x[0].i(ds(&x[1], 1)),
        "pad" => |x| x[0].pad([(0, 0), (2, 2)], 0.0),
        "flip" => |x| x[0].flip(0),
        "roll" => |x| x[0].roll(1, 1),
        "take" => |x| x[0].i(&x[1]),
        "scatter_set" => |x| x[0].at(&x[1]).set(&x[2]),
        "scatter_add" => |x| x[0].at(&x[1]).add(&x[2]),
        "update_slice" => |x| x[0].at(ds(&x[2], 4)).set(&x[1]),
        "cumsum" => |x| x[0].cumsum(0),
        "cummax" => |x| x[0].cummax(1),
        "sort" => |x| x[0].sort(1),
        "argsort" => |x| x[0].argsort(0),
        "top_k" => |x| x[0].top_k(4).0,
        "scan_sum" => |x| scan(zeros_like(&x[0].i(0)), x[0].clone(), |c, r| (&c + r, c)).0,
        _ => panic!("no op `{name}` here"),
    }
}

/// The cases, by the starts of their lines, in which JAX has a type and we have an error, with the reasons.
const REFUSED: [(&str, &str); 1] = [("astype | f32[8,16]{U:Y}", "each device would round a part of the sum")];

/// A type that a case states as text, as `f32[8@X,16]{U:Y}`: dtype, sizes, axes of each dimension, and the axis over
/// which it is unreduced (`U`) or reduced (`R`), if there is one.
struct Type {
    dtype: DType,
    shape: Vec<usize>,
    axes: Vec<Vec<String>>,
    unreduced: Option<String>,
    reduced: Option<String>,
}

impl Type {
    fn parse(text: &str) -> Type {
        let (text, state) = text.split_once('{').unwrap_or((text, ""));
        let state = |word: &str| Some(state.strip_prefix(word)?.trim_end_matches('}').to_string());
        let (unreduced, reduced) = (state("U:"), state("R:"));
        let (dtype, dims) = text.trim_end_matches(']').split_once('[').expect("a type");
        let dtype = match dtype {
            "f32" => F32,
            "i32" => I32,
            _ => Bool,
        };
        let (mut shape, mut axes) = (vec![], vec![]);
        let mut depth = 0;
        let dims = dims.split(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ',' && depth == 0
        });
        for dim in dims.filter(|d| !d.is_empty()) {
            let (n, over) = dim.split_once('@').unwrap_or((dim, ""));
            shape.push(n.parse().expect("a size"));
            let names = over.trim_matches(['(', ')']).split(',').filter(|a| !a.is_empty());
            axes.push(names.map(String::from).collect());
        }
        Type { dtype, shape, axes, unreduced, reduced }
    }

    fn spec(&self) -> P {
        let spec = P::new(self.axes.iter().cloned().map(shardwise::DimSpec::Axes));
        self.reduced.iter().fold(spec, |spec, axis| spec.reduced(axis))
    }

    /// Returns the value in this layout. An unreduced sum is made by a sum along a split dimension.
    fn laid_out(&self, mesh: &Mesh) -> Array {
        let Some(axis) = &self.unreduced else { return self.value().shard(mesh.sharding(self.spec())) };
        let value = self.value();
        let parts = stack([&value * 3.0, &value * -2.0], 0).shard(mesh.sharding(P!(&axis[..])));
        let sum = with_communication(Communicate::Deny, || parts.sum(0));
        sum.shard(mesh.sharding(self.spec().unreduced(axis)))
    }

    /// Returns small integers as floats, such that no row contains its largest element twice. For integer operands,
    /// returns positions, and for others bools.
    fn value(&self) -> Array {
        let n: usize = self.shape.iter().product();
        match self.dtype {
            F32 => ((arange(0..n, I32) * 37) % 41 - 20).astype(F32).reshape(&self.shape[..]),
            I32 if self.shape.is_empty() => scalar(3, I32),
            I32 => ((arange(0..n, I32) * 5 + 3) % 16).reshape(&self.shape[..]),
            _ => ((arange(0..n, I32) % 3).eq(1)).reshape(&self.shape[..]),
        }
    }
}

fn codes(e: Error) -> String {
    e.diagnostics().map(|d| d.code().to_string()).collect::<Vec<_>>().join(" ")
}

struct Case<'a> {
    text: &'a str,
    op: Op,
    types: Vec<Type>,
    /// JAX's type, or for gradients the types of all of them, separated by spaces, or `error Class`.
    expected: &'a str,
}

impl Case<'_> {
    fn parse(text: &str) -> Case<'_> {
        let parts: Vec<&str> = text.split('|').map(str::trim).collect();
        let types = parts[1].split_whitespace().map(Type::parse).collect();
        Case { text, op: op(parts[0]), types, expected: parts[2] }
    }

    fn run(&self, level: Communicate) -> Result<(String, Communication, Array), String> {
        let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).expect("a mesh").communication(level);
        let args: Vec<Array> = self.types.iter().map(|t| t.laid_out(&mesh)).collect();
        let f = self.op;
        let types = std::sync::Mutex::new(String::new());
        with_mesh(&mesh, || {
            let traced = jit(|x: &Vec<Array>| {
                let out = f(x);
                *types.lock().expect("one thread") = out.ty().to_string();
                out
            });
            let communication = traced.lower(&args).and_then(|l| l.communication()).map_err(codes)?;
            let out = traced(&args).map_err(codes)?;
            let traced = types.lock().expect("one thread").clone();
            assert_eq!(traced, out.ty().to_string(), "{}: inside and outside", self.text);
            Ok((traced, communication, out))
        })
    }

    fn unsharded(&self) -> Array {
        (self.op)(&self.types.iter().map(Type::value).collect::<Vec<_>>())
    }

    /// Returns the class of our answer compared with JAX's, or what is wrong.
    fn judge(&self) -> Result<&'static str, String> {
        let (allowed, denied) = (self.run(Communicate::Allow), self.run(Communicate::Deny));
        let class = match (&allowed, self.expected.starts_with("error")) {
            (Err(_), true) => "both refuse",
            (Err(_), false) if REFUSED.iter().any(|(case, _)| self.text.starts_with(case)) => {
                "ours refuses, JAX is wrong"
            }
            (Err(e), false) => return Err(format!("JAX accepts it, ours says {e}")),
            (Ok(_), true) => "JAX refuses, ours has the obvious answer",
            (Ok((ty, ..)), false) if ty == self.expected => "the same type",
            (Ok((ty, ..)), false) => return Err(format!("ours is {ty}")),
        };
        match (&allowed, denied) {
            (Ok((ty, ..)), Ok((own, communication, _))) => {
                if *ty != own {
                    return Err(format!("{ty}, but under Deny {own}"));
                }
                if !communication.is_empty() {
                    return Err(format!("accepted under Deny, and communicates:\n{communication}"));
                }
            }
            (Ok((_, communication, _)), Err(e)) => {
                if e != "communication-denied" {
                    return Err(format!("refused under Deny: {e}"));
                }
                if communication.is_empty() {
                    return Err("refused under Deny, and moves nothing".into());
                }
            }
            (Err(_), Ok(_)) => return Err("refused under Allow, not under Deny".into()),
            (Err(_), Err(_)) => {}
        }
        let Ok((.., out)) = allowed else { return Ok(class) };
        let values = |x: Array| match x.dtype() {
            F32 => x.to_vec::<f32>(),
            _ => x.astype(F32).to_vec::<f32>(),
        };
        let (found, expected) = (values(out).map_err(codes)?, values(self.unsharded()).map_err(codes)?);
        match found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4) {
            true => Ok(class),
            false => Err(format!("{found:?}, not {expected:?}")),
        }
    }
}

#[test]
fn every_case() {
    let text = include_str!("../../../../testdata/explicit/cases.txt");
    let cases: Vec<Case<'_>> = text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).map(Case::parse).collect();
    assert!(cases.len() >= 800, "{} cases", cases.len());
    let several = cases.iter().filter(|c| c.types.iter().filter(|t| t.axes.iter().any(|a| !a.is_empty())).count() > 1);
    assert!(several.count() >= 400, "half of those without sums have two or more sharded operands");
    let (mut classes, mut wrong) = (BTreeMap::new(), vec![]);
    for case in &cases {
        match case.judge() {
            Ok(class) => *classes.entry(class).or_insert(0) += 1,
            Err(e) => wrong.push(format!("{}: {e}", case.text)),
        }
    }
    assert!(wrong.is_empty(), "{} of {}, beside {classes:?}\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// The cases in which the types of gradients differ from JAX's, with the reasons: those whose op is refused.
const OTHER_GRADIENTS: [(&str, &str); 1] = REFUSED;

/// Returns the gradients of the sum of an op's results if `is_linear`, and else of the sum of their sines, with respect
/// to all operands. Results other than floats count as 0. Gradients of integers and bools are left out.
fn gradients(f: Op, is_linear: bool, args: &Vec<Array>) -> Vec<Array> {
    let loss = |x: &Vec<Array>| {
        let out = f(x);
        match (out.dtype() == F32, is_linear) {
            (false, _) => scalar(0.0, F32),
            (true, true) => out.sum(..),
            (true, false) => out.sin().sum(..),
        }
    };
    let found = shardwise::grad(loss).allow_int()(args);
    found.into_iter().filter(|g| !g.is_float0()).collect()
}

impl Case<'_> {
    fn gradients(&self, level: Communicate) -> Result<(Vec<String>, Vec<Array>), String> {
        let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).expect("a mesh").communication(level);
        let args: Vec<Array> = self.types.iter().map(|t| t.laid_out(&mesh)).collect();
        let (f, is_linear) = (self.op, self.text.contains("{U"));
        with_mesh(&mesh, || {
            let traced = jit(|x: &Vec<Array>| gradients(f, is_linear, x));
            let out = traced(&args).map_err(codes)?;
            Ok((out.iter().map(|g| g.ty().to_string()).collect(), out))
        })
    }

    fn judge_gradients(&self) -> Result<&'static str, String> {
        let refuses = self.expected.starts_with("error");
        let (types, found) = match self.gradients(Communicate::Allow) {
            Ok(found) => found,
            Err(_) if refuses => return Ok("both refuse"),
            Err(e) => return Err(format!("JAX accepts it, ours says {e}")),
        };
        if let Ok((own, _)) = self.gradients(Communicate::Deny)
            && own != types
        {
            return Err(format!("{types:?}, but under Deny {own:?}"));
        }
        let whole = gradients(self.op, self.text.contains("{U"), &self.types.iter().map(Type::value).collect());
        for (found, expected) in found.iter().zip(&whole) {
            let (found, expected) = (found.to_vec::<f32>().map_err(codes)?, expected.to_vec::<f32>().map_err(codes)?);
            if !found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs().max(1.0)) {
                return Err(format!("{found:?}, not {expected:?}"));
            }
        }
        match (types.join(" ") == self.expected, refuses) {
            (true, _) => Ok("the same types"),
            (false, true) => Ok("JAX refuses, ours has the types of the operands"),
            (false, false) => Err(format!("ours are {}", types.join(" "))),
        }
    }
}

/// Tests that gradients in Explicit mode have JAX's types where JAX has them, except for [`OTHER_GRADIENTS`], and the
/// values of the unsharded ones. `oracle/explicit_gradients.py` makes the table.
#[test]
fn every_gradient() {
    let text = include_str!("../../../../testdata/explicit/gradients.txt");
    let cases: Vec<Case<'_>> = text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).map(Case::parse).collect();
    assert!(cases.len() >= 350, "{} cases", cases.len());
    let (mut classes, mut wrong) = (BTreeMap::new(), vec![]);
    for case in &cases {
        match (case.judge_gradients(), OTHER_GRADIENTS.iter().find(|(start, _)| case.text.starts_with(start))) {
            (Ok(class), None) => *classes.entry(class).or_insert(0) += 1,
            (Err(_), Some((_, why))) => *classes.entry(why).or_insert(0) += 1,
            (Ok(_), Some(_)) => wrong.push(format!("{}: it is equal, and listed as a difference", case.text)),
            (Err(e), None) => wrong.push(format!("{}: {e}", case.text)),
        }
    }
    assert!(wrong.is_empty(), "{} of {}, beside {classes:?}\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
