#!/usr/bin/env python3
"""headers.py ROOT BUILD - every header compiles alone, and twice.

With the flags of a source file of the same folder (compile_commands.json), so
that it sees the headers of its own library's libraries and no others.
"""

import json
import pathlib
import shlex
import subprocess
import sys

DROP = {"-c", "-MD", "-MMD"}
DROP_WITH_VALUE = {"-o", "-MF", "-MT", "-MQ"}


def flags_of(command):
    """The compiler and its flags, without input and output."""
    out, words = [], iter(shlex.split(command))
    for word in words:
        if word in DROP_WITH_VALUE:
            next(words)
        elif word not in DROP and not word.endswith(".c"):
            out.append(word)
    return out


def main(root, build):
    root = pathlib.Path(root).resolve()
    flags = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        folder = pathlib.Path(entry["file"]).resolve().parent
        flags.setdefault(folder, flags_of(entry["command"]))
    checked = failed = 0
    for top in ("agent", "policy", "certs"):
        for header in sorted((root / top).rglob("*.h")):
            if header.parent not in flags:
                print(f"{header}: no source of its folder is compiled",
                      file=sys.stderr)
                failed += 1
                continue
            text = f'#include "{header}"\n' * 2 + "typedef int headers_alone;\n"
            run = subprocess.run(
                flags[header.parent] + ["-fsyntax-only", "-x", "c", "-"],
                input=text, text=True, cwd=build)
            checked += 1
            failed += run.returncode != 0
    if checked == 0:
        print("headers: nothing to check", file=sys.stderr)
    return 1 if failed or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
