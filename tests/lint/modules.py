#!/usr/bin/env python3
"""The index of all modules, docs/modules.md, from the first line of each header.

    tests/lint/modules.py [ROOT]           says where the page and the tree differ
    tests/lint/modules.py [ROOT] --write   writes the page
"""

import pathlib
import re
import sys

FOLDERS = ["agent/base", "agent/forward", "agent/kafka", "agent/admin",
           "agent/demo", "agent", "policy", "certs"]
HEAD = """# Modules

One line each, from the first line of its header; the header is its manual.
`tests/lint/modules.py --write` makes this page, and a lint compares it.
"""


def purpose(header):
    """NAME.h - what it is for, up to the first full stop or blank line."""
    text = header.read_text(encoding="utf-8")
    found = re.match(r"/\* " + re.escape(header.name) + r" - (.*?)"
                     r"(?:\n \*\s*\n|\*/)", text, re.S)
    if found is None:
        return None
    words = " ".join(re.sub(r"\n \*", " ", found.group(1)).split())
    return words.rstrip(".")


def page(root):
    lines, silent = [HEAD], []
    for folder in FOLDERS:
        lines += [f"\n## {folder}/\n", "| module | what it is for |",
                  "| --- | --- |"]
        for header in sorted((root / folder).glob("*.h")):
            words = purpose(header)
            if words is None:
                silent.append(f"{folder}/{header.name}")
                continue
            words = words.replace("|", "\\|")
            lines.append(f"| `{header.stem}` | {words} |")
    return "\n".join(lines) + "\n", silent


def main():
    words = [one for one in sys.argv[1:] if one != "--write"]
    root = pathlib.Path(words[0] if words else ".")
    text, silent = page(root)
    target = root / "docs/modules.md"
    for name in silent:
        print(f"{name}: its first line does not say what it is for")
    if "--write" in sys.argv:
        target.write_text(text, encoding="utf-8")
    elif not target.exists() or target.read_text(encoding="utf-8") != text:
        print("docs/modules.md is not what the headers say: "
              "run tests/lint/modules.py --write")
        return 1
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
