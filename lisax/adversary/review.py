"""A page on loopback where a reviewer accepts, corrects or rejects attacked claims, one at a time.

Plain HTML forms of the standard library's server. Each decision is on disk before the next claim is shown; the same
command resumes at the first undecided one.
"""

from __future__ import annotations

import contextlib
import html
import http.server
import re
import secrets
import sys
import threading
import urllib.parse
from pathlib import Path

from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.decisions import DECISIONS, Decision, read_attacks, read_decisions, write_decision
from lisax.adversary.prose import readable
from lisax.adversary.writing import LAYOUTS
from lisax.corpora import read_claims
from lisax.records import LABELS, Label, LisaxError

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Review of attacks</title>
<style>body{{font:17px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222}}
textarea,input,select{{font:inherit;width:100%;box-sizing:border-box;margin:.2em 0 .8em}}
button{{font:inherit;padding:.4em 1.2em;margin-right:.6em}} dt{{color:#666}} dd{{margin:0 0 .7em}}
progress{{width:100%}}</style><main>{body}</main></html>"""
_SETS_SHOWN = 5  # of an attack's evidence sets
_LONGEST_FORM = 100_000
_PATIENCE = 10.0  # seconds to wait for the rest of a request


class Review:
    """The attacks in order and the decisions so far; `page` and `decide` are all there is."""

    def __init__(self, attacks: Path, decisions: Path, corpus: AttackCorpus | None = None):
        """`corpus` has the text of the evidence; without one its ids are shown."""
        if attacks.resolve() == decisions.resolve():
            raise LisaxError("--out must be another file than --attacks")
        self.rows, self._path, self._corpus = read_attacks(attacks), decisions, corpus
        self._evidence = {claim.id: claim.evidence_sets for claim in read_claims(attacks)}
        self.decided = read_decisions(decisions, self.rows)
        self.token = secrets.token_urlsafe(16)

    def next_id(self) -> str | None:
        return next((id for id in self.rows if id not in self.decided), None)

    def page(self, id: str | None = None) -> str:
        """The form for an attack, by default the first undecided one."""
        id = id if id in self.rows else self.next_id()
        done = sum(id in self.decided for id in self.rows)
        total = len(self.rows)
        progress = f'<progress max="{total}" value="{done}"></progress><p>{done} of {total} decided</p>'
        if id is None:
            return _PAGE.format(body=f"<h1>All decided</h1>{progress}")
        row, before = self.rows[id], self.decided.get(id)
        told = "".join(
            f"<dt>{name}</dt><dd>{html.escape(shown)}</dd>"
            for name in ("kind", "attack", "source", "edit", "reason")
            if (shown := _shown(row.get(name)))
        ) + self._evidence_of(id)
        label = before.label if before else row["label"]
        options = "".join(f"<option{' selected' if one == label else ''}>{one}</option>" for one in LABELS)
        buttons = "".join(f'<button name="decision" value="{one}">{one.capitalize()}</button>' for one in DECISIONS)
        return _PAGE.format(
            body=f"""{progress}<h1>{html.escape(id)}</h1><form method="post">
<input type="hidden" name="token" value="{self.token}"><input type="hidden" name="id" value="{html.escape(id)}">
<label>Claim<textarea name="claim" rows="3">{html.escape(before.claim if before else row["claim"])}</textarea></label>
<label>Label<select name="label">{options}</select></label><dl>{told}</dl>
<label>Note<input name="note" value="{html.escape(before.note if before else "")}"></label>{buttons}</form>
<p>Mend keeps the claim as it stands in the box; accept takes it as it was made.</p>"""
        )

    def _evidence_of(self, id: str) -> str:
        """The sentences of each evidence set, of the first few sets."""
        sets = self._evidence.get(id, ())
        shown = "".join(
            f"<ul>{''.join(f'<li>{html.escape(self._sentence(unit))}</li>' for unit in members)}</ul>"
            for members in sets[:_SETS_SHOWN]
        )
        more = f"<p>and {len(sets) - _SETS_SHOWN} more sets</p>" if len(sets) > _SETS_SHOWN else ""
        return f"<dt>evidence</dt><dd>{shown}{more}</dd>" if shown else ""

    def _sentence(self, unit: str) -> str:
        text = self._corpus.text(unit) if self._corpus else ""
        return f"{unit}: {readable(text)}" if text else unit

    def decide(self, form: dict[str, str]) -> str | None:
        """Writes a decision; returns an error in the form, or None. Accepting keeps text and label."""
        id, decision = form.get("id", ""), form.get("decision", "")
        if not secrets.compare_digest(form.get("token", "").encode(), self.token.encode()):
            return "this form is of another session: load the page again"
        if id not in self.rows or decision not in DECISIONS or form.get("label") not in set(LABELS):
            return "the form is not complete"
        row = self.rows[id]
        mended = decision == "mend"
        text = " ".join(form.get("claim", "").split())
        if mended and not text:
            return "a mended claim must say something"
        if mended and row["label"] == Label.NOT_ENOUGH_INFO != form["label"]:
            return "this attack has no evidence: keep NOT ENOUGH INFO, or reject it"
        made = Decision(
            id,
            decision,
            text if mended else row["claim"],
            form["label"] if mended else row["label"],
            form.get("note", "").strip(),
        )
        write_decision(self._path, made)
        self.decided[id] = made
        return None


def _shown(value) -> str:
    if isinstance(value, list):
        return "; ".join(filter(None, map(_shown, value[:5])))
    return "" if value is None else str(value)


def make_server(review: Review, port: int) -> http.server.HTTPServer:
    """A server on 127.0.0.1 only; other host names are refused, so that no foreign page can reach it."""

    one_at_a_time = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = _PATIENCE

        def do_GET(self) -> None:
            query = urllib.parse.parse_qs(self.path.partition("?")[2])
            with one_at_a_time:
                page = review.page(query.get("id", [None])[0])
            self._send(200, page)

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not re.fullmatch("[0-9]{1,9}", length) or int(length) > _LONGEST_FORM:
                return self._send(413, "the form is too long")
            content = self.rfile.read(int(length)).decode("utf-8", "replace")
            form = urllib.parse.parse_qs(content, keep_blank_values=True)
            with one_at_a_time:
                trouble = review.decide({name: values[0] for name, values in form.items()})
            if trouble:
                return self._send(400, html.escape(trouble))
            self.send_response(303)
            self.send_header("Location", "/")
            self.end_headers()

        def _send(self, status: int, text: str) -> None:
            if self.headers.get("Host", "").rpartition(":")[0] not in ("127.0.0.1", "localhost"):
                status, text = 403, "only for this machine"
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):  # threads, so that an incomplete request blocks nobody
        def handle_error(self, request, client_address) -> None:
            if not isinstance(sys.exception(), ConnectionError):  # a client that left early is not an error
                super().handle_error(request, client_address)

    try:
        return Server(("127.0.0.1", port), Handler)
    except (OSError, OverflowError) as error:
        raise LisaxError(f"cannot serve on port {port}: {error}; --port takes another") from None


def pages_beside(attacks: Path, corpus: Path | None = None) -> AttackCorpus | None:
    """The pages of `corpus` or, if none is given, those beside the attacks; None where there are none."""
    if corpus is not None:
        return AttackCorpus.open(corpus)
    beside = any((attacks.parent / pages).is_file() for _, pages in LAYOUTS.values())
    return AttackCorpus.open(attacks.parent) if beside else None


def serve(attacks: Path, decisions: Path, port: int, corpus: Path | None = None) -> int:
    """Serves until Ctrl-C, which loses nothing."""
    review = Review(attacks, decisions, pages_beside(attacks, corpus))
    with make_server(review, port) as server:
        print(
            f"http://127.0.0.1:{server.server_address[1]}/   {len(review.rows) - len(review.decided)} to decide; "
            f"Ctrl-C ends, {decisions} keeps what was decided",
            flush=True,
        )
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0
