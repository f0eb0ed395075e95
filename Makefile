# Needs Python 3.11 or newer, the package index and Debian's packages; nothing else.
PYTHON ?= python3
BIN := .venv/bin
LAB := PYTHONPATH=tests $(BIN)/python -m lab
RELEASING := PYTHONPATH=packaging/exe:packaging/release $(BIN)/python -m releasing
SUITES := suite-contract suite-unit
SOURCES := agent service tests packaging/ansible packaging/exe packaging/release docs

.PHONY: test lint suites docs exe same-exe installer lab test-windows $(SUITES) test-nodes test-cluster test-differential bench run lock clean

.venv/ready: packaging/locks/linux-dev.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r packaging/locks/linux-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

lint: .venv/ready
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy --platform linux $(SOURCES)
	$(BIN)/mypy --platform win32 agent service
	$(BIN)/lint-imports
	cd packaging/ansible && PATH="$(CURDIR)/$(BIN):$$PATH" ansible-lint -q

test: lint suites

# One more worker than there are processors: some tests wait for what is held, or for a process.
suites: .venv/ready
	$(BIN)/pytest --numprocesses=$$(($$(getconf _NPROCESSORS_ONLN) + 1))

# A Windows machine that is a folder becomes a node, is changed by hand and made right again, told step by step.
run: .venv/ready
	$(BIN)/python tests/sandbox/demo.py build/sandbox

# The pages as a site in build/site; a link that leads nowhere is an error.
docs: .venv/ready
	$(BIN)/mkdocs build --quiet --strict

# Wine, a Windows Python and PyInstaller, all of them made here and kept in the lab's cache; leaves dist/wmcb.exe.
exe: .venv/ready
	$(LAB) exe

# The commit's exe and its bill of materials once more, from a clone in another place: the same bytes?
same-exe: exe
	$(LAB) exe --again

# dist/wmcb-VERSION.msi, by Debian's wixl and msitools, and dist/wmcb-VERSION.zip.
installer: exe
	$(RELEASING) installer

# All that the lab downloads and builds, Kubernetes too, so that nothing below waits for it.
lab: .venv/ready
	$(LAB) setup

test-windows: test-nodes $(SUITES)

# The suites that Linux runs as well, under Windows Python, each part on a machine of its own. What Python itself
# prints is kept, not what reaches its files: turning those round for each test takes longer there than most tests.
$(SUITES): suite-%: .venv/ready
	$(LAB) python -m pytest --capture=sys tests/$*

test-nodes: exe
	$(LAB) test-windows

test-cluster: exe
	$(LAB) test-cluster

# Our reading of Ignition against Ignition's own parser.
test-differential: .venv/ready
	$(BIN)/pytest tests/differential

bench: exe
	$(LAB) bench
	PYTHONPATH=tests $(BIN)/python tests/bench/large_ignition.py
	PYTHONPATH=tests $(BIN)/python tests/bench/artifacts.py

lock: .venv/ready
	packaging/locks/lock.sh

clean:
	rm -rf .venv build dist
