"""Errors of the API as JSON. The page's own errors are pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Scope

from lisax.errors import printable
from lisax.serve.schema import MANY, ONE, field_of

ID = "x-request-id"
PROBES = frozenset({"/healthz", "/readyz"})  # asked by machines without a token; they show nothing of the content
API = frozenset({"/openapi.json", "/metrics", *PROBES})
PREFIX = "/v1/"
SINGLE = ("claim", "question")  # fields of a call with one object; of a batch they end in s
WORDS = {  # messages of Starlette, FastAPI and pydantic, and ours for them
    "Not Found": "there is no such address; GET /openapi.json lists them",
    "Method Not Allowed": "another method is meant; the header Allow names it",
    "There was an error parsing the body": "the body is not JSON: it is not UTF-8, nested too deeply, or has "
    "a number of thousands of digits",
    "missing": "the field is missing",
    "extra_forbidden": "there is no such field",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
    "string_pattern_mismatch": "the text is empty",
    "string_unicode": "the text holds half of a surrogate pair, which is not a character",
}


AWAY = "The cluster that holds these documents cannot be reached. Try again in a few seconds."


def is_api(path: str) -> bool:
    return path.startswith(PREFIX) or path in API


def broken(path: str) -> str:
    """The message of an internal error."""
    if is_api(path):
        return "this call could not be answered; the log of `lisax serve` has the reason"
    return "The page could not do that. The reason is in the log of `lisax serve`."


def request_id(scope: Scope) -> str:
    return scope.get("state", {}).get("request_id", "")


def problem(
    scope: Scope, status: int, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    return JSONResponse({"error": described(scope, status, message, field)}, status, headers)


def described(scope: Scope, status: int, message: str, field: str | None = None) -> dict[str, Any]:
    named = {} if field is None else {"field": printable(field)}
    return {"status": status, "message": printable(message), **named, "request_id": request_id(scope)}


def invalid(first: Mapping[str, Any]) -> tuple[int, str, str | None]:
    """Status, message and field of a validation error."""
    if first["type"] == "json_invalid":
        return 400, f"the body is not JSON: {first['ctx']['error']} at character {first['loc'][-1]}", None
    place = first["loc"][1:] if first["loc"][:1] == ("body",) else first["loc"]
    message = WORDS.get(first["type"], first["msg"][:1].lower() + first["msg"][1:])
    if first["type"] == "missing" and not place:
        message = (
            "the body is missing: expected an object with `claim` or `claims`, for /v1/ask `question` or `questions`"
        )
    elif first["type"] == "missing" and place[:-1] == (ONE,):
        message += f"; `{place[-1]}s` takes several" if place[-1] in SINGLE else ""
    elif first["type"] == "extra_forbidden" and place[:-1] == (MANY,) and place[-1] in SINGLE:
        message = f"`{place[-1]}s` is given too: give one of them"
    return 422, message, field_of(place) or None


def of_type(*wanted: str) -> Callable[[Request], None]:
    """A dependency of routes, which raises HTTPException 415 if the body is of none of these types."""

    def check(request: Request) -> None:
        found = request.headers.get("content-type", "")
        if found.partition(";")[0].strip().lower() not in wanted:
            raise HTTPException(415, f"expected a body of {wanted[0]}, found {found or 'no content-type'!r:.100}")

    return check
