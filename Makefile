# Each target sets up what it needs; PYTHON names another interpreter (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NPM_AGENTS := .agents

.PHONY: demo test check lint test-agents test-agents-more aider bench bench-usage coverage schemas clean
.DEFAULT_GOAL := check

$(VENV)/.run: requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.txt
	echo "$(CURDIR)/src" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ralphloop.pth"
	printf '#!/bin/sh\nexec "%s" -I -c "import sys; from ralphloop.cli.main import main; sys.exit(main())" "$$@"\n' "$(CURDIR)/$(BIN)/python" > $(BIN)/ralph && chmod +x $(BIN)/ralph
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.txt
	touch $@

demo: $(VENV)/.run
	@$(BIN)/python -m ralphloop demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2

check: lint test

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=src:agents_real $(BIN)/mypy agents_real
	$(BIN)/lint-imports

# exactly the version of package.json; a lock file would hold the addresses of a registry
$(NPM_AGENTS)/.installed: agents_real/package.json
	mkdir -p $(NPM_AGENTS)
	cp agents_real/package.json $(NPM_AGENTS)/package.json
	npm install --prefix $(NPM_AGENTS) --no-package-lock --no-audit --no-fund --loglevel=error
	touch $@

# large: given up after AIDER_SECONDS, and its tests are left out then
AIDER_SECONDS ?= 90
$(NPM_AGENTS)/aider/.installed: agents_real/aider.txt
	mkdir -p $(NPM_AGENTS)
	rm -rf $(NPM_AGENTS)/aider
	$(PYTHON) -m venv $(NPM_AGENTS)/aider
	timeout $(AIDER_SECONDS) $(NPM_AGENTS)/aider/bin/pip install -q --disable-pip-version-check -r agents_real/aider.txt || { rm -rf $(NPM_AGENTS)/aider; exit 1; }
	touch $@

aider: $(NPM_AGENTS)/aider/.installed

test-agents-more: aider test-agents

test-agents: $(VENV)/.dev $(NPM_AGENTS)/.installed
	$(BIN)/python -m pytest agents_real

bench: $(VENV)/.dev
	$(BIN)/python bench/run.py; status=$$?; $(BIN)/python bench/usage.py && exit $$status

# npm fetches what it is compared with
bench-usage: $(VENV)/.dev
	$(BIN)/python bench/usage.py

schemas: $(VENV)/.run
	$(BIN)/python tools/schemas.py
	$(BIN)/python tools/reference.py

coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --cov --cov-report= || $(BIN)/python -m pytest --last-failed --cov --cov-append --cov-report=
	$(BIN)/coverage report --include='*/core/*,*/engine/*,*/host/*' --fail-under=90

clean:
	rm -rf $(VENV) $(NPM_AGENTS) .bench .pytest_cache .mypy_cache .ruff_cache
