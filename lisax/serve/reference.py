"""The API's OpenAPI document as a page: its calls with an example of each, and the objects that they take and give."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

# A type of the document: its words, and the object that it names, for a link.
Type = tuple[str, str | None]
JSON_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


@dataclasses.dataclass(frozen=True, slots=True)
class CallShown:
    """`takes` and `gives` are objects; `examples` are commands."""

    method: str
    path: str
    summary: str
    takes: list[Type]
    gives: list[Type]
    examples: list[str]


@dataclasses.dataclass(frozen=True, slots=True)
class FieldShown:
    name: str
    types: list[Type]
    is_needed: bool
    default: str
    description: str


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectShown:
    id: str
    name: str
    description: str
    fields: list[FieldShown]


def calls(document: Mapping[str, Any], base: str) -> list[CallShown]:
    """The calls; `base` is the address of the server, with its closing slash."""
    schemas = document["components"]["schemas"]
    shown = []
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            content = call.get("requestBody", {}).get("content", {})
            body, form = content.get("application/json", {}), content.get("multipart/form-data", {}).get("example")
            done = next(found for status, found in call["responses"].items() if status.startswith("2"))
            given = done.get("content", {}).get("application/json", {}).get("schema", {})
            examples = [one["value"] for one in body.get("examples", {}).values()] or [None]
            address = base + re.sub(r"\{.*?\}", "ID", path.removeprefix("/"))
            shown.append(
                CallShown(
                    method.upper(),
                    path,
                    call["summary"],
                    _types(body.get("schema", {}), schemas),
                    _types(given, schemas),
                    [_curl(method, address, value, form) for value in examples],
                )
            )
    return shown


def objects(document: Mapping[str, Any]) -> list[ObjectShown]:
    schemas = document["components"]["schemas"]
    return [
        ObjectShown(
            name,
            schema["title"],
            " ".join(schema.get("description", "").split()),
            [
                FieldShown(
                    field,
                    _types(about, schemas),
                    field in schema.get("required", ()),
                    json.dumps(about["default"], ensure_ascii=False) if about.get("default") is not None else "",
                    about.get("description", ""),
                )
                for field, about in schema.get("properties", {}).items()
            ],
        )
        for name, schema in schemas.items()
    ]


def _types(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> list[Type]:
    """The types that a value may have, without null."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return [(schemas[name]["title"], name)]
    if forms := schema.get("anyOf") or schema.get("oneOf"):
        return list(dict.fromkeys(one for form in forms for one in _types(form, schemas)))
    if "enum" in schema:
        return [(value, None) for value in schema["enum"]]
    kind = schema.get("type")
    if kind == "array":
        return [(f"list of {words}", name) for words, name in _types(schema.get("items", {}), schemas)] or [
            ("list", None)
        ]
    if kind == "object":
        return [("object", None)]
    return [(JSON_TYPES[kind], None)] if kind in JSON_TYPES else []


def _curl(method: str, address: str, value: Any, form: Mapping[str, str] | None) -> str:
    if form is not None:
        return " ".join([f"curl -s {shlex.quote(address)}", *(f"-F {name}={text}" for name, text in form.items())])
    if value is None:
        return f"curl -s {'' if method == 'get' else f'-X {method.upper()} '}{shlex.quote(address)}"
    body = shlex.quote(json.dumps(value, ensure_ascii=False))
    return f"curl -s {shlex.quote(address)} -H 'content-type: application/json' -d {body}"
