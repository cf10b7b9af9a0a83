# Every target sets up what it needs in .venv, in the versions of constraints.txt. Nothing is installed
# again until one of the two files that say what to install changes.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
# Each worker takes neighbouring tests, which share fixtures, and the first to finish takes over from the last.
PARALLEL := -n $(WORKERS) --dist worksteal
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
INSTALLED := pyproject.toml constraints.txt
# Tests start many programs: without bytecode, each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-slow test-ray test-transformers check hooks bench docs docs-output \
        docs-picture constraints clean

help:                        ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/.base            ## set up, then try everything offline on the drawn pictures
	$(BIN)/lmmscore demo

test: .venv/.dev             ## set up, then run all tests but those marked slow
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

test-fast: .venv/.dev        ## only the unit tests: under a minute on two cores
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow" tests/unit

test-slow: .venv/.slow       ## the slow tests, from all folders: Ray, LaTeX, the built wheel, endurance
	$(BIN)/python -m pytest $(PARALLEL) -m slow tests --ignore tests/heavy

test-ray: .venv/.slow        ## only the tests against a real Ray of two nodes
	$(BIN)/python -m pytest tests/slow/test_ray.py

test-transformers: .venv/.dev ## by hand: the API judge against a real vision model (installs torch)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[transformers]'
	$(BIN)/python -m pytest tests/heavy

check: .venv/.dev            ## lint and type-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

hooks: .venv/.dev            ## from now on, check before each commit and test before each push
	$(BIN)/pre-commit install --hook-type pre-commit --hook-type pre-push

bench: .venv/.dev            ## measure, as ratios in one run
	$(BIN)/python -m benchmarks $(ONLY)

docs: .venv/.docs            ## build the documentation site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-output: .venv/.dev      ## rewrite what the documentation shows: references, drawings, printed output
	$(BIN)/python docs/scripts/generate.py
	$(BIN)/python docs/scripts/pictures.py
	$(BIN)/python docs/scripts/transcript.py
	$(BIN)/python docs/scripts/notebook.py
	$(BIN)/python docs/scripts/shown.py
	$(BIN)/python docs/scripts/decisions.py

docs-picture: .venv/.dev     ## photograph the pages for the documentation; needs chromium
	$(BIN)/python docs/scripts/screenshots.py

# In an environment of its own and without the old constraints; the comment at the head is kept.
constraints:                 ## pin the newest versions of everything the tests use
	$(PYTHON) -m venv --clear build/newest
	build/newest/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev,docs,keyring,notebook]'
	grep '^#' constraints.txt > build/constraints.txt
	build/newest/bin/python -m pip freeze --exclude-editable >> build/constraints.txt
	mv build/constraints.txt constraints.txt

clean:                       ## remove everything that can be made again
	rm -rf .venv build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.base: $(INSTALLED) | .venv/bin/python
	$(INSTALL) -e .
	@touch $@

.venv/.dev: $(INSTALLED) | .venv/bin/python
	$(INSTALL) -e '.[dev]'
	@touch $@ .venv/.base

.venv/.slow: $(INSTALLED) | .venv/bin/python
	$(INSTALL) -e '.[dev,ray]'
	@touch $@ .venv/.base

.venv/.docs: $(INSTALLED) | .venv/bin/python
	$(INSTALL) -e '.[docs]'
	@touch $@
