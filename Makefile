# Entry points of the project; each target installs what it needs first. No logic here: it is in scripts/.
SHELL := /bin/bash
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 30
.DEFAULT_GOAL := help

.PHONY: help setup build firmware demo test test-long test-rtl check bench fuzz install dist clean

help: ## what the targets do
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## install what building and testing need (distribution packages, Rust if there is none)
	@scripts/setup.sh build test

build: ## build target/release/wirelab
	@scripts/setup.sh build
	@scripts/build.sh

firmware: ## build the boards' images into target/firmware
	@scripts/setup.sh test
	@scripts/firmware.sh

demo: build ## the main job on real frames: four port pairs, in private network namespaces
	@scripts/demo.sh

test: ## the tests of what users do every day; says at the end what ran and what was skipped
	@scripts/setup.sh build test
	@scripts/run-tests.py

test-long: ## the long tests: hardware, seeds, attacks, older peers, every page, Linux 6.1; WITHOUT=SUITE leaves one out
	@scripts/setup.sh build test long dist
	@scripts/run-tests.py --long $(addprefix --without ,$(WITHOUT))

test-rtl: ## of these the hardware's own: its tools, its benches, its translation
	@scripts/setup.sh build test
	@scripts/run-tests.py --long $(addprefix --suite ,rtl rtl-tools rtl-lockstep rtl-port rtl-seeds rtl-lockstep-long)

check: ## style, lints, licences and the rules of the project
	@scripts/setup.sh build test check
	@scripts/check.sh

bench: ## compare with other generators on this machine
	@scripts/setup.sh build test bench
	@scripts/build.sh
	@scripts/bench.sh

fuzz: ## run every fuzz target for FUZZ_SECONDS (30)
	@scripts/setup.sh build fuzz
	@scripts/fuzz.sh $(FUZZ_SECONDS)

install: build ## put wirelab, its man page and completions under PREFIX (/usr/local)
	@scripts/install.sh "$(DESTDIR)$(PREFIX)"

dist: ## packages for other hosts in target/dist: a .deb, and a Python wheel that holds the program
	@scripts/setup.sh build dist
	@scripts/dist.sh

clean: ## remove what was built
	rm -rf target fuzz/target
