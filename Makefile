# jupyter_elastic: `make lab` to try it, `make test` to check it. `make help` lists the rest.

PYTHON3 ?= python3
VENV := .venv
ENGINE ?= local

.PHONY: help lab environment training test lint format bench cluster cluster-stop watch clean distclean

help: ## list what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

lab: environment training ## open JupyterLab with the examples; ENGINE=kubernetes: with real pods
	@ENGINE="$(ENGINE)" ./scripts/open_lab.sh

environment: ## JupyterLab, the tools and this package in .venv
	@$(PYTHON3) scripts/check_system.py lab
	@$(PYTHON3) scripts/lab_env.py

training: environment ## TensorFlow and Horovod, built once per machine, as a kernel of the lab
	@training=$$($(PYTHON3) scripts/training_env.py) && ./scripts/register_kernel.sh "$$training"

test: ## all checks and tests; STAGES="unit jest" runs only some
	@$(PYTHON3) scripts/check_system.py test
	@$(PYTHON3) scripts/test_stages.py $(STAGES)

lint: environment ## linters and type checks only
	@$(PYTHON3) scripts/test_stages.py lint

format: environment ## let the tools put the source in order
	@$(VENV)/bin/ruff check --fix --exit-zero . && $(VENV)/bin/ruff format .
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/jlpm lint

bench: environment training ## measure speed and size, and print a table
	@JUPYTER_ELASTIC_TRAINING_ENV=$$($(PYTHON3) scripts/training_env.py) \
		PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m bench

cluster: ## a real Kubernetes on this machine (root), built at first; prints its kubeconfig's path
	@$(PYTHON3) scripts/cluster.py start $(if $(CLUSTER),--folder "$(CLUSTER)")

cluster-stop: ## end it again, and remove every trace of it
	@$(PYTHON3) scripts/cluster.py stop $(if $(CLUSTER),--folder "$(CLUSTER)")

watch: environment ## build the front end again at each change
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/jlpm watch

clean: ## remove what was built, but no environment
	@rm -rf build dist lib coverage htmlcov .coverage tsconfig.tsbuildinfo .eslintcache .stylelintcache \
		.mypy_cache .pytest_cache .ruff_cache .hypothesis test-results \
		jupyter_elastic/labextension jupyter_elastic/_version.py \
		ui-tests/playwright-report ui-tests/test-results $(VENV)/.front-end
	@find . -name __pycache__ -not -path './$(VENV)/*' -not -path './node_modules/*' -prune -exec rm -rf {} +

distclean: clean ## also remove .venv and the npm packages; the training cache stays
	@rm -rf $(VENV) node_modules ui-tests/node_modules
