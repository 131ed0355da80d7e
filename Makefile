# Everything there is to do with this repository. `make` alone prints what.

VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
UI := src/drumline/_ui/index.html
SITE := src/drumline/_docs/index.html.gz
ARGS ?=
MINUTES ?= 60
SEED ?= 1
FOLDER ?= build/chaos-$(SEED)
FILES ?=
# More than there are cores on a small machine: tests that kill or look at pages wait for most of their time.
JOBS ?= 4

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run dev test test-bare test-fast fuzz mutation check check-ui ui format bench bench-quick chaos docs reference audit simulate mutants image requirements clean services evidence

help:  ## Print this.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-13s %s\n' "$$name" "$$text"; done

run: $(VENV)/.installed-run $(UI) $(SITE)  ## Start Drumline on this machine: API, scheduler and worker on SQLite (ARGS="--port 9000").
	@exec $(BIN)/drumline dev $(ARGS)

dev: $(VENV)/.installed-run $(UI)  ## The same, started again whenever the sources change (ARGS="examples/hello.py").
	@exec $(BIN)/drumline dev --reload $(ARGS)

test: $(VENV)/.installed-test services $(UI) $(SITE)  ## Run every test, on every backend, with real services it installs and starts itself (JOBS=4 at once).
	$(PYTEST) --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-bare:  ## Run `make run` and `make test` from a fresh clone on a bare Debian (needs Docker, or root for debootstrap).
	@scripts/test-bare $(ARGS)

fuzz: MINUTES = 5
fuzz: $(VENV)/.installed-fuzz  ## Search for inputs that break a parser, for so many minutes (MINUTES=5 ARGS=test_a_cron).
	$(BIN)/python -m tests.fuzz.run --minutes $(MINUTES) $(ARGS)

mutation: $(VENV)/.installed-fuzz  ## Change src/drumline/core in small ways and count what its tests notice (FILES="cron.py ids.py", or all).
	$(BIN)/python -m scripts.mutation $(FILES)

test-fast: $(VENV)/.installed-test  ## Run what needs no service and kills no process.
	$(PYTEST) -m "not services and not faults" $(ARGS)

check: $(VENV)/.installed-check check-ui  ## Format, lint, types, import contracts, generated pages.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_docs.py --check
	$(BIN)/python -m tests.evidence.report --check

check-ui: $(UI)
	@if [ -d ui/node_modules ]; then cd ui && ../scripts/with-node sh -c "npm run --silent check && npm test --silent"; else echo "the web interface is not checked: it could not be built"; fi

ui: $(UI)  ## Build the web interface into the package.

format: $(VENV)/.installed-check  ## Format the sources and repair what the linter can.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

simulate: $(VENV)/.installed-test  ## Simulate the whole system with faults, seed by seed (SEEDS=0-999; ARGS="--shrink", "--trace DIR"); TLC compares the first 20 traces with the specification.
	$(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),0-999) --jobs $(or $(JOBS_AT_ONCE),2) --validate 20 $(ARGS)

mutants: $(VENV)/.installed-test  ## Say after how many simulated seeds each fault planted in the product is caught (ARGS="--only reap --most 100").
	$(BIN)/python -m tests.simulation.mutants.run $(ARGS)

bench: $(VENV)/.installed-test services  ## Measure Drumline and its peers on this machine.
	$(BIN)/python -m bench $(ARGS)

bench-quick: $(VENV)/.installed-test services  ## Measure Drumline in a few minutes.
	$(BIN)/python -m bench --quick $(ARGS)

chaos: $(VENV)/.installed-test services  ## Run an installation under faults for MINUTES=60, with SEED=1, and leave a report in FOLDER (ARGS="--resume").
	$(BIN)/python -m tests.chaos --minutes $(MINUTES) --seed $(SEED) --folder $(FOLDER) $(ARGS)

docs: reference  ## Build the documentation site, which the server serves at /docs/ (build/docs/site is a copy to publish).
	@scripts/build-docs --required

reference: $(VENV)/.installed-run  ## Write the generated reference pages anew.
	$(BIN)/python scripts/generate_docs.py

evidence: $(VENV)/.installed-run  ## Write docs/evidence.md from the results in evidence/.
	$(BIN)/python -m tests.evidence.report

audit: $(VENV)/.installed-check  ## Look for known holes in what the locked dependencies bring (asks the network; what cannot be asked fails).
	$(BIN)/uv tool run pip-audit@2.9.0 --strict --disable-pip --require-hashes --requirement requirements/check.txt

image:  ## Build the container image drumline:dev (needs Docker).
	docker build --tag drumline:dev .

requirements: $(VENV)/.installed-check  ## Lock the dependencies again, to their newest releases.
	scripts/lock $(VENV) --upgrade

clean:  ## Remove what the other targets made, except the data of `make run`.
	rm -rf $(VENV) build dist ui/node_modules src/drumline/_ui src/drumline/_docs .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .schemathesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: specs
specs: $(VENV)/.installed-test services  ## Check the TLA+ specifications within large bounds: some minutes (ARGS="Lease").
	$(BIN)/python -m tests.evidence.tlc --large $(ARGS)

# What scripts/programs.toml names. Where that may not be done, nothing fails: tests skip with what to install.
services: | $(BIN)/python
	@$(BIN)/python -m scripts.install_programs

# Where no Node.js can be had, the page is not made: the server says so at /ui/, and the tests of the interface skip.
$(UI): ui/package-lock.json ui/index.html ui/vite.config.ts requirements/node.txt $(shell find ui/src ui/public -type f 2>/dev/null)
	@scripts/build-ui

# Where its packages cannot be had, it is not made: the server says so at /docs/, and the tests of the site skip.
$(SITE): mkdocs.yml requirements/docs.txt src/drumline/_version.py $(wildcard scripts/build-docs scripts/*docs*.py scripts/llms_pages.py *.md) $(shell find docs -type f)
	@scripts/build-docs

$(BIN)/python:
	@$$(scripts/find-python) -m venv $(VENV)

$(VENV)/.installed-%: requirements/%.txt requirements/uv.txt pyproject.toml scripts/install | $(BIN)/python
	@scripts/install $(VENV) $*
	@touch $@
