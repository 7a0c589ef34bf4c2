"""Fails each system call of each program once, or from then on, for each errno that it may meet: see torture.sh.

    torture.py PROGRAMS [--quick] [--seed N] [--jobs N] [--only 'PROGRAM [CALL [N|N+ [ERRNO]]]']

PROGRAMS is a directory of programs. A plain run of each, under `strace -k`, finds the places in the code that make a call;
then the program is run once for each place and errno with that call failing, while an exercise that knows the program uses
it. strace counts the calls of each thread, so that in a program of several threads the same number may hit more than one.

A run is explained if the program did its work, and then ended with 0, or if it ended, or goes on with less, and has said
the cause. Nobody waits in vain meanwhile: a client that is told, by the end of its connection, may try again. What is
interrupted (EINTR) is never an excuse. Neither is the machine: what takes long is no verdict unless it takes a minute.

A call that fails from the Nth time on (N+) may keep a program from its work for good. It then may not spin, and ends when it
is told to. What the kernel never says twice in a row (EAGAIN, EINTR) is not tried so.
"""

import argparse
import collections
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from torture_calls import ERRNOS, WAITS, hits, injected, places
from torture_programs import Degraded, Ended, Unexplained, programs

NEVER_AN_EXCUSE = {"EINTR": None, "EAGAIN": {"accept4", "read", "recvfrom", "recvmsg", "sendto", "sendmsg"}}
# How Rondo's errors say it, beside strerror(3) and "errno N".
WORDS = {
    "EMFILE": "no descriptors?,? .*(is|are) left|too many open files",
    "ENFILE": "no descriptors?,? .*(is|are) left|too many open files",
    "ENOMEM": "no memory (is )?left|out of memory", "ENOBUFS": "no memory (is )?left", "ENOSPC": "max_user_watches",
    "EADDRINUSE": "is in use|another port has the name", "EACCES": "not permitted|may not be read",
    "EPERM": "not permitted", "ECONNREFUSED": "nobody listens|no port has the name", "ETIMEDOUT": "the time given is over",
    "ENETUNREACH": "cannot be reached", "ENOENT": "there is no|there is nothing", "ECONNRESET": "the peer has gone", "EPIPE": "the peer has gone",
    "EAGAIN": "queue is full|no process, is left",
}
PATIENCE = 60
# How long a program whose call goes on failing is used, and how often it may make such a call meanwhile: at its stop each of
# its listeners may try 256 times. One that spins makes thousands.
LASTING, MOST_TRIES = 4, 1000


class Run:
    """One run of a program, in a directory of its own."""

    numbers = iter(range(1, 1 << 20))
    lock = threading.Lock()

    def __init__(self, program, directory, place=None, errno=None, has_stacks=True, is_lasting=False):
        self.program, self.errno, self.place, self.has_stacks = program, errno, place, has_stacks
        self.is_lasting, self.was_killed = is_lasting, False
        with Run.lock:
            number = next(Run.numbers)
        self.scratch = tempfile.mkdtemp(prefix=f"{program.name}-", dir=directory)
        # An address of its own, so that runs side by side do not meet.
        self.address = f"127.{64 + number // 62500 % 64}.{number // 250 % 250 + 1}.{number % 250 + 1}"
        self.ended = None
        self.master = None

    def path(self, name):
        return os.path.join(self.scratch, name)

    def start(self):
        self.program.prepare(self)
        strace = ["strace", "-D", "-f", "-y", "-o", self.path("trace"), "-s", "0"]
        if self.has_stacks:
            strace += ["-k"]
        if not self.program.follows:
            strace += ["-b", "execve"]
        if self.place:
            strace += ["--seccomp-bpf"] if self.program.follows else []
            strace += ["-e", "trace=" + ",".join({self.place.call, *WAITS})]
            when = f"{self.place.number}{'+' if self.is_lasting else ''}"
            strace += ["-e", f"inject={self.place.call}:error={self.errno}:when={when}"]
        else:
            strace += ["-e", "trace=" + ",".join({*ERRNOS, *WAITS})]
        output, error = open(self.path("out"), "wb"), open(self.path("err"), "wb")
        if self.program.terminal:
            self.master, output = os.openpty()
            os.set_blocking(self.master, False)
        self.process = subprocess.Popen(
            strace + self.program.arguments(self), stdin=subprocess.DEVNULL, stdout=output, stderr=error, cwd=self.scratch,
            env=dict(os.environ, SWIFT_BACKTRACE="enable=no", RONDO_TORTURE=self.scratch), start_new_session=True)
        self.pid = self.process.pid
        error.close()
        os.close(output) if self.program.terminal else output.close()

    def output(self):
        if self.master is not None:
            try:
                with open(self.path("out"), "ab") as file:
                    file.write(os.read(self.master, 1 << 16))
            except OSError:
                pass
        return open(self.path("out"), errors="replace").read()

    def said(self):
        """What the program has said of errors; libevent's own notes are none of its."""
        text = open(self.path("err"), errors="replace").read() + self.output()
        return "\n".join(line for line in text.splitlines() if not line.startswith(("[warn]", "strace: ")))

    def has_named_the_cause(self):
        if self.errno is None:
            return False
        number = getattr(__import__("errno"), self.errno)
        pattern = rf"{re.escape(os.strerror(number))}|errno {number}\b|\b{self.errno}\b|{WORDS.get(self.errno, '(?!)')}"
        return re.search(pattern, self.said(), re.IGNORECASE) is not None

    def has_ended(self):
        if self.ended is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.ended = os.waitstatus_to_exitcode(status)
                self.seconds = usage.ru_utime + usage.ru_stime
                self.process.returncode = self.ended
        return self.ended is not None

    def wait_for(self, what, condition, limit=PATIENCE):
        """Waits until something is so; who has said why it will not be is not waited for."""
        start, told = time.monotonic(), None
        while not condition():
            if self.has_ended():
                raise Ended
            now = time.monotonic()
            if told is None and self.has_named_the_cause():
                told = now
            if told is not None and now - told > 3 or self.is_lasting and now - start > LASTING:
                raise Degraded
            if now - start > limit:
                raise Unexplained(f"{what}: not after {limit} s")
            time.sleep(0.01)

    def descriptors(self):
        try:
            return len(os.listdir(f"/proc/{self.pid}/fd"))
        except OSError:
            return 0

    def finish(self):
        """Waits for the end, after which the trace is complete."""
        try:
            self.wait_for("the end", self.has_ended)
        except (Ended, Degraded):
            pass
        if not self.has_ended():
            if self.is_lasting and not self.program.is_told_to_end:
                self.was_killed = True
                os.kill(self.pid, signal.SIGKILL)
            limit = time.monotonic() + PATIENCE
            while not self.has_ended() and time.monotonic() < limit:
                time.sleep(0.01)
            if not self.has_ended():
                raise Unexplained("it does not end")
        limit = time.monotonic() + 10
        while not re.search(rf"(?m)^{self.pid} +\+\+\+ ", self.trace()) and time.monotonic() < limit:
            time.sleep(0.01)

    def trace(self):
        return open(self.path("trace"), errors="replace").read()

    def clean(self):
        # Not the group alone: a child may have left it. Without strace, all that it would trace fails, and it spins.
        limit = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < limit:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.01)
        if not self.has_ended():
            os.wait4(self.pid, 0)
        if self.master is not None:
            os.close(self.master)

    def processes(self):
        """Those of the run, in whatever group: each has inherited a variable. One that has ended has none."""
        mark, found = f"RONDO_TORTURE={self.scratch}".encode(), []
        for entry in os.scandir("/proc"):
            try:
                if entry.name.isdigit() and mark in open(f"{entry.path}/environ", "rb").read().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def judge(self):
        """Runs it, and says what is wrong; nothing if all is explained."""
        is_done = False
        try:
            self.start()
            try:
                self.program.exercise(self)
                is_done = True
            except (Ended, Degraded):
                pass
            self.program.end(self)
            self.finish()
            self.verdict(is_done)
        except Unexplained as error:
            return str(error)
        finally:
            self.clean()
        return None

    def verdict(self, is_done):
        self.waits = len(re.findall(r"\b(?:%s)\(" % "|".join(WAITS), self.trace()))
        if self.place is None:
            if not is_done or self.ended != 0:
                raise Unexplained(f"a plain run ended with {self.ended}: {self.said()[:300]}")
            return
        if self.waits > 3 * self.program.waits + 300 or self.seconds > 10 + 3 * self.program.seconds:
            raise Unexplained(f"it spins: {self.waits} waits, {self.seconds:.1f} s of processor time")
        if self.is_lasting:
            tries = self.trace().count("(INJECTED)")
            if tries > 3 * self.program.calls[self.place.call] + MOST_TRIES:
                raise Unexplained(f"it spins: {self.place.call} failed {tries} times")
            if self.was_killed or self.ended == 0:
                return
        is_no_excuse = self.errno in NEVER_AN_EXCUSE and (
            NEVER_AN_EXCUSE[self.errno] is None or self.place.call in NEVER_AN_EXCUSE[self.errno])
        if is_done and self.ended == 0:
            return
        what = "its work is done, but it ended" if is_done else "it did not do its work, and ended"
        if is_no_excuse:
            raise Unexplained(f"{what} with {self.ended}")
        if self.ended == 0 and not is_done and not self.program.may_go_on:
            raise Unexplained("it did not do its work, and ended with 0")
        if not self.has_named_the_cause():
            raise Unexplained(f"{what} with {self.ended}, and did not say why: {self.said().strip()[:300]!r}")


def trial(directory, program, place, errno, is_lasting):
    """What is wrong with a run in which the call fails, and whether that is sure.

    Threads do not make the same number of calls each time, so that the number may hit a call of others, or none. What is
    wrong is looked at again with stacks, which tell, and cost most of a run's time. A run whose calls go on failing has
    them at once: another thread may come to the number, too, and Dispatch's spins if its timer fails for good. Such a run
    is explained if nothing is wrong with it, and unclear otherwise.
    """
    suspicion, is_ours = None, True
    for _ in range(4):
        run = Run(program, directory, place, errno, has_stacks=is_lasting or suspicion is not None, is_lasting=is_lasting)
        wrong = run.judge()
        was_hit, was_other_hit = hits(run.path("trace"), errno)
        if wrong and not is_lasting and len(injected(run.path("trace"))) > place.threads:
            # One more thread than in the plain run has made as many calls, and may be a stranger's.
            is_ours = False
        if not os.environ.get("KEEP"):
            shutil.rmtree(run.scratch, ignore_errors=True)
        if is_lasting and was_hit and was_other_hit and wrong:
            suspicion, is_ours = suspicion or wrong, False
            continue
        if not was_hit or was_other_hit and not is_lasting:
            if suspicion:
                return suspicion, False
            continue
        if run.has_stacks and wrong or not wrong and not suspicion:
            return wrong, True
        suspicion = suspicion or wrong
    # The number is the program's each time, whether or not the slower runs have shown it again.
    return suspicion, suspicion is not None and is_ours


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs=2)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(1, 1 << 30))
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count())  # They sleep most of the time.
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    only = arguments.only.split()
    chance = random.Random(arguments.seed)
    directory = tempfile.mkdtemp(prefix="torture-", dir=os.environ.get("TMPDIR"))
    chosen = [program for program in programs(map(os.path.abspath, arguments.programs)) if not only or program.name == only[0]]
    failures, work, calls, untried, lacking = [], [], 0, 0, 0
    for program in chosen:
        run = Run(program, directory)
        wrong = run.judge()
        if wrong:
            print(f"UNEXPLAINED {program.name}, without an error: {wrong}", flush=True)
            failures.append(program.name)
            continue
        program.expect(run)
        program.calls = collections.Counter(re.findall(r"(?m)^\d+ +(\w+)\(", run.trace()))
        found, shared = places(run.path("trace"))
        found = [place for place in found if len(only) < 2 or place.call == only[1]]
        if len(only) > 2:
            found = [place for place in found if place.number == int(only[2].removesuffix("+"))]
        calls += len(found)
        lasting = set()
        for place in sorted(found, key=lambda place: place.number):
            errnos = [errno for errno in place.errnos if len(only) < 4 or errno == only[3]]
            errnos = [errno for errno in errnos if not program.is_a_lie(place.call, errno)]
            errnos = chance.sample(errnos, min(1, len(errnos))) if arguments.quick else errnos
            if len(only) < 3 or not only[2].endswith("+"):
                work += [(program, place, errno, False) for errno in errnos]
            if len(only) < 3 or only[2].endswith("+"):
                # Once for a call and errno: the first place fails for all that follow.
                for errno in errnos:
                    if errno not in ("EAGAIN", "EINTR") and (place.call, errno) not in lasting:
                        lasting.add((place.call, errno))
                        work.append((program, place, errno, True))
        print(f"{program.name}: {len(found)} calls" + (f", {shared} more untried" if shared else ""), flush=True)
        untried += shared
    chance.shuffle(work)
    if arguments.quick and len(work) > 300:
        print(f"seed {arguments.seed}: 300 of {len(work)} runs, one errno a place")
        # Those that last take some seconds each.
        once, for_good = [job for job in work if not job[3]], [job for job in work if job[3]]
        work = once[:270] + for_good[:30]
    runs = len(work)
    lock = threading.Lock()

    def labour():
        nonlocal lacking
        while True:
            with lock:
                if not work:
                    return
                program, place, errno, is_lasting = work.pop()
            wrong, is_sure = trial(directory, program, place, errno, is_lasting)
            number = f"{place.number}{'+' if is_lasting else ''}"
            with lock:
                lacking += not is_sure
                if wrong and not is_sure:
                    print(f"unclear, a call of others failed instead: {program.name} {place.call} {number} {errno}: {wrong}", flush=True)
                elif wrong:
                    failures.append(program.name)
                    print(f"UNEXPLAINED {program.name} {place.call} {number} {errno}: {wrong}")
                    print("  " + "\n  ".join(place.frames))
                    print(f"  again: make torture ONLY='{program.name} {place.call} {number} {errno}'", flush=True)

    threads = [threading.Thread(target=labour) for _ in range(arguments.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not os.environ.get("KEEP"):
        shutil.rmtree(directory, ignore_errors=True)
    print(f"torture: seed {arguments.seed}, {len(chosen)} programs, {calls} calls, {runs} runs ({lacking} not reached), "
          f"{len(failures)} unexplained")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
