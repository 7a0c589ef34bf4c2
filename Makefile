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
# Which mutants are tried: those with these numbers or names, and those whose source or tests changed since a commit.
# Which operations are counted: those with these names.
ONLY ?=
SINCE ?=
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

# What `make fuzz` fuzzes: each has a harness and a corpus of its name under Tests/Fuzz.
DECODERS := message-port socket-port
FORMATTED := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources Benchmarks/Tests
# SwiftPM would remember for which libraries the manifest looked last time.
BENCH := --package-path Benchmarks --manifest-cache none
# SwiftNIO takes two minutes to build, so only the full suite has it, in a directory of its own.
BENCH_FULL := $(BENCH) --traits NIO --scratch-path Benchmarks/.build/full
# What the sanitizers are worth running over: everything with threads.
SANITIZED := 'RondoStressTests|RondoTests|RondoDaemonTests|RondoFoundationTests|RondoInspectTests|RondoPortsTests|RondoRecipesTests|RondoSocketsTests'
# The tests that leave something out of `make test`.
WHOLE := ^(RondoStressTests|RondoMainTests|RondoCountTests|RondoTests\.(SizeTests|TimerTests)|RondoPortsTests\.ExhaustionTests)
# The tests whose loops can have one of Foundation's beside them.
BRIDGED := '^(RondoTests|RondoDaemonTests|RondoSocketsTests)\.'

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Installs the packages that a recipe has collected in `missing`.
define install-missing
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
endef

.PHONY: setup
setup: ## Install what is missing: libevent's headers, pkg-config, strace (apt; sudo unless root).
	@if ! command -v swift >/dev/null; then
	  echo 'No Swift toolchain on the PATH. Rondo needs Swift 6.3 or later: https://www.swift.org/install/linux/' >&2
	  exit 1
	fi
	version=$$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p') || true
	if [[ "$$(printf '%s\n' 6.3 "$$version" | sort --version-sort | head -n 1)" != 6.3 ]]; then
	  echo "This is Swift $${version:-of an unknown version}. Rondo needs Swift 6.3 or later:" \
	    'https://www.swift.org/install/linux/' >&2
	  exit 1
	fi
	missing=()
	command -v pkg-config >/dev/null || missing+=(pkg-config)
	[[ -e /usr/include/event2/event.h ]] || pkg-config --exists libevent_core 2>/dev/null || missing+=(libevent-dev)
	command -v strace >/dev/null || missing+=(strace)
	$(install-missing)

.PHONY: setup-bench
setup-bench: setup ## Install the benchmarks' peers and guests: libuv, libev, GLib, libsystemd, OpenSSL, libcurl.
	@missing=()
	pkg-config --exists libuv || missing+=(libuv1-dev)
	pkg-config --exists glib-2.0 || missing+=(libglib2.0-dev)
	pkg-config --exists libsystemd || missing+=(libsystemd-dev)
	# Libraries that are guests of a loop.
	pkg-config --exists openssl || missing+=(libssl-dev)
	pkg-config --exists libcurl || missing+=(libcurl4-openssl-dev)
	# libev alone has no pkg-config file.
	[[ -e /usr/include/ev.h ]] || missing+=(libev-dev)
	$(install-missing)

.PHONY: build
build: setup ## Build everything, for debugging.
	swift build --build-tests

.PHONY: test
test: setup ## Run the tests, the comparison with the real CFRunLoop among them.
	@mkdir -p .build
	swift test 2>&1 | tee .build/test.log && exit 0
	# A thousand tests may lie between a failure and the end of what they print.
	printf '\nWhat failed:\n'
	awk '/^[◇✔]/ { failed = 0 } /^✘/ { failed = 1 } failed || /: error:|^error:/' .build/test.log
	exit 1

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

.PHONY: bench
bench: setup-bench ## Measure against the peers for about a minute; pass more with ARGS.
	swift build -c release $(BENCH)
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
	@export TSAN_OPTIONS=die_after_fork=0
	RONDO_BRIDGE=1 swift test --sanitize=thread --scratch-path .build/tsan --filter $(BRIDGED) \
	  --skip "a forked child's signals are its own"

.PHONY: tsan
tsan: setup ## Run the threaded tests under the thread sanitizer.
	@# A test forks; the sanitizer would end a child that starts a thread.
	export TSAN_OPTIONS=die_after_fork=0
	# The sanitizer's own runtime aborts in a child that Foundation forks while other threads run, as the examples do, and
	# keeps from the handlers of such a child the signals that it gets.
	swift test --sanitize=thread --scratch-path .build/tsan --filter $(SANITIZED) \
	  --skip "ExampleTests|TranscriptTests|a forked child's signals are its own"
	# The rest of the hand-overs stay at the few that fit in with the others.
	HAND_OVERS=100000 swift test --sanitize=thread --scratch-path .build/tsan --skip-build \
	  --filter 'an item that another thread passes from loop to loop'

.PHONY: asan
asan: setup ## Run the threaded tests under the address sanitizer, leaks included.
	@mkdir -p .build
	@# XCTest, which starts the tests, leaks two small objects of its own, and Foundation's notification queue, which ours
	@# is compared with, some of its own; the program that runs Foundation's loop beside ours leaks Foundation's timers, and
	@# its loops where the process ends before their threads do; and the leak detector does not see that a live object
	@# refers to the table of its weak references.
	@printf 'leak:%s\n' libXCTest TheirQueue foundation-probe formWeakReference \
	  >.build/leaks-of-others
	export LSAN_OPTIONS=suppressions=$(CURDIR)/.build/leaks-of-others:print_suppressions=0
	# Foundation's own timers leak, so the program that is compiled for it as well has to stay out.
	swift test --sanitize=address --scratch-path .build/asan --filter $(SANITIZED) --skip TranscriptTests

.PHONY: soak
soak: setup ## Do random things to four loops for SOAK_SECONDS from SEED, half under each of two sanitizers.
	@seed=$(if $(filter file,$(origin SEED)),$$(( RANDOM * 32768 + RANDOM + 1 )),$(SEED))
	seconds=$$(( ($(SOAK_SECONDS) + 1) / 2 ))
	for sanitizer in thread address; do
	  [[ $$sanitizer == thread ]] && scratch=.build/tsan || scratch=.build/asan
	  swift build --sanitize=$$sanitizer --scratch-path $$scratch --product rondo-soak
	  soak=$$(swift build --sanitize=$$sanitizer --scratch-path $$scratch --show-bin-path)/rondo-soak
	  echo "Under the $$sanitizer sanitizer, for $$seconds s:"
	  # The leak detector does not see that a live object refers to the table of its weak references.
	  printf 'leak:%s\n' formWeakReference >$$scratch/leaks-of-others
	  LSAN_OPTIONS=suppressions=$(CURDIR)/$$scratch/leaks-of-others:print_suppressions=0 \
	    SEED=$$seed SOAK_SECONDS=$$seconds "$$soak"
	done

.PHONY: chaos
chaos: setup ## Open, half-close, reset and stall CHAOS_CONNECTIONS at random for CHAOS_SECONDS from SEED.
	CHAOS_SECONDS=$(CHAOS_SECONDS) CHAOS_CONNECTIONS=$(CHAOS_CONNECTIONS) SEED=$(SEED) swift test --filter ChaosTests

.PHONY: mutants
mutants: setup ## Prove that the tests can see: each mutant of the core must be caught. ONLY='03 16', SINCE=main.
	@SINCE='$(SINCE)' Tests/mutants/run.sh $(ONLY)

.PHONY: setup-counts
setup-counts: setup ## Install what counts need: valgrind, binutils.
	@missing=()
	command -v valgrind >/dev/null || missing+=(valgrind)
	command -v objdump >/dev/null || missing+=(binutils)
	$(install-missing)

.PHONY: counts
counts: setup-counts ## Count what each operation costs, to the unit, and compare with the table. ONLY='poll post', UPDATE=1.
	@UPDATE='$(UPDATE)' Tests/RondoCosts/run.sh $(ONLY)

.PHONY: fuzz
fuzz: setup ## Fuzz the decoders of frames with RUNS inputs each; what breaks one is left in .build/fuzz/found.
	@build=.build/fuzz
	mkdir -p $$build/found
	options=(-O -wmo -parse-as-library -swift-version 6 -package-name rondo -sanitize=fuzzer,address -I $$build)
	swiftc "$${options[@]}" -module-name RondoPorts -emit-module -emit-module-path $$build/RondoPorts.swiftmodule -c -o $$build/frames.o \
	  Sources/RondoPorts/Frames/*.swift
	swiftc "$${options[@]}" -module-name RondoFuzz -emit-module -emit-module-path $$build/RondoFuzz.swiftmodule -c -o $$build/properties.o \
	  Tests/Fuzz/Properties/*.swift
	for decoder in $(DECODERS); do
	  swiftc "$${options[@]}" -module-name Harness -o $$build/$$decoder Tests/Fuzz/Harness/$$decoder.swift $$build/*.o
	  mkdir -p $$build/corpus/$$decoder
	  $$build/$$decoder -runs=$(RUNS) -max_total_time=120 -max_len=8192 -timeout=10 -print_final_stats=1 \
	    -artifact_prefix=$$build/found/$$decoder- $$build/corpus/$$decoder Tests/Fuzz/corpus/$$decoder
	done

.PHONY: lint
lint: setup ## Check the format, the length of files and left-over markers.
	@swift format lint --strict --parallel --recursive $(FORMATTED)
	if long=$$(find Sources -name '*.swift' -exec awk 'END { if (NR > 400) print FILENAME ": " NR " lines" }' {} \; | grep .); then
	  printf 'More than 400 lines:\n%s\n' "$$long" >&2
	  exit 1
	fi
	if marks=$$(grep -rnwE 'TODO|FIXME' Sources Tests Benchmarks/Sources Benchmarks/Tests Package.swift Benchmarks/Package.swift); then
	  printf 'Left-over markers:\n%s\n' "$$marks" >&2
	  exit 1
	fi

.PHONY: format
format: setup ## Rewrite the code in the project's format.
	swift format --in-place --parallel --recursive $(FORMATTED)

.PHONY: docs
docs: setup ## Make the documentation: a site that opens from the file system, and DocC's archives, in .build/docs.
	@docs=$(CURDIR)/.build/docs
	scratch=$$docs/build
	docc=$$(dirname "$$(readlink -f "$$(command -v swift)")")/docc
	[[ -x $$docc ]] || docc=$$(command -v docc || true)
	products=$$(sed -nE 's/^    \.library\(name: "([A-Za-z]+)".*/\1/p' Package.swift)
	# What needs another package is documented with it; what needs another library's headers, with them if they are there.
	traits=(Log Metrics ServiceLifecycle)
	! pkg-config --exists glib-2.0 || traits+=(GLib)
	! pkg-config --exists libuv || traits+=(Libuv)
	! pkg-config --exists openssl || traits+=(TLS)
	chosen=(--traits "$$(IFS=,; echo "$${traits[*]}")")
	# What is resolved for these traits is not for builds without them.
	[[ -e Package.resolved ]] || trap 'rm -f Package.resolved' EXIT
	includes=()
	for flag in $$(pkg-config --cflags-only-I glib-2.0 libuv 2>/dev/null || true); do includes+=(-Xcc "$$flag"); done
	for product in $$products; do
	  swift build --target $$product --scratch-path "$$scratch" "$${chosen[@]}"
	  rm -rf "$$docs/graphs/$$product"
	  mkdir -p "$$docs/graphs/$$product"
	  # The modules in C that it may have: written by hand, or by SwiftPM.
	  maps=()
	  for map in Sources/*/module.modulemap Sources/*/include/module.modulemap "$$scratch"/debug/C*.build/module.modulemap; do
	    [[ ! -e $$map ]] || maps+=(-Xcc "-fmodule-map-file=$$map")
	  done
	  # Extracted, not emitted by the compiler: that would put all of Foundation into what re-exports it.
	  swift symbolgraph-extract -module-name $$product -target "$$(uname -m)-unknown-linux-gnu" \
	    -I "$$scratch/debug/Modules" -output-dir "$$docs/graphs/$$product" -emit-extension-block-symbols \
	    -skip-synthesized-members -experimental-allowed-reexported-modules=Rondo "$${maps[@]}" "$${includes[@]}"
	  if [[ -n $$docc ]]; then
	    "$$docc" convert Sources/$$product/$$product.docc \
	      --fallback-display-name $$product --fallback-bundle-identifier $$product \
	      --additional-symbol-graph-dir "$$docs/graphs/$$product" --output-path "$$docs/$$product.doccarchive" \
	      &>"$$docs/$$product.log" || { cat "$$docs/$$product.log" >&2; exit 1; }
	    # A parameter whose name says what it is needs no words.
	    if grep -E '^(warning|error):' "$$docs/$$product.log" | grep -vE "^warning: Parameter '.*' is missing documentation"; then
	      echo "DocC has warned of $$product: .build/docs/$$product.log" >&2
	      exit 1
	    fi
	  fi
	done
	[[ -n $$docc ]] || echo 'This Swift toolchain has no docc: there are no archives, only the site.'
	# DocC's own pages are a program that a server has to hand out; these are files.
	swiftc -O -swift-version 6 Tests/Pages/*.swift -o "$$docs/pages"
	rm -rf "$$docs/site"
	"$$docs/pages" $(CURDIR) "$$docs/graphs" "$$docs/site"

.PHONY: pictures
pictures: ## Draw the pictures of the documentation anew.
	@swift Tests/Pictures/draw.swift Sources/Rondo/Rondo.docc/Resources

.PHONY: install
install: setup ## Build librondo.so, install it, its headers and rondo.pc under PREFIX; DESTDIR=, RUNTIME=shared.
	@Sources/CRondo/Library/install.sh '$(PREFIX)' '$(DESTDIR)' '$(RUNTIME)'

.PHONY: setup-c
setup-c: setup ## Install a C and a C++ compiler, which the C API is tested with beside the toolchain's.
	@missing=()
	command -v gcc >/dev/null || missing+=(gcc libc6-dev)
	command -v g++ >/dev/null || missing+=(g++)
	$(install-missing)

.PHONY: c-test
c-test: setup-c ## Install librondo.so in both forms; compile and run the examples in C, C++ and Python with it.
	@Tests/CInstall/run.sh

.PHONY: clean
clean: ## Remove everything that was built.
	rm -rf .build Benchmarks/.build

# Each recipe is one script.
.ONESHELL:
