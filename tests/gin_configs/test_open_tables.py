"""The experiments of open tables are whole: they parse, are what their names say, and fit their tasks."""

import pytest

from lisax.models.t5 import T5Config
from lisax.models.table_fusion import FusionConfig
from lisax.runtime.gin_files import GIN_CONFIGS, configured
from lisax.runtime.objectives import objective_of

FOLDER = GIN_CONFIGS / "experiments" / "open_tables"
SHARED = ("fusion_common_large", "fusion_common_micro", "tables_common_large", "scratch_micro")
MODELS = sorted(path.stem for path in FOLDER.glob("*.gin") if path.stem not in SHARED)


@pytest.mark.parametrize("name", MODELS)
def test_a_models_file_needs_only_what_is_given_on_the_command_line(name):
    given = ["MODEL_DIR = 'out'", "VOCAB_SIZE = 256"]
    fusion, large = name.startswith("fusion"), name.endswith("_large")
    if large:
        given += ["INITIAL_CHECKPOINT_PATH = 'given'"]
    else:
        given += ["MIXTURE_OR_TASK_NAME = 'given'", "TASK_FEATURE_LENGTHS = {'inputs': 96, 'targets': 3}"]
    with configured("train", [FOLDER / f"{name}.gin"], given) as config:
        pass
    assert type(config.model) is (FusionConfig if fusion else T5Config)
    assert config.model.t5.vocab_size == 256
    assert config.total_steps or config.relative_steps
    lengths, objective = config.train_data.task_feature_lengths, objective_of(config.model)
    objective.check(config.model, config.loss, lengths, config.train_data.pack)
    assert config.checkpoint.save.best_metric in objective.metrics
    if large:
        assert config.model.t5.emb_dim == 1024 and config.train_data.batch_size == 32
        task = name.removesuffix("_large").removesuffix("_no_attention")
        assert config.train_data.mixture_or_task_name == (f"tables_fusion_{task.split('_')[2]}" if fusion else task)
    if fusion:
        assert config.model.objective == name.split("_")[1]
        assert config.model.heads == (0 if "no_attention" in name else 2)
        if large:
            assert objective.text_length(lengths) == 512 and f"_top{lengths['targets']}_" in name
            schedule = config.trainer.learning_rate_fn
            rates = [float(schedule(step)) for step in (0, 15_000, 30_000, 45_000, 60_000)]
            assert rates == pytest.approx([1e-8, 2.5e-6, 5e-6, 2.5e-6, 1e-8], rel=1e-3)
