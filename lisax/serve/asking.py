"""Answers the form of the page: at once, or step by step while it is worked on."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from lisax.errors import LisaxError
from lisax.report.heatmap import percent
from lisax.serve import forms, schema, views
from lisax.serve.answering import CLAIM, KINDS, PARAGRAPH, QUESTION, Checked
from lisax.serve.library import ServedCorpus
from lisax.serve.store import StoredAnswer
from lisax.serve.visitors import EVERYONE, Seen
from lisax.text.sentences import split_paragraphs

if TYPE_CHECKING:
    from lisax.predict.verdicts import Evidence
    from lisax.serve.app import Page

SHOWN, LETTERS = 3, 300  # titles or sentences of a step, and of each sentence
Event = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A question or claim for a corpus; `sentences` are the claims of a paragraph, empty for all else, and `left` the
    ones that are not checked because there are too many. `tier`: of the labeller, None where there is no choice."""

    corpus: ServedCorpus
    kind: str
    text: str
    sentences: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    tier: str | None = None


def asked(page: Page, form: FormData, seen: Seen) -> Asked:
    """Reads and checks the form. A claim of several sentences is a paragraph."""
    limits, kind = page.limits, forms.choice(form, "kind", KINDS)
    corpus = seen.get(forms.string(form, "corpus"))
    if corpus is None:
        raise LisaxError("There are no such documents; choose some of the list.")
    able = [other for other, kinds in page.askable(seen) if kind in kinds]
    if corpus not in able and len(able) == 1:
        corpus = able[0]  # the chosen corpus is for another kind
    page.service.check_reached(corpus)
    if kind not in page.engine.kinds(corpus):
        raise LisaxError(f"The models that are loaded can use '{corpus.name}' for no {kind}.")
    if kind != CLAIM:
        return Asked(corpus, kind, forms.text(form, "text", limits.text_characters))
    text, sentences = forms.text(form, "text", limits.paragraph_characters), ()
    found = tuple(filter(None, map(schema.clean, split_paragraphs(forms.string(form, "text")))))
    if len(found) > 1:
        sentences = found[: limits.paragraph_sentences]
    for sentence in sentences or (text,):
        if len(sentence) > limits.text_characters:
            raise LisaxError(
                f"A claim has {len(sentence):,} characters; at most {limits.text_characters:,} are taken. A claim ends "
                "with its sentence."
            )
    # A page that was opened before a labeller was put to use offers tiers that there are no longer.
    tiers = page.engine.models.tiers
    tier = forms.choice(form, "tier", tiers) if tiers and "tier" in form else None
    return Asked(corpus, kind, text, sentences, found[len(sentences) :] if sentences else (), tier)


async def steps(page: Page, asked: Asked, *, shown: bool = True) -> AsyncIterator[Event]:
    """Yields results as they come, each with the `seconds` since the start; at last the `address` of the stored answer.

    A claim: the evidence found, the best of it, the verdict. A question: the evidence found. A paragraph: each sentence
    with its verdict. If no steps are `shown`, a claim or question waits in the queue once."""
    started = time.perf_counter()

    def event(step: str, **values: Any) -> Event:
        return {"step": step, "seconds": round(time.perf_counter() - started, 3), **values}

    if asked.sentences:
        parts = []
        async with contextlib.aclosing(page.service.checked(asked.corpus, asked.sentences, asked.tier)) as every:
            async for checked in every:
                text = asked.sentences[len(parts)]
                answer = await _store_claim(page, asked, text, checked, started)
                parts.append({"text": text, "answer": answer.id})
                done = {"done": len(parts), "of": len(asked.sentences)}
                yield event("sentence", text=text, **done, **_headline(answer))
        result = {"parts": parts, "left": asked.left}
        answer = await _store(page, asked, PARAGRAPH, asked.text, result, started)
    elif asked.kind == CLAIM and not shown:
        (checked,) = [one async for one in page.service.checked(asked.corpus, [asked.text], asked.tier)]
        answer = await _store_claim(page, asked, asked.text, checked, started)
    elif asked.kind == CLAIM:
        async with contextlib.aclosing(page.service.steps(asked.corpus, asked.text, asked.tier)) as steps:
            async for step, made in steps:
                if step == "checked":
                    answer = await _store_claim(page, asked, asked.text, made, started)
                    yield event("verdict", **_headline(answer))
                else:
                    yield event(step, **_units(made, step == "ranked"))
    else:
        run = functools.partial(page.worker.run, seconds=page.limits.answer_seconds)
        if asked.kind == QUESTION and shown:
            titles = await run(lambda: page.engine.titles_for(asked.corpus, asked.text))
            yield event("found", count=len(titles), titles=titles, best=[])
        result = await run(lambda: _timed(page, asked))
        answer = await _store(page, asked, asked.kind, asked.text, result, started)
    yield event("answer", address=f"/answers/{answer.id}")


def _units(made: Sequence[Sequence[Evidence]], with_texts: bool) -> Event:
    """How many units each source has given, the titles of the first and, if wanted, their texts."""
    units = [one for found in made for one in found]
    titles = list(dict.fromkeys(one.source or one.unit for one in units))[:SHOWN]
    best = [one for found in made for one in found[:SHOWN]] if with_texts else []
    return {
        "count": len(units),
        "titles": titles,
        "best": [{"source": one.source, "text": one.text[:LETTERS]} for one in best],
    }


def _headline(answer: StoredAnswer) -> Event:
    whole, _ = views.joined(answer.result["verdicts"], answer.text)
    share = None if (said := views.headline(whole)) == views.DISAGREE else views.share_of(whole)
    return {"label": said, "share": "" if share is None else percent(share)}


def _timed(page: Page, asked: Asked) -> dict[str, Any]:
    """An answer with the `seconds` that it took, without the wait in the queue."""
    started = time.perf_counter()
    return page.engine.ask(asked.corpus, asked.kind, asked.text) | {"seconds": time.perf_counter() - started}


async def _store_claim(page: Page, asked: Asked, text: str, checked: list[Checked], started: float) -> StoredAnswer:
    result = await run_in_threadpool(page.engine.claim_result, asked.corpus, checked)
    return await _store(page, asked, CLAIM, text, result, started)


async def _store(
    page: Page, asked: Asked, kind: str, text: str, result: dict[str, Any], started: float
) -> StoredAnswer:
    timed = {"seconds": time.perf_counter() - started} | ({"tier": asked.tier} if asked.tier else {}) | result
    if asked.corpus.audience != EVERYONE:
        timed["owner"] = asked.corpus.owner  # others do not see the answer either
    if asked.corpus.uploaded:
        timed["uploaded"] = True  # the texts go when the upload does

    def store() -> StoredAnswer:
        answer = page.store.add_answer(asked.corpus.id, kind, text, timed)
        if asked.corpus.uploaded and page.library.get(asked.corpus.id) is None:  # removed meanwhile
            page.blank_removed()
        return answer

    return await run_in_threadpool(store)
