"""The routes of the page and of the API. All pages are rendered from templates; heavy work waits in a queue for one
thread."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import hashlib
import io
import json
import re
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Request
from fastapi import Path as PathField
from fastapi.exceptions import RequestValidationError
from fastapi.sse import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Match, Route
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from lisax.errors import LisaxError
from lisax.report import heatmap
from lisax.report.render import TEMPLATES as REPORT_TEMPLATES
from lisax.retrieval.cluster_client import Unreachable
from lisax.serve import api, asking, contents, export, forms, problems, reference, saving, training, uploading, views
from lisax.serve.answering import CLAIM, KINDS, PARAGRAPH, QUESTION, SEARCH, Engine
from lisax.serve.forms import Form
from lisax.serve.guard import HEADERS, Guard, Rules, api_origins, spellings
from lisax.serve.in_use import InUse
from lisax.serve.library import Library, ServedCorpus
from lisax.serve.models import about
from lisax.serve.observing import LOG, Metrics, Observer
from lisax.serve.service import NotHere, Service
from lisax.serve.store import Store, StoredAnswer
from lisax.serve.training import Training
from lisax.serve.visitors import Seen
from lisax.serve.worker import Busy, Worker

STATIC = Path(__file__).parent / "static"
LISTED = 100  # feedback entries per page
EXAMPLES = 6


@dataclasses.dataclass
class Page:
    """State shared by all routes."""

    engine: Engine
    library: Library
    store: Store
    training: Training
    in_use: InUse
    rules: Rules
    examples: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    tried: str = ""  # how these were chosen

    def __post_init__(self):
        self.limits = self.rules.limits
        self.worker = Worker("model", self.limits.waiting, self.limits.together, self.limits.together_seconds)
        self.service = Service(self.engine, self.library, self.worker, self.limits)
        self.loader = Worker("uploads", self.limits.uploads_waiting)
        style = (
            (REPORT_TEMPLATES / "style.css").read_text(encoding="utf-8")
            + heatmap.style()
            + (STATIC / "page.css").read_text(encoding="utf-8")
        )
        contents = {
            "style": (style, "css", "text/css"),
            "script": ((STATIC / "page.js").read_text(encoding="utf-8"), "js", "text/javascript"),
        }
        # Named by their content, so that browsers can cache them forever.
        self.assets = {
            f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.{end}": (text, media)
            for text, end, media in contents.values()
        }
        self.addresses = dict(zip(contents, (f"/static/{name}" for name in self.assets)))
        self._environment = views.environment()
        dropped = self.library.dropped

        def drop(corpus: ServedCorpus) -> None:
            if dropped is not None:
                dropped(corpus)
            self.blank_removed()

        self.library.dropped = drop
        self.blank_removed()  # from uploads that were removed while no server ran

    def blank_removed(self) -> None:
        """Removes the texts of uploads that are gone from stored answers."""
        answered = self.store.answered_uploads()  # first: a later answer is from an upload that is there
        if gone := answered - {corpus.id for corpus in self.library}:
            self.store.blank(gone)

    def render(
        self,
        request: Request,
        template: str,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        **values: Any,
    ) -> HTMLResponse:
        html = self._environment.get_template(template).render(
            assets=self.addresses,
            here=request.url.path,
            form_key=request.scope["state"]["session"],
            limits=self.limits,
            **values,
        )
        return HTMLResponse(html, status, headers)

    def form(self, seen: Seen, text: str = "", kind: str = "", chosen: str = "", tier: str = "") -> dict[str, Any]:
        """The initial values of the form for asking; by default the first kind that a corpus answers."""
        able = [one for _, kinds in self.askable(seen) for one in kinds]
        kinds = [one for one in KINDS if one in able]
        kind = kind if kind in kinds else next((one for one in (CLAIM, *kinds) if one in able), "")
        tiers = self.engine.models.tiers if CLAIM in kinds else ()
        return {"text": text, "kind": kind, "chosen": chosen, "kinds": kinds, "tiers": tiers, "tier": tier}

    def all_examples(self, seen: Seen) -> list[tuple[str, str, str]]:
        """(kind, corpus, text) of the examples: the given ones, or some made of the indexes' content."""
        if self.examples:
            return self.examples
        made = [(kind, corpus.id, text) for corpus in seen for kind, text in contents.examples(self.engine, corpus)]
        return made[:EXAMPLES]

    def seen(self, request: Request) -> Seen:
        """The corpora for the sender of a request."""
        return Seen(self.library, request.state.visitor)

    def askable(self, seen: Seen) -> list[tuple[ServedCorpus, tuple[str, ...]]]:
        return [(corpus, kinds) for corpus in seen if (kinds := self.engine.kinds(corpus))]

    def close(self) -> None:
        self.worker.close()
        self.loader.close()
        self.training.close()
        self.store.close()


Number = Annotated[int, PathField(ge=0, lt=1 << 53)]


def create(page: Page) -> FastAPI:
    """Builds the application; on shutdown it closes the page."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI):
        yield
        await run_in_threadpool(page.close)

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.page = page
    metrics = Metrics(page.worker, Seen(page.library))
    app.add_middleware(Guard, rules=page.rules)  # inside of the following
    if page.rules.origins:
        app.add_middleware(api_origins, origins=page.rules.origins)
    app.add_middleware(Observer, metrics=metrics)
    app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=spellings(page.rules.proxies))
    calls = api.router(page.service, page.library, metrics)
    uploading.add_routes(app, calls, page)
    app.include_router(calls)
    _add_errors(app, calls, page)
    _add_asking(app, page)
    _add_feedback(app, page)
    _add_training(app, page)

    @app.get("/docs")
    def documented(request: Request) -> Response:
        document = api.openapi(calls)
        return page.render(
            request,
            "docs.html",
            calls=reference.calls(document, str(request.base_url)),
            objects=reference.objects(document),
            errors=api.PROBLEMS,
            token=page.rules.token,
        )

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in page.assets:
            raise HTTPException(404, "There is no such file.")
        text, media = page.assets[name]
        return Response(text, media_type=media, headers={"cache-control": "public, max-age=31536000, immutable"})

    return app


def _add_errors(app: FastAPI, calls: APIRouter, page: Page) -> None:
    def failed(
        request: Request, status: int, message: str, headers: dict[str, str] | None = None, field: str | None = None
    ) -> Response:
        if problems.is_api(request.url.path):
            return problems.problem(request.scope, status, message, field, headers)
        heading = {404: "Not found", 503: "Busy", 500: "Something went wrong"}.get(status, "That did not work")
        return page.render(request, "message.html", status=status, headers=headers, heading=heading, message=message)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        words = problems.WORDS if problems.is_api(request.url.path) else {"Not Found": "There is no such page."}
        detail = words.get(error.detail, str(error.detail))
        headers = dict(error.headers or {})
        if error.status_code == 405:  # Starlette names the methods of one route, of several at this address
            routes = (route for route in (*calls.routes, *app.routes) if isinstance(route, Route))
            found = (route.methods for route in routes if route.matches(request.scope)[0] is not Match.NONE)
            headers["Allow"] = ", ".join(sorted(set().union(*found)))
        return failed(request, error.status_code, detail, headers)

    @app.exception_handler(RequestValidationError)
    async def misspelt(request: Request, error: RequestValidationError) -> Response:
        if problems.is_api(request.url.path):
            status, message, field = problems.invalid(error.errors()[0])
            return failed(request, status, message, field=field)
        return failed(request, 404, "There is no such page.")

    @app.exception_handler(NotHere)
    async def not_here(request: Request, error: NotHere) -> Response:
        return failed(request, 404, str(error), field=error.field)

    @app.exception_handler(LisaxError)
    async def wrong(request: Request, error: LisaxError) -> Response:
        return failed(request, 400, str(error))

    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> Response:
        return failed(request, 503, f"No answer now: {error}. Try again in a few seconds.", {"retry-after": "5"})

    @app.exception_handler(Unreachable)
    async def away(request: Request, error: Unreachable) -> Response:
        LOG.warning("%s", error)
        return failed(request, 503, problems.AWAY, {"retry-after": "5"})

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        # The trace is in the server's log; the user is shown no internals.
        return failed(
            request, 500, problems.broken(request.url.path), HEADERS | {problems.ID: problems.request_id(request.scope)}
        )  # this response bypasses the guard and the observer


def _add_asking(app: FastAPI, page: Page) -> None:
    @app.get("/")
    def home(request: Request) -> Response:
        query = request.query_params
        chosen, text = query.get("corpus", ""), query.get("text", "")[: page.limits.paragraph_characters]
        kind, seen = query.get("kind", ""), page.seen(request)
        return page.render(
            request,
            "home.html",
            corpora=page.askable(seen),
            contents={corpus.id: contents.contents(page.engine, corpus) for corpus in seen},
            lacks={corpus.id: page.engine.lacks(corpus) for corpus in seen},
            examples=page.all_examples(seen),
            tried=page.tried,
            about=about(page.engine.models),
            missing=page.engine.models.missing,
            **page.form(seen, text, kind, chosen),
        )

    @app.post("/ask")
    async def ask(request: Request, form: Form) -> Response:
        steps = asking.steps(page, asking.asked(page, form, page.seen(request)), shown=False)
        *_, last = [event async for event in steps]
        return RedirectResponse(last["address"], 303)

    @app.post("/ask/steps")
    async def ask_in_steps(request: Request, form: Form) -> Response:
        steps = asking.steps(page, asking.asked(page, form, page.seen(request)))
        events = api.as_events(api.as_lines(request, steps))
        return EventSourceResponse(events, headers=api.UNBUFFERED)

    @app.get("/answers/{answer_id}")
    def shown(request: Request, answer_id: str) -> Response:
        answer, seen = _answer(page, request, answer_id), page.seen(request)
        corpus, said = seen.get(answer.corpus), page.store.feedback(answer.id)
        kind = CLAIM if answer.kind == PARAGRAPH else answer.kind
        values = {
            "answer": answer,
            "address": str(request.url.replace(query=None)),
            "corpus": corpus,
            "corpora": page.askable(seen),
            "describe": lambda one: views.described(one, corpus, page.engine),
            **page.form(seen, answer.text, kind, answer.corpus, answer.result.get("tier", "")),
        }
        if answer.kind == PARAGRAPH:
            return page.render(request, "paragraph.html", parts=views.parts(answer, page.store.answer), **values)
        if answer.kind == SEARCH:
            found = [] if corpus is None else views.evidence(answer.result, answer.text, corpus, page.engine)
            return page.render(request, "search.html", found=found, **values)
        if "answers" in answer.result:
            read = [] if corpus is None else views.read_answers(answer, corpus, page.engine)
            return page.render(request, "answers.html", answers=read, **values)
        if answer.kind == QUESTION:
            tables = [] if corpus is None else views.ranked_tables(answer, corpus, page.engine, said)
            sentences = [] if corpus is None else views.answer_sentences(answer, corpus, page.engine)
            return page.render(request, "question.html", tables=tables, sentences=sentences, **values)
        made = None if corpus is None else views.verdict(answer, corpus, page.engine, said)
        return page.render(request, "claim.html", shown=made, **values)

    @app.get("/answers/{answer_id}/verdict.{form}")
    def saved(request: Request, answer_id: str, form: str) -> Response:
        answer = _answer(page, request, answer_id)
        parts = answer.result.get("parts", [{"answer": answer.id}])
        answers = [one for part in parts if (one := page.store.answer(part["answer"])) is not None]
        corpus = page.seen(request).get(answer.corpus)
        if form not in saving.FORMS or corpus is None or not all("verdicts" in one.result for one in answers):
            raise HTTPException(404, "There is no verdict here to save.")
        rows = [
            saving.row(one, views.verdict(one, corpus, page.engine, []), corpus, str(request.base_url))
            for one in answers
        ]
        made = saving.markdown(rows) if form == "md" else json.dumps({"verdicts": rows}, ensure_ascii=False, indent=1)
        named = {"content-disposition": f'attachment; filename="verdict-{answer.id[:8]}.{form}"'}
        return Response(made, media_type=saving.FORMS[form], headers=named)

    @app.get("/sources/{corpus_id}/{kind}")
    def source(request: Request, corpus_id: str, kind: str) -> Response:
        corpus, unit = page.seen(request).get(corpus_id), request.query_params.get("unit", "")
        found = None if corpus is None else views.source(unit, kind, corpus, page.engine)
        if found is None:
            raise HTTPException(404, "There is no such source; the documents may have changed, or have been removed.")
        return page.render(request, "source.html", source=found, corpus=corpus)


def _add_feedback(app: FastAPI, page: Page) -> None:
    @app.post("/answers/{answer_id}/feedback")
    def say(request: Request, answer_id: str, form: Form) -> Response:
        answer, said = _answer(page, request, answer_id), forms.string(form, "say")
        if said == "verdict" and answer.kind != QUESTION:
            unit, value = forms.verdict_of(answer, form)
            page.store.say(answer.id, "verdict", unit, value)
        elif answer.kind == QUESTION and re.fullmatch("(table|cell) (right|wrong)", said):
            kind, value = said.split()
            page.store.say(answer.id, kind, forms.unit_of(answer, kind, form), value)
        else:
            raise LisaxError("The right or wrong part is not named.")
        back = forms.string(form, "back")
        return RedirectResponse(f"/answers/{answer.id}" + (f"#{back}" if re.fullmatch("[a-z0-9-]+", back) else ""), 303)

    @app.get("/feedback")
    def listed(request: Request) -> Response:
        number = max(1, min(forms.integer(request.query_params.get("page", "1")), 1_000_000))
        seen, owners = page.seen(request), request.state.visitor.ids
        said = page.store.feedback(owners=owners, count=LISTED + 1, start=(number - 1) * LISTED)
        lines = [(one, views.described(one, seen.get(one.answer.corpus), page.engine)) for one in said[:LISTED]]
        gathered = export.gather(page.store.feedback(owners=owners), seen, page.engine)
        return page.render(
            request,
            "feedback.html",
            said=lines,
            more=len(said) > LISTED,
            page=number,
            total=page.store.feedback_count(owners),
            skipped=gathered.skipped,
        )

    @app.post("/feedback/{feedback_id}/remove")
    def remove(request: Request, feedback_id: Number, form: Form) -> Response:
        page.store.take_back(feedback_id, request.state.visitor.ids)
        return RedirectResponse("/feedback", 303)

    @app.get("/feedback/export.zip")
    def download(request: Request) -> Response:
        said = page.store.feedback(owners=request.state.visitor.ids)
        gathered = export.gather(said, page.seen(request), page.engine)
        with tempfile.TemporaryDirectory() as folder:
            gathered.write(folder)
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in sorted(Path(folder).iterdir()):
                    archive.write(path, f"feedback/{path.name}")
        return Response(
            packed.getvalue(),
            media_type="application/zip",
            headers={"content-disposition": 'attachment; filename="feedback.zip"'},
        )


def _add_training(app: FastAPI, page: Page) -> None:
    def gathered() -> export.Export:
        return export.gather(page.store.feedback(), Seen(page.library), page.engine)

    def refusals() -> dict[str, str]:
        """Returns why the page cannot train each loaded model that feedback is for, by its role; empty if it can."""
        models = page.engine.models
        return {role: training.why_not(models[role]) for role in training.NEEDS if role in models}

    def values() -> dict[str, Any]:
        runs = page.training.runs()
        return {
            "runs": runs,
            "running": page.training.is_running,
            "last_lines": page.training.last_lines,
            "bundle": page.training.bundle,
            "used": collections.defaultdict(str, {role: str(path) for role, path in page.engine.models.paths.items()}),
        }

    @app.get("/training")
    def listed(request: Request) -> Response:
        found, whys = gathered(), refusals()
        needs = {role: training.NEEDS[role] for role, why in whys.items() if not why}
        trainable = [(role, len(getattr(found, need.member)), need.words) for role, need in needs.items()]
        elsewhere = [(role, why) for role, why in whys.items() if why]
        return page.render(
            request,
            "training.html",
            trainable=trainable,
            elsewhere=elsewhere,
            steps=training.STEPS,
            most_steps=training.MOST_STEPS,
            **values(),
        )

    @app.get("/training/progress")
    def progress(request: Request) -> Response:
        return page.render(request, "progress.html", **values())

    @app.post("/training")
    def start(form: Form) -> Response:
        role = forms.choice(form, "role", [role for role, why in refusals().items() if not why])
        steps = forms.integer(forms.string(form, "steps"))
        page.training.start(role, page.engine.models.paths[role], gathered(), steps)
        return RedirectResponse("/training", 303)

    @app.post("/training/stop")
    def stop(form: Form) -> Response:
        page.training.stop()
        return RedirectResponse("/training", 303)

    @app.post("/training/{number}/go-on")
    def go_on(number: Number, form: Form) -> Response:
        page.training.go_on(number)
        return RedirectResponse("/training", 303)

    async def answer_with(role: str, path: Path) -> Response:
        await page.worker.run(lambda: page.engine.use(path), page.limits.answer_seconds)
        page.in_use.put(role, path)
        return RedirectResponse("/training", 303)

    def done(number: int) -> training.Run:
        run = page.training.get(number)
        if run is None or run.state != training.DONE:
            raise LisaxError("That training is not done.")
        return run

    @app.post("/training/{number}/use")
    async def use(number: Number, form: Form) -> Response:
        run = done(number)
        return await answer_with(run.role, page.training.bundle(run))

    @app.post("/training/{number}/back")
    async def back(number: Number, form: Form) -> Response:
        run = done(number)
        return await answer_with(run.role, Path(run.base))


def _answer(page: Page, request: Request, answer_id: str) -> StoredAnswer:
    """The answer with an id. Another's, from a private corpus, is as if it were not there."""
    answer = page.store.answer(answer_id)
    if answer is None or answer.result.get("owner") not in {None, *request.state.visitor.ids}:
        raise HTTPException(404, "There is no such answer; the oldest ones are forgotten.")
    return answer
