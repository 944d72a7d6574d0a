"""What a command says while it works."""

import re
import time

from lisax.progress import counting, say


def test_progress_is_counted_on_standard_error(capfd):
    say("begun")
    with counting(4, "claims", every_seconds=0) as advance:
        advance(1)
        advance(2)
    with counting(4, "claims", every_seconds=1e9) as advance:
        advance(4)
    out, err = capfd.readouterr()
    first, one, three = err.splitlines()
    assert not out and first == "begun"
    assert re.fullmatch(r"  1 of 4 claims  [\d,.]+/s  [\d,]+ s left", one)
    assert three.startswith("  3 of 4 claims")


def test_slow_work_has_a_speed(capfd, monkeypatch):
    monkeypatch.setattr(time, "perf_counter", iter([0.0, 5.0]).__next__)
    with counting(4, "claims") as advance:
        advance(2)
    assert capfd.readouterr().err == "  2 of 4 claims  0.4/s  5 s left\n"
