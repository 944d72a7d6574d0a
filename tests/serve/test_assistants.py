"""`lisax serve --mcp`: the tools, asked by the protocol's own client."""

import asyncio
import json
import sys

import pytest

from lisax import Index, example_model, example_pages
from lisax.cli import main
from lisax.serve.models import PARTS, Models

mcp = pytest.importorskip("mcp", reason="needs the SDK of the protocol: make peers")
from mcp import Client, StdioServerParameters

from lisax.serve import schema
from lisax.serve.assistants import assistant

CLAIMS = ["Vova Brugard was born in Torimoor.", "Torimoor has 12,000 residents."]


@pytest.fixture(scope="module")
def example_index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    Index.build(example_pages(), folder / "index")
    return folder / "index"


def test_a_process_answers_as_the_command_line_does(example_index, tmp_path, capsys):
    model = str(example_model())
    given = ["--model", model, "--index", str(example_index)]
    arguments = ["-P", "-m", "lisax", "serve", "--mcp", *given, "--state", str(tmp_path / "state")]

    async def asked():
        async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
            tools = (await client.list_tools()).tools
            return client.server_info, tools, await client.call_tool("check", {"claims": CLAIMS})

    server, tools, answer = asyncio.run(asked())
    assert server.name == "lisax" and [tool.name for tool in tools] == ["check", "rank", "verify", "indexes"]
    assert not answer.is_error
    for claim, row in zip(CLAIMS, answer.structured_content["results"], strict=True):
        assert main(["check", claim, *given, "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert json.loads(answer.content[0].text)["results"][CLAIMS.index(claim)] == row
        for one in (row, printed):  # another process has other threads, whose last digits differ
            one["scores"] = [unit.pop("score") for unit in one["evidence"]] + one.pop("evidence_scores")
        for name in ("label_probabilities", "scores"):
            assert row.pop(name) == pytest.approx(printed.pop(name), abs=1e-6)
        assert row == printed
    assert not (tmp_path / "state").exists()  # an assistant keeps nothing


@pytest.fixture
def ask(page):
    """`ask(tool, **arguments)` of a server in this process."""

    def ask(tool, **arguments):
        async def asked():
            async with Client(assistant(page.service)) as client:
                return await client.call_tool(tool, arguments)

        return asyncio.run(asked())

    return ask


def test_each_tool(ask):
    claim = "Mara Velin lived in Tarn ."
    ranked = ask("rank", claims=[claim], k=2).structured_content["results"][0]["evidence"]
    assert len(ranked) == 2
    assert ask("rank", claim=claim, k=2).structured_content["results"][0]["evidence"] == ranked
    verdict = ask("verify", claims=[{"claim": claim, "evidence": ranked}]).structured_content["results"][0]
    schema.Verdict.model_validate_json(json.dumps(verdict))
    table = {"title": "Lakes", "header": ["lake", "depth"], "rows": [["Mira", "40 m"]]}
    joined = ask("verify", claims=[{"claim": claim, "evidence": [*ranked, {"table": table}]}]).structured_content
    assert [one["reads"] for one in joined["results"][0]["sources"]] == ["sentences", "tables"]
    answers = ask("ask", questions=["What is the city of Mara Velin?"], answers=2).structured_content["results"][0]
    assert len(answers["answers"]) == 2
    assert ask("indexes").structured_content["indexes"][0]["calls"] == ["check", "ask", "rank"]


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("check", {"claims": ["a", {"claim": ""}]}, "claims[1].claim: string should have at least 1 character"),
        ("check", {"claims": ["a"], "index": "none"}, "there is no such index"),
        (
            "verify",
            {"claims": [{"claim": "a", "evidence": [{"table": {}}]}]},
            "claims[0].evidence[0].table.header: the",
        ),
        ("check", {}, "claim: the field is missing; `claims` takes several"),
        ("check", {"claim": "a", "claims": ["b"]}, "claim: `claims` is given too: give one of them"),
        ("check", {"claim": "a" * 501}, "claim: string should have at most 500 characters"),
        ("translate", {}, "there is no tool 'translate'; there are check, ask, rank, verify, indexes"),
    ],
)
def test_what_is_refused_says_why(ask, tool, arguments, complaint):
    answer = ask(tool, **arguments)
    assert answer.is_error and complaint in answer.content[0].text


def test_only_what_the_models_can_is_a_tool(opened, made):
    page = opened(made=Models({PARTS: made[PARTS]}))

    async def tools():
        async with Client(assistant(page.service)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert asyncio.run(tools()) == ["ask", "rank", "indexes"]


def test_without_the_extra_it_says_what_to_install(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.partition(".")[0] == "mcp" or name.endswith("serve.assistants")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)  # an import of it then fails
    assert main(["serve", "--mcp"]) == 1
    assert capsys.readouterr().err == "lisax: this needs mcp, which is not installed: pip install 'lisax[mcp]'\n"
