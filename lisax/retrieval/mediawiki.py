"""Searches a live MediaWiki politely: one request at a time, spaced, identified, retried, cached on disk.

The cache is an SQLite file. A search that was answered is never sent again, so an interrupted retrieval resumes and a
complete one can be repeated offline.
"""

from __future__ import annotations

import dataclasses
import email.utils
import json
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lisax import __version__
from lisax.records import DataError, LisaxError

if TYPE_CHECKING:
    from lisax.retrieval.documents import TitleSearch
    from lisax.retrieval.titles import TitleIndex

WIKIPEDIA = "https://en.wikipedia.org/w/api.php"
# MediaWiki asks clients for a name and a contact.
USER_AGENT = f"LisaX/{__version__} (fact verification research; python-requests)"
LONGEST_QUERY = 300  # in characters; MediaWiki refuses longer searches
LONGEST_WAIT_SECONDS = 300.0


@dataclasses.dataclass(frozen=True)
class Manners:
    """Limits on requests to the server; times in seconds."""

    timeout_seconds: float = 20.0
    attempts: int = 5
    first_wait_seconds: float = 1.0
    between_requests_seconds: float = 0.2
    user_agent: str = USER_AGENT


class MediaWiki:
    """`search(text)` returns page titles as written in the wiki, best first."""

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
            self._cache.execute("CREATE TABLE IF NOT EXISTS answers (request TEXT PRIMARY KEY, titles TEXT NOT NULL)")
        except sqlite3.DatabaseError as error:
            raise DataError(f"the cache cannot be opened ({error}); remove it or name another", path=cache) from None

    def search(self, text: str, k: int = 50) -> list[str]:
        """Up to `k` titles (a wiki returns at most 500 at once) for a claim, from the cache if it has them."""
        # `"`, `-`, `~` and the like are operators of the wiki's search; in a claim they are not.
        query = " ".join("".join(c if c.isalnum() or c in "'’." else " " for c in text).split())[:LONGEST_QUERY]
        if not query:
            return []
        parameters = {
            "action": "query",
            "list": "search",
            "srsearch": query,
            "srlimit": str(min(k, 500)),
            "srnamespace": "0",
            "srprop": "",
            "format": "json",
            "formatversion": "2",
            "maxlag": "5",
        }
        request = json.dumps([self.url, parameters], sort_keys=True)
        row = self._cache.execute("SELECT titles FROM answers WHERE request = ?", (request,)).fetchone()
        if row is not None:
            return json.loads(row[0])
        titles = self._ask(parameters)
        self._cache.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (request, json.dumps(titles)))
        return titles

    def _ask(self, parameters: dict[str, str]) -> list[str]:
        problem = ""
        for attempt in range(self._manners.attempts):
            wait, problem, titles = self._attempt(parameters)
            if titles is not None:
                return titles
            if attempt + 1 < self._manners.attempts:
                self._sleep(max(wait, self._manners.first_wait_seconds * 2**attempt))
        raise LisaxError(
            f"{self.url} gave no answer in {self._manners.attempts} attempts ({problem}). What it "
            "answered before is cached: the same command goes on from there. Without the network, "
            "search the corpus's own titles: `lisax retrieve documents --method both` without `--mediawiki`"
        )

    def _attempt(self, parameters: dict[str, str]) -> tuple[float, str, list[str] | None]:
        """Sends one request; returns (seconds to wait before the next, the error, titles or None)."""
        import requests

        if self._session is None:
            self._session = requests.Session()
            self._session.headers["User-Agent"] = self._manners.user_agent
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
        if response.status_code == 429 or response.status_code >= 500:
            return wait, f"HTTP {response.status_code}", None
        if response.status_code != 200:
            raise LisaxError(f"{self.url} refused the search with HTTP {response.status_code}: {response.text[:200]}")
        try:
            answer = response.json()
            error = answer.get("error")
            if error is None:
                return 0.0, "", [hit["title"] for hit in answer["query"]["search"]]
            code, info = error["code"], error.get("info", "")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LisaxError(
                f"{self.url} answered with something else than a MediaWiki search result; "
                "is it the address of an api.php?"
            ) from None
        if code in ("maxlag", "ratelimited", "readonly"):
            return wait, f"the wiki is busy: {code}", None
        raise LisaxError(f"{self.url} refused the search: {code}: {info}")


def search_pages(titles: TitleIndex, cache: str | os.PathLike, url: str = WIKIPEDIA) -> TitleSearch:
    """A search of a live wiki that returns page ids of the index; pages missing from the index are left out."""
    wiki = MediaWiki(cache, url)

    def search(texts: Sequence[str], k: int) -> list[list[str]]:
        found = [[titles.page_with_title(title) for title in wiki.search(text, k)] for text in texts]
        return [[page for page in pages if page is not None] for pages in found]

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
