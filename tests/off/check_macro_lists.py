#!/usr/bin/env python3
"""The list of public macros is the same on, off and in public_macros.txt.

usage: check_macro_lists.py --include DIR [--library-include DIR]… COMPILER

Names and parameter lists of every DT_ macro that each entry header defines, as the preprocessor sees them. None may be
a name of the system's headers (<elf.h> has DT_INIT, DT_HASH and more). Exit status: 0 equal, 1 not.
"""
import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SYSTEM = "#include <dirent.h>\n#include <elf.h>\n#include <fts.h>\n#include <link.h>\n"


def macros_of(compiler, flags, text):
    """Public macro → its parameter list without spaces, None when it has none."""
    seen = subprocess.run([compiler, "-std=c++17", *flags, "-dM", "-E", "-x", "c++", "-"], input=text, check=True,
                          capture_output=True, text=True).stdout
    found = re.findall(r"^#define (DT_\w+)(\([^)]*\))?", seen, re.M)
    return {name: parameters.replace(" ", "") or None for name, parameters in found if not name.startswith("DT_DETAIL_")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", required=True, type=pathlib.Path)
    parser.add_argument("--library-include", action="append", default=[])
    parser.add_argument("compiler")
    options = parser.parse_args()
    flags = ["-I", str(options.include)] + [f"-isystem{directory}" for directory in options.library_include]

    listed = {}
    for line in (HERE / "public_macros.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, parameters = re.fullmatch(r"(DT_\w+)(\(.*\))", line.replace(" ", "")).groups()
            listed[name] = parameters
    system = macros_of(options.compiler, [], SYSTEM)
    headers = sorted(h for h in (options.include / "dtdebug").glob("*.hpp") if not h.stem == "off")

    problems = []
    everything = {}
    checked = 0
    for header in headers:
        text = f"#include <dtdebug/{header.name}>\n"
        try:
            on, off = (macros_of(options.compiler, flags + define, text) for define in (["-DDTDEBUG"], []))
        except subprocess.CalledProcessError as error:
            if re.search(r"fatal error: (mpi|nccl|cuda\w*|torch)[./]", error.stderr) and not options.library_include:
                print(f"left out {header.name}: its library is not there")
                continue
            problems.append(f"{header.name}: {error.stderr}")
            continue
        on, off = ({n: p for n, p in m.items() if n not in system} for m in (on, off))
        checked += 1
        for name in sorted(on.keys() | off.keys()):
            if on.get(name, "") != off.get(name, ""):
                problems.append(f"{header.name}: {name} is {on.get(name, 'absent')} on, {off.get(name, 'absent')} off")
        everything.update(on)
        everything.update(off)
    for name in sorted(everything.keys() | listed.keys()):
        if everything.get(name, "") != listed.get(name, ""):
            problems.append(f"{name} is {everything.get(name, 'absent')} in the headers, {listed.get(name, 'absent')} in the list")
    problems += [f"{name} is a name of the system's headers" for name in listed if name in system]
    # A name that the system has too would have been left out above: it must not be ours by any spelling.
    for header in (options.include / "dtdebug").rglob("*.hpp"):
        for name in re.findall(r"^\s*#\s*define\s+(DT_\w+)", header.read_text(), re.M):
            if name in system:
                problems.append(f"{header.name} defines {name}, which the system's headers have")
    print("\n".join(problems) if problems else f"{len(listed)} macros in {checked} entry headers: on, off and the list agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
