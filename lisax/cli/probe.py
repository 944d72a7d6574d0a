"""`lisax probe`."""

from __future__ import annotations

from typing import Annotated

import click

from lisax.cli.check import Aggregate, LabelWords, Prompt, words_of
from lisax.cli.verbs import Argument, Local, Option, Target


def probe(
    verifier: Annotated[
        Local | None,
        Argument(
            "A labeller or an evidence pointer: a MODEL_DIR, one of its checkpoints, a bundle, a shipped model by its "
            "name (minilm-text, mpnet-text), or hf:OWNER/NAME. By default the shipped labeller of the tier that `lisax "
            "check` takes, see its --tier.",
            "VERIFIER",
        ),
    ] = None,
    *,
    suite: Annotated[
        Local | None,
        Option(
            "Your own cases as JSON Lines: capability, claim, evidence (a list of sentences, or of objects with title "
            "and text) and label.",
            "FILE",
            default="the suite that is shipped",
        ),
    ] = None,
    examples: Annotated[
        int, click.IntRange(min=0), Option("Number of wrong verdicts of each capability to print, the surest first.")
    ] = 1,
    json: Annotated[Target | None, Option("Also write the figures, with these examples, as JSON.", "FILE")] = None,
    html: Annotated[Target | None, Option("Also write a report with all cases and verdicts.", "FILE")] = None,
    temporal: Annotated[bool, Option("Let the dates of claim and evidence decide if they can.")] = False,
    aggregate: Aggregate = None,
    prompt: Prompt = None,
    label_words: LabelWords = None,
) -> None:
    """Probe a verifier: the cases of a behaviour suite that it decides rightly, by capability.

    A capability (negation in the evidence, sums of numbers, roles exchanged …) is passed with three of four cases
    right. Cases of the shipped suite are decided by their evidence and by no other knowledge, and their claims occur
    with evidence of different labels.

    lisax probe
    lisax probe verifier --suite cases.jsonl --json figures.json --html report.html
    lisax probe hf:lytang/MiniCheck-Flan-T5-Large
    """
    from lisax import shipped
    from lisax.files.writing import write_json
    from lisax.predict.checker import tier_of
    from lisax.predict.probing import probe as run
    from lisax.predict.probing import read_suite
    from lisax.predict.verifier import Verifier
    from lisax.progress import say
    from lisax.report.probe import probe_report, probe_text
    from lisax.report.render import write_report
    from lisax.weights.public_models import given_use

    cases = read_suite() if suite is None else read_suite(suite)
    use = given_use(prompt, words_of(label_words), ranks=False)
    if verifier is None:
        verifier = f"{shipped.ENCODERS[tier_of(None)]}-text"
    opened = Verifier.open(verifier, aggregate=aggregate, use=use)
    model, name = str(verifier), "the shipped suite" if suite is None else str(suite)
    say(f"probes {model}")
    found = run(opened, cases, temporal=temporal)
    if json is not None:
        write_json(json, {"verifier": model, "suite": name, **found.figures(examples)})
    if html is not None:
        write_report(html, probe_report(found, model, name))
    print(probe_text(found, name, examples))
