# `make` alone lists what there is to do.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Each recipe is one script.
.ONESHELL:

# The seed and the number of random scenarios that `make parity` puts to both loops.
SEED ?= 1
COUNT ?= 2000
# How long `make soak` lasts; without SEED it takes one at random and prints it.
SOAK_SECONDS ?= 600
# For how long, and how many connections at a time, `make chaos` maltreats an echo server.
CHAOS_SECONDS ?= 60
CHAOS_CONNECTIONS ?= 5000
# How many inputs `make fuzz` gives each decoder, beside the corpus.
RUNS ?= 200000
# Of the whole lengths, `make stress` goes one part of so many.
PART ?= 1
# How often `make tsan` passes each kind of item from loop to loop.
HAND_OVERS ?= 100000
# ONLY: the mutants, operations, programs or proofs with these names. SINCE, MOST: which mutants, and how many of them.
ONLY ?=
SINCE ?=
MOST ?=
# Anything writes what is counted today into the table of what is expected.
UPDATE ?=
# Where `make install` puts librondo.so, its headers, rondo.pc and rondo-inspect; RUNTIME=shared leaves Swift's runtime out of it.
PREFIX ?= /usr/local
DESTDIR ?=
RUNTIME ?= inside
# How many connections `make scale` simulates.
SIZES ?=
# How many random conversations `make protocols` has with the HTTP server.
REQUESTS ?= 300
# By how many seeds `make seeds` runs each program.
SEEDS ?= 1000
# More arguments for the benchmarks: make bench ARGS='--workload wake.parked --json figures.json'.
ARGS ?=
# How long the report measures (quick or full), its files (FILE.html, FILE.json); PUBLISH=1 puts its figures into the README.
EFFORT ?= full
FILE ?= .build/bench/report
PUBLISH ?=

FORMATTED := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources Benchmarks/Tests
# The program that `make run` starts.
EXAMPLE ?= async-echo
EXAMPLES := --package-path Sources/Examples --scratch-path .build/examples
# What needs SwiftNIO takes minutes to build, so it is a package of its own, in a directory of its own.
PROTOCOLS := --package-path Tests/Protocols --scratch-path .build/protocols
# SwiftPM would remember for which libraries the manifest looked last time.
BENCH := --package-path Benchmarks --manifest-cache none
# SwiftNIO and Hummingbird take minutes to build, so only the full suite has them, in a directory of its own.
BENCH_FULL := $(BENCH) --traits NIO --scratch-path Benchmarks/.build/full
# The tests that leave something out of `make test`.
WHOLE := ^(RondoWholeTests|RondoTests\.(SizeTests|TimerTests|WakeProtocolTests)|RondoPortsTests\.ExhaustionTests|RondoSocketsTests\.(ConnectionCancellationTests|ServingTests|StormTests)|RondoDaemonTests\.SimulatedDaemonTests)
# The tests whose loops can have one of Foundation's beside them.
BRIDGED := ^(RondoTests|RondoDaemonTests|RondoSocketsTests)\.
# A seed that was asked for; nothing otherwise.
ASKED_SEED = $(if $(filter file,$(origin SEED)),,$(SEED))

.PHONY: $(shell sed -nE 's/^([a-z-]+):.*##.*/\1/p' $(lastword $(MAKEFILE_LIST)))

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
setup: ## Install what is missing: libevent's headers, pkg-config, strace, Python (apt; sudo unless root).
	@Sources/Tools/setup.sh
setup-bench: ## Install the benchmarks' peers and guests as well: libuv, libev, GLib, libsystemd, OpenSSL, libcurl, hiredis.
	@Sources/Tools/setup.sh bench
setup-prove: ## Install what any of the proofs needs: compilers for C, valgrind, binutils, and the above.
	@Sources/Tools/setup.sh bench c counts

build: setup ## Build everything, for debugging.
	swift build --build-tests
test: setup ## Run the tests, the comparison with the real CFRunLoop among them.
	@Sources/Tools/test.sh
check: lint ## The inner loop: lint, build, the tests of the core. Half a minute once it is built.
	swift build --build-tests
	swift test --skip-build --filter '^RondoTests\.'
lint: setup ## Check the format, the length of files, left-over markers, closures in expectations.
	@Sources/Tools/lint.sh $(FORMATTED)
format: setup ## Rewrite the code in the project's format.
	swift format --in-place --parallel --recursive $(FORMATTED)
names: setup ## Compare the page of the public names with the sources; UPDATE=1 writes it.
	UPDATE='$(UPDATE)' swift test --filter PublicNamesTests
run: setup ## Start the README's server, or another program of Sources/Examples: EXAMPLE=first-loop.
	@if [[ -e Sources/Examples/$(EXAMPLE)/Package.swift ]]; then
	  # What needs SwiftNIO is a package of its own.
	  exec swift run --quiet --package-path Sources/Examples/$(EXAMPLE) --scratch-path .build/$(EXAMPLE) $(EXAMPLE) $(ARGS)
	fi
	exec swift run --quiet $(EXAMPLES) $(EXAMPLE) $(ARGS)
docs: setup ## Make the documentation: DocC's archives, in .build/docs.
	@Sources/Tools/docs.sh
install: setup ## Install librondo.so, its headers, rondo.pc and rondo-inspect under PREFIX; DESTDIR=, RUNTIME=shared.
	@Sources/CRondo/Library/install.sh '$(PREFIX)' '$(DESTDIR)' '$(RUNTIME)'
clean: ## Remove everything that was built.
	rm -rf .build Benchmarks/.build

bench-build: setup-bench ## Build the benchmarks, for release.
	swift build -c release $(BENCH)
bench: bench-build ## Measure against the peers for about a minute; pass more with ARGS.
	"$$(swift build -c release $(BENCH) --show-bin-path)/rondo-bench" run --quick $(ARGS)
scale: setup-bench ## Measure what grows with simulated connections on one loop, from 1,000 to a million; SIZES='1000 5000'.
	swift build -c release $(BENCH) --product rondo-scale
	"$$(swift build -c release $(BENCH) --show-bin-path)/rondo-scale" $(SIZES)
	"$$(swift build -c release $(BENCH) --show-bin-path)/rondo-scale" hosts
bench-full: setup-bench ## Measure everything for an hour, SwiftNIO included; pass more with ARGS.
	swift build -c release $(BENCH_FULL)
	"$$(swift build -c release $(BENCH_FULL) --show-bin-path)/rondo-bench" run --full $(ARGS)
bench-report: setup-bench ## Measure everything, write FILE.html and FILE.json; EFFORT=quick, PUBLISH=1.
	swift build -c release $(BENCH_FULL)
	bench="$$(swift build -c release $(BENCH_FULL) --show-bin-path)/rondo-bench"
	mkdir -p "$$(dirname '$(FILE)')"
	"$$bench" run --$(EFFORT) --html '$(FILE).html' --json '$(FILE).json' $(ARGS)
	echo 'Report: $(FILE).html'
	[[ -z '$(PUBLISH)' ]] || "$$bench" publish '$(FILE).json' \
	  --readme README.md --page Benchmarks/Figures.md --pictures Benchmarks/Pictures
bench-test: setup-prove ## Run the tests of the benchmarks' arithmetic and reports, and those that need other libraries.
	swift test $(BENCH)

prove: ## Run every proof there is, each at a depth that takes minutes; ONLY='fuzz counts' runs those alone.
	@Sources/Tools/prove.sh $(ONLY)
parity: setup ## Compare with CFRunLoop on COUNT random scenarios from SEED, and with a model on as many plays.
	swift build -c release --product rondo-parity
	"$$(swift build -c release --show-bin-path)/rondo-parity" model $(SEED) $(COUNT)
	"$$(swift build -c release --show-bin-path)/rondo-parity" $(SEED) $(COUNT)
stress: setup ## The races and counts of the tests at 30 times their length, over PART; and of programs built in release.
	RONDO_WHOLE=$(PART) swift test --filter '$(WHOLE)'
seeds: setup-bench ## Run whole programs in simulation by SEEDS seeds each: servers, a daemon, a chat, HTTP, routes.
	RONDO_SEEDS=$(SEEDS) swift test --filter 'RondoBookTests\.WholeProgramTests'
	RONDO_SEEDS=$(SEEDS) swift test $(EXAMPLES) --filter ChatSimulationTests
	RONDO_SEEDS=$(SEEDS) swift test $(PROTOCOLS) --filter '\.(HTTPProgramTests|TimeoutTests)/'
protocols: setup-bench ## Run the tests of what is built on SwiftNIO: pipelines, TLS, HTTP, Hummingbird. Builds for minutes.
	mkdir -p .build
	RONDO_FUZZ=$(REQUESTS) swift test $(PROTOCOLS) 2>&1 | tee .build/protocols.log
	# What is compiled by a trait is compiled here alone: a warning is an error.
	! grep -E '^(/[^ ]*/(Sources/Adapters|Sources/Examples/rondo-status|Tests/Protocols)/[^ ]*|macro expansion [^:]+:[0-9:]+): warning: ' .build/protocols.log
examples: setup ## Run the tests of the examples, a package of its own: each is a process that clients attack.
	swift test $(EXAMPLES)
api: setup ## Compare the public declarations in Swift and C with those of a commit: SINCE=main; without it, the newest tag.
	@SINCE='$(SINCE)' Sources/Tools/api.sh
stranger: setup ## Walk a stranger's way: a package that depends on a tag, the README's server, a test in virtual time.
	@Sources/Tools/stranger.sh
chaos: setup ## Open, half-close, reset and stall CHAOS_CONNECTIONS at random for CHAOS_SECONDS from SEED.
	CHAOS_SECONDS=$(CHAOS_SECONDS) CHAOS_CONNECTIONS=$(CHAOS_CONNECTIONS) SEED=$(SEED) \
	  swift test $(EXAMPLES) --filter ChaosTests
bridge: setup-prove ## Run the tests of real loops and of guests with a loop of Foundation's beside each.
	RONDO_BRIDGE=1 swift test --filter '$(BRIDGED)'
	RONDO_BRIDGE=1 swift test $(BENCH) --filter RondoGuestTests
tsan: setup ## Run the threaded tests under the thread sanitizer.
	@HAND_OVERS=$(HAND_OVERS) Sources/Tools/sanitize.sh thread
asan: setup ## Run the threaded tests and the examples under the address sanitizer, leaks included.
	@Sources/Tools/sanitize.sh address
soak: setup ## Do random things to four loops for SOAK_SECONDS from SEED, half under each of two sanitizers.
	@SEED=$(ASKED_SEED) SOAK_SECONDS=$(SOAK_SECONDS) Sources/Tools/soak.sh
mutants: setup ## Prove that the tests can see: each mutant of the core must be caught. ONLY='03 16', SINCE=main, MOST=10.
	@SINCE='$(SINCE)' MOST='$(MOST)' Sources/Tools/mutants.sh $(ONLY)
counts: ## Count what each operation costs, to the unit, and compare with the table. ONLY='poll post', UPDATE=1.
	@Sources/Tools/setup.sh counts
	UPDATE='$(UPDATE)' Sources/Tools/counts.sh $(ONLY)
fuzz: setup ## Fuzz the decoders of frames with RUNS inputs each; what breaks one is left in .build/fuzz/found.
	@RUNS=$(RUNS) Sources/Tools/fuzz.sh
torture: ## Fail each system call of sixteen programs, for each errno it may meet; QUICK=1, SEED=, ONLY='rondo-echo accept4'.
	@QUICK='$(QUICK)' SEED='$(ASKED_SEED)' ONLY='$(ONLY)' Sources/Tools/torture.sh
c-test: ## Install librondo.so in both forms; compile and run the examples in C, C++ and Python with it.
	@Sources/Tools/setup.sh c
	Sources/Tools/c-test.sh
