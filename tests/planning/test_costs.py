"""Costs from a compiler's counts and the text of its schedule."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest
from jax.errors import JaxRuntimeError

from lisax.planning.costs import Costs, combined, costs_of

# As the TPU compiler writes a schedule: one collective in two fused operations, a call inside a fused operation, which
# counts for nothing, and one outside, for which the compiler subtracts a second.
FUSED = """HloModule jit_f, is_scheduled=true

%fused.1 (p: f32[4]) -> f32[4] {
  %p = f32[4]{0:T(128)} parameter(0)
  ROOT %call.1 = f32[4]{0:T(128)} custom-call(%p), custom_call_target="AssumeGatherIndicesInBound"
}

%start.1 (p: bf16[2,8]) -> bf16[16,8] {
  ROOT %all-gather.1 = bf16[16,8]{1,0:T(8,128)(2,1)} all-gather(%p), channel_id=7, dimensions={0}
}

%done.1 (p: bf16[2,8]) -> bf16[16,8] {
  ROOT %all-gather.2 = bf16[16,8]{1,0:T(8,128)(2,1)} all-gather(%p), channel_id=7, dimensions={0}
}

ENTRY %main (a: f32[4], b: bf16[2,8]) -> f32[4] {
  %a = f32[4]{0:T(128)} parameter(0)
  %fusion.1 = f32[4]{0:T(128)} fusion(%a), kind=kLoop, calls=%fused.1, backend_config={"estimated_cycles":"1000"}
  %fusion.2 = bf16[16,8]{1,0} fusion(%b), kind=kCustom, calls=%start.1
  %fusion.3 = bf16[16,8]{1,0} fusion(%b), kind=kCustom, calls=%done.1, backend_config={"estimated_cycles":"234"}
  %all-reduce.1 = (f32[4,2]{1,0}, f32[]{:T(256)}) all-reduce(%x, %y), channel_id=8, to_apply=%add
  %permute = (s32[8]{0}, s32[8]{0}, u32[]{:S(2)}, u32[]{:S(2)}) collective-permute-start(%z), channel_id=9
"""
CALL = '  %joined = f32[4]{0:T(128)} custom-call(%a), custom_call_target="ConcatBitcast"\n'
LOOP = '  %while.1 = (s32[], f32[4]) while(%tuple), condition=%c, body=%b, metadata={op_name="jit(f)/{}"}\n'


def program(text: str = FUSED, **analysis) -> SimpleNamespace:
    counted = {"flops": 2e9, "bytes accessed": 3e9, "optimal_seconds": 0.5} | analysis
    return SimpleNamespace(cost_analysis=lambda: counted, as_text=lambda: text + "}\n")


def test_reads_cycles_and_collectives_of_a_schedule():
    costs = costs_of(program())
    assert (costs.flops, costs.bytes, costs.bound_seconds, costs.cycles, costs.loops) == (2e9, 3e9, 0.5, 1234, 0)
    found = costs.collectives
    assert found == {"all-gather": (1, 16 * 8 * 2), "all-reduce": (1, 4 * 2 * 4 + 4), "collective-permute": (1, 8 * 4)}
    assert costs.missing == {}
    # By cycles at 940 MHz; a device whose clock is unknown has the bounds.
    assert costs.seconds("TPU v3") == pytest.approx(1234 / 0.94e9)
    assert costs.seconds("cpu") == 0.5


@pytest.mark.parametrize("said", [-179.98, 4.02])
def test_a_sum_of_bounds_from_which_seconds_were_taken_is_left_out(said):
    costs = costs_of(program(FUSED + 180 * CALL, optimal_seconds=said))
    assert costs.bound_seconds is None and costs.cycles == 1234
    assert costs.missing == {"bound_seconds": "the compiler gives none for 180 operations"}


@pytest.mark.parametrize("said", [-1.0, 0.0, float("nan"), float("inf")])
def test_a_figure_that_cannot_be_is_left_out(said):
    costs = costs_of(program(flops=said))
    assert costs.flops is None and "the compiler's figure is" in costs.missing["flops"]


def test_a_program_that_jaxlib_cannot_read_has_what_its_compiler_counts():
    def unreadable():
        raise JaxRuntimeError("INTERNAL: RET_CHECK failure")

    found = program(optimal_seconds=-2.9994)
    found.as_text = unreadable
    costs = costs_of(found)
    assert costs.flops == 2e9 and costs.cycles is costs.bound_seconds is None
    assert "jaxlib cannot read" in costs.missing["cycles"] and costs.missing.keys() == {"cycles", "bound_seconds"}


@pytest.mark.parametrize("name, loops", [("encoder/while", 1), ("scatter-add", 0), ("jit(_uniform)/while", 0)])
def test_loops_of_the_model_are_counted(name, loops):
    assert costs_of(program(FUSED + LOOP.replace("{}", name))).loops == loops


def test_costs_are_scaled_and_what_one_lacks_the_sum_lacks():
    one = Costs(2.0, 4.0, 1.0, 8.0, {"all-reduce": (1, 100.0)})
    two = Costs(3.0, 6.0, None, 9.0, {"all-reduce": (2, 150.0), "all-gather": (1, 7.0)}, {"bound_seconds": "why"})
    twelve = combined([(1, one), (11, two), (-11, one)])
    assert (twelve.flops, twelve.bytes, twelve.bound_seconds, twelve.cycles) == (13, 26, None, 19)
    assert twelve.collectives == {"all-reduce": (12, 650), "all-gather": (11, 77)}
    assert twelve.missing == {"bound_seconds": "why"}
    # Where the second layer seems to cost less than nothing there is no figure.
    assert combined([(1, one), (-2, two)]).cycles is None


def test_a_cpus_program_has_no_cycles():
    compiled = jax.jit(lambda x: x @ x).lower(jax.ShapeDtypeStruct((64, 64), jnp.float32)).compile()
    costs = costs_of(compiled)
    assert costs.flops >= 2 * 64**3 and costs.cycles is None
    assert costs.missing["cycles"] == "only the TPU compiler estimates them"
