# Every target sets up its own environment in .venv; only Python 3.11+ and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check fix bench wheel

demo: $(STAMP)  ## the main job on the bundled images
	$(BIN)/python run_eval.py demo

test: $(STAMP)  ## all tests
	$(BIN)/python -m pytest -q

check: $(STAMP)  ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: $(STAMP)  ## apply lint fixes and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## ratios of speed, measured in one run
	$(BIN)/python benchmarks/pgd_time.py

wheel: $(STAMP)  ## build the wheel, install it elsewhere, run that copy from another folder
	rm -rf build dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .
	$(BIN)/python -c "import sys; sys.version_info >= (3, 11) or sys.exit('Python 3.11 or newer is needed')"
	rm -rf build/installed
	$(BIN)/python -m pip install -q --no-deps --target build/installed dist/*.whl
	cd / && PYTHONPATH=$(CURDIR)/build/installed $(CURDIR)/$(BIN)/python -P $(CURDIR)/build/installed/bin/robustbench-twicing --version
	cd / && PYTHONPATH=$(CURDIR)/build/installed $(CURDIR)/$(BIN)/python -P $(CURDIR)/build/installed/bin/robustbench-twicing models deit_tiny

# cleverhans is a reference for tests and benchmarks only; its declared dependencies (TensorFlow
# and others) are not used by its torch attacks, so it is installed without them.
$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .[dev]
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps cleverhans==4.0.0
	touch $@
