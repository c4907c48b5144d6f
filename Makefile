# InferPrice. `make` alone lists what there is; `make run` and `make test` are the two to know.
# Needs Python 3.11 or newer and a way to the package registries. Node, PostgreSQL and Chromium are optional.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Each of these is touched when what it stands for is done, so a second run starts at once.
DEPS := $(VENV)/deps.stamp
TEST_DEPS := $(VENV)/test-deps.stamp
INSTALLED := $(VENV)/installed.stamp
VENDOR := static/vendor/manifest.json
# One test file, folder or name: make test T=tests/store/test_publish.py
T ?= tests
# All of them run on all cores, a file on one; make test WORKERS= runs them in one process.
WORKERS ?= $(if $(filter tests,$(T)),--numprocesses auto --maxprocesses 8 --dist loadfile)

.DEFAULT_GOAL := help
.PHONY: help run test check fmt bench lock clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(INSTALLED) ## Install what is missing and serve the dashboard on this machine
	$(BIN)/inferprice serve

test: $(INSTALLED) $(TEST_DEPS) ## Run the tests, on SQLite and on a real PostgreSQL; T=path runs one
	$(BIN)/python -m pytest $(WORKERS) $(T)

check: $(INSTALLED) $(TEST_DEPS) ## Lint, format, types, import rules, and migrations against the tables
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.databases sh -c '$(BIN)/inferprice migrate && $(BIN)/inferprice migrate --check'

fmt: $(TEST_DEPS) ## Format the code and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED) $(TEST_DEPS) ## Measure the speed ratios side by side and print them
	$(BIN)/python -m benchmarks

# The lock files name no index: uv is told this machine's own at run time, and leaves it out of what it writes.
LOCK = env UV_CUSTOM_COMPILE_COMMAND="make lock" UV_DEFAULT_INDEX="$$($(PIP) config get global.index-url 2>/dev/null)" \
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links $(UPGRADE)

lock: $(DEPS) ## Pin every dependency again; UPGRADE=--upgrade moves to the newest versions
	$(PIP) install --quiet 'uv>=0.13,<1'
	$(LOCK) pyproject.toml --output-file requirements.txt
	$(LOCK) pyproject.toml --extra test --constraint requirements.txt --output-file requirements-test.txt
	@command -v npm >/dev/null || { echo "package-lock.json is as it was: there is no npm here to lock with" >&2; exit 1; }
	npm install --package-lock-only --ignore-scripts

clean: ## Remove what these commands made, except the database
	rm -rf $(VENV) .venv-bench static/vendor tests/vendor build dist .mypy_cache .ruff_cache .pytest_cache

# ---------------------------------------------------------------- the environment

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "InferPrice needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12 run" >&2; \
		exit 1; }
	$(PYTHON) -m venv $(VENV)

$(DEPS): requirements.txt | $(BIN)/pip
	$(PIP) install --quiet --require-hashes -r requirements.txt
	@touch $@

$(TEST_DEPS): requirements-test.txt $(DEPS)
	$(PIP) install --quiet --require-hashes -r requirements-test.txt
	@touch $@

# An editable install: the code runs from here. Its build also fetches the browser files from npm.
$(INSTALLED): $(DEPS) $(VENDOR) pyproject.toml package-lock.json hatch_build.py
	$(PIP) install --quiet --no-deps -e .
	@touch $@

$(VENDOR):
