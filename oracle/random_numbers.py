"""Random numbers as JAX draws them, for `testdata/random.txt`: `name | arguments | the values`, floats by their bits."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

TABLE = Path(__file__).parent.parent / "testdata/random.txt"


def words(x):
    x = np.asarray(x).ravel()
    if x.dtype == np.bool_:
        x = x.astype(np.uint32)
    return " ".join(f"{w:x}" for w in x.view(f"u{x.dtype.itemsize}"))


def lines():
    f32, bf16 = jnp.float32, jnp.bfloat16
    for seed in (0, 1, 42, 2147483647):
        key = jax.random.key(seed)
        data = jax.random.key_data
        yield f"split | {seed} 5 | {words(data(jax.random.split(key, 5)))}"
        for n in (0, 7, 4294967295):
            yield f"fold_in | {seed} {n} | {words(data(jax.random.fold_in(key, n)))}"
        for shape in ((7,), (4, 6), (2, 3, 4), (1,)):
            size = ",".join(map(str, shape))
            yield f"bits | {seed} {size} | {words(jax.random.bits(key, shape))}"
            yield f"uniform | {seed} {size} | {words(jax.random.uniform(key, shape, f32))}"
            yield f"uniform_bf16 | {seed} {size} | {words(jax.random.uniform(key, shape, bf16))}"
            yield f"normal | {seed} {size} | {words(jax.random.normal(key, shape, f32))}"
            yield f"randint | {seed} {size} 5 900 | {words(jax.random.randint(key, shape, 5, 900, jnp.int32))}"
            yield f"randint | {seed} {size} 0 64 | {words(jax.random.randint(key, shape, 0, 64, jnp.int32))}"
            yield f"bernoulli | {seed} {size} 0.25 | {words(jax.random.bernoulli(key, 0.25, shape))}"
            logits = (jnp.arange(np.prod(shape)).reshape(shape) % 5).astype(f32)
            yield f"gumbel | {seed} {size} | {words(jax.random.gumbel(key, shape, f32))}"
            yield f"exponential | {seed} {size} | {words(jax.random.exponential(key, shape, f32))}"
            yield f"laplace | {seed} {size} | {words(jax.random.laplace(key, shape, f32))}"
            yield f"logistic | {seed} {size} | {words(jax.random.logistic(key, shape, f32))}"
            yield f"choice | {seed} {size} 30 | {words(jax.random.choice(key, 30, shape).astype(jnp.int32))}"
            once = jax.random.choice(key, 30, shape, replace=False)
            yield f"choice_once | {seed} {size} 30 | {words(once.astype(jnp.int32))}"
            p = (jnp.arange(30) % 4 + 1).astype(f32) / 64
            yield f"choice_p | {seed} {size} 30 | {words(jax.random.choice(key, 30, shape, p=p).astype(jnp.int32))}"
            once = jax.random.choice(key, 30, shape, replace=False, p=p)
            yield f"choice_once_p | {seed} {size} 30 | {words(once.astype(jnp.int32))}"
            yield f"categorical | {seed} {size} | {words(jax.random.categorical(key, logits).astype(jnp.int32))}"
        for n in (1, 8, 100, 3000):
            yield f"permutation | {seed} {n} | {words(jax.random.permutation(key, n).astype(jnp.int32))}"


def main():
    text = f"# Random numbers of jax {jax.__version__}: made by `oracle/random_numbers.py --write`.\n" + "\n".join(lines()) + "\n"
    if "--write" in sys.argv:
        TABLE.write_text(text)
        return 0
    is_same = TABLE.read_text() == text
    print(f"{text.count(chr(10)) - 1} draws, {'as recorded' if is_same else 'not as recorded'}")
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
