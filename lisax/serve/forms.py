"""Validates form fields; invalid ones raise an error with a sentence for the user.

Not FastAPI's form models: they are as fast (0.3 ms a form), but refuse with JSON, and cannot check a form against the
answer it refers to.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from lisax.errors import LisaxError
from lisax.records import LABELS, cell_id, is_text
from lisax.serve.schema import clean
from lisax.serve.store import StoredAnswer


async def _own_form(request: Request) -> FormData:
    """The form of a request, which must come from one of our own pages."""
    form = await given(request)
    key = form.get("form_key")
    if not isinstance(key, str) or not hmac.compare_digest(key.encode(), request.scope["state"]["session"].encode()):
        raise HTTPException(403, "This form is from another session. Open the page again and repeat it.")
    return form


async def given(request: Request) -> FormData:
    """The form of a request, within the limits, and without text that cannot be encoded: a form may declare an encoding
    that lets lone surrogates pass, in its texts and in its file names."""
    limits = request.app.state.page.limits
    try:
        form = await request.form(max_files=limits.upload_files, max_fields=200, max_part_size=limits.form_bytes)
    except ValueError:  # of a codec of Python that decodes nothing, such as `undefined`
        raise LisaxError("The form is not in the encoding that its content type names.") from None
    for field, value in form.multi_items():
        if not (is_text(field) and is_text(value if isinstance(value, str) else value.filename or "")):
            raise LisaxError("A text or the name of a file holds half of a surrogate pair, which is not a character.")
    return form


Form = Annotated[FormData, Depends(_own_form)]


def string(form: FormData, field: str) -> str:
    value = form.get(field)
    return value if isinstance(value, str) else ""


def text(form: FormData, field: str, most: int) -> str:
    """A field's text on one line. Raises an error if it is empty or longer than `most` characters."""
    found = clean(string(form, field))
    if not found:
        raise LisaxError(f"The {field} is empty.")
    if len(found) > most:
        raise LisaxError(f"The {field} has {len(found):,} characters; at most {most:,} are taken.")
    return found


def choice(form: FormData, field: str, choices: Collection[str]) -> str:
    value = string(form, field)
    if value not in choices:
        raise LisaxError(f"The {field} must be one of: {', '.join(choices)}.")
    return value


def integer(given: str) -> int:
    if not re.fullmatch(r"\d{1,9}", given, re.ASCII):
        raise LisaxError(f"Expected a whole number, found '{given[:20]}'.")
    return int(given)


def unit_of(answer: StoredAnswer, kind: str, form: FormData) -> str:
    """The id of the table or cell that the form refers to, which must belong to the answer."""
    table = next((table for table in answer.result.get("tables", ()) if table["id"] == string(form, "table")), None)
    if table is None:
        raise LisaxError("That table is not of this answer.")
    if kind == "table":
        return table["id"]
    row, column = (integer(string(form, field)) for field in ("row", "column"))
    if not (1 <= row <= len(table["rows"]) and 1 <= column <= len(table["columns"])):
        raise LisaxError(f"The table has {len(table['rows'])} rows and {len(table['columns'])} columns.")
    return cell_id(table["id"], row - 1, column - 1)


def verdict_of(answer: StoredAnswer, form: FormData) -> tuple[str, dict[str, Any]]:
    """The source of the verdict, and the label and evidence that a reader gives instead."""
    source = next((row for row in answer.result.get("verdicts", ()) if row["source"] == string(form, "source")), None)
    if source is None:
        raise LisaxError("That verdict is not of this answer.")
    evidence = [unit for unit in form.getlist("evidence") if unit in source["evidence"]]
    return source["source"], {"label": choice(form, "label", LABELS), "evidence": evidence}
