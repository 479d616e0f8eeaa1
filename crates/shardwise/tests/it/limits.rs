//! Tests limits on memory and steps, cancellation, and the memory that caches free.

use shardwise::prelude::*;
use shardwise::{CancelToken, Limits, memory, reset_peak_memory, with_limits};
use shardwise_base::{Account, Budget};
use std::sync::atomic::{AtomicBool, Ordering};

fn code<T>(result: Result<T>) -> String {
    let Err(e) = result else { return String::new() };
    let codes: Vec<&str> = e.diagnostics().map(|d| d.code()).collect();
    codes.join(" ")
}

const MIB: usize = 1 << 20;

// ── memory
#[test]
fn what_does_not_fit_is_refused_where_it_is_asked_for() {
    let data = vec![1.0f32; MIB];
    let mesh = Mesh::auto([("X", 4)]).unwrap();
    let whole = array(&data);
    let asks: [&dyn Fn() -> Result<()>; 12] = [
        &|| zeros([MIB], F32).to_vec::<f32>().map(|_| ()),
        &|| full([MIB], 2.5, F64).ready().map(|_| ()),
        &|| normal(Key::new(1), [MIB], F32).ready().map(|_| ()),
        &|| arange(0..MIB, I32).ready().map(|_| ()),
        &|| array(&data).check().map(|_| ()),
        &|| jit(|| array(&data))().map(|_| ()),
        &|| whole.to_vec::<f32>().map(|_| ()),
        &|| (&whole + 1.0).check().map(|_| ()),
        &|| whole.shard(mesh.sharding(P!("X"))).check().map(|_| ()),
        &|| jit(|x: &Array| x * 2.0)(&whole).map(|_| ()),
        &|| fori_loop(0..3, whole.clone(), |_, x| x * 2.0).check().map(|_| ()),
        &|| Array::from_parts([MIB], mesh.sharding(P!("X")), |_, s| vec![1.0f32; s[0]]).map(|_| ()),
    ];
    whole.ready().unwrap();
    for (i, ask) in asks.into_iter().enumerate() {
        let (code, after) = with_limits(Limits::default().max_bytes(MIB), || (code(ask()), memory()));
        assert_eq!(code, "run-memory", "{i}");
        assert!(after.in_use <= MIB / 64 && after.peak_bytes <= MIB, "{i}: {after}");
        ask().unwrap();
    }
}

#[test]
fn what_cannot_be_partitioned_is_an_error() {
    let lowered = jit(|x: &Array| x * 2.0).lower(&zeros([8], F32)).unwrap();
    let token = CancelToken::default();
    token.cancel();
    let found = with_limits(Limits::default().cancel(&token), || lowered.communication());
    assert_eq!(code(found), "run-cancelled");
    lowered.communication().unwrap().assert_none();
}

#[test]
fn what_the_machine_does_not_have_is_refused() {
    let x = zeros([1 << 37], F32);
    assert_eq!(code(x.ready()), "run-memory");
    assert_eq!(code(x.to_vec::<f32>()), "run-memory");
    assert_eq!(code(full([1 << 37], 1.5, F32).to_vec::<f32>()), "run-memory");
    assert_eq!(code((&x + 1.0).check()), "run-memory");
    assert_eq!(code(normal(Key::new(1), [1 << 40], F32).ready()), "run-memory");
    assert_eq!(format!("{x}").lines().next().unwrap().split(':').next(), Some("error[run-memory]"));
}

#[test]
fn memory_is_counted_by_what_is_alive() {
    with_limits(Limits::default().max_bytes(64 * MIB), || {
        assert_eq!((memory().in_use, memory().max_bytes), (0, 64 * MIB));
        let x = full([MIB], 1.5, F32);
        x.ready().unwrap();
        let y = &x + 1.0;
        y.ready().unwrap();
        let (now, both) = (memory(), 8 * MIB..9 * MIB);
        assert!(both.contains(&now.in_use) && now.peak_bytes >= now.in_use, "{now}");
        x.delete();
        drop(y);
        assert!(memory().in_use < MIB / 64, "{}", memory());
        reset_peak_memory();
        assert_eq!(memory().peak_bytes, memory().in_use);
        // Data of an inner scope also counts in the outer ones, and its limit is the smallest of all.
        let inner = with_limits(Limits::default(), || {
            let x = full([MIB], 1.5, F32);
            x.ready().unwrap();
            assert_eq!(code(full([64 * MIB], 1.5, F32).ready()), "run-memory");
            x
        });
        assert!(memory().in_use >= 4 * MIB);
        drop(inner);
        assert!(memory().in_use < MIB / 64, "{}", memory());
    });
}

// ── steps
fn endless(x: &Array) -> Array {
    while_loop(x.clone(), |x| x.sum(..).ge(0.0), |x| x * 0.5)
}

#[test]
fn an_endless_loop_ends_at_its_steps() {
    let x = ones([16], F32);
    let few = || Limits::default().max_steps(10_000);
    assert_eq!(code(with_limits(few(), || jit(endless)(&x))), "run-steps");
    assert_eq!(code(with_limits(few(), || endless(&x).check().map(|_| ()))), "run-steps");
    let lowered = jit(endless).lower(&x).unwrap().compile().unwrap();
    assert_eq!(code(with_limits(few(), || lowered(&x))), "run-steps");
    // Each call has its own steps.
    let short = jit(|x: &Array| fori_loop(0..100, x.clone(), |_, x| x * 0.5));
    with_limits(few(), || (0..100).for_each(|_| drop(short(&x).unwrap())));
    assert_eq!(x.to_vec::<f32>().unwrap(), [1.0; 16]);
}

// ── cancellation
#[test]
fn another_thread_cancels() {
    let (token, has_started) = (CancelToken::default(), AtomicBool::new(false));
    let (kept, given) = (arange(0..16, F32) + 1.0, arange(0..16, F32) + 2.0);
    let also_given = kept.clone();
    let step = jit(|x: Array, y: Array| (endless(&x), y * 2.0));
    let stopped = std::thread::scope(|s| {
        let call = s.spawn(|| {
            with_limits(Limits::default().cancel(&token), || {
                has_started.store(true, Ordering::Release);
                code(step(also_given, given))
            })
        });
        while !has_started.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        token.cancel();
        call.join().unwrap()
    });
    assert_eq!(stopped, "run-cancelled");
    // `given` was moved. Arrays with other handles keep their bits.
    assert_eq!(kept.to_vec::<f32>().unwrap(), (1..17).map(|i| i as f32).collect::<Vec<_>>());
    // Everything under the token ends at once, and nothing else.
    let after = with_limits(Limits::default().cancel(&token), || {
        [
            code((&kept + 1.0).check()),
            code(kept.to_vec::<f32>()),
            code(jit(|x: &Array| x + 1.0).lower(&kept).map(|_| ())),
        ]
    });
    assert!(after.iter().all(|c| c == "run-cancelled" || c.is_empty()) && !after[0].is_empty(), "{after:?}");
    let inner = with_limits(Limits::default().cancel(&token), || {
        with_limits(Limits::default().cancel(&CancelToken::default()), || code((&kept + 1.0).check()))
    });
    assert_eq!(inner, "run-cancelled");
    assert_eq!((&kept + 1.0).to_vec::<f32>().unwrap()[0], 2.0);
}

// ── failures of allocation
/// A program with its name. It returns the elements of its result, or those of one shard of it.
type Case = (&'static str, fn() -> Result<Vec<f32>>);

const CASES: [Case; 9] = [
    ("eager", || {
        let x = array(&[1.0f32; 64]);
        ((&x + 1.0) * x.reshape([8, 8]).matmul(x.reshape([8, 8])).reshape([64])).to_vec()
    }),
    ("random", || uniform(Key::new(3), [64], F32).sort(0).to_vec()),
    ("jit", || jit(|x: &Array| x.softmax(0) + array(&[0.5f32; 64]))(&full([64], 2.0, F32))?.to_vec()),
    ("sharded", || {
        let mesh = Mesh::auto([("X", 4), ("Y", 2)])?;
        let x = arange(0..256, F32).reshape([16, 16]).shard(mesh.sharding(P!("X", "Y")));
        jit(|x: &Array| x.matmul(x.t()))(&x)?.to_vec()
    }),
    ("explicit", || {
        let mesh = Mesh::explicit([("X", 4)])?;
        let x = arange(0..256, F32).reshape([16, 16]).shard(mesh.sharding(P!("X")));
        x.t().matmul(&x).shard(mesh.sharding(P!(None, "X"))).to_vec()
    }),
    ("loops", || {
        let x = scan(ones([64], F32), ones([4, 64], F32), |c, x| (&c + x, c)).1;
        while_loop(x, |x| x.sum(..).lt(1e6), |x| x * 2.0).to_vec()
    }),
    ("mapped", || {
        let mesh = Mesh::auto([("X", 4)])?;
        let f = shard_map(|x: &Array| x.psum("X")).mesh(&mesh).in_specs(P!("X")).out_specs(P!());
        jit(f)(&arange(0..256, F32))?.to_vec()
    }),
    ("parts", || {
        let mesh = Mesh::auto([("X", 4)])?;
        let part = |offset: &[usize], shape: &[usize]| vec![offset[0] as f32; shape[0]];
        let x = Array::from_parts([256], mesh.sharding(P!("X")), part)?;
        x.shards()?[3].data.to_vec()
    }),
    ("text", || {
        let text = "func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
            %0 = stablehlo.tanh %x : tensor<64xf32>\n  return %0 : tensor<64xf32>\n}";
        Program::parse(text)?.compile()?.call(&[ones([64], F32)])?[0].to_vec()
    }),
];

#[test]
fn every_failed_allocation_is_a_mistake_and_the_next_run_is_right() {
    let mut injected = 0;
    for (name, case) in CASES {
        let expected = case().unwrap();
        let account = Account::with_limit(1 << 30);
        let _entered = Budget::new(account.clone(), None, CancelToken::default()).enter();
        for n in 1.. {
            account.fail_at(n);
            match case() {
                Err(e) => assert_eq!(code::<()>(Err(e)), "run-memory", "{name}: allocation {n}"),
                Ok(values) => {
                    assert_eq!(values, expected, "{name}: allocation {n}");
                    break;
                }
            }
            injected += 1;
            account.fail_at(0);
            assert_eq!(case().unwrap(), expected, "{name}: after allocation {n}");
        }
        account.fail_at(0);
    }
    assert!(injected > 50, "{injected}");
}

// ── caches
#[test]
fn a_dropped_program_gives_back_its_constants() {
    with_limits(Limits::default().max_bytes(1 << 30), || {
        let run = |i: usize| {
            let data: Vec<f32> = (0..MIB / 4).map(|k| (k + i) as f32).collect();
            let f = jit(move |x: &Array| x + array(&data));
            let y = f(&zeros([MIB / 4], F32)).unwrap();
            let compiled = f.lower(&zeros([MIB / 4], F32)).unwrap().compile().unwrap();
            assert_eq!(y.i(1).item::<f32>().unwrap(), (1 + i) as f32);
            assert_eq!(compiled(&zeros([MIB / 4], F32)).unwrap().i(1).item::<f32>().unwrap(), (1 + i) as f32);
            assert!(memory().in_use >= MIB);
        };
        run(0);
        let before = memory().in_use;
        (1..20).for_each(run);
        assert!(memory().in_use <= before && before < MIB / 16, "{before} {}", memory());
    });
}

#[test]
fn a_function_of_many_types_keeps_some() {
    with_limits(Limits::default().max_bytes(1 << 30), || {
        let f = jit(|n: Static<usize>| {
            array(&vec![*n as f32; MIB].iter().enumerate().map(|(i, x)| x + i as f32).collect::<Vec<_>>())
        });
        for n in 0..40 {
            assert_eq!(f(Static(n)).unwrap().i(2).item::<f32>().unwrap(), n as f32 + 2.0);
        }
        assert!(memory().in_use < 200 * MIB, "{}", memory());
        drop(f);
        assert!(memory().in_use < MIB, "{}", memory());
    });
}
