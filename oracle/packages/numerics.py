"""Solvers and transforms: diffrax, optimistix, lineax, jaxopt, ott, s2fft, quadax, interpax, orthax, matfree, signax, sympy2jax."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from packages import Case, Family, case, integers, key, normal, uniform

FAMILY = Family()


def lotka(t, y, args):
    """Hunters and hunted."""
    a, b = args
    return jnp.stack([a * y[0] - y[0] * y[1], y[0] * y[1] - b * y[1]])


@FAMILY.program("diffrax")
def diffrax_tsit5_adaptive() -> Case:
    """An adaptive Runge-Kutta solve, saved at some times."""
    import diffrax as dfx

    def run(y0, args, times):
        return dfx.diffeqsolve(
            dfx.ODETerm(lotka),
            dfx.Tsit5(),
            0.0,
            5.0,
            0.1,
            y0,
            args,
            saveat=dfx.SaveAt(ts=times),
            stepsize_controller=dfx.PIDController(rtol=1e-4, atol=1e-5),
            max_steps=256,
        ).ys

    return case(
        run,
        np.asarray([1.0, 0.5], np.float32),
        (jnp.float32(1.1), jnp.float32(0.8)),
        np.linspace(0, 5, 12).astype(np.float32),
    )


@FAMILY.program("diffrax")
def diffrax_gradient() -> Case:
    """The gradient through a solve, with checkpoints."""
    import diffrax as dfx

    def run(y0, args):
        solution = dfx.diffeqsolve(dfx.ODETerm(lotka), dfx.Heun(), 0.0, 2.0, 0.1, y0, args, max_steps=32)
        return jnp.sum(solution.ys**2)

    return case(
        jax.value_and_grad(run, (0, 1)), np.asarray([1.0, 0.5], np.float32), (jnp.float32(1.1), jnp.float32(0.8))
    )


@FAMILY.program("diffrax")
def diffrax_implicit_stiff() -> Case:
    """Kvaerno5 on Robertson's problem."""
    import diffrax as dfx

    def robertson(t, y, k):
        a, b, c = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
        return jnp.stack([c - a, a - b - c, b])

    def run(y0, k):
        return dfx.diffeqsolve(
            dfx.ODETerm(robertson),
            dfx.Kvaerno5(),
            0.0,
            10.0,
            2e-4,
            y0,
            k,
            max_steps=512,
            stepsize_controller=dfx.PIDController(rtol=1e-3, atol=1e-5),
        ).ys

    return case(run, np.asarray([1.0, 0.0, 0.0], np.float32), np.asarray([0.04, 3e3, 1e2], np.float32))


@FAMILY.program("diffrax")
def diffrax_sde() -> Case:
    """A stochastic equation over a Brownian tree, for many keys."""
    import diffrax as dfx

    def one(key, y0):
        path = dfx.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=(2,), key=jax.random.wrap_key_data(key))
        terms = dfx.MultiTerm(
            dfx.ODETerm(lambda t, y, _: -y), dfx.ControlTerm(lambda t, y, _: jnp.diag(0.3 + 0.1 * y**2), path)
        )
        return dfx.diffeqsolve(terms, dfx.Heun(), 0.0, 1.0, 0.05, y0, max_steps=64).ys

    return case(jax.vmap(one, (0, None)), jax.random.split(key(), 8), normal(2))


def rosenbrock(x, scale):
    """Residuals of Rosenbrock's function."""
    return jnp.concatenate([scale * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])


@FAMILY.program("optimistix")
def optimistix_levenberg_marquardt() -> Case:
    """Least squares by Levenberg and Marquardt."""
    import optimistix as optx

    run = lambda x, scale: optx.least_squares(
        rosenbrock, optx.LevenbergMarquardt(1e-4, 1e-4), x, scale, max_steps=64, throw=False
    ).value
    return case(run, normal(4), jnp.float32(3.0))


@FAMILY.program("optimistix")
def optimistix_bfgs() -> Case:
    """Minimisation by BFGS."""
    import optimistix as optx

    value = lambda x, scale: jnp.sum(rosenbrock(x, scale) ** 2)
    run = lambda x, scale: optx.minimise(value, optx.BFGS(1e-3, 1e-3), x, scale, max_steps=64, throw=False).value
    return case(run, normal(4, scale=0.3), jnp.float32(2.0))


@FAMILY.program("optimistix")
def optimistix_implicit_gradient() -> Case:
    """The gradient of a root by the implicit function theorem."""
    import optimistix as optx

    def root(a):
        solution = optx.root_find(
            lambda x, a: x**3 + a * x - 1.0, optx.Newton(1e-5, 1e-5), jnp.ones_like(a), a, max_steps=32, throw=False
        )
        return solution.value

    return case(jax.value_and_grad(lambda a: jnp.sum(root(a) ** 2)), uniform(6, low=0.5, high=2.0))


@FAMILY.program("optimistix")
def optimistix_fixed_point() -> Case:
    """A fixed point and a bisection."""
    import optimistix as optx

    def run(w, b):
        point = optx.fixed_point(
            lambda z, _: jnp.tanh(w @ z + b), optx.FixedPointIteration(1e-5, 1e-5), jnp.zeros(6), throw=False
        )
        root = optx.root_find(
            lambda x, _: jnp.cos(x) - b[0] * x,
            optx.Bisection(1e-5, 1e-5),
            jnp.float32(0.5),
            options={"lower": 0.0, "upper": 3.0},
            throw=False,
        )
        return point.value, root.value

    return case(run, normal(6, 6, scale=0.2), uniform(6, low=0.5))


@FAMILY.program("lineax")
def lineax_solvers() -> Case:
    """Direct and iterative solvers of linear systems."""
    import lineax as lx

    def run(a, b, diagonal):
        positive = lx.MatrixLinearOperator(a @ a.T + jnp.eye(8), lx.positive_semidefinite_tag)
        tall = lx.MatrixLinearOperator(jnp.concatenate([a, a[:3] + 1.0]))
        banded = lx.TridiagonalLinearOperator(diagonal + 4.0, diagonal[1:], diagonal[:-1])
        return (
            lx.linear_solve(positive, b, lx.Cholesky()).value,
            lx.linear_solve(positive, b, lx.CG(1e-5, 1e-5), throw=False).value,
            lx.linear_solve(lx.MatrixLinearOperator(a + 3 * jnp.eye(8)), b, lx.LU()).value,
            lx.linear_solve(lx.MatrixLinearOperator(a + 4 * jnp.eye(8)), b, lx.GMRES(1e-4, 1e-4), throw=False).value,
            lx.linear_solve(tall, jnp.concatenate([b, b[:3]]), lx.QR()).value,
            lx.linear_solve(tall, jnp.concatenate([b, b[:3]]), lx.SVD()).value,
            lx.linear_solve(banded, b, lx.Tridiagonal()).value,
        )

    return case(run, normal(8, 8), normal(8), normal(8))


@FAMILY.program("jaxopt")
def jaxopt_lbfgs() -> Case:
    """10 iterations of L-BFGS for logistic regression."""
    import jaxopt

    solver = jaxopt.LBFGS(jaxopt.objective.binary_logreg, maxiter=10, tol=0.0)
    run = lambda w, x, y: solver.run(w, (x, y)).params
    return case(run, np.zeros(5, np.float32), normal(40, 5), integers(2, 40))


@FAMILY.program("jaxopt")
def jaxopt_projected_gradient() -> Case:
    """Projections and a constrained problem with its derivative."""
    import jaxopt
    from jaxopt import projection

    def run(x, a, b):
        solver = jaxopt.ProjectedGradient(
            lambda w, a, b: jnp.sum((a @ w - b) ** 2), projection.projection_simplex, maxiter=50
        )
        solution = lambda b: solver.run(jnp.full(6, 1 / 6), hyperparams_proj=1.0, a=a, b=b).params
        return solution(b), jax.jacrev(solution)(b), projection.projection_l1_ball(x, 1.0)

    return case(run, normal(6), normal(8, 6), normal(8))


@FAMILY.program("jaxopt")
def jaxopt_osqp() -> Case:
    """A quadratic program."""
    import jaxopt

    def run(q, c, g, h):
        solver = jaxopt.OSQP(maxiter=100, tol=1e-3)
        return solver.run(params_obj=(q @ q.T + jnp.eye(4), c), params_ineq=(g, h)).params.primal

    return case(run, normal(4, 4), normal(4), normal(6, 4), uniform(6, low=0.5))


@FAMILY.program("ott-jax")
def ott_sinkhorn() -> Case:
    """Entropic transport between points, with the gradient of its cost."""
    from ott.geometry import pointcloud
    from ott.solvers import linear

    def cost(x, y):
        return linear.solve(pointcloud.PointCloud(x, y, epsilon=0.1), max_iterations=50).reg_ot_cost

    return case(jax.value_and_grad(cost), normal(24, 2), normal(32, 2, seed=2))


@FAMILY.program("ott-jax")
def ott_gromov_wasserstein() -> Case:
    """Transport between spaces of different dimension."""
    from ott.geometry import pointcloud
    from ott.problems.quadratic import quadratic_problem
    from ott.solvers.linear import sinkhorn
    from ott.solvers.quadratic import gromov_wasserstein

    def run(x, y):
        problem = quadratic_problem.QuadraticProblem(pointcloud.PointCloud(x), pointcloud.PointCloud(y))
        solver = gromov_wasserstein.GromovWasserstein(
            linear_solver=sinkhorn.Sinkhorn(max_iterations=30), epsilon=0.5, max_iterations=5
        )
        return solver(problem).matrix

    return case(run, normal(12, 2), normal(10, 3))


@FAMILY.program("ott-jax")
def ott_soft_sort() -> Case:
    """Soft ranks and quantiles."""
    from ott.tools import soft_sort

    return case(lambda x: (soft_sort.ranks(x, epsilon=0.05), soft_sort.sort(x, topk=4, epsilon=0.05)), normal(16))


@FAMILY.program("s2fft", x64=True)
def s2fft_forward_inverse() -> Case:
    """The spherical harmonic transform and its inverse."""
    import s2fft

    def run(f):
        flm = s2fft.forward_jax(f, 16, sampling="mw")
        return flm, s2fft.inverse_jax(flm, 16, sampling="mw")

    return case(run, normal(16, 31) + 0j)


@FAMILY.program("s2fft", x64=True)
def s2fft_wigner() -> Case:
    """A transform on the rotation group with spin."""
    import s2fft

    return case(lambda f: s2fft.transforms.wigner.forward_jax(f, 6, 3, sampling="mw"), normal(5, 6, 11) + 0j)


@FAMILY.program("quadax")
def quadax_adaptive() -> Case:
    """Adaptive quadrature, and its gradient."""
    import quadax

    def integral(a):
        return quadax.quadgk(
            lambda x, a: jnp.exp(-a * x**2) * jnp.cos(3 * x),
            jnp.asarray([0.0, 4.0]),
            args=(a,),
            epsabs=1e-5,
            epsrel=1e-5,
        )[0]

    return case(jax.value_and_grad(integral), jnp.float32(0.7))


@FAMILY.program("quadax")
def quadax_romberg() -> Case:
    """Romberg's method, and tanh-sinh."""
    import quadax

    def run(a):
        f = lambda x, a: jnp.sqrt(1.0 + a * x**2)
        ends = jnp.asarray([0.0, 1.0])
        return (
            quadax.romberg(f, ends, args=(a,), epsabs=1e-4, epsrel=1e-4)[0],
            quadax.quadts(f, ends, args=(a,), epsabs=1e-4, epsrel=1e-4)[0],
        )

    return case(run, jnp.float32(0.7))


@FAMILY.program("interpax")
def interpax_splines() -> Case:
    """Interpolation in one, two and three dimensions."""
    import interpax

    def run(q, x, f, f2, f3):
        grid = jnp.linspace(0.0, 1.0, 12)
        one = [
            interpax.interp1d(q, grid, f, method=method)
            for method in ["linear", "cubic", "cubic2", "cardinal", "monotonic"]
        ]
        two = interpax.interp2d(q, x, grid, grid, f2, method="cubic")
        three = interpax.interp3d(q, x, q, grid, grid, grid, f3, method="cubic")
        return one, two, three

    return case(run, uniform(20), uniform(20, seed=2), normal(12), normal(12, 12), normal(12, 12, 12))


@FAMILY.program("orthax")
def orthax_series() -> Case:
    """Values, products, derivatives, roots and nodes of Chebyshev and Legendre series."""
    from orthax import chebyshev, legendre

    def run(c, d, x):
        return (
            chebyshev.chebval(x, c),
            chebyshev.chebmul(c, d),
            chebyshev.chebder(c),
            legendre.legint(c),
            legendre.legval2d(x, x, c[:, None] * d),
            legendre.leggauss(8),
            chebyshev.chebfit(x, jnp.sin(x), 4),
        )

    return case(run, normal(6), normal(6, seed=2), uniform(20, low=-1))


@FAMILY.program("matfree")
def matfree_log_determinant() -> Case:
    """A log determinant by Lanczos and random vectors."""
    from matfree import decomp, funm, stochtrace

    def run(a, key):
        positive = a @ a.T + jnp.eye(16)
        integrand = funm.monte_carlo_funm_sym_logdet(decomp.tridiag_sym(6))
        estimate = stochtrace.estimator_monte_carlo(integrand, sampler=stochtrace.sampler_signs(jnp.zeros(16), num=8))
        return estimate(lambda v: positive @ v, key)

    return case(run, normal(16, 16, scale=0.3), key())


@FAMILY.program("signax")
def signax_signature() -> Case:
    """Signatures and log signatures of paths."""
    import signax

    return case(
        lambda x: (
            signax.signature(x, 3),
            signax.logsignature(x, 3),
            jax.grad(lambda x: signax.signature(x, 2).sum())(x),
        ),
        normal(4, 12, 3),
    )


@FAMILY.program("sympy2jax")
def sympy2jax_expression() -> Case:
    """A symbolic expression as a module, with its gradient."""
    import sympy
    import sympy2jax

    x, y = sympy.symbols("x y")
    module = sympy2jax.SymbolicModule(sympy.sin(x * y) ** 2 + sympy.exp(-(x**2)) / (1 + y**2) + sympy.Max(x, y))
    return case(jax.value_and_grad(lambda a, b: jnp.sum(module(x=a, y=b)), (0, 1)), normal(10), normal(10, seed=2))
