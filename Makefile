# make demo [DATA=folder] [OUT=folder]   LisT5 from claims to verdicts, with a report
# make test                              the tests; those of the page in a browser where one is found
# make test-slow                         the few that take long
# make test-browser                      those in a browser; installs Chromium where there is none
# make peers                             what tests and benchmarks need: torch's T5, the TPU compiler, clusters' clients, buckets
# make beam                              Apache Beam too, for `lisax cache`
PYTHON ?= python3
OUT ?= out
VENV = .venv
STAMP = $(VENV)/.installed

.PHONY: demo test test-slow test-browser peers beam venv clean

demo: $(STAMP)
	$(VENV)/bin/lisax demo --out $(OUT) $(if $(DATA),--data $(DATA))

test: $(STAMP)
	$(VENV)/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile -rs -m "not slow"

test-slow: $(STAMP)
	$(VENV)/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile -rs -m slow

test-browser: $(STAMP)
	command -v chromium chromium-browser google-chrome > /dev/null || $(VENV)/bin/playwright install --with-deps chromium
	$(VENV)/bin/python -m pytest tests/serve/test_browser.py -rs

peers: $(STAMP)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-cache-dir -r requirements-peers.txt

beam: $(STAMP)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps -r requirements-beam.txt

venv: $(STAMP)

$(STAMP): requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info[:2] in ((3, 11), (3, 12)) else "LisaX needs Python 3.11 or 3.12; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-cache-dir -r requirements.txt
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps -e .
	touch $(STAMP)

clean:
	rm -rf $(VENV) out build *.egg-info
