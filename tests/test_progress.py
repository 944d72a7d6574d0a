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
    assert one == "  1 of 4 claims"
    assert re.fullmatch(r"  3 of 4 claims  [\d,.]+/s  [\d,]+ s left", three)


def test_the_speed_is_that_after_the_first_items(capfd, monkeypatch):
    monkeypatch.setattr(time, "perf_counter", iter([0.0, 50.0, 55.0]).__next__)
    with counting(6, "claims") as advance:
        advance(2)
        advance(2)
    assert capfd.readouterr().err == "  2 of 6 claims\n  4 of 6 claims  0.4/s  5 s left\n"
