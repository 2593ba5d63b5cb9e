# make demo and make test do all the set-up they need on a fresh machine; a second call is instant.
#
#   make demo PYTHON=/path/to/python3.12     choose the interpreter (3.11 or newer)
#   make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu
#                                            Linux without an NVIDIA GPU: a torch of 0.2 GB, not 3 GB

SHELL := /bin/sh
PYTHON ?=
TORCH_INDEX ?=
PYTEST_ARGS ?=

IN_VENV := .venv/bin/python
# The stamp's name holds what was installed and where, so that an edit of either file, or a moved
# checkout, installs again, and a fresh `git checkout` of the same files does not.
KEY := $(shell { cat pyproject.toml constraints.txt; pwd; } | cksum | tr -s ' \t' _)
READY := .venv/.ready-$(KEY)

.PHONY: help setup demo test test-all test-slow check format docs wheel wheels wasm clean

help:
	@echo "make demo        set up, train a small translator in minutes, and try it"
	@echo "make test        set up and run the tests of every module, in minutes"
	@echo "make test-all    also the thorough ones, as continuous integration does"
	@echo "make test-slow   run the tests that take longer still"
	@echo "make check       formatting, lint, types, direction of imports"
	@echo "make format      correct the formatting"
	@echo "make docs        build the site of the docs in site/"
	@echo "make wheel       build a wheel with the native engine inside, in dist/"
	@echo "make wheels      build the wheels of all platforms, in dist/"
	@echo "make wasm        compile the engine for pages, in dist/"
	@echo "make setup       only set up"
	@echo "make clean       remove .venv and the caches"

setup: $(READY)
	@echo "Ready: .venv/bin/dragoman"

demo: $(READY)
	@.venv/bin/dragoman demo

# Two workers with a thread each, so that they do not compete for the cores. PYTEST_ARGS="-n 8" has more.
TEST = OMP_NUM_THREADS=1 $(IN_VENV) -m pytest -q -n 2 --dist worksteal

test: $(READY)
	@$(TEST) -m "not slow and not thorough" $(PYTEST_ARGS)

test-all: $(READY)
	@$(TEST) $(PYTEST_ARGS)

test-slow: $(READY)
	@$(IN_VENV) -m pytest -q -m slow $(PYTEST_ARGS)

check: $(READY)
	@$(IN_VENV) -m ruff format --check --quiet . || { echo "hint: make format"; exit 1; }
	@$(IN_VENV) -m ruff check --quiet .
	@$(IN_VENV) -m mypy
	@$(IN_VENV) -m pytest -q tests/test_imports.py

format: $(READY)
	@$(IN_VENV) -m ruff check --fix --quiet . ; $(IN_VENV) -m ruff format --quiet .

# Everything the pages load is local, so the site opens from its folder without a network.
docs: $(READY)
	@$(IN_VENV) -m mkdocs build --strict --quiet
	@echo "Open site/index.html"

# Without a C++ compiler the wheel has no engine inside, and its name ends in py3-none-any.
wheel: $(READY)
	@rm -f dist/dragoman-*.whl
	@$(IN_VENV) -m hatchling build -t wheel -d dist
	@if ls dist/dragoman-*-any.whl >/dev/null 2>&1; then \
	  echo "error: no native engine inside" >&2; \
	  echo "hint: install g++ or clang++, or name a compiler: make wheel CXX=/path/to/g++" >&2; \
	  exit 1; \
	fi

# One after the other: each uses all cores.
wheels: $(READY)
	@rm -f dist/dragoman-*.whl
	@set -e; for tag in $$($(IN_VENV) -c 'from hatch_build import TARGETS; print(*TARGETS)'); do \
	  DRAGOMAN_WHEEL=$$tag $(IN_VENV) -m hatchling build -t wheel -d dist; \
	done

wasm: $(READY)
	@mkdir -p dist
	@$(IN_VENV) -c 'import shutil; from dragoman.translation.native.web.wasm import MODULE, engine_wasm; \
	  shutil.copy(engine_wasm(), "dist/engine.wasm"); shutil.copy(MODULE, "dist")'
	@ls -l dist/engine.wasm dist/engine.js

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache dist build site

# An interpreter that can make a virtual environment; a name on PATH may be an empty shim, so each
# candidate is run. A .venv whose set-up was cut short is used again.
$(READY): pyproject.toml constraints.txt
	@set -eu; \
	if ! { .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' && \
	       .venv/bin/python -m pip --version; } >/dev/null 2>&1; then \
	  found=; \
	  for python in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11 python3.14 python); do \
	    if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	    then found=$$python; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "error: $(or $(PYTHON),Python 3.11 or newer): not found, too old, or without venv and pip" >&2; \
	    echo "hint: install Python 3.11+ (Debian, Ubuntu: apt install python3-venv; macOS: brew install python)," >&2; \
	    echo "      or name one: make setup PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	  fi; \
	  echo "Making a virtual environment in .venv ($$("$$found" --version))" >&2; \
	  "$$found" -m venv --clear .venv; \
	fi; \
	echo "Installing dragoman and its dependencies into .venv (minutes the first time)" >&2; \
	if [ "$$(uname -s)" = Linux ] && [ -z "$(TORCH_INDEX)" ] && [ ! -e /dev/nvidiactl ] \
	   && ! .venv/bin/python -m pip show --quiet torch 2>/dev/null; then \
	  echo "No NVIDIA GPU seen: if torch comes as a large download, stop and see the top of the Makefile" >&2; \
	fi; \
	.venv/bin/python -m pip install -qq --no-input --disable-pip-version-check \
	  $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)") -c constraints.txt -e '.[dev]'; \
	rm -f .venv/.ready-*; \
	touch $@
