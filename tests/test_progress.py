"""What a command says while it works."""

import re

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
    assert re.fullmatch(r"  1 of 4 claims  [\d,]+/s  [\d,]+ s left", one)
    assert three.startswith("  3 of 4 claims")
