"""Training and reinforcement learning: optax, flax, haiku, equinox, rlax, mctx, flashbax, distrax, evosax."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from packages import Case, Family, case, integers, key, normal, uniform

FAMILY = Family()


def update(optimizer, steps: int = 1) -> Case:
    """Steps of an optimiser of optax on a small network."""
    import optax

    params = {"a": normal(16, 32, scale=0.2), "b": np.zeros(32, np.float32), "c": normal(32, 4, seed=2, scale=0.2)}

    def loss(params, x, y):
        logits = jnp.tanh(x @ params["a"] + params["b"]) @ params["c"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def step(params, state, x, y):
        for _ in range(steps):
            value, gradient = jax.value_and_grad(loss)(params, x, y)
            updates, state = optimizer.update(gradient, state, params)
            params = optax.apply_updates(params, updates)
        return params, state, value

    return case(step, params, optimizer.init(params), normal(64, 16), integers(4, 64))


@FAMILY.program("optax")
def optax_adamw_schedule() -> Case:
    """AdamW with clipping and a cosine schedule with warm-up."""
    import optax

    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 10, 100)
    return update(optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule)), 2)


@FAMILY.program("optax")
def optax_muon() -> Case:
    """Muon, which makes updates orthogonal."""
    import optax

    return update(optax.contrib.muon(1e-2))


@FAMILY.program("optax")
def optax_adafactor() -> Case:
    """Adafactor."""
    import optax

    return update(optax.adafactor(1e-2), 2)


@FAMILY.program("optax")
def optax_lbfgs() -> Case:
    """A step of L-BFGS with its line search."""
    import optax

    optimizer = optax.lbfgs()
    value = lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def step(x, state):
        loss, gradient = optax.value_and_grad_from_state(value)(x, state=state)
        updates, state = optimizer.update(gradient, state, x, value=loss, grad=gradient, value_fn=value)
        return optax.apply_updates(x, updates), state

    x = normal(8, scale=0.3)
    return case(step, x, optimizer.init(x))


@FAMILY.program("optax")
def optax_ctc_loss() -> Case:
    """The loss of CTC and its gradient."""
    import optax

    loss = lambda logits, pads, labels: optax.ctc_loss(logits, pads, labels, pads[:, :6]).mean()
    return case(jax.value_and_grad(loss), normal(4, 20, 8), np.zeros((4, 20), np.float32), 1 + integers(7, 4, 6))


@FAMILY.program("flax")
def flax_nnx_train_step() -> Case:
    """A step of training of a small convolutional network of nnx, with dropout and normalisation."""
    import optax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.conv = nnx.Conv(1, 8, (3, 3), rngs=rngs)
            self.norm = nnx.BatchNorm(8, rngs=rngs)
            self.drop = nnx.Dropout(0.2, rngs=rngs)
            self.head = nnx.Linear(8 * 49, 10, rngs=rngs)

        def __call__(self, x):
            x = nnx.avg_pool(nnx.relu(self.norm(self.conv(x))), (2, 2), (2, 2))
            return self.head(self.drop(x.reshape(x.shape[0], -1)))

    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(1e-2, momentum=0.9), wrt=nnx.Param)
    graph, state = nnx.split((model, optimizer))

    def step(state, x, y):
        model, optimizer = nnx.merge(graph, state)

        def loss(model):
            return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

        value, gradient = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradient)
        return value, nnx.state((model, optimizer))

    return case(step, state, normal(8, 14, 14, 1), integers(10, 8))


@FAMILY.program("flax")
def flax_linen_attention() -> Case:
    """A block of a transformer in linen, and its gradient."""
    from flax import linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            mask = nn.make_causal_mask(x[..., 0])
            x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x), mask=mask)
            return x + nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.RMSNorm()(x))))

    block, x = Block(), normal(2, 16, 32)
    params = block.init(key(), x)
    return case(jax.value_and_grad(lambda params, x: jnp.mean(block.apply(params, x) ** 2)), params, x)


@FAMILY.program("flax")
def flax_linen_lstm() -> Case:
    """A bidirectional LSTM with lengths."""
    from flax import linen as nn

    model = nn.Bidirectional(nn.RNN(nn.LSTMCell(16)), nn.RNN(nn.GRUCell(16)))
    x, lengths = normal(4, 12, 8), np.asarray([12, 7, 3, 9], np.int32)
    params = model.init(key(), x)
    return case(lambda params, x, lengths: model.apply(params, x, seq_lengths=lengths), params, x, lengths)


@FAMILY.program("dm-haiku")
def haiku_resnet() -> Case:
    """A forward pass in training of a small ResNet."""
    import haiku as hk

    def forward(x):
        return hk.nets.ResNet([1, 1, 1, 1], 10, channels_per_group=(8, 8, 16, 16))(x, is_training=True)

    model = hk.without_apply_rng(hk.transform_with_state(forward))
    x = normal(2, 32, 32, 3)
    params, state = model.init(key(), x)
    return case(model.apply, params, state, x)


@FAMILY.program("dm-haiku")
def haiku_lstm_dropout() -> Case:
    """The gradient of an LSTM with dropout."""
    import haiku as hk

    def forward(x):
        core = hk.DeepRNN([hk.LSTM(16), hk.GRU(8)])
        y, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
        return jnp.mean(hk.dropout(hk.next_rng_key(), 0.3, y) ** 2)

    model = hk.transform(forward)
    x = normal(10, 4, 6)
    return case(jax.value_and_grad(model.apply), model.init(key(), x), key(1), x)


@FAMILY.program("equinox")
def equinox_unet_step() -> Case:
    """Convolutions, group norms and transposed convolutions, with a gradient."""
    import equinox as eqx

    keys = jax.random.split(key(), 4)
    model = eqx.nn.Sequential(
        [
            eqx.nn.Conv2d(3, 8, 3, stride=2, padding=1, key=keys[0]),
            eqx.nn.GroupNorm(4, 8),
            eqx.nn.Lambda(jax.nn.silu),
            eqx.nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1, key=keys[1]),
        ]
    )
    params, static = eqx.partition(model, eqx.is_array)

    def loss(params, x):
        model = eqx.combine(params, static)
        return jnp.mean((jax.vmap(model)(x) - x) ** 2)

    return case(jax.value_and_grad(loss), params, normal(2, 3, 16, 16))


@FAMILY.program("equinox")
def equinox_attention() -> Case:
    """Attention with rotary embeddings."""
    import equinox as eqx

    attention = eqx.nn.MultiheadAttention(4, 32, key=key())
    rotary = eqx.nn.RotaryPositionalEmbedding(8)
    params, static = eqx.partition((attention, rotary), eqx.is_array)

    def run(params, x):
        attention, rotary = eqx.combine(params, static)
        heads = lambda q, k, v: (jax.vmap(rotary, 1, 1)(q), jax.vmap(rotary, 1, 1)(k), v)
        return attention(x, x, x, mask=jnp.tril(jnp.ones((12, 12), bool)), process_heads=heads)

    return case(run, params, normal(12, 32))


@FAMILY.program("rlax")
def rlax_vtrace() -> Case:
    """V-trace and the errors of policy gradients, in a batch."""
    import rlax

    def one(v_tm1, v_t, r, discount, rho):
        out = rlax.vtrace_td_error_and_advantage(v_tm1, v_t, r, discount, jnp.exp(rho))
        return out.errors, out.pg_advantage, out.q_estimate

    args = [normal(8, 20, seed=i) for i in range(3)]
    return case(jax.vmap(one), *args, np.full((8, 20), 0.99, np.float32), normal(8, 20, seed=4, scale=0.3))


@FAMILY.program("rlax")
def rlax_categorical_dqn() -> Case:
    """The loss of distributional Q-learning and its gradient."""
    import rlax

    atoms = np.linspace(-5, 5, 21).astype(np.float32)

    def loss(logits, action, reward, discount, target):
        error = jax.vmap(rlax.categorical_q_learning, (None, 0, 0, 0, 0, None, 0))
        return error(atoms, logits, action, reward, discount, atoms, target).mean()

    discount = np.full(16, 0.9, np.float32)
    return case(
        jax.value_and_grad(loss), normal(16, 4, 21), integers(4, 16), normal(16), discount, normal(16, 4, 21, seed=2)
    )


@FAMILY.program("rlax")
def rlax_retrace() -> Case:
    """Retrace, lambda returns and transformed n-step returns."""
    import rlax

    def one(q, target_q, action, reward, probability):
        discount = jnp.full_like(reward, 0.95)
        error = rlax.retrace(
            q[:-1],
            target_q[1:],
            action[:-1],
            action[1:],
            reward[:-1],
            discount[:-1],
            jax.nn.softmax(q[1:]),
            probability[1:],
            0.9,
        )
        returns = rlax.lambda_returns(reward, discount, q[:, 0], 0.9)
        return error, returns, rlax.SIGNED_HYPERBOLIC_PAIR.apply(returns)

    args = normal(4, 12, 5), normal(4, 12, 5, seed=2), integers(5, 4, 12), normal(4, 12), uniform(4, 12, low=0.1)
    return case(jax.vmap(one), *args)


def tree_search(policy: str) -> Case:
    """Monte Carlo tree search with a model of a bandit with a memory."""
    import mctx

    weights = normal(6, 4, seed=3)

    def recurrent(weights, key, action, embedding):
        embedding = jnp.tanh(embedding + weights[:, action].T)
        logits = embedding @ weights
        output = mctx.RecurrentFnOutput(
            reward=embedding[:, 0],
            discount=jnp.full(embedding.shape[:1], 0.9),
            prior_logits=logits,
            value=embedding.sum(-1),
        )
        return output, embedding

    def search(weights, key, embedding):
        root = mctx.RootFnOutput(prior_logits=embedding @ weights, value=embedding.sum(-1), embedding=embedding)
        run = getattr(mctx, policy)
        output = run(weights, key, root, recurrent, num_simulations=24, max_depth=6)
        return output.action, output.action_weights, output.search_tree.summary()

    return case(search, weights, key(), normal(8, 6))


@FAMILY.program("mctx")
def mctx_muzero() -> Case:
    """The search of MuZero."""
    return tree_search("muzero_policy")


@FAMILY.program("mctx")
def mctx_gumbel_muzero() -> Case:
    """The search of Gumbel MuZero."""
    return tree_search("gumbel_muzero_policy")


def buffer(make) -> Case:
    """Adds to a buffer of flashbax, and samples."""
    item = {"obs": np.zeros(4, np.float32), "action": np.int32(0), "reward": np.float32(0)}
    replay, batch = make
    state = replay.init(item)

    def run(state, batch, key):
        state = replay.add(state, batch)
        return state, replay.sample(state, key), replay.can_sample(state)

    return case(run, state, batch, key())


@FAMILY.program("flashbax")
def flashbax_trajectories() -> Case:
    """A buffer of trajectories."""
    import flashbax

    replay = flashbax.make_trajectory_buffer(
        add_batch_size=4,
        sample_batch_size=8,
        sample_sequence_length=5,
        period=1,
        min_length_time_axis=5,
        max_length_time_axis=64,
    )
    batch = {"obs": normal(4, 10, 4), "action": integers(3, 4, 10), "reward": normal(4, 10)}
    return buffer((replay, batch))


@FAMILY.program("flashbax")
def flashbax_prioritised() -> Case:
    """A buffer with priorities, in a sum tree."""
    import flashbax

    replay = flashbax.make_prioritised_flat_buffer(
        max_length=128, min_length=8, sample_batch_size=8, add_batch_size=4, priority_exponent=0.6
    )
    item = {"obs": np.zeros(4, np.float32), "reward": np.float32(0)}

    def run(state, batches, priorities, key):
        state, _ = lax.scan(lambda state, batch: (replay.add(state, batch), ()), state, batches)
        sample = replay.sample(state, key)
        return replay.set_priorities(state, sample.indices, priorities), sample

    return case(run, replay.init(item), {"obs": normal(10, 4, 4), "reward": normal(10, 4)}, uniform(8), key())


@FAMILY.program("distrax")
def distrax_flow() -> Case:
    """A coupling flow with rational quadratic splines: sample, density, gradient."""
    import distrax

    def flow(params):
        return distrax.Transformed(
            distrax.MultivariateNormalDiag(jnp.zeros(4), jnp.ones(4)),
            distrax.Block(distrax.RationalQuadraticSpline(params, -3.0, 3.0), 1),
        )

    def run(params, key):
        sample, density = flow(params).sample_and_log_prob(seed=key, sample_shape=(16,))
        gradient = jax.grad(lambda params: flow(params).log_prob(lax.stop_gradient(sample)).mean())(params)
        return sample, density, gradient

    return case(run, normal(4, 25, scale=0.5), key())


@FAMILY.program("distrax")
def distrax_hmm() -> Case:
    """Forward, backward and Viterbi of a hidden Markov model."""
    import distrax

    def run(start, move, means, seen):
        hmm = distrax.HMM(
            distrax.Categorical(start), distrax.Categorical(move), distrax.Normal(means, jnp.ones_like(means))
        )
        return hmm.forward_backward(seen), hmm.viterbi(seen)

    return case(run, normal(5), normal(5, 5), normal(5, scale=3), normal(40, scale=3))


@FAMILY.program("distrax")
def distrax_mixtures() -> Case:
    """Samples and entropies of several distributions."""
    import distrax

    def run(logits, means, key):
        keys = jax.random.split(key, 5)
        mixture = distrax.MixtureSameFamily(distrax.Categorical(logits), distrax.Normal(means, 0.5))
        x = mixture.sample(seed=keys[0], sample_shape=(32,))[:, None]
        gamma = distrax.Gamma(jnp.exp(means), 1.5)
        beta = distrax.Beta(jnp.exp(means), 2.0)
        gumbel = distrax.Gumbel(means, 1.0)
        return (
            x,
            mixture.log_prob(x[:, 0]),
            gamma.log_prob(jnp.abs(x) + 0.1),
            beta.entropy(),
            gumbel.sample(seed=keys[3]),
            distrax.VonMises(means, 2.0).sample(seed=keys[4]),
        )

    return case(run, normal(6), normal(6), key())


def evolve(name: str, distribution: bool, **options) -> Case:
    """5 generations of an evolution strategy on Rosenbrock's function."""
    import evosax.algorithms

    if distribution:
        strategy = getattr(evosax.algorithms, name)(population_size=16, solution=np.zeros(6, np.float32), **options)
    else:
        strategy = getattr(evosax.algorithms, name)(population_size=16, solution=np.zeros(6, np.float32), **options)
    params = strategy.default_params
    fitness = jax.vmap(lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))
    if distribution:
        state = strategy.init(key(), np.zeros(6, np.float32), params)
    else:
        population = normal(16, 6)
        state = strategy.init(key(), population, np.asarray(fitness(population)), params)

    def run(state, params, keys):
        def generation(state, key):
            ask, tell = jax.random.split(key)
            population, state = strategy.ask(ask, state, params)
            state, _ = strategy.tell(tell, population, fitness(population), state, params)
            return state, state.best_fitness

        return lax.scan(generation, state, keys)

    return case(run, state, params, jax.random.split(key(1), 5))


@FAMILY.program("evosax")
def evosax_cma_es() -> Case:
    """CMA-ES, with its eigenvectors."""
    return evolve("CMA_ES", True)


@FAMILY.program("evosax")
def evosax_open_es() -> Case:
    """OpenAI's evolution strategy."""
    return evolve("Open_ES", True)


@FAMILY.program("evosax")
def evosax_differential_evolution() -> Case:
    """Differential evolution."""
    return evolve("DifferentialEvolution", False)


@FAMILY.program("evosax")
def evosax_pso() -> Case:
    """Particle swarms."""
    return evolve("PSO", False)
