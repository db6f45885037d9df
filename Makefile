# Aliases for people who have make; run.py does the work.
.DEFAULT_GOAL := help
.PHONY: help setup demo bench test torture check format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## build .venv
	@python3 run.py setup

demo: ## run the demo, with servers of its own
	@python3 run.py demo

bench: ## run the benchmark, about twenty minutes
	@python3 run.py bench

test: ## run the tests
	@python3 run.py test

torture: ## run the fault tests for MINUTES=30, and print the scorecard
	@python3 run.py torture --minutes $(or $(MINUTES),30) $(ARGS)

check: ## format, lint, types, import layers, SQL
	@python3 run.py check

format: setup ## rewrite what the format check complains about
	@.venv/bin/ruff format . && .venv/bin/ruff check --fix .

clean: ## remove what run.py made
	@rm -rf .venv .boot .reaper dist
