"""Quantum systems, light, neurons and stars: dynamiqs, netket, pennylane, tensorcircuit-ng, jaxquantum, fdtdx, jaxley, ..."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from packages import Case, Family, case, integers, key, normal, uniform

FAMILY = Family()


@FAMILY.program("dynamiqs")
def dynamiqs_schrodinger() -> Case:
    """An oscillator under its Hamiltonian, and what is expected of it."""
    import dynamiqs as dq

    def run(frequency, drive, times):
        a = dq.destroy(8)
        hamiltonian = frequency * a.dag() @ a + drive * (a + a.dag())
        result = dq.sesolve(hamiltonian, dq.coherent(8, 0.5), times, exp_ops=[dq.number(8)], progress_meter=False)
        return result.expects

    return case(run, jnp.float32(1.0), jnp.float32(0.3), np.linspace(0, 1, 6).astype(np.float32))


@FAMILY.program("dynamiqs")
def dynamiqs_lindblad() -> Case:
    """A density matrix with losses, by fixed steps."""
    import dynamiqs as dq

    def run(kappa, times):
        a = dq.destroy(6)
        result = dq.mesolve(
            a.dag() @ a,
            [jnp.sqrt(kappa) * a],
            dq.fock(6, 3),
            times,
            exp_ops=[dq.number(6)],
            method=dq.method.Rouchon1(dt=0.02),
            progress_meter=False,
        )
        return result.expects

    return case(run, jnp.float32(0.5), np.linspace(0, 1, 5).astype(np.float32))


@FAMILY.program("dynamiqs")
def dynamiqs_states() -> Case:
    """Coherent states, fidelities, entropies and Wigner functions."""
    import dynamiqs as dq

    def run(alpha):
        x, y = dq.coherent(12, alpha), dq.fock(12, 1)
        rho = dq.unit(x + y)
        return dq.wigner(rho, npixels=16)[2], dq.fidelity(x, y), dq.entropy_vn(dq.todm(rho))

    return case(run, jnp.float32(0.8))


@FAMILY.program("pennylane")
def pennylane_variational() -> Case:
    """The energy of a variational circuit, with its gradient."""
    import pennylane as qml

    device = qml.device("default.qubit", wires=4)

    @qml.qnode(device, interface="jax", diff_method="backprop")
    def circuit(angles):
        for layer in range(2):
            for wire in range(4):
                qml.RX(angles[layer, wire, 0], wires=wire)
                qml.RZ(angles[layer, wire, 1], wires=wire)
            for wire in range(3):
                qml.CNOT(wires=[wire, wire + 1])
        return qml.expval(qml.PauliZ(0) @ qml.PauliX(1) + 0.5 * qml.PauliY(3))

    return case(jax.value_and_grad(circuit), normal(2, 4, 2))


@FAMILY.program("pennylane", x64=True)
def pennylane_probabilities() -> Case:
    """Probabilities of a quantum Fourier transform."""
    import pennylane as qml

    device = qml.device("default.qubit", wires=4)

    @qml.qnode(device, interface="jax")
    def circuit(state):
        qml.AmplitudeEmbedding(state, wires=range(4), normalize=True)
        qml.QFT(wires=range(4))
        return qml.probs(wires=[0, 1]), qml.state()

    return case(circuit, normal(16))


@FAMILY.program("tensorcircuit-ng")
def tensorcircuit_ising() -> Case:
    """The energy of a chain of spins by tensor networks, with its gradient."""
    import tensorcircuit as tc

    backend = tc.set_backend("jax")

    def energy(angles):
        circuit = tc.Circuit(5)
        for i in range(5):
            circuit.h(i)
        for layer in range(2):
            for i in range(4):
                circuit.rzz(i, i + 1, theta=angles[layer, i])
            for i in range(5):
                circuit.rx(i, theta=angles[layer, 4 + i])
        value = sum(circuit.expectation_ps(z=[i, i + 1]) for i in range(4)) + sum(
            circuit.expectation_ps(x=[i]) for i in range(5)
        )
        return backend.real(value)

    return case(jax.value_and_grad(energy), normal(2, 9))


@FAMILY.program("netket")
def netket_metropolis() -> Case:
    """Sweeps of Metropolis and local energies of an Ising chain."""
    import netket as nk

    space = nk.hilbert.Spin(s=0.5, N=8)
    hamiltonian = nk.operator.IsingJax(hilbert=space, graph=nk.graph.Chain(8), h=1.0)
    model = nk.models.RBM(alpha=1, param_dtype=np.float32)
    sampler = nk.sampler.MetropolisLocal(space, n_chains=8)
    params = model.init(key(), jnp.ones((1, 8)))
    state = sampler.init_state(model, params, seed=key(1))

    def run(params, state):
        samples, state = sampler.sample(model, params, state=state, chain_length=4)
        flat = samples.reshape(-1, 8)
        connected, elements = hamiltonian.get_conn_padded(flat)
        ratio = jnp.exp(model.apply(params, connected) - model.apply(params, flat)[:, None])
        return samples, jnp.sum(elements * ratio, axis=-1), state

    return case(run, params, state)


@FAMILY.program("jaxquantum")
def jaxquantum_operators() -> Case:
    """Operators of an oscillator and a qubit, and an exponential."""
    import jaxquantum as jqt

    def run(g):
        a, z = jqt.destroy(6), jqt.sigmaz()
        hamiltonian = (a.dag() @ a) ^ jqt.identity(2)
        coupling = g * ((a + a.dag()) ^ z)
        state = jqt.basis(6, 0) ^ jqt.basis(2, 0)
        after = (-1j * (hamiltonian + coupling)).expm() @ state
        return after.data, jqt.ptrace(after.to_dm(), 1).data

    return case(run, jnp.float32(0.3))


@FAMILY.program("jaxley")
def jaxley_neuron() -> Case:
    """A neuron of Hodgkin and Huxley over 5 ms."""
    import jaxley as jx
    from jaxley.channels import HH

    compartment = jx.Compartment()
    branch = jx.Branch(compartment, ncomp=3)
    cell = jx.Cell(branch, parents=[-1, 0, 0])
    cell.insert(HH())
    cell.branch(1).comp(0).record(verbose=False)
    current = jx.step_current(i_delay=1.0, i_dur=2.0, i_amp=0.1, delta_t=0.025, t_max=3.0)
    cell.branch(0).comp(0).make_trainable("radius", verbose=False)
    params = cell.get_parameters()

    def run(params, current):
        stimuli = cell.branch(0).comp(0).data_stimulate(current)
        return jx.integrate(cell, params=params, data_stimuli=stimuli, delta_t=0.025)

    return case(run, params, np.asarray(current, np.float32))


@FAMILY.program("tree-math")
def tree_math_conjugate_gradient() -> Case:
    """Vectors of trees: conjugate gradients."""
    import tree_math as tm

    def run(a, tree):
        b = tm.Vector(tree)
        apply = lambda v: tm.Vector({"x": a @ a.T @ v.tree["x"] + v.tree["x"], "y": 2.0 * v.tree["y"]})

        def step(state, _):
            x, r, p = state
            ap = apply(p)
            alpha = (r @ r) / (p @ ap)
            new = r - alpha * ap
            return (x + alpha * p, new, new + ((new @ new) / (r @ r)) * p), r @ r

        (x, _, _), norms = lax.scan(step, (0 * b, b, b), length=5)
        return x, norms

    return case(run, normal(6, 6), {"x": normal(6), "y": normal(3)})


@FAMILY.program("e3x")
def e3x_features() -> Case:
    """Equivariant layers, and their gradient in the positions."""
    import e3x

    import flax.linen as nn

    pairs = (jnp.asarray([0, 0, 1, 2, 3, 4, 5, 1]), jnp.asarray([1, 2, 0, 0, 4, 3, 2, 5]))

    class Net(nn.Module):
        @nn.compact
        def __call__(self, positions):
            displacements = positions[pairs[1]] - positions[pairs[0]]
            basis = e3x.nn.basis(
                displacements,
                num=6,
                max_degree=2,
                radial_fn=e3x.nn.reciprocal_bernstein,
                cutoff_fn=lambda r: e3x.nn.smooth_cutoff(r, 5.0),
            )
            x = e3x.nn.Embed(num_embeddings=3, features=4)(jnp.asarray([0, 1, 2, 0, 1, 2]))
            y = e3x.nn.MessagePass(max_degree=2)(x, basis, dst_idx=pairs[0], src_idx=pairs[1], num_segments=6)
            y = e3x.nn.silu(e3x.nn.Dense(4)(e3x.nn.add(x, y)))
            return jnp.sum(e3x.nn.Dense(1)(e3x.nn.TensorDense(max_degree=0)(y)))

    net, positions = Net(), normal(6, 3)
    params = net.init(key(), positions)
    return case(jax.value_and_grad(net.apply, (0, 1)), params, positions)


@FAMILY.program("jaxkd")
def jaxkd_neighbours() -> Case:
    """A tree of points, and the nearest of some others."""
    import jaxkd

    def run(points, queries):
        tree = jaxkd.build_tree(points)
        return jaxkd.query_neighbors(tree, queries, k=5)

    return case(run, uniform(200, 3), uniform(20, 3, seed=2))


@FAMILY.program("qdax")
def qdax_map_elites() -> Case:
    """Two rounds of MAP-Elites with an archive of cells."""
    from functools import partial

    from qdax.core.containers.mapelites_repertoire import compute_euclidean_centroids
    from qdax.core.emitters.mutation_operators import isoline_variation
    from qdax.core.emitters.standard_emitters import MixingEmitter
    from qdax.core.map_elites import MAPElites
    from qdax.utils.metrics import default_qd_metrics

    def score(x, key):
        return -jnp.sum(x**2, axis=-1)[:, None], x[:, :2], {}

    emitter = MixingEmitter(lambda x, y: (x, y), partial(isoline_variation, iso_sigma=0.05, line_sigma=0.1), 1.0, 16)
    algorithm = MAPElites(score, emitter, partial(default_qd_metrics, qd_offset=10.0))
    centroids = compute_euclidean_centroids(grid_shape=(5, 5), minval=-1, maxval=1)
    repertoire, state, _ = algorithm.init(uniform(16, 4, low=-1), centroids, key())

    def run(repertoire, state, key):
        for key in jax.random.split(key, 2):
            repertoire, state, metrics = algorithm.update(repertoire, state, key)
        return repertoire, metrics

    return case(run, repertoire, state, key(1))


@FAMILY.program("qpax", x64=True)
def qpax_quadratic() -> Case:
    """A quadratic program by interior points, and the gradient through it."""
    import qpax

    def primal(q, g, h):
        return qpax.solve_qp_primal(
            q @ q.T + jnp.eye(4), q[0], jnp.ones((1, 4)), jnp.ones(1), g, h, solver_tol=1e-6, target_kappa=1e-3
        )

    return case(
        jax.value_and_grad(lambda q, g, h: jnp.sum(primal(q, g, h) ** 2)),
        normal(4, 4),
        normal(6, 4),
        uniform(6, low=1.0, high=2.0),
    )


@FAMILY.program("mpax")
def mpax_linear() -> Case:
    """A linear program by primal and dual hybrid gradients."""
    import mpax

    def run(c, g, h):
        problem = mpax.create_lp(
            c, jnp.ones((1, 5)), jnp.ones(1), g, h, jnp.zeros(5), jnp.ones(5), use_sparse_matrix=False
        )
        return (
            mpax.raPDHG(eps_abs=1e-3, eps_rel=1e-3, iteration_limit=200, jit=True, unroll=False)
            .optimize(problem)
            .primal_solution
        )

    return case(run, normal(5), normal(3, 5), normal(3) - 2)


@FAMILY.program("gmmx")
def gmmx_expectation() -> Case:
    """A step of EM of a mixture of normals."""
    import gmmx

    mixture = gmmx.GaussianMixtureModelJax.create(n_components=3, n_features=2)

    def run(mixture, x):
        fitter = gmmx.EMFitter(tol=1e-3, max_iter=3)
        return fitter.fit(x, mixture).gmm

    return case(run, mixture, normal(60, 2))


@FAMILY.program("jaxnnls", x64=True)
def jaxnnls_solve() -> Case:
    """Least squares without negative numbers, and the gradient through it."""
    import jaxnnls

    value = lambda q, c: jnp.sum(jaxnnls.solve_nnls_primal(q @ q.T + jnp.eye(5), c) ** 2)
    return case(jax.value_and_grad(value), normal(5, 5), normal(5))


@FAMILY.program("diffmah")
def diffmah_histories() -> Case:
    """Histories of halos."""
    from diffmah import DEFAULT_MAH_PARAMS, mah_singlehalo

    return case(
        lambda params, t: mah_singlehalo(params, t, 1.14),
        jax.tree.map(jnp.float32, DEFAULT_MAH_PARAMS),
        np.linspace(0.5, 13, 30).astype(np.float32),
    )


@FAMILY.program("fftarray")
def fftarray_derivative() -> Case:
    """The derivative of a field in frequency space."""
    import fftarray as fa

    def run(values):
        dimension = fa.dim("x", n=64, d_pos=0.1, pos_min=-3.2, freq_min=0.0, dynamically_traced_coords=False)
        field = fa.array(values, dimension, "pos")
        frequencies = fa.coords_from_dim(dimension, "freq", xp=jnp)
        slope = (2j * np.pi * frequencies * field.into_space("freq")).into_space("pos")
        return slope.values("pos")

    return case(run, normal(64).astype(np.complex64))


@FAMILY.program("jax-galsim")
def jax_galsim_drawing() -> Case:
    """The image of a galaxy, and its gradient in the shape."""
    import jax_galsim as galsim

    def image(radius, shear):
        galaxy = galsim.Gaussian(half_light_radius=radius).shear(g1=shear, g2=0.1)
        return galaxy.drawImage(nx=24, ny=24, scale=0.3, method="no_pixel").array

    return case(
        lambda radius, shear: (image(radius, shear), jax.jacfwd(image, 1)(radius, shear)),
        jnp.float32(1.2),
        jnp.float32(0.2),
    )


@FAMILY.program("halox")
def halox_profiles() -> Case:
    """Profiles of dark halos."""
    import halox
    import jax_cosmo as jc

    cosmology = jc.Planck15()

    def run(mass, concentration, r):
        halo = halox.nfw.NFWHalo(mass, concentration, 0.3, cosmology)
        return halo.density(r), halo.enclosed_mass(r), halo.potential(r), halo.surface_density(r)

    return case(run, jnp.float32(1e14), jnp.float32(4.0), uniform(16, low=0.1, high=1.5))
