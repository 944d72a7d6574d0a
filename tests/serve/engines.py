"""nginx and Redis, started on free ports for a test, which is skipped where they are not installed."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Around the configuration of the documentation, which Debian's nginx.conf includes: all files in the test's folder.
NGINX = """
daemon off; {user} pid {folder}/pid; events {{}}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  {content}
}}
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@contextlib.contextmanager
def started(name: str, *options: str, port: int, folder: Path) -> Iterator[None]:
    program = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if program is None:
        pytest.skip(f"no {name}: apt-get install nginx redis-server")
    with open(folder / "log", "ab") as log, subprocess.Popen([program, *options], stdout=log, stderr=log) as process:
        try:
            until = time.monotonic() + 30
            while not _listens(port):
                assert process.poll() is None and time.monotonic() < until, (folder / "log").read_text()
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            process.wait(30)


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def blocks(language: str) -> list[str]:
    """The blocks of a language in the page on deploying."""
    page = (ROOT / "docs/deploying.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


@contextlib.contextmanager
def nginx(folder: Path, servers: list[int]) -> Iterator[str]:
    """The address (HTTPS) of the documentation's nginx configuration before the servers at these ports."""
    folder.mkdir(parents=True)
    if shutil.which("openssl") is None:
        pytest.skip("no openssl, which makes the certificate")
    made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=check.example".split()
    keys = ["-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"]
    subprocess.run(["openssl", *made, *keys], check=True, capture_output=True)
    (content,), port = blocks("nginx"), free_port()
    upstreams = "".join(f"server 127.0.0.1:{one} max_fails=0;" for one in servers)
    content, changed = re.subn(r"(?:\s*server 127\.0\.0\.1:\d+[^;]*;)+", upstreams, content, count=1)
    assert changed
    content = content.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl").replace(
        "/etc/letsencrypt/live/check.example", str(folder)
    )
    content = re.sub(r"listen \[::\][^;]*;", "", content).replace("listen 80;", f"listen 127.0.0.1:{free_port()};")
    user = "user root;" if os.geteuid() == 0 else ""  # else root's workers are a user who may not write here
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, content=content, user=user))
    options = ["-c", str(folder / "nginx.conf"), "-e", str(folder / "log"), "-p", str(folder)]
    with started("nginx", *options, port=port, folder=folder):
        yield f"https://127.0.0.1:{port}"


@contextlib.contextmanager
def redis(folder: Path) -> Iterator[str]:
    """The address of a Redis that keeps nothing."""
    folder.mkdir()
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    with started("redis-server", *options, port=port, folder=folder):
        yield f"redis://127.0.0.1:{port}/0"
