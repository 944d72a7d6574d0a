"""When a run is to end before its last step: SIGTERM, Ctrl-C, or the maintenance notice of a machine of Google's.

A notice becomes SIGTERM to this process, and so does Ctrl-C to one of several processes: JAX passes SIGTERM to any
process on to all of them (`hosts.asked_to_stop`)."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

from lisax.devices import hosts

TERMINATED = 128 + signal.SIGTERM  # the exit status of a run that SIGTERM stopped: the next command must not begin
POLL_SECONDS, ANSWER_SECONDS = 5, 5
# A machine that is moved to another host while it runs reports MIGRATE_ON_HOST_MAINTENANCE, and training continues
# there.
ENDS = "TERMINATE_ON_HOST_MAINTENANCE"
PRODUCT = Path("/sys/class/dmi/id/product_name")  # the kind of machine, from its firmware


class Stopped(BaseException):
    """Ends training, or an evaluation in the middle, where all processes agreed to stop."""


class Stopper:
    """While it is open, SIGTERM and the first SIGINT only set `asked`, and `check` raises `Stopped` from then on.

    Outside the main thread Python delivers no signals, and nothing is installed. Of several processes, JAX hears
    SIGTERM for all."""

    def __init__(self):
        self.asked: signal.Signals | None = None
        self._before: dict[int, Any] = {}
        self._at_once = False
        self._closed = threading.Event()

    def __enter__(self) -> Stopper:
        several = jax.process_count() > 1
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT,) if several else (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._ask)
        if (several or self._before) and (host := metadata_host()):
            threading.Thread(target=self._listen, args=(host,), name="lisax-notices", daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._closed.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raises `Stopped` where the run is to stop here. Every process must ask equally often: then all of them stop
        at the same question."""
        if jax.process_count() > 1 and hosts.asked_to_stop():
            self.asked = self.asked or signal.SIGTERM
            raise Stopped
        if jax.process_count() == 1 and self.asked is not None:
            raise Stopped

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """A context for work that cannot `check`: in it, a signal to the one process of a run raises `Stopped` at once.
        Several processes finish it."""
        self.check()
        self._at_once = jax.process_count() == 1
        try:
            yield
        finally:
            self._at_once = False

    def _ask(self, number: int, _frame: Any) -> None:
        self.asked = signal.Signals(number)
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if jax.process_count() > 1:
            os.kill(os.getpid(), signal.SIGTERM)
        elif self._at_once:
            raise Stopped

    def _listen(self, host: str) -> None:
        """A run that begins between the notice of a maintenance and its beginning trains until the machine sends
        SIGTERM: that may be an hour, and a supervisor that restarts runs would start it in vain all the while."""
        known = _told(host, "maintenance-event")
        while not self._closed.is_set():
            event, preempted = _told(host, "maintenance-event"), _told(host, "preempted") == "TRUE"
            if (preempted or (event == ENDS and known != ENDS)) and not self._closed.is_set():
                sys.stderr.write(f"lisax: this machine will be gone soon ({'preempted' if preempted else event})\n")
                os.kill(os.getpid(), signal.SIGTERM)
                return
            known = event or known
            self._closed.wait(POLL_SECONDS)


def metadata_host() -> str | None:
    """The address of a Google machine's metadata server; None on others, which are not queried.

    GCE_METADATA_HOST replaces it, as in Google's own libraries."""
    if host := os.environ.get("GCE_METADATA_HOST"):
        return host
    with contextlib.suppress(OSError):
        if PRODUCT.read_text().startswith("Google"):
            return "metadata.google.internal"
    return None


def _told(host: str, name: str) -> str | None:
    """A value of this machine's metadata; None if there is no answer."""
    request = urllib.request.Request(
        f"http://{host}/computeMetadata/v1/instance/{name}", headers={"Metadata-Flavor": "Google"}
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
        with direct.open(request, timeout=ANSWER_SECONDS) as answer:
            return answer.read(100).decode().strip()
    return None
