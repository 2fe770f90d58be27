#!/usr/bin/env python3
"""The entry headers compile in the dialects that programs use.

usage: check_dialects.py --include DIR [--mpi INCLUDE_DIR]… COMPILER…

C++17, 20 and 23, on and off, warnings as errors. Without exceptions and run-time types: all headers off; on, those that a
trainer's other sources include, while the one that starts the session is told what it needs. Exit status: 0 all hold.
"""
import argparse
import pathlib
import subprocess
import sys

FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-x", "c++", "-"]
LEAN = ["-fno-exceptions", "-fno-rtti"]
NEEDS_EXCEPTIONS = "needs -fexceptions"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", required=True, type=pathlib.Path)
    parser.add_argument("--mpi", action="append", default=[])
    parser.add_argument("compilers", nargs="+")
    options = parser.parse_args()
    paths = ["-I", str(options.include)] + [f"-isystem{directory}" for directory in options.mpi]
    light = ["record.hpp"] + (["mpi.hpp"] if options.mpi else [])
    heavy = ["dtdebug.hpp"] + (["mpi_hooks.hpp"] if options.mpi else [])
    problems = []
    count = 0

    def compile_it(compiler, flags, header):
        nonlocal count
        count += 1
        return subprocess.run([compiler, *flags, *paths, *FLAGS], input=f"#include <dtdebug/{header}>\nint main() {{}}\n",
                              capture_output=True, text=True)

    for compiler in options.compilers:
        newest = "-std=c++2b" if compile_it(compiler, ["-std=c++23"], "core/config.hpp").returncode != 0 else "-std=c++23"
        for standard in ("-std=c++17", "-std=c++20", newest):
            for mode in (["-DDTDEBUG"], []):
                # The lean dialect of every standard has nothing of its own: once, in the oldest.
                dialects = [[], LEAN] if standard == "-std=c++17" else [[]]
                for dialect in dialects:
                    for header in light + heavy:
                        done = compile_it(compiler, [standard, *dialect, *mode], header)
                        where = f"{header}, {compiler} {' '.join([standard, *dialect, *mode])}"
                        if dialect == LEAN and mode and header in heavy:
                            if NEEDS_EXCEPTIONS not in done.stderr:
                                problems.append(f"{where}: does not say '{NEEDS_EXCEPTIONS}'")
                        elif done.returncode != 0:
                            problems.append(f"{where}:\n{done.stderr[:2000]}")
    print("\n".join(problems) if problems else f"{count} compilations are as they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
