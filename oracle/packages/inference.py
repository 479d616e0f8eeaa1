"""Probability: numpyro, blackjax, tfp, dynamax, tinygp, gpjax, flowjax, cuthbert."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from packages import Case, Family, case, integers, key, normal, uniform

FAMILY = Family()


def schools():
    """Hierarchical means, in numpyro."""
    import numpyro
    import numpyro.distributions as dist

    def model(sigma, y):
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfCauchy(5))
        with numpyro.plate("J", sigma.shape[0]):
            theta = numpyro.sample("theta", dist.Normal(mu, tau))
            numpyro.sample("obs", dist.Normal(theta, sigma), obs=y)

    sigma = np.asarray([15, 10, 16, 11, 9, 11, 10, 18], np.float32)
    y = np.asarray([28, 8, -3, 7, -1, 1, 18, 12], np.float32)
    return model, sigma, y


@FAMILY.program("numpyro")
def numpyro_log_density() -> Case:
    """The gradient of the potential of a hierarchical model."""
    from numpyro.infer.util import potential_energy

    model, sigma, y = schools()
    value = lambda params, sigma, y: potential_energy(model, (sigma, y), {}, params)
    params = {"mu": jnp.float32(1.0), "tau": jnp.float32(0.5), "theta": normal(8)}
    return case(jax.value_and_grad(value), params, sigma, y)


def numpyro_kernel(kernel, steps: int) -> Case:
    """Steps of a kernel from an initial state, without adaptation."""
    model, sigma, y = schools()
    state = kernel.init(key(), 0, None, (sigma, y), {})
    run = lambda state, sigma, y: lax.fori_loop(0, steps, lambda _, state: kernel.sample(state, (sigma, y), {}), state)
    return case(run, state, sigma, y)


@FAMILY.program("numpyro")
def numpyro_nuts() -> Case:
    """Two steps of NUTS."""
    from numpyro.infer import NUTS

    return numpyro_kernel(
        NUTS(schools()[0], step_size=0.1, adapt_step_size=False, adapt_mass_matrix=False, max_tree_depth=5), 2
    )


@FAMILY.program("numpyro")
def numpyro_hmc() -> Case:
    """3 steps of HMC."""
    from numpyro.infer import HMC

    return numpyro_kernel(
        HMC(schools()[0], step_size=0.05, num_steps=8, adapt_step_size=False, adapt_mass_matrix=False), 3
    )


@FAMILY.program("numpyro")
def numpyro_svi() -> Case:
    """5 steps of variational inference with a normal guide."""
    import numpyro
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoMultivariateNormal

    model, sigma, y = schools()
    svi = SVI(model, AutoMultivariateNormal(model), numpyro.optim.Adam(0.01), Trace_ELBO(num_particles=4))
    state = svi.init(key(), sigma, y)
    run = lambda state, sigma, y: lax.scan(lambda state, _: svi.update(state, sigma, y), state, length=5)
    return case(run, state, sigma, y)


@FAMILY.program("numpyro")
def numpyro_distributions() -> Case:
    """Samples and densities of many distributions."""
    import numpyro.distributions as dist

    def run(key, a, b):
        keys = jax.random.split(key, 12)
        made = [
            dist.Gamma(a, b),
            dist.Beta(a, b),
            dist.StudentT(a + 2, 0.0, b),
            dist.Weibull(b, a),
            dist.Laplace(a, b),
            dist.LogNormal(a, 0.3),
            dist.InverseGamma(a + 1, b),
            dist.Kumaraswamy(a, b),
            dist.Poisson(3 * a),
            dist.NegativeBinomial2(a, b),
            dist.BetaBinomial(a, b, total_count=10),
            dist.Dirichlet(jnp.stack([a, b, a], -1)),
        ]
        samples = [one.sample(key) for one, key in zip(made, keys)]
        return samples, [one.log_prob(x) for one, x in zip(made, samples)]

    return case(run, key(), uniform(16, low=0.5, high=2.0), uniform(16, low=0.5, high=2.0, seed=2))


@FAMILY.program("numpyro")
def numpyro_lkj() -> Case:
    """A sample of correlations, its density, and a multivariate normal with it."""
    import numpyro.distributions as dist

    def run(key, scale, x):
        factor = dist.LKJCholesky(5, 2.0).sample(key)
        density = dist.LKJCholesky(5, 2.0).log_prob(factor)
        return factor, density, dist.MultivariateNormal(scale_tril=scale[:, None] * factor).log_prob(x)

    return case(run, key(), uniform(5, low=0.5, high=2.0), normal(7, 5))


def banana(x):
    """A log density."""
    return -0.5 * jnp.sum(x**2) - 2.0 * jnp.sum((x[1:] - x[:-1] ** 2) ** 2)


def blackjax_kernel(kernel, steps: int) -> Case:
    """Steps of a kernel of blackjax."""
    state = kernel.init(normal(4, scale=0.3))
    run = lambda state, keys: lax.scan(lambda state, key: (kernel.step(key, state)[0], state.position), state, keys)
    return case(run, state, jax.random.split(key(), steps))


@FAMILY.program("blackjax")
def blackjax_nuts() -> Case:
    """3 steps of NUTS."""
    import blackjax

    return blackjax_kernel(blackjax.nuts(banana, 0.1, np.ones(4, np.float32)), 3)


@FAMILY.program("blackjax")
def blackjax_mala() -> Case:
    """20 steps of MALA."""
    import blackjax

    return blackjax_kernel(blackjax.mala(banana, 0.01), 20)


@FAMILY.program("blackjax")
def blackjax_slice() -> Case:
    """10 steps of elliptical slice sampling."""
    import blackjax

    return blackjax_kernel(blackjax.elliptical_slice(banana, mean=jnp.zeros(4), cov=jnp.eye(4)), 10)


@FAMILY.program("blackjax")
def blackjax_smc() -> Case:
    """A step of tempered SMC, with HMC inside and systematic resampling."""
    import blackjax
    from blackjax.smc import resampling

    smc = blackjax.tempered_smc(
        lambda x: -0.5 * jnp.sum(x**2),
        banana,
        blackjax.hmc.build_kernel(),
        blackjax.hmc.init,
        {
            "step_size": jnp.asarray([0.05]),
            "inverse_mass_matrix": jnp.ones((1, 4)),
            "num_integration_steps": jnp.asarray([4]),
        },
        resampling.systematic,
        num_mcmc_steps=2,
    )
    state = smc.init(normal(32, 4))
    return case(lambda key, state: smc.step(key, state, 0.3), key(), state)


@FAMILY.program("tfp")
def tfp_bijectors() -> Case:
    """Forward values, inverses and log determinants of bijectors."""
    from tensorflow_probability.substrates import jax as tfp

    tfb = tfp.bijectors

    def run(x, shift):
        chain = tfb.Chain([tfb.Shift(shift), tfb.SinhArcsinh(skewness=0.2), tfb.Softplus()])
        y = chain.forward(x)
        cholesky = tfb.FillScaleTriL().forward(x[0, :6])
        return (
            y,
            chain.inverse(y),
            chain.forward_log_det_jacobian(x, event_ndims=1),
            cholesky,
            tfb.SoftmaxCentered().forward(x),
        )

    return case(run, normal(8, 6), normal(6))


@FAMILY.program("tfp")
def tfp_hmc_chain() -> Case:
    """5 steps of HMC with step size adaptation."""
    from tensorflow_probability.substrates import jax as tfp

    def run(start, key):
        kernel = tfp.mcmc.SimpleStepSizeAdaptation(tfp.mcmc.HamiltonianMonteCarlo(banana, 0.05, 4), 4)
        return tfp.mcmc.sample_chain(
            5, start, kernel=kernel, trace_fn=lambda _, results: results.inner_results.is_accepted, seed=key
        )

    return case(run, normal(4, scale=0.3), key())


@FAMILY.program("tfp")
def tfp_gaussian_process() -> Case:
    """The marginal likelihood of a Gaussian process, with its gradient."""
    from tensorflow_probability.substrates import jax as tfp

    def likelihood(amplitude, length, x, y):
        kernel = tfp.math.psd_kernels.MaternFiveHalves(amplitude, length)
        return tfp.distributions.GaussianProcess(kernel, x, observation_noise_variance=0.1).log_prob(y)

    return case(jax.value_and_grad(likelihood, (0, 1)), jnp.float32(1.0), jnp.float32(0.5), uniform(24, 1), normal(24))


@FAMILY.program("tfp")
def tfp_kalman() -> Case:
    """The filter and smoother of a local linear trend."""
    from tensorflow_probability.substrates import jax as tfp

    def run(level, slope, y):
        trend = tfp.sts.LocalLinearTrendStateSpaceModel(
            num_timesteps=30,
            level_scale=level,
            slope_scale=slope,
            initial_state_prior=tfp.distributions.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2)),
            observation_noise_scale=0.5,
        )
        return trend.log_prob(y), trend.posterior_marginals(y)

    return case(run, jnp.float32(0.3), jnp.float32(0.1), normal(30, 1))


@FAMILY.program("tfp")
def tfp_special_functions() -> Case:
    """Special functions and quantiles."""
    from tensorflow_probability.substrates import jax as tfp

    def run(x, p):
        math, tfd = tfp.math, tfp.distributions
        return (
            math.bessel_iv_ratio(1.5, x),
            math.log_bessel_kve(0.7, x),
            math.erfcx(x),
            math.lambertw(x),
            math.owens_t(x, 0.7),
            tfd.StudentT(4.0, 0.0, 1.0).quantile(p),
            tfd.Beta(2.0, 3.0).quantile(p),
            math.betaincinv(2.0, 3.0, p),
            math.igammainv(x, p),
        )

    return case(run, uniform(32, low=0.1, high=4.0), uniform(32, low=0.05, high=0.95))


@FAMILY.program("dynamax")
def dynamax_linear_gaussian() -> Case:
    """The smoother and the likelihood's gradient of a linear Gaussian model."""
    from dynamax.linear_gaussian_ssm import LinearGaussianSSM

    model = LinearGaussianSSM(3, 2)
    params, _ = model.initialize(key())

    def run(params, y):
        value, gradient = jax.value_and_grad(lambda params: model.marginal_log_prob(params, y))(params)
        return value, gradient, model.smoother(params, y).smoothed_means

    return case(run, params, normal(30, 2))


@FAMILY.program("dynamax")
def dynamax_gaussian_hmm_em() -> Case:
    """A step of EM of a Gaussian HMM."""
    from dynamax.hidden_markov_model import GaussianHMM

    model = GaussianHMM(3, 2)
    params, props = model.initialize(key())
    state = model.initialize_m_step_state(params, props)

    def run(params, y):
        stats, value = jax.vmap(lambda y: model.e_step(params, y))(y)
        new, _ = model.m_step(params, props, stats, state)
        return new, value, model.most_likely_states(params, y[0])

    return case(run, params, normal(4, 25, 2))


@FAMILY.program("dynamax")
def dynamax_extended_kalman() -> Case:
    """The extended and unscented filters of a pendulum."""
    from dynamax.nonlinear_gaussian_ssm import (
        ParamsNLGSSM,
        UKFHyperParams,
        extended_kalman_filter,
        unscented_kalman_filter,
    )

    def run(mean, y):
        params = ParamsNLGSSM(
            initial_mean=mean,
            initial_covariance=jnp.eye(2),
            dynamics_covariance=0.01 * jnp.eye(2),
            emission_covariance=0.1 * jnp.eye(1),
            dynamics_function=lambda z: jnp.stack([z[0] + 0.05 * z[1], z[1] - 0.5 * jnp.sin(z[0])]),
            emission_function=lambda z: jnp.sin(z[:1]),
        )
        return extended_kalman_filter(params, y), unscented_kalman_filter(params, y, UKFHyperParams())

    return case(run, normal(2), normal(25, 1))


@FAMILY.program("tinygp")
def tinygp_likelihood() -> Case:
    """The likelihood of a Gaussian process and its gradient, and a prediction."""
    from tinygp import GaussianProcess, kernels

    def build(params, x):
        kernel = jnp.exp(params["a"]) * kernels.Matern32(jnp.exp(params["s"])) + kernels.ExpSineSquared(
            scale=1.5, gamma=jnp.exp(params["g"])
        )
        return GaussianProcess(kernel, x, diag=0.1)

    def run(params, x, y, test):
        value = jax.value_and_grad(lambda params: build(params, x).log_probability(y))(params)
        after = build(params, x).condition(y, test).gp
        return value, after.mean, after.variance

    params = {name: jnp.float32(0.1 * i) for i, name in enumerate("asg")}
    return case(run, params, np.sort(uniform(32, high=10)), normal(32), np.linspace(0, 10, 20).astype(np.float32))


@FAMILY.program("tinygp", x64=True)
def tinygp_quasiseparable() -> Case:
    """The scalable solver, a scan over the points."""
    from tinygp import GaussianProcess, kernels

    def value(scale, x, y):
        return GaussianProcess(
            kernels.quasisep.Matern52(scale) + kernels.quasisep.SHO(2.0, 3.0), x, diag=0.1
        ).log_probability(y)

    return case(jax.value_and_grad(value), jnp.float64(1.2), np.sort(uniform(50, high=10)), normal(50))


@FAMILY.program("gpjax", x64=True)
def gpjax_elbo() -> Case:
    """The evidence bound of a sparse variational process, with its gradient."""
    import equinox as eqx
    import gpjax as gpx

    data = gpx.Dataset(X=uniform(40, 1), y=normal(40, 1))
    prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Constant(), kernel=gpx.kernels.RBF())
    family = gpx.variational_families.VariationalGaussian(prior * gpx.likelihoods.Gaussian(), uniform(8, 1, seed=2))
    params, static = eqx.partition(family, eqx.is_array)
    value = lambda params, x, y: gpx.objectives.elbo(eqx.combine(params, static), gpx.Dataset(X=x, y=y))
    return case(jax.value_and_grad(value), params, data.X, data.y)


@FAMILY.program("flowjax")
def flowjax_masked_autoregressive() -> Case:
    """The density of an autoregressive flow, its gradient, and samples."""
    import equinox as eqx
    from flowjax.distributions import Normal
    from flowjax.flows import masked_autoregressive_flow

    flow = masked_autoregressive_flow(jax.random.key(0), base_dist=Normal(jnp.zeros(3)), nn_width=16, flow_layers=3)
    params, static = eqx.partition(flow, eqx.is_inexact_array)

    def run(params, x, key):
        value = lambda params: -eqx.combine(params, static).log_prob(x).mean()
        return jax.value_and_grad(value)(params), eqx.combine(params, static).sample(
            jax.random.wrap_key_data(key), (8,)
        )

    return case(run, params, normal(32, 3), key())


@FAMILY.program("flowjax")
def flowjax_spline_coupling() -> Case:
    """The density of a coupling flow with splines."""
    import equinox as eqx
    from flowjax.bijections import RationalQuadraticSpline
    from flowjax.distributions import Normal
    from flowjax.flows import coupling_flow

    flow = coupling_flow(
        jax.random.key(0),
        base_dist=Normal(jnp.zeros(4)),
        transformer=RationalQuadraticSpline(knots=6, interval=4),
        nn_width=16,
        flow_layers=2,
    )
    params, static = eqx.partition(flow, eqx.is_inexact_array)
    return case(lambda params, x: eqx.combine(params, static).log_prob(x), params, normal(16, 4))


@FAMILY.program("cuthbert")
def cuthbert_kalman() -> Case:
    """The parallel square root filter."""
    from cuthbertlib.kalman import filtering

    def run(m0, chol, move, y):
        eye = 0.3 * jnp.eye(2)
        state = filtering.predict(m0, chol, move, jnp.zeros(2), eye)
        return filtering.update(*state, jnp.eye(2)[:1], jnp.zeros(1), 0.5 * jnp.eye(1), y)

    return case(run, normal(2), np.eye(2, dtype=np.float32), normal(2, 2), normal(1))


@FAMILY.program("numpyro")
def numpyro_enumeration() -> Case:
    """The density of a mixture with its discrete variable summed out, and its gradient."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer.util import log_density

    def model(y):
        weights = numpyro.sample("weights", dist.Dirichlet(jnp.ones(3)))
        means = numpyro.sample("means", dist.Normal(0, 2).expand([3]).to_event(1))
        with numpyro.plate("data", y.shape[0]):
            numpyro.sample("y", dist.MixtureSameFamily(dist.Categorical(weights), dist.Normal(means, 1.0)), obs=y)

    value = lambda params, y: log_density(model, (y,), {}, params)[0]
    return case(jax.value_and_grad(value), {"weights": jnp.asarray([0.2, 0.3, 0.5]), "means": normal(3)}, normal(20))


@FAMILY.program("numpyro")
def numpyro_gaussian_random_walk() -> Case:
    """A model over time with scan, and its gradient."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.contrib.control_flow import scan
    from numpyro.infer.util import log_density

    def model(y):
        drift = numpyro.sample("drift", dist.Normal(0, 1))
        noise = numpyro.sample("noise", dist.Exponential(1.0))

        def step(z, y):
            z = numpyro.sample("z", dist.Normal(0.9 * z + drift, 0.5))
            numpyro.sample("y", dist.StudentT(4.0, z, noise), obs=y)
            return z, z

        scan(step, 0.0, y)

    value = lambda params, y: log_density(model, (y,), {}, params)[0]
    params = {"drift": jnp.float32(0.1), "noise": jnp.float32(0.7), "z": normal(25)}
    return case(jax.value_and_grad(value), params, normal(25))


@FAMILY.program("blackjax")
def blackjax_sgld() -> Case:
    """20 steps of stochastic gradient Langevin dynamics."""
    import blackjax

    def gradient(x, batch):
        return jax.grad(lambda x: banana(x) - 0.1 * jnp.sum((batch - x) ** 2))(x)

    sampler = blackjax.sgld(gradient)
    run = lambda x, keys, batches: lax.scan(
        lambda x, given: (sampler.step(given[0], x, given[1], 1e-3), x), x, (keys, batches)
    )
    return case(run, normal(4), jax.random.split(key(), 20), normal(20, 4))


@FAMILY.program("blackjax")
def blackjax_pathfinder() -> Case:
    """Pathfinder: L-BFGS and samples from its normals."""
    import blackjax

    run = lambda key, x: blackjax.vi.pathfinder.approximate(key, banana, x, num_samples=16, maxiter=8)[0]
    return case(run, key(), normal(4, scale=0.5))


@FAMILY.program("tfp")
def tfp_optimizers() -> Case:
    """Nelder-Mead, L-BFGS and differential evolution."""
    from tensorflow_probability.substrates import jax as tfp

    def run(x, key):
        value = lambda x: jnp.sum((x - 1.0) ** 2 * jnp.asarray([1.0, 3.0, 0.5]), axis=-1)
        simplex = tfp.optimizer.nelder_mead_minimize(value, initial_vertex=x, max_iterations=15)
        newton = tfp.optimizer.lbfgs_minimize(jax.value_and_grad(value), initial_position=x, max_iterations=8)
        return simplex.position, newton.position

    return case(run, normal(3), key())


@FAMILY.program("tfp")
def tfp_joint_distribution() -> Case:
    """A sample of a joint distribution with its density, and a no-U-turn step."""
    from tensorflow_probability.substrates import jax as tfp

    tfd = tfp.distributions
    joint = tfd.JointDistributionSequential(
        [
            tfd.Gamma(2.0, 1.0),
            tfd.Normal(0.0, 1.0),
            lambda b, a: tfd.Independent(tfd.Normal(jnp.zeros(4) + b, a), 1),
            tfd.WishartTriL(5.0, scale_tril=jnp.eye(3)),
        ]
    )

    def run(key, start):
        sample = joint.sample(seed=key)
        kernel = tfp.mcmc.NoUTurnSampler(banana, 0.1, max_tree_depth=4)
        after, _ = kernel.one_step(start, kernel.bootstrap_results(start), seed=key)
        return sample, joint.log_prob(sample), after

    return case(run, key(), normal(4, scale=0.3))
