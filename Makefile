.DEFAULT_GOAL := check
PYTHON ?= python3
BIN := .venv/bin/
# uv does not read pip's variables; a machine that keeps wheels of its own says so to pip.
UV := UV_FIND_LINKS="$(PIP_FIND_LINKS)" $(BIN)uv pip install --quiet --python $(BIN)python
# A worker more than there are cores, since many tests wait for a process; each with one thread: torch's own would fight over the
# cores. A worker that is done takes half of what another has left, so that most files, whose tests share runs, stay together.
SPREAD := --numprocesses $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1))) --dist worksteal
test check-all check-pythons: export OMP_NUM_THREADS ?= 1
test: export HYPOTHESIS_PROFILE ?= sample
# Tests start hundreds of processes, each of which would compile the package again.
export PYTHONDONTWRITEBYTECODE :=

demo: .venv/train  ## train a tiny chat model on this machine, with nothing but Python at hand
	$(BIN)holdfast run examples/quickstart.yaml

check: .venv/dev  ## everything CI runs
	$(MAKE) --jobs 2 --output-sync lint mypy floors
	$(MAKE) test

check-all: .venv/mutation  ## the long suites too
	$(MAKE) --jobs 2 --output-sync lint types floors
	$(BIN)pytest -m "" $(SPREAD) $(ARGS)

check-pythons: .venv/dev  ## all but training, on every other Python at hand
	for version in 3.12 3.13; do \
	    $(BIN)uv venv --quiet --clear --no-python-downloads --python $$version .venv/python-$$version || continue; \
	    $(subst $(BIN)python,.venv/python-$$version/bin/python,$(UV)) --constraint constraints.txt --editable ".[dev]" && \
	    .venv/python-$$version/bin/python -m pytest -m "not train and not long" $(SPREAD) $(ARGS) || exit 1; \
	done

fix: .venv/dev
	$(BIN)ruff check --fix . && $(BIN)ruff format .

lint: .venv/dev
	$(BIN)ruff check . && $(BIN)ruff format --check .

types: mypy pyright

mypy: .venv/dev
	$(BIN)mypy

pyright: .venv/dev
	$(BIN)pyright --pythonpath $(BIN)python

floors: .venv/dev
	$(BIN)lint-imports

test: .venv/dev
	$(BIN)pytest -m "not long" $(SPREAD) $(ARGS)

mutation: .venv/mutation  ## how many small faults in the core the tests notice
	$(BIN)python -m benchmarks.mutation $(ARGS)

docs: .venv/dev  ## pages made from code
	$(BIN)python -m tools.rule_pages && $(BIN)python -m tools.contract_page && $(BIN)python -m tools.job_schema && $(BIN)python -m tools.memory_picture && $(BIN)python -m tools.console_examples

.venv/uv: constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)python -m pip install --quiet --constraint constraints.txt uv
	touch $@

.venv/train: .venv/uv pyproject.toml
	$(UV) --constraint constraints.txt --editable ".[train,evaluate]"
	touch $@

.venv/dev: .venv/train
	$(UV) --constraint constraints.txt --editable ".[train,dev]"
	touch $@

.venv/mutation: .venv/dev
	$(UV) --constraint constraints.txt --editable ".[train,dev,mutation]"
	touch $@

.PHONY: demo check check-all check-pythons fix lint types mypy pyright floors test mutation docs
