"""Fields on grids: staggered grids, lattices, multigrid, sweeps, transforms along all dimensions."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("fields")
ROWS = ("x",)
TILES = ("x", "y")
FLAT = (("x", "y"),)


def plane(draw: Draw, *spec):
    """A field whose sizes divide by 32."""
    return f32((draw.times(32, 1, 3), draw.times(32, 1, 3)), *spec)


LAYOUTS = {"rows": ROWS, "tiles": TILES, "columns": (None, "x"), "flat": FLAT}


def layout(draw: Draw, spec: tuple):
    """A mesh and a field for a layout."""
    return draw.grid() if "y" in str(spec) else line(), plane(draw, *spec)


def around(u):
    """The sum of four neighbours, with zeros outside."""
    wide = jnp.pad(u, 1)
    return wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2]


@FAMILY.variants(**LAYOUTS)
def maxwell(draw: Draw, spec: tuple) -> Case:
    """Electric and magnetic fields on staggered grids, for some steps."""
    on, u = layout(draw, spec)
    steps = draw.of(2, 4)

    def step(_, state):
        e, p, q = state
        p = p - 0.3 * (jnp.roll(e, -1, 1) - e)
        q = q + 0.3 * (jnp.roll(e, -1, 0) - e)
        return e + 0.3 * (q - jnp.roll(q, 1, 0) - p + jnp.roll(p, 1, 1)), p, q

    run = lambda e, p, q: lax.fori_loop(0, steps, step, (e, p, q))
    return case(on, run, u, u, u, out=(P(*spec),) * 3)


@FAMILY.variants(**LAYOUTS)
def maxwell_walls(draw: Draw, spec: tuple) -> Case:
    """The same with walls: differences are one element shorter."""
    on, u = layout(draw, spec)
    steps = draw.of(2, 4)

    def step(_, state):
        e, p, q = state
        p = p.at[:, :-1].add(-0.3 * (e[:, 1:] - e[:, :-1]))
        q = q.at[:-1].add(0.3 * (e[1:] - e[:-1]))
        e = e.at[1:, 1:].add(0.3 * (q[1:, 1:] - q[:-1, 1:] - p[1:, 1:] + p[1:, :-1]))
        return e, p, q

    run = lambda e, p, q: lax.fori_loop(0, steps, step, (e, p, q))[0]
    return case(on, run, u, u, u, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def shallow_water(draw: Draw, spec: tuple) -> Case:
    """Heights and two velocities."""
    on, u = layout(draw, spec)

    def run(h, u, v):
        dx = lambda f: (jnp.roll(f, -1, 0) - jnp.roll(f, 1, 0)) / 2
        dy = lambda f: (jnp.roll(f, -1, 1) - jnp.roll(f, 1, 1)) / 2
        made = h - 0.1 * (dx(h * u) + dy(h * v)), u - 0.1 * (u * dx(u) + v * dy(u) + dx(h))
        return *made, v - 0.1 * (u * dx(v) + v * dy(v) + dy(h))

    return case(on, run, u, u, u, out=(P(*spec),) * 3)


WAYS = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]


@FAMILY.variants(**LAYOUTS)
def lattice(draw: Draw, spec: tuple) -> Case:
    """Lattice-Boltzmann: nine densities are relaxed and streamed."""
    on, u = layout(draw, spec)
    steps = draw.of(1, 3)

    def step(_, f):
        density = f.sum(0) + 10
        move = [sum(way[d] * f[i] for i, way in enumerate(WAYS)) / density for d in (0, 1)]
        relaxed = []
        for i, way in enumerate(WAYS):
            along = way[0] * move[0] + way[1] * move[1]
            relaxed.append(0.5 * f[i] + 0.5 * density / 9 * (1 + 3 * along))
        return jnp.stack([jnp.roll(g, way, (0, 1)) for g, way in zip(relaxed, WAYS)])

    f = f32((9, *u.shape), None, *spec)
    return case(on, lambda f: lax.fori_loop(0, steps, step, f), f, out=P(None, *spec))


@FAMILY.variants(**LAYOUTS)
def jacobi(draw: Draw, spec: tuple) -> Case:
    on, u = layout(draw, spec)
    steps = draw.of(3, 6)
    run = lambda u, f: lax.fori_loop(0, steps, lambda _, u: (around(u) + f) / 4, u)
    return case(on, run, u, u, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def red_and_black(draw: Draw, spec: tuple) -> Case:
    """Gauss-Seidel on the colours of a chessboard."""
    on, u = layout(draw, spec)

    def run(u, f):
        places = jnp.arange(u.shape[0])[:, None] + jnp.arange(u.shape[1])
        for colour in (0, 1):
            u = jnp.where(places % 2 == colour, (around(u) + f) / 4, u)
        return u

    return case(on, run, u, u, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def red_and_black_strides(draw: Draw, spec: tuple) -> Case:
    """The same along one dimension, with strided updates."""
    on, u = layout(draw, spec)

    def run(u):
        u = u.at[1:-1:2].set((u[:-2:2] + u[2::2]) / 2)
        return u.at[2:-1:2].set((u[1:-2:2] + u[3::2]) / 2)

    return case(on, run, u, out=P(*spec))


def restricted(u):
    """The mean over blocks of four."""
    return (u[::2, ::2] + u[1::2, ::2] + u[::2, 1::2] + u[1::2, 1::2]) / 4


def prolonged(u):
    """Each element becomes a block of four."""
    return jnp.repeat(jnp.repeat(u, 2, 0), 2, 1)


@FAMILY.variants(**LAYOUTS)
def two_grids(draw: Draw, spec: tuple) -> Case:
    """Smooth, restrict the residual, smooth there, prolong, smooth again."""
    on, u = layout(draw, spec)

    def run(u, f):
        u = (around(u) + f) / 4
        rest = restricted(f + around(u) - 4 * u)
        small = (around(rest / 4) + rest) / 4
        return (around(u + prolonged(small)) + f) / 4

    return case(on, run, u, u, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def prolonged_linearly(draw: Draw, spec: tuple) -> Case:
    """Interpolation between the elements of the coarse grid."""
    on, u = layout(draw, spec)

    def run(u):
        middle = (u + jnp.roll(u, -1, 0)) / 2
        return jnp.stack([u, middle], 1).reshape(2 * u.shape[0], u.shape[1])

    return case(on, run, u, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def full_weighting(draw: Draw, spec: tuple) -> Case:
    """Restriction with weights 1 2 1."""
    on, u = layout(draw, spec)
    run = lambda u: (jnp.roll(u, 1, 0)[::2] + 2 * u[::2] + jnp.roll(u, -1, 0)[::2]) / 4
    return case(on, run, u, out=P(*spec))


def thomas(d):
    """Solves a tridiagonal system along dimension 0, by a sweep forward and one back."""
    forward = lambda a, x: ((0.25 * (x + a),) * 2)
    _, made = lax.scan(forward, jnp.zeros(d.shape[1:]), d)
    _, out = lax.scan(lambda a, x: (((x + 0.25 * a),) * 2), jnp.zeros(d.shape[1:]), made, reverse=True)
    return out


@FAMILY.variants(**LAYOUTS)
def alternating(draw: Draw, spec: tuple) -> Case:
    """Implicit steps along one dimension and then along the other."""
    on, _ = layout(draw, spec)
    u = f32((32, 32), *spec)
    return case(on, lambda u: thomas(thomas(u).T).T, u, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def poisson(draw: Draw, spec: tuple) -> Case:
    """Solves by transforms of real numbers."""
    on, _ = layout(draw, spec)
    n = draw.of(32, 64)

    def run(f):
        k = jnp.fft.fftfreq(n)[:, None] ** 2 + jnp.fft.rfftfreq(n) ** 2
        return jnp.fft.irfft2(jnp.fft.rfft2(f) / (k + 1), (n, n))

    return case(on, run, f32((n, n), *spec), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def convolved(draw: Draw, spec: tuple) -> Case:
    """A convolution with a kernel as large as the field, by transforms."""
    on, _ = layout(draw, spec)
    n = draw.of(32, 64)
    run = lambda f, g: jnp.fft.irfft2(jnp.fft.rfft2(f) * jnp.fft.rfft2(g), (n, n))
    return case(on, run, f32((n, n), *spec), f32((n, n), *spec), out=P(*spec))


@FAMILY.variants(one=("x",), two=("x", "y"), three=("x", "y", "z"))
def transformed_volume(draw: Draw, spec: tuple) -> Case:
    """A transform of a volume, there and back, with a filter between."""
    on = (line, draw.grid, cube)[len(spec) - 1]()
    shape = (16, 16, draw.times(16, 1, 2))

    def run(f):
        k = sum(jnp.fft.fftfreq(n).reshape([-1 if d == i else 1 for i in range(3)]) ** 2 for d, n in enumerate(shape))
        return jnp.fft.ifftn(jnp.fft.fftn(f) * jnp.exp(-k)).real

    return case(on, run, f32(shape, *spec), out=P(*spec))


@FAMILY.program
def transformed_flat(draw: Draw) -> Case:
    """A transform of a split vector."""
    n = draw.times(256, 1, 4)
    return case(line(), lambda x: jnp.abs(jnp.fft.fft(x)), f32((n,), "x"), out=P("x"))


@FAMILY.program
def transformed_batch(draw: Draw) -> Case:
    """Images in a batch, whose rows are split."""
    x = f32((8, 32, draw.of(32, 64)), None, "x")
    return case(line(), lambda x: jnp.abs(jnp.fft.rfft2(x)), x, out=P(None, "x"))


@FAMILY.program
def framed(draw: Draw) -> Case:
    """Overlapping frames of split sound, and their spectra."""
    n = draw.times(256, 1, 2)

    def run(x):
        wide = jnp.pad(x, (0, 32))
        frames = jnp.stack([wide[:n].reshape(-1, 32), wide[32 : n + 32].reshape(-1, 32)], 1).reshape(-1, 64)
        return jnp.abs(jnp.fft.rfft(frames * jnp.hanning(64)))

    return case(line(), run, f32((n,), "x"), out=P("x"))


@FAMILY.program
def framed_by_gather(draw: Draw) -> Case:
    """The same by indices that are known while compiling."""
    n = draw.times(256, 1, 2)

    def run(x):
        places = 32 * jnp.arange(n // 32 - 1)[:, None] + jnp.arange(64)
        return jnp.abs(jnp.fft.rfft(x[places] * jnp.hanning(64)))

    return case(line(), run, f32((n,), "x"), out=P())


@FAMILY.program
def overlap_added(draw: Draw) -> Case:
    """Frames are added where they overlap."""
    count = draw.times(16, 1, 3)

    def run(frames):
        first, second = frames[:, :32], frames[:, 32:]
        return jnp.pad(first, ((0, 1), (0, 0))) + jnp.pad(second, ((1, 0), (0, 0)))

    return case(line(), run, f32((count, 64), "x"), out=P())


@FAMILY.variants(**LAYOUTS)
def fourth_order(draw: Draw, spec: tuple) -> Case:
    """A stencil of nine points that reaches two elements."""
    on, u = layout(draw, spec)

    def second(u, dim):
        near, far = (jnp.roll(u, s, dim) + jnp.roll(u, -s, dim) for s in (1, 2))
        return (16 * near - far - 30 * u) / 12

    return case(on, lambda u: second(u, 0) + second(u, 1), u, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def limited(draw: Draw, spec: tuple) -> Case:
    """A scheme with slopes limited by both neighbours, inside of walls."""
    on, u = layout(draw, spec)

    def run(u):
        wide = jnp.pad(u, ((2, 2), (0, 0)), mode="edge")
        steps = jnp.diff(wide, axis=0)
        slopes = jnp.where(steps[1:] * steps[:-1] > 0, jnp.minimum(jnp.abs(steps[1:]), jnp.abs(steps[:-1])), 0)
        flux = wide[1:-1] + slopes / 2
        return u - 0.1 * jnp.diff(flux, axis=0)[: u.shape[0]]

    return case(on, run, u, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def wave_gradient(draw: Draw, spec: tuple) -> Case:
    """The gradient in the speeds of a wave, over some steps that are computed again."""
    on, u = layout(draw, spec)

    def loss(speed, u):
        step = jax.checkpoint(lambda state: (state[0] + 0.1 * state[1], state[1] + 0.1 * speed * (around(state[0]) - 4 * state[0])))
        state, _ = lax.scan(lambda state, _: (step(state), ()), (u, jnp.zeros_like(u)), None, 3)
        return jnp.sum(state[0] ** 2)

    return case(on, jax.grad(loss), u, u, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def until_still(draw: Draw, spec: tuple) -> Case:
    """Jacobi steps until the residual is small."""
    on, u = layout(draw, spec)

    def run(u):
        test = lambda state: (state[1] > 1e-3) & (state[2] < 5)

        def step(state):
            u, _, i = state
            new = (around(u) + u) / 5
            return new, jnp.max(jnp.abs(new - u)), i + 1

        return lax.while_loop(test, step, (u, jnp.float32(1), 0))[0]

    return case(on, run, u, out=P(*spec))


@FAMILY.program
def brick_stencil(draw: Draw) -> Case:
    """All 27 neighbours in a volume with zeros around."""
    x = f32((16, 16, draw.times(16, 1, 2)), "x", "y", "z")

    def run(x):
        wide = jnp.pad(x, 1)
        cut = lambda *s: wide[tuple(slice(a, a + n) for a, n in zip(s, x.shape))]
        return sum(cut(a, b, c) for a in range(3) for b in range(3) for c in range(3)) / 27

    return case(cube(), run, x, out=P("x", "y", "z"))


@FAMILY.program
def semi_lagrangian(draw: Draw) -> Case:
    """The field is read where the flow came from, between rows."""
    u = plane(draw, None, "x")

    def run(u, v):
        places = jnp.clip(jnp.arange(u.shape[0])[:, None] - jnp.tanh(v), 0, u.shape[0] - 1.001)
        low = jnp.floor(places).astype(jnp.int32)
        part = places - low
        read = lambda i: jnp.take_along_axis(u, i, 0)
        return (1 - part) * read(low) + part * read(low + 1)

    return case(line(), run, u, u, out=P(None, "x"))


@FAMILY.program
def particles_to_grid(draw: Draw) -> Case:
    """Charges are spread to the nearest cells of a split grid."""
    n = draw.times(64, 1, 3)
    run = lambda x, q: jnp.zeros(64).at[jnp.clip(x.astype(jnp.int32) + 16, 0, 63)].add(q)
    return case(line(), run, f32((n,), "x"), f32((n,), "x"), out=P("x"))


@FAMILY.program
def grid_to_particles(draw: Draw) -> Case:
    n = draw.times(64, 1, 3)
    run = lambda x, field: field[jnp.clip(x.astype(jnp.int32) + 16, 0, 63)]
    return case(line(), run, f32((n,), "x"), f32((64,), "x"), out=P("x"))


@FAMILY.program
def leapfrog(draw: Draw) -> Case:
    """Some steps of gravitating bodies."""
    n, steps = draw.times(32, 1, 2), draw.of(2, 4)

    def run(x, v, m):
        def force(x):
            apart = x - x[:, None]
            near = jnp.sum(apart**2, -1) + 1.0
            return jnp.sum(apart * (m / near**1.5)[..., None], 1)

        def step(_, state):
            x, v = state
            v = v + 0.01 * force(x)
            return x + 0.01 * v, v

        return lax.fori_loop(0, steps, step, (x, v))

    x = f32((n, 3), "x")
    return case(line(), run, x, x, f32((n,), "x"), out=(P("x"), P("x")))


@FAMILY.program
def all_pairs_grid(draw: Draw) -> Case:
    """Targets are split over one axis and sources over the other."""
    n = draw.times(32, 1, 3)

    def run(x, y, m):
        apart = jnp.sum((x[:, None] - y) ** 2, -1)
        return jnp.exp(-apart / 8) @ m

    return case(draw.grid(), run, f32((n, 3), "x"), f32((n, 3), "y"), f32((n, 4), "y"), out=P("x"))


@FAMILY.program
def smoothed_particles(draw: Draw) -> Case:
    """Densities from lists of neighbours."""
    n = draw.times(32, 1, 3)

    def run(x, near):
        apart = jnp.sum((x[:, None] - x[near]) ** 2, -1)
        return jnp.sum(jax.nn.relu(1 - apart / 16) ** 3, 1)

    return case(line(), run, f32((n, 3), "x"), i32((n, 8), "x"), out=P("x"))
