//! Tests what reverse mode keeps of functions against `testdata/residuals.txt`, which `oracle/residuals.py` makes from
//! the same functions.

use shardwise::prelude::*;
use shardwise::{CheckpointPolicy, Residual, checkpoint, checkpoint_name, saved_residuals};

fn policy(name: &str) -> CheckpointPolicy {
    match name {
        "nothing" => CheckpointPolicy::Nothing,
        "dots" => CheckpointPolicy::Dots,
        "dots_with_no_batch_dims" => CheckpointPolicy::DotsWithNoBatchDims,
        "names" => CheckpointPolicy::names(["a"]),
        "other_names" => CheckpointPolicy::other_names(["a"]),
        "either" => CheckpointPolicy::Dots.or(CheckpointPolicy::names(["b"])),
        _ => panic!("no policy `{name}`"),
    }
}

fn network(x: &Array, w: &Array, v: &Array) -> Array {
    let a = checkpoint_name(&x.matmul(w).sin(), "a");
    checkpoint_name(&a.matmul(v).exp(), "b").tanh()
}

fn attention(q: &Array, k: &Array, v: &Array) -> Array {
    let weights = checkpoint_name(&einsum("bqd,bkd->bqk", (q, k)).exp(), "a");
    einsum("bqk,bkd->bqd", (&weights, v)).sin()
}

fn elementwise(x: &Array) -> Array {
    checkpoint_name(&checkpoint_name(&x.sin(), "a").sin(), "b").sin()
}

fn linear(x: &Array, w: &Array) -> Array {
    x.matmul(w) * 2.0 + x.sum(..)
}

fn layer(h: &Array, w: &Array) -> Array {
    checkpoint_name(&h.matmul(w).sin(), "a").tanh() * h
}

fn within(x: &Array, w: &Array) -> Array {
    scan(x.clone(), w.clone(), |h: Array, w: Array| (layer(&h, &w), ())).0.exp()
}

fn stacked(x: &Array, w: &Array) -> Array {
    let turn = |h: Array, w: Array| {
        let b = checkpoint_name(&h.matmul(&w).exp(), "b");
        (b.tanh(), h.sin() * b)
    };
    let (h, ys) = scan(x.clone(), w.clone(), turn);
    h.matmul(ys.sum(0).t())
}

fn kept(function: &str, policy: CheckpointPolicy) -> Vec<Residual> {
    let ones = |shape: &[usize]| ones(shape.to_vec(), F32);
    match function {
        "network" => {
            let f = checkpoint(network).policy(policy);
            saved_residuals(f, (&ones(&[5, 3]), &ones(&[3, 4]), &ones(&[4, 2])))
        }
        "attention" => {
            let f = checkpoint(attention).policy(policy);
            saved_residuals(f, (&ones(&[2, 3, 4]), &ones(&[2, 5, 4]), &ones(&[2, 5, 6])))
        }
        "elementwise" => saved_residuals(checkpoint(elementwise).policy(policy), &ones(&[7])),
        "linear" => saved_residuals(checkpoint(linear).policy(policy), (&ones(&[2, 3]), &ones(&[3, 3]))),
        "within" => saved_residuals(checkpoint(within).policy(policy), (&ones(&[2, 4]), &ones(&[3, 4, 4]))),
        "stacked" => saved_residuals(checkpoint(stacked).policy(policy), (&ones(&[2, 4]), &ones(&[3, 4, 4]))),
        "layers" => {
            let again = checkpoint(layer).policy(policy);
            let f = |x: &Array, w: &Array| scan(x.clone(), w.clone(), |h: Array, w: Array| (again(&h, &w), ())).0;
            saved_residuals(f, (&ones(&[2, 4]), &ones(&[3, 4, 4])))
        }
        _ => panic!("no function `{function}`"),
    }
}

#[test]
fn residuals_are_those_of_jax() {
    let table = include_str!("../../../../testdata/residuals.txt");
    let mut wrong = vec![];
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (case, expected) = line.split_once(" | ").unwrap();
        let (function, name) = case.split_once(' ').unwrap();
        let found = kept(function, policy(name));
        let mut types: Vec<String> = found.iter().map(|r| r.ty.to_string()).collect();
        types.sort();
        if types.join(" ") != expected {
            wrong.push(format!("{case}: expected {expected}\n  found {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
