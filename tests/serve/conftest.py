"""Bundles that are really trained, and the page served as a user serves it."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from small_models import label_bundle, question_bundle
from small_page import Browser, build_index, models, open_page

from lisax.serve.limits import Limits


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    """(question answerer, labeller)"""
    return question_bundle(tmp_path_factory.mktemp("parts")), label_bundle(tmp_path_factory.mktemp("labels"))


@pytest.fixture(scope="module")
def serve(tmp_path_factory, bundles):
    """`with serve(state folder) as address`: `lisax serve` in a process of its own."""
    index = build_index(tmp_path_factory.mktemp("world") / "index")

    @contextlib.contextmanager
    def serve(state: Path, *options: str):
        given = [f"--index={index}", f"--state={state}", *(f"--model={bundle}" for bundle in bundles)]
        command = [sys.executable, *"-P -m lisax serve --port=0".split(), *given, *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
            try:
                yield process.stdout.readline().strip()
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(60)

    return serve


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return build_index(tmp_path_factory.mktemp("small") / "index")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return models(tmp_path_factory.mktemp("models"))


@pytest.fixture
def opened(tmp_path, index, made):
    """`opened(index, models, …)`: a page, by default over the small world; all have the same state folder."""
    pages = []

    def opened(index=index, made=made, limits=Limits(changes_burst=1000, requests_burst=10_000), **options):
        pages.append(open_page(tmp_path / "state", index, made, limits, **options))
        return pages[-1]

    yield opened
    for page in pages:
        page.close()


@pytest.fixture
def page(opened):
    return opened()


@pytest.fixture
def browser(page):
    return Browser(page)


@pytest.fixture(scope="module")
def chromium():
    """A browser without a window; skips where none is installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: `make test-browser` installs it")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with playwright.sync_playwright() as driver:
        path = found or driver.chromium.executable_path
        if not Path(path).is_file():
            pytest.skip("no Chromium: `make test-browser` installs it")
        # Root, as in most containers, has to do without Chromium's own sandbox.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield browser
        browser.close()
