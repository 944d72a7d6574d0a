"""`lisax check`."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

import click

from lisax.cli.verbs import STREAM, Argument, AtWorkers, Count, Indexed, Local, Option, Probability, SkipBad, Target

SMALL = "all of an index of at most 1,000 sentences, rows and edges that has no vectors"
MinConfidence = Annotated[
    Probability | None,
    Option(
        "Label a claim NOT ENOUGH INFO if the verifier's label has a lower probability; the verdict is then "
        "`abstained`. Dates still decide if they can.",
        default="none: every verdict has its most probable label",
    ),
]
Calibrate = Annotated[
    bool,
    Option(
        "Fit the temperature of the model's probabilities on these claims, which are labelled and not its training "
        "claims, and store it with the model; of a pointwise model, only for this --aggregate. The file of verdicts "
        "then has the probabilities from before."
    ),
]

Aggregate = Annotated[
    Literal["any", "max", "sum", "first"] | None,
    Option("How to combine a pointwise model's labels of single sentences.", default="any"),
]
Tier = Annotated[
    Literal["light", "accurate"] | None,
    Option(
        "The shipped labeller, if no model is named: light, an adapter of MiniLM, or accurate, an adapter of MPNet, which "
        "is right more often and takes three to five times as long.",
        default="LISAX_TIER, or else accurate if its encoder is here (lisax models get mpnet), else light",
    ),
]
Prompt = Annotated[
    str | None,
    Option(
        "Of a published T5 that `lisax models list` does not name: its prompt, as the name of one (monot5, nli, flan …) "
        "or a template with {claim} and {text}.",
        "TEXT",
    ),
]
LabelWords = Annotated[
    str | None,
    Option("With --prompt, the answers: SUPPORTED,NOT-SUPPORTED or SUPPORTS,REFUTES,NOT-ENOUGH-INFO.", "W,W"),
]
Documents = Annotated[
    Local | None,
    Option(
        "A folder of documents of any type (text, Markdown, HTML, PDF, Word, Excel and others), one such file, or a folder "
        "in any layout that `lisax data check` reads. Its index is cached in $LISAX_CACHE (default: $XDG_CACHE_HOME/lisax).",
        "DIR",
    ),
]


def words_of(given: str | None) -> tuple[str, ...]:
    """Label words that were given with commas between them."""
    return () if given is None else tuple(word.strip() for word in given.split(","))


@dataclasses.dataclass(frozen=True)
class CheckOptions:
    """The fields of `checking.Settings` that are options."""

    model: Annotated[
        Local | None,
        Option(
            "The model that labels claims: a labeller, an evidence pointer or a model of tables, as a MODEL_DIR, "
            "one of its checkpoints, or a bundle; or a published one, hf:OWNER/NAME.",
            "DIR",
            default="the shipped labeller of --tier over text, or over tables if there is no text",
            names=("--verifier", "--model"),
        ),
    ] = None
    tier: Tier = None
    corpus: Documents = None
    index: Annotated[
        Indexed | None,
        Option(
            "Instead of --corpus: an index of `lisax index documents`, `mixed` or `cells`, or the address of one of "
            "`lisax index cluster`, such as http://localhost:9200/wiki.",
            "INDEX",
        ),
    ] = None
    ranker: Annotated[
        str | None,
        Option(
            "The model that orders the evidence: a ranker's folder, a published one (hf:OWNER/NAME), bm25, or a sentence "
            "encoder such as minilm, whose vectors count besides BM25. FIRST,SECOND: the second compares the best of the "
            "first (duoT5).",
            "DIR",
            default="over text the shipped one; with --model and without its encoder (lisax models get minilm) bm25",
        ),
    ] = None
    prompt: Prompt = None
    label_words: LabelWords = None
    ranker_prompt: Annotated[str | None, Option("As --prompt, of the ranker.", "TEXT")] = None
    ranker_words: Annotated[str | None, Option("With --ranker-prompt, the answers: RELEVANT,NOT-RELEVANT.", "W,W")] = (
        None
    )
    aggregate: Aggregate = None
    threshold: Annotated[
        float | None,
        Option(
            "For table fusion: claims with at most this sufficiency have not enough information.",
            default="the one chosen in training",
        ),
    ] = None
    min_confidence: MinConfidence = None
    two_way: Annotated[bool, Option("Where evidence is found, choose between SUPPORTS and REFUTES.")] = False
    calibrate: Calibrate = False
    temporal: Annotated[bool, Option("Let the dates of claim and evidence decide if they can.")] = True
    hops: Annotated[Literal["1", "2"], Option("2: also search pages that sentences of the first pages name.")] = "1"
    documents: Annotated[Count | None, Option("Number of pages or passages to retrieve.", default=f"20; {SMALL}")] = (
        None
    )
    candidates: Annotated[
        Count | None, Option("How many of their sentences, rows or edges are ranked.", default=f"100; {SMALL}")
    ] = None
    evidence: Annotated[
        Count | None,
        Option(
            "How many sentences or tables the model reads together.",
            default="as in training; the shipped labellers look through five, and read two (`light`) or three together",
        ),
    ] = None
    skip_bad: SkipBad = False
    strict: Annotated[bool, Option("With --corpus: fail if a file cannot be read; by default it is left out.")] = False


def check(
    claim: Annotated[str | None, Argument("The claim, in quotation marks; or give --claims.", "CLAIM")] = None,
    *,
    claims: Annotated[
        Local | None,
        Option(
            "Many claims, in any layout that `lisax data check` reads, or a .txt file with one claim per line. `-` reads "
            "standard input, one JSON object per line with the field `claim` (and optionally `id`).",
            "FILE",
        ),
    ] = None,
    out: Annotated[
        Target | None,
        Option(
            "With --claims: the file of verdicts, as JSON Lines that `lisax score` reads. An interrupted command "
            "resumes.",
            "FILE",
            default="-, standard output",
        ),
    ] = None,
    options: CheckOptions,
    wikipedia: Annotated[
        bool,
        Option(
            "Instead of --corpus: the English Wikipedia as it is now, the introductions of the pages that its search finds "
            "for the claim's entities. LISAX_CONTACT must hold your e-mail address or URL, which Wikipedia wants to know."
        ),
    ] = False,
    mediawiki: Annotated[str | None, Option("As --wikipedia, of another wiki: the URL of its api.php.", "URL")] = None,
    workers: AtWorkers = None,
    json: Annotated[bool, Option("Print the verdict on a single claim as JSON.")] = False,
) -> None:
    """Check a claim, or many, against a corpus or an index.

    lisax check "Vova Brugard was born in Torimoor." --corpus pages/
    lisax check "Marie Curie was born in Warsaw." --wikipedia
    lisax check --claims claims.jsonl --index INDEX --ranker ranker --verifier verifier --out verdicts.jsonl
    lisax check "The students sit an exam." --corpus pages/ --ranker hf:castorini/monot5-base-msmarco-10k \
        --verifier hf:lytang/MiniCheck-Flan-T5-Large
    """
    if (claim is None) == (claims is None):
        raise click.UsageError("give one claim in quotation marks, or --claims FILE (`-` for standard input)")
    if sum((options.corpus is not None, options.index is not None, wikipedia, mediawiki is not None)) != 1:
        raise click.UsageError(
            "give the evidence to check against: one of --corpus DIR, --index INDEX, --wikipedia and --mediawiki URL"
        )
    if (wikipedia or mediawiki) and options.hops == "2":
        raise click.UsageError("--hops 2 needs an index: give --corpus DIR or --index INDEX")
    if out == STREAM:
        out = None
    if out is not None and claims in (None, STREAM):
        raise click.UsageError("--out is for --claims FILE: other verdicts go to standard output")
    if options.calibrate and out is None:
        raise click.UsageError("--calibrate is for --claims FILE and --out FILE")
    if workers is not None and (claims in (None, STREAM) or wikipedia or mediawiki):
        raise click.UsageError("--workers is for --claims FILE, with --corpus DIR or --index INDEX")
    if options.strict and options.corpus is None:
        raise click.UsageError("--strict is for --corpus DIR")
    if options.tier is not None and options.model is not None:
        raise click.UsageError("--tier chooses a shipped labeller: leave it out with --model")
    if options.calibrate and options.two_way:
        raise click.UsageError("--calibrate fits the probabilities of all labels: leave --two-way out")
    if options.calibrate and options.model is None:
        raise click.UsageError("--calibrate changes a model: name yours with --model DIR")
    from lisax.predict.checking import Settings, check_file, check_one, check_stream
    from lisax.retrieval.mediawiki import WIKIPEDIA, user_agent

    wiki = WIKIPEDIA if wikipedia else mediawiki
    if wiki is not None:
        user_agent()  # before a model is fetched for a check that cannot be made
    words = {"label_words": words_of(options.label_words), "ranker_words": words_of(options.ranker_words)}
    settings = Settings(**vars(options) | words | {"hops": int(options.hops)}, wiki=wiki)
    if claim is not None:
        verdict = check_one(settings, claim)
        print(verdict.to_json() if json else verdict)
    elif out is None:
        for line in check_stream(settings, None if claims == STREAM else claims, workers):
            print(line, flush=True)
    else:
        check_file(settings, claims, out, workers)
