#!/usr/bin/env python3
"""numbers.py ROOT - the sizes that a reader can hold.

Lines of a .c, of a header and of a function, comment against code in a header,
how many of our headers a .c includes, and lines of test against lines of code.
(Parameters and nesting of functions are clang-tidy's.)  A table of rows inside
a function does not count; a header of the tests is shared code of theirs and
is measured as such.
"""

import bisect
import pathlib
import re
import sys

C_LINES = 500
H_LINES = 150
FUNCTION_LINES = 60
H_COMMENT = 0.7  # comment lines for each line of code
INCLUDES = 10
INCLUDES_FREE = {"agent.c"}  # as many as there are parts
TEST_LINES = 0.6  # for each line of code


def count(text):
    """(lines with code, lines with comment); one line may be both."""
    ends = [match.start() for match in re.finditer("\n", text)]
    kinds = {"code": set(), "comment": set()}
    pattern = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|\S", re.S)
    for match in pattern.finditer(text):
        word = match.group()
        kind = "comment" if word[:2] in ("/*", "//") else "code"
        if kind == "code" and word in "{};":
            continue
        first = bisect.bisect(ends, match.start() - 1)
        for offset in range(word.count("\n") + 1):
            kinds[kind].add(first + offset)
    return len(kinds["code"]), len(kinds["comment"])


def interface(text):
    """A header without its frame and without what is no interface: includes,
    the guard, rows of a macro, bodies of inline functions."""
    text = re.sub(r"(?m)^#\s*(include|ifndef|endif|pragma).*$", "", text)
    text = re.sub(r"(?m)^#\s*define\s+\w+_H\s*$", "", text)
    text = re.sub(r"(?m)(?<=\\\n).*$", "", text)
    return re.sub(r"(?ms)^\{$.*?^\}$", "", text)


def functions(text):
    """(line, name, length without tables) of each function of a .c."""
    lines = text.split("\n")
    for begin, line in enumerate(lines):
        if line != "{" or begin == 0:
            continue
        head = begin
        while head > 0 and not re.match(r"[a-z_]\w*\(", lines[head]):
            head -= 1
        end = lines.index("}", begin)
        body = "\n".join(lines[begin + 1:end])
        body = re.sub(r"(?ms)^(\s+)(?:static )?const [^;]*?= \{$.*?^\1\};$",
                      "", body)
        name = re.match(r"\w*", lines[head]).group()
        yield head + 1, name, body.count("\n") + 1 + begin - head


def findings(root):
    code = tests = 0
    for top in ("agent", "policy", "certs", "tests"):
        for path in sorted((root / top).rglob("*.[ch]")):
            text = path.read_text()
            lines = text.count("\n")
            name = path.relative_to(root)
            header = path.suffix == ".h" and top != "tests"
            limit = H_LINES if header else C_LINES
            if lines > limit:
                yield f"{name}: {lines} lines, limit {limit}"
            for line, function, length in functions(text):
                if length > FUNCTION_LINES:
                    yield (f"{name}:{line}: {function} has {length} lines, "
                           f"limit {FUNCTION_LINES}")
            n_code, n_comment = count(interface(text) if header else text)
            if header and n_comment < H_COMMENT * n_code:
                yield (f"{name}: {n_comment} lines of comment for {n_code} of "
                       f"code, limit {H_COMMENT} for each")
            if top == "tests":
                tests += n_code
                continue
            code += n_code
            ours = set(re.findall(r'(?m)^#include "(.*)"', text))
            if path.suffix == ".c" and path.name not in INCLUDES_FREE \
                    and len(ours) > INCLUDES:
                yield f"{name}: includes {len(ours)} of our headers, " \
                      f"limit {INCLUDES}"
    if code == 0:
        yield "no source at all"
    elif tests < TEST_LINES * code:
        yield (f"{tests} lines of C tests for {code} of code, limit "
               f"{TEST_LINES} for each")


def main(root):
    failed = 0
    for finding in findings(pathlib.Path(root)):
        print(finding, file=sys.stderr)
        failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
