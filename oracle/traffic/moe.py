"""Mixtures of experts: routing, dispatch, expert layers, combination."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, f32, i32, line

FAMILY = Family("moe")
EXPERTS = 8


def tokens(draw: Draw, *spec):
    """Tokens with their features."""
    return f32((draw.times(64, 1, 3), 32), *(spec or ("x",)))


def expert_weights(width: int = 64):
    """Two layers for each expert; experts are split."""
    return f32((EXPERTS, 32, width), "x"), f32((EXPERTS, width, 32), "x")


def routes(x, router, capacity: int):
    """Gates and one-hot places in the experts' buffers: tokens, experts, capacity."""
    gates = jax.nn.softmax(x @ router)
    chosen = jax.nn.one_hot(jnp.argmax(gates, 1), EXPERTS)
    place = (jnp.cumsum(chosen, 0) - 1) * chosen
    slots = jax.nn.one_hot(place.astype(jnp.int32), capacity) * chosen[:, :, None]
    return jnp.sum(gates * chosen, 1), slots


def layer(x, router, up, down):
    """A layer in which each token visits one expert."""
    gate, slots = routes(x, router, 2 * x.shape[0] // EXPERTS)
    sent = jnp.einsum("td,tec->ecd", x, slots)
    made = jnp.einsum("ecf,efd->ecd", jax.nn.relu(jnp.einsum("ecd,edf->ecf", sent, up)), down)
    return jnp.einsum("ecd,tec->td", made, slots) * gate[:, None]


@FAMILY.program
def layer_tokens_split(draw: Draw) -> Case:
    """Tokens and experts are split over the same axis."""
    return case(line(), layer, tokens(draw), f32((32, EXPERTS)), *expert_weights(), out=P("x"))


@FAMILY.program
def layer_tokens_whole(draw: Draw) -> Case:
    return case(line(), layer, tokens(draw, None), f32((32, EXPERTS)), *expert_weights(), out=P())


@FAMILY.program
def layer_gradient(draw: Draw) -> Case:
    up, down = expert_weights()
    run = jax.grad(lambda up, down, x, router: jnp.sum(layer(x, router, up, down) ** 2), (0, 1))
    return case(line(), run, up, down, tokens(draw), f32((32, EXPERTS)), out=(P("x"), P("x")))


@FAMILY.program
def layer_grid(draw: Draw) -> Case:
    """Tokens over one axis, experts over it too, and hidden features over the other."""
    up, down = f32((EXPERTS, 32, 64), "x", None, "y"), f32((EXPERTS, 64, 32), "x", "y")
    return case(draw.grid(), layer, tokens(draw), f32((32, EXPERTS)), up, down, out=P("x"))


@FAMILY.program
def dispatch(draw: Draw) -> Case:
    """Only the product that sends tokens to experts."""
    x = tokens(draw)
    slots = f32((x.shape[0], EXPERTS, x.shape[0] // 4), "x")
    return case(line(), lambda x, s: jax.nn.relu(jnp.einsum("td,tec->ecd", x, s)), x, slots, out=P("x"))


@FAMILY.program
def combine(draw: Draw) -> Case:
    """Only the product that collects the experts' results."""
    n = draw.times(64, 1, 3)
    made, slots = f32((EXPERTS, n // 4, 32), "x"), f32((n, EXPERTS, n // 4), "x")
    return case(line(), lambda m, s: jnp.einsum("ecd,tec->td", m, s), made, slots, out=P("x"))


@FAMILY.program
def gather_dispatch(draw: Draw) -> Case:
    """Tokens are gathered by the numbers in the experts' slots."""
    x = tokens(draw)
    slots = i32((EXPERTS, x.shape[0] // 4), "x")
    return case(line(), lambda x, i: x[i], x, slots, out=P("x"))


@FAMILY.program
def scatter_combine(draw: Draw) -> Case:
    """Experts add their results to split tokens."""
    n = draw.times(64, 1, 3)
    made, slots = f32((EXPERTS, n // 4, 32), "x"), i32((EXPERTS, n // 4), "x")
    run = lambda m, i: jnp.zeros((n, 32)).at[i].add(m)
    return case(line(), run, made, slots, out=P("x"))


@FAMILY.variants(tokens=("x",), experts=(None, "x"), both=("x", "y"))
def top_two(draw: Draw, spec: tuple) -> Case:
    """The two best experts of each token, and their weights."""
    x = f32((draw.times(64, 1, 3), 64), *spec)
    on = draw.grid() if len(spec) == 2 and spec[0] else line()

    def run(x):
        best, which = lax.top_k(x, 2)
        return jax.nn.softmax(best), which

    rows = P(spec[0])
    return case(on, run, x, out=(rows, rows))


@FAMILY.program
def argmax_experts(draw: Draw) -> Case:
    """The best of split experts."""
    run = lambda x: jnp.argmax(x, 1)
    return case(line(), run, f32((draw.times(64, 1, 3), 64), None, "x"), out=P())


@FAMILY.program
def balance_loss(draw: Draw) -> Case:
    """The loss that keeps experts equally busy."""

    def run(x, router):
        gates = jax.nn.softmax(x @ router)
        chosen = jax.nn.one_hot(jnp.argmax(gates, 1), EXPERTS)
        return EXPERTS * jnp.sum(gates.mean(0) * chosen.mean(0))

    return case(line(), run, tokens(draw), f32((32, EXPERTS)), out=P())


@FAMILY.program
def dense_mixture(draw: Draw) -> Case:
    """Every token visits every expert."""

    def run(x, router, up, down):
        made = jnp.einsum("tef,efd->ted", jax.nn.relu(jnp.einsum("td,edf->tef", x, up)), down)
        return jnp.einsum("ted,te->td", made, jax.nn.softmax(x @ router))

    return case(line(), run, tokens(draw, None), f32((32, EXPERTS)), *expert_weights(), out=P())


@FAMILY.program
def ragged_product(draw: Draw) -> Case:
    """Sorted tokens in groups of sizes known at run time, with split hidden features."""
    run = lambda x, w, sizes: lax.ragged_dot(x, w, sizes)
    w = f32((EXPERTS, 32, 64), None, None, "x")
    return case(line(), run, tokens(draw, None), w, i32((EXPERTS,)), out=P(None, "x"))
