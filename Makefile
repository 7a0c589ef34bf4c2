# `make` alone lists what there is to do.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

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
# How often `make tsan` passes each kind of item from loop to loop.
HAND_OVERS ?= 100000
# Which mutants are tried: those with these numbers or names, those whose source or tests changed since a commit, and how
# many of them, taken at random. Which operations are counted, and which proofs are run: those with these names.
ONLY ?=
SINCE ?=
MOST ?=
# Anything writes the counts of today into the table of what is expected.
UPDATE ?=
# Where `make install` puts librondo.so, its headers and rondo.pc, below which root, and where Swift's runtime is: `inside` the
# library, or `shared` with other programs.
PREFIX ?= /usr/local
DESTDIR ?=
RUNTIME ?= inside
# More arguments for the benchmarks: make bench ARGS='--workload wake.parked --json figures.json'.
ARGS ?=
# How long the report measures (quick or full), where it goes (FILE.html and FILE.json), and whether its figures go into
# the README, the page of figures and the pictures as well: anything says yes.
EFFORT ?= full
FILE ?= .build/bench/report
PUBLISH ?=

FORMATTED := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources Benchmarks/Tests
# SwiftPM would remember for which libraries the manifest looked last time.
BENCH := --package-path Benchmarks --manifest-cache none
# SwiftNIO takes two minutes to build, so only the full suite has it, in a directory of its own.
BENCH_FULL := $(BENCH) --traits NIO --scratch-path Benchmarks/.build/full
# The tests that leave something out of `make test`.
WHOLE := ^(RondoStressTests|RondoMainTests|RondoCountTests|RondoTests\.(SizeTests|TimerTests)|RondoPortsTests\.ExhaustionTests)
# The tests whose loops can have one of Foundation's beside them.
BRIDGED := '^(RondoTests|RondoDaemonTests|RondoSocketsTests)\.'

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install what is missing: libevent's headers, pkg-config, strace (apt; sudo unless root).
	@Tests/Tools/setup.sh

.PHONY: setup-bench
setup-bench: ## Install the benchmarks' peers and guests as well: libuv, libev, GLib, libsystemd, OpenSSL, libcurl.
	@Tests/Tools/setup.sh bench

.PHONY: setup-prove
setup-prove: ## Install what any of the proofs needs: compilers for C, valgrind, binutils, and the above.
	@Tests/Tools/setup.sh bench c counts

.PHONY: build
build: setup ## Build everything, for debugging.
	swift build --build-tests

.PHONY: test
test: setup ## Run the tests, the comparison with the real CFRunLoop among them.
	@Tests/Tools/test.sh

.PHONY: stress
stress: setup ## The races and counts of the tests at ten times their length, and of programs built in release.
	RONDO_WHOLE=1 swift test --filter '$(WHOLE)'

.PHONY: check
check: lint ## The inner loop: lint, build, the tests of the core. Half a minute once it is built.
	swift build --build-tests
	swift test --skip-build --filter '^RondoTests\.'

.PHONY: run
run: setup ## Start the example echo server, and say how to talk to it.
	swift build -c release --product rondo-echo
	printf '\nTalk to it: nc 127.0.0.1 7007, or nc -U /tmp/rondo-echo.sock. Ctrl-C ends it, twice at once.\n'
	rm -f /tmp/rondo-echo.sock
	exec "$$(swift build -c release --show-bin-path)/rondo-echo" --threads 2 \
	  --listen 127.0.0.1:7007 --listen /tmp/rondo-echo.sock

.PHONY: parity
parity: setup ## Compare with CFRunLoop on COUNT random scenarios from SEED, and with a model on as many plays.
	swift build -c release --product rondo-parity
	"$$(swift build -c release --show-bin-path)/rondo-parity" model $(SEED) $(COUNT)
	"$$(swift build -c release --show-bin-path)/rondo-parity" $(SEED) $(COUNT)

.PHONY: bench-build
bench-build: setup-bench ## Build the benchmarks, for release.
	swift build -c release $(BENCH)

.PHONY: bench
bench: bench-build ## Measure against the peers for about a minute; pass more with ARGS.
	"$$(swift build -c release $(BENCH) --show-bin-path)/rondo-bench" run --quick $(ARGS)

.PHONY: bench-full
bench-full: setup-bench ## Measure everything for half an hour, SwiftNIO included; pass more with ARGS.
	swift build -c release $(BENCH_FULL)
	"$$(swift build -c release $(BENCH_FULL) --show-bin-path)/rondo-bench" run --full $(ARGS)

.PHONY: bench-report
bench-report: setup-bench ## Measure everything, write FILE.html and FILE.json; EFFORT=quick, PUBLISH=1.
	swift build -c release $(BENCH_FULL)
	mkdir -p "$$(dirname '$(FILE)')"
	"$$(swift build -c release $(BENCH_FULL) --show-bin-path)/rondo-bench" run --$(EFFORT) \
	  --html '$(FILE).html' --json '$(FILE).json' $(ARGS)
	echo 'Report: $(FILE).html'
	if [[ -n '$(PUBLISH)' ]]; then
	  "$$(swift build -c release $(BENCH_FULL) --show-bin-path)/rondo-bench" publish '$(FILE).json' \
	    --readme README.md --page Benchmarks/Figures.md --pictures Benchmarks/Pictures
	fi

.PHONY: bench-test
bench-test: setup-bench ## Run the tests of the benchmarks' arithmetic and reports, and those that need other libraries.
	swift test $(BENCH)

.PHONY: bridge
bridge: setup-bench ## Run the tests of real loops and of guests with a loop of Foundation's beside each.
	RONDO_BRIDGE=1 swift test --filter $(BRIDGED)
	RONDO_BRIDGE=1 swift test $(BENCH) --filter RondoGuestTests

.PHONY: bridge-tsan
bridge-tsan: setup ## The same of Rondo's own products, under the thread sanitizer.
	@BRIDGED=$(BRIDGED) Tests/Tools/sanitize.sh bridge

.PHONY: tsan
tsan: setup ## Run the threaded tests under the thread sanitizer.
	@HAND_OVERS=$(HAND_OVERS) Tests/Tools/sanitize.sh thread

.PHONY: asan
asan: setup ## Run the threaded tests under the address sanitizer, leaks included.
	@Tests/Tools/sanitize.sh address

.PHONY: soak
soak: setup ## Do random things to four loops for SOAK_SECONDS from SEED, half under each of two sanitizers.
	@SEED=$(if $(filter file,$(origin SEED)),,$(SEED)) SOAK_SECONDS=$(SOAK_SECONDS) Tests/Tools/soak.sh

.PHONY: chaos
chaos: setup ## Open, half-close, reset and stall CHAOS_CONNECTIONS at random for CHAOS_SECONDS from SEED.
	CHAOS_SECONDS=$(CHAOS_SECONDS) CHAOS_CONNECTIONS=$(CHAOS_CONNECTIONS) SEED=$(SEED) swift test --filter ChaosTests

.PHONY: mutants
mutants: setup ## Prove that the tests can see: each mutant of the core must be caught. ONLY='03 16', SINCE=main, MOST=10.
	@SINCE='$(SINCE)' MOST='$(MOST)' Tests/Tools/mutants.sh $(ONLY)

.PHONY: counts
counts: ## Count what each operation costs, to the unit, and compare with the table. ONLY='poll post', UPDATE=1.
	@Tests/Tools/setup.sh counts
	UPDATE='$(UPDATE)' Tests/Tools/counts.sh $(ONLY)

.PHONY: fuzz
fuzz: setup ## Fuzz the decoders of frames with RUNS inputs each; what breaks one is left in .build/fuzz/found.
	@RUNS=$(RUNS) Tests/Tools/fuzz.sh

.PHONY: torture
torture: ## Fail each system call of fifteen programs, for each errno it may meet; QUICK=1, SEED=, ONLY='rondo-echo accept4'.
	@QUICK='$(QUICK)' SEED='$(if $(filter file,$(origin SEED)),,$(SEED))' ONLY='$(ONLY)' Tests/Tools/torture.sh

.PHONY: lint
lint: setup ## Check the format, the length of files, left-over markers and the tics of prose; UPDATE=1.
	@UPDATE='$(UPDATE)' Tests/Tools/lint.sh $(FORMATTED)

.PHONY: format
format: setup ## Rewrite the code in the project's format.
	swift format --in-place --parallel --recursive $(FORMATTED)

.PHONY: docs
docs: setup ## Make the documentation: a site that opens from the file system, and DocC's archives, in .build/docs.
	@Tests/Tools/docs.sh

.PHONY: pictures
pictures: ## Draw the pictures of the documentation anew.
	@swift Tests/Pictures/draw.swift Sources/Rondo/Rondo.docc/Resources

.PHONY: install
install: setup ## Build librondo.so, install it, its headers and rondo.pc under PREFIX; DESTDIR=, RUNTIME=shared.
	@Sources/CRondo/Library/install.sh '$(PREFIX)' '$(DESTDIR)' '$(RUNTIME)'

.PHONY: c-test
c-test: ## Install librondo.so in both forms; compile and run the examples in C, C++ and Python with it.
	@Tests/Tools/setup.sh c
	Tests/Tools/c-test.sh

.PHONY: prove
prove: ## Run every proof there is, each at a depth that takes minutes; ONLY='fuzz counts' runs those alone.
	@Tests/Tools/prove.sh $(ONLY)

.PHONY: clean
clean: ## Remove everything that was built.
	rm -rf .build Benchmarks/.build

# Each recipe is one script.
.ONESHELL:
