"""seqio tasks. Importing this registers names; files are looked for when a task is read (`lisax.tasks.locations`).

The package is `lisax.tasks`. T5X, run in a checkout, imports the same files as `tasks`; a process takes one of the two.

`LISAX_TASKS`, where set, lists JSON files (separated as in PATH) of users' own datasets, see `lisax.tasks.register`.
"""

from __future__ import annotations

import os
import sys

from lisax.extras import not_installed

try:
    import seqio
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(str(not_installed(error) or error), name=error.name) from None

_other = sys.modules.get({"tasks": "lisax.tasks", "lisax.tasks": "tasks"}[__name__])
if getattr(_other, "__file__", None) and os.path.samefile(_other.__file__, __file__):
    raise ImportError(
        f"LisaX's tasks are imported as '{_other.__name__}' already, and seqio registers a name once: "
        f"import '{_other.__name__}' everywhere in this process"
    )

from . import msmarco, parts, pointer, pretraining, questions, sentences, tables, verbalizing  # noqa: E402

for module in (sentences, msmarco, pretraining, tables, parts, verbalizing, questions, pointer):
    module.add_all()

# Both tasks on one sentence at once, for other models to start from: each is learned faster than separately.
seqio.MixtureRegistry.add("list5_base", ["list5_rank_entities", "list5_label_candidates"], default_rate=1.0)
# Pretraining kept alive along with the ranker, and both views of the evidence for the labeller.
seqio.MixtureRegistry.add("list5_span_corruption_rank", ["list5_span_corruption", "list5_rank"], default_rate=1.0)
seqio.MixtureRegistry.add(
    "list5_label_infused_pointwise", ["list5_label_listwise_infused", "list5_label_pointwise"], default_rate=1.0
)
seqio.MixtureRegistry.add("msmarco_list5_rank", ["msmarco_rank", "list5_rank"], default_rate=1.0)

if os.environ.get("LISAX_TASKS"):
    from .register import register_file

    for file in os.environ["LISAX_TASKS"].split(os.pathsep):
        register_file(file)
