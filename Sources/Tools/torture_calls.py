"""Which calls torture.py fails, with which errnos, and where in the code a trace of strace's has them."""

import re

NETWORK = "ENETDOWN EPROTO ENOPROTOOPT EHOSTDOWN ENONET EHOSTUNREACH EOPNOTSUPP ENETUNREACH"
# What the man pages list of errors that a correct program can meet, those first that a daemon meets most. Calls that are
# not here cannot fail (getpid), fail by a mistake of the caller's alone (rt_sigaction), cannot be failed from outside
# (a futex, the end of a process) or are the allocator's (mmap, brk), whose failure ends any program in Swift. close(2)
# would have to close in failing, and would not. The dynamic loader's calls, and what precedes main, are not counted.
ERRNOS = {
    "accept4": "ECONNABORTED EMFILE ENFILE ENOBUFS ENOMEM EPERM EAGAIN EINTR " + NETWORK,
    "bind": "EADDRINUSE EACCES EADDRNOTAVAIL ENOMEM ENOENT EROFS",
    "clone": "EAGAIN ENOMEM",
    "clone3": "EAGAIN ENOMEM",
    "connect": "",
    "dup": "EMFILE",
    "epoll_create1": "EMFILE ENFILE ENOMEM",
    "epoll_ctl": "ENOSPC ENOMEM",
    "epoll_pwait": "EINTR",
    "epoll_wait": "EINTR",
    "eventfd2": "EMFILE ENFILE ENOMEM",
    "fstat": "ENOMEM",
    "getpeername": "ENOTCONN",
    "inotify_add_watch": "ENOSPC ENOMEM EACCES ENOENT",
    "inotify_init1": "EMFILE ENFILE ENOMEM",
    "listen": "EADDRINUSE",
    "memfd_create": "EMFILE ENFILE ENOMEM",
    "nanosleep": "EINTR",
    "clock_nanosleep": "EINTR",
    "newfstatat": "ENOMEM",
    "openat": "EMFILE ENFILE ENOMEM EACCES",
    "pidfd_open": "EMFILE ENFILE ENOMEM",
    "pipe2": "EMFILE ENFILE",
    "poll": "EINTR ENOMEM",
    "ppoll": "EINTR ENOMEM",
    "read": "EINTR EAGAIN EIO",
    "readlink": "ENOMEM EACCES",
    "recvfrom": "ECONNRESET ENOMEM EAGAIN EINTR",
    "recvmsg": "ECONNRESET ENOMEM EAGAIN EINTR",
    "sendmsg": "EPIPE ENOBUFS ENOMEM EAGAIN EINTR ECONNRESET",
    "sendto": "EPIPE ENOBUFS ENOMEM EAGAIN EINTR ECONNRESET",
    "setsockopt": "ENOMEM ENOBUFS",
    "socket": "EMFILE ENFILE ENOBUFS ENOMEM EACCES EAFNOSUPPORT",
    "socketpair": "EMFILE ENFILE ENOMEM",
    "timerfd_create": "EMFILE ENFILE ENOMEM",
    "timerfd_settime": "ENOMEM",
    "unlink": "EACCES EPERM EROFS",
    "vfork": "EAGAIN ENOMEM",
    "wait4": "EINTR",
    "waitid": "EINTR",
    "write": "EINTR EAGAIN EIO ENOSPC EPIPE",
}
# What depends on the file: pipe(7), eventfd(2), timerfd_create(2), inotify(7), the sockets' calls. No counter of signals
# is ever full. fstat(2) needs memory where a file system has to be asked; a socket, a pipe and what has no inode have none.
OF_FILES = {
    "read": {
        "anon_inode:eventfd": "EAGAIN", "anon_inode:timerfd": "EAGAIN ECANCELED", "anon_inode:inotify": "EAGAIN EINTR",
        "pipe:": "EAGAIN EINTR", "socket:": ERRNOS["recvfrom"], "/": "EIO",
    },
    "write": {"anon_inode:eventfd": "", "pipe:": "EAGAIN EINTR EPIPE", "socket:": ERRNOS["sendto"]},
    "newfstatat": {kind: "" for kind in (
        "socket:", "pipe:", "anon_inode:eventfd", "anon_inode:timerfd", "anon_inode:inotify", "anon_inode:eventpoll",
        "anon_inode:pidfd")},
}
OF_FILES["fstat"] = OF_FILES["newfstatat"]
# A loop that does not sleep waits thousands of times a second.
WAITS = ("epoll_wait", "epoll_pwait", "poll", "ppoll")
# What of a process is not the program's or Rondo's. Each reports its errors in its own way, or not at all.
OTHERS = re.compile(r"/lib(dispatch|Foundation|FoundationEssentials|_FoundationICU|swift\w+|BlocksRuntime)\.so|/ld-linux")


class Place:
    """A call of a program: where in the code, the how manieth of its thread's it is, and how many threads make as many."""

    def __init__(self, call, number, errnos, frames, threads):
        self.call, self.number, self.errnos, self.frames, self.threads = call, number, errnos, frames, threads


def errnos_of(call, line):
    """What a call may meet at the file that strace -y has written beside its descriptor."""
    listed = ERRNOS[call]
    kind = re.search(r"\(\d+<(anon_inode:\[?\w+|\w+:|/)", line)
    kind = kind[1].replace("[", "") if kind else ""
    if call in OF_FILES:
        listed = OF_FILES[call].get(kind, listed)
    elif call == "epoll_ctl" and "EPOLL_CTL_ADD" not in line:
        listed = "ENOMEM"  # Only a descriptor that is new takes one of the user's watches.
    elif call == "inotify_add_watch" and '"/", ' in line:
        listed = "ENOSPC ENOMEM EACCES"  # It is always there.
    elif call == "connect":
        # Interrupted, it would go on by itself, and strace has not begun it; sockets that do not block are never.
        listed = "ECONNREFUSED EACCES EPERM " + ("EAGAIN" if "AF_UNIX" in line else "ENETUNREACH ETIMEDOUT")
    return listed.split()


def callers(frames):
    return [frame for frame in frames if not re.match(r"\S*/lib(c|event\w*)[.-]", frame)]


def is_of_others(frames):
    """Where the stack is unknown, the thread has just begun, or ends. print and the time zone tell nobody of errors."""
    own = callers(frames)
    return not own or bool(OTHERS.search(own[0])) or any(re.search(r"/ld-linux|\((_IO_\w*write|tzset)", frame) for frame in frames)


class Event:
    """A call in a trace, with its stack and the number that strace counts it by."""

    def __init__(self, call, number, line):
        self.call, self.number, self.line, self.frames, self.is_injected = call, number, line, [], "(INJECTED)" in line


def events(trace):
    """The calls of a trace of `strace -f -y -k`."""
    counts, pending, found, current = {}, {}, [], None
    for line in open(trace, errors="replace"):
        if line.startswith(" > "):
            if current:
                current.frames.append(line[3:].strip())
            continue
        current = None
        if (match := re.match(r"(\d+) +(\w+)\(", line)) and match[2] in ERRNOS:
            key = match[1], match[2]
            counts[key] = counts.get(key, 0) + 1
            current = Event(match[2], counts[key], line)
            found.append(current)
            if "<unfinished" in line:
                pending[match[1]] = current
        elif resumed := re.match(r"(\d+) +<\.\.\. \w+ resumed", line):
            current = pending.pop(resumed[1], None)
            if current:
                current.is_injected = "(INJECTED)" in line
    return found


def places(trace):
    """The places of a plain run's trace, and how many more have a number only that a call of others has as well."""
    all_events = events(trace)
    strangers = {(event.call, event.number) for event in all_events if is_of_others(event.frames)}
    found, known = {}, set()
    for event in all_events:
        errnos = errnos_of(event.call, event.line)
        if not errnos or is_of_others(event.frames):
            continue
        key = (event.call, *(re.sub(r" \[0x.*", "", frame) for frame in event.frames[:9]))
        known.add(key)
        # strace would fail the stranger's as well.
        if (event.call, event.number) not in strangers:
            threads = sum((other.call, other.number) == (event.call, event.number) for other in all_events)
            found.setdefault(key, Place(event.call, event.number, errnos, callers(event.frames)[:4], threads))
    return list(found.values()), len(known) - len(found)


def injected(trace):
    """The calls that have failed so: strace counts those of each thread."""
    return [event for event in events(trace) if event.is_injected]


def hits(trace, errno):
    """Whether a call of the program's has failed so, and whether one of others has, of which a thread may make more."""
    of_program = [
        not (event.frames and is_of_others(event.frames)) and errno in errnos_of(event.call, event.line)
        for event in injected(trace)]
    return any(of_program), not all(of_program)
