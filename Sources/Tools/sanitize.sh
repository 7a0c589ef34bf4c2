#!/usr/bin/env bash
# Runs the threaded tests under a sanitizer: `make asan`, `make tsan`.
#
#   sanitize.sh address|thread
set -euo pipefail
cd "$(dirname "$0")/../.."
others='^(RondoWholeTests|RondoDaemonTests|RondoFoundationTests|RondoInspectTests|RondoPortsTests|RondoBookTests|RondoSocketsTests'
# A forked child's handlers do not get the signals that the thread sanitizer keeps from them, and its threads do not run.
unsafe="a forked child's signals are its own|a forked child may drop its parent's monitor|a fork during a sample|a forked child has a door|a forked child looks up"
# Nor does it survive what a thread does in the last of its destructors.
unsafe+='|a thread that asks for its run loop while it dies'
# They link programs without the sanitizer, count what a program costs, or look at how functions call each other; a
# sanitizer changes both.
unfit='ReadmeProgramTests|ServiceProgramTests|CompilerMessagesTests|CallPathTests|the stack of a sleeping loop has no guesses'
unfit+='|RondoWholeTests\.(CountTests|BridgeCountTests|ContractTests|HostTests|MainThreadTests|ShortageTests|MainProgramTests)'
# They read the project's texts or explore a model, for minutes, and start no thread.
unfit+='|RondoTests\.(RoomTests|SleepModelTests|WakeMemoryTests|WakeProtocolTests)'
unfit+='|RondoBookTests\.(DocstringTests|ExampleTextTests|LinkTests|ReadmeTests|TraitTests)'
# It leaves a task behind that never ends, which is a leak.
unfit+='|a task that waits for Dispatch, or for nobody'
# They measure memory, of which a sanitizer takes its own.
unfit+='|RondoFoundationTests\.TimerMemoryTests|RondoPortsTests\.ExhaustionTests|the tables of symbols go'
# Lines are enough for a report, and what else there is takes minutes to read wherever a stack is told of. A module that
# is compiled as a whole takes a fifth less: nothing here is built a second time.
compiling=(-Xswiftc -gline-tables-only -Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 2)
mkdir -p .build

# For one test of the hand-overs. The rest stay at the few that fit in with the others.
hand_overs=${HAND_OVERS:-100000}
unset HAND_OVERS
case $1 in
  address)
    # XCTest, which starts the tests, leaks two small objects of its own, and Foundation's notification queue, which ours
    # is compared with, some of its own; the program that runs Foundation's loop beside ours leaks Foundation's timers,
    # and its loops where the process ends before their threads do; and the leak detector does not see that a live
    # object refers to the table of its weak references, nor what runs the main task of the tests' runner, if a thread of
    # the pool ends with the process. No stack of a test has these functions of the runner. Dispatch's records of blocks,
    # which it keeps for the next ones, lose their list with a thread of its pool; a block that is lost is reported itself.
    # The runtime's reader of images leaks a page if the image is unmapped meanwhile.
    printf 'leak:%s\n' libXCTest TheirQueue foundation-probe formWeakReference \
      _runAsyncMain swiftPMEntryPoint Testing10entryPoint Testing6RunnerV4_run33 \
      _dispatch_continuation_alloc_from_heap CachingMemoryReader >.build/leaks-of-others
    export LSAN_OPTIONS=suppressions=$PWD/.build/leaks-of-others:print_suppressions=0
    # To start a process, Foundation copies 256 bytes of each name in /proc/self/fd, beyond the last one's buffer where there
    # are many.
    echo 'interceptor_via_fun:*findMaximumOpenFromProcSelfFD*' >.build/overflows-of-others
    export ASAN_OPTIONS=suppressions=$PWD/.build/overflows-of-others
    address=(--sanitize=address "${compiling[@]}")
    # Two halves beside each other, and the tests of each one after the other: at once, those that compute would keep the
    # runtime's threads from those that wait, for minutes.
    build=("${address[@]}" --scratch-path .build/asan)
    swift build --build-tests "${build[@]}"
    tests=($(swift build "${build[@]}" --show-bin-path)/*.xctest)
    one_by_one=("${tests[0]}" --testing-library swift-testing --no-parallel --skip "$unfit")
    half='^(RondoTests|RondoInspectTests|RondoCTests)\.'
    "${one_by_one[@]}" --filter "$half" &
    failed=0
    "${one_by_one[@]}" --filter "$others)\." --skip "$half" || failed=1
    wait $! || failed=1
    ((!failed)) || exit 1
    # The servers among the examples, attacked.
    swift test "${address[@]}" --package-path Sources/Examples --scratch-path .build/examples-asan \
      --filter 'ChaosTests|ChatTests|EchoTests'
    ;;
  thread)
    # A test forks; the sanitizer would end a child that starts a thread.
    export TSAN_OPTIONS=die_after_fork=0:suppressions=$PWD/Sources/Tools/races-of-others
    # The sanitizer's own runtime aborts in a child that Foundation forks while other threads run, as the examples do.
    thread=(--sanitize=thread --scratch-path .build/tsan "${compiling[@]}")
    # Of the core's, those in files that start a thread or a task: on one thread there is no race.
    threaded=$(grep -rlE --include='*.swift' '(^|[^n])LoopThread\(|RunningLoop|withLoopThread|Thread \{|Task|DispatchQueue' \
      Tests/RondoTests | xargs grep -ohE 'struct [A-Za-z]+Tests' | awk '{ printf "%s%s", sep, $2; sep = "|" }')
    # What one thread does a hundred thousand times, the other sanitizer sees.
    alone='RondoTests\.(HeapTests|ModeSizeTests|SizeTests|SlotMemoryTests|TimeoutModelTests|TimerEntryTests)'
    alone+='|RondoSocketsTests\.StormTests|RondoDaemonTests\.SimulatedDaemonTests'
    # A signal reaches a thread that waits too late for its stack to be taken.
    alone+='|RondoSocketsTests\.EscapeTests'
    # They let other tasks run at each step: beside a thousand tests a step would wait for all of them.
    yielding='RondoSocketsTests\.ConnectionCancellationTests'
    swift build --build-tests "${thread[@]}"
    tests=($(swift build "${thread[@]}" --show-bin-path)/*.xctest)
    # One after the other, as above, and the slowest module beside all others: both wait more than they compute.
    one_by_one=("${tests[0]}" --testing-library swift-testing --no-parallel --skip "$unsafe|$unfit|$alone|$yielding")
    # A shell has what is behind it ignore these signals, which are tested.
    env --default-signal=INT,QUIT "${one_by_one[@]}" --filter '^RondoDaemonTests\.' &
    failed=0
    "${one_by_one[@]}" --filter "^RondoTests\.($threaded)\b|$others)\." --skip '^(RondoBookTests|RondoDaemonTests)\.' ||
      failed=1
    wait $! || failed=1
    ((!failed)) || exit 1
    HAND_OVERS=$hand_overs swift test "${thread[@]}" --skip-build \
      --filter "$yielding|an item that another thread passes from loop to loop"
    ;;
esac
