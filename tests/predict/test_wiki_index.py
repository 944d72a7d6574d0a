"""`lisax check --wikipedia` against a local server that answers as MediaWiki does."""

import json
from pathlib import Path

import pytest

from lisax import Checker, LisaxError, example_pages
from lisax.cli import main
from lisax.predict.wiki_index import WikiIndex
from lisax.retrieval.mediawiki import CONTACT, Manners
from tests.wiki_server import pages, serving

CLAIM = "Vova Brugard was born in Torimoor."
TEXTS = {path.stem.replace("_", " "): path.read_text() for path in sorted(Path(example_pages()).glob("*.txt"))}


@pytest.fixture
def wiki(monkeypatch, tmp_path):
    """(URL of a wiki with the example pages, which finds those that contain all words, the requests that it received)."""
    monkeypatch.setenv(CONTACT, "me@example.org")
    monkeypatch.setenv("LISAX_CACHE", str(tmp_path / "cache"))

    def reply(asked):
        words = asked["gsrsearch"].split()
        found = [(title, text) for title, text in TEXTS.items() if all(word in f"{title} {text}" for word in words)]
        # A wiki ranks a page first whose title is the query.
        return pages(*sorted(found, key=lambda page: page[0] != asked["gsrsearch"]))

    with serving(reply) as found:
        yield found


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_a_claim_is_checked_against_a_live_wiki(wiki, capsys, bundles):
    url, requests = wiki
    given = ["check", CLAIM, "--mediawiki", url, "--model", bundles["pointwise"], "--temporal"]
    code, out, err = run(capsys, *given)
    assert code == 0, err
    assert [asked["gsrsearch"] for asked, _ in requests] == ["Vova Brugard", "Torimoor"]
    code, again, _ = run(capsys, *given, "--json")
    assert code == 0 and len(requests) == 2  # from the cache
    verdict = json.loads(again)
    assert out.startswith(f"{verdict['predicted_label']}  {CLAIM}")
    for one in verdict["evidence"]:
        assert one["text"] in TEXTS[one["source"]]
        assert one["url"] == f"https://wiki.example/wiki/{one['source'].replace(' ', '_')}"
        assert one["revision_url"].startswith(url.replace("api.php", "index.php?oldid="))
    first = verdict["evidence"][0]
    assert f"\n     {first['url']}, as read: {first['revision_url']}\n" in out


def test_sentences_come_from_each_entitys_first_pages_in_turn(wiki):
    url, requests = wiki
    index = WikiIndex.open(url)
    found = index.search_many(["Vova Brugard knew Besa Siton."], 100, documents=2)[0]
    assert list(dict.fromkeys(one.source for one in found)) == ["Vova Brugard", "Besa Siton"]
    assert found[0].unit == "Vova_Brugard_0" and found[0].score == 1
    assert index.lookup("Vova_Brugard_0").text == found[0].text
    assert {asked["gsrlimit"] for asked, _ in requests} == {"2"}
    assert index.search("Xqz Yqz.", 3) == [] and index.lookup("Vova_Brugard_0") is None


def test_a_verdict_in_a_notebook_links_to_the_revision(wiki, bundles):
    url, _ = wiki
    verdict = Checker(WikiIndex.open(url), model=bundles["pointwise"]).check(CLAIM)
    assert f'<a href="{verdict.evidence[0].revision_url}">' in verdict._repr_html_()


def test_what_is_missing_is_told(wiki, capsys, monkeypatch, bundles):
    url, requests = wiki
    monkeypatch.setattr("lisax.predict.wiki_index.MANNERS", Manners(attempts=1))
    model = ["--model", bundles["pointwise"]]
    code, _, err = run(capsys, "check", CLAIM, "--mediawiki", "http://127.0.0.1:9/w/api.php", *model)
    assert code == 1 and "offline" in err and "--corpus DIR" in err
    code, _, err = run(capsys, "check", CLAIM, "--mediawiki", url, *model, "--hops", "2")
    assert code == 2 and "--hops 2 needs an index" in err
    code, _, err = run(capsys, "check", CLAIM, "--wikipedia", "--corpus", example_pages(), *model)
    assert code == 2 and "one of --corpus DIR" in err
    with pytest.raises(LisaxError, match="second hop needs an index"):
        Checker(WikiIndex.open(url), model=bundles["pointwise"], hops=2).check(CLAIM)
    monkeypatch.delenv(CONTACT)
    code, _, err = run(capsys, "check", CLAIM, "--wikipedia")
    assert code == 1 and "set LISAX_CONTACT to your e-mail address" in err and not requests
