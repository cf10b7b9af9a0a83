# Every target sets up what it needs in .venv; nothing is installed anew until pyproject.toml changes.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-transformers check bench docs docs-output docs-picture clean

demo: .venv/.base            ## set up, then try everything offline on the drawn pictures
	$(BIN)/lmmscore demo

test: .venv/.dev             ## set up, then run the tests
	$(BIN)/python -m pytest -n 2

test-transformers: .venv/.dev ## by hand: the API judge against a real server that looks at images (installs torch)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[transformers]'
	$(BIN)/python -m pytest tests/heavy

check: .venv/.dev            ## lint and type-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.dev            ## measure, as ratios in one run
	$(BIN)/python -m benchmarks $(ONLY)

docs: .venv/.docs            ## build the documentation site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-output: .venv/.dev      ## write anew what the documentation shows: references, drawings, printed output
	$(BIN)/python docs/scripts/generate.py
	$(BIN)/python docs/scripts/pictures.py
	$(BIN)/python docs/scripts/transcript.py
	$(BIN)/python docs/scripts/notebook.py
	$(BIN)/python docs/scripts/shown.py

docs-picture: .venv/.dev     ## photograph the report for the README; needs chromium
	$(BIN)/python docs/scripts/screenshot.py

clean:                       ## remove everything that can be made again
	rm -rf .venv build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.base: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/.dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ .venv/.base

.venv/.docs: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@
