"""Simulations: waves, diffusion, particles, spectra."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, line

FAMILY = Family("physics")


def neighbours(x):
    """The sum over the four neighbours, periodic."""
    return sum(jnp.roll(x, by, dim) for dim in (0, 1) for by in (-1, 1))


def field(draw: Draw, *spec):
    """A scalar field on a plane."""
    return f32((draw.times(32, 1, 3), draw.times(32, 1, 3)), *spec)


@FAMILY.variants(rows=("x",), tiles=("x", "y"))
def wave(draw: Draw, spec: tuple) -> Case:
    """The wave equation: the field and its velocity, over some steps."""
    steps = draw.of(4, 8)

    def step(state, _):
        u, v = state
        v = v + 0.1 * (neighbours(u) - 4 * u)
        return (u + 0.1 * v, v), ()

    run = lambda u, v: lax.scan(step, (u, v), None, steps)[0]
    u = field(draw, *spec)
    on = line() if len(spec) == 1 else draw.grid()
    return case(on, run, u, u, out=(P(*spec), P(*spec)))


@FAMILY.program
def wave_energy(draw: Draw) -> Case:
    """The energy after each step is recorded."""
    steps = draw.of(4, 8)

    def step(state, _):
        u, v = state
        v = v + 0.1 * (neighbours(u) - 4 * u)
        u = u + 0.1 * v
        return (u, v), jnp.sum(v**2)

    run = lambda u, v: lax.scan(step, (u, v), None, steps)[1]
    u = field(draw, "x")
    return case(line(), run, u, u, out=P())


@FAMILY.program
def diffusion_zero(draw: Draw) -> Case:
    """Diffusion with zeros around the field."""
    steps = draw.of(3, 6)

    def step(_, u):
        wide = jnp.pad(u, 1)
        return u + 0.2 * (wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2] - 4 * u)

    run = lambda u: lax.fori_loop(0, steps, step, u)
    return case(draw.grid(), run, field(draw, "x", "y"), out=P("x", "y"))


@FAMILY.program
def diffusion_inner(draw: Draw) -> Case:
    """Boundary rows keep their values."""
    steps = draw.of(3, 6)

    def step(_, u):
        inner = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].set(inner + 0.2 * (around - 4 * inner))

    run = lambda u: lax.fori_loop(0, steps, step, u)
    return case(line(), run, field(draw, "x"), out=P("x"))


@FAMILY.program
def diffusion_gradient(draw: Draw) -> Case:
    """The sensitivity of the final field to the initial one."""
    steps = draw.of(2, 4)
    step = lambda u, _: (u + 0.2 * (neighbours(u) - 4 * u), ())
    loss = lambda u: jnp.sum(lax.scan(step, u, None, steps)[0] ** 2)
    return case(line(), jax.grad(loss), field(draw, "x"), out=P("x"))


@FAMILY.program
def advection(draw: Draw) -> Case:
    """Upwind steps in both directions."""
    steps = draw.of(3, 6)
    step = lambda _, u: u - 0.2 * (u - jnp.roll(u, 1, 0)) - 0.1 * (u - jnp.roll(u, 1, 1))
    run = lambda u: lax.fori_loop(0, steps, step, u)
    return case(draw.grid(), run, field(draw, "x", "y"), out=P("x", "y"))


@FAMILY.program
def particles(draw: Draw) -> Case:
    """Forces between all pairs; particles are split."""
    n = draw.times(32, 1, 4)

    def run(x):
        apart = x[:, None] - x
        return jnp.sum(apart / (jnp.sum(apart**2, -1, keepdims=True) + 1.0) ** 2, 1)

    return case(line(), run, f32((n, 3), "x"), out=P("x"))


@FAMILY.program
def particle_energy(draw: Draw) -> Case:
    n = draw.times(32, 1, 4)
    energy = lambda x: jnp.sum(1.0 / (jnp.sum((x[:, None] - x) ** 2, -1) + 1.0))
    return case(line(), jax.value_and_grad(energy), f32((n, 3), "x"), out=(P(), P("x")))


@FAMILY.program
def spectrum(draw: Draw) -> Case:
    """A transform along the split dimension."""
    n = draw.times(64, 1, 2)
    run = lambda x: jnp.abs(jnp.fft.fft(x, axis=0))
    return case(line(), run, f32((n, 64), "x"), out=P("x"))


@FAMILY.program
def spectrum_rows(draw: Draw) -> Case:
    """A transform along a dimension that is not split."""
    run = lambda x: jnp.abs(jnp.fft.rfft(x, axis=1))
    return case(line(), run, f32((draw.times(16, 1, 4), 64), "x"), out=P("x"))


@FAMILY.program
def spectral_step(draw: Draw) -> Case:
    """Diffusion in Fourier space: two transforms there and two back."""
    n = draw.of(32, 64)

    def run(u):
        k = jnp.fft.fftfreq(n)
        return jnp.fft.ifft2(jnp.fft.fft2(u) * jnp.exp(-(k[:, None] ** 2) - k**2)).real

    return case(line(), run, f32((n, n), "x"), out=P("x"))


@FAMILY.program
def volume(draw: Draw) -> Case:
    """A step of diffusion of a volume on a 2x2x2 mesh."""
    run = lambda u: u + 0.1 * (sum(jnp.roll(u, by, dim) for dim in range(3) for by in (-1, 1)) - 6 * u)
    return case(cube(), run, f32((16, draw.times(16, 1, 3), 16), "x", "y", "z"), out=P("x", "y", "z"))


@FAMILY.program
def divergence(draw: Draw) -> Case:
    """Central differences of two fields."""
    run = lambda u, v: (jnp.roll(u, -1, 0) - jnp.roll(u, 1, 0)) / 2 + (jnp.roll(v, -1, 1) - jnp.roll(v, 1, 1)) / 2
    u = field(draw, "x", "y")
    return case(draw.grid(), run, u, u, out=P("x", "y"))


@FAMILY.program
def conjugate_gradient(draw: Draw) -> Case:
    """Solves a linear system by some steps of conjugate gradients."""
    steps = draw.of(3, 5)

    def run(b):
        multiply = lambda x: 5 * x - neighbours(x)

        def step(_, state):
            x, r, p = state
            q = multiply(p)
            size = jnp.sum(r * r)
            alpha = size / (jnp.sum(p * q) + 1e-6)
            x, r = x + alpha * p, r - alpha * q
            return x, r, r + (jnp.sum(r * r) / (size + 1e-6)) * p

        return lax.fori_loop(0, steps, step, (jnp.zeros_like(b), b, b))[0]

    return case(line(), run, field(draw, "x"), out=P("x"))
