"""Low-rank adapters by their definition."""

import numpy as np
import pytest

from lisax.models.lora import LORA_A, LORA_B, Lora, joined, merged


@pytest.mark.parametrize("layers", [(), (3,)])  # one kernel, or those of stacked layers
def test_a_kernel_has_alpha_over_rank_of_the_product_added(layers):
    lora, rng = Lora(rank=2, alpha=6.0, targets="wi"), np.random.default_rng(0)
    kernel = rng.normal(size=(4, *layers, 5)).astype(np.float32)
    kept, trained = lora.split({"encoder": {"wi": {"kernel": kernel}, "wo": {"kernel": kernel}}, "head": {"bias": [1]}})
    assert kept.keys() == {"encoder"} and trained.keys() == {"encoder", "head"} and trained["encoder"].keys() == {"wi"}
    adapter = trained["encoder"]["wi"]
    assert not np.any(adapter[LORA_B])
    adapter[LORA_B] = rng.normal(size=adapter[LORA_B].shape).astype(np.float32)
    found = merged(joined(kept, trained, lora.scale))
    product = (
        np.tensordot(np.asarray(adapter[LORA_A]), adapter[LORA_B], 1)
        if not layers
        else np.stack([np.asarray(adapter[LORA_A])[:, i] @ adapter[LORA_B][:, i] for i in range(*layers)], axis=1)
    )
    np.testing.assert_allclose(found["encoder"]["wi"]["kernel"], kernel + 6 / 2 * product, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found["encoder"]["wo"]["kernel"], kernel)
