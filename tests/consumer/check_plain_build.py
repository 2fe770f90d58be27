#!/usr/bin/env python3
"""Builds an example with nothing but `CXX -std=c++17 -DDTDEBUG -Iinclude`, runs it, and checks its report.

usage: check_plain_build.py --compiler CXX --root DIR

That is what header-only means: no library flag, no -g. Functions must have names all the same, and lines once -g is
given. Exit status: 0 all hold, 1 not.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    options = parser.parse_args()
    source = options.root / "examples" / "01_skip_all_reduce.cpp"
    line = next(i for i, text in enumerate(source.read_text().splitlines(), 1) if '"gradient"' in text)
    problems = []
    for flags, wanted in (([], ["missing_call: Rank 3 skipped", f"01_skip_all_reduce.cpp:{line}", "main"]),
                          (["-g"], ["missing_call: Rank 3 skipped", f"main::{{lambda#1}}  01_skip_all_reduce.cpp:{line}"])):
        with tempfile.TemporaryDirectory(prefix="dtdebug-plain-") as folder:
            program = pathlib.Path(folder) / "skip"
            command = [options.compiler, "-std=c++17", "-DDTDEBUG", f"-I{options.root / 'include'}", *flags, str(source),
                       "-o", str(program)]
            built = subprocess.run(command, capture_output=True, text=True)
            if built.returncode != 0:
                problems.append(" ".join(command) + "\n" + built.stderr)
                continue
            environment = {k: v for k, v in os.environ.items() if not k.startswith("DTDEBUG_")}
            environment.update(DTDEBUG_DIR=f"{folder}/run", DTDEBUG_TIMEOUT="2s", DTDEBUG_ON_HANG="abort")
            ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, env=environment)
            output = ran.stdout + ran.stderr
            for text in wanted:
                if text not in output:
                    problems.append(f"with {flags}: no \"{text}\" in\n{output}")
    print("\n".join(problems) if problems else "builds without a library flag; names and lines are there")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
