# Aliases for people who have make; run.py does the work.
.DEFAULT_GOAL := help
.PHONY: help setup demo example bench test torture check docs format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## build .venv
	@python3 run.py setup

demo: ## run the demo, with servers of its own
	@python3 run.py demo

example: ## a paste service on port 8000, with servers of its own
	@python3 run.py example

bench: ## run the benchmark, about twenty minutes
	@python3 run.py bench

test: ## run the tests
	@python3 run.py test

torture: ## run the fault tests for MINUTES=30, and print the scorecard
	@python3 run.py torture --minutes $(or $(MINUTES),30) $(ARGS)

check: ## format, lint, types, import layers, SQL
	@python3 run.py check

docs: ## build the site of docs/ in site/
	@python3 run.py docs

format: setup ## rewrite what the format check complains about
	@.venv/bin/ruff format . && .venv/bin/ruff check --fix .

clean: ## remove what run.py made
	@rm -rf .venv .boot .reaper dist site
