"""Packages with a JAX backend, and parts of JAX that few use: keras, pyhf, tensorly, einops, aqtp, qwix, jax."""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from packages import Case, Family, case, integers, key, normal, uniform

os.environ["KERAS_BACKEND"] = "jax"
FAMILY = Family()


def keras_training(model, loss: str, x: np.ndarray, y: np.ndarray) -> Case:
    """A step of training of a model of keras, with Adam's state."""
    import keras

    model.build(x.shape)
    optimizer = keras.optimizers.SGD(1e-2, momentum=0.9)
    optimizer.build(model.trainable_variables)
    measure = keras.losses.get(loss)

    def value(trainable, fixed, x, y):
        predicted, fixed = model.stateless_call(trainable, fixed, x, training=True)
        return jnp.mean(measure(y, predicted)), fixed

    def step(trainable, fixed, state, x, y):
        (loss, fixed), gradient = jax.value_and_grad(value, has_aux=True)(trainable, fixed, x, y)
        trainable, state = optimizer.stateless_apply(state, gradient, trainable)
        return loss, trainable, fixed, state

    values = lambda variables: [variable.value for variable in variables]
    return case(
        step,
        values(model.trainable_variables),
        values(model.non_trainable_variables),
        values(optimizer.variables),
        x,
        y,
    )


@FAMILY.program("keras")
def keras_convolutions() -> Case:
    """Separable, transposed and dilated convolutions, batch norm and dropout."""
    import keras
    from keras import layers

    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            layers.SeparableConv2D(8, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(2),
            layers.Conv2D(8, 3, dilation_rate=2, padding="same"),
            layers.Conv2DTranspose(4, 3, strides=2),
            layers.SpatialDropout2D(0.2),
            layers.GlobalAveragePooling2D(),
            layers.Dense(5, activation="softmax"),
        ]
    )
    return keras_training(model, "sparse_categorical_crossentropy", normal(4, 16, 16, 3), integers(5, 4))


@FAMILY.program("keras")
def keras_recurrent() -> Case:
    """An embedding, a bidirectional LSTM and a GRU."""
    import keras
    from keras import layers

    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            layers.Embedding(20, 8),
            layers.Bidirectional(layers.LSTM(8, return_sequences=True)),
            layers.GRU(6),
            layers.Dense(1),
        ]
    )
    return keras_training(model, "mean_squared_error", integers(20, 4, 10), normal(4, 1))


@FAMILY.program("keras")
def keras_attention() -> Case:
    """Group query attention and layer norm."""
    import keras
    from keras import layers

    keras.utils.set_random_seed(0)
    inputs = keras.Input((12, 16))
    x = layers.GroupQueryAttention(head_dim=8, num_query_heads=4, num_key_value_heads=2)(
        inputs, inputs, use_causal_mask=True
    )
    x = layers.LayerNormalization()(layers.Add()([inputs, x]))
    model = keras.Model(inputs, layers.Dense(4)(layers.Flatten()(x)))
    return keras_training(model, "huber", normal(2, 12, 16), normal(2, 4))


@FAMILY.program("keras")
def keras_image_ops() -> Case:
    """Operations on images: resizing, affine maps, patches, colours, FFT and more."""
    import keras
    from keras import ops

    def run(image):
        return (
            ops.image.resize(image, (11, 13), interpolation="bicubic"),
            ops.image.affine_transform(image, jnp.asarray([0.9, 0.1, 1.0, -0.1, 1.1, 0.5, 0.0, 0.0])),
            ops.image.extract_patches(image, 4),
            ops.image.rgb_to_hsv(image),
            ops.image.gaussian_blur(image),
            ops.segment_max(image.reshape(-1, 3), jnp.arange(256) // 10, 26),
            ops.fft2((image[..., 0], image[..., 1])),
            ops.erfinv(image - 0.5),
        )

    return case(run, uniform(1, 16, 16, 3))


@FAMILY.program("pyhf", x64=True)
def pyhf_likelihood() -> Case:
    """The likelihood of a counting experiment, with its gradient."""
    import pyhf

    pyhf.set_backend("jax")
    model = pyhf.simplemodels.uncorrelated_background([5.0, 10.0], [50.0, 60.0], [5.0, 12.0])
    value = lambda parameters, data: model.logpdf(parameters, data)[0]
    return case(jax.value_and_grad(value), np.asarray([0.8, 1.02, 0.97]), np.asarray([53.0, 65.0, 100.0, 25.0]))


@FAMILY.program("tensorly")
def tensorly_decompositions() -> Case:
    """Tucker and CP decompositions."""
    import tensorly as tl
    from tensorly.decomposition import parafac, tensor_train

    tl.set_backend("jax")

    def run(x):
        weights, factors = parafac(x, rank=2, n_iter_max=4, init="svd", tol=0)
        return tl.cp_to_tensor((weights, factors)), tl.tt_to_tensor(tensor_train(x, rank=[1, 2, 2, 1]))

    return case(run, normal(5, 6, 7))


@FAMILY.program("einops")
def einops_layers() -> Case:
    """Rearranging, reducing and packing."""
    import einops

    def run(x):
        patches = einops.rearrange(x, "b (h p) (w q) c -> b (h w) (p q c)", p=4, q=2)
        packed, _ = einops.pack([patches, patches[:, :2]], "b * d")
        return einops.reduce(packed, "b (n two) d -> b d two", "max", two=2), einops.einsum(
            patches, patches, "b n d, b m d -> b n m"
        )

    return case(run, normal(2, 8, 8, 3))


@FAMILY.program("aqtp")
def aqt_int8_product() -> Case:
    """A quantized product with its gradient, in int8."""
    from aqt.jax.v2 import config

    def loss(a, b):
        quantized = config.dot_general_make(8, 8)
        return jnp.sum(jnp.tanh(quantized(a, b, (((1,), (0,)), ((), ())))))

    return case(jax.value_and_grad(loss, (0, 1)), normal(16, 32), normal(32, 8))


@FAMILY.program("qwix")
def qwix_quantized_products() -> Case:
    """Arrays in int8 and fp8, and their products."""
    import qwix

    def run(a, b):
        results = []
        for kind in ["int8", "float8_e4m3fn"]:
            left = qwix.quantize(a, kind, channelwise_axes=[0])
            right = qwix.quantize(b, kind, channelwise_axes=[1])
            results.append(qwix.dot(left, right))
            results.append(qwix.dequantize(left))
        return results

    return case(run, normal(16, 32), normal(32, 8))


@FAMILY.program("jax")
def pallas_flash_attention() -> Case:
    """The kernel of flash attention for TPUs, interpreted."""
    from jax.experimental import pallas as pl

    def kernel(q, k, v, o):
        scores = q[...] @ k[...].T
        weights = jnp.exp(scores - scores.max(axis=1, keepdims=True))
        o[...] = (weights / weights.sum(axis=1, keepdims=True)) @ v[...]

    def run(q, k, v):
        rows = pl.BlockSpec((8, 16), lambda i: (i, 0))
        whole = pl.BlockSpec((32, 16), lambda i: (0, 0))
        return pl.pallas_call(
            kernel,
            grid=(4,),
            in_specs=[rows, whole, whole],
            out_specs=rows,
            out_shape=jax.ShapeDtypeStruct((32, 16), np.float32),
            interpret=True,
        )(q, k, v)

    return case(run, normal(32, 16), normal(32, 16, seed=2), normal(32, 16, seed=3))


@FAMILY.program("jax")
def jax_sparse_bcoo() -> Case:
    """Sparse arrays: products, transposes, sums, and a gradient."""
    from jax.experimental import sparse

    def run(data, indices, dense):
        matrix = sparse.BCOO((data, indices), shape=(12, 10))
        gradient = jax.grad(lambda data: jnp.sum((sparse.BCOO((data, indices), shape=(12, 10)) @ dense) ** 2))(data)
        return (
            matrix @ dense,
            matrix.T @ dense[:2].repeat(6, 0),
            matrix.sum(0).todense(),
            matrix.sum_duplicates(nse=30).data,
            gradient,
        )

    indices = np.stack([integers(12, 30), integers(10, 30, seed=2)], -1)
    return case(run, normal(30), indices, normal(10, 4))


@FAMILY.program("jax")
def jax_other_generators() -> Case:
    """Numbers of the generators rbg and of partitionable threefry, and many distributions."""

    def run(words):
        rbg = jax.random.wrap_key_data(words, impl="rbg")
        a, b = jax.random.split(rbg)
        two = jax.random.key(words[0])
        return (
            jax.random.normal(a, (8,)),
            jax.random.bits(b, (4,), np.uint8),
            jax.random.permutation(two, 20),
            jax.random.choice(two, 30, (5,), replace=False),
            jax.random.multivariate_normal(two, jnp.zeros(3), jnp.eye(3)),
            jax.random.ball(two, 3, shape=(4,)),
            jax.random.orthogonal(two, 4),
            jax.random.binomial(two, 10, 0.3, (6,)),
            jax.random.poisson(two, 4.0, (6,)),
            jax.random.truncated_normal(two, -1.0, 2.0, (5,)),
        )

    return case(run, np.asarray([1, 2, 3, 4], np.uint32))


@FAMILY.program("jax", x64=True)
def jax_scipy_linalg() -> Case:
    """Decompositions and functions of matrices."""
    import jax.scipy.linalg as sla

    def run(a, b):
        positive = a @ a.T + jnp.eye(6)
        return (
            sla.expm(0.3 * a),
            sla.sqrtm(positive).real,
            sla.polar(a)[1],
            sla.hessenberg(a),
            jnp.sort(jnp.abs(jnp.linalg.eigvals(a))),
            sla.cho_solve(sla.cho_factor(positive), b),
            sla.lu(a)[0],
            jnp.linalg.slogdet(a),
            jnp.linalg.pinv(a),
            sla.toeplitz(a[0]),
            jnp.abs(sla.schur(positive)[0]),
            sla.eigh_tridiagonal(a[0], a[1, :5], eigvals_only=True),
            jnp.sort(jnp.abs(jnp.roots(a[0], strip_zeros=False))),
        )

    return case(run, normal(6, 6), normal(6, 6, seed=2))


@FAMILY.program("jax")
def jax_scipy_special() -> Case:
    """Special functions, signals and interpolation of jax.scipy."""
    import jax.scipy as jsp

    def run(x, p):
        s = jsp.special
        return (
            s.i0e(x),
            s.i1(x),
            s.betainc(2.0, 3.0, p),
            s.gammainc(2.5, x),
            s.gammaincc(2.5, x),
            s.digamma(x),
            s.polygamma(2, x),
            s.zeta(x + 2, 1.0),
            s.expi(x),
            s.exp1(x),
            s.expn(3, x),
            s.ndtri(p),
            s.log_ndtr(-10 * x),
            s.hyp1f1(1.0, 2.0, x),
            s.spence(p),
            jsp.signal.convolve(x, p, mode="same"),
            jsp.signal.stft(x, nperseg=16)[2].real,
            jsp.signal.welch(x, nperseg=16)[1],
            jsp.ndimage.map_coordinates(x.reshape(8, 8), [8 * p, 8 * p], 1),
            jsp.stats.rankdata(x),
            jsp.stats.gaussian_kde(x)(p),
        )

    return case(run, uniform(64, low=0.2, high=4.0), uniform(64, low=0.05, high=0.95))


@FAMILY.program("jax")
def jax_image_and_convolution() -> Case:
    """Resizing, unusual convolutions, pooling and their gradients."""

    def run(image, kernel):
        resized = [
            jax.image.resize(image, (2, 9, 13, 4), method) for method in ["nearest", "linear", "cubic", "lanczos3"]
        ]
        dims = ("NHWC", "HWIO", "NHWC")
        convolve = lambda image, kernel: lax.conv_general_dilated(
            image, kernel, (2, 1), [(1, 2), (0, 3)], (1, 2), (2, 1), dims, feature_group_count=2
        )
        gradient = jax.grad(lambda image, kernel: jnp.sum(convolve(image, kernel) ** 2), (0, 1))(image, kernel)
        pooled = lax.reduce_window(image, -jnp.inf, lax.max, (1, 3, 2, 1), (1, 2, 2, 1), "SAME")
        patches = lax.conv_general_dilated_patches(image, (3, 3), (1, 1), "VALID", dimension_numbers=dims)
        return (
            resized,
            convolve(image, kernel),
            gradient,
            pooled,
            jax.grad(
                lambda x: jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2, 1), (1, 2, 2, 1), "SAME") ** 2)
            )(image),
            patches,
            lax.cumlogsumexp(image, 1),
        )

    return case(run, normal(2, 12, 10, 4), normal(3, 2, 2, 6))
