# Every target sets up its own environment in .venv; only Python 3.11+ and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CACHES := $(VENV)/.caches
PEERS := $(VENV)/.peers
COPY := $(CURDIR)/build/installed
INSTALLED := PYTHONPATH=$(COPY) $(CURDIR)/$(BIN)/python -P $(COPY)/bin/robustbench-twicing

FASHION_MNIST ?= /usr/share/datasets/fashion-mnist

.PHONY: demo test quick quick-tests types fuzz fault golden autoattack check fix bench same wheel zoo zoo-seeds cut

demo: $(STAMP)  ## the main job on the bundled images
	$(BIN)/python run_eval.py demo

# Workers of pytest-xdist take tests from each other; files with slow tests come first (conftest.py).
# An empty PYTHONDONTWRITEBYTECODE is an unset one: rewriting the asserts of all test files takes
# every worker about 15 seconds wherever what it makes may not be kept.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q
PARALLEL := -n auto --dist worksteal

test: $(STAMP)  ## all tests
	$(PYTEST) $(PARALLEL)

quick: $(CACHES)  ## what check does, and the tests that are fast, in less than a minute
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target types quick-tests

types: $(STAMP)  ## types alone
	$(BIN)/mypy

quick-tests: $(STAMP)  ## the tests that are fast
	$(PYTEST) $(PARALLEL) -m "not slow" --ignore=tests/faults --ignore=tests/fuzzing

fuzz: $(STAMP)  ## 1,000 damaged files of each kind, where the tests read 16
	FUZZ=1000 $(BIN)/python -m pytest -q tests/fuzzing

check: $(STAMP)  ## lint, format, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

fix: $(STAMP)  ## apply lint fixes and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(PEERS)  ## speed against other libraries, as docs/benchmarks.md; DEIT=FILE PHOTOS=DIR: real ones
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks --out docs/benchmarks.md

same: $(STAMP)  ## the same numbers as an earlier commit, bit for bit; DEIT=FILE PHOTOS=DIR: real ones, too
	$(BIN)/python -m benchmarks.same $(if $(DEIT),--checkpoint $(DEIT)) $(if $(PHOTOS),--photos $(PHOTOS))

autoattack: $(STAMP)  ## a bundled model under AutoAttack, and its authors' code called directly
	AUTOATTACK=100 $(BIN)/python -m pytest -q tests/attacks/libraries/test_from_pyautoattack.py -k bundled

golden: $(STAMP)  ## what others worked out on real photographs: all of it, where the tests take a few
	GOLDEN=20 $(BIN)/python -m pytest -q -m golden

fault: $(STAMP)  ## kill an evaluation 40 times, a worker of torchrun, fail its system calls, fill a disk, damage parts
	FAULT_KILLS=40 $(BIN)/python -m pytest -q tests/faults

zoo: $(STAMP)  ## train the bundled models again, from the files in FASHION_MNIST; logs in runs/zoo
	mkdir -p runs/zoo
	$(BIN)/python -m robustbench_twicing.training.zoo $(FASHION_MNIST) --out runs/zoo --seeds 0,1,2 \
		--install 2>> runs/zoo/making.log

zoo-seeds: $(STAMP)  ## what `make zoo` trained, compared over images and seeds: docs/zoo_seeds.md
	$(BIN)/python examples/zoo_seeds.py runs/zoo-seeds --trainings runs/zoo > runs/zoo_seeds.md
	mv runs/zoo_seeds.md docs/zoo_seeds.md

cut: $(STAMP)  ## make the bundled images again, from the files in FASHION_MNIST
	$(BIN)/python -m robustbench_twicing.data.fashion_mnist.cut $(FASHION_MNIST)

wheel: $(STAMP)  ## build the wheel, install it elsewhere, run that copy from another folder
	rm -rf build dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .
	rm -rf build/installed
	$(BIN)/python -m pip install -q --no-deps --target build/installed dist/*.whl
	cd / && $(INSTALLED) --version
	cd / && $(INSTALLED) eval --model timm:test_vit=random:0 --data samples:imagenet --limit 2 \
		--attacks clean,fgsm --eps 1/255 --save-adversarial 1 --out $(CURDIR)/build/run
	cd / && $(INSTALLED) report $(CURDIR)/build/run --format html --plots --out $(CURDIR)/build/page
	cd / && $(INSTALLED) eval --model fmnist_fan=bundled --data fashion-mnist:test1000 \
		--limit 20 --attacks clean --out $(CURDIR)/build/zoo

# For tests and benchmarks only, and without their declared dependencies, which are not used:
# cleverhans (its torch attacks are the reference of protocol paper) and imagecorruptions-imaug
# (it carries the frost photographs).
$(STAMP): pyproject.toml
	$(PYTHON) -c "import sys; sys.version_info >= (3, 11) or sys.exit('Python 3.11 or newer is needed: make PYTHON=python3.11 ...')"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .[dev]
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps cleverhans==4.0.0 imagecorruptions-imaug==1.1.5
	touch $@

# Without the caches of mypy and pytest the first `make quick` would take minutes.
$(CACHES): $(STAMP)
	-$(BIN)/mypy > /dev/null 2>&1
	-PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q --collect-only > /dev/null 2>&1
	touch $@

# What `make bench` compares with, and the tests do without.
$(PEERS): $(STAMP)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .[bench]
	touch $@
