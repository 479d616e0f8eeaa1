"""Pipelines: stages of a network on different devices, microbatches that move through them."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, f32, line

FAMILY = Family("pipeline")
STAGES = 8
SIZE = 32


def micro(draw: Draw, *spec):
    """Microbatches: their number, rows, features."""
    return f32((draw.of(4, 8), draw.times(4, 1, 3), SIZE), *spec)


def shifted(state, new):
    """Every stage takes what the one before it made; the first takes a new microbatch."""
    return jnp.concatenate([new[None], state[:-1]], 0)


def run_pipeline(ws, xs, layer, move=shifted):
    """All turns of a pipeline whose stages are dimension 0 of `ws`. Returns what the last stage made."""
    count = xs.shape[0]
    feed = jnp.concatenate([xs, jnp.zeros((STAGES - 1, *xs.shape[1:]), xs.dtype)], 0)

    def turn(state, new):
        state = layer(move(state, new), ws)
        return state, state[-1]

    start = jnp.zeros((STAGES, *xs.shape[1:]), xs.dtype)
    return lax.scan(turn, start, feed)[1][STAGES - 1 : STAGES - 1 + count]


def linear(state, ws):
    """One product in each stage."""
    return jnp.einsum("srd,sdf->srf", state, ws)


def relu(state, ws):
    """One layer in each stage."""
    return jax.nn.relu(linear(state, ws))


def rolled(state, new):
    """The same move as `shifted`, as a roll whose first element is replaced."""
    return jnp.roll(state, 1, 0).at[0].set(new)


def padded(state, new):
    """The same move, as a pad that is sliced."""
    wide = jnp.pad(state, ((1, 0), (0, 0), (0, 0)))[:-1]
    first = (jnp.arange(STAGES) == 0)[:, None, None]
    return jnp.where(first, new[None], wide)


@FAMILY.variants(shifted=shifted, rolled=rolled, padded=padded)
def forward(draw: Draw, move) -> Case:
    run = lambda ws, xs: run_pipeline(ws, xs, relu, move)
    return case(line(), run, f32((STAGES, SIZE, SIZE), "x"), micro(draw), out=P())


@FAMILY.variants(shifted=shifted, rolled=rolled)
def gradient(draw: Draw, move) -> Case:
    loss = lambda ws, xs: jnp.sum(run_pipeline(ws, xs, relu, move) ** 2)
    return case(line(), jax.grad(loss), f32((STAGES, SIZE, SIZE), "x"), micro(draw), out=P("x"))


@FAMILY.program
def with_data(draw: Draw) -> Case:
    """Two stages on each of four devices, and the rows of a microbatch are split too."""
    run = lambda ws, xs: run_pipeline(ws, xs, relu)
    xs = f32((draw.of(4, 8), 8, SIZE), None, "y")
    return case(draw.grid(), run, f32((STAGES, SIZE, SIZE), "x"), xs, out=P(None, "y"))


@FAMILY.program
def with_tensor(draw: Draw) -> Case:
    """Each stage has two layers, whose hidden features are split."""

    def layer(state, ws):
        up, down = ws
        return jnp.einsum("srf,sfd->srd", jax.nn.relu(jnp.einsum("srd,sdf->srf", state, up)), down)

    run = lambda up, down, xs: run_pipeline((up, down), xs, layer)
    up, down = f32((STAGES, SIZE, 64), "x", None, "y"), f32((STAGES, 64, SIZE), "x", "y")
    return case(draw.grid(), run, up, down, micro(draw), out=P())


@FAMILY.program
def one_move(draw: Draw) -> Case:
    """A single turn."""
    rows = draw.times(4, 1, 4)
    run = lambda state, new, ws: relu(shifted(state, new), ws)
    args = f32((STAGES, rows, SIZE), "x"), f32((rows, SIZE)), f32((STAGES, SIZE, SIZE), "x")
    return case(line(), run, *args, out=P("x"))


@FAMILY.program
def last_stage(draw: Draw) -> Case:
    """Only the result of the last stage is read."""
    rows = draw.times(4, 1, 4)
    run = lambda state, ws: relu(state, ws)[-1]
    return case(line(), run, f32((STAGES, rows, SIZE), "x"), f32((STAGES, SIZE, SIZE), "x"), out=P())


@FAMILY.program
def first_stage(draw: Draw) -> Case:
    """A microbatch is written to the first stage only."""
    rows = draw.times(4, 1, 4)
    run = lambda state, new: state.at[0].set(new)
    return case(line(), run, f32((STAGES, rows, SIZE), "x"), f32((rows, SIZE)), out=P("x"))


@FAMILY.program
def circular(draw: Draw) -> Case:
    """Each microbatch visits all stages twice, so that the last stage feeds the first."""
    rows, turns = draw.times(4, 1, 3), 2 * STAGES
    turn = lambda state, ws: relu(jnp.roll(state, 1, 0), ws)
    run = lambda state, ws: lax.fori_loop(0, turns, lambda _, s: turn(s, ws), state)
    args = f32((STAGES, rows, SIZE), "x"), f32((STAGES, SIZE, SIZE), "x")
    return case(line(), run, *args, out=P("x"))


@FAMILY.program
def stage_by_stage(draw: Draw) -> Case:
    """A scan over stages whose weights are split over stages: without a pipeline."""
    run = lambda ws, x: lax.scan(lambda x, w: (jax.nn.relu(x @ w), ()), x, ws)[0]
    return case(line(), run, f32((STAGES, SIZE, SIZE), "x"), f32((draw.times(16, 1, 4), SIZE)), out=P())


@FAMILY.program
def stage_losses(draw: Draw) -> Case:
    """A loss in each stage, and their sum."""
    rows = draw.times(4, 1, 4)
    run = lambda state, ws: jnp.sum(relu(state, ws) ** 2)
    return case(line(), run, f32((STAGES, rows, SIZE), "x"), f32((STAGES, SIZE, SIZE), "x"), out=P())
