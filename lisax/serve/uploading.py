"""The routes of documents that visitors load: their page, and the calls that load and remove them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from lisax.errors import LisaxError
from lisax.serve import contents, forms, schema, uploads
from lisax.serve.forms import Form
from lisax.serve.library import ServedCorpus
from lisax.serve.problems import PREFIX, of_type
from lisax.serve.visitors import AUDIENCES, EVERYONE

if TYPE_CHECKING:
    from lisax.serve.app import Page

GONE = "There are no such documents."
MULTIPART = "multipart/form-data"
FORM = {
    "required": True,
    "content": {
        MULTIPART: {
            "schema": {
                "type": "object",
                "required": ["name", "files"],
                "properties": {
                    "name": {"type": "string"},
                    "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                    "seen_by": {"enum": list(AUDIENCES), "default": EVERYONE},
                },
            },
            "example": {"name": "Minutes", "files": "@minutes.docx"},
        }
    },
}


def add_routes(app: FastAPI, calls: APIRouter, page: Page) -> None:
    def shown(request: Request, status: int = 200, **values: Any) -> Response:
        every = [
            (
                corpus,
                page.engine.kinds(corpus),
                contents.contents(page.engine, corpus),
                page.store.answers_with_feedback(corpus.id),
            )
            for corpus in page.seen(request)
        ]
        given = {"every": every, "taken": uploads.TAKEN, "name": "", "problem": "", "loaded": None}
        given |= {"visitor": request.state.visitor, "keep": page.library.keep, "audience": EVERYONE}
        return page.render(request, "corpora.html", status=status, **(given | values))

    async def files_of(form: FormData) -> tuple[list[tuple[str, bytes]], list[str]]:
        """The files, and the names of those of a folder that are left out."""
        given = [
            file
            for field in ("files", "folder")
            for file in form.getlist(field)
            if isinstance(file, UploadFile) and file.filename
        ]
        if not given:
            raise LisaxError("No file was chosen.")
        if len(given) > page.limits.upload_files:
            raise LisaxError(
                f"{len(given):,} files were chosen; at most {page.limits.upload_files:,} are taken at once."
            )
        # Files of a folder that no reader takes are left out, such as pictures; a file that was chosen itself is
        # refused.
        chosen = [file for file in given if file in form.getlist("files") or is_taken(file.filename)]
        left_out = [file.filename for file in given if file not in chosen and not is_hidden(file.filename)]
        return [(file.filename, await file.read()) for file in chosen], left_out

    def is_taken(name: str) -> bool:
        return Path(name).suffix.lower() in uploads.TAKEN and not is_hidden(name)

    def is_hidden(name: str) -> bool:
        return Path(name).name.startswith(".")

    async def loaded(request: Request, form: FormData) -> ServedCorpus:
        """The corpus that is made of a form's files."""
        visitor = request.state.visitor
        name = forms.text(form, "name", page.limits.name_characters)
        audience = forms.choice(form, "seen_by", visitor.audiences) if "seen_by" in form else EVERYONE
        files, _ = await files_of(form)
        return await page.loader.run(
            lambda: page.library.add(name, files, audience, visitor), page.limits.upload_seconds
        )

    def removable(request: Request, corpus_id: str) -> ServedCorpus:
        """The corpus that a visitor may remove. Another's that is private is as if it were not there."""
        if (corpus := page.seen(request).get(corpus_id)) is None:
            raise HTTPException(404, GONE)
        if not corpus.uploaded:
            raise LisaxError("Only an uploaded corpus can be removed.")
        if not request.state.visitor.may_remove(corpus):
            raise HTTPException(403, "Only the uploader of these documents, or the operator, can remove them.")
        return corpus

    def drop(corpus: ServedCorpus) -> None:
        if not page.library.remove(corpus.id):
            raise HTTPException(404, GONE)
        page.service.forget(corpus)

    @app.get("/corpora")
    def listed(request: Request) -> Response:
        return shown(request, loaded=page.seen(request).get(request.query_params.get("loaded", "")))

    @app.post("/corpora")
    async def upload(request: Request, form: Form) -> Response:
        try:
            corpus = await loaded(request, form)
        except LisaxError as error:
            given = forms.string(form, "name")[: page.limits.name_characters]
            audience = forms.string(form, "seen_by") or EVERYONE
            return await run_in_threadpool(shown, request, 400, name=given, problem=str(error), audience=audience)
        return RedirectResponse(f"/corpora?loaded={corpus.id}#{corpus.id}", 303)

    @app.post("/corpora/preview")
    async def preview(request: Request, form: Form) -> Response:
        files, left_out = await files_of(form)
        found = await page.loader.run(lambda: page.library.preview(files), page.limits.upload_seconds)
        named = [uploads.shown_name(name, page.limits.name_characters) for name in left_out]
        return page.render(request, "preview.html", found=found, left_out=named)

    @app.post("/corpora/{corpus_id}/remove")
    def remove(request: Request, corpus_id: str, form: Form) -> Response:
        corpus, said = removable(request, corpus_id), page.store.answers_with_feedback(corpus_id)
        if said and forms.string(form, "without") != str(said):  # feedback that arrived meanwhile is confirmed too
            raise LisaxError(
                f"The feedback on {said:,} answers from these documents can no longer be downloaded or trained on "
                "when they are gone: tick the box next to Remove, or download the feedback first."
            )
        drop(corpus)
        return RedirectResponse("/corpora", 303)

    @calls.post(
        f"{PREFIX}indexes",
        status_code=201,
        summary="Load documents: a form of files, of which an index is made.",
        dependencies=[Depends(of_type(MULTIPART, "application/x-www-form-urlencoded"))],
        response_model=schema.Index,
        openapi_extra={"requestBody": FORM},
    )
    async def upload_by_call(request: Request) -> Response:
        corpus = await loaded(request, await forms.given(request))
        (row,) = (one for one in page.service.of(request.state.visitor).indexes()["indexes"] if one["id"] == corpus.id)
        return JSONResponse(row, 201)

    @calls.delete(f"{PREFIX}indexes/{{index}}", status_code=204, summary="Remove an upload of yours.")
    def remove_by_call(request: Request, index: str) -> Response:
        drop(removable(request, index))
        return Response(status_code=204)
