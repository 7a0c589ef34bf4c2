"""The programs of torture.py: how each is started, used and ended, and what of its work is to be seen."""

import os
import re
import signal
import socket
import time


class Unexplained(Exception):
    """What nobody may see."""


class Ended(Exception):
    """The program ended before its work was done."""


class Degraded(Exception):
    """The program goes on without a part of its work, and has said why."""


class Program:
    """One that does its work by itself, prints what it did, and ends."""

    # Whether what it prints has to be seen before it ends.
    terminal = False
    # Whether it may go on, and end with 0, when it has said what it goes on without.
    may_go_on = False
    # Whether `end` has it end: others end by themselves.
    is_told_to_end = False
    # Whether its children are tortured as it is.
    follows = True
    # Its calls on sockets that it watches edge-triggered.
    edges = ()

    def __init__(self, name, *words, shown=lambda text: text):
        self.name, self.words, self.shown = name, words, shown

    def is_a_lie(self, call, errno):
        """Whether the kernel never says this: an edge follows each EAGAIN, and none follows one that strace has made."""
        return errno == "EAGAIN" and call in self.edges

    def arguments(self, run):
        return list(self.words)

    def prepare(self, run):
        pass

    def exercise(self, run):
        run.finish()
        if run.ended != 0:
            raise Ended
        if run.place is not None and self.shown(run.output()) != self.expected:
            raise Ended

    def end(self, run):
        pass

    def expect(self, run):
        """Takes what a plain run did for what is right."""
        self.waits, self.seconds = run.waits, run.seconds
        self.expected = self.shown(run.output())


class Pair(Program):
    """Asks three things of its child; where an answer fails, it says so, and asks the next."""

    may_go_on = True


class Client:
    """A client that is told when its connection ends: then it has not been lost."""

    def __init__(self, run, address):
        self.run, self.received, self.is_over = run, b"", False
        self.socket = socket.socket(socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX)
        try:
            self.socket.settimeout(10)
            self.socket.connect(address)
        except OSError:
            self.is_over = True
        self.socket.setblocking(False)

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            self.is_over = True

    def look(self):
        try:
            data = self.socket.recv(1 << 16)
            self.received += data
            self.is_over = self.is_over or not data
        except BlockingIOError:
            pass
        except OSError:
            self.is_over = True

    def hears(self, text, speaker=None):
        """Waits for a text; false if the client, or the one that has said it, is told instead that there will be none."""
        def is_settled():
            for client in (self, speaker or self):
                client.look()
            return self.is_over or text in self.received or bool(speaker) and speaker.is_over
        self.run.wait_for(f"a client waits in silence for {text!r}, and has {self.received[-80:]!r}", is_settled)
        return text in self.received

    def close(self):
        self.socket.close()


class Server(Program):
    """One that serves until it is told to stop."""

    may_go_on = True
    is_told_to_end = True
    signal = signal.SIGTERM

    def address(self, run):
        return (run.address, 7007)

    def arguments(self, run):
        return [word.format(address=run.address, scratch=run.scratch) for word in self.words]

    def begin(self, run):
        """Waits until somebody can connect."""
        def connects():
            client = Client(run, self.address(run))
            client.close()
            return not client.is_over
        run.wait_for("nobody can connect", connects)

    def exercise(self, run):
        self.begin(run)
        baseline = run.descriptors() if run.place is None else None
        for name in (b"first", b"second"):
            self.retry(run, lambda: self.serves(run, name), name)
        if baseline is not None:
            time.sleep(1)
            self.descriptors = run.descriptors()
        # Who spins has the time to show it, and who leaks descriptors the time to close them.
        time.sleep(0.3)
        run.wait_for("descriptors are left", lambda: run.descriptors() <= self.descriptors)

    def retry(self, run, attempt, what):
        for _ in range(8):
            if attempt():
                return
            if run.has_ended():
                raise Ended
            time.sleep(0.1)
        run.wait_for(f"nobody serves {what!r}", lambda: False, limit=5)

    def end(self, run):
        if not run.has_ended():
            os.kill(run.pid, self.signal)


class Echo(Server):
    def serves(self, run, name):
        client = Client(run, self.address(run))
        try:
            for number in range(3):
                text = b"%s %d." % (name, number)
                sent = client.received + text
                client.send(text)
                if not client.hears(text):
                    return False
                if client.received != sent:
                    raise Unexplained(f"{sent!r} came back as {client.received!r}")
            return True
        finally:
            client.close()


class AsyncEcho(Echo):
    edges = ("accept4", "recvfrom", "sendto")


class RondoEcho(Echo):
    """Over TCP, and then over a Unix-domain socket."""

    def exercise(self, run):
        super().exercise(run)
        run.is_local = True
        self.retry(run, lambda: self.serves(run, b"third"), b"third")

    def address(self, run):
        return f"{run.scratch}/echo.sock" if getattr(run, "is_local", False) else (run.address, 7007)


class Chat(Server):
    def serves(self, run, name):
        one, other = Client(run, self.address(run)), Client(run, self.address(run))
        try:
            if not one.hears(b"Welcome") or not other.hears(b"Welcome"):
                return False
            one.send(b"hello of the %s\n" % name)
            if not other.hears(b"hello of the %s\n" % name, one):
                return False
            one.send(b"/who\n")
            if not one.hears(b", ") or not one.hears(b"guest-"):
                return False
            if other.received.count(b"hello of the") != 1:
                raise Unexplained(f"said twice: {other.received!r}")
            return True
        finally:
            one.close()
            other.close()

    def exercise(self, run):
        super().exercise(run)
        os.kill(run.pid, signal.SIGUSR1)
        run.wait_for("SIGUSR1 is not answered", lambda: "are here" in run.output())


class FirstSteps(Server):
    terminal = True
    signal = signal.SIGINT

    def begin(self, run):
        def port():
            match = re.search(r"Connect to 127\.0\.0\.1:(\d+)", run.output())
            run.port = match and int(match[1])
            return run.port
        run.wait_for("it does not say where it listens", port)

    def address(self, run):
        return ("127.0.0.1", run.port)

    def serves(self, run, name):
        client = Client(run, self.address(run))
        try:
            return client.hears(b"Hello, and goodbye.\n")
        finally:
            client.close()

    def exercise(self, run):
        super().exercise(run)
        run.wait_for("no second passes", lambda: "one more second" in run.output())


class Cron(Server):
    # The commands that it runs are strangers.
    follows = False

    def prepare(self, run):
        self.write(run, "@start echo hello >>hello\n@every 100ms echo tick >>ticks\n* * * * * true\n")

    def write(self, run, text):
        with open(run.path("new"), "w") as file:
            file.write(text)
        os.rename(run.path("new"), run.path("jobs"))

    def arguments(self, run):
        return [self.words[0], run.path("jobs"), "--grace", "5"]

    def lines(self, run, name):
        try:
            return open(run.path(name)).read().splitlines()
        except FileNotFoundError:
            return []

    def begin(self, run):
        run.wait_for("no job runs", lambda: self.lines(run, "hello") and len(self.lines(run, "ticks")) >= 2)

    def exercise(self, run):
        self.begin(run)
        self.write(run, "@every 100ms echo other >>others\n")
        run.wait_for("the new crontab is not read", lambda: len(self.lines(run, "others")) >= 2)
        os.kill(run.pid, signal.SIGUSR1)
        run.wait_for("SIGUSR1 is not answered", lambda: "jobs, " in run.output())
        if self.lines(run, "hello") != ["hello"]:
            raise Unexplained("the job of the start ran twice")


def programs(directories):
    """All of them, from the directories of programs."""
    directories = list(directories)

    def at(name):
        paths = [os.path.join(directory, name) for directory in directories]
        return next((path for path in paths if os.path.exists(path)), paths[0])

    def shown_of_stall(text):
        return [re.search(f'"isOver":{word}', text) is not None for word in ("false", "true")]

    return [
        AsyncEcho("async-echo", at("async-echo"), "{address}:7007"),
        Echo("echo-daemon", at("echo-daemon"), "{address}:7007"),
        RondoEcho("rondo-echo", at("rondo-echo"), "--listen", "{address}:7007", "--listen", "{scratch}/echo.sock",
                  "--threads", "2", "--linger", "0.1"),
        Cron("rondo-cron", at("rondo-cron")),
        Chat("rondo-chat", at("rondo-chat"), "--listen", "{address}:7007", "--grace", "0.1"),
        FirstSteps("first-steps", at("first-steps")),
        Pair("message-port-pair", at("message-port-pair")),
        Program("async-main", at("async-main")),
        Program("mode-switch", at("mode-switch")),
        Program("permanent-thread", at("permanent-thread")),
        Program("bridged", at("foundation-probe"), "host", "main"),
        Program("guest", at("foundation-probe"), "guest"),
        Program("stall-monitor", at("rondo-stuck"), "sleep", "100", shown=shown_of_stall),
        Program("c-echo", at("torture-c/echo")),
        Program("c-host", at("torture-c/host"), shown=lambda text: sorted(text.splitlines())),
        Program("c-workers", at("torture-c/workers")),
    ]
