"""Bodies, particles, fields and the sky: brax, mjx, jax-md, jax-cosmo, jaxlie, exojax, jax-cfd."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from packages import Case, Family, case, key, normal, uniform

FAMILY = Family()


def brax_step(name: str, backend: str, steps: int = 1) -> Case:
    """Steps of a body of brax."""
    from brax import envs

    env = envs.get_environment(name, backend=backend)
    state = jax.jit(env.reset)(key())

    def step(state, actions):
        return lax.scan(lambda state, action: (env.step(state, action), state.reward), state, actions)

    if steps == 1:
        return case(env.step, state, uniform(env.action_size, low=-1))
    return case(step, state, uniform(steps, env.action_size, low=-1))


@FAMILY.program("brax")
def brax_ant_step() -> Case:
    """A step of the ant, with the generalized pipeline."""
    return brax_step("ant", "generalized")


@FAMILY.program("brax")
def brax_ant_spring_step() -> Case:
    """A step of the ant, with springs."""
    return brax_step("ant", "spring")


@FAMILY.program("brax")
def brax_hopper_step() -> Case:
    """A step of the hopper, with the generalized pipeline."""
    return brax_step("hopper", "generalized")


@FAMILY.program("brax")
def brax_hopper_positional_step() -> Case:
    """A step of the hopper, with positions."""
    return brax_step("hopper", "positional")


@FAMILY.program("brax")
def brax_pendulum_rollout() -> Case:
    """20 steps of the inverted pendulum."""
    return brax_step("inverted_pendulum", "generalized", 20)


@FAMILY.program("brax")
def brax_reacher_rollout() -> Case:
    """10 steps of the reacher."""
    return brax_step("reacher", "generalized", 10)


@FAMILY.program("brax")
def brax_humanoid_step() -> Case:
    """A step of the humanoid, with positions."""
    return brax_step("humanoid", "positional")


@FAMILY.program("brax")
def brax_halfcheetah_step() -> Case:
    """A step of the half cheetah, with springs."""
    return brax_step("halfcheetah", "spring")


@FAMILY.program("brax")
def brax_ppo_loss() -> Case:
    """The gradient of PPO's loss for a small policy."""
    from brax.training import types
    from brax.training.agents.ppo import losses, networks

    network = networks.make_ppo_networks(8, 2)
    params = losses.PPONetworkParams(
        policy=network.policy_network.init(key()), value=network.value_network.init(key(1))
    )
    length, batch = 10, 8
    data = types.Transition(
        observation=normal(batch, length, 8),
        action=normal(batch, length, 2),
        reward=normal(batch, length),
        discount=np.ones((batch, length), np.float32),
        next_observation=normal(batch, length, 8, seed=2),
        extras={
            "state_extras": {"truncation": np.zeros((batch, length), np.float32)},
            "policy_extras": {
                "raw_action": normal(batch, length, 2),
                "log_prob": normal(batch, length),
                "distribution_params": normal(batch, length, 4),
            },
        },
    )
    loss = lambda params, data, key: losses.compute_ppo_loss(params, None, data, key, network)[0]
    return case(jax.value_and_grad(loss), params, data, key(2))


PENDULUM = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 1">
      <joint name="a" type="hinge" axis="0 1 0" damping=".1"/>
      <geom type="capsule" size=".05" fromto="0 0 0 0 0 -.5" mass="1"/>
      <body pos="0 0 -.5">
        <joint name="b" type="hinge" axis="0 1 0" damping=".1"/>
        <geom type="capsule" size=".05" fromto="0 0 0 0 0 -.3" mass=".5"/>
      </body>
    </body>
    <body pos=".5 0 .15"><freejoint/><geom type="sphere" size=".1" mass=".2"/></body>
  </worldbody>
  <actuator><motor joint="a" gear="2"/></actuator>
</mujoco>
"""


@FAMILY.program("mujoco-mjx")
def mjx_step() -> Case:
    """A step of a double pendulum and a ball, as MuJoCo computes it."""
    import mujoco
    from mujoco import mjx

    model = mujoco.MjModel.from_xml_string(PENDULUM)
    on_device = mjx.put_model(model)
    data = mjx.make_data(on_device)
    return case(mjx.step, on_device, data.replace(qvel=jnp.asarray(normal(model.nv)), ctrl=jnp.ones(1)))


@FAMILY.program("mujoco-mjx")
def mjx_kinematics() -> Case:
    """Positions and velocities of the bodies."""
    import mujoco
    from mujoco import mjx

    on_device = mjx.put_model(mujoco.MjModel.from_xml_string(PENDULUM))

    def run(model, data):
        data = mjx.kinematics(model, data)
        return mjx.com_pos(model, data)

    return case(run, on_device, mjx.make_data(on_device))


def lattice(count: int, spacing: float, dimension: int = 2) -> np.ndarray:
    """Points of a jittered square lattice."""
    side = round(count ** (1 / dimension))
    grid = np.stack(np.meshgrid(*[np.arange(side) * spacing] * dimension, indexing="ij"), -1).reshape(-1, dimension)
    return (grid + 0.5 * spacing + normal(*grid.shape, scale=0.02)).astype(normal().dtype)


@FAMILY.program("jax-md")
def jax_md_lennard_jones_nve() -> Case:
    """20 steps of 64 particles at constant energy."""
    from jax_md import energy, simulate, space

    displacement, shift = space.periodic(9.6)
    init, apply = simulate.nve(energy.lennard_jones_pair(displacement), shift, 1e-3)
    state = init(key(), lattice(64, 1.2), kT=0.5)
    return case(lambda state: lax.fori_loop(0, 20, lambda _, state: apply(state), state), state)


@FAMILY.program("jax-md")
def jax_md_soft_sphere_neighbors() -> Case:
    """The energy and forces of soft spheres with a neighbour list, and its update."""
    from jax_md import energy, space

    box = 12.0
    displacement, _ = space.periodic(box)
    neighbor, pair = energy.soft_sphere_neighbor_list(displacement, box, sigma=1.2)
    points = lattice(100, 1.2)
    neighbors = neighbor.allocate(points)

    def run(points, neighbors):
        neighbors = neighbors.update(points)
        return jax.value_and_grad(pair)(points, neighbor=neighbors), neighbors.idx, neighbors.did_buffer_overflow

    return case(run, points + 0.01, neighbors)


@FAMILY.program("jax-md")
def jax_md_fire_minimize() -> Case:
    """30 steps of FIRE on soft spheres."""
    from jax_md import energy, minimize, space

    displacement, shift = space.periodic(6.0)
    init, apply = minimize.fire_descent(energy.soft_sphere_pair(displacement), shift)
    state = init(uniform(32, 2, high=6))
    return case(lambda state: lax.fori_loop(0, 30, lambda _, state: apply(state), state), state)


@FAMILY.program("jax-md")
def jax_md_nose_hoover() -> Case:
    """10 steps at constant temperature."""
    from jax_md import energy, simulate, space

    displacement, shift = space.periodic(4.8)
    init, apply = simulate.nvt_nose_hoover(energy.lennard_jones_pair(displacement), shift, 1e-3, 0.5)
    state = init(key(), lattice(64, 1.2, 3))
    return case(lambda state: lax.fori_loop(0, 10, lambda _, state: apply(state), state), state)


@FAMILY.program("jax-md")
def jax_md_stillinger_weber() -> Case:
    """Energy and forces of silicon."""
    from jax_md import energy, space

    displacement, _ = space.periodic(10.9)
    pair = energy.stillinger_weber(displacement)
    return case(jax.value_and_grad(pair), lattice(27, 2.4, 3))


@FAMILY.program("jax-cosmo")
def jax_cosmo_distance() -> Case:
    """Comoving distances, and their gradient in the matter density."""
    import jax_cosmo as jc

    def distance(omega, scale):
        cosmology = jc.Cosmology(Omega_c=omega, Omega_b=0.05, h=0.7, sigma8=0.8, n_s=0.96, Omega_k=0.0, w0=-1.0, wa=0.0)
        return jc.background.radial_comoving_distance(cosmology, scale)

    jacobian = jax.jacfwd(distance)
    return case(
        lambda omega, scale: (distance(omega, scale), jacobian(omega, scale)),
        jnp.float32(0.25),
        uniform(16, low=0.2, high=0.99),
    )


def cosmology(omega, sigma8):
    """A flat universe."""
    import jax_cosmo as jc

    return jc.Cosmology(Omega_c=omega, Omega_b=0.05, h=0.7, sigma8=sigma8, n_s=0.96, Omega_k=0.0, w0=-1.0, wa=0.0)


@FAMILY.program("jax-cosmo")
def jax_cosmo_matter_power() -> Case:
    """The nonlinear spectrum of matter."""
    import jax_cosmo as jc

    power = lambda omega, sigma8, k: jc.power.nonlinear_matter_power(cosmology(omega, sigma8), k)
    return case(power, jnp.float32(0.25), jnp.float32(0.8), np.logspace(-2, 0.5, 32).astype(np.float32))


@FAMILY.program("jax-cosmo")
def jax_cosmo_lensing_spectrum() -> Case:
    """The angular spectrum of weak lensing."""
    import jax_cosmo as jc

    def spectrum(omega, sigma8, ell):
        bins = [jc.redshift.smail_nz(1.0, 2.0, 0.5 + i) for i in range(2)]
        return jc.angular_cl.angular_cl(cosmology(omega, sigma8), ell, [jc.probes.WeakLensing(bins)])

    return case(spectrum, jnp.float32(0.25), jnp.float32(0.8), np.logspace(1, 3, 16).astype(np.float32))


@FAMILY.program("jaxlie")
def jaxlie_se3_log() -> Case:
    """exp, products, inverses and log of poses, in a batch."""
    import jaxlie

    def one(a, b):
        pose = jaxlie.SE3.exp(a) @ jaxlie.SE3.exp(b).inverse()
        return pose.log(), pose.adjoint(), pose.apply(b[:3])

    return case(jax.vmap(one), normal(32, 6), normal(32, 6, seed=2))


@FAMILY.program("jaxlie")
def jaxlie_pose_graph() -> Case:
    """The gradient on the manifold of a loop of poses."""
    import jaxlie

    def cost(poses, measured):
        first = jaxlie.SE3(poses.wxyz_xyz[:-1])
        relative = first.inverse() @ jaxlie.SE3(poses.wxyz_xyz[1:])
        return jnp.sum((measured.inverse() @ relative).log() ** 2)

    poses, measured = jaxlie.SE3.exp(normal(12, 6)), jaxlie.SE3.exp(normal(11, 6, seed=2))
    step = lambda poses, measured: jaxlie.manifold.rplus(poses, -0.1 * jaxlie.manifold.grad(cost)(poses, measured))
    return case(step, poses, measured)


@FAMILY.program("jax-cfd")
def jax_cfd_navier_stokes() -> Case:
    """A step of the projection method on a periodic grid."""
    import jax_cfd.base as cfd

    grid = cfd.grids.Grid((32, 32), domain=((0, 2 * np.pi), (0, 2 * np.pi)))
    field = cfd.initial_conditions.filtered_velocity_field(key(), grid, 3.0, 4)
    step = cfd.equations.semi_implicit_navier_stokes(density=1.0, viscosity=1e-2, dt=1e-2, grid=grid)
    return case(step, field)


@FAMILY.program("jax-cfd")
def jax_cfd_spectral() -> Case:
    """10 steps of the vorticity equation in Fourier space."""
    import jax_cfd.base as cfd
    import jax_cfd.spectral as spectral

    grid = cfd.grids.Grid((32, 32), domain=((0, 2 * np.pi), (0, 2 * np.pi)))
    step = spectral.time_stepping.crank_nicolson_rk4(spectral.equations.NavierStokes2D(1e-2, grid, smooth=True), 1e-2)
    vorticity = np.fft.rfftn(normal(32, 32)).astype(np.complex64)
    return case(lambda vorticity: lax.fori_loop(0, 10, lambda _, value: step(value), vorticity), vorticity)


@FAMILY.program("exojax")
def exojax_voigt() -> Case:
    """Voigt profiles, and their gradient."""
    from exojax.opacity.lpf.lpf import voigt

    return case(
        jax.value_and_grad(lambda nu, sigma, gamma: jnp.sum(voigt(nu, sigma, gamma))),
        normal(200, scale=5),
        jnp.float32(1.0),
        jnp.float32(0.5),
    )


@FAMILY.program("jaxoplanet")
def jaxoplanet_kepler() -> Case:
    """Kepler's equation, with its gradient."""
    from jaxoplanet.core.kepler import kepler

    value = lambda mean, eccentricity: jnp.sum(jnp.stack(kepler(mean, eccentricity)))
    return case(jax.value_and_grad(value, (0, 1)), uniform(100, low=-3, high=3), uniform(100, high=0.8, seed=2))


@FAMILY.program("jaxoplanet")
def jaxoplanet_limb_dark() -> Case:
    """The light curve of a transit."""
    from jaxoplanet.core.limb_dark import light_curve

    return case(
        lambda u, b, r: light_curve(u, b, r),
        np.asarray([0.3, 0.2], np.float32),
        uniform(64, high=1.5),
        jnp.float32(0.1),
    )
