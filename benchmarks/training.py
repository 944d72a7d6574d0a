"""Training on CPU: steps a second of our train step and of transformers (torch) doing the same, float32.

    .venv/bin/python -m benchmarks.training [--model t5_1_1_small] [--steps 4] [--rounds 5]

Both take 8 other examples of 128 -> 8 random tokens each step through the same model with dropout 0.1 and update all
parameters with Adafactor (ours; transformers' with relative_step=False). torch flushes denormal numbers to zero, as
XLA does. Each round times `--steps` steps of one, then of the other; ratios are medians over rounds. Without dropout
both begin with the same loss, which is printed. Needs the extra `interop` and runs from the repository's root.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

from lisax.devices.partitioning import Partitioner
from lisax.models.architectures import T5Config
from lisax.models.t5 import initialize
from lisax.training.gin_files import parsed
from lisax.training.losses import Loss
from lisax.training.optimizers import Adafactor
from lisax.training.step import make_train_step
from lisax.weights.checkpoints import TrainState
from tests.models.reference import torch_t5

ROWS, INPUTS, TARGETS = 8, 128, 8
RATE = 1e-3


def examples(config: T5Config) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Endless (inputs, targets), int32 [ROWS, length]."""
    rng = np.random.default_rng(0)
    while True:
        yield tuple(rng.integers(2, config.vocab_size, (ROWS, length)).astype(np.int32) for length in (INPUTS, TARGETS))


def ours(config: T5Config, parameters: dict) -> Callable[[], float]:
    """Takes a step and returns its loss, per token."""
    partitioner, optimizer, source = Partitioner.over_all_devices(), Adafactor(), examples(config)
    step = make_train_step(
        config,
        Loss(z_loss=0.0),
        optimizer,
        lambda _: jnp.float32(RATE),
        seed=0,
        microbatches=1,
        slots_first_step=0,
        partitioner=partitioner,
    )
    state = partitioner.place_state(TrainState(jnp.int32(0), parameters, optimizer.init(parameters)))

    def run() -> float:
        nonlocal state
        inputs, targets = next(source)
        state, metrics = step(
            state,
            partitioner.place_batch(
                {
                    "encoder_input_tokens": inputs,
                    "decoder_target_tokens": targets,
                    "decoder_input_tokens": np.pad(targets, ((0, 0), (1, 0)))[:, :-1],
                    "decoder_loss_weights": np.ones_like(targets),
                }
            ),
        )
        return float(metrics["loss"]) / targets.size

    return run


def theirs(config: T5Config, parameters: dict) -> Callable[[], float]:
    import torch
    from transformers.optimization import Adafactor as TheirAdafactor

    model, source = torch_t5(config, parameters).train(), examples(config)
    optimizer = TheirAdafactor(model.parameters(), lr=RATE, relative_step=False)

    def run() -> float:
        inputs, targets = (torch.from_numpy(array).long() for array in next(source))
        optimizer.zero_grad()
        loss = model(input_ids=inputs, attention_mask=torch.ones_like(inputs), labels=targets).loss
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="t5_1_1_small", help="a file of gin_configs/models")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    # Threads that wait sleep: where others use the machine too, spinning would slow torch and CTranslate2 severalfold.
    os.environ |= {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
    import torch
    import transformers

    jax.config.update("jax_platforms", "cpu")
    torch.set_num_threads(os.cpu_count())
    torch.set_flush_denormal(True)
    with parsed([f"models/{args.model}.gin"], ["DROPOUT_RATE = 0.1"]) as gin:
        config: T5Config = gin.get_configurable("T5Config")()
    still = dataclasses.replace(config, dropout_rate=0.0)
    parameters = jax.device_get(initialize(config))
    print(
        "first losses without dropout: lisax "
        f"{ours(still, parameters)():.5f}, transformers {theirs(still, parameters)():.5f}",
        flush=True,
    )

    ways = {"lisax": ours(config, parameters), "transformers": theirs(config, parameters)}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for way in ways.values():  # not timed: compiles
        way()
    for _ in range(args.rounds):
        for name, way in ways.items():
            way()  # not timed: the first step after the other's pays for memory that changes hands
            started = time.perf_counter(), time.process_time()
            for _ in range(args.steps):
                way()
            spent[name].append((time.perf_counter() - started[0], time.process_time() - started[1]))
    for name, rounds in spent.items():
        wall, cpu = (statistics.median(times) / args.steps for times in zip(*rounds))
        print(f"{name:13} {1 / wall:.3f} steps/s, {cpu:.2f} s of CPU time a step")
    for i, clock in enumerate(("the clock", "CPU time")):
        ratios = [other[i] / own[i] for own, other in zip(spent["lisax"], spent["transformers"])]
        print(
            f"by {clock}, lisax takes {statistics.median(ratios):.2f} times as many steps "
            f"({min(ratios):.2f} to {max(ratios):.2f})"
        )
    print(
        f"{args.model}, {ROWS} x {INPUTS} -> {TARGETS}, float32, {os.cpu_count()} cores of {platform.machine()}; "
        f"jax {jax.__version__}, torch {torch.__version__}, transformers {transformers.__version__}"
    )


if __name__ == "__main__":
    main()
