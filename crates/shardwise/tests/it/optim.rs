//! Tests of optimizers: layouts in all modes, leaves that are not updated, chains, and mistakes. Their numbers are
//! compared with optax's in `optim_cases`.

use shardwise::float0;
use shardwise::optim::{
    self, State, adafactor, adagrad, adam, adamw, chain, clip, clip_by_global_norm, lamb, lion, rmsprop, sgd,
};
use shardwise::prelude::*;
use std::collections::BTreeMap;

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
        ("lamb", chain((lamb(0.1).weight_decay(0.1),))),
        ("rmsprop", chain((rmsprop(0.1).momentum(0.9),))),
        ("adagrad", chain((adagrad(0.1),))),
        ("adafactor", chain((adafactor(0.1).min_size_to_factor(4).momentum(0.9),))),
        ("every", chain((adamw(0.1).every(2),))),
        ("over", chain((adamw(0.1).states_over("Y"),))),
    ]
}

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

#[test]
fn other_leaves_are_not_updated() {
    let params = (ones([4], F32), array(&[1, 2]), zeros([0, 3], F32), true_false());
    let grads = (ones([4], F32), zeros([0], F32), zeros([0, 3], F32), zeros([0], Bool));
    let optimizer = chain((clip_by_global_norm(1.0), adamw(0.1), sgd(1.0).momentum(0.9)));
    // Gradients of integers have the form of the parameters, and may be empty.
    let step =
        jit(|params: (Array, Array, Array, Array), state: optim::State<_>, grads: &(Array, Array, Array, Array)| {
            optimizer.update(grads, state, &params)
        });
    let state = optimizer.init(&params);
    let (updated, state) = step(params.clone(), state, &grads).unwrap();
    let (updated, _) = step(updated, state, &grads).unwrap();
    assert_equal(&updated.1, &params.1);
    assert_equal(&updated.3, &params.3);
    assert_eq!(updated.2.shape(), [0, 3]);
    assert!(updated.0.ne(1.0).all(..).item::<bool>().unwrap());
}

fn true_false() -> Array {
    array(&[true, false])
}

#[test]
fn paths_of_a_state_name_what_is_in_it() {
    let params = BTreeMap::from([("b".to_string(), zeros([2], F32)), ("w".to_string(), zeros([3], F32))]);
    let state = chain((clip_by_global_norm(1.0), adamw(0.1), sgd(0.1))).init(&params);
    let paths: Vec<String> = tree::paths(&state).iter().map(|(path, x)| format!("{path} {}", x.ty())).collect();
    let expected = [
        "[0].count i32[]",
        "[0].mu.b f32[2]",
        "[0].mu.w f32[3]",
        "[0].nu.b f32[2]",
        "[0].nu.w f32[3]",
        "[1].count i32[]",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn states_are_split_over_one_more_axis() {
    let params = || vec![ones([8, 6], F32), ones([3], F32), ones([4, 4], F32)];
    let specs = || vec![P!(None, "Y"), P!(), P!("X")];
    let optimizer = adam(0.1).states_over("X");
    let expected = ["i32[]", "f32[8@X,6@Y]", "f32[3]", "f32[4@X,4]", "f32[8@X,6@Y]", "f32[3]", "f32[4@X,4]"];
    for mesh in [Mesh::auto([("X", 4), ("Y", 2)]).unwrap(), Mesh::explicit([("X", 4), ("Y", 2)]).unwrap()] {
        with_mesh(&mesh, || {
            let types = |state: &optim::State<Vec<Array>>| {
                tree::leaves(state).iter().map(|x| x.ty().to_string()).collect::<Vec<_>>()
            };
            let own = shard(params(), specs());
            let state = optimizer.init(&own);
            assert_eq!(types(&state), expected);
            // In a trace of Auto mode, the layouts of results have to be stated.
            let layouts = (specs(), optim::specs(specs()).over("X"));
            let make = jit(|_: &Array| {
                let params = shard(params(), specs());
                let state = optimizer.init(&params);
                (params, state)
            });
            let (_, made) = make.out_shardings(layouts)(&zeros([], F32)).unwrap();
            assert_eq!(types(&made), expected);
            let step = jit(|p: Vec<Array>, s: optim::State<Vec<Array>>, g: &Vec<Array>| optimizer.update(g, s, &p));
            let (updated, state) = step(own, state, &shard(params(), specs())).unwrap();
            assert_eq!(types(&state), expected);
            assert_eq!(updated[0].ty().to_string(), "f32[8,6@Y]");
            assert_close(&updated[0], &full([8, 6], 0.9, F32));
        });
    }
}

/// Tests that a step with a state that is split over devices needs only two collectives: a reduce-scatter, which brings
/// the gradient (a sum over devices) to the layout of the state, and an all-gather of the parameters' update.
#[test]
fn a_split_state_needs_one_part_of_the_gradient() {
    let mesh = Mesh::explicit([("X", 4)]).unwrap();
    with_mesh(&mesh, || {
        let optimizer = adamw(0.1).weight_decay(0.1).states_over("X");
        let w = normal(Key::new(0), [16, 8], F32).shard(P!());
        let x = normal(Key::new(1), [32, 16], F32).shard(P!("X"));
        let y = normal(Key::new(2), [32, 8], F32).shard(P!("X"));
        let step = jit(|w: &Array, state: optim::State<Array>, x: &Array, y: &Array| {
            let grad = einsum!("bd,bf->df", x, y);
            optimizer.update(&grad, state, w)
        });
        let state = optimizer.init(&w);
        let communication = step.lower((&w, state, &x, &y)).unwrap().communication().unwrap();
        communication.assert_only(["reduce-scatter X", "all-gather X"]);
    });
}

#[test]
fn factored_states_have_the_layouts_of_the_other_dimensions() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap();
    with_mesh(&mesh, || {
        let params = vec![ones([8, 4], F32).shard(P!("X", "Y")), ones([4], F32).shard(P!("Y"))];
        let optimizer = adafactor(0.1).min_size_to_factor(4).states_over("Y");
        let state = optimizer.init(&params);
        let types: Vec<String> = tree::leaves(&state).iter().map(|x| x.ty().to_string()).collect();
        // The largest dimension is 0: v_row lacks it, and v_col lacks dimension 1.
        assert_eq!(types, ["i32[]", "f32[4@Y]", "f32[0]", "f32[8@X]", "f32[0]", "f32[0]", "f32[4@Y]"]);
        let make = jit(|params: &Vec<Array>| optimizer.init(params));
        let made = make.out_shardings(optim::specs(vec![P!("X", "Y"), P!("Y")]).over("Y"))(&params).unwrap();
        let made: Vec<String> = tree::leaves(&made).iter().map(|x| x.ty().to_string()).collect();
        assert_eq!(made, types);
    });
}

#[test]
fn layouts_by_path_see_the_types_of_parameters() {
    let mesh = Mesh::auto([("X", 4), ("Y", 2)]).unwrap();
    with_mesh(&mesh, || {
        let params = vec![ones([8, 4], F32), arange(0..4, I32)];
        let optimizer = adafactor(0.1).min_size_to_factor(4);
        let by_type = |path: &tree::Path, ty: &ArrayType| match (path.to_string().as_str(), ty.to_string().as_str()) {
            ("[0]", "f32[8,4]") => P!("X", "Y"),
            ("[1]", "i32[4]") => P!("Y"),
            other => panic!("{other:?}"),
        };
        let layouts = || optim::specs(shardwise::by_path(by_type));
        let made = jit(|params: &Vec<Array>| optimizer.init(params)).out_shardings(layouts())(&params).unwrap();
        let types = |state: &_| tree::leaves(state).iter().map(|x| x.ty().to_string()).collect::<Vec<_>>();
        let expected = ["i32[]", "f32[4@Y]", "f32[0]", "f32[8@X]", "f32[0]", "f32[0]", "f32[0]"];
        assert_eq!(types(&made), expected);
        assert_eq!(types(&shard(optimizer.init(&params), layouts())), expected);
        let step = |state: &State<Vec<Array>>, params: &Vec<Array>| optimizer.update(params, state.clone(), params).1;
        assert_eq!(types(&jit(step).out_shardings(layouts())(&made, &params).unwrap()), expected);
    });
}

#[test]
fn optimizers_run_on_each_device() {
    let mesh = Mesh::auto([("X", 4)]).unwrap();
    let optimizer = adamw(0.1);
    let step = |p: &Array, g: &Array| {
        let grad = g.pmean("X");
        optimizer.update(&grad, optimizer.init(p), p).0
    };
    let grads = normal(Key::new(1), [4, 8], F32);
    let mapped =
        shard_map(|p: &Array, g: &Array| step(p, &g.squeeze(0))).mesh(&mesh).in_specs((P!(), P!("X"))).out_specs(P!());
    let p = ones([8], F32);
    let expected = optimizer.update(&grads.mean(0), optimizer.init(&p), &p).0;
    assert_close(&mapped(&p, &grads), &expected);
}

#[test]
fn a_state_that_devices_update_is_carried_by_a_loop() {
    let mesh = Mesh::auto([("X", 4)]).unwrap();
    let optimizer = adamw(0.1);
    let step = |p: &Array, s: &State<Array>| optimizer.update(&(p * 2.0), s.clone(), p);
    let specs = || (P!("X"), optim::specs(P!("X")));
    let mapped = shard_map(step).mesh(&mesh).in_specs(specs()).out_specs(specs());
    let start = || {
        let p = arange(0..8, F32);
        (p.clone(), optimizer.init(&p))
    };
    let on_devices = fori_loop(0..3, start(), |_, (p, s)| mapped(&p, &s)).0;
    assert_close(&on_devices, &fori_loop(0..3, start(), |_, (p, s)| step(&p, &s)).0);
}

#[test]
fn a_state_is_reused_without_a_second_compilation() {
    let mesh = Mesh::explicit([("X", 4)]).unwrap();
    with_mesh(&mesh, || {
        let optimizer = adamw(0.1);
        let params = shard(params(), P!("X"));
        let state = optimizer.init(&params);
        let before: Vec<String> = tree::leaves(&state).iter().map(|x| format!("{:#}", x.ty())).collect();
        let (_, state) = optimizer.update(&params, state, &params);
        let after: Vec<String> = tree::leaves(&state).iter().map(|x| format!("{:#}", x.ty())).collect();
        assert_eq!(before, after);
    });
}

fn code(x: &Array) -> String {
    let error = x.check().expect_err("a mistake");
    error.diagnostics().map(|d| d.code().to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn mistakes() {
    let p = ones([4], F32);
    let code_of = |optimizer: optim::Chain, grad: &Array| {
        let (out, _) = optimizer.update(grad, optimizer.init(&p), &p);
        code(&out)
    };
    assert_eq!(code_of(chain((adamw(0.1),)), &ones([1], F32)), "gradient-type");
    assert_eq!(code_of(chain((adamw(0.1),)), &ones([4], BF16)), "gradient-type");
    assert_eq!(code_of(chain((adamw(0.1).b1(1.0),)), &p), "optimizer-setting");
    assert_eq!(code_of(chain((clip_by_global_norm(-1.0),)), &p), "optimizer-setting");
    assert_eq!(code_of(chain((sgd(0.1).momentum(f64::NAN),)), &p), "optimizer-setting");
    assert_eq!(code_of(chain((sgd(0.1).every(0),)), &p), "optimizer-setting");
    assert_eq!(code_of(chain((sgd(0.1).every(1 << 31),)), &p), "optimizer-setting");
    assert_eq!(code_of(chain((sgd(0.1).every(usize::MAX),)), &p), "optimizer-setting");
    assert_eq!(code_of(chain((sgd(optim::linear(0.0, 1.0, 0)),)), &p), "schedule");
    let beyond = [
        ("linear", optim::linear(0.0, 1.0, 1 << 40)),
        ("then", optim::constant(1.0).then(1 << 31, optim::constant(2.0))),
        ("warmup_cosine", optim::warmup_cosine(1.0, 0.1, 1 << 32, 1 << 33)),
    ];
    for (name, schedule) in beyond {
        let error = schedule.at(0).check().unwrap_err().to_string();
        assert!(error.contains("error[number-dtype]") && error.contains(&format!("`{name}`")), "{error}");
    }
    let (out, _) = sgd(0.1).update(&p, adamw(0.1).init(&p), &p);
    assert_eq!(code(&out), "tree-form");
    let two = vec![p.clone(), p.clone()];
    let (out, _) = sgd(0.1).update(&vec![p.clone()], sgd(0.1).init(&two), &two);
    assert_eq!(code(&out[0]), "tree-form");
    // In a trace, the call returns the mistake.
    let step = jit(|p: &Array| adamw(0.1).b2(2.0).init(p));
    assert_eq!(step(&p).err().unwrap().diagnostics().next().unwrap().code(), "optimizer-setting");
    // A mistake in a gradient is the mistake of the parameter.
    let (out, _) = adamw(0.1).update(&(&p + ones([3], F32)), adamw(0.1).init(&p), &p);
    assert_eq!(code(&out), "broadcast");
}

#[test]
fn a_float0_gradient_of_a_parameter_that_is_updated_is_a_mistake() {
    let (p, n) = (ones([2], F32), array(&[1, 2]));
    let (out, _) = sgd(1.0).update(&float0([2]), sgd(1.0).init(&p), &p);
    assert_eq!(code(&out), "gradient-type");
    let params = (p.clone(), n.clone(), p.clone());
    let grads = (float0([2]), float0([2]), ones([2], F32));
    let (out, _) = sgd(1.0).update(&grads, sgd(1.0).init(&params), &params);
    let error = out.0.check().unwrap_err().to_string();
    assert!(error.contains("the gradient of `.0`") && error.contains("the gradient is float0[2]"), "{error}");
    assert_equal(&out.1, &n);
    assert_equal(&out.2, &zeros([2], F32));
}

#[test]
fn an_update_of_a_state_that_is_a_mistake_reports_that_mistake() {
    let p = ones([2], F32);
    let wrong = &p + ones([3], F32);
    let (out, _) = sgd(1.0).update(&p, sgd(1.0).init(&wrong), &p);
    assert_eq!(code(&out), "broadcast");
}
