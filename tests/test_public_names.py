"""`import lisax`: what it gives, and what it costs."""

import json
import subprocess
import sys

import lisax

ALL = """
Answer Answerer Checker Claim DataError Document Evidence Graph Index Label LisaxError Ranker Sentence Table Verbalizer
Verdict Verifier __version__ example_model example_pages load
""".split()


def test_the_public_names_are_these():
    assert lisax.__all__ == ALL and dir(lisax) == ALL
    for name in ALL:
        value = getattr(lisax, name)
        assert name == "__version__" or value.__doc__, name
    assert not hasattr(lisax, "Indexes")


def test_importing_it_imports_nothing_else():
    code = """
import json, sys, time
before, started = set(sys.modules), time.process_time()
import lisax
seconds = time.process_time() - started
print(json.dumps([seconds, sorted(name for name in set(sys.modules) - before if not name.startswith("importlib"))]))
"""
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(3)]
    assert all(run.returncode == 0 for run in runs), runs[0].stderr
    seconds, modules = zip(*(json.loads(run.stdout) for run in runs))
    assert min(seconds) < 0.05
    packages = {name.partition(".")[0] for name in modules[0]}
    assert packages <= {"lisax", *sys.stdlib_module_names}
    assert [name for name in modules[0] if name.startswith("lisax")] == ["lisax"]
