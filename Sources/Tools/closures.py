#!/usr/bin/env python3
"""Finds tests in which the compiler (6.3.1) may take one closure for another: `make lint` calls it.

    closures.py PATH...

In the body of a closure, a closure among the arguments of #expect or #require, or behind them, can have the name of a
later closure of the same body. If both have the same type, the later one is not called, but the first one a second time:

    host.run {
      #expect(list.contains { $0 == 1 })
      let found = list.contains { $0 == 2 }  // Asks for 1.
    }

Functions do not have the fault. The cure is to read a value first, and then to expect it.
"""
import re
import sys
from pathlib import Path

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|#*"""|#*"|`[^`\n]*`|#?\w+|\n|[^\w\s]', re.S)
# What begins a statement whose braces are no closure.
BLOCKS = set(
    "func init deinit struct class enum actor extension protocol if else for while guard switch do catch repeat defer "
    "subscript get set willSet didSet".split())


def skip_string(text, start, quote):
    """The end of a string literal; what it interpolates is a part of it."""
    hashes = quote.count("#")
    end, escape = quote[hashes:] + "#" * hashes, "\\" + "#" * hashes
    place = start
    while place < len(text) and not text.startswith(end, place):
        if text.startswith(escape + "(", place):
            depth, place = 1, place + len(escape) + 1
            while depth and place < len(text):
                depth += {"(": 1, ")": -1}.get(text[place], 0)
                place += 1
        else:
            place += len(escape) + 1 if text.startswith(escape, place) else 1
    return place + len(end)


class Scope:
    """What braces or parentheses hold."""

    def __init__(self, outer, kind):
        # "closure", "block" or "paren".
        self.outer, self.kind = outer, kind
        # The words of the statement under way, whether it holds the arguments of #expect, and whether it is a function's.
        self.words, self.is_macro, self.is_function = [], False, False
        # In the body of a closure: the line of its first macro with a closure.
        self.first = None


def body(scope):
    """The closure or function around a place; blocks and parentheses are parts of it."""
    while scope.kind != "closure" and not scope.is_function:
        scope = scope.outer
    return scope


def find(text):
    """The lines of closures that may be taken for the one of an expectation, and the lines of those."""
    top = Scope(None, "block")
    top.is_function = True
    scope, found, line, place = top, [], 1, 0
    while match := TOKEN.search(text, place):
        token, place = match.group(), match.end()
        if token.endswith('"'):
            end = skip_string(text, place, token)
            line += text.count("\n", place, end)
            place = end
            scope.words.append('""')
        elif token.startswith(("//", "/*")):
            line += token.count("\n")
        elif token == "\n":
            line += 1
            rest = text[place:].lstrip()
            if scope.kind != "paren" and not rest.startswith((".", "?", "&", "|", "=", "+", "-", "*", "{")):
                scope.words = []
        elif token == ";":
            scope.words = []
        elif token in "([":
            inner = Scope(scope, "paren")
            inner.is_macro = scope.words[-1:] in (["#expect"], ["#require"])
            scope.words.append(token)
            scope = inner
        elif token in ")]":
            scope = scope.outer
        elif token == "{":
            words = [word for word in scope.words if not word.startswith("@")]
            is_block = scope.kind != "paren" and (
                not words and scope.kind == "block" or any(word in BLOCKS for word in words)
                or "var" in words and "=" not in words)
            inner = Scope(scope, "block" if is_block else "closure")
            inner.is_function = is_block and bool({"func", "init", "deinit", "var", "get", "set"} & set(words))
            if not is_block:
                expectation, outer = "#expect" in words or "#require" in words, scope
                while outer.kind == "paren":
                    expectation, outer = expectation or outer.is_macro, outer.outer
                around = body(scope)
                if expectation and around.first is None:
                    around.first = line
                elif not expectation and around.kind == "closure" and around.first is not None:
                    found.append((line, around.first))
            scope.words.append(token)
            scope = inner
        elif token == "}":
            outer = scope.outer
            if scope.kind == "block" and outer is not None:
                outer.words = []
            scope = outer or top
        else:
            scope.words.append(token)
    return found


SAMPLE = '''
@Test func one() {
  #expect(run { 0 } == 0)
  let x = run { 5 }
}
@Test func two() throws {
  run { host in
    let first = run { 1 }
    let second = try #require(run { 2 })
    for number in list where number > 0 {
      let x = "\\(run { 3 })" + run { 5 }
      if let y { #expect(throws: E.self) { try f() } } else { z(list.map(\\.a)) }
    }
    run { let x = run { 6 } }
  }
  host.run {
    #expect(x == 1, "{ }")
    func inner() -> Int { run { 1 } }
    #expect(list.allSatisfy { $0 > 1 })
    guard let a = b else { return }
    switch c { default: break }
  }
}
'''


def main():
    if find(SAMPLE) != [(11, 9), (14, 9)]:
        sys.exit(f"The search is wrong: of its sample it finds {find(SAMPLE)}.")
    files = sorted(file for path in sys.argv[1:] for file in Path(path).rglob("*.swift") if ".build" not in file.parts)
    lines = [f"{file}:{line}: after #expect or #require in line {first}" for file in files
             for line, first in find(file.read_text())]
    if lines:
        sys.exit("\n".join(lines + [
            "The compiler may take these closures for the expectation's: read a value first, then expect it."]))


main()
