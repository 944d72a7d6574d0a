"""Searches a live MediaWiki politely: one request at a time, spaced, identified, retried, cached on disk.

A wiki is asked for a claim's entities (`entity_queries`), not for the claim: its search wants pages that contain all words.

The cache is an SQLite file. A request that was answered is not sent again (unless `max_age_seconds` says how old an
answer may be), so an interrupted retrieval resumes and a complete one can be repeated offline.

Wikimedia's policy wants a contact in the user agent: the environment variable LISAX_CONTACT holds it, and without it
no request is sent.
"""

from __future__ import annotations

import dataclasses
import email.utils
import json
import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from lisax import __version__
from lisax.progress import say
from lisax.records import DataError, LisaxError
from lisax.retrieval.candidates import noun_phrases, only_points_on
from lisax.retrieval.entities import Spotter, default_spotter
from lisax.retrieval.interleave import in_turn

if TYPE_CHECKING:
    from lisax.retrieval.documents import TitleSearch
    from lisax.retrieval.titles import TitleIndex

WIKIPEDIA = "https://en.wikipedia.org/w/api.php"
CONTACT = "LISAX_CONTACT"
CACHE = "mediawiki.sqlite"
MOST_INTRODUCTIONS = 20  # a wiki returns with one request
TOLD_SECONDS = 5.0  # longer waits are logged
LONGEST_QUERY = 300  # in characters; MediaWiki refuses longer searches
LONGEST_WAIT_SECONDS = 300.0


@dataclasses.dataclass(frozen=True)
class Manners:
    """Limits on requests to the server; times in seconds."""

    timeout_seconds: float = 20.0
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


def user_agent(environment: Mapping[str, str] = os.environ) -> str:
    """The program's name and the user's contact. Raises LisaxError where LISAX_CONTACT holds none."""
    contact = environment.get(CONTACT, "").strip()
    if not ("@" in contact or "://" in contact) or not contact.isascii() or not contact.isprintable():
        raise LisaxError(
            f"a live wiki wants to know whom to write to: set {CONTACT} to your e-mail address or the URL of your "
            f"project, as Wikimedia's user-agent policy asks ({CONTACT}=me@example.org lisax …); it is sent with every "
            f"request{f'. Found: {contact!r}' if contact else ''}"
        )
    return f"LisaX/{__version__} ({contact}) python-requests"


def entity_queries(claim: str, spotter: Spotter) -> list[str]:
    """What a wiki is asked for a claim: its named entities, in order; its noun phrases where it has none."""
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
        return self._cached(asked, lambda answer: [hit["title"] for hit in answer["query"]["search"]])

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
        pages = answer.get("query", {}).get("pages", [])  # without a hit there is no `query`
        if pages and not any("extract" in page for page in pages):
            raise LisaxError(f"{self.url} returns no text of its pages: it lacks the extension TextExtracts")
        return [
            [
                page["title"],
                page["extract"],
                page["fullurl"],
                urljoin(self.url, f"index.php?oldid={int(page['lastrevid'])}"),
            ]
            for page in sorted(pages, key=lambda page: page["index"])
            if page.get("extract") and "pageprops" not in page and not only_points_on(page["title"])
        ]

    def _cached(self, asked: Mapping[str, str], read: Callable[[Mapping[str, Any]], list]) -> list:
        """What `read` takes from the wiki's answer, from the cache if it has it."""
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
            f"{self.url} gave no answer in {self._manners.attempts} attempts ({problem}). What it answered before is "
            "cached: the same command goes on from there. Without the network, search pages of your own: `lisax check "
            "--corpus DIR`, or `lisax retrieve documents` without `--mediawiki`"
        )

    def _attempt(
        self, parameters: Mapping[str, str], read: Callable[[Mapping[str, Any]], list]
    ) -> tuple[float, str, list | None]:
        """Sends one request; returns (seconds to wait before the next, the error, what was read or None)."""
        import requests

        if self._session is None:
            agent = user_agent()
            self._session = requests.Session()
            self._session.headers["User-Agent"] = agent
        if (pause := self._earliest - time.monotonic()) > 0:
            self._sleep(pause)
        try:
            response = self._session.get(self.url, params=parameters, timeout=self._manners.timeout_seconds)
        except (requests.ConnectionError, requests.Timeout) as error:
            return 0.0, f"{type(error).__name__}: is this machine offline?", None
        except requests.RequestException as error:
            raise LisaxError(f"{self.url} cannot be asked: {error}") from None
        finally:
            self._earliest = time.monotonic() + self._manners.between_requests_seconds
        wait = retry_after_seconds(response.headers.get("Retry-After"))
        if response.status_code == 429:
            return wait, "HTTP 429: it limits requests, so wait some minutes", None
        if response.status_code >= 500:
            return wait, f"HTTP {response.status_code}", None
        if response.status_code != 200:
            raise LisaxError(f"{self.url} refused the search with HTTP {response.status_code}: {response.text[:200]}")
        try:
            answer = response.json()
            error = answer.get("error")
            if error is None:
                return 0.0, "", read(answer)
            code, info = error["code"], error.get("info", "")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LisaxError(
                f"{self.url} answered with something else than a MediaWiki search result; "
                "is it the address of an api.php?"
            ) from None
        if code in ("maxlag", "ratelimited", "readonly"):
            return wait, f"the wiki is busy: {code}", None
        raise LisaxError(f"{self.url} refused the search: {code}: {info}")


def _query(text: str) -> str:
    # `"`, `-`, `~` and the like are operators of the wiki's search; in an entity they are not.
    return " ".join("".join(c if c.isalnum() or c in "'’." else " " for c in text).split())[:LONGEST_QUERY]


def search_pages(titles: TitleIndex, cache: str | os.PathLike, url: str = WIKIPEDIA) -> TitleSearch:
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
    if not header:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return 0.0
    return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)
