"""The calls of the API as tools for assistants, by the Model Context Protocol on standard input and output."""

from __future__ import annotations

import json
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations
from pydantic import TypeAdapter, ValidationError

from lisax import __version__
from lisax.errors import LisaxError
from lisax.serve import schema
from lisax.serve.api import CALLS, Call
from lisax.serve.limits import LIMITS
from lisax.serve.problems import invalid
from lisax.serve.service import Service
from lisax.serve.worker import Busy

INSTRUCTIONS = (
    "Checks claims against indexed text, tables and graphs: each verdict has its probabilities and the evidence that it "
    "was read from. Give self-contained claims, with names instead of pronouns, one statement each, "
    f"of at most {LIMITS.text_characters} characters."
)
INDEXES = "indexes"


def assistant(service: Service) -> Server:
    """The server of tools: one for each call that the loaded models answer, and `indexes`."""
    calls = {call.name: call for call in CALLS if service.can(call.name)}

    async def listed(context: Any, params: Any) -> ListToolsResult:
        shown = [_tool(call) for call in calls.values()]
        summary = "List the indexes, and the kinds of calls that each answers."
        shown.append(_described(INDEXES, summary, {"type": "object"}, schema.Indexes.model_json_schema()))
        return ListToolsResult(tools=shown)

    async def called(context: Any, params: Any) -> CallToolResult:
        if params.name == INDEXES:
            return _result(service.indexes())
        if params.name not in calls:
            return _failed(f"there is no tool '{params.name}'; there are {', '.join([*calls, INDEXES])}")
        call = calls[params.name]
        try:
            given = TypeAdapter(call.given).validate_python(params.arguments or {})
            return _result({"results": [row async for row in service.rows(call.batch(service, given))]})
        except ValidationError as error:
            _, message, field = invalid(error.errors()[0])
            return _failed(f"{field}: {message}" if field else message)
        except (LisaxError, Busy) as error:
            return _failed(str(error))

    return Server("lisax", version=__version__, instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called)


def serve_stdio(service: Service) -> None:
    """Answers until standard input ends."""

    async def run() -> None:
        server = assistant(service)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)


def _tool(call: Call) -> Tool:
    results = schema.Results[call.result]
    forms = TypeAdapter(call.given).json_schema()
    one, many = (forms["$defs"].pop(form["$ref"].rpartition("/")[2]) for form in forms["oneOf"])
    # Both forms as one object: clients take no choice at the top of a tool's input.
    fields = many["properties"] | one["properties"]
    summary = f"{call.summary} Takes one ({', '.join(one['required'])}), or several ({', '.join(many['required'])})."
    given = {"type": "object", "properties": fields, "additionalProperties": False, "$defs": forms["$defs"]}
    return _described(call.name, summary, given, results.model_json_schema())


def _described(name: str, summary: str, given: dict[str, Any], result: dict[str, Any]) -> Tool:
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return Tool(name=name, description=summary, input_schema=given, output_schema=result, annotations=reads)


def _result(row: dict[str, Any]) -> CallToolResult:
    text = TextContent(type="text", text=json.dumps(row, ensure_ascii=False))
    return CallToolResult(content=[text], structured_content=row)


def _failed(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)
