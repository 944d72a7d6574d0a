"""The routes of the API. `CALLS` has a line for each call; checks of the input, the OpenAPI document and the tools for
assistants are made of it and of `schema`."""

# Annotations are evaluated: FastAPI reads those of functions that are made in a loop.
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request
from fastapi.openapi.utils import get_openapi
from fastapi.sse import format_sse_event
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from lisax import __version__
from lisax.errors import LisaxError
from lisax.retrieval.cluster_client import Unreachable
from lisax.serve import schema
from lisax.serve.library import Library
from lisax.serve.observing import LOG, Metrics
from lisax.serve.problems import AWAY, PREFIX, broken, described, of_type, problem
from lisax.serve.service import Batch, Service
from lisax.serve.worker import Busy

JSON_LINES = "application/x-ndjson"
UNBUFFERED = {"x-accel-buffering": "no"}  # nginx would hold the lines back
LEFT = 499  # for metrics and logs: the client has closed the connection
PROBLEMS = {
    400: "The body is not JSON, or the models cannot do this.",
    401: "The token is missing.",
    403: "A page of another origin sent this, or the upload is of another.",
    404: "There is no such index, or no model for this call.",
    405: "Another method is meant.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body is of another type: calls take application/json, uploads multipart/form-data.",
    421: "The header Host names another server.",
    422: "A field is missing or wrong: `field` names it.",
    429: "Too many requests from this address: see Retry-After.",
    500: "Something went wrong: the server's log has the reason.",
    503: "Too many wait already, it took too long, or a cluster cannot be reached: see Retry-After.",
}


@dataclasses.dataclass(frozen=True)
class Call:
    """A call: its input, one object or a batch; its `batch`; its result, that of one item; examples of the input."""

    name: str
    summary: str
    given: Any
    many: type[schema.Model]
    result: type[schema.Model]
    batch: Callable[[Service, Any], Batch]
    examples: dict[str, Any]


TABLE = {"title": "Towns", "header": ["town", "people"], "rows": [["Torimoor", "39,000"], ["Tarn", "900"]]}
EVIDENCE = ["Torimoor is a town of 39,000 people.", {"text": "Olin was born in Tarn.", "source": "Olin"}]
CALLS = (
    Call(
        "check",
        "Check claims against an index: search, rank, label.",
        schema.Check,
        schema.CheckMany,
        schema.Verdict,
        Service.check,
        {
            "one": {"claim": "Torimoor has 12,000 residents."},
            "many": {"claims": ["Torimoor has a cathedral.", {"id": 7, "claim": "Olin was born in Tarn."}]},
        },
    ),
    Call(
        "ask",
        "Answer questions from tables, or from passages where a reader is loaded.",
        schema.Ask,
        schema.AskMany,
        schema.Answers,
        Service.ask,
        {
            "one": {"question": "Which club won the cup in 1921?", "answers": 2},
            "many": {"questions": ["Who won in 1921?", {"id": "q2", "question": "Who won in 1922?"}]},
        },
    ),
    Call(
        "rank",
        "Order evidence by its relevance to a claim: given candidates, or the evidence of an index.",
        schema.Rank,
        schema.RankMany,
        schema.Ranking,
        Service.rank,
        {
            "one": {"claim": "Olin was born in Tarn.", "candidates": EVIDENCE, "k": 1},
            "many": {"claims": [{"claim": "Olin was born in Tarn.", "candidates": EVIDENCE}]},
        },
    ),
    Call(
        "verify",
        "Label claims from the evidence that is given with them: texts, tables, or both.",
        schema.Verify,
        schema.VerifyMany,
        schema.Verdict,
        Service.verify,
        {
            "one": {"claim": "Torimoor has 12,000 residents.", "evidence": EVIDENCE[:1]},
            "table": {"claim": "Torimoor has 12,000 residents.", "evidence": [{"table": TABLE, "source": "Census"}]},
            "many": {
                "claims": [
                    {"id": 1, "claim": "Olin was born in Tarn.", "evidence": EVIDENCE},
                    {"id": 2, "claim": "Tarn has 900 residents.", "evidence": [*EVIDENCE, {"table": TABLE}]},
                ]
            },
        },
    ),
)


def router(service: Service, library: Library, metrics: Metrics) -> APIRouter:
    made = APIRouter(
        responses={status: {"model": schema.Error, "description": why} for status, why in PROBLEMS.items()}
    )
    for call in CALLS:
        _add(made, call, service, metrics)

    @made.get(f"{PREFIX}indexes", summary="Indexes, and the calls that each answers.", response_model=schema.Indexes)
    def indexes(request: Request) -> Response:
        return JSONResponse(service.of(request.state.visitor).indexes())

    _add_operations(made, service, library, metrics)
    return made


def _add(made: APIRouter, call: Call, service: Service, metrics: Metrics) -> None:
    many = schema.Results[call.result]

    @made.post(
        f"{PREFIX}{call.name}",
        operation_id=call.name,
        summary=call.summary,
        dependencies=[Depends(of_type("application/json"))],
        description="For a batch, `Accept: application/x-ndjson` streams the results, a line each; if one fails, the "
        "last line is an `error`.",
        response_model=call.result | many,
        responses={200: {"content": {JSON_LINES: {"schema": {"type": "string"}}}}},
    )
    async def answer(
        request: Request,
        given: Annotated[
            call.given, Body(openapi_examples={name: {"value": value} for name, value in call.examples.items()})
        ],
    ) -> Response:
        own = service.of(request.state.visitor)
        rows = _counted(own.rows(call.batch(own, given)), metrics, call.name)
        if JSON_LINES in request.headers.get("accept", ""):
            first = await anext(rows)  # so that an immediate error has its status
            return StreamingResponse(as_lines(request, rows, first), media_type=JSON_LINES, headers=UNBUFFERED)
        found = []
        async with contextlib.aclosing(rows):
            async for row in rows:
                found.append(row)
                if await request.is_disconnected():
                    return Response(status_code=LEFT)
        return JSONResponse({"results": found} if isinstance(given, call.many) else found[0])


async def _counted(rows: AsyncIterator[dict[str, Any]], metrics: Metrics, call: str) -> AsyncIterator[dict[str, Any]]:
    async with contextlib.aclosing(rows):  # a client that leaves ends the work
        async for row in rows:
            metrics.items.labels(call).inc()
            yield row


async def as_lines(
    request: Request, rows: AsyncIterator[dict[str, Any]], first: dict[str, Any] | None = None
) -> AsyncIterator[str]:
    """Results as JSON lines, as they come; if one fails, the last line is an `error`."""
    async with contextlib.aclosing(rows):
        try:
            if first is not None:
                yield _line(first)
            async for row in rows:
                yield _line(row)
        except Unreachable:
            yield _error_line(request, 503, AWAY)
        except (Busy, LisaxError) as error:
            status = 503 if isinstance(error, Busy) else 400
            yield _error_line(request, status, str(error))
        except Exception:
            LOG.exception("a stream has broken")
            yield _error_line(request, 500, broken(request.url.path))


def _line(row: dict[str, Any]) -> str:
    """A row as a line of JSON. Raises UnicodeEncodeError if it cannot be sent."""
    line = json.dumps(row, ensure_ascii=False) + "\n"
    line.encode()
    return line


async def as_events(lines: AsyncIterator[str]) -> AsyncIterator[bytes]:
    """Lines as server-sent events."""
    async with contextlib.aclosing(lines):
        async for line in lines:
            yield format_sse_event(data_str=line.removesuffix("\n"))


def _error_line(request: Request, status: int, message: str) -> str:
    return json.dumps({"error": described(request.scope, status, message)}) + "\n"


def _add_operations(made: APIRouter, service: Service, library: Library, metrics: Metrics) -> None:
    # Without a thread of the pool, which may be taken by slow requests.
    @made.get("/healthz", include_in_schema=False)
    async def alive(request: Request) -> Response:
        if service.worker.is_alive:
            return JSONResponse({"status": "ok"})
        return problem(request.scope, 503, "the thread of the models has ended")

    @made.get("/readyz", include_in_schema=False)
    async def ready(request: Request) -> Response:
        if not service.worker.is_alive or service.worker.is_full:
            return problem(request.scope, 503, "too many wait already", headers={"retry-after": "5"})
        if library.away or library.problem:
            message = "the cluster of an index cannot be reached" if library.away else "the state folder cannot be read"
            return problem(request.scope, 503, message, headers={"retry-after": "5"})
        # Without their names: this is shown to everyone.
        indexes = [corpus.version for corpus in library.given]
        return JSONResponse({"status": "ready", "version": __version__, "indexes": indexes})

    @made.get("/metrics", include_in_schema=False)
    def measured() -> Response:
        return PlainTextResponse(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    @made.get("/openapi.json", include_in_schema=False)
    def document() -> Response:
        return JSONResponse(openapi(made))


def openapi(made: APIRouter) -> dict[str, Any]:
    return get_openapi(
        title="LisaX",
        version=__version__,
        openapi_version="3.1.0",
        summary="Checks claims against text, tables and graphs.",
        routes=made.routes,
    )
