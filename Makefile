# `make help` lists what there is. A checkout needs: pip install -e '.[test,lint]'

PYTHON ?= python3
PACKAGE ?= .

.PHONY: help check lint types docs rule test pythons oracle corpus latest soak bench

help:
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

check: lint types test ## all that needs no PyTorch

lint: ## ruff, its formatter, and generated pages up to date
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) docs/make_rules.py --check
	$(PYTHON) docs/make_operators.py --check
	$(PYTHON) docs/make_picture.py --check
	$(PYTHON) docs/make_summary_schema.py --check

types: ## mypy --strict, on an installed copy (the checkout's folders are mapped on installing)
	rm -rf build/typed
	$(PYTHON) -m pip install -q --no-deps --target build/typed $(PACKAGE) && rm -rf build/lib build/bdist.*
	cd build/typed && MYPYPATH=. $(PYTHON) -m mypy --config-file ../../pyproject.toml -p tidy
	rm -rf build/typed *.egg-info

docs: ## write docs/rules.md, runtime.md and summary.schema.json from the code, report.svg from report.json.gz
	$(PYTHON) docs/make_rules.py
	$(PYTHON) docs/make_operators.py
	$(PYTHON) docs/make_picture.py
	$(PYTHON) docs/make_summary_schema.py

rule: ## make rule NAME=repeated-item CODE=TDY302: a file for a new rule of tidy's own
	$(PYTHON) -m tidy new-rule $(NAME) --code $(CODE) --folder patterns/rules

test: ## the plain suite
	$(PYTHON) -m pytest

pythons: ## the plain suite on each Python that is here, with the versions of .ci/constraints.txt
	.ci/run whole

oracle: ## comparisons with PyTorch (pip install torch==2.13.0) and with recorded traces; slow tests
	$(PYTHON) -m pytest -m "(oracle or slow) and not alone"

corpus: ## all training scripts of tests/runtime/corpus, 50 steps each, beside PyTorch in both dtypes
	TIDY_SOAK=1 $(PYTHON) -m pytest -m oracle tests/runtime/corpus

latest: ## both suites with the newest release of every package, PyTorch aside; decides nothing
	rm -rf build/latest && $(PYTHON) -m venv build/latest
	build/latest/bin/python -m pip install -q torch==2.13.0 expecttest pysarif ipython HolisticTraceAnalysis
	build/latest/bin/python -m pip install -q --upgrade --upgrade-strategy eager '.[test,lint,bfloat16]'
	-$(MAKE) lint types PYTHON=$(CURDIR)/build/latest/bin/python
	build/latest/bin/python -m pytest -m "not alone"

soak: ## what is long, random or about load, for hours; writes docs/soak.md
	$(PYTHON) -m tests.soak

bench: ## tidy report against json.load on a 300 MB file made here
	$(PYTHON) benchmarks/make_trace.py examples/traces/train_cnn.json.gz build/big.json --mb 300
	$(PYTHON) benchmarks/bench_report.py build/big.json
