# The front door. Each target gets ready what it needs (tools/setup.sh) and says what it does.
# Pass options on with ARGS:   make test ARGS="-k lock"

PY     := .venv/bin/python
ZKKIT  := .venv/bin/zkkit
NEEDS  := not docker and not browser and not interop
ROUNDS := 50
ARGS   :=

.DEFAULT_GOAL := help
.PHONY: help demo load test test-all soak bench lint clean setup setup-python

help: ## show this list
	@echo "zkkit: teach, measure and trust coordination on ZooKeeper"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

demo: setup ## three real servers, two designs of a lock, one picture of what each costs
	@$(ZKKIT) demo $(ARGS)

load: setup ## one minute of load on a lock, herd against sequential, with locust
	@$(PY) -c 'import importlib.util as u, sys; sys.exit(u.find_spec("locust") is None)' || \
		$(PY) -m pip install --quiet --constraint constraints.txt --editable '.[load]'
	@$(PY) -m loadtests $(ARGS)

test: setup ## the tests, without the slow ones
	@$(PY) -m pytest -m "not slow and $(NEEDS)" $(ARGS)

test-all: setup ## the tests, with the slow ones
	@$(PY) -m pytest -m "$(NEEDS)" $(ARGS)

soak: setup ## the concurrent tests 50 times; ROUNDS=200 for more
	@tools/soak.sh $(ROUNDS) $(ARGS)

bench: setup ## what recording costs: zkkit bench recorder
	@$(ZKKIT) bench recorder $(ARGS)

lint: setup-python ## style, types, and the plan of the house
	@echo "ruff check"    && $(PY) -m ruff check .
	@echo "ruff format"   && $(PY) -m ruff format --check .
	@echo "mypy"          && $(PY) -m mypy
	@echo "import-linter" && .venv/bin/lint-imports

clean: ## remove .venv, results, builds and caches; say what else was installed
	@tools/setup.sh clean

setup:
	@tools/setup.sh

setup-python:
	@tools/setup.sh python
