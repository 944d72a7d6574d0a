"""The page and the API behind nginx with the configuration of the documentation, and the other files on that page."""

import configparser
import contextlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections import Counter
from ipaddress import ip_network as network

import click
import httpx2
import pytest
import yaml
from engines import ROOT, blocks, nginx
from small_page import served

from lisax.cli import root
from lisax.serve.app import create
from lisax.serve.guard import is_within, spellings
from lisax.serve.limits import LIMITS, NAMES, Limits

CLAIM = "Mara Velin lived in Tarn ."
LOCAL = (network("127.0.0.1"),)


@contextlib.contextmanager
def behind(folder, opened, servers=1, limits=Limits(), proxies=LOCAL):
    """The address of nginx before servers on one state folder."""
    with contextlib.ExitStack() as stack:
        pages = [opened(limits=limits, proxies=proxies) for _ in range(servers)]
        ports = [stack.enter_context(served(create(page), limits, proxies)) for page in pages]
        yield stack.enter_context(nginx(folder / "nginx", ports))


def visitor(address: str, client: str = "127.0.1.1", **options) -> httpx2.Client:
    transport = httpx2.HTTPTransport(local_address=client, verify=False)
    return httpx2.Client(base_url=address, transport=transport, timeout=60, **options)


def test_sixty_visitors_are_sixty_clients(tmp_path, opened):
    begin = threading.Barrier(60, timeout=60)
    answers = []

    def visit(number: int) -> None:
        with visitor(address, f"127.0.1.{number + 1}") as client:
            begin.wait()
            answers.append(
                client.post("/v1/verify", json={"claim": CLAIM, "evidence": ["Mara Velin"] * 20}).status_code
            )

    with behind(tmp_path, opened, limits=Limits(connections_per_client=4)) as address:
        threads = [threading.Thread(target=visit, args=(number,)) for number in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert Counter(answers) == {200: 60}


def test_a_visitor_who_asks_too_often_keeps_nobody_else_out_and_cannot_take_another_name(tmp_path, opened):
    limits = Limits(requests_burst=3, requests_per_second=0.01)
    with behind(tmp_path / "trusted", opened, limits=limits) as address, visitor(address) as one:
        forged = [one.get("/", headers={"x-forwarded-for": f"10.0.0.{number}"}).status_code for number in range(4)]
        assert forged == [200, 200, 200, 429]
        with visitor(address, "127.0.1.2") as two:
            assert two.get("/").status_code == 200
    with behind(tmp_path, opened, limits=limits, proxies=()) as address:
        with visitor(address) as one, visitor(address, "127.0.1.2") as two:
            assert [client.get("/").status_code for client in (one, two, one, two)] == [200, 200, 200, 429]


def test_forms_are_ours_whichever_server_takes_them(tmp_path, opened):
    with behind(tmp_path, opened, servers=2) as address, visitor(address) as client:
        for _ in range(6):
            first = client.get("/corpora")
            key = re.search(r'name="form_key" value="([0-9a-f]+)"', first.text)[1]
            fields = {"form_key": key, "text": CLAIM, "kind": "claim", "corpus": "index"}
            asked = client.post("/ask", data=fields)
            assert asked.status_code == 303, asked.text
            assert CLAIM.split()[0] in client.get(asked.headers["location"]).text
        assert len(client.cookies) == 1
        cookie = httpx2.get(address, verify=False).headers["set-cookie"]
        assert "Secure" in cookie and "HttpOnly" in cookie
        assert f"curl -s {address}/v1/check" in client.get("/docs").text  # https, as the visitor sees it


def test_a_batch_arrives_line_by_line(tmp_path, opened, monkeypatch):
    page, read = opened(limits=Limits(together=1), proxies=LOCAL), threading.Event()
    answered = page.engine.check_many

    def patient(corpus, source, claims, tier):
        assert claims != ["the last one"] or read.wait(30)
        return answered(corpus, source, claims, tier)

    monkeypatch.setattr(page.engine, "check_many", patient)
    headers = {"accept": "application/x-ndjson"}
    with served(create(page), page.limits, LOCAL) as port, nginx(tmp_path / "nginx", [port]) as address:
        with visitor(address) as client:
            with client.stream(
                "POST", "/v1/check", json={"claims": [CLAIM, "the last one"]}, headers=headers
            ) as answer:
                lines = answer.iter_lines()
                assert json.loads(next(lines))["claim"] == CLAIM
                read.set()
                assert json.loads(next(lines))["claim"] == "the last one"


def test_uploads_of_the_size_that_is_taken_pass_and_larger_ones_get_413(tmp_path, opened):
    with behind(tmp_path, opened) as address, visitor(address) as client:
        for megabytes, status in ((15.9, 403), (16.5, 413), (18, 413)):  # 403: it is whole, and of no form of ours
            sent = client.post("/corpora", files={"files": ("a.txt", bytes(round(megabytes * 2**20)))})
            assert sent.status_code == status


def test_a_proxy_is_trusted_in_both_spellings_of_its_address():
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    proxies = [network("10.0.0.0/24"), network("fd00::7")]
    trusted = ProxyHeadersMiddleware(None, spellings(proxies)).trusted_hosts
    for address, expected in (("10.0.0.9", 1), ("::ffff:10.0.0.9", 1), ("fd00::7", 1), ("10.0.1.9", 0), ("fd00::8", 0)):
        assert is_within(address, proxies) is (address in trusted) is bool(expected), address
    assert not is_within("", proxies) and not is_within("testclient", proxies)


# --- The page's other files ----------------------------------------------------------------------


def parsed(words: list[str]) -> dict:
    """The options of a `lisax` command; raises UsageError for an unknown one or a wrong value."""
    verb = root()
    context = click.Context(verb)
    while isinstance(verb, click.Group):
        _, verb, words = verb.resolve_command(context, words)
    return verb.make_context(verb.name, list(words)).params


def test_the_unit_is_as_systemd_wants_it(tmp_path):
    unit = next(block for block in blocks("ini") if "[Service]" in block)
    service = configparser.RawConfigParser(strict=False)
    service.optionxform = str
    service.read_string(unit)
    program, *words = shlex.split(service["Service"]["ExecStart"].replace("%i", "8765"))
    options = parsed(words)
    assert program.endswith("/bin/lisax") and options["port"] == 8765 and options["proxies"] == LOCAL
    assert float(service["Service"]["TimeoutStopSec"]) > LIMITS.answer_seconds
    assert int(service["Service"]["LimitNOFILE"]) > 2 * (LIMITS.connections + LIMITS.connections_refused)
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze, which checks the unit")
    (tmp_path / "lisax@8765.service").write_text(
        unit.replace(program, sys.executable).replace("User=lisax", "User=root")
    )
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "lisax@8765.service")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "lisax" not in done.stderr, done.stderr


def test_the_compose_file_starts_the_page_behind_nginx():
    (text,) = blocks("yaml")
    services, networks = (content := yaml.safe_load(text))["services"], content["networks"]
    assert parsed(services["page"]["command"])["proxies"] == (
        network(networks["inside"]["ipam"]["config"][0]["subnet"]),
    )
    assert "ports" not in services["page"] and set(services["nginx"]["depends_on"]) <= set(services)
    usual = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["page"]
    for name in ("environment", "read_only", "cap_drop", "security_opt", "tmpfs", "volumes"):
        assert services["page"][name] == usual[name], name


def test_the_page_lists_every_limit_with_its_default():
    page = (ROOT / "docs/deploying.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]+?) \|", page.partition("## Limits")[2], re.MULTILINE)
    listed = {}
    for names, defaults in rows:
        values = re.findall(r"\d{1,3}(?:,\d{3})*|none", defaults)
        listed |= dict(zip(re.findall(r"\w+", names), values, strict=True))
    shown = {name: getattr(LIMITS, name) for name in NAMES}
    assert listed == {name: "none" if value is None else f"{value:,.0f}" for name, value in shown.items()}
