"""Searches a live MediaWiki politely: one request at a time, spaced, identified, retried, cached on disk.

A wiki is asked for a claim's entities (`entity_queries`), not for the claim: its search wants pages that contain all
words.

The cache is an SQLite file. A request that was answered is not sent again (unless the answer is older than
`max_age_seconds`), so an interrupted retrieval resumes and a complete one can be repeated offline.

Wikimedia's policy wants a contact in the user agent: the environment variable LISAX_CONTACT holds it, and without it
no request is sent.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from lisax import __version__
from lisax.errors import DataError, LisaxError
from lisax.files.reading import get_field
from lisax.files.remote import Bounds, bounded, parse, within
from lisax.progress import say
from lisax.retrieval.candidates import noun_phrases, only_points_on
from lisax.retrieval.entities import Spotter, default_spotter
from lisax.retrieval.fusion import in_turn

if TYPE_CHECKING:
    import requests

    from lisax.retrieval.documents import TitleSearch
    from lisax.retrieval.titles import Titles

WIKIPEDIA = "https://en.wikipedia.org/w/api.php"
CONTACT = "LISAX_CONTACT"
CACHE = "mediawiki.sqlite"
MOST_INTRODUCTIONS = 20  # a wiki returns with one request
TOLD_SECONDS = 5.0  # longer waits are logged
LONGEST_QUERY = 300  # in characters; MediaWiki refuses longer searches
LONGEST_WAIT_SECONDS = 300.0
MOST_BYTES = 8 << 20  # of an answer, unpacked; 20 introductions take a fiftieth of it
MOST_REDIRECTS = 3


@dataclasses.dataclass(frozen=True)
class Manners:
    """Limits on requests to the server; times in seconds."""

    timeout_seconds: float = 20.0  # for the whole answer
    attempts: int = 5
    first_wait_seconds: float = 1.0
    between_requests_seconds: float = 0.2
    max_age_seconds: float | None = None  # of cached answers; None: they stay


@dataclasses.dataclass(frozen=True)
class Introduction:
    """The text of a page before its first heading, in paragraphs, at its newest revision."""

    title: str
    text: str
    url: str  # of the page
    revision_url: str  # of the page as it was read


def user_agent() -> str:
    """The program's name and the user's contact. Raises LisaxError where LISAX_CONTACT holds none."""
    contact = os.environ.get(CONTACT, "").strip()
    if not ("@" in contact or "://" in contact) or not contact.isascii() or not contact.isprintable():
        raise LisaxError(
            f"a live wiki wants to know whom to write to: set {CONTACT} to your e-mail address or the URL of your "
            f"project, as Wikimedia's user-agent policy asks ({CONTACT}=me@example.org lisax …); it is sent with every "
            f"request{f'. Found: {contact!r}' if contact else ''}"
        )
    return f"LisaX/{__version__} ({contact}) python-requests"


def entity_queries(claim: str, spotter: Spotter) -> list[str]:
    """The queries to a wiki for a claim: its named entities, in order; its noun phrases if it has none."""
    return spotter.spot(claim) or noun_phrases(claim)


class MediaWiki:
    """`search(text)` returns page titles as written in the wiki, `introductions(text)` pages, best first."""

    def __init__(
        self,
        cache: str | os.PathLike,
        url: str = WIKIPEDIA,
        manners: Manners = Manners(),
        *,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self.url, self._manners, self._sleep = url, manners, sleep
        self._session, self._earliest = None, 0.0
        cache = Path(cache)
        cache.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._cache = sqlite3.connect(cache, isolation_level=None)
            self._cache.execute(
                "CREATE TABLE IF NOT EXISTS replies (request TEXT PRIMARY KEY, reply TEXT NOT NULL, at REAL NOT NULL)"
            )
        except sqlite3.DatabaseError as error:
            raise DataError(f"the cache cannot be opened ({error}); remove it or name another", path=cache) from None

    def search(self, text: str, k: int = 50) -> list[str]:
        """Up to `k` titles (a wiki returns at most 500 at once), from the cache if it has them."""
        if not (query := _query(text)):
            return []
        asked = {"list": "search", "srsearch": query, "srlimit": str(min(k, 500)), "srnamespace": "0", "srprop": ""}
        return self._cached(asked, lambda answer: [_field(hit, "title", str) for hit in _found(answer, "search")])

    def introductions(self, text: str, k: int = MOST_INTRODUCTIONS) -> list[Introduction]:
        """The introductions of up to `k` found pages (at most 20), in one request; without disambiguation pages and
        lists. The wiki needs the extension TextExtracts, as Wikipedia has it."""
        if not (query := _query(text)):
            return []
        asked = {
            "generator": "search",
            "gsrsearch": query,
            "gsrlimit": str(min(k, MOST_INTRODUCTIONS)),
            "gsrnamespace": "0",
            "prop": "extracts|info|pageprops",
            "exintro": "1",
            "explaintext": "1",
            "exlimit": "max",
            "inprop": "url",
            "ppprop": "disambiguation",
        }
        pages = self._cached(asked, self._read_pages)
        return [Introduction(*page) for page in pages]

    def _read_pages(self, answer: Mapping[str, Any]) -> list[list[str]]:
        pages = _found(answer, "pages") if "query" in answer else []  # without a hit there is no `query`
        if pages and not any("extract" in page for page in pages):
            raise LisaxError(f"{self.url} returns no text of its pages: it lacks the extension TextExtracts")
        return [
            [
                _field(page, "title", str),
                _field(page, "extract", str),
                _web_address(_field(page, "fullurl", str)),
                urljoin(self.url, f"index.php?oldid={_field(page, 'lastrevid', int)}"),
            ]
            for page in sorted(pages, key=lambda page: _field(page, "index", int))
            if page.get("extract") and "pageprops" not in page and not only_points_on(_field(page, "title", str))
        ]

    def _cached(self, asked: Mapping[str, str], read: Callable[[Mapping[str, Any]], list]) -> list:
        """The result of `read` on the wiki's answer, from the cache if it has it."""
        parameters = {"action": "query", **asked, "format": "json", "formatversion": "2", "maxlag": "5"}
        request = json.dumps([self.url, parameters], sort_keys=True)
        oldest = 0.0 if self._manners.max_age_seconds is None else time.time() - self._manners.max_age_seconds
        row = self._cache.execute("SELECT reply FROM replies WHERE request = ? AND at >= ?", (request, oldest))
        if (found := row.fetchone()) is not None:
            return json.loads(found[0])
        reply = self._ask(parameters, read)
        self._cache.execute(
            "INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", (request, json.dumps(reply), time.time())
        )
        return reply

    def _ask(self, parameters: Mapping[str, str], read: Callable[[Mapping[str, Any]], list]) -> list:
        problem = ""
        for attempt in range(self._manners.attempts):
            wait, problem, reply = self._attempt(parameters, read)
            if reply is not None:
                return reply
            if attempt + 1 < self._manners.attempts:
                wait = max(wait, self._manners.first_wait_seconds * 2**attempt)
                if wait >= TOLD_SECONDS:
                    say(f"  {self.url}: {problem}; the next attempt is in {wait:.0f} s")
                self._sleep(wait)
        raise LisaxError(
            f"{self.url} gave no answer in {self._manners.attempts} attempts ({problem}). Its earlier answers are "
            "cached: the same command resumes. Without the network, search pages of your own: `lisax check "
            "--corpus DIR`, or `lisax retrieve documents` without `--mediawiki`"
        )

    def _attempt(
        self, parameters: Mapping[str, str], read: Callable[[Mapping[str, Any]], list]
    ) -> tuple[float, str, list | None]:
        """Sends one request; returns (seconds to wait before the next, the error, the content or None)."""
        import requests

        if self._session is None:
            agent = user_agent()
            self._session = requests.Session()
            self._session.headers["User-Agent"] = agent
        if (pause := self._earliest - time.monotonic()) > 0:
            self._sleep(pause)
        seconds = self._manners.timeout_seconds
        try:
            response, content = within(seconds, lambda: self._get(parameters), self.url)
        except (requests.ConnectionError, requests.Timeout) as error:
            return 0.0, f"{type(error).__name__}: is this machine offline?", None
        except (requests.RequestException, ValueError) as error:  # ValueError: of an address that it redirects to
            raise LisaxError(f"{self.url} cannot be asked: {error}") from None
        finally:
            self._earliest = time.monotonic() + self._manners.between_requests_seconds
        wait = retry_after_seconds(response.headers.get("Retry-After"))
        if response.status_code == 429:
            return wait, "HTTP 429: it limits requests, so wait some minutes", None
        if response.status_code >= 500:
            return wait, f"HTTP {response.status_code}", None
        if response.status_code != 200:
            text = content[:200].decode("utf-8", "replace")
            raise LisaxError(f"{self.url} refused the search with HTTP {response.status_code}: {text}")
        try:
            answer = parse(content, self.url)
            if "error" not in (answer := _typed(answer, dict)):
                return 0.0, "", read(answer)
            error = _field(answer, "error", dict)
            code, info = _field(error, "code", str), _field(error, "info", str, default="")
        except DataError as error:
            raise LisaxError(
                f"{self.url} answered with something else than a MediaWiki search result "
                f"({str(error).removeprefix(f'{self.url}: ')}); is it the address of an api.php?"
            ) from None
        if code in ("maxlag", "ratelimited", "readonly"):
            return wait, f"the wiki is busy: {code}", None
        raise LisaxError(f"{self.url} refused the search: {code}: {info}")

    def _get(self, parameters: Mapping[str, str]) -> tuple[requests.Response, bytes]:
        """The answer and its body, of the address that the wiki redirects to if it does."""
        url, bounds = self.url, Bounds(self._manners.timeout_seconds, MOST_BYTES)
        for _ in range(MOST_REDIRECTS + 1):
            options = {"timeout": bounds.seconds, "stream": True, "allow_redirects": False}
            with self._session.get(url, params=parameters, **options) as response:
                location = self._session.get_redirect_target(response)
                if location is None:
                    return response, b"".join(bounded(response.iter_content(1 << 16), bounds, self.url))
            url, parameters = urljoin(url, location), {}
        raise LisaxError(f"{self.url} redirects more than {MOST_REDIRECTS} times")


def _found(answer: Mapping[str, Any], name: str) -> list[dict]:
    return [_typed(one, dict) for one in _field(_field(answer, "query", dict), name, list)]


def _field(row: Mapping[str, Any], name: str, kind: type, **options: Any) -> Any:
    return get_field(row, name, kind, path=None, line=None, **options)


def _typed(value: Any, kind: type) -> Any:
    return _field({"answer": value}, "answer", kind)


def _web_address(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s\[\]]+", text):
        raise DataError(f"expected the address of a page, found {text[:80]!r}", field="fullurl")
    return text


def _query(text: str) -> str:
    # `"`, `-`, `~` and the like are operators of the wiki's search; in an entity they are not.
    return " ".join("".join(c if c.isalnum() or c in "'’." else " " for c in text).split())[:LONGEST_QUERY]


def search_pages(titles: Titles, cache: str | os.PathLike, url: str = WIKIPEDIA) -> TitleSearch:
    """A search of a live wiki for the entities of claims, each claim's in turn, that returns page ids of the index;
    pages missing from the index are left out."""
    wiki, spotter = MediaWiki(cache, url), default_spotter(titles)

    def search(texts: Sequence[str], k: int) -> list[list[str]]:
        return [[page for page in of_claim(text, k) if page is not None][:k] for text in texts]

    def of_claim(text: str, k: int) -> list[str | None]:
        found = in_turn([wiki.search(query, k) for query in entity_queries(text, spotter)])
        return list(dict.fromkeys(map(titles.page_with_title, found)))

    return search


def retry_after_seconds(header: str | None) -> float:
    """A `Retry-After` header, in seconds or a date, as seconds from now; 0 if it is missing or invalid."""
    if header is None:
        return 0.0
    if header.strip().isdecimal():
        return min(float(header), LONGEST_WAIT_SECONDS)
    try:
        date = datetime.datetime.strptime(header, "%a, %d %b %Y %H:%M:%S GMT")
    except ValueError:
        return 0.0
    seconds = date.replace(tzinfo=datetime.UTC).timestamp() - time.time()
    return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)
