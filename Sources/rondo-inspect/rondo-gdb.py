# Lists the loops of a process or a core file in gdb: `source rondo-gdb.py`, then `rondo`, `rondo turns 20`, or
# `rondo items`.
#
# Needs no debug information: the layout of a record is fixed, and checked where it is compiled, that of items by a test. Loops are listed whose
# insight was asked for, as a stall monitor and RONDO_INSPECT do.

import struct

import gdb

KINDS = ["observer", "timer", "timeout", "source", "descriptor", "block", "main queue", "job"]
REASONS = ["descriptor", "main queue", "post", "timer", "timeout"]
HEAD = struct.Struct("<8sQ64siIQQQqIIQQ")
CALLOUT = struct.Struct("<QQqQ")
TURN = struct.Struct("<QqqQQqIBBxx")
CALLOUTS, TURNS = 16, 1024
ITEM_KINDS = ["observer", "source", "descriptor", "timer"]


def read(address, length):
    return bytes(gdb.selected_inferior().read_memory(address, length))


def name(label):
    address, mark = label & (1 << 48) - 1, label >> 48
    if address == 0:
        return "?"
    if mark == 0xFFFF:
        return gdb.execute(f"info symbol {address}", to_string=True).strip().split(" in section")[0]
    text = b""
    while not text.endswith(b"\0") and len(text) < 1024:
        text += read(address + len(text), 1)
    text = text[:-1].decode("utf-8", "replace")
    return text if mark == 0 else f"{text}:{mark}"


def pick(names, index):
    return names[index] if index < len(names) else "-"


def number(address, form):
    return struct.unpack(form, read(address, struct.calcsize(form)))[0]


def list_items(table, tag=None):
    """What is in a table: a pointer to slots of 64 bytes, and how many were used; a slot begins with its item.

    In the table of timers, the byte at `tag` is not 0 where there is a timeout or nothing.
    """
    slots, count = number(table + 16, "<Q"), number(table + 28, "<I")
    for slot in range(slots, slots + 64 * count, 64):
        item = number(slot, "<Q")
        if item == 0 or tag and number(slot + tag, "<B"):
            continue
        kind = pick(ITEM_KINDS, number(item + 44, "<B"))
        more = f" {number(item + 56, '<i')}" if kind == "descriptor" else ""
        member = number(item + 24, "<Q")
        modes = ", ".join(str(bit) for bit in range(64) if member >> bit & 1) or "none yet"
        print(f"  {kind}{more} {name(number(item + 48, '<Q'))}, at {item:#x}, modes {modes}")


class Rondo(gdb.Command):
    """Lists Rondo's loops: their callouts under way and their last turns, or, with `items`, what is in them."""

    def __init__(self):
        super().__init__("rondo", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        words = argument.split()
        wanted = int(words[1]) if words[:1] == ["turns"] and len(words) > 1 else 8
        place = int(gdb.parse_and_eval("(unsigned long)&rondo_loop_records"))
        record = struct.unpack("<Q", read(place, 8))[0]
        if record == 0:
            print("No loop has a record.")
        while record:
            magic, following, title, thread, depth, beat, _, _, _, _, _, timers, items = HEAD.unpack(read(record, HEAD.size))
            if magic.rstrip(b"\0") != b"rondo 4":
                print("This is the record of another version.")
                return
            title = title.split(b"\0")[0].decode("utf-8", "replace")
            print(f"loop {title}, thread {thread}, {beat} beginnings and ends, {depth} callouts under way")
            if words[:1] == ["items"]:
                if items:
                    list_items(items)
                    list_items(timers, tag=16)
                record = following
                continue
            at = record + HEAD.size
            for index in range(min(depth, CALLOUTS)):
                label, _, detail, kind = CALLOUT.unpack(read(at + index * CALLOUT.size, CALLOUT.size))
                more = f" (descriptor {detail})" if kind == 4 else ""
                print(f"  in {pick(KINDS, kind)} {name(label)}{more}")
            at += CALLOUTS * CALLOUT.size
            count = struct.unpack("<Q", read(at, 8))[0]
            for index in range(max(0, count - min(wanted, TURNS)), count):
                turn = TURN.unpack(read(at + 8 + index % TURNS * TURN.size, TURN.size))
                number, _, asleep, label, _, _, callouts, reason, kind = turn
                slept = f"slept {asleep // 1000} us, woken by {pick(REASONS, reason)}" if asleep >= 0 else "did not sleep"
                what = f"{pick(KINDS, kind)} {name(label)}" if kind != 255 else "nothing called"
                print(f"  turn {number}: {slept}; {callouts} callouts, {what}")
            record = following


Rondo()
