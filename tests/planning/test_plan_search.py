"""`lisax plan --search` finds the fastest setting that fits, and compiles few whole programs for it."""

import dataclasses
import itertools
import json
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import Mesh

from lisax.devices.partitioning import Partitioner, PjitPartitioner
from lisax.errors import LisaxError
from lisax.planning import plan_search
from lisax.planning.costs import Costs
from lisax.planning.machines import DEVICES, GIB
from lisax.planning.plan import Modelled, Plan, least_memory, modelled
from lisax.planning.plan_search import REMATS, Setting, search
from lisax.training.gin_files import configured
from lisax.weights.interop.architecture import parameter_shapes
from tests.planning.test_plan import needs_compiler, plan

GIVEN = [
    "MODEL_DIR = 'out'",
    "INITIAL_CHECKPOINT_PATH = None",
    "BATCH_SIZE = 32",
    "network.T5Config.num_heads = 32",
    "MIXTURE_OR_TASK_NAME = 'list5_rank'",
    "TRAIN_STEPS = 1",
    "TASK_FEATURE_LENGTHS = {'inputs': 512, 'targets': 2}",
]
ROOM = 16 * GIB


@pytest.fixture(scope="module")
def config():
    with configured("train", ["models/t5_1_1_micro.gin", "runs/finetune.gin"], GIVEN) as config:
        return config


def cost(setting: Setting, slower: dict) -> float:
    """Seconds of a setting: those of its layout, times what each saver of memory costs."""
    layout = setting.num_partitions, setting.fully_sharded
    return (
        slower[layout]
        * slower["remat"] ** REMATS.index(setting.remat)
        * slower["microbatches"] ** (setting.microbatches.bit_length() - 1)
        * slower["chunk"] ** (setting.attention_chunk is not None)
    )


def memory(setting: Setting, whole: float) -> float:
    rows = whole / setting.microbatches / (2 if setting.attention_chunk else 1) / 2 ** REMATS.index(setting.remat)
    return rows / setting.num_partitions**0.5 + whole / 10 / (8 if setting.fully_sharded else setting.num_partitions)


def searched(config, slower: dict, whole: float, said: float = 0.8) -> tuple[Setting, list[Setting], list[Setting]]:
    """(the answer, settings that were modelled, settings that were compiled) where programs cost and need as above.
    `said` is the part of the memory that is modelled."""
    tried, compiled = [], []

    def modelled(config, program, partitioner):
        assert program == "train" and not config.model.scan_layers
        tried.append(Setting.of(config))
        return Modelled(Costs(bound_seconds=cost(tried[-1], slower)), said * memory(tried[-1], whole))

    def whole_plan(config, program, devices, known):
        compiled.append(Setting.of(config))
        assert known.costs.bound_seconds == pytest.approx(cost(compiled[-1], slower))
        needed = memory(compiled[-1], whole)
        return Plan("train", "TPU v3", 8, 1, 1, needed <= ROOM, peak=int(needed), costs=known.costs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_search, "modelled", modelled)
        patch.setattr(plan_search, "plan", whole_plan)
        patch.setattr(plan_search, "least_memory", lambda config, partitioner: 0)
        patch.setattr(PjitPartitioner, "over", lambda self, devices: None)
        told = []
        answer, _ = search(config, [SimpleNamespace(device_kind="TPU v3")] * 8, lambda *heard: told.append(heard))
    assert [setting for setting, _, planned in told if planned is None] == tried
    assert [setting for setting, _, planned in told if planned is not None] == compiled
    return answer, tried, compiled


def all_settings() -> list[Setting]:
    return [
        Setting(partitions, sharded, False, remat, chunk, 2**halvings)
        for partitions, sharded, remat, chunk, halvings in itertools.product(
            (1, 2, 4, 8), (False, True), REMATS, (None, 128), range(5)
        )
        if not (partitions == 8 and sharded)
        and (chunk is None or remat == "full")
        and 32 // (8 // partitions) % 2**halvings == 0
    ]


LAYOUTS = [(partitions, sharded) for partitions in (1, 2, 4, 8) for sharded in (False, True)]


@given(
    st.fixed_dictionaries(
        {layout: st.floats(0.5, 2) for layout in LAYOUTS}
        | {saver: st.floats(1, 1.5) for saver in ("remat", "microbatches", "chunk")}
    ),
    st.floats(1, 300),
)
@settings(max_examples=60)
def test_the_fastest_that_fits_is_found(config, slower, gibs):
    whole = gibs * GIB
    fitting = [setting for setting in all_settings() if memory(setting, whole) <= ROOM]
    if not fitting:
        with pytest.raises(LisaxError, match="no setting fits this machine"):
            searched(config, slower, whole)
        return
    answer, _, compiled = searched(config, slower, whole)
    assert cost(answer, slower) == pytest.approx(min(cost(setting, slower) for setting in fitting))
    # Of those that do not fit only what comes near is compiled.
    assert all(0.8 * memory(setting, whole) <= ROOM for setting in compiled)


def test_model_parallel_with_microbatches_is_found_without_trying_all(config):
    """As for T5-3B: the fastest layout does not fit until its batch is in parts."""
    slower = dict.fromkeys(LAYOUTS, 1.5) | {(8, False): 1.0, "remat": 1.2, "microbatches": 1.01, "chunk": 1.1}
    answer, tried, compiled = searched(config, slower, 100 * GIB, said=1.0)
    assert answer == Setting(8, False, False, "none", None, 4)
    assert len(tried) < 15 and compiled == [answer]


def test_layers_are_scanned_where_that_alone_fits(config, monkeypatch):
    slower = dict.fromkeys(LAYOUTS, 1.0) | {"remat": 1.2, "microbatches": 1.2, "chunk": 1.1}
    monkeypatch.setitem(globals(), "memory", lambda setting, whole: whole if not setting.scan_layers else whole / 2)
    answer, _, compiled = searched(config, slower, 20 * GIB)
    assert compiled == [dataclasses.replace(answer, scan_layers=False), answer] and answer.scan_layers


def test_what_cannot_fit_is_not_even_modelled(config, monkeypatch):
    """A parameter that every device holds is there twice where gradients of microbatches are added to each other."""
    whole = Partitioner(Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("data", "model")))
    parts = dataclasses.replace(config, trainer=dataclasses.replace(config.trainer, num_microbatches=2))
    parameters = sum(4 * leaf.size for leaf in jax.tree.leaves(parameter_shapes(config.model)))
    assert least_memory(parts, whole) == least_memory(config, whole) + parameters
    small = dataclasses.replace(DEVICES["TPU v3"], memory=least_memory(config, whole) - 1)
    monkeypatch.setitem(DEVICES, jax.devices()[0].device_kind, small)
    with pytest.raises(LisaxError, match="no setting fits this machine"):
        search(config, jax.devices()[:1], lambda *_: pytest.fail("was modelled"))


def test_a_setting_is_what_its_flags_say(config):
    setting = Setting(4, True, True, "minimal", 128, 2)
    bindings = [flag.removeprefix("--gin.").replace("=minimal", "='minimal'") for flag in setting.bindings().split()]
    with configured("train", ["models/t5_1_1_micro.gin", "runs/finetune.gin"], [*GIVEN, *bindings]) as given:
        assert Setting.of(given) == setting == Setting.of(setting.applied(config))


def test_microbatches_are_modelled_as_the_same_work_with_one_update(config):
    """Of so few tokens the update is much of the work: it must not be counted for each microbatch."""
    data = dataclasses.replace(config.train_data, batch_size=4, task_feature_lengths={"inputs": 16, "targets": 2})
    whole = dataclasses.replace(config, train_data=data, model=config.model.replaced(num_encoder_layers=1))
    parts = dataclasses.replace(whole, trainer=dataclasses.replace(whole.trainer, num_microbatches=4))
    partitioner = config.partitioner.over(jax.devices()[:1])
    once, often = (modelled(each, "train", partitioner) for each in (whole, parts))
    assert often.costs.flops == pytest.approx(once.costs.flops, rel=0.25)


def test_a_setting_without_figures_comes_last(config, monkeypatch):
    """Of one that the compiler gives no time for, nothing says that it is fast."""
    known = {(1, False): 2.0, (2, False): 1.0}

    def modelled(config, program, partitioner):
        layout = Setting.of(config).num_partitions, Setting.of(config).fully_sharded
        return Modelled(Costs(bound_seconds=known.get(layout)), 0)

    def whole(config, program, devices, known):
        return Plan("train", "TPU v3", 8, 1, 1, True, costs=known.costs)

    monkeypatch.setattr(plan_search, "modelled", modelled)
    monkeypatch.setattr(plan_search, "plan", whole)
    monkeypatch.setattr(plan_search, "least_memory", lambda config, partitioner: 0)
    monkeypatch.setattr(PjitPartitioner, "over", lambda self, devices: None)
    answer, _ = search(config, [SimpleNamespace(device_kind="TPU v3")] * 8, lambda *heard: None)
    assert (answer.num_partitions, answer.fully_sharded) == (2, False)


@pytest.mark.slow
def test_searches_a_machine():
    done = plan("--search", "--topology=cpu-1")
    assert done.returncode == 0, done.stderr
    assert "at least" in done.stdout and "fits, " in done.stdout
    assert "with --gin.PjitPartitioner.num_partitions=1" in done.stdout.splitlines()[-1]


@pytest.mark.slow
@needs_compiler
def test_what_loops_is_not_modelled_as_less_work():
    def work(*arguments: str) -> float:
        done = plan("--topology=v3-8", "--json", "--gin.TASK_FEATURE_LENGTHS={'inputs': 128, 'targets': 2}", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)["flops"]

    assert work("--gin.T5Config.attention_chunk=32") > 0.98 * work()
