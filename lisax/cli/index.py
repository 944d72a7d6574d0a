"""Build an index of your documents; or of pages, tables, table cells, or passages of all of them.

lisax index build my_documents/ --out INDEX
lisax index documents --corpus pages/ --out INDEX
lisax index mixed --corpus DIR --out INDEX --vectors minilm
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import time
from typing import Annotated, Any, Literal

import click

from lisax.cli.verbs import Argument, AtWorkers, Built, Count, Indexed, Local, Option
from lisax.devices.workers import Workers
from lisax.files.places import is_cluster


def _shard(text: str) -> tuple[int, int]:
    """`K/N` as (K, N)."""
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text, re.ASCII)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise click.BadParameter(f"expected K/N with K from 1 to N, such as 3/16; found '{text}'")
    return int(match[1]), int(match[2])


Corpus = Annotated[Local, Option("Folder in any layout that `lisax data check` reads.", "DIR")]
Out = Annotated[Local, Option("Folder of the index.", "INDEX")]
Existing = Annotated[Local, Argument("Folder of an index.", "INDEX")]
K1 = Annotated[float | None, Option("BM25's k1.", default="0.6; of whole tables 1.2, or 0.3 with vectors")]
B = Annotated[float | None, Option("BM25's b.", default="0.5; of whole tables 0.75, or 0.9 with vectors")]
Language = Annotated[
    str | None,
    Option(
        "Language whose words are stemmed, such as german; auto detects the language of the first texts.",
        "NAME",
        default="english",
    ),
]
Source = Literal["text", "tables", "graphs"]
Vectors = Annotated[
    Local | None,
    Option(
        "Also encode the indexed texts, so that the index is searched by BM25 and vectors together: a name that `lisax models "
        "list` shows, hf:OWNER/NAME@REVISION, or the folder of an encoder. An interrupted encoding resumes.",
        "MODEL",
        "with --add, the model of the index's vectors",
    ),
]
Strict = Annotated[bool, Option("Fail if a file cannot be read; by default it is named and left out.")]


@dataclasses.dataclass(frozen=True)
class Indexing:
    """The options of verbs that index a corpus by BM25."""

    corpus: Corpus
    out: Out
    k1: K1 = None
    b: B = None
    language: Language = None
    analyzer: Annotated[
        Literal["lucene"] | None,
        Option(
            "Terms and scores of Lucene's EnglishAnalyzer and BM25, which Pyserini has. The index keeps its analyzer.",
            default="LisaX's own terms",
        ),
    ] = None
    add: Annotated[bool, Option("Add the corpus to the index.")] = False
    vectors: Vectors = None

    def settings(self) -> dict[str, Any]:
        """The settings of a new index that were given, by name. Raises UsageError for any with `add`."""
        settings: dict[str, Any] = _bm25_settings(self.k1, self.b, self.add)
        for name in ("analyzer", "language"):
            if self.add and getattr(self, name) is not None:
                raise click.UsageError(
                    f"an index keeps the {name} that it was built with: leave --{name} out with --add"
                )
        if self.analyzer is not None:
            if self.language is not None:
                raise click.UsageError("--analyzer lucene is of English: leave --language out")
            settings["analyzer"] = self.analyzer
        if self.language is None:
            return settings
        from lisax.corpora import open_folder
        from lisax.retrieval import documents, table_store
        from lisax.text.languages import AUTO, check_language, detect

        language = self.language
        if language == AUTO:
            data = open_folder(self.corpus)
            pages, tables = map(documents.indexed_text, data.documents()), map(table_store.indexed_text, data.tables())
            language = detect(itertools.chain(pages, tables))
            print(f"language: {language}")
        return settings | {"language": check_language(language)}


def build(
    corpus: Annotated[Local, Argument("A folder or a file of documents of any type, or a dataset.", "DIR")],
    *,
    out: Out,
    vectors: Vectors = None,
    language: Language = None,
    strict: Strict = False,
) -> None:
    """Index the text and the tables of documents, for claims and questions.

    lisax index build my_documents/ --out INDEX
    """
    from lisax.predict.building import build_index
    from lisax.text.languages import ENGLISH

    started, language = time.monotonic(), language or ENGLISH
    _tell_files(build_index(corpus, out, vectors=vectors, language=language, strict=strict), started)


def add(
    index: Existing,
    documents: Annotated[tuple[Local, ...], Argument("A file, or a folder of files.", "FILE")],
    *,
    strict: Strict = False,
) -> None:
    """Add files to an index of `lisax index build`, or read changed ones again.

    Unchanged files come from the cache. The index is replaced as a whole; searches continue with the old one until then.

        lisax index add INDEX minutes/2024-05.docx
    """
    from lisax.predict.building import change_files

    started = time.monotonic()
    _tell_files(change_files(index, add=documents, strict=strict), started)


def documents(
    *,
    options: Indexing,
    only: Annotated[
        Literal["bm25", "titles"] | None, Option("Build only this part.", default="BM25, titles and pages")
    ] = None,
    workers: AtWorkers = None,
) -> None:
    """Index pages of text: BM25, titles and the pages themselves, in one pass.

    lisax index documents --corpus pages/ --out INDEX
    """
    from lisax.corpora import open_folder
    from lisax.progress import counted
    from lisax.retrieval.documents import COMPONENTS, add_documents, build_index, open_preparing
    from lisax.retrieval.prepared import prepared

    out = options.out
    _check_workers(workers, options.add)
    if options.add and only is not None:
        raise click.UsageError("--add adds to all parts that the index has: leave --only out")
    if options.vectors is not None and only is not None:
        raise click.UsageError("--vectors encodes the pages: leave --only out")
    settings, encoder = options.settings(), _encoder(options.vectors, out, options.add)
    pages, started = counted(open_folder(options.corpus).documents(), "documents"), time.monotonic()
    if workers is not None:
        opens = functools.partial(open_preparing, **_of_terms(settings))
        pages = prepared(options.corpus, "documents", opens, workers)
    if options.add:
        index = add_documents(pages, out)
    else:
        index = build_index(pages, out, components=(only,) if only else COMPONENTS, **settings)
    _tell(out, f"{len(index.titles if only == 'titles' else index.bm25):,} documents", started)
    _encode(out, encoder, workers)


def tables(*, options: Indexing, workers: AtWorkers = None) -> None:
    """Index whole tables as text by BM25, for questions.

    lisax index tables --corpus tables/ --out INDEX
    """
    from lisax.corpora import open_folder
    from lisax.progress import counted
    from lisax.retrieval.prepared import prepared
    from lisax.retrieval.table_store import open_preparing
    from lisax.retrieval.table_text import BESIDE_VECTORS, build_index

    _check_workers(workers, options.add)
    settings, encoder = options.settings(), _encoder(options.vectors, options.out, options.add)
    started = time.monotonic()
    if options.vectors is not None and not options.add:
        settings = BESIDE_VECTORS | settings
    found = counted(open_folder(options.corpus).tables(), "tables")
    if workers is not None:
        found = prepared(options.corpus, "tables", functools.partial(open_preparing, **_of_terms(settings)), workers)
    index = build_index(found, options.out, add=options.add, **settings)
    _tell(options.out, f"{len(index):,} tables", started)
    _encode(options.out, encoder, workers)


def cells(
    *,
    corpus: Corpus,
    out: Out,
    strategy: Annotated[
        Literal["entity-char-2-3", "entity-char-1-2-3", "entity-word", "entity-exact", "query-char-2-3", "query-word"]
        | None,
        Option("The texts and features to match.", default="entity-char-2-3"),
    ] = None,
    add: Annotated[bool, Option("Add the corpus's tables to the index.")] = False,
) -> None:
    """Index the cells of tables by TF-IDF, for claims.

    lisax index cells --corpus tables/ --out INDEX
    """
    from lisax.corpora import open_folder
    from lisax.progress import counted
    from lisax.retrieval.cells import Strategy
    from lisax.retrieval.tables import build_index

    if add and strategy is not None:
        raise click.UsageError("an index keeps the strategy that it was built with: leave --strategy out with --add")
    found, started = counted(open_folder(corpus).tables(), "tables"), time.monotonic()
    index = build_index(found, out, Strategy(strategy or "entity-char-2-3"), add=add)
    _tell(out, f"{len(index):,} tables, {index.settings['cells']:,} cells", started)


def mixed(
    *,
    options: Indexing,
    source: Annotated[tuple[Source, ...], Option("Source to index.", default="all that the corpus has")] = (),
    verbalized: Annotated[
        Local | None,
        Option(
            "Tables and graphs as sentences, written by `lisax verbalize` from the same corpus.",
            "FILE",
            "they are indexed as they are",
        ),
    ] = None,
) -> None:
    """Index passages of text, tables and graphs together by BM25.

    lisax index mixed --corpus DIR --out INDEX
    """
    from lisax.corpora import open_folder
    from lisax.retrieval.corpus_passages import SOURCES, passages_of
    from lisax.retrieval.mixed import add_sources, build_index

    out, settings = options.out, options.settings()
    encoder, started = _encoder(options.vectors, out, options.add), time.monotonic()
    sources = passages_of(open_folder(options.corpus), [name for name in SOURCES if name in source] or None, verbalized)
    if verbalized is not None and sources.keys() <= {SOURCES["text"]}:
        raise click.UsageError(
            "--verbalized is of tables and graphs, and "
            + ("--source names only text" if source else f"{options.corpus} has none")
        )
    form = "raw" if verbalized is None else "verbalized"
    index = add_sources(sources, out, form=form) if options.add else build_index(sources, out, form=form, **settings)
    _tell(out, _passages(index), started)
    _encode(out, encoder)


def remove(
    index: Existing,
    what: Annotated[
        tuple[str, ...],
        Argument(
            "Files of an index of `lisax index build`; or a source of one of passages: text, tables, graphs.", "WHAT"
        ),
    ],
) -> None:
    """Remove files, or a source, from an index.

    lisax index remove INDEX minutes/2024-05.docx
    lisax index remove INDEX tables
    """
    from lisax.predict.building import account_of, change_files
    from lisax.retrieval.corpus_passages import SOURCES
    from lisax.retrieval.mixed import remove_source

    started = time.monotonic()
    if account_of(index) is not None:
        _tell_files(change_files(index, remove=what), started)
        return
    if len(what) != 1 or what[0] not in SOURCES:
        raise click.UsageError(f"this index was not built of files: name one source of {', '.join(SOURCES)}")
    _tell(index, _passages(remove_source(SOURCES[what[0]], index)), started)


def vectors(
    index: Annotated[Indexed, Argument("Folder of an index, or the address of one of `lisax index cluster`.", "INDEX")],
    *,
    retriever: Annotated[
        Local,
        Option(
            "A dual encoder (a MODEL_DIR, a checkpoint or a bundle), or a sentence encoder: a name that `lisax models "
            "list` shows, hf:OWNER/NAME@REVISION, or a Hugging Face folder.",
            "MODEL",
        ),
    ],
    approximate: Annotated[
        Literal["lists", "hnsw"] | None,
        Option(
            "Also add a structure that finds near vectors without comparing all: an inverted file, which stays on disk, for millions "
            "of texts; or an HNSW graph, in memory, which is faster for single questions.",
            default="all are compared",
        ),
    ] = None,
    workers: AtWorkers = None,
    bits: Annotated[
        Literal["32", "16", "8"] | None,
        Option("Bits of a number on disk. Other vectors of the index are encoded again.", default="as they are, or 32"),
    ] = None,
    shard: Annotated[
        tuple[int, int] | None,
        Built("shard", _shard),
        Option(
            "Encode only this part of the texts, such as 3/16 for the third of 16, on any machine with a copy of the "
            "index. Bring the folders shards/ of all copies into one index, then --join them.",
            "K/N",
        ),
    ] = None,
    join: Annotated[bool, Option("Add the vectors of all shards to the index.")] = False,
) -> None:
    """Add a model's vectors to an index: of passages, of the sentences of pages, or of tables.

    lisax index vectors INDEX --retriever minilm
    lisax index vectors http://localhost:9200/wiki --retriever minilm
    """
    from lisax.predict import retriever as retrievers
    from lisax.retrieval import dense, dense_shards

    if is_cluster(index) and (approximate or workers or bits or shard or join):
        raise click.UsageError(
            "a cluster keeps its vectors in its own way: --approximate, --workers, --bits, --shard and --join are for an "
            "index in a folder"
        )
    stored = None if bits is None else int(bits)
    if shard is not None:
        if join or approximate is not None:
            raise click.UsageError("--shard encodes some of the texts: leave --join and --approximate out")
        if workers is not None:
            raise click.UsageError("--shard is the work of this process: leave --workers out")
        started, encoder = time.monotonic(), retrievers.open_encoder(retriever)
        count = retrievers.add_shard(index, encoder, *shard, bits=stored)
        _tell(index, f"{count:,} vectors of shard {shard[0]} of {shard[1]}", started)
        return
    encoder = retrievers.open_encoder(retriever)
    if join:
        started = time.monotonic()
        _tell(index, f"{dense_shards.join(index, encoder, bits=stored):,} vectors", started)
    else:
        _encode(index, encoder, workers, bits=stored)
    if approximate is not None:
        dense.approximate(index, approximate)


def cluster(
    cluster: Annotated[
        str, Argument("The cluster's address and the index's name; opensearch+http://… for OpenSearch.", "URL/NAME")
    ],
    *,
    corpus: Corpus,
    of: Annotated[
        Literal["documents", "passages", "tables", "whole"],
        Option(
            "Kind of records to index: pages of text, passages of text, tables and graphs, whole tables, or passages and "
            "whole tables, whose cells are searched for claims."
        ),
    ] = "documents",
    k1: K1 = None,
    b: B = None,
    add: Annotated[bool, Option("Add to the existing index.")] = False,
    replace: Annotated[
        bool, Option("Fill a new index, and make the name an alias of it when it is complete; the old one goes.")
    ] = False,
    shards: Annotated[Count | None, Option("Shards of a new index.", default="the cluster's")] = None,
    replicas: Annotated[
        int | None, click.IntRange(min=0), Option("Copies of each shard.", default="the cluster's")
    ] = None,
    vectors: Vectors = None,
) -> None:
    """Fill an index of an Elasticsearch or OpenSearch cluster, which other verbs take by its address.

    Credentials come from the environment: LISAX_CLUSTER_USER, LISAX_CLUSTER_PASSWORD, LISAX_CLUSTER_API_KEY,
    LISAX_CLUSTER_CA and LISAX_CLUSTER_AWS. An interrupted command resumes.

        lisax index cluster http://localhost:9200/wiki --corpus pages/ --vectors minilm
        lisax index cluster http://localhost:9200/own --corpus my_documents/ --of whole
    """
    from lisax.corpora import open_folder
    from lisax.corpora.files import FileFolder
    from lisax.files.resumable import fingerprint
    from lisax.retrieval.cluster import fill_cluster

    _bm25_settings(k1, b, add)
    given = {"number_of_shards": shards, "number_of_replicas": replicas}
    settings = {name: value for name, value in given.items() if value is not None}
    if add and (replace or settings):
        raise click.UsageError("--add keeps the index as it is: leave --replace, --shards and --replicas out")
    data = open_folder(corpus)
    fill_cluster(
        data,
        of,
        cluster,
        corpus_print=fingerprint(corpus),
        k1=k1,
        b=b,
        add=add,
        replace=replace,
        encoder=_encoder(vectors, cluster, add=False),
        **settings,
    )
    print(f"{cluster}: filled")
    if isinstance(data, FileFolder):
        print("\n  ".join(data.account().lines()))


def check(index: Existing) -> None:
    """Compare an index's files with their checksums, and print the unread documents and notes about the others.

    lisax index check INDEX
    """
    from lisax.predict.building import account_of
    from lisax.retrieval.folder import check

    print(f"{index}: {check(index)} files, all as they were written")
    if (account := account_of(index)) is not None:
        print(account.report())


def _bm25_settings(k1: float | None, b: float | None, add: bool) -> dict[str, float]:
    """The settings that were given, by name. Raises UsageError for any with `add`: an existing index keeps its own."""
    given = {name: value for name, value in (("k1", k1), ("b", b)) if value is not None}
    if add and given:
        raise click.UsageError("an index keeps the k1 and b that it was built with: leave --k1 and --b out with --add")
    return given


def _check_workers(workers: Workers | None, add: bool) -> None:
    if workers is not None and add:
        raise click.UsageError("--workers builds a new index: leave it out with --add")


def _of_terms(settings: dict[str, Any]) -> dict[str, str]:
    """The settings of a new index that determine its terms."""
    return {name: settings[name] for name in ("language", "analyzer") if name in settings}


def _encoder(model, index, add: bool):
    """The model to encode with: the given one, or with `add` that of the vectors that the index has; None for an index
    without vectors."""
    from lisax.retrieval.dense import source_of_vectors

    if model is None and add:
        model = source_of_vectors(index)
    if model is None:
        return None
    from lisax.predict.retriever import open_encoder

    return open_encoder(model)


def _encode(index, encoder, workers: Workers | None = None, *, bits=None) -> None:
    if encoder is not None:
        from lisax.predict.retriever import add_vectors

        started = time.monotonic()
        _tell(index, f"{add_vectors(index, encoder, workers, bits=bits):,} vectors", started)


def _passages(index) -> str:
    held = (
        f"{found['passages']:,} of {source}" + (f" ({found['form']})" if found["form"] != source else "")
        for source, found in index.sources.items()
    )
    return f"{len(index):,} passages: {', '.join(held)}"


def _tell_files(built, started: float) -> None:
    from lisax.predict.building import account_of
    from lisax.retrieval.folder import read_components
    from lisax.retrieval.passages import Source

    components = read_components(built.folder)
    counted = {"pages": "pages", "tables": "tables"} | {f"passages-{source}": "passages" for source in Source}
    counts = [
        f"{components[name]['settings'][what]:,} {what}{name.removeprefix(what).replace('-', ' of ')}"
        for name, what in counted.items()
        if name in components
    ]
    _tell(built.folder, f"{built.kind}: {', '.join(counts)}", started)
    if (account := account_of(built.folder)) is not None:
        print("\n  ".join(account.lines()))


def _tell(index, what: str, started: float) -> None:
    print(f"{index}: {what}{';' if ':' in what else ','} {time.monotonic() - started:.1f} s")


VERBS = (build, add, remove, documents, tables, cells, mixed, vectors, cluster, check)
