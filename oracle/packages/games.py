"""Environments of games and control: gymnax, pgx, jumanji, craftax, xminigrid, navix."""

import jax
import jax.numpy as jnp
from jax import lax

from packages import Case, Family, case, integers, key

FAMILY = Family()


def gymnax_step(name: str, action: float) -> Case:
    """A step of an environment of gymnax after its reset."""
    import gymnax

    env, params = gymnax.make(name)
    _, state = env.reset(key(), params)
    return case(lambda key, state, action, params: env.step(key, state, action, params), key(1), state, action, params)


def gymnax_rollout(name: str, steps: int) -> Case:
    """Random actions from a reset on, with the automatic resets of `step`."""
    import gymnax

    env, params = gymnax.make(name)

    def rollout(start, params):
        start, reset = jax.random.split(start)
        obs, state = env.reset(reset, params)

        def step(carry, key):
            state, _ = carry
            act, move = jax.random.split(key)
            action = env.action_space(params).sample(act)
            obs, state, reward, *done = env.step(move, state, action, params)
            return (state, obs), (reward, done[0])

        return lax.scan(step, (state, obs), jax.random.split(start, steps))

    return case(rollout, key(2), params)


@FAMILY.program("gymnax")
def gymnax_cartpole_rollout() -> Case:
    """100 steps of CartPole."""
    return gymnax_rollout("CartPole-v1", 100)


@FAMILY.program("gymnax")
def gymnax_breakout_rollout() -> Case:
    """50 steps of MinAtar's Breakout."""
    return gymnax_rollout("Breakout-MinAtar", 50)


@FAMILY.program("gymnax")
def gymnax_breakout_step() -> Case:
    """A step of MinAtar's Breakout."""
    return gymnax_step("Breakout-MinAtar", jnp.int32(1))


@FAMILY.program("gymnax")
def gymnax_acrobot_rollout() -> Case:
    """50 steps of Acrobot, with a Runge-Kutta integrator."""
    return gymnax_rollout("Acrobot-v1", 50)


@FAMILY.program("gymnax")
def gymnax_asterix_rollout() -> Case:
    """50 steps of MinAtar's Asterix."""
    return gymnax_rollout("Asterix-MinAtar", 50)


@FAMILY.program("gymnax")
def gymnax_pendulum_batch() -> Case:
    """64 pendulums over 20 steps."""
    import gymnax

    env, params = gymnax.make("Pendulum-v1")

    def rollout(keys, params):
        def one(key):
            obs, state = env.reset(key, params)

            def step(state, key):
                obs, state, reward, *_ = env.step(key, state, env.action_space(params).sample(key), params)
                return state, (obs, reward)

            return lax.scan(step, state, jax.random.split(key, 20))

        return jax.vmap(one)(keys)

    return case(rollout, jax.random.split(key(3), 64), params)


def pgx_rollout(name: str, games: int, steps: int) -> Case:
    """Random legal moves in some games at once."""
    import pgx

    env = pgx.make(name)

    def play(key):
        key, reset = jax.random.split(key)
        state = jax.vmap(env.init)(jax.random.split(reset, games))

        def step(state, key):
            logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
            action = jax.random.categorical(key, logits)
            state = jax.vmap(env.step)(state, action, jax.random.split(key, games))
            return state, (state.rewards, state.terminated)

        return lax.scan(step, state, jax.random.split(key, steps))

    return case(play, key(4))


@FAMILY.program("pgx")
def pgx_tic_tac_toe() -> Case:
    """Tic-tac-toe to the end."""
    return pgx_rollout("tic_tac_toe", 16, 9)


@FAMILY.program("pgx")
def pgx_connect_four() -> Case:
    """20 moves of Connect Four."""
    return pgx_rollout("connect_four", 16, 20)


@FAMILY.program("pgx")
def pgx_go_9x9() -> Case:
    """20 moves of Go."""
    return pgx_rollout("go_9x9", 4, 20)


@FAMILY.program("pgx")
def pgx_chess() -> Case:
    """10 moves of chess."""
    return pgx_rollout("chess", 2, 10)


@FAMILY.program("pgx")
def pgx_othello() -> Case:
    """20 moves of Othello."""
    return pgx_rollout("othello", 8, 20)


@FAMILY.program("pgx")
def pgx_2048() -> Case:
    """20 moves of 2048."""
    return pgx_rollout("2048", 8, 20)


@FAMILY.program("pgx")
def pgx_backgammon() -> Case:
    """10 moves of backgammon."""
    return pgx_rollout("backgammon", 4, 10)


@FAMILY.program("pgx")
def pgx_shogi_step() -> Case:
    """Two moves of shogi."""
    return pgx_rollout("shogi", 1, 2)


@FAMILY.program("pgx")
def pgx_kuhn_poker() -> Case:
    """Kuhn poker."""
    return pgx_rollout("kuhn_poker", 32, 4)


@FAMILY.program("pgx")
def pgx_hex() -> Case:
    """20 moves of Hex."""
    return pgx_rollout("hex", 4, 20)


@FAMILY.program("pgx")
def pgx_sparrow_mahjong() -> Case:
    """10 moves of a small mahjong."""
    return pgx_rollout("sparrow_mahjong", 4, 10)


@FAMILY.program("pgx")
def pgx_minatar_seaquest() -> Case:
    """20 steps of Seaquest."""
    return pgx_rollout("minatar-seaquest", 4, 20)


def jumanji_rollout(name: str, steps: int) -> Case:
    """Random actions in an environment of jumanji."""
    import jumanji

    env = jumanji.make(name)

    def rollout(key):
        key, reset = jax.random.split(key)
        state, timestep = env.reset(reset)

        def step(state, key):
            mask = getattr(timestep.observation, "action_mask", None)
            if mask is not None and env.action_spec.shape == ():
                action = jax.random.categorical(key, jnp.where(mask.reshape(-1), 0.0, -1.0))
            else:
                action = env.action_spec.generate_value()
            state, next_step = env.step(state, action)
            return state, (next_step.reward, next_step.discount)

        return lax.scan(step, state, jax.random.split(key, steps))

    return case(rollout, key(5))


@FAMILY.program("jumanji")
def jumanji_snake() -> Case:
    """20 steps of Snake."""
    return jumanji_rollout("Snake-v1", 20)


@FAMILY.program("jumanji")
def jumanji_game_2048() -> Case:
    """20 steps of 2048."""
    return jumanji_rollout("Game2048-v1", 20)


@FAMILY.program("jumanji")
def jumanji_knapsack() -> Case:
    """20 steps of a knapsack."""
    return jumanji_rollout("Knapsack-v1", 20)


@FAMILY.program("jumanji")
def jumanji_bin_pack() -> Case:
    """A step of packing bins."""
    return jumanji_rollout("BinPack-v2", 2)


@FAMILY.program("jumanji")
def jumanji_job_shop() -> Case:
    """5 steps of scheduling."""
    return jumanji_rollout("JobShop-v0", 5)


@FAMILY.program("jumanji")
def jumanji_tsp() -> Case:
    """20 steps of a travelling salesman."""
    return jumanji_rollout("TSP-v1", 20)


@FAMILY.program("jumanji")
def jumanji_maze() -> Case:
    """A maze and 10 steps in it."""
    return jumanji_rollout("Maze-v0", 10)


@FAMILY.program("jumanji")
def jumanji_tetris() -> Case:
    """3 steps of Tetris."""
    return jumanji_rollout("Tetris-v0", 3)


@FAMILY.program("jumanji")
def jumanji_sudoku() -> Case:
    """5 steps of Sudoku."""
    return jumanji_rollout("Sudoku-very-easy-v0", 5)


@FAMILY.program("craftax")
def craftax_classic_step() -> Case:
    """A step of Crafter with symbols as observation."""
    from craftax.craftax_env import make_craftax_env_from_name

    env = make_craftax_env_from_name("Craftax-Classic-Symbolic-v1", auto_reset=False)
    params = env.default_params
    _, state = jax.jit(env.reset)(key(), params)
    return case(lambda key, state, action: env.step(key, state, action, params), key(1), state, jnp.int32(3))


@FAMILY.program("craftax")
def craftax_classic_reset() -> Case:
    """The world of Crafter, from fractal noise."""
    from craftax.craftax_env import make_craftax_env_from_name

    env = make_craftax_env_from_name("Craftax-Classic-Symbolic-v1", auto_reset=False)
    return case(lambda key: env.reset(key, env.default_params), key())


@FAMILY.program("xminigrid")
def xminigrid_rollout() -> Case:
    """20 steps in a grid world."""
    import xminigrid

    env, params = xminigrid.make("MiniGrid-Empty-8x8")

    def rollout(key):
        timestep = env.reset(params, key)
        step = lambda timestep, action: (env.step(params, timestep, action), timestep.reward)
        return lax.scan(step, timestep, jax.random.randint(key, (20,), 0, 6))

    return case(rollout, key())


@FAMILY.program("navix")
def navix_rollout() -> Case:
    """20 steps in a grid world."""
    import navix

    env = navix.make("Navix-Empty-8x8-v0")

    def rollout(key, actions):
        timestep = env.reset(key)
        step = lambda timestep, action: (env.step(timestep, action), timestep.reward)
        return lax.scan(step, timestep, actions)

    return case(rollout, key(), integers(3, 20))
