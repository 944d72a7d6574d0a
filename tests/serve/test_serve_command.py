"""`lisax serve` and `lisax feedback export` from a shell: complaints before anything is served, a token, patience."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from types import SimpleNamespace

import pytest
import uvicorn
from small_models import label_bundle, pair_bundle
from small_page import build_index, served

from lisax.cli import main
from lisax.formats.labelling import LABEL_LISTWISE
from lisax.serve import start as command
from lisax.serve.limits import Limits
from lisax.serve.store import Store


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(a labeller's bundle, an index)"""
    folder = tmp_path_factory.mktemp("made")
    return label_bundle(folder, 2), build_index(folder / "index")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--model", "{none}"], "no such checkpoint or bundle"),
        (["--model", "{bundle}", "--index", "{none}"], "no index here"),
        (["--model", "{bundle}", "--model", "{bundle}"], "one labeller too many"),
        (["--model", "{bundle}", "--host", "no.such.host.invalid"], "cannot listen"),
        (["--model", "{bundle}", "--limit", "connexions=9"], "there is no such limit; there are paragraph_characters,"),
    ],
)
def test_what_cannot_be_served(made, tmp_path, capsys, options, complaint):
    names = {"none": str(tmp_path / "none"), "bundle": str(made[0])}
    arguments = [option.format(**names) for option in options]
    assert main(["serve", "--state", str(tmp_path / "state"), "--port", "0", *arguments]) == 1
    assert complaint in capsys.readouterr().err


def test_an_aggregate_of_a_labeller_that_labels_no_single_sentences_is_refused(tmp_path, capsys):
    bundle = pair_bundle(tmp_path, LABEL_LISTWISE, adapter=False)
    given = ["--model", str(bundle), "--aggregate", "max", "--state", str(tmp_path / "state"), "--port", "0"]
    assert main(["serve", *given]) == 1
    assert f"{bundle} labels no single sentences, whose labels the aggregate 'max'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("corpus", "state", "more"),
    [
        ("docs", "docs", []),
        ("docs", "docs", ["--mcp"]),
        ("docs", "docs/a/state", []),
        ("link", "docs/state", []),
        ("docs", "link/state", []),
    ],
)
def test_a_state_folder_inside_a_served_folder_is_refused(tmp_path, capsys, corpus, state, more):
    if more:
        pytest.importorskip("mcp", reason="needs the SDK of the protocol: make peers")
    (tmp_path / "docs").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "docs")
    given = ["--corpus", str(tmp_path / corpus), "--state", str(tmp_path / state), "--port", "0", *more]
    assert main(["serve", *given]) == 1
    message = (
        f"the state folder {tmp_path / state} is in the served folder {tmp_path / corpus}: choose one outside with"
    )
    assert f"{message} --state" in capsys.readouterr().err and not list((tmp_path / "docs").iterdir())


@pytest.mark.parametrize("later", [b"GET / HT", b"", b"GET / HTTP/1.1\r\nhost: x\r\n\r\nGET"])
@pytest.mark.parametrize(
    "first", [b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9000\r\n\r\nx"]
)
def test_who_falls_silent_after_an_answer_is_let_go(first, later):
    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    with served(application, Limits(head_seconds=0.2, body_seconds=0.2)) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(first)
            assert b"401" in client.recv(1 << 16)
            client.sendall(later)
            while client.recv(1 << 16):  # to its end
                pass


@pytest.fixture
def starts(tmp_path, monkeypatch):
    """`lisax serve` beyond loopback, but for the serving."""
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    monkeypatch.setattr(
        command,
        "open_page",
        lambda *_: SimpleNamespace(
            worker=SimpleNamespace(when_idle=list), engine=SimpleNamespace(warming=list), library=[], limits=Limits()
        ),
    )
    monkeypatch.setattr("lisax.serve.app.create", lambda page: None)
    return lambda: main(["serve", "--model", "any", "--host", "0.0.0.0", "--state", str(tmp_path), "--port", "0"])


def test_a_token_of_ones_own_is_not_printed(starts, monkeypatch, capsys):
    monkeypatch.setenv("LISAX_TOKEN", "a+b/c=&%#")
    assert starts() == 0
    told = capsys.readouterr()
    assert "a+b/c" not in told.out + told.err and "a%2Bb" not in told.out and "LISAX_TOKEN" in told.out
    monkeypatch.delenv("LISAX_TOKEN")
    assert starts() == 0
    address = urllib.parse.urlsplit(capsys.readouterr().out.split()[0])
    assert len(urllib.parse.parse_qs(address.query)["token"][0]) >= 20


@pytest.mark.parametrize("wrong", ["check.example:8765", "pr\u00fcfung.example", "https://check.example", ""])
def test_a_name_is_one_that_the_header_host_can_have(wrong, capsys):
    assert main(["serve", "--name", wrong]) == 2
    assert "expected a host name such as check.example, without a port" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [["--proxy", "nginx"], ["--proxy", "10.0.0.0/33"], ["--allow-origin", "https://app.example/path"]]
)
def test_a_proxy_is_an_address_and_an_origin_has_no_path(wrong, capsys):
    assert main(["serve", *wrong]) == 2
    assert "expected an " in capsys.readouterr().err


def test_behind_a_proxy_a_token_is_asked_for_if_it_is_set(monkeypatch):
    monkeypatch.setenv("LISAX_TOKEN", "right")
    assert command._token("127.0.0.1") == (None, False)
    assert command._token("127.0.0.1", is_behind_proxy=True) == ("right", False)
    monkeypatch.delenv("LISAX_TOKEN")
    assert command._token("127.0.0.1", is_behind_proxy=True) == (None, False)


@pytest.mark.parametrize("token", ["geheim-é", "two words", "tab\t", "\u212a"])
def test_a_token_that_is_not_the_same_everywhere_is_refused(starts, monkeypatch, capsys, token):
    monkeypatch.setenv("LISAX_TOKEN", token)
    assert starts() == 1
    told = capsys.readouterr()
    assert "letters, digits and signs of ASCII" in told.err and token not in told.err


def test_outside_of_loopback_a_token_is_asked_for_and_silence_ends(made, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "LISAX_TOKEN"}
    started = [
        sys.executable,
        "-c",
        "import lisax.serve.limits as l, sys\n"
        "l.LIMITS = l.Limits(head_seconds=0.5)\nfrom lisax.cli import main\nsys.exit(main(sys.argv[1:]))",
    ]
    given = [f"--model={made[0]}", f"--index={made[1]}", f"--state={tmp_path}"]
    command = [*started, *"serve --host=0.0.0.0 --port=0 --log-json".split(), *given]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, env=environment) as process:
        try:
            line = process.stdout.readline().strip()
            port, token = re.fullmatch(r"http://0\.0\.0\.0:(\d+)/\?token=([\w-]{20,})", line).groups()
            assert "HTTPS" in process.stdout.readline()
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/")
            request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request) as response:
                assert response.status == 200 and b"a claim or text" in response.read()
            with socket.create_connection(("127.0.0.1", int(port))) as silent:
                silent.settimeout(30)
                silent.send(b"GET / HTTP/1.1\r\n")
                assert silent.recv(100) == b""  # closed without an answer
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        assert process.returncode == 0
        logged = [json.loads(line) for line in process.stderr.read().splitlines()]
        found = [(row["path"], row["status"]) for row in logged if row["message"] == "request"]
        assert found == [("/", 401), ("/", 200)]
        assert token not in json.dumps(logged) and not any("exception" in row for row in logged)


def test_claims_are_computed_together_where_that_saves_time(monkeypatch):
    limits = Limits(together=16)
    for jax, accelerated, size in ((True, False, 1), (True, True, 16), (False, False, 16)):
        monkeypatch.setattr("lisax.devices.platforms.accelerated", lambda: accelerated)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "jax", sys) if jax else patch.delitem(sys.modules, "jax", raising=False)
            assert command.together(limits) == size


def test_what_people_say_is_for_the_owner_alone(tmp_path):
    folder = tmp_path / "state"
    store = Store(folder)
    store.add_answer("index", "question", "private?", {"tables": []})
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == dict.fromkeys(["feedback.sqlite", "feedback.sqlite-wal", "feedback.sqlite-shm"], 0o600)
    assert folder.stat().st_mode & 0o777 == 0o700
    store.close()
    store.path.chmod(0o644)  # as an older version made it
    Store(folder).close()
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_feedback_export(made, tmp_path, capsys):
    arguments = ["feedback", "export", f"--index={made[1]}", f"--state={tmp_path}/state", f"--out={tmp_path}/out"]
    assert main(arguments) == 1 and "no feedback" in capsys.readouterr().err
    store = Store(tmp_path / "state")
    scores = {"tables": [{"id": "people-0", "retrieval": 1.0, "rows": [0.5] * 4, "columns": [0.5] * 4}]}
    answers = [store.add_answer("index", "question", f"{what}?", scores) for what in ("right", "wrong")]
    gone = store.add_answer("gone", "question", "gone?", scores)
    store.say(answers[0].id, "cell", "people-0#r0c1", "right")
    store.say(answers[1].id, "cell", "people-0#r0c1", "wrong")
    store.say(gone.id, "table", "people-0", "right")
    store.close()
    assert main(arguments) == 0
    report = capsys.readouterr().out
    assert "questions.train.jsonl: 1" in report and "without a cell marked as right: 1" in report
    assert "that is gone: 1" in report
    (line,) = (tmp_path / "out/questions.train.jsonl").read_text().splitlines()
    assert json.loads(line)["evidence"] == ["index:people-0#r0c1"]
    assert main(arguments) == 1 and "there already" in capsys.readouterr().err
