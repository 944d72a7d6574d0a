"""A stand-in for T5X's two scripts: its modules' names and arguments without what they do.

`python t5x_stand_in.py SEARCH,PATHS '{NAME: ["train", "infer" or "evaluate", GIN_FILES, BINDINGS], …}'` reads gin as
T5X's gin_utils does and prints, as JSON by name, the arguments with which gin would call T5X: objects become
{"is": NAME, argument: value}. Of what gin refuses it prints {"refused": why}.
The argument lists are those of T5X's documentation; what T5X adds in later versions is not known here.
"""

import importlib.util  # noqa: F401  gin uses it without importing it
import json
import sys
import types

import gin

ARGUMENTS = {
    "t5x.models": {
        "EncoderDecoderModel": "module input_vocabulary output_vocabulary optimizer_def label_smoothing "
        "z_loss loss_normalizing_factor"
    },
    "t5x.examples.t5.network": {
        "Transformer": "config",
        "T5Config": "vocab_size dtype emb_dim num_heads num_encoder_layers num_decoder_layers head_dim mlp_dim "
        "mlp_activations dropout_rate logits_via_embedding float32_attention_logits",
    },
    "t5x.adafactor": {
        "Adafactor": "learning_rate factored multiply_by_parameter_scale beta1 decay_rate step_offset "
        "clipping_threshold weight_decay_rate min_dim_size_to_factor epsilon1 epsilon2 "
        "logical_factor_rules",
        "standard_logical_factor_rules": "",
    },
    "t5x.partitioning": {
        "PjitPartitioner": "num_partitions model_parallel_submesh logical_axis_rules",
        "standard_logical_axis_rules": "",
    },
    "t5x.trainer": {"Trainer": "num_microbatches learning_rate_fn"},
    "t5x.gin_utils": {"summarize_gin_config": "model_dir summary_writer step"},
    "t5x.utils": {
        "DatasetConfig": "mixture_or_task_name task_feature_lengths split batch_size shuffle seed use_cached pack "
        "module",
        "CheckpointConfig": "save restore",
        "SaveCheckpointConfig": "dtype period keep save_dataset",
        "RestoreCheckpointConfig": "path mode dtype strict assignment_map",
        "create_learning_rate_scheduler": "factors base_learning_rate warmup_steps decay_factor steps_per_decay "
        "steps_per_cycle",
    },
    "__main__": {
        "train": "model train_dataset_cfg train_eval_dataset_cfg infer_eval_dataset_cfg checkpoint_cfg partitioner "
        "trainer_cls model_dir total_steps relative_steps eval_steps eval_period random_seed "
        "use_hardware_rng use_orbax summarize_config_fn",
        "evaluate": "model dataset_cfg restore_checkpoint_cfg partitioner output_dir inference_evaluator_cls "
        "summarize_config_fn fallback_init_rng",
        "infer": "mode model dataset_cfg restore_checkpoint_cfg partitioner output_dir checkpoint_period shard_id "
        "num_shards use_orbax checkpoint_ds_iter",
    },
}


def stand_in(module: str, name: str, arguments: str) -> types.FunctionType:
    names = arguments.split()
    scope: dict = {}
    parameters = ", ".join(f"{argument}=None" for argument in names)
    values = ", ".join(f"{argument!r}: {argument}" for argument in names)
    exec(f"def {name}({parameters}): return {{'is': {name!r}, {values}}}", scope)
    function = scope[name]
    function.__module__, function.__qualname__ = module, name
    return function


def install() -> None:
    for module_name, functions in ARGUMENTS.items():
        parts = module_name.split(".")
        for end in range(1, len(parts) + 1):
            name = ".".join(parts[:end])
            if name not in sys.modules:
                sys.modules[name] = types.ModuleType(name)
                sys.modules[name].__path__ = []
                if end > 1:
                    setattr(sys.modules[".".join(parts[: end - 1])], parts[end - 1], sys.modules[name])
        for name, arguments in functions.items():
            setattr(sys.modules[module_name], name, stand_in(module_name, name, arguments))


def plain(value):
    return getattr(value, "__name__", None) or f"{type(value).__module__}.{type(value).__name__}"


def main() -> None:
    search_paths, runs = sys.argv[1:]
    install()
    scripts = {
        verb: gin.configurable(getattr(sys.modules["__main__"], verb)) for verb in ("train", "infer", "evaluate")
    }
    for path in search_paths.split(","):
        gin.add_config_file_search_path(path)
    called = {}
    for name, (verb, files, bindings) in json.loads(runs).items():
        gin.clear_config()
        try:
            gin.parse_config_files_and_bindings(files, bindings)
            called[name] = scripts[verb]()
        except (ValueError, TypeError, RuntimeError) as error:
            called[name] = {"refused": str(error)}
    print(json.dumps(called, default=plain))


if __name__ == "__main__":
    main()
