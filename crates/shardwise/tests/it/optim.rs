//! Tests of optimizers: layouts in all modes, leaves that are not updated, chains, and mistakes. Their numbers are compared
//! with optax's in `jax_tables`.

use shardwise::optim::{self, adafactor, adam, adamw, chain, clip, clip_by_global_norm, lion, sgd};
use shardwise::prelude::*;

type Two = Vec<Array>;

fn params() -> Two {
    let [a, b] = Key::new(0).split();
    vec![normal(a, [8, 4], F32), normal(b, [4], F32)]
}

fn grads() -> Two {
    let [a, b] = Key::new(1).split();
    vec![normal(a, [8, 4], F32), normal(b, [4], F32)]
}

fn all() -> Vec<(&'static str, optim::Chain)> {
    vec![
        ("sgd", chain((sgd(0.1),))),
        ("momentum", chain((sgd(0.1).momentum(0.9).nesterov(),))),
        ("adam", chain((adam(0.1).nesterov(),))),
        ("adamw", chain((clip_by_global_norm(1.0), adamw(0.1).weight_decay(0.1)))),
        ("lion", chain((clip(0.5), lion(0.1)))),
        ("adafactor", chain((adafactor(0.1).min_size_to_factor(4).momentum(0.9),))),
        ("every", chain((adamw(0.1).every(2),))),
        ("over", chain((adamw(0.1).states_over("Y"),))),
    ]
}

/// Runs three steps, each with the function `step`.
fn three(
    optimizer: &optim::Chain,
    params: Two,
    step: impl Fn(Two, optim::State<Two>) -> (Two, optim::State<Two>),
) -> Two {
    let state = optimizer.init(&params);
    let (params, state) = step(params, state);
    let (params, state) = step(params, state);
    step(params, state).0
}

#[test]
fn updates_are_the_same_in_every_mode_and_keep_layouts() {
    for (name, optimizer) in all() {
        let expected = three(&optimizer, params(), |p, s| optimizer.update(&grads(), s, &p));
        let meshes = [Mesh::auto([("X", 2), ("Y", 2)]).unwrap(), Mesh::explicit([("X", 2), ("Y", 2)]).unwrap()];
        for mesh in meshes {
            with_mesh(&mesh, || {
                let specs = || vec![P!(None, "X"), P!("X")];
                let own = |trees: Two| shard(trees, specs());
                let types = |tree: &Two| tree.iter().map(|x| x.ty().to_string()).collect::<Vec<_>>();
                let eager = three(&optimizer, own(params()), |p, s| optimizer.update(&own(grads()), s, &p));
                let step = jit(|p: Two, s: optim::State<Two>, g: &Two| optimizer.update(g, s, &p));
                let traced = three(&optimizer, own(params()), |p, s| {
                    let before = tree::leaves(&s).iter().map(|x| x.ty().to_string()).collect::<Vec<_>>();
                    let (p, s) = step(p, s, &own(grads())).unwrap_or_else(|e| panic!("{name}: {e}"));
                    let after = tree::leaves(&s).iter().map(|x| x.ty().to_string()).collect::<Vec<_>>();
                    assert_eq!(before, after, "{name}");
                    (p, s)
                });
                for out in [eager, traced] {
                    assert_eq!(types(&out), types(&own(params())), "{name}");
                    out.iter().zip(&expected).for_each(|(a, b)| assert_close(a, b));
                }
            });
        }
    }
}
