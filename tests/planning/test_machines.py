"""Every machine that is rented is known to libtpu, and its devices to `machines.DEVICES`."""

import json

import pytest

from lisax.errors import LisaxError
from lisax.planning.machines import DEVICES, TOPOLOGIES, devices_of
from tests.planning.test_plan import alone, needs_compiler

OPEN_ALL = """
from lisax.devices.platforms import plan_elsewhere
plan_elsewhere()
import json
from lisax.devices.partitioning import PjitPartitioner
from lisax.planning.machines import TOPOLOGIES, devices_of
found = {}
for name in [*TOPOLOGIES, "v4 lite:1x1", "v5p:2x2x1"]:
    devices = devices_of(name)
    PjitPartitioner().over(devices)
    found[name] = len(devices), devices[0].device_kind
print(json.dumps(found))
"""


@needs_compiler
def test_every_name_has_its_devices():
    done = alone("-c", OPEN_ALL)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {kind for _, kind in found.values()} == DEVICES.keys()
    # The number in a name counts cores; v4 and v5p have two cores a device, the others one.
    counts = {name: count for name, (count, _) in found.items() if name in TOPOLOGIES}
    for name, count in counts.items():
        assert count == int(name.rpartition("-")[2]) // (2 if name.startswith(("v4", "v5p")) else 1), name
    offered = "v2-8 v3-8 v3-2048 v4-8 v4-16 v4-32 v5litepod-1 v5litepod-256 v5e-8 v5p-8 v5p-32 v6e-1 v6e-32 tpu7x-8"
    assert set(offered.split()) <= counts.keys()


@pytest.mark.parametrize("name", ["v3-7", "v3", "v5e:4", "", "v3-8 "])
def test_other_names_are_refused_with_those_there_are(name):
    with pytest.raises(LisaxError, match=r"no topology is named '.*': there are v2-8 to v2-512, .* tpu7x-8 to "):
        devices_of(name)


def test_peaks_are_whole_numbers_of_operations_a_cycle():
    """What ties a clock to the peak: an array of 128 × 128 multipliers does 32,768 operations a cycle."""
    for kind, device in DEVICES.items():
        arrays = device.flops / device.clock / (2 * 128 * 128)
        assert abs(arrays - round(arrays)) < 0.03 * arrays and round(arrays).bit_count() == 1, kind
