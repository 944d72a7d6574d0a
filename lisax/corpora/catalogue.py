"""The catalogue of downloads: each dataset's owner, licence, files, and checksums where the owner publishes them."""

from __future__ import annotations

import dataclasses

from lisax.errors import LisaxError


@dataclasses.dataclass(frozen=True, slots=True)
class Download:
    """One file to download. `checksum` is `algorithm:hex digest` or None; archives are unpacked.

    `inside` names a top folder of the archive whose contents go directly into the dataset's folder.
    """

    url: str
    name: str
    checksum: str | None = None
    unpack: bool = False
    inside: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """A dataset. Without `files` it cannot be downloaded directly, and `note` gives the way to get it."""

    name: str
    title: str
    homepage: str
    licence: str
    files: tuple[Download, ...] = ()
    note: str = ""


_FEVER = "https://fever.ai/download/fever/"
_FM2 = "https://raw.githubusercontent.com/google-research/fool-me-twice/main/dataset/"
_WICE = "https://raw.githubusercontent.com/ryokamoi/wice/main/data/entailment_retrieval/claim/"
_MSMARCO = "https://msmarco.z22.web.core.windows.net/msmarcoranking/"
_DART = "https://raw.githubusercontent.com/Yale-LILY/dart/master/data/v1.1.1/"
_BEIR = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/"

# MD5 sums from the README of the BEIR authors.
_BEIR_MD5 = {
    "scifact": "5f7d1de60b170fc8027bb7898e2efca1",
    "nfcorpus": "a89dba18a62ef92f7d323ec890a0d38d",
    "fiqa": "17918ed23cd04fb15047f73e6c3bd9d9",
    "arguana": "8ad3e3c2a5867cdced806d6503f29b99",
    "scidocs": "38121350fc3a4d2f48850f6aff52e4a9",
    "fever": "5a818580227bfb4b35bb6fa46d9b6c03",
    "climate-fever": "8b66f0a9126c521bae2bde127b4dc99d",
    "hotpotqa": "f412724f78b0d91183a0e86805e16114",
    "nq": "d4d3d2e48787a744b6f6e691ff534307",
}


def _lines(base: str, *names: str) -> tuple[Download, ...]:
    return tuple(Download(base + name, name) for name in names)


ENTRIES = (
    Entry(
        "fever",
        "FEVER claims and the 2017 Wikipedia introductions",
        "https://fever.ai/dataset/fever.html",
        "CC BY-SA 3.0 and the FEVER licence",
        (
            *_lines(_FEVER, "train.jsonl", "shared_task_dev.jsonl", "shared_task_test.jsonl"),
            Download(_FEVER + "wiki-pages.zip", "wiki-pages.zip", unpack=True),
        ),
    ),
    Entry(
        "fm2",
        "FoolMeTwice, hard claims by players",
        "https://github.com/google-research/fool-me-twice",
        "Apache 2.0",
        _lines(_FM2, "train.jsonl", "dev.jsonl", "test.jsonl"),
    ),
    Entry(
        "wice",
        "WiCE, claims of Wikipedia against cited articles",
        "https://github.com/ryokamoi/wice",
        "ODC-BY, CC BY-SA",
        _lines(_WICE, "train.jsonl", "dev.jsonl", "test.jsonl"),
    ),
    Entry(
        "msmarco-triples",
        "MS MARCO passage ranking, training triples as texts (27 GB unpacked)",
        "https://microsoft.github.io/msmarco/",
        "non-commercial research",
        (Download(_MSMARCO + "triples.train.small.tar.gz", "triples.train.small.tar.gz", unpack=True),),
    ),
    Entry(
        "msmarco",
        "MS MARCO passage ranking, collection, queries and qrels",
        "https://microsoft.github.io/msmarco/",
        "non-commercial research",
        (Download(_MSMARCO + "collectionandqueries.tar.gz", "collectionandqueries.tar.gz", unpack=True),),
    ),
    *(
        Entry(
            f"beir-{name}",
            f"{name} as a BEIR folder",
            "https://github.com/beir-cellar/beir",
            "that of the set's owner",
            (Download(f"{_BEIR}{name}.zip", f"{name}.zip", f"md5:{md5}", unpack=True, inside=name),),
        )
        for name, md5 in _BEIR_MD5.items()
    ),
    Entry(
        "tabfact",
        "TabFact, claims about tables",
        "https://github.com/wenhuchen/Table-Fact-Checking",
        "MIT",
        note="clone the homepage's repository and give its folder: it is read as it is",
    ),
    Entry(
        "wtq",
        "WikiTableQuestions",
        "https://github.com/ppasupat/WikiTableQuestions",
        "CC BY-SA 4.0",
        note="clone the homepage's repository and give its folder: it is read as it is",
    ),
    Entry(
        "wikisql",
        "WikiSQL, questions over tables with their queries",
        "https://github.com/salesforce/WikiSQL",
        "BSD 3-Clause",
        (
            Download(
                "https://github.com/salesforce/WikiSQL/raw/master/data.tar.bz2",
                "data.tar.bz2",
                unpack=True,
                inside="data",
            ),
        ),
    ),
    Entry(
        "tabmcq",
        "TabMCQ, multiple-choice questions over tables of general knowledge",
        "https://allenai.org/data/tabmcq",
        "CC BY-SA 4.0",
        (
            Download(
                "https://ai2-public-datasets.s3.amazonaws.com/tablestore-questions/TabMCQ_v_1.0.zip",
                "TabMCQ_v_1.0.zip",
                unpack=True,
            ),
        ),
    ),
    Entry(
        "nq-tables",
        "NQ-tables, Natural Questions over tables",
        "https://github.com/google-research/tapas",
        "CC BY-SA 3.0, CC BY-SA 4.0",
        note="the homepage's DENSE_TABLE_RETRIEVER.md says how to fetch or make the folders tables/ and interactions/",
    ),
    Entry(
        "ottqa",
        "OTT-QA, questions over tables and text",
        "https://github.com/wenhuchen/OTT-QA",
        "MIT",
        note="the homepage's README says where its tables and passages are kept",
    ),
    Entry(
        "infotabs",
        "InfoTabs, claims about info-boxes",
        "https://infotabs.github.io/",
        "Apache 2.0",
        note="clone https://github.com/infotabs/infotabs and give its folder data/: it is read as it is",
    ),
    Entry(
        "dart",
        "DART, triples to text",
        "https://github.com/Yale-LILY/dart",
        "MIT",
        _lines(_DART, *(f"dart-v1.1.1-full-{split}.json" for split in ("train", "dev", "test"))),
    ),
    Entry(
        "webnlg",
        "WebNLG, triples of DBpedia to text",
        "https://gitlab.com/shimorina/webnlg-dataset",
        "CC BY-NC-SA 4.0",
        note="clone the homepage's repository and give a release's xml/: it is read as it is",
    ),
    Entry(
        "questions",
        "NQ-open and WebQuestions",
        "https://github.com/google-research-datasets/natural-questions/tree/master/nq_open",
        "Apache 2.0; CC BY",
        note="take NQ-open from the homepage and WebQuestions from https://nlp.stanford.edu/software/sempre/",
    ),
    Entry(
        "fever-symmetric",
        "FEVER Symmetric, pairs without give-away phrases",
        "https://github.com/TalSchuster/FeverSymmetric",
        "MIT, CC BY-SA",
        note="clone the homepage's repository",
    ),
    *(
        Entry(name, title, homepage, licence, note="take the files from the homepage; docs/data.md has their labels")
        for name, title, homepage, licence in (
            ("scifact", "SciFact, claims about abstracts", "https://github.com/allenai/scifact", "see the homepage"),
            ("scitab", "SciTab, claims about tables of papers", "https://github.com/XinyuanLu00/SciTab", "MIT"),
            (
                "pubhealth",
                "PUBHEALTH, claims about health with articles",
                "https://github.com/neemakot/Health-Fact-Checking",
                "MIT",
            ),
            (
                "averitec",
                "AVeriTeC, claims with questions and answers",
                "https://fever.ai/dataset/averitec.html",
                "see the homepage",
            ),
            (
                "llm-aggrefact",
                "LLM-AggreFact, statements of language models with documents",
                "https://huggingface.co/datasets/lytang/LLM-AggreFact",
                "see the homepage",
            ),
            (
                "climate-fever",
                "Climate-FEVER in its own layout",
                "https://www.sustainablefinance.uzh.ch/en/research/climate-fever.html",
                "see the homepage",
            ),
        )
    ),
)


def find(name: str) -> Entry:
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    raise LisaxError(f"no dataset {name!r} in the catalogue; there are {', '.join(e.name for e in ENTRIES)}")
