"""`lisax attack`: folders in both layouts that read back, decisions that last, the page that takes them."""

from __future__ import annotations

import contextlib
import html
import http.client
import json
import socket
import threading
import unicodedata
import urllib.parse

import click
import pytest

from lisax import shipped, world
from lisax.adversary import decisions, making
from lisax.adversary.attack import AttackKind
from lisax.adversary.lexicon import CorpusLexicon
from lisax.adversary.review import Review, make_server, pages_beside
from lisax.cli import attack as command
from lisax.cli import invoke
from lisax.cli.verbs import Verb
from lisax.corpora import open_folder, read_claims
from lisax.records import LABELS, DataError, Label, LisaxError, read_json_lines
from lisax.retrieval.pages import PageStore


def attack(*args, verb: str = "make") -> int:
    return invoke(["attack", verb, *map(str, args)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    world.write(folder / "world", pages=150, seed=3)
    attack("--claims", folder / "world", "--out", folder / "plain")
    attack("--claims", folder / "world", "--out", folder / "fever", "--layout", "fever")
    return folder


def test_a_folder_in_the_plain_layout(folder, capsys):
    made, source = open_folder(folder / "plain"), open_folder(folder / "world")
    assert made.splits == ("train", "dev", "test")
    assert list(made.documents()) == list(source.documents())
    claims = list(made.claims("train"))
    assert {claim.kind for claim in claims} == set(AttackKind) - {AttackKind.LEXICAL}
    _, row = next(read_json_lines(folder / "plain" / "claims.train.jsonl"))
    assert row["source"] and row["edit"] and row["reason"]
    summary = json.loads((folder / "plain" / "attacks.json").read_text())
    assert sum(sum(labels.values()) for labels in summary["counts"]["train"].values()) == len(claims)


def test_the_same_in_fevers_layout(folder):
    made = open_folder(folder / "fever")
    assert made.layout == "fever"
    ours, theirs = (list(open_folder(folder / name).claims("dev")) for name in ("plain", "fever"))
    assert [(c.text, c.label, c.evidence_sets) for c in ours] == [(c.text, c.label, c.evidence_sets) for c in theirs]
    assert {claim.kind for claim in theirs} <= {
        "conjunction",
        "Multihop",
        "Phrasal Additions",
        "date manipulation",
        "multi-hop temporal reasoning",
        "Entity Disambiguation",
    }
    assert [[s.text for s in d.sentences] for d in made.documents()] == [
        [s.text for s in d.sentences] for d in open_folder(folder / "plain").documents()
    ]


def test_pages_and_evidence_have_one_form_of_an_id(tmp_path):
    """FEVER's pages are called in NFD, as its evidence."""
    own = unicodedata.normalize("NFD", "Zoë_Lee")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "wiki-pages.jsonl").write_text(
        json.dumps({"id": own, "text": "x", "lines": "0\tZoë Lee was born in 1950 ."}) + "\n"
    )
    (tmp_path / "source" / "dev.jsonl").write_text(
        json.dumps(
            {
                "id": 1,
                "label": "SUPPORTS",
                "claim": "Zoë Lee was born in 1950.",
                "verifiable": "VERIFIABLE",
                "evidence": [[[1, 2, own, 0]]],
            }
        )
        + "\n"
    )
    for layout, names, form in (
        ("plain", ("claims.dev.jsonl", "pages.jsonl"), "NFC"),
        ("fever", ("dev.jsonl", "wiki-pages.jsonl"), "NFD"),
    ):
        attack("--claims", tmp_path / "source", "--out", tmp_path / layout, "--layout", layout, "--kind", "date")
        for name in names:
            row = json.loads((tmp_path / layout / name).read_text().splitlines()[0])
            said = row["id"] if "pages" in name else row["evidence"][0][0]
            said = said if isinstance(said, str) else said[2]
            assert said.startswith(unicodedata.normalize(form, own))


def test_files_of_an_earlier_run_are_not_left_among_those_of_this_one(folder, tmp_path):
    def names():
        return {path.name for path in tmp_path.iterdir()}

    attack("--claims", folder / "world", "--out", tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    attack("--claims", folder / "world", "--out", tmp_path, "--layout", "fever", "--split", "dev")
    assert names() == {"dev.jsonl", "wiki-pages.jsonl", "attacks.json", "notes.txt"}
    assert open_folder(tmp_path).splits == ("dev",)
    attack("--claims", folder / "world", "--out", tmp_path, "--split", "test", "--without-pages")
    assert names() == {"claims.test.jsonl", "attacks.json", "notes.txt"}
    old = json.loads((tmp_path / "attacks.json").read_text())
    del old["files"]
    (tmp_path / "attacks.json").write_text(json.dumps(old))
    attack("--claims", folder / "world", "--out", tmp_path, "--split", "dev", "--without-pages")
    assert names() == {"claims.dev.jsonl", "attacks.json", "notes.txt"}
    (tmp_path / "attacks.json").write_text("[]")
    with pytest.raises(DataError, match="choose another folder"):
        attack("--claims", folder / "world", "--out", tmp_path)


def test_an_index_serves_as_corpus(folder, tmp_path):
    PageStore.build(open_folder(folder / "world").documents(), tmp_path / "index")
    attack(
        "--claims",
        folder / "world" / "claims.dev.jsonl",
        "--corpus",
        tmp_path / "index",
        "--out",
        tmp_path / "out",
        "--without-pages",
    )
    assert (tmp_path / "out" / "claims.dev.jsonl").read_bytes() == (folder / "plain" / "claims.dev.jsonl").read_bytes()
    assert not (tmp_path / "out" / "pages.jsonl").exists()


@pytest.mark.parametrize(
    "args, message",
    [
        (["--split", "valid"], "valid"),
    ],
)
def test_troubles_are_told_and_nothing_is_written(folder, tmp_path, args, message):
    with pytest.raises(LisaxError, match=message):
        attack("--claims", folder / "world", "--out", tmp_path / "out", *args)
    assert not (tmp_path / "out").exists()


def test_an_unknown_kind_is_told_with_those_there_are(folder, tmp_path):
    with pytest.raises(click.UsageError, match="'spelling' is not one of 'conjunction', .*'lexical'"):
        attack("--claims", folder / "world", "--out", tmp_path / "out", "--kind", "spelling")
    assert not (tmp_path / "out").exists()


def test_the_kinds_offered_are_those_there_are():
    (offered,) = (option for option in Verb.of(command.make, "make").params if option.name == "kind")
    assert list(offered.type.choices) == list(AttackKind)


def test_claims_that_allow_nothing_write_nothing(folder, tmp_path):
    (tmp_path / "claims.dev.jsonl").write_text('{"id": "1", "claim": "It rains.", "label": "SUPPORTS"}\n')
    with pytest.raises(LisaxError, match="none of the claims"):
        attack("--claims", tmp_path / "claims.dev.jsonl", "--corpus", folder / "world", "--out", tmp_path / "out")
    assert not any((tmp_path / "out").glob("*"))


def test_a_model_that_never_errs_is_told(folder, tmp_path, monkeypatch):
    from lisax.adversary import lexical

    def sure(checkpoint, corpus):
        return lambda claims: [[float(claim.label is label) for label in LABELS] for claim in claims]

    monkeypatch.setattr(lexical, "evidence_model", sure)
    monkeypatch.setattr(making, "best_lexicon", lambda corpus, claims, texts: CorpusLexicon(corpus, claims))
    with pytest.raises(LisaxError, match=r"of [\d,]+ claims that the model gets right .* errs on 0"):
        attack(
            "--claims",
            folder / "world",
            "--split",
            "dev",
            "--out",
            tmp_path / "out",
            "--kind",
            "lexical",
            "--model",
            tmp_path,
        )
    assert not any((tmp_path / "out").glob("*"))


def test_words_are_exchanged_unguided_or_until_the_shipped_labeller_errs(folder, tmp_path, monkeypatch):
    from lisax.adversary import lexical

    asked = []

    def never_right(checkpoint, corpus):
        asked.append(checkpoint)
        return lambda claims: [[1 / 3] * 3 for _ in claims]

    monkeypatch.setattr(lexical, "evidence_model", never_right)
    monkeypatch.setattr(making, "best_lexicon", lambda corpus, claims, texts: CorpusLexicon(corpus, claims))
    args = ["--claims", folder / "world", "--kind", "lexical", "--without-pages", "--fluency", 5]
    attack(*args, "--out", tmp_path / "unguided", "--unguided")
    assert asked == [] and list(open_folder(tmp_path / "unguided").claims("train"))
    attack(*args, "--out", tmp_path / "guided")
    assert asked == [shipped.labeller()]
    with pytest.raises(click.UsageError, match="--unguided attacks no model"):
        attack(*args, "--out", tmp_path / "none", "--unguided", "--model", tmp_path)


def test_decided_claims_without_evidence_at_hand_are_left_out_and_counted(tmp_path, capsys):
    source = tmp_path / "source"
    source.mkdir()
    (source / "pages.jsonl").write_text(
        '{"id": "Ann", "title": "Ann Lee", "sentences": ["Ann Lee was born in 1950."]}\n'
    )
    claims = [
        ("Ann Lee was born in 1950.", "SUPPORTS", [["Ann_0"], ["Gone_0", "Ann_0"]]),
        ("Ann Lee was born on May 1, 1950.", "SUPPORTS", []),
        ("Ann Lee was born in 1990.", "REFUTES", [["Gone_0"]]),
        ("Ann Lee sang in 1970.", "NOT ENOUGH INFO", []),
    ]
    (source / "claims.dev.jsonl").write_text(
        "".join(
            json.dumps({"id": str(n), "claim": text, "label": label, "evidence": sets}) + "\n"
            for n, (text, label, sets) in enumerate(claims)
        )
    )
    attack("--claims", source, "--out", tmp_path / "out", "--kind", "date")
    assert "dev: 2 of 4 claims are left out" in capsys.readouterr().err
    assert json.loads((tmp_path / "out" / "attacks.json").read_text())["left_out"] == {"dev": 2}
    rows = [row for _, row in read_json_lines(tmp_path / "out" / "claims.dev.jsonl")]
    assert {(tuple(row["source"]), str(row["evidence"])) for row in rows} == {(("0",), "[['Ann_0']]"), (("3",), "[]")}


def test_the_source_is_not_overwritten(folder):
    with pytest.raises(LisaxError, match="overwrite"):
        attack("--claims", folder / "world", "--out", folder / "world")


# --- Review ---------------------------------------------------------------------------------


@pytest.fixture
def attacks_file(folder):
    return folder / "plain" / "claims.dev.jsonl"


def decide(review, id, decision, claim="Mended text.", label="REFUTES", token=None):
    return review.decide(
        {
            "id": id,
            "decision": decision,
            "claim": claim,
            "label": label,
            "token": review.token if token is None else token,
        }
    )


def test_decisions_are_kept_and_gone_on_with(attacks_file, tmp_path):
    out = tmp_path / "decisions.jsonl"
    review = Review(attacks_file, out)
    first, second, third = list(review.rows)[:3]
    assert first in review.page() and "0 of" in review.page()
    assert decide(review, first, "accept") is None and decide(review, second, "reject") is None
    with out.open("a") as file:
        file.write('{"id": "cut off')
    again = Review(attacks_file, out)
    assert again.next_id() == third and decide(again, third, "mend") is None
    assert decide(again, second, "accept") is None  # a change of mind
    found = decisions.read_decisions(out, review.rows)
    assert {id: one.decision for id, one in found.items()} == {first: "accept", second: "accept", third: "mend"}
    assert found[first].claim == review.rows[first]["claim"] and found[third].claim == "Mended text."
    assert decisions.reviewed(attacks_file, out) == {first: True, second: True, third: False}
    attack("--attacks", attacks_file, "--decisions", out, "--out", tmp_path / "claims.dev.jsonl", verb="accept")
    kept = {claim.id: claim for claim in read_claims(tmp_path / "claims.dev.jsonl")}
    assert list(kept) == [first, second, third]
    assert kept[third].text == "Mended text." and kept[third].label is Label.REFUTES


def test_a_claim_mended_to_undecided_reads_back_in_fevers_layout(folder, tmp_path):
    file, out = folder / "fever" / "dev.jsonl", tmp_path / "decisions.jsonl"
    review = Review(file, out)
    id = next(id for id, row in review.rows.items() if row["label"] == "SUPPORTS")
    assert "None" not in review.page(id)
    assert decide(review, id, "mend", label="NOT ENOUGH INFO") is None
    attack("--attacks", file, "--decisions", out, "--out", tmp_path / "dev.jsonl", verb="accept")
    row = json.loads((tmp_path / "dev.jsonl").read_text())
    assert row["verifiable"] == "NOT VERIFIABLE" and row["evidence"] == []
    (claim,) = read_claims(tmp_path / "dev.jsonl")
    assert claim.label is Label.NOT_ENOUGH_INFO and claim.text == "Mended text."


@pytest.mark.parametrize("layout", ["plain", "fever"])
def test_the_page_shows_the_text_of_the_evidence(folder, tmp_path, layout):
    file = folder / layout / ("claims.dev.jsonl" if layout == "plain" else "dev.jsonl")
    corpus = pages_beside(file)
    claims = {claim.id: claim for claim in read_claims(file)}
    review = Review(file, tmp_path / "d", corpus)
    id = next(id for id, claim in claims.items() if claim.evidence_sets)
    for unit in claims[id].evidence_sets[0]:
        assert corpus.text(unit) and f"<li>{html.escape(f'{unit}: {corpus.text(unit)}')}</li>" in review.page(id)
    undecided = next(id for id, claim in claims.items() if not claim.evidence_sets)
    assert "<li>" not in review.page(undecided)
    assert f"<li>{html.escape(claims[id].evidence_sets[0][0])}</li>" in Review(file, tmp_path / "d").page(id)


def test_evidence_is_looked_up_beside_the_attacks_or_where_it_is_said_to_be(folder, tmp_path):
    (tmp_path / "claims.dev.jsonl").write_bytes((folder / "plain" / "claims.dev.jsonl").read_bytes())
    assert pages_beside(tmp_path / "claims.dev.jsonl") is None
    assert len(pages_beside(tmp_path / "claims.dev.jsonl", folder / "world")) == 150


def test_wrong_forms_are_refused(attacks_file, tmp_path):
    review = Review(attacks_file, tmp_path / "d")
    id = review.next_id()
    assert decide(review, id, "accept", token="x") and decide(review, "nobody", "accept")
    assert decide(review, id, "maybe")
    assert decide(review, id, "mend", claim=" ") and decide(review, id, "mend", label="PERHAPS")
    undecided = next(id for id, row in review.rows.items() if row["label"] == "NOT ENOUGH INFO")
    assert "no evidence" in decide(review, undecided, "mend", label="SUPPORTS")
    assert not (tmp_path / "d").exists() and review.next_id() == id
    with pytest.raises(DataError, match="one of accept"):
        (tmp_path / "d").write_text(json.dumps({"id": id, "decision": "maybe", "claim": "", "label": ""}) + "\n")
        Review(attacks_file, tmp_path / "d")


@pytest.mark.parametrize(
    "changed, field, message",
    [
        ({"claim": 5}, "claim", "str"),
        ({"label": "FOO"}, "label", "SUPPORTS"),
        ({"id": 7}, "id", "str"),
        ({"decision": ["mend"]}, "decision", "str"),
        ({"note": None}, "note", "str"),
        ({"claim": " "}, "claim", "empty"),
        ({"id": "nobody"}, "id", "none of the attacks"),
        ({"decision": "maybe"}, "decision", "accept"),
    ],
)
def test_decisions_are_checked_field_by_field(attacks_file, tmp_path, changed, field, message):
    id = next(iter(decisions.read_attacks(attacks_file)))
    good = {"id": id, "decision": "mend", "claim": "Ann sings.", "label": "SUPPORTS"}
    file = tmp_path / "d.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in (good, good | changed)))
    with pytest.raises(DataError, match=message) as caught:
        attack("--attacks", attacks_file, "--decisions", file, "--out", tmp_path / "out", verb="accept")
    assert (caught.value.path, caught.value.line, caught.value.field) == (file, 2, field)
    assert not (tmp_path / "out").exists()


def test_missing_decisions_and_a_port_in_use_are_told(attacks_file, tmp_path):
    with pytest.raises(DataError, match="nofile: no such file"):
        attack("--attacks", attacks_file, "--decisions", tmp_path / "nofile", "--out", tmp_path / "out", verb="accept")
    review = Review(attacks_file, tmp_path / "d.jsonl")
    with make_server(review, 0) as server, pytest.raises(LisaxError, match=f"port {server.server_address[1]}: "):
        make_server(review, server.server_address[1])


def test_half_a_request_keeps_nobody_waiting_and_no_request_breaks_the_page(attacks_file, tmp_path, capsys):
    with make_server(Review(attacks_file, tmp_path / "d.jsonl"), 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            host, port = server.server_address
            with contextlib.ExitStack() as stack:
                for _ in range(50):
                    stack.enter_context(socket.create_connection((host, port))).sendall(b"GET / HT")
                for sent, status in (
                    (b"GET //[ HTTP/1.0", b"200"),
                    (b"POST / HTTP/1.0\r\nContent-Length: \xb2", b"413"),
                ):
                    asking = stack.enter_context(socket.create_connection((host, port), timeout=5))
                    asking.sendall(sent + b"\r\nHost: 127.0.0.1:1\r\n\r\n")
                    assert status in asking.recv(100)
        finally:
            server.shutdown()
            thread.join()
    assert "Traceback" not in capsys.readouterr().err


def test_the_page_over_http(attacks_file, tmp_path):
    review = Review(attacks_file, tmp_path / "d.jsonl")
    id = review.next_id()
    with make_server(review, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:

            def request(method, body=None, **headers):
                connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
                connection.request(method, "/", body, headers)
                response = connection.getresponse()
                return response.status, response.read().decode()

            status, page = request("GET")
            assert status == 200 and id in page and review.token in page
            form = urllib.parse.urlencode(
                {"id": id, "decision": "accept", "claim": "x", "label": "REFUTES", "token": review.token}
            )
            assert request("POST", form)[0] == 303 and review.next_id() != id
            assert request("POST", "id=1")[0] == 400
            assert request("GET", Host="evil.example:80")[0] == 403
        finally:
            server.shutdown()
            thread.join()
