"""How many of T5X's own gin files LisaX reads: every model with every run, and every complete example.

`python benchmarks/t5x_gin.py CHECKOUT`, a checkout of github.com/google-research/t5x. A file counts as read if the
configuration of the run is built from it, up to the data, which `t5.data.mixtures` would register.
"""

import collections
import contextlib
import io
import sys
import types
from pathlib import Path

from lisax.errors import LisaxError
from lisax.training.gin_files import configured

ROOTS = ("t5x/examples/t5", "t5x/examples/scalable_t5")
VERBS = {"pretrain": "train", "finetune": "train", "eval": "eval", "infer": "infer"}
LENGTHS = "{'inputs': 64, 'targets': 64}"
GIVEN = {
    "train": {
        "MIXTURE_OR_TASK_NAME": "'task'",
        "TASK_FEATURE_LENGTHS": LENGTHS,
        "TRAIN_STEPS": "10",
        "MODEL_DIR": "'out'",
    },
    "eval": {"MIXTURE_OR_TASK_NAME": "'task'", "EVAL_OUTPUT_DIR": "'out'"},
    "infer": {"MIXTURE_OR_TASK_NAME": "'task'", "TASK_FEATURE_LENGTHS": LENGTHS, "INFER_OUTPUT_DIR": "'out'"},
}


def outcome(checkout: Path, verb: str, files: list[str]) -> str | None:
    """None if the configuration is built, else the error. Of the settings that T5X leaves to the user those are given
    that the files read."""
    texts = "".join(path.read_text() for path in _included(checkout, files))
    bindings = {"DROPOUT_RATE": "0.1"} | GIVEN[verb]
    bindings |= {name: "'given'" for name in ("INITIAL_CHECKPOINT_PATH", "CHECKPOINT_PATH") if f"%{name}" in texts}
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            with configured(verb, files, [f"{name} = {value}" for name, value in bindings.items()], [str(checkout)]):
                return None
        except (LisaxError, AttributeError, OSError) as error:
            return str(error)


def _included(checkout: Path, files: list[str]) -> list[Path]:
    found = [checkout / name for name in files if (checkout / name).is_file()]
    for path in found:
        names = [
            line.split(line.strip()[8])[1] for line in path.read_text().splitlines() if line.startswith("include ")
        ]
        found += [checkout / name for name in names if (checkout / name).is_file()]
    return found


def main() -> None:
    checkout = Path(sys.argv[1]).resolve()
    for name in ("t5", "t5.data", "t5.data.mixtures"):
        sys.modules[name] = types.ModuleType(name)
    names = sorted(str(path.relative_to(checkout)) for root in ROOTS for path in (checkout / root).rglob("*.gin"))
    runs = sorted(path.stem for path in (checkout / "t5x/configs/runs").glob("*.gin"))
    sizes = ("tiny", "small", "base", "large", "xl", "xxl", "3B", "11B")
    models = [name for name in names if Path(name).stem in sizes]
    found: dict[str, dict[str, str | None]] = collections.defaultdict(dict)
    for run in runs:
        for model in models:
            files = [model, f"t5x/configs/runs/{run}.gin"]
            found[f"models x {run}"][model] = outcome(checkout, VERBS.get(run, "train"), files)
    for name in names:
        text = (checkout / name).read_text()
        if "/examples/" in name.partition("t5/")[2] or (
            "umt5/" in name and Path(name).stem.startswith(("pretrain", "tydiqa"))
        ):
            verb = next((verb for verb in ("eval", "infer") if name.removesuffix(".gin").endswith(verb)), "train")
            verb = "train" if "train_script" in text else verb
            found["complete examples"][name] = outcome(checkout, verb, [name])
        elif Path(name).stem == "local_tiny":
            base = f"{Path(name).parent}/t5_1_1/base.gin"
            found["local_tiny"][name] = outcome(checkout, "train", [base, "t5x/configs/runs/finetune.gin", name])
    for group, outcomes in found.items():
        read = sum(error is None for error in outcomes.values())
        print(f"{group}: {read} of {len(outcomes)}")
        why = collections.Counter(error.splitlines()[0] for error in outcomes.values() if error)
        for error, count in why.most_common():
            print(f"  {count} x {error[:300]}")


if __name__ == "__main__":
    main()
