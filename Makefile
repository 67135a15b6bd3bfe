# The front door. Each target gets ready what it needs (tools/setup.sh) and says what it does.
# Pass options on with ARGS:   make test ARGS="-k lock"

PY      := .venv/bin/python
ZKKIT   := .venv/bin/zkkit
NEEDS   := not browser
ROUNDS  := 50
STORM   := 300
SLOWEST := --durations=10 --durations-min=1
ARGS    :=

.DEFAULT_GOAL := help
.PHONY: help demo load test test-all pythons soak chaos bench bench-locks bench-recipes bench-connection lint clean setup setup-python setup-interop notebooks lab

help: ## show this list
	@echo "zkkit: teach, measure and trust coordination on ZooKeeper"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

demo: setup ## three real servers, two designs of a lock, one picture of what each costs
	@$(ZKKIT) demo $(ARGS)

load: setup ## one minute of load on a lock, herd against sequential, with locust
	@$(PY) -m loadtests $(ARGS)

test: setup ## the tests, without the slow ones; those of containers and of Java where it can be
	@$(PY) -m pytest -m "not slow and $(NEEDS)" $(SLOWEST) $(ARGS)

test-all: setup-interop ## all tests, as CI runs them; as root on Debian it gets what they need
	@tools/docker-engine.sh run $(PY) -m pytest -m "$(NEEDS)" $(SLOWEST) $(ARGS)

pythons: setup ## the fast part of the tests under every other Python that is found here
	@tools/pythons.sh $(ARGS)

soak: setup ## the concurrent tests 50 times; ROUNDS=200 for more
	@tools/soak.sh $(ROUNDS) $(ARGS)

chaos: setup ## the recipes in a storm of faults, five minutes; STORM=1800 for half an hour
	@$(ZKKIT) chaos --seconds $(STORM) $(ARGS)

bench: setup ## what recording costs: zkkit bench recorder
	@$(ZKKIT) bench recorder $(ARGS)

bench-locks: setup-interop ## how fast: zkkit, kazoo and Java Curator in turn; seven minutes
	@$(ZKKIT) bench locks $(ARGS)

bench-recipes: setup-interop ## the same for elections, counters, barriers and caches; three minutes
	@$(ZKKIT) bench recipes $(ARGS)

bench-connection: setup ## zkkit's connection beside kazoo's own, and what idle sessions take; four minutes
	@$(ZKKIT) bench connection $(ARGS)

notebooks: setup ## build and execute the notebooks from their sources
	@$(PY) tools/build_notebooks.py $(ARGS)

lab: setup ## JupyterLab on the notebooks, with three servers of its own
	@$(PY) -c "import jupyterlab" 2>/dev/null || { \
		echo "Installing JupyterLab into .venv (the first time; a minute or two) ..."; \
		$(PY) -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[lab]'; }
	@$(PY) tools/lab.py $(ARGS)

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

setup-interop:
	@tools/setup.sh interop
