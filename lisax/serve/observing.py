"""Observability of the service: an id for each request, metrics for Prometheus, and logs as JSON lines."""

from __future__ import annotations

import contextvars
import datetime
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lisax import __version__
from lisax.serve.guard import client_of
from lisax.serve.problems import ID
from lisax.serve.worker import Worker

if TYPE_CHECKING:
    from lisax.serve.library import ServedCorpus

LOG = logging.getLogger("lisax.serve")
_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_CURRENT: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")
SECONDS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32)


class Metrics:
    """The metrics of one server; `text` is Prometheus's format."""

    def __init__(self, worker: Worker, corpora: Iterable[ServedCorpus] = ()):
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        own = {"registry": self._registry}
        Gauge("lisax_info", "The version of LisaX.", ["version"], **own).labels(__version__).set(1)
        waiting = Gauge("lisax_waiting", "Claims and questions that wait for the models.", **own)
        waiting.set_function(lambda: worker.waiting)
        self._registry.register(Indexes(corpora))
        self.requests = Counter("lisax_requests", "Requests answered.", ["method", "route", "status"], **own)
        self.seconds = Histogram(
            "lisax_request_seconds", "From a request's head to its answer's end.", ["route"], buckets=SECONDS, **own
        )
        self.items = Counter("lisax_items", "Claims and questions of the API that were answered.", ["call"], **own)
        self._sizes = Histogram("lisax_batch_size", "Claims or questions computed together.", buckets=SIZES, **own)
        self._busy = Counter("lisax_model_seconds", "Seconds that the models worked on them.", **own)
        worker.observe = self._batch

    def _batch(self, size: int, seconds: float) -> None:
        self._sizes.observe(size)
        self._busy.inc(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class Indexes(Collector):
    """The version of each open index, and when it was built."""

    def __init__(self, corpora: Iterable[ServedCorpus]):
        self._corpora = corpora

    def collect(self) -> Iterator[GaugeMetricFamily]:
        made = "When the open index was built, in seconds since 1970."
        family = GaugeMetricFamily("lisax_index_made_seconds", made, labels=["index", "version"])
        for corpus in self._corpora:
            family.add_metric([corpus.id, corpus.version], corpus.made)
        yield family


class Observer:
    """ASGI middleware around all others: gives each request its id, which the answer has too, counts and logs it."""

    def __init__(self, app: ASGIApp, metrics: Metrics, clock: Callable[[], float] = time.perf_counter):
        self.app, self.metrics, self._clock = app, metrics, clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = self._clock(), 500
        given = Headers(scope=scope).get(ID, "")
        own = given if _ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = own
        _CURRENT.set(own)

        async def send_named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[ID] = own
            await send(message)

        try:
            await self.app(scope, receive, send_named)
        finally:
            self._note(scope, status, self._clock() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        # The route's pattern, not the address: a request must not make new metrics.
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in METHODS else "other"
        self.metrics.requests.labels(method, route, status).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        if LOG.isEnabledFor(logging.INFO):
            noted = {
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "seconds": round(seconds, 4),
                "client": client_of((scope.get("client") or ("",))[0]),
            }
            LOG.info("request", extra={"fields": noted})


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class JsonFormatter(logging.Formatter):
    """A log record as one line of JSON. A request's address is logged without its query, which may hold the token."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        row = {
            "time": when.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "request_id": _CURRENT.get(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            row["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: value for name, value in row.items() if value != ""})


# For logging.config: uvicorn's warnings and errors, and a line for each request.
JSON_LOGS = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": f"{__name__}.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "loggers": {
        "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        LOG.name: {"handlers": ["stderr"], "level": "INFO", "propagate": False},
    },
}
