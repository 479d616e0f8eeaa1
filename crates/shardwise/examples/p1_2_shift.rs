//! Problem 1.2: `roll(x, shift, axis=0) - x` within each shard, with a shift that is known during tracing or only at
//! run time.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

fn main() -> Result<()> {
    let [x, y] = chapter::grid();
    let mesh = Mesh::auto([("X", x), ("Y", y)])?;
    set_mesh(&mesh);

    let shift_map =
        |a: &Array, by: i64| shard_map(|a: &Array| a.roll(by, 0) - a).in_specs(P!("X", "Y")).out_specs(P!("X", "Y"))(a);

    // The shift is an argument: one program for all shifts.
    let shift_any =
        shard_map(|a: &Array, by: &Array| a.roll(by, 0) - a).in_specs((P!("X", "Y"), P!())).out_specs(P!("X", "Y"));

    let shift_jit = jit(|a: &Array, by: Static<i64>| {
        let ([x, _], [s, d]) = (mesh.sizes(), a.dims());
        let parts = a.reshape([x, s / x, d]);
        (parts.roll(*by, 1) - parts).reshape([s, d])
    })
    .out_shardings(P!("X", "Y"));

    let a = arange(0..8 * 64 * 8, I32).reshape([8 * 64, 8]).shard(P!("X", "Y"));
    for by in [5, 0, -3, 1000] {
        assert_equal(&shift_map(&a, by), &shift_jit(&a, Static(by))?);
        assert_equal(&shift_any(&a, &scalar(by, I32)), &shift_jit(&a, Static(by))?);
    }
    println!("{}\n", shift_map(&a, 5).i((..8, 0)));

    let known = jit(|a: &Array| shift_map(a, 5)).lower(&a)?.compile()?;
    let any = jit(shift_any).lower((&a, &scalar(5, I32)))?.compile()?;
    let auto = shift_jit.lower((&a, Static(5)))?.compile()?;
    for c in [known.communication(), any.communication(), auto.communication()] {
        c.assert_none();
    }
    let mut table = chapter::Table::default();
    table.add("by hand, known when tracing", &known, || known(&a))?;
    table.add("by hand, known when running", &any, || any(&a, &scalar(5, I32)))?;
    table.add("by the compiler", &auto, || auto(&a, Static(5)))?;
    println!("{table}");
    Ok(())
}
