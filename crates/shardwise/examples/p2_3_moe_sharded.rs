//! Problem 2.3 and 2.4: the mixture of experts with explicit communication.
//!
//! `W[E_X, D, F_Y], A[S_X, D_Y], B[S_X] -> Out[S_X, F_Y]`, on meshes with and without a Y.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

/// Lets every expert process every token, and keeps the results of its own. A token of another device's expert gets
/// zeros.
fn moe_local(w: &Array, a: &Array, b: &Array) -> Array {
    let experts = (w.clone(), arange(0..w.dim(0), I32));
    let (out, ()) = scan(zeros([a.dim(0), w.dim(2)], F32), experts, |out, (w, e)| {
        (out + b.eq(e).i((.., NewAxis)).select(a.matmul(w), 0.0), ())
    });
    out
}

/// Does the same as [`moe_local`] with the tokens grouped by expert. A token of expert `E` or more gets zeros. No
/// expert may be negative.
fn moe_ragged_dot(w: &Array, a: &Array, b: &Array) -> Array {
    let by_expert = b.argsort(0);
    let out = ragged_dot(a.i(&by_expert), w, b.bincount(w.dim(0)));
    out.i(by_expert.argsort(0))
}

/// Computes 2.3.1: every device sees all tokens, and computes the results of its own experts.
fn moe_all_gather(w: &Array, a: &Array, b: &Array) -> Array {
    let first = axis_index("X") * w.dim(0);
    let (a, b) = (a.all_gather("X", 0), b.all_gather("X", 0) - first);
    moe_local(w, &a, &b).psum_scatter("X", 0)
}

/// Computes 2.3.2: sends a few tokens to each device at a time, until all are sent. The results are sent back.
fn moe_all_to_all(w: &Array, a: &Array, b: &Array) -> Array {
    let ([s, _], [experts, _, f]) = (a.dims(), w.dims());
    let (n, first) = (axis_size("X"), axis_index("X") * experts);
    let chunk = (s / n).clamp(1, 64);
    let by_expert = b.argsort(0); // and so by device
    let (a, b) = (a.i(&by_expert), b.i(&by_expert));
    let count = (&b / experts).bincount(n);
    let (start, most) = (count.cumsum(0) - &count, count.max(0).pmax("X"));

    let (_, out) = while_loop(
        (scalar(0, I32), zeros([s, f], F32)),
        |(i, _)| i.lt(&most),
        |(i, out)| {
            let next = arange(0..chunk, I32) + &i;
            let is_there = next.lt(count.i((.., NewAxis))); // bool[n, chunk]
            let at = is_there.select(&next + start.i((.., NewAxis)), s).reshape([n * chunk]); // S: no token
            let b = at.lt(s).select(b.i(&at), n * experts);
            let (a, b) = (a.i(&at).all_to_all("X", 0, 0), b.all_to_all("X", 0, 0) - &first);
            let y = moe_ragged_dot(w, &a, &b).all_to_all("X", 0, 0);
            (&i + chunk, out.at(&at).set(y))
        },
    );
    out.i(by_expert.argsort(0))
}

/// Computes the result of [`moe_all_to_all`] with a chunk of tokens at a time, each of which is sent only to the device
/// that has its expert.
fn moe_ragged(w: &Array, a: &Array, b: &Array) -> Array {
    let ([s, d], [experts, _, f]) = (a.dims(), w.dims());
    let (n, first) = (axis_size("X"), axis_index("X") * experts);
    let chunk = (2 * s / n).clamp(1, s);
    let by_expert = b.argsort(0);
    let (a, b) = (a.i(&by_expert), b.i(&by_expert));

    let (_, out) = while_loop(
        (scalar(0, I32), zeros([s, f], F32)),
        |(i, _)| i.lt(s),
        |(i, out)| {
            let (a, b) = (a.i(ds(&i, chunk)), b.i(ds(&i, chunk)));
            let there = Exchange::new((&b / experts).bincount(n));
            let a = there.send(&a, zeros([n * chunk, d], F32));
            let b = there.send(&b, full([n * chunk], n * experts, I32)) - &first; // an empty row has no expert
            let y = there.back().send(&moe_ragged_dot(w, &a, &b), zeros([chunk, f], F32));
            (&i + chunk, out.at(ds(&i, chunk)).set(y))
        },
    );
    out.i(by_expert.argsort(0))
}

/// For each peer: how many rows are sent there and from where, and how many are received and stored where.
struct Exchange {
    send: Array,
    send_at: Array,
    recv: Array,
    recv_at: Array,
}

impl Exchange {
    fn new(send: Array) -> Self {
        let recv = send.all_to_all("X", 0, 0);
        Exchange { send_at: send.cumsum(0) - &send, recv_at: recv.cumsum(0) - &recv, send, recv }
    }
    fn back(self) -> Self {
        Exchange { send: self.recv, send_at: self.recv_at, recv: self.send, recv_at: self.send_at }
    }
    fn send(&self, rows: &Array, into: Array) -> Array {
        let Exchange { send: send_sizes, send_at: input_offsets, recv: recv_sizes, recv_at } = self;
        let output_offsets = &recv_at.all_to_all("X", 0, 0); // where the rows land on each peer
        ragged_all_to_all(rows, into, "X", Ragged { input_offsets, send_sizes, output_offsets, recv_sizes })
    }
}

/// Returns `moe` for shards of A with D/Y columns, which are gathered first because all D columns are needed. W and the
/// result have F/Y columns.
fn over_y(moe: Moe) -> impl Fn(&Array, &Array, &Array) -> Array {
    move |w, a, b| moe(w, &a.all_gather("Y", 1), b)
}

/// Returns the function of 2.4, which uses k experts for each token, b: i32[S, k], and averages their results.
fn top_k<F: Fn(&Array, &Array, &Array) -> Array>(moe: F) -> impl Fn(&Array, &Array, &Array) -> Array {
    move |w, a, b| {
        let [s, k] = b.dims();
        moe(w, &a.repeat(k, 0), &b.reshape([s * k])).reshape([s, k, w.dim(2)]).mean(1)
    }
}

/// Computes the expected result with a matrix for each token, f32[S, D, F].
fn dense(w: &Array, a: &Array, b: &Array) -> Array {
    einsum!("sd,sdf->sf", a, w.i(b))
}

type Moe = fn(&Array, &Array, &Array) -> Array;
const VARIANTS: [(&str, Moe); 3] = [
    ("all_gather, psum_scatter", moe_all_gather),
    ("all_to_all in a while_loop", moe_all_to_all),
    ("ragged_all_to_all and ragged_dot", moe_ragged),
];

fn compare([x, y]: [usize; 2]) -> Result<()> {
    set_mesh(Mesh::auto([("X", x), ("Y", y)])?);
    let (e, s, k, d, f) = (x.max(16), 1024, 2, 64, 128);
    let [kw, ka, kb] = Key::new(0).split();
    let w = normal(kw, [e, d, f], F32).shard(P!("X", None, "Y"));
    let a = normal(ka, [s, d], F32).shard(P!("X", "Y"));
    let random = randint(kb, [s, k], 0..e, I32);
    let one_without = random.eq(3).select(4, &random);
    let routes = [random, full([s, k], 3, I32), one_without].map(|b| b.shard(P!("X")));
    let specs = (P!("X", None, "Y"), P!("X", "Y"), P!("X"));
    println!("════ X={x}, Y={y}: {}, {}\n", w.ty(), a.ty());

    let mut table = chapter::Table::default();
    for (name, moe) in VARIANTS {
        let b = routes[0].i((.., 0)).shard(P!("X"));
        let one = jit(shard_map(over_y(moe)).in_specs(specs.clone()).out_specs(P!("X", "Y")));
        let one = one.lower((&w, &a, &b))?.compile()?;
        assert!(one.memory().largest_bytes < e * s * d * 4, "no f32[E, S, D]");
        let many = jit(shard_map(top_k(over_y(moe))).in_specs(specs.clone()).out_specs(P!("X", "Y")));
        for b in &routes {
            let first = b.i((.., 0)).shard(P!("X"));
            assert_close(&one(&w, &a, &first)?, &dense(&w, &a, &first));
            assert_close(&many(&w, &a, b)?, &top_k(dense)(&w, &a, b));
        }
        table.add(name, &one, || one(&w, &a, &b))?;
        let many = many.lower((&w, &a, &routes[0]))?.compile()?;
        table.add(&format!("{name}, k = {k}"), &many, || many(&w, &a, &routes[0]))?;
    }
    println!("{table}");
    Ok(())
}

fn main() -> Result<()> {
    let [x, y] = chapter::grid();
    compare([x * y, 1])?;
    if y > 1 { compare([x, y]) } else { Ok(()) }
}
