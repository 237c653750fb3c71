# Two commands on a fresh machine (Python 3.10 to 3.13, make, gcc):
#   make demo   sets up, then shows the whole job on real input
#   make test   sets up, then runs every test
# PYTHON chooses the interpreter; TORCH, PIP_INSTALL_ARGS and pip's own environment variables choose
# where packages come from (see docs/install.md). JOBS is the number of processes that test.

.DEFAULT_GOAL := help
.PHONY: help demo test test-numpy1 test-numpy2 test-jax test-tensorflow test-others test-pure test-versions lint docs pictures format bench clean

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.10 python3.13 python3,$(if $(shell $(p) -c '' 2>/dev/null && echo ok),$(p))))
PIP_INSTALL_ARGS ?=
PYTEST_ARGS ?=
JOBS ?= 2

V1 := .venv
V2 := .venv-numpy2
READY1 := $(V1)/.ready
READY2 := $(V2)/.ready
MXNET = $(shell $(PYTHON) -c 'import sys; print(",mxnet" if sys.version_info < (3, 13) else "")')
FROM_311 = $(shell $(PYTHON) -c 'import sys; print(",onnxruntime,tinygrad" if sys.version_info >= (3, 11) else "")')

help:
	@echo "make demo    set up, then show asyncguard at work on real input"
	@echo "make test    set up, then run every test"
	@echo "make test-versions   the tests of torch on other releases of it (18 GB)"
	@echo "make lint    ruff, mypy --strict"
	@echo "make docs    the documentation site, in site/, with its pictures and figures"
	@echo "make bench   the benchmarks of the engine and of tracing"
	@echo "make clean   remove the environments and caches"

demo: $(READY1)
	@$(V1)/bin/asyncguard demo

# mxnet 1.9.1 needs NumPy < 2, jax and tensorflow need NumPy >= 2: two environments, one suite.
# Python 3.13 has no NumPy < 2: there the first environment is without mxnet, and its tests skip.
# Python 3.10 has no such onnxruntime and tinygrad: there the second is without them.
# ASYNCGUARD_REQUIRE turns "framework not installed" from a skip into a failure.
# Traces run once more without the compiled part.
# Its processes each take a run of neighbouring tests, and then those that the other has not got to;
# the other runs are small, and of one process each: importing frameworks twice is most of their time.
test: test-numpy1
	@$(MAKE) --no-print-directory $(if $(filter output-sync,$(.FEATURES)),--output-sync) -j $(if $(filter 0 1,$(JOBS)),1,2) test-numpy2 test-pure
	@echo "make test: all runs passed"

# The tests start many processes: none compiles again what another has.
TESTS := test-numpy1 test-jax test-tensorflow test-others test-pure
$(TESTS): export PYTHONDONTWRITEBYTECODE =
$(TESTS): export OMP_NUM_THREADS = 1

test-numpy1: $(READY1)
	ASYNCGUARD_REQUIRE=torch$(MXNET),cupy,lightning,transformers,opentelemetry.sdk,pygls,mcp,mkdocs $(V1)/bin/python -m pytest -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

# What the second environment's frameworks, and NumPy 2, take part in: one process with jax, another
# with tensorflow, for their imports take longer than the tests; the third with the others, for paddle
# crashes where tensorflow was imported first.
EXISTS := tests/test_catalogue.py::test_what_the_entries_name_exists_in_the_real_framework
UNITS := tests/runtime/test_numpy_dispatch.py
OF_JAX := tests/runtime/test_jax.py tests/integrations/test_flax.py tests/examples/test_gallery.py tests/repairs/test_repair_fuzz.py '$(EXISTS)[jax]' \
	'$(UNITS)::test_units_are_kept[jax]' '$(UNITS)::test_the_collector_finds_each_object_as_it_was_made'
OF_TENSORFLOW := tests/runtime/test_tensorflow.py tests/integrations/test_keras.py \
	tests/engine/test_ndarray.py tests/engine/test_programs.py \
	$(patsubst %,tests/runtime/test_%.py,engine adapters compat) '$(EXISTS)[tensorflow]' '$(UNITS)::test_units_are_kept[tensorflow]' \
	'tests/test_documents.py::test_every_block_of_a_page_is_true[docs/guides/frameworks.md]'
OTHERS := mlx onnxruntime paddle tinygrad warp
OF_OTHERS := $(foreach name,$(OTHERS),tests/runtime/test_$(name).py '$(EXISTS)[$(name)]')
test-numpy2: test-jax test-tensorflow test-others
test-jax: OF := $(OF_JAX)
test-tensorflow: OF := $(OF_TENSORFLOW)
test-others: OF := $(OF_OTHERS)
test-jax test-tensorflow: REQUIRED = jax,flax,tensorflow,keras
test-others: REQUIRED = mlx,mlx.core,mlx.nn,mlx.optimizers,paddle,warp$(FROM_311)
test-jax test-tensorflow test-others: $(READY2)
	ASYNCGUARD_REQUIRE=$(REQUIRED) $(V2)/bin/python -m pytest $(OF) $(PYTEST_ARGS)

# What counts steps and reads: the compiled part is these again.
OF_PURE := $(patsubst %,tests/runtime/test_%.py,quick recorder steps callers frames limits identity memory torch engine)
test-pure: $(READY1)
	ASYNCGUARD_PURE_PYTHON=1 ASYNCGUARD_REQUIRE=torch $(V1)/bin/python -m pytest $(OF_PURE) $(PYTEST_ARGS)

# Traces, the simulation and integrations on the oldest torch, that of the tests on a GPU and the
# newest, each in an environment of its own under .venvs/, builds for CUDA of about 6 GB each.
TORCH_VERSIONS ?= 2.6.0 2.11.0 2.15.0
test-versions:
	$(PYTHON) tools/torch_versions.py $(TORCH_VERSIONS) --keep benchmarks/results/torch_versions.json -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

lint: $(READY1)
	$(V1)/bin/ruff check .
	$(V1)/bin/ruff format --check .
	$(V1)/bin/mypy

docs: pictures
	NO_MKDOCS_2_WARNING=1 $(V1)/bin/mkdocs build --strict

# What README and pages show of commands and results; the screenshot needs chromium.
pictures: $(READY1)
	OMP_NUM_THREADS=1 $(V1)/bin/python tools/site/pictures.py
	$(V1)/bin/python tools/site/figures.py

# The figures of the engine and of tracing, measured here and now. The linter's (accuracy.py,
# lint_speed.py) need unpacked wheels; each says which.
BENCHMARKS := engine_speed stall_accuracy trace_overhead trace_memory cuda_stalls whatif
bench: $(READY1)
	@for name in $(BENCHMARKS); do echo "== $$name"; $(V1)/bin/python benchmarks/$$name.py || exit 1; done

format: $(READY1)
	$(V1)/bin/ruff check --fix .
	$(V1)/bin/ruff format .

clean:
	rm -rf $(V1) $(V2) .venvs build dist site asyncguard/runtime/*.so *.egg-info .cache .asyncguard_cache .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(READY1): GROUPS := --group dev
$(READY2): GROUPS := --group test --group numpy2 --group others
$(READY1) $(READY2): pyproject.toml setup.py asyncguard/runtime/_quick.c tools/setup_venv.sh
	@PYTHON="$(PYTHON)" PIP_INSTALL_ARGS="$(PIP_INSTALL_ARGS)" sh tools/setup_venv.sh $(@D) $(GROUPS)
	@touch $@
