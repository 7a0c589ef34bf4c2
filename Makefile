# `make` alone lists what there is to do.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The seed and the number of random scenarios that `make parity` puts to both loops.
SEED ?= 1
COUNT ?= 2000
# More arguments for the benchmarks: make bench ARGS='--json figures.json'.
ARGS ?=

FORMATTED := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources
# What the sanitizers are worth running over: everything with threads.
SANITIZED := 'RondoStressTests|RondoTests|RondoFoundationTests'

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install what is missing: libevent's headers, pkg-config, strace (apt; sudo unless root).
	@if ! command -v swift >/dev/null; then
	  echo 'No Swift toolchain on the PATH. Rondo needs Swift 6.3 or later: https://www.swift.org/install/linux/' >&2
	  exit 1
	fi
	missing=()
	command -v pkg-config >/dev/null || missing+=(pkg-config)
	[[ -e /usr/include/event2/event.h ]] || pkg-config --exists libevent_core 2>/dev/null || missing+=(libevent-dev)
	command -v strace >/dev/null || missing+=(strace)
	(( $${#missing[@]} )) || exit 0
	if ! command -v apt-get >/dev/null; then
	  echo "Missing: $${missing[*]}, and there is no apt-get to install them with." >&2
	  exit 1
	fi
	as_root=(env DEBIAN_FRONTEND=noninteractive)
	(( EUID == 0 )) || as_root=(sudo "$${as_root[@]}")
	install=("$${as_root[@]}" apt-get install --yes --no-install-recommends "$${missing[@]}")
	echo "Installing $${missing[*]}"
	"$${install[@]}" || { "$${as_root[@]}" apt-get update && "$${install[@]}"; }

.PHONY: build
build: setup ## Build everything, for debugging.
	swift build --build-tests

.PHONY: test
test: setup ## Run the tests, the comparison with the real CFRunLoop among them.
	swift test

.PHONY: parity
parity: setup ## Compare with CFRunLoop on COUNT random scenarios from SEED.
	swift run -c release rondo-parity $(SEED) $(COUNT)

.PHONY: bench
bench: setup ## Measure against the peers; pass more with ARGS.
	swift run -c release --package-path Benchmarks rondo-bench run --quick $(ARGS)

.PHONY: tsan
tsan: setup ## Run the threaded tests under the thread sanitizer.
	@# A test forks; the sanitizer would end a child that starts a thread.
	export TSAN_OPTIONS=die_after_fork=0
	swift test --sanitize=thread --scratch-path .build/tsan --filter $(SANITIZED)

.PHONY: asan
asan: setup ## Run the threaded tests under the address sanitizer.
	swift test --sanitize=address --scratch-path .build/asan --filter $(SANITIZED)

.PHONY: mutants
mutants: setup ## Prove that the tests can see: each small mutation of the turn must be caught.
	Tests/mutants/run.sh

.PHONY: lint
lint: setup ## Check the format, the length of files and left-over markers.
	@swift format lint --strict --parallel --recursive $(FORMATTED)
	if long=$$(find Sources -name '*.swift' -exec awk 'END { if (NR > 400) print FILENAME ": " NR " lines" }' {} \; | grep .); then
	  printf 'More than 400 lines:\n%s\n' "$$long" >&2
	  exit 1
	fi
	if marks=$$(grep -rnwE 'TODO|FIXME' Sources Tests Benchmarks/Sources Package.swift Benchmarks/Package.swift); then
	  printf 'Left-over markers:\n%s\n' "$$marks" >&2
	  exit 1
	fi

.PHONY: format
format: setup ## Rewrite the code in the project's format.
	swift format --in-place --parallel --recursive $(FORMATTED)

.PHONY: docs
docs: setup ## Build the documentation of each library into .build/docs.
	@docc=$$(dirname "$$(readlink -f "$$(command -v swift)")")/docc
	[[ -x $$docc ]] || docc=$$(command -v docc || true)
	if [[ -z $$docc ]]; then
	  echo 'This Swift toolchain has no docc, which makes the documentation. Read Sources/*/*.docc instead.' >&2
	  exit 1
	fi
	scratch=$(CURDIR)/.build/docs/build
	for library in Rondo RondoFoundation; do
	  swift build --target $$library --scratch-path "$$scratch"
	  graphs=$(CURDIR)/.build/docs/graphs/$$library
	  mkdir -p "$$graphs"
	  # Extracted, not emitted by the compiler: that would put all of Foundation into what re-exports it.
	  swift symbolgraph-extract -module-name $$library -target "$$(uname -m)-unknown-linux-gnu" \
	    -I "$$scratch/debug/Modules" -output-dir "$$graphs" -experimental-allowed-reexported-modules=Rondo \
	    -Xcc -fmodule-map-file=Sources/CLinux/module.modulemap \
	    -Xcc -fmodule-map-file=Sources/CLibevent/module.modulemap
	  "$$docc" convert Sources/$$library/$$library.docc \
	    --fallback-display-name $$library --fallback-bundle-identifier $$library \
	    --additional-symbol-graph-dir "$$graphs" --output-path .build/docs/$$library.doccarchive
	  echo "Documentation: .build/docs/$$library.doccarchive"
	done

.PHONY: clean
clean: ## Remove everything that was built.
	rm -rf .build Benchmarks/.build

# Each recipe is one script.
.ONESHELL:
