"""Graphs, images and networks: jraph, e3nn-jax, dm-pix, penzai, pcax, jax-healpy, chex, zodiax, dlux, bayex."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from packages import Case, Family, case, integers, key, normal, uniform

FAMILY = Family()


def graph(nodes: int = 12, edges: int = 30):
    """Three graphs in a batch, the last of them padding."""
    import jraph

    sizes = np.asarray([5, 4, nodes - 9], np.int32)
    rng = np.random.default_rng(3)
    starts = np.asarray([0] * 12 + [5] * 10 + [9] * (edges - 22))
    within = np.asarray([5] * 12 + [4] * 10 + [nodes - 9] * (edges - 22))
    ends = lambda: (starts + rng.integers(0, 100, edges) % within).astype(np.int32)
    return jraph.GraphsTuple(
        nodes=normal(nodes, 8),
        edges=normal(edges, 4),
        senders=ends(),
        receivers=ends(),
        globals=normal(3, 2),
        n_node=sizes,
        n_edge=np.asarray([12, 10, edges - 22], np.int32),
    )


@FAMILY.program("jraph")
def jraph_graph_network() -> Case:
    """A graph network, and its gradient in the weights."""
    import jraph

    def loss(weights, graph):
        update = lambda name: lambda *parts: jnp.tanh(jnp.concatenate([*parts], -1) @ weights[name])
        net = jraph.GraphNetwork(
            update_edge_fn=lambda e, s, r, g: update("edge")(e, s, r, g),
            update_node_fn=lambda n, s, r, g: update("node")(n, s, r, g),
            update_global_fn=lambda n, e, g: update("global")(n, e, g),
        )
        out = net(graph)
        return jnp.sum(out.globals[:2] ** 2) + jnp.sum(jraph.get_node_padding_mask(graph) * out.nodes[:, 0])

    weights = {"edge": normal(22, 6, scale=0.3), "node": normal(22, 7, scale=0.3), "global": normal(15, 5, scale=0.3)}
    return case(jax.value_and_grad(loss), weights, graph())


@FAMILY.program("jraph")
def jraph_segments() -> Case:
    """Statistics and softmax of segments."""
    import jraph

    def run(x, ids):
        functions = [
            jraph.segment_variance,
            jraph.segment_max_or_constant,
            jraph.segment_min_or_constant,
            jraph.segment_softmax,
        ]
        return [f(x, ids, 12) for f in functions], jraph.segment_normalize(x, ids, 12)

    return case(run, normal(30, 4), integers(12, 30))


@FAMILY.program("jraph")
def jraph_batching() -> Case:
    """Convolution over a graph with the degrees of its nodes, and the nearest neighbours of points."""
    import jraph

    def run(w, graph):
        net = jraph.GraphConvolution(lambda nodes: nodes @ w, symmetric_normalization=True, add_self_edges=True)
        return net(graph).nodes, jraph.partition_softmax(graph.nodes[:, 0], graph.n_node, 12)

    return case(run, normal(8, 6), graph())


@FAMILY.program("e3nn-jax")
def e3nn_tensor_product() -> Case:
    """Spherical harmonics, and tensor products of representations."""
    import e3nn_jax as e3nn

    def run(x, v):
        features = e3nn.IrrepsArray("4x0e + 4x1o + 2x2e", x)
        harmonics = e3nn.spherical_harmonics("0e + 1o + 2e", v, normalize=True)
        out = e3nn.tensor_product(features, harmonics).filter("0e + 1o")
        return out.array, e3nn.norm(features).array, e3nn.gate(e3nn.IrrepsArray("6x0e + 2x1o", x[:, :12])).array

    return case(run, normal(6, 26), normal(6, 3))


@FAMILY.program("e3nn-jax")
def e3nn_message_passing() -> Case:
    """A layer of an equivariant network in flax, with its gradient in the positions."""
    import e3nn_jax as e3nn
    import flax.linen as nn

    senders, receivers = jnp.asarray(integers(8, 24)), jnp.asarray(integers(8, 24, seed=2))

    class Layer(nn.Module):
        @nn.compact
        def __call__(self, positions, features):
            vectors = e3nn.IrrepsArray("1o", positions[receivers] - positions[senders] + 0.1)
            harmonics = e3nn.spherical_harmonics("1o + 2e", vectors, True)
            messages = e3nn.concatenate([features[senders], e3nn.tensor_product(features[senders], harmonics)])
            radial = e3nn.bessel(jnp.linalg.norm(vectors.array, axis=1), 6, 3.0)
            messages = messages * e3nn.flax.MultiLayerPerceptron([8, messages.irreps.num_irreps], jax.nn.silu)(radial)
            out = e3nn.scatter_sum(messages, dst=receivers, output_size=8)
            return e3nn.flax.Linear("0e")(out).array.sum()

    layer = Layer()
    features = e3nn.IrrepsArray("2x0e + 2x1o", jnp.asarray(normal(8, 8)))
    params = layer.init(key(), jnp.asarray(normal(8, 3)), features)
    run = lambda params, positions, x: layer.apply(params, positions, e3nn.IrrepsArray("2x0e + 2x1o", x))
    return case(jax.value_and_grad(run, (0, 1)), params, normal(8, 3), normal(8, 8))


@FAMILY.program("e3nn-jax")
def e3nn_rotations() -> Case:
    """Wigner matrices, Euler angles and signals on the sphere."""
    import e3nn_jax as e3nn

    def run(angles, coefficients):
        matrix = e3nn.Irreps("1o + 2e + 3o").D_from_angles(*angles)
        back = e3nn.matrix_to_angles(e3nn.angles_to_matrix(*angles))
        signal = e3nn.to_s2grid(e3nn.IrrepsArray("0e + 1o + 2e", coefficients), 12, 11, quadrature="gausslegendre")
        return matrix, back, signal.grid_values, e3nn.from_s2grid(signal, e3nn.Irreps("0e + 1o + 2e")).array

    return case(run, normal(3), normal(9))


@FAMILY.program("dm-pix")
def pix_augmentations() -> Case:
    """Random augmentations of images."""
    import dm_pix as pix

    def one(key, image):
        keys = jax.random.split(key, 6)
        image = pix.random_flip_left_right(keys[0], image)
        image = pix.random_crop(keys[1], image, (24, 24, 3))
        image = pix.random_brightness(keys[2], image, 0.2)
        image = pix.random_hue(keys[3], image, 0.1)
        image = pix.random_saturation(keys[4], image, 0.5, 1.5)
        return pix.random_contrast(keys[5], image, 0.5, 1.5)

    return case(jax.vmap(one), jax.random.split(key(), 4), uniform(4, 32, 32, 3))


@FAMILY.program("dm-pix")
def pix_filters() -> Case:
    """Blur, rotation, affine maps and elastic deformation."""
    import dm_pix as pix

    def run(key, image):
        return (
            pix.gaussian_blur(image, 1.5, 7),
            pix.rotate(image, 0.3, order=1),
            pix.elastic_deformation(key, image, 5.0, 2.0, order=1),
            pix.rgb_to_grayscale(pix.hsv_to_rgb(pix.rgb_to_hsv(image))),
            pix.solarize(image, 0.5),
        )

    return case(run, key(), uniform(24, 24, 3))


@FAMILY.program("dm-pix")
def pix_metrics() -> Case:
    """SSIM, PSNR and other measures of two images, with a gradient."""
    import dm_pix as pix

    def run(a, b):
        return pix.ssim(a, b), pix.psnr(a, b), pix.simse(a, b), jax.grad(lambda a: pix.ssim(a, b).sum())(a)

    return case(run, uniform(2, 24, 24, 3), uniform(2, 24, 24, 3, seed=2))


@FAMILY.program("penzai")
def penzai_named_arrays() -> Case:
    """Named axes: attention in penzai's notation."""
    from penzai import pz

    def run(q, k, v):
        q, k, v = pz.nx.wrap(q).tag("t", "h", "d"), pz.nx.wrap(k).tag("s", "h", "d"), pz.nx.wrap(v).tag("s", "h", "d")
        scores = pz.nx.nmap(jnp.dot)(q.untag("d"), k.untag("d"))
        weights = pz.nx.nmap(jax.nn.softmax)(scores.untag("s"))
        return pz.nx.nmap(jnp.dot)(weights, v.untag("s")).unwrap("t", "h", "d")

    return case(run, normal(6, 2, 8), normal(7, 2, 8, seed=2), normal(7, 2, 8, seed=3))


@FAMILY.program("pcax")
def pcax_components() -> Case:
    """Principal components, and their inverse transform."""
    import pcax

    def run(x):
        state = pcax.fit(x, n_components=3)
        return jnp.abs(pcax.transform(state, x)), pcax.recover(state, pcax.transform(state, x))

    return case(run, normal(30, 8))


@FAMILY.program("jax-healpy")
def healpy_pixels() -> Case:
    """Pixels of the sphere: angles, vectors, and the nested order."""
    import jax_healpy as hp

    def run(pixels, theta, phi):
        return hp.pix2ang(8, pixels), hp.pix2vec(8, pixels), hp.ang2pix(8, theta, phi), hp.ring2nest(8, pixels)

    return case(run, integers(768, 40), uniform(40, low=0.1, high=3.0), uniform(40, high=6.2, seed=2))


@FAMILY.program("zodiax")
def zodiax_model() -> Case:
    """A model of zodiax with updates by paths, and its gradient."""
    import zodiax as zdx

    class Line(zdx.Base):
        slope: jax.Array
        offset: jax.Array

        def model(self, x):
            return self.slope * x + self.offset

    def loss(slope, offset, x, y):
        line = Line(slope, offset).add("offset", 0.1).multiply("slope", 2.0)
        return jnp.mean((line.model(x) - y) ** 2)

    return case(jax.value_and_grad(loss, (0, 1)), jnp.float32(1.0), jnp.float32(0.5), normal(10), normal(10, seed=2))


@FAMILY.program("dlux")
def dlux_telescope() -> Case:
    """The image of a star through an aperture with aberrations."""
    import dLux as dl
    import dLux.utils as dlu

    aperture = dlu.circle(dlu.pixel_coords(64, 1.0), 0.5)
    basis = dlu.zernike_basis([4, 5, 6], dlu.pixel_coords(64, 1.0), 1.0)

    def run(coefficients, wavelengths):
        optics = dl.AngularOpticalSystem(
            64,
            1.0,
            [
                (
                    "aperture",
                    dl.layers.BasisOptic(jnp.asarray(basis), jnp.asarray(aperture), coefficients, normalise=True),
                )
            ],
            32,
            0.05,
        )
        return optics.propagate(wavelengths)

    return case(run, normal(3, scale=1e-7), np.asarray([1e-6, 1.1e-6], np.float32))


@FAMILY.program("bayex")
def bayex_suggestion() -> Case:
    """The next point of Bayesian optimisation."""
    import bayex

    domain = {"x": bayex.domain.Real(0.0, 2.0)}
    optimizer = bayex.Optimizer(domain=domain, maximize=True, acq="PI")
    xs = uniform(5, high=2)
    state = optimizer.init(list(np.sin(xs).tolist()), {"x": xs.tolist()})
    return case(lambda state, key: optimizer.sample(key, state), state, key())


@FAMILY.program("chex")
def chex_dataclass_ema() -> Case:
    """A dataclass of chex through a scan, with asserts of types."""
    import chex

    @chex.dataclass
    class State:
        mean: chex.Array
        count: chex.Array

    def run(state, xs):
        def step(state, x):
            chex.assert_equal_shape([state.mean, x])
            count = state.count + 1
            return State(mean=state.mean + (x - state.mean) / count, count=count), state.mean

        return lax.scan(step, state, xs)

    return case(run, State(mean=normal(4), count=jnp.float32(1)), normal(20, 4))


@FAMILY.program("jax-dataclasses")
def jax_dataclasses_particles() -> Case:
    """Dataclasses in a loop: particles that bounce."""
    import jax_dataclasses as jdc

    @jdc.pytree_dataclass
    class Particles:
        x: jax.Array
        v: jax.Array

    def run(particles):
        def step(_, p):
            with jdc.copy_and_mutate(p) as p:
                p.x = p.x + 0.05 * p.v
                p.v = jnp.where(jnp.abs(p.x) > 1, -p.v, p.v)
            return p

        return lax.fori_loop(0, 30, step, particles)

    return case(run, Particles(x=normal(16, 2, scale=0.4), v=normal(16, 2, seed=2)))


@FAMILY.program("quax")
def quax_lora() -> Case:
    """A low rank update of weights, by quax."""
    import equinox as eqx
    import quax
    import quax.examples.lora as lora

    linear = eqx.nn.Linear(8, 6, key=key())
    adapted = eqx.tree_at(lambda layer: layer.weight, linear, lora.LoraArray(linear.weight, rank=2, key=key(1)))
    params, static = eqx.partition(adapted, eqx.is_array)
    loss = lambda params, x: jnp.sum(quax.quaxify(eqx.combine(params, static))(x) ** 2)
    return case(jax.value_and_grad(loss), params, normal(8))
