"""The API's OpenAPI document as a page: its calls with an example of each, and the objects that they take and give."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

# A type of the document: its words, and the object that it names, for a link.
Type = tuple[str, str | None]
JSON_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


def calls(document: Mapping[str, Any], base: str) -> list[dict[str, Any]]:
    """The calls: the objects that each `takes` and `gives`, and `examples` as commands. `base` is the address of the
    server, with its closing slash."""
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
                {
                    "method": method.upper(),
                    "path": path,
                    "summary": call["summary"],
                    "takes": _types(body.get("schema", {}), schemas),
                    "gives": _types(given, schemas),
                    "examples": [_curl(method, address, value, form) for value in examples],
                }
            )
    return shown


def objects(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The objects, each with its `fields`."""
    schemas = document["components"]["schemas"]
    return [
        {
            "id": name,
            "name": schema["title"],
            "description": " ".join(schema.get("description", "").split()),
            "fields": [
                {
                    "name": field,
                    "types": _types(about, schemas),
                    "is_needed": field in schema.get("required", ()),
                    "default": "" if about.get("default") is None else json.dumps(about["default"], ensure_ascii=False),
                    "description": about.get("description", ""),
                }
                for field, about in schema.get("properties", {}).items()
            ],
        }
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
