"""Who sees, asks and removes what was uploaded: everyone, a session or a token; and when it is removed by itself."""

import json
import os
import re
import time

import pytest
from small_page import Browser, caller, shown, words

from lisax.errors import LisaxError
from lisax.serve import export, start
from lisax.serve.following import Renewal
from lisax.serve.guard import Rules
from lisax.serve.library import CARD
from lisax.serve.visitors import Seen

TARN = {"files": ("tarn.txt", b"Tarn is a town of 900 people. It lies on the Orm.")}
SECRET = "The Bluebird Ledger"
GIVEN = "index"


def upload(browser, name=SECRET, seen_by="session", **more):
    answer = browser.fill("/corpora", files=TARN, name=name, seen_by=seen_by, **more)
    assert answer.status_code == 200, answer.text
    return re.search(r"loaded=([\w-]+)", str(answer.url))[1]


def bearer(token):
    return {"authorization": f"Bearer {token}"}


def shape(answer):
    """An answer without what differs for equal requests, the id and the time."""
    text = re.sub(r'(form_key" value="|"request_id":")[0-9a-f]+', "", answer.text)
    return answer.status_code, re.sub(r"[0-9a-f]{16,}", "", text)


# --- Sessions --------------------------------------------------------------------------------------


def test_a_private_upload_is_there_for_its_session_only(opened):
    page = opened(keep=None)
    own, other = Browser(page), Browser(page)
    corpus = upload(own)
    assert SECRET in own.get("/corpora").text and SECRET in own.get("/").text
    found = own.ask("Tarn is a town.", "search", corpus)
    assert found.status_code == 200 and "900 people" in words(shown(found))
    answer = str(found.url).partition("answers/")[2]
    own.fill(f"/answers/{answer}/feedback", say="none")
    checked = own.ask("Tarn is a town.", "claim", corpus)
    assert checked.status_code == 200
    claimed = str(checked.url).partition("answers/")[2]
    for address in ("/", "/corpora", "/feedback", "/training", f"/corpora?loaded={corpus}", "/v1/indexes", "/metrics"):
        text = other.get(address).text
        assert SECRET not in text and corpus not in text and "bluebird" not in text.lower(), address
    absent = "the-bluebird-ledger-ffffff"
    for there, missing in (
        (f"/answers/{answer}", "/answers/0123456789abcdef"),
        (f"/answers/{claimed}/verdict.json", "/answers/0123456789abcdef/verdict.json"),
        (f"/sources/{corpus}/passages?unit=tarn_0", f"/sources/{absent}/passages?unit=tarn_0"),
    ):
        assert shape(other.get(there)) == shape(other.get(missing)) and other.get(there).status_code == 404
    assert own.get(f"/answers/{answer}").status_code == 200
    assert shape(other.ask("Tarn", "search", corpus)) == shape(other.ask("Tarn", "search", absent))
    assert shape(other.fill(f"/corpora/{corpus}/remove")) == shape(other.fill(f"/corpora/{absent}/remove"))
    assert other.fill(f"/corpora/{corpus}/remove").status_code == 404
    assert shape(other.fill(f"/answers/{claimed}/feedback")) == shape(other.fill("/answers/0123456789abcdef/feedback"))
    asked = {"claim": "Tarn is a town."}
    for call in ("check", "rank"):
        one, missing = (other.post(f"/v1/{call}", json=asked | {"index": name}) for name in (corpus, absent))
        assert one.status_code == 404 and shape(one) == shape(missing)
        assert own.post(f"/v1/{call}", json=asked | {"index": corpus}).status_code == 200
    listed = {one["id"]: one for one in own.get("/v1/indexes").json()["indexes"]}
    assert listed[corpus]["seen_by"] == "session" and listed[corpus]["uploaded"] and not listed[GIVEN]["uploaded"]
    assert own.fill(f"/corpora/{corpus}/remove").status_code == 200
    assert SECRET not in own.get("/corpora").text
    assert other.get(f"/answers/{answer}").status_code == 404  # although the corpus is gone


def test_answers_from_private_documents_give_no_feedback_to_others(opened, tmp_path):
    page = opened()
    own, other = Browser(page), Browser(page)
    checked = own.ask("Tarn is a town of 900 people.", "claim", upload(own))
    answer = str(checked.url).partition("answers/")[2]
    source = page.store.answer(answer).result["verdicts"][0]["source"]
    say = {"say": "verdict", "source": source, "label": "NOT ENOUGH INFO"}
    assert other.fill(f"/answers/{answer}/feedback", **say).status_code == 404
    assert own.fill(f"/answers/{answer}/feedback", **say).status_code == 200
    assert "900 people" in own.get("/feedback").text and "900 people" not in other.get("/feedback").text
    (said,) = page.store.feedback(owners=[page.store.answer(answer).result["owner"]])
    other.fill(f"/feedback/{said.id}/remove")
    assert "900 people" in own.get("/feedback").text and page.store.feedback() == []
    assert (page.store.feedback_count(), page.store.feedback_count([said.answer.result["owner"]])) == (0, 1)
    gathered = export.gather(page.store.feedback(), Seen(page.library), page.engine)
    assert not gathered.claims  # no training from the page on it
    assert len(own.get("/feedback/export.zip").content) > len(other.get("/feedback/export.zip").content)
    own.fill(f"/feedback/{said.id}/remove")
    assert page.store.feedback_count([said.answer.result["owner"]]) == 0


def test_the_same_files_of_two_visitors_are_two_uploads(opened):
    page = opened()
    own, other = Browser(page), Browser(page)
    one = upload(own)
    assert upload(own) == one and upload(other) != one
    assert upload(own, seen_by="everyone") not in {one, upload(other)}


def test_an_upload_for_everyone_is_removed_by_its_uploader(opened):
    page = opened()
    own, other = Browser(page), Browser(page)
    corpus = upload(own, "Towns", "everyone")
    assert "Towns" in other.get("/corpora").text and f"/corpora/{corpus}/remove" not in other.get("/corpora").text
    assert other.ask("Tarn", "search", corpus).status_code == 200
    refused = other.fill(f"/corpora/{corpus}/remove")
    assert refused.status_code == 403 and "or the operator, can remove them" in words(shown(refused))
    assert f"/corpora/{corpus}/remove" in own.get("/corpora").text
    assert own.fill(f"/corpora/{corpus}/remove").status_code == 200
    assert own.fill(f"/corpora/{GIVEN}/remove").status_code == 400


def test_a_form_names_who_will_see_it(opened):
    page = opened(keep=7 * 86_400)
    browser = Browser(page)
    text = words(shown(browser.get("/corpora")))
    assert "Who sees it everyone only you, in this browser Documents for everyone can be seen" in text
    assert "Documents are removed 7 days after they were loaded." in text and "your token" not in text
    corpus = upload(browser)
    line = words(shown(browser.get("/corpora")))
    assert "seen by: only you, in this browser; removed on 20" in line
    refused = browser.fill("/corpora", files=TARN, name="x", seen_by="token")
    assert refused.status_code == 400 and "must be one of: everyone, session" in words(shown(refused))
    (listed,) = (one for one in browser.get("/v1/indexes").json()["indexes"] if one["id"] == corpus)
    assert listed["expires"] > time.strftime("%Y-%m-%d")


# --- Tokens ----------------------------------------------------------------------------------------


TOKENS = {"token": "first-" + "1" * 20, "more_tokens": ("second-" + "2" * 20,)}
FIRST, SECOND, OPERATOR = TOKENS["token"], *TOKENS["more_tokens"], "operator-" + "0" * 20


def test_an_upload_that_is_private_to_a_token_is_for_all_who_have_it(opened):
    page = opened(**TOKENS)
    one, same, other = Browser(page), Browser(page), Browser(page)
    for browser, token in ((one, FIRST), (same, FIRST), (other, SECOND)):
        assert browser.get(f"/?token={token}").status_code == 200
    assert "everyone with your token" in one.get("/corpora").text
    corpus = upload(one, seen_by="token")
    assert SECRET in same.get("/corpora").text and SECRET not in other.get("/corpora").text
    calls = caller(page)
    names = [
        {row["id"] for row in calls.get("/v1/indexes", headers=bearer(token)).json()["indexes"]}
        for token in (FIRST, SECOND)
    ]
    assert corpus in names[0] and corpus not in names[1]
    asked = {"claim": "Tarn is a town.", "index": corpus}
    assert calls.post("/v1/rank", json=asked, headers=bearer(FIRST)).status_code == 200
    assert calls.post("/v1/rank", json=asked, headers=bearer(SECOND)).status_code == 404
    assert calls.post("/v1/rank", json=asked).status_code == calls.get("/v1/indexes").status_code == 401
    assert other.fill(f"/corpora/{corpus}/remove").status_code == 404
    assert same.fill(f"/corpora/{corpus}/remove").status_code == 200


def test_calls_load_and_remove(opened):
    page = opened(origins=frozenset({"*"}), **TOKENS)
    calls = caller(page)

    def load(token, **fields):
        return calls.post("/v1/indexes", data={"name": SECRET, **fields}, files=TARN, headers=bearer(token))

    made = load(FIRST, seen_by="token")
    assert made.status_code == 201 and made.json()["seen_by"] == "token" and "rank" in made.json()["calls"]
    corpus = made.json()["id"]
    refused = load(FIRST, seen_by="session")
    assert refused.status_code == 400 and "must be one of: everyone, token" in refused.json()["error"]["message"]
    assert calls.post("/v1/indexes", data={"name": "x"}, headers=bearer(FIRST)).status_code == 400
    assert calls.delete(f"/v1/indexes/{corpus}", headers=bearer(SECOND)).status_code == 404
    assert calls.delete(f"/v1/indexes/{corpus}", headers=bearer(FIRST)).status_code == 204
    assert calls.delete(f"/v1/indexes/{corpus}", headers=bearer(FIRST)).status_code == 404
    public = load(FIRST).json()
    assert public["seen_by"] == "everyone"
    assert calls.delete(f"/v1/indexes/{public['id']}", headers=bearer(SECOND)).status_code == 403
    foreign = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"} | bearer(FIRST)
    assert calls.post("/v1/indexes", data={"name": "x"}, files=TARN, headers=foreign).status_code == 403
    elsewhere = {"origin": "https://app.example"} | bearer(FIRST)  # may ask, and loads nothing
    assert calls.post("/v1/rank", json={"claim": "Tarn"}, headers=elsewhere).status_code == 200
    assert calls.post("/v1/indexes", data={"name": "x"}, files=TARN, headers=elsewhere).status_code == 403
    large = {"files": ("large.txt", b"a " * (page.limits.upload_bytes // 2))}
    assert calls.post("/v1/indexes", data={"name": "x"}, files=large, headers=bearer(FIRST)).status_code == 413


def test_a_call_without_a_token_and_a_cookie_loads_only_for_everyone(opened):
    calls = caller(opened())
    made = calls.post(
        "/v1/indexes",
        data={"name": "Towns"},
        files=[*TARN.items(), ("files", ("tarn.png", b"PNG")), ("files", ("a.csv", b"a,b\n1,2\n3\n"))],
    )
    assert made.status_code == 201 and "set-cookie" not in made.headers
    assert made.json()["files"]["skipped"] == [{"file": "tarn.png", "why": ".png", "detail": ""}]
    note = {"kind": "rows that are shorter than the others (padded)", "count": 1, "file": "a.csv"}
    assert made.json()["files"]["notes"] == [note]
    (listed,) = (one for one in calls.get("/v1/indexes").json()["indexes"] if one["id"] == made.json()["id"])
    assert listed["files"]["notes"] == [note]
    assert calls.post("/v1/indexes", data={"name": "x", "seen_by": "session"}, files=TARN).status_code == 400
    assert calls.delete(f"/v1/indexes/{made.json()['id']}").status_code == 403


@pytest.mark.parametrize("rules", [{}, TOKENS])
def test_the_operators_token_removes_public_uploads_and_sees_no_private_ones(opened, rules):
    page = opened(operator=OPERATOR, **rules)
    own, operator, calls = Browser(page), Browser(page), caller(page)
    own.get(f"/?token={FIRST}")
    public, private = upload(own, "Towns", "everyone"), upload(own)
    assert operator.get(f"/?token={OPERATOR}").status_code == 200
    assert "token=" not in str(operator.get(f"/?token={OPERATOR}", follow_redirects=False).headers.get("location", ""))
    assert SECRET not in operator.get("/corpora").text
    assert operator.fill(f"/corpora/{private}/remove").status_code == 404
    assert f"/corpora/{public}/remove" in operator.get("/corpora").text
    assert calls.delete(f"/v1/indexes/{private}", headers=bearer(OPERATOR)).status_code == 404
    assert calls.delete(f"/v1/indexes/{public}", headers=bearer("operator-" + "9" * 20)).status_code in (401, 403)
    assert calls.delete(f"/v1/indexes/{public}", headers=bearer(OPERATOR)).status_code == 204


def test_tokens_come_from_the_environment(tmp_path, monkeypatch):
    for name in ("LISAX_TOKEN", "LISAX_TOKENS", "LISAX_OPERATOR_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LISAX_TOKENS", f"{FIRST} {SECOND}")
    assert start._token("0.0.0.0") == (FIRST, False) and start._group_tokens() == (FIRST, SECOND)
    assert Rules(b"", FIRST, more_tokens=(SECOND,)).tokens == (FIRST, SECOND) and Rules(b"").tokens == ()
    kept = start._operator(tmp_path)
    assert start._operator(tmp_path) == kept and os.stat(tmp_path / "operator-token").st_mode & 0o77 == 0
    monkeypatch.setenv("LISAX_OPERATOR_TOKEN", OPERATOR)
    assert start._operator(tmp_path) == OPERATOR
    for name, value in (("LISAX_TOKENS", "short"), ("LISAX_OPERATOR_TOKEN", "short")):
        monkeypatch.setenv(name, value)
        with pytest.raises(LisaxError, match=f"{name} has a token of 5 characters"):
            start._group_tokens() if name == "LISAX_TOKENS" else start._operator(tmp_path)


# --- Two servers, and time -------------------------------------------------------------------------


def test_old_uploads_are_removed_on_both_servers(opened, monkeypatch):
    first, second = opened(keep=3600.0), opened(keep=3600.0)
    own, there = Browser(first), Browser(second)
    there.cookies = own.cookies
    corpus = upload(own)
    younger = upload(own, "Towns", "everyone")
    card = first.library.folder / younger / CARD
    card.write_text(json.dumps(json.loads(card.read_text()) | {"loaded": time.time() + 100}))
    third = opened(keep=3600.0)
    assert {one.id for one in third.library} == {GIVEN, corpus, younger}
    later = time.time() + 3650
    monkeypatch.setattr("lisax.serve.library.time.time", lambda: later)
    Renewal(third.library, third.engine.forget).update()
    monkeypatch.undo()
    assert {one.id for one in third.library} == {GIVEN, younger}
    assert {one.id for one in second.library} == {GIVEN, younger} and not (first.library.folder / corpus).exists()
    assert SECRET not in there.get("/corpora").text
