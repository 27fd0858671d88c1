# Two commands for a newcomer: `make run` does the main job on real data, `make test` proves it. Both set up all they need
# in .venv, and take seconds when nothing has changed.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
SOURCES := $(shell find segmax -name '*.pyx' -o -name '*.pxd' -o -name '*.tp' -o -name '*.h') setup.py pyproject.toml segmax/_dtypes.py

.PHONY: run test test-slow verify verify-gpu conformance lint wheel bench bench-compare bench-history instructions instructions-update clean

run: $(VENV)/demo
	$(PY) demo/flights.py

test: $(VENV)/test
	$(PY) -m pytest -m "not slow"

test-slow: $(VENV)/test
	$(PY) -m pytest -m slow

verify: $(VENV)/test
	$(PY) -m segmax.oracle --seconds 600 --json build/verify.json --report build/verify.html

# CuPy's own kernels and ours, run on the CPU under the checker of memory, races and warps: no GPU is needed.
verify-gpu: $(VENV)/gpu-check
	SEGMAX_HOSTCUDA=1 $(PY) -m pytest tests/test_hostcuda.py tests/test_gpu.py

conformance: $(VENV)/conformance
	$(PY) -m segmax.oracle.conformance --output docs/conformance.md

lint: $(VENV)/lint
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cython-lint segmax  # calls pycodestyle by its bare name
	$(VENV)/bin/clang-format --dry-run --Werror segmax/_kernels/*.h
	mkdir -p build/typed/segmax && ln -sfn $(CURDIR)/segmax/* $(CURDIR)/oracle $(CURDIR)/gpu build/typed/segmax  # as installed
	cd build/typed && ../../$(PY) -m mypy --config-file ../../pyproject.toml -p segmax
	cd $(VENV) && MYPYPATH=.. bin/python -m mypy.stubtest --mypy-config-file ../pyproject.toml --allowlist ../.stubtest-allow --ignore-unused-allowlist segmax

wheel: $(VENV)/test
	$(PY) -m build

bench: $(VENV)/bench
	$(PY) -m segmax.cli bench

# make bench-compare BASE=main [NEW=revision] [OPTIONS="--rounds 31 --only float16"]
bench-compare: $(VENV)/bench
	$(PY) benchmarks/compare.py $(or $(BASE),$(error give BASE=revision)) $(if $(NEW),--new $(NEW)) $(OPTIONS)

# make bench-history RANGE=main~5..main
bench-history: $(VENV)/bench
	cd benchmarks && ../$(PY) -m asv machine --yes
	cd benchmarks && ../$(PY) -m asv run --skip-existing-successful $(RANGE)
	cd benchmarks && ../$(PY) -m asv publish

instructions: $(VENV)/built
	$(PY) benchmarks/instructions.py

instructions-update: $(VENV)/built
	$(PY) benchmarks/instructions.py --update

# One stamp per set of packages; the build is repeated when a compiled source has changed.
$(VENV)/pip:
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade "pip>=25.1"
	touch $@

$(VENV)/built: $(VENV)/pip $(SOURCES)
	$(PY) -m pip install --quiet --editable .
	touch $@

$(VENV)/demo: $(VENV)/built pyproject.toml
	$(PY) -m pip install --quiet --group demo
	touch $@

$(VENV)/test: $(VENV)/built pyproject.toml
	$(PY) -m pip install --quiet --group demo --group test --group verify
	touch $@

$(VENV)/conformance: $(VENV)/test pyproject.toml
	$(PY) -m pip install --quiet --group conformance
	touch $@

$(VENV)/bench: $(VENV)/built pyproject.toml
	$(PY) -m pip install --quiet --group bench
	touch $@

$(VENV)/gpu-check: $(VENV)/test
	$(PY) -m pip install --quiet --editable ".[gpu-check]"
	touch $@

$(VENV)/lint: $(VENV)/built pyproject.toml
	$(PY) -m pip install --quiet --group lint
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info segmax/*.so segmax/_kernels/*.so
