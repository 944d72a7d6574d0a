"""The HTTP API: each call, batches, streams, what is refused and how, and what operators see."""

import asyncio
import dataclasses
import datetime
import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import anyio.to_thread
import httpx2
import pytest
from fastapi import Request
from pydantic import TypeAdapter
from small_page import Browser, caller, shown, words

from lisax import Index
from lisax.cli import main
from lisax.errors import LisaxError
from lisax.predict.joining import join
from lisax.predict.verdicts import Evidence, Verdict
from lisax.records import Label
from lisax.serve import schema
from lisax.serve.answering import Engine
from lisax.serve.api import CALLS, JSON_LINES, as_lines
from lisax.serve.app import create
from lisax.serve.limits import LIMITS, Limits
from lisax.serve.models import PARTS, TABLE_VERIFIER, Models
from lisax.serve.observing import JsonFormatter
from lisax.serve.worker import Busy, Worker

CLAIM = "Mara Velin lived in Tarn ."
CLAIMS = [CLAIM, "Olin Keld was born in 1920 .", "Tessa Rask was a baker ."]


@pytest.fixture
def client(page):
    return caller(page, raise_server_exceptions=False)


def post(client, call, body, **headers):
    return client.post(f"/v1/{call}", json=body, headers=headers)


def test_a_verdict_is_the_one_that_lisax_check_prints(tmp_path, opened, capsys):
    """By the shipped models or, where MiniLM is not here, by the example model and BM25."""
    from lisax import example_model, example_pages
    from lisax.weights.pretrained import MODELS

    index, claim = tmp_path / "index", "Vova Brugard was born in Torimoor."
    Index.build(example_pages(), index)
    named = [] if MODELS["minilm"].is_there else [example_model()]
    given = [part for path in named for part in ("--model", str(path))]
    assert main(["check", claim, "--index", str(index), "--json", *given]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert post(caller(opened(index, Models.open(named))), "check", {"claim": claim}).json() == printed
    assert set(printed) <= set(schema.Verdict.model_fields)


def test_what_is_declared_of_results_is_what_they_have():
    unit = Evidence("t#r1", "x", "T", "row 1", 0.5, url="http://a", revision_url="http://b", computed=("y",))
    verdict = Verdict(
        "c", Label.NOT_ENOUGH_INFO, {Label.SUPPORTS: 0.5, Label.NOT_ENOUGH_INFO: 0.5}, (unit,), "r", 3, {"rule": 1},
        None, "sentences", True
    )  # fmt: skip
    joined = join([verdict, dataclasses.replace(verdict, reads="tables")])
    assert {*joined.to_dict(), "sufficiency", "disagreement"} == set(schema.Verdict.model_fields)
    assert set(verdict.summary()) == set(schema.SourceVerdict.model_fields)
    assert set(unit.to_dict()) == set(schema.Evidence.model_fields) == set(schema.GivenEvidence.model_fields)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_the_examples_of_each_call_are_answered_one_by_one_together_and_streamed(client, call):
    for name, example in call.examples.items():
        answer = post(client, call.name, example)
        assert answer.status_code == 200, answer.text
        rows = answer.json()["results"] if name == "many" else [answer.json()]
        TypeAdapter(list[call.result]).validate_json(json.dumps(rows))
        streamed = post(client, call.name, example, accept=JSON_LINES)
        assert streamed.headers["content-type"] == JSON_LINES
        assert [json.loads(line) for line in streamed.text.splitlines()] == rows


def test_the_document_is_made_of_what_checks_the_input(client):
    document = client.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    for call in CALLS:
        body = document["paths"][f"/v1/{call.name}"]["post"]["requestBody"]["content"]["application/json"]
        assert {name: one["value"] for name, one in body["examples"].items()} == call.examples
        declared = TypeAdapter(call.given).json_schema(ref_template="#/components/schemas/{model}")
        assert body["schema"]["oneOf"] == declared["oneOf"]
        for name, schema_of in declared["$defs"].items():
            assert document["components"]["schemas"][name] == without_none(schema_of)


def test_the_document_has_the_calls_that_load_and_remove(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths["/v1/indexes"]) == {"get", "post"} and set(paths["/v1/indexes/{index}"]) == {"delete"}
    (form,) = paths["/v1/indexes"]["post"]["requestBody"]["content"].values()
    assert set(form["schema"]["properties"]) == {"name", "files", "seen_by"}
    assert paths["/v1/indexes"]["post"]["responses"]["201"]["content"]["application/json"]["schema"]


def test_the_page_of_the_api_shows_each_call_with_its_examples_and_each_object(client):
    document, found = client.get("/openapi.json").json(), shown(client.get("/docs"))
    ids = {attributes.get("id") for _, attributes in found.elements}
    links = {attributes["href"] for tag, attributes in found.elements if tag == "a"}
    assert {*document["components"]["schemas"]} | {link[1:] for link in links if link.startswith("#")} <= ids
    read = words(found)
    for path, calls in document["paths"].items():
        assert all(f"{method.upper()} {path}" in read for method in calls)
    commands = "".join(found.text)
    assert "/v1/indexes -F name=Minutes -F files=@minutes.docx" in commands
    assert "curl -s -X DELETE http://localhost/v1/indexes/ID" in commands
    for call in CALLS:
        for example in call.examples.values():
            assert f"/v1/{call.name} -H 'content-type: application/json' -d '{json.dumps(example)}'" in commands


def without_none(schema_of):
    """A schema as FastAPI writes it: a default of null is left out."""
    if isinstance(schema_of, list):
        return [without_none(one) for one in schema_of]
    if not isinstance(schema_of, dict):
        return schema_of
    return {name: without_none(one) for name, one in schema_of.items() if one is not None}


def test_a_batch_has_its_order_and_ids_and_is_what_its_claims_are_alone(client):
    claims = [CLAIMS[0], {"id": "b", "claim": CLAIMS[1]}, {"id": 3.0, "claim": CLAIMS[2]}] * 15
    rows = post(client, "check", {"claims": claims}).json()["results"]
    assert [row.pop("id", None) for row in rows] == [None, "b", 3] * 15
    assert rows == [post(client, "check", {"claim": claim}).json() for claim in CLAIMS] * 15


def test_what_is_ranked_can_be_verified(client):
    ranked = post(client, "rank", {"claim": CLAIM, "k": 3}).json()["evidence"]
    assert len(ranked) == 3 and ranked[0]["score"] >= ranked[1]["score"] >= ranked[2]["score"]
    assert ranked == post(client, "check", {"claim": CLAIM, "reads": "sentences"}).json()["evidence"][:3]
    verdict = post(client, "verify", {"claim": CLAIM, "evidence": ranked}).json()
    assert verdict["evidence"] == ranked
    assert ["_".join(map(str, one)) for one in verdict["predicted_evidence"]] == [one["unit"] for one in ranked]
    given = post(client, "rank", {"claim": CLAIM, "candidates": ["Rain fell.", "Mara Velin lived in Tarn."]}).json()
    assert [one["unit"] for one in given["evidence"]] == ["evidence_1", "evidence_0"]


def test_text_and_tables_are_read_alone_where_that_is_asked_for_and_joined_otherwise(client):
    text, tables, both = (
        post(client, "check", {"claim": CLAIM, **reads}).json()
        for reads in ({"reads": "sentences"}, {"reads": "tables"}, {})
    )
    (table, row), *_ = tables["predicted_evidence"]
    assert text["evidence"][0]["place"] == "sentence 1" and table.startswith("people-") and row is None
    assert "sources" not in text and [one["reads"] for one in both["sources"]] == ["sentences", "tables"]
    assert [one["label"] for one in both["sources"]] == [text["predicted_label"], tables["predicted_label"]]
    for field in ("predicted_evidence", "evidence_units", "evidence_scores"):
        assert sorted(map(str, both[field])) == sorted(map(str, text[field] + tables[field]))
        assert len(both[field]) == len(both["evidence"])
    assert {one["unit"] for one in both["evidence"]} == {one["unit"] for one in text["evidence"] + tables["evidence"]}
    sure = [one for one in (text, tables) if one["predicted_label"] != "NOT ENOUGH INFO"]
    best = max(sure, key=lambda one: one["label_probabilities"][one["predicted_label"]])
    assert both["predicted_label"] == best["predicted_label"]
    assert both["deciding"] in [one["unit"] for one in best["evidence"]]


LAKES = {"title": "Lakes", "header": ["lake", "depth"], "rows": [["Mira", "40 m"], ["Ode", "9 m"]]}


def test_a_table_that_is_given_is_read_as_one_of_an_index(tmp_path, opened):
    Index.build([{"id": "lakes", **LAKES}], tmp_path / "index", kind="cells")
    client, claim = caller(opened(tmp_path / "index")), {"id": 7, "claim": "Mira is 40 m deep."}
    found = post(client, "check", claim).json()
    given = post(client, "verify", claim | {"evidence": [{"unit": "lakes", "table": LAKES}]}).json()
    assert found.pop("evidence_scores") == [found["evidence"][0].pop("score")]  # of the search
    assert given.pop("evidence_scores") == [None] and given["predicted_evidence"] == [["lakes", None]]
    assert given["evidence"][0].pop("score") is None and found == given
    assert found["evidence"][0]["text"] == "lake, depth | Mira, 40 m | Ode, 9 m"
    short = LAKES | {"title": "", "rows": [["Mira", " 40\nm"], [], ["Ode", "9 m", "?"]]}
    of = {"evidence": [{"table": short, "source": "A survey"}]}
    (read,) = post(client, "verify", claim | of).json()["evidence"]
    assert read["text"] == "lake, depth,  | Mira, 40 m,  | , ,  | Ode, 9 m, ?"
    assert (read["unit"], read["source"]) == ("evidence_0", "A survey")


def test_texts_and_tables_that_are_given_are_read_apart_and_joined(client):
    texts, tables = [{"text": "Mara Velin lived in Tarn.", "score": 0.5}, "Rain fell."], [{"table": LAKES}]
    claims = [{"id": i, "claim": CLAIM, "evidence": given} for i, given in enumerate((texts, tables, tables + texts))]
    text, table, both = post(client, "verify", {"claims": claims}).json()["results"]
    assert [one["label"] for one in both["sources"]] == [text["predicted_label"], table["predicted_label"]]
    assert both["id"] == 2 and "sources" not in text and table["predicted_evidence"] == [["evidence_0", None]]
    assert {one["unit"] for one in both["evidence"]} == {"evidence_0", "evidence_1", "evidence_2"}
    assert both["label_probabilities"] in (text["label_probabilities"], table["label_probabilities"])


BODY = {"content-type": "application/json"}


WIDE = {"header": ["a"] * 100, "rows": [[]] * 500}


def a_table(*tables, **fields):
    """A claim with tables as evidence."""
    return json.dumps({"claim": "a", "evidence": [{"table": one, **fields} for one in tables]}).encode()


def given_text(**fields):
    """A claim with a text as evidence."""
    return json.dumps({"claim": "a", "evidence": [{"text": "b"} | fields]}).encode()


def refused(call, body, field, words, status=422, headers=BODY):
    return call, body, headers, status, field, words


@pytest.mark.parametrize(
    ("call", "body", "headers", "status", "field", "words"),
    [
        refused("check", b"{", None, "not JSON", status=400),
        refused("check", b'"\xff"', None, "not UTF-8", status=400),
        refused("check", b"[" * 100_000, None, "nested too deeply", status=400),
        refused("check", b'{"claim": "a", "id": ' + b"9" * 5_000 + b"}", None, "thousands of digits", status=400),
        refused("check", b"{}", None, "no content-type", status=415, headers={}),
        refused("check", b"{}", None, "text/plain", status=415, headers={"content-type": "text/plain"}),
        refused("check", b"x" * (LIMITS.call_bytes + 1), None, "1,024 KiB", status=413),
        refused("check", b"", None, "an object with `claim` or `claims`"),
        refused("check", b"5", None, "expected an object"),
        refused("check", b"{}", "claim", "missing"),
        refused("check", b'{"claim": " "}', "claim", "empty"),
        refused("check", b'{"claim": "\\ud800"}', "claim", "half of a surrogate pair"),
        refused("check", b'{"claim": "a", "\\ud800": 1}', None, "half of a surrogate pair"),
        refused("check", b'{"claims": ["a", {"claim": "b", "id": "\\ud800"}]}', "claims[1].id", "half of a surrogate"),
        *(
            refused("verify", given_text(**{field: "\ud800"}), f"evidence[0].{field}", "half of a surrogate pair")
            for field in ("unit", "text", "source", "place", "url", "revision_url")
        ),
        refused("verify", given_text(computed=["\ud800"]), "evidence[0].computed[0]", "half of a surrogate pair"),
        refused("verify", a_table({"header": ["a"], "rows": [["\ud800"]]}), "evidence[0].table.rows[0][0]", "half"),
        refused("check", b'{"claims": []}', "claims", "at least 1"),
        refused("check", b'{"claims": ["a", {"claim": 5}]}', "claims[1].claim", "string"),
        refused("check", b'{"claims": ["a"], "claim": "b"}', "claim", "`claims` is given too"),
        refused("check", b'{"claim": "a", "reads": "graphs"}', "reads", "'sentences' or 'tables'"),
        refused("check", b'{"claim": "a", "index": "none"}', "index", "no such index", status=404),
        refused("check", b'{"claim": "a", "id": true}', "id", "integer"),
        refused("check", b'{"claims": [{"claim": "a", "id": [1]}]}', "claims[0].id", "integer"),
        refused("ask", b'{"question": "a", "answers": 0}', "answers", "greater than or equal to 1"),
        refused("rank", b'{"claim": "a", "candidates": ["b", {"text": ""}]}', "candidates[1].text", "at least 1"),
        refused(
            "verify",
            b'{"claim": "a", "evidence": [{"text": "b", "source": "' + b"x" * 501 + b'"}]}',
            "evidence[0].source",
            "at most 500",
        ),
        refused("verify", b'{"claim": "a"}', "evidence", "missing"),
        refused("verify", a_table({"header": ["a"]}), "evidence[0].table.rows", "missing"),
        refused("verify", a_table({"header": ["a"], "rows": []}), "evidence[0].table.rows", "at least 1"),
        refused("verify", a_table({"header": ["a"], "rows": [["b", 5]]}), "evidence[0].table.rows[0][1]", "string"),
        refused("verify", a_table({"header": ["a"] * 101, "rows": [["b"]]}), "evidence[0].table.header", "100"),
        refused("verify", a_table({"header": ["a"], "rows": [[]] * 2001}), "evidence[0].table.rows", "2000"),
        refused("verify", a_table({"header": ["a"], "rows": [["b" * 2001]]}), "evidence[0].table.rows[0][0]", "2000"),
        refused("verify", a_table(WIDE | {"rows": [[]] * 501}), "evidence[0].table", "50,100 cells"),
        refused("verify", a_table(*[WIDE] * 11), "evidence", "550,000 cells"),
        refused("verify", a_table({"header": ["a"], "rows": [["b"]]}, text="c"), "evidence[0].text", "no such field"),
        refused("rank", b'{"claim": "a", "candidates": [{"table": {}}]}', "candidates[0].text", "missing"),
        refused("indexes", b"{}", None, "multipart/form-data, found 'application/json'", status=415),
        refused("nothing", b"{}", None, "no such address", status=404),
    ],
)
def test_what_is_refused_says_which_field_is_meant(client, call, body, headers, status, field, words):
    answer = client.post(f"/v1/{call}", content=body, headers=headers)
    error = answer.json()["error"]
    assert (answer.status_code, error["status"], error.get("field")) == (status, status, field), error
    assert words in error["message"] and error["request_id"] == answer.headers["x-request-id"]


def test_another_method(client):
    answer = client.get("/v1/check")
    assert answer.status_code == 405 and answer.headers["allow"] == "POST"
    assert "Allow" in answer.json()["error"]["message"]
    assert client.put("/v1/indexes").headers["allow"] == "GET, POST"
    assert client.get("/v1/indexes/x").headers["allow"] == "DELETE"


def test_calls_that_no_model_answers(opened, made):
    page = opened(made=Models({PARTS: made[PARTS]}))
    client, (corpus,) = caller(page), page.library
    when = datetime.datetime.fromtimestamp(int(corpus.made), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    open_one = {"id": "index", "name": "index", "version": corpus.version, "made": when, "calls": ["ask", "rank"]}
    open_one |= {"uploaded": False, "seen_by": "everyone", "expires": None}
    assert client.get("/v1/indexes").json() == {"indexes": [open_one]}
    for body, field in (({"claim": "a"}, "index"), ({"claim": "a", "index": "index"}, "index")):
        answer = post(client, "check", body)
        assert answer.status_code == 404 and answer.json()["error"]["field"] == field
    client, table = caller(opened(made=Models({TABLE_VERIFIER: made[TABLE_VERIFIER]}))), {"table": LAKES}
    assert post(client, "verify", {"claim": "a", "evidence": [table]}).status_code == 200
    refused = post(client, "verify", {"claims": [{"claim": "a", "evidence": [table, "b"]}]})
    assert refused.status_code == 404 and refused.json()["error"]["field"] == "evidence"
    assert "labels claims from texts" in refused.json()["error"]["message"]


def test_a_token_is_asked_for_but_by_probes(opened):
    client = caller(opened(token="right-token"))
    refused = post(client, "check", {"claim": "a"})
    assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
    assert "set-cookie" not in refused.headers
    assert "Bearer" in refused.json()["error"]["message"]
    assert post(client, "check", {"claim": "a"}, authorization="Bearer right-token").status_code == 200
    found = [client.get(path).status_code for path in ("/healthz", "/readyz", "/metrics", "/openapi.json")]
    assert found == [200, 200, 401, 401]
    found = post(client, "check", {"claim": "a"}, authorization="Bearer right-token", origin="http://evil").status_code
    assert found == 403


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_are_answered_while_no_thread_is_free(page, path):
    async def asked():
        threads = anyio.to_thread.current_default_thread_limiter()
        threads.total_tokens = 1
        await threads.acquire_on_behalf_of(path)
        transport = httpx2.ASGITransport(create(page))
        async with asyncio.timeout(5), httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)

    assert asyncio.run(asked()).status_code == 200


def test_a_rate_for_calls_that_is_not_the_pages(opened):
    client = caller(opened(limits=Limits(calls_per_second=0.001, changes_burst=0)))
    statuses = [post(client, "check", {"claim": "a"}) for _ in range(2)]
    assert [one.status_code for one in statuses] == [200, 429] and int(statuses[1].headers["retry-after"]) > 1
    assert client.get("/healthz").status_code == 200


def test_where_too_many_wait(opened):
    page, going_on = opened(limits=Limits(waiting=2, answer_seconds=0.3)), threading.Event()
    client = caller(page)
    first = page.worker.submit(going_on.wait)
    while not first.running():
        pass
    late = post(client, "check", {"claim": "a"})
    assert late.status_code == 503 and late.headers["retry-after"] == "5"
    assert "longer" in late.json()["error"]["message"]
    for _ in range(2):
        page.worker.submit(lambda: None)
    assert "too many" in post(client, "check", {"claims": ["a", "b"]}, accept=JSON_LINES).json()["error"]["message"]
    assert client.get("/readyz").status_code == 503 and client.get("/healthz").status_code == 200
    going_on.set()
    first.result(10)
    page.close()
    assert client.get("/healthz").status_code == 503
    assert "stopping" in post(client, "check", {"claim": "a"}).json()["error"]["message"]


@pytest.mark.parametrize(
    ("error", "status"), [(Busy("enough"), 503), (LisaxError("wrong"), 400), (ValueError("/secret/path"), 500)]
)
def test_a_stream_that_breaks_says_so_in_its_last_line(client, page, monkeypatch, error, status):
    answered = page.engine.check_many

    def breaks(corpus, source, claims, tier):
        if CLAIMS[2] in claims:
            raise error
        return answered(corpus, source, claims, tier)

    monkeypatch.setattr(page.engine, "check_many", breaks)
    lines = post(client, "check", {"claims": CLAIMS}, accept=JSON_LINES).text.splitlines()
    assert [json.loads(line).get("claim") for line in lines] == [*CLAIMS[:2], None]
    assert json.loads(lines[2])["error"]["status"] == status and "secret" not in lines[2]


@pytest.mark.parametrize("texts", [["\ud800"], ["a", "\ud800", "b"]])
def test_a_row_that_cannot_be_encoded_ends_a_stream_with_an_error(texts):
    request = Request({"type": "http", "path": "/v1/check", "headers": []})

    async def streamed():
        rows = ({"reason": text} for text in texts)

        async def later():
            for row in rows:
                yield row

        return [line async for line in as_lines(request, later(), next(rows))]

    *sent, last = asyncio.run(streamed())
    assert [json.loads(line)["reason"] for line in sent] == texts[: len(sent)] == texts[:-1][:1]
    assert json.loads(last)["error"]["status"] == 500


def test_a_broken_model_shows_nothing_of_itself(client, page, monkeypatch):
    def broken(*_):
        raise ValueError("/secret/path")

    monkeypatch.setattr(page.engine, "check_many", broken)
    answer = post(client, "check", {"claim": "a"}, **{"x-request-id": "mine"})
    assert answer.status_code == 500 and "/secret/path" not in answer.text and answer.headers["x-request-id"] == "mine"
    assert answer.json()["error"]["request_id"] == "mine" and answer.json()["error"]["message"].startswith("this call")


# --- Together ---------------------------------------------------------------------------------


def test_what_people_ask_at_once_is_computed_together_and_each_gets_their_own(page, monkeypatch):
    sizes, answered, going_on = [], Engine.check_many, threading.Event()

    def counted(engine, corpus, source, claims, tier):
        sizes.append(len(claims))
        return answered(engine, corpus, source, claims, tier)

    monkeypatch.setattr(Engine, "check_many", counted)
    people = [caller(page) for _ in range(8)]
    alone = [post(people[0], "check", {"claim": claim}).json() for claim in CLAIMS]
    blocked = page.worker.submit(going_on.wait)
    with ThreadPoolExecutor(9) as threads:
        asked = [threads.submit(post, one, "check", {"claim": CLAIMS[i % 3]}) for i, one in enumerate(people)]
        on_page = threads.submit(Browser(page).ask, CLAIM, "claim")
        while page.worker.waiting < 9:
            pass
        going_on.set()
        assert [one.result(20).json() for one in asked] == [alone[i % 3] for i in range(8)]
        assert on_page.result(20).status_code == 200
    blocked.result(10)
    # Three alone, then the nine; each over text and over tables.
    assert sorted(sizes) == [1, 1, 1, 1, 1, 1, 1, 1, 4, 4, 4, 4]


def test_only_the_item_that_fails_fails():
    def work(items):
        return [1 / item for item in items]

    worker, going_on = Worker("test", 10), threading.Event()
    assert worker.submit_item("k", work, 1).result(10) == 1
    first = worker.submit(going_on.wait)
    futures = [worker.submit_item("k", work, item) for item in (1, 0, 2)]
    going_on.set()
    assert first.result(10) and futures[0].result(10) == 1 and futures[2].result(10) == 0.5
    with pytest.raises(ZeroDivisionError):
        futures[1].result(10)
    with pytest.raises(ZeroDivisionError):
        worker.submit(lambda: 1 / 0).result(10)
    assert worker.submit(lambda: 1).result(10) == 1
    worker.close()


def test_as_many_are_taken_together_as_the_time_allows():
    sizes, going_on = [], threading.Event()

    def work(items):
        sizes.append(len(items))
        threading.Event().wait(0.05 * len(items))
        return items

    worker = Worker("test", 100, together=8, together_seconds=0.21)
    worker.submit_item("k", work, 0).result(10)
    worker.submit(going_on.wait)
    futures = [worker.submit_item("k", work, item) for item in range(9)]
    going_on.set()
    assert [future.result(10) for future in futures] == list(range(9))
    assert sum(sizes) == 10 and set(sizes) == {1, 4}
    worker.close()


def test_a_client_that_leaves_a_stream_leaves_no_work(page):
    async def run():
        rows = page.service.rows(page.service.check(schema.CheckMany(claims=CLAIMS * 40)))
        await anext(rows)
        await rows.aclose()

    asyncio.run(run())
    page.worker.submit(lambda: None).result(20)
    assert page.worker.waiting == 0


# --- What operators see -----------------------------------------------------------------------


def test_a_request_keeps_its_id_or_gets_one(client):
    assert client.get("/healthz", headers={"x-request-id": "a-1"}).headers["x-request-id"] == "a-1"
    for given in ("", "a b", "é", "x" * 200, 'a"b'):
        made = client.get("/", headers={"x-request-id": given.encode()}).headers["x-request-id"]
        assert made != given and len(made) == 16


def test_metrics_count_by_route(client):
    post(client, "check", {"claims": CLAIMS})
    client.get("/answers/some-secret-id")
    client.get("/nothing-like-it")
    client.request("BREW", "/")
    text = client.get("/metrics").text
    assert 'lisax_requests_total{method="POST",route="/v1/check",status="200"} 1.0' in text
    assert 'route="/answers/{answer_id}",status="404"} 1.0' in text and 'route="other"' in text
    assert 'lisax_items_total{call="check"} 3.0' in text and "lisax_waiting 0.0" in text
    assert "some-secret-id" not in text and "nothing-like" not in text and "BREW" not in text
    assert "process_resident_memory_bytes" in text


def test_logs_are_json_with_the_id_and_without_the_query(page, caplog):
    client = caller(page)
    with caplog.at_level(logging.INFO, logger="lisax.serve"):
        client.get("/feedback?token=secret", headers={"x-request-id": "mine"})
    (record,) = [record for record in caplog.records if record.name == "lisax.serve"]
    row = json.loads(JsonFormatter().format(record))
    assert (row["method"], row["path"], row["status"], row["level"]) == ("GET", "/feedback", 200, "info")
    assert "secret" not in json.dumps(row) and row["time"].endswith("+00:00")
    try:
        raise ValueError("told")
    except ValueError:
        broken = logging.LogRecord("uvicorn", logging.ERROR, "", 0, "broken", (), __import__("sys").exc_info())
    assert "ValueError: told" in json.loads(JsonFormatter().format(broken))["exception"]
