# make demo [DATA=folder] [OUT=folder]   the shipped checker, then LisT5 from claims to verdicts, with a report
# make test                              the tests; those of the page in a browser where one is found
# make minilm                            the encoder of the shipped checker (91 MB); demo and test do it first
# make lint                              what CI asks of the code: ruff, and which room imports which
# make docs                              the documentation as a site, in site/; a warning is an error
# make test-slow                         the few that take long
# make test-skipped                      what the last run skipped: after `make peers beam`, or with a browser installed
# make test-browser                      those in a browser; as root it installs Chromium where there is none
# make peers                             what tests and benchmarks need: torch's T5, the TPU compiler, clusters' clients, buckets
# make beam                              Apache Beam too, for `lisax cache`
PYTHON ?= python3
OUT ?= out
VENV = .venv
STAMP = $(VENV)/.installed

.PHONY: demo test test-skipped minilm lint docs test-slow test-browser peers beam venv clean

demo: minilm
	$(VENV)/bin/lisax demo --out $(OUT) $(if $(DATA),--data $(DATA))

test: minilm
	$(VENV)/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile -rs -m "not slow"

# Without it everything else works, and says what is missing.
minilm: $(STAMP)
	-$(VENV)/bin/lisax models get minilm

lint: $(STAMP)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/lint-imports --no-cache

docs: $(STAMP)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile -r requirements-docs.txt
	$(VENV)/bin/python -m sphinx --fresh-env --fail-on-warning --keep-going --quiet --conf-dir docs . site

test-skipped: $(STAMP)
	$(VENV)/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile -rs -m "not slow" @.pytest_cache/skipped

test-slow: $(STAMP)
	$(VENV)/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile -rs -m slow

test-browser: $(STAMP)
	.ci/browser
	$(VENV)/bin/python -m pytest tests/serve/test_browser.py tests/serve/test_looks.py -rs

peers: $(STAMP)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile -r requirements-peers.txt

beam: $(STAMP)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile --no-deps -r requirements-beam.txt

venv: $(STAMP)

$(STAMP): requirements.txt pyproject.toml
	$(PYTHON) -I -c 'import sys; sys.exit(None if sys.version_info[:2] >= (3, 11) else "LisaX needs Python 3.11 or later; name one with make PYTHON=...")'
	$(PYTHON) -I -m venv $(VENV)
	@echo "installs the packages of requirements.txt into $(VENV): a line each as it is fetched, some minutes in all"
	$(VENV)/bin/pip install --progress-bar off --disable-pip-version-check --no-cache-dir --no-compile -r requirements.txt
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile --no-deps -e .
	touch $(STAMP)

clean:
	rm -rf $(VENV) out build site *.egg-info
