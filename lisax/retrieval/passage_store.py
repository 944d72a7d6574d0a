"""Passages on disk, one component per source (`record_store`)."""

from __future__ import annotations

import json
from collections.abc import Iterable

from lisax.retrieval.passages import Passage, Source
from lisax.retrieval.record_store import Kind


def component(source: Source) -> str:
    return f"passages-{source}"


def has_passages(components: Iterable[str]) -> bool:
    """Whether an index with these components is an index of passages."""
    return not {component(source) for source in Source}.isdisjoint(components)


def passages_of(source: Source) -> Kind[Passage]:
    return Kind(component(source), "passage", _encode, _decode)


def _encode(passage: Passage) -> str:
    return json.dumps([passage.title, passage.text, passage.provenance, passage.starts], ensure_ascii=False)


def _decode(passage_id: str, text: str) -> Passage:
    title, text, provenance, starts = json.loads(text)
    return Passage(passage_id, title, text, tuple(provenance), tuple(starts))
