#!/usr/bin/env python3
"""Small programs that must not compile, and what the compiler must say of them.

usage: check_messages.py --include DIR [--mpi INCLUDE_DIR]… COMPILER…

Each file in cases/ says by `// expect: REGEX` lines what must be in the errors; `// library: mpi` that it needs MPI;
`// off too` that the same holds without -DDTDEBUG. With -DCONTROL the same file must compile: a typo fails too.
Exit status: 0 all as expected, 1 not.
"""
import argparse
import pathlib
import re
import subprocess
import sys

CASES = pathlib.Path(__file__).resolve().parent / "cases"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", required=True)
    parser.add_argument("--mpi", action="append", default=[])
    parser.add_argument("compilers", nargs="+")
    options = parser.parse_args()
    flags = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", options.include]
    problems = []
    checked = 0
    for case in sorted(CASES.glob("*.cpp")):
        text = case.read_text()
        wanted = re.findall(r"^// expect: (.*)$", text, re.M)
        needs_mpi = re.search(r"^// library: mpi$", text, re.M)
        if not wanted:
            problems.append(f"{case.name}: no expect line")
        if needs_mpi and not options.mpi:
            print(f"left out {case.name}: no MPI")
            continue
        library = [f"-isystem{directory}" for directory in options.mpi] if needs_mpi else []
        for compiler in options.compilers:
            for mode, define in [("on", ["-DDTDEBUG"])] + ([("off", [])] if re.search(r"^// off too$", text, re.M) else []):
                where = f"{case.name}, {compiler}, {mode}"

                def compile_it(*more):
                    return subprocess.run([compiler, *flags, *library, *define, *more, str(case)], capture_output=True,
                                          text=True)

                control = compile_it("-DCONTROL")
                if control.returncode != 0:
                    problems.append(f"{where}: the control does not compile\n{control.stderr[:2000]}")
                broken = compile_it("-Wno-error")
                if broken.returncode == 0:
                    problems.append(f"{where}: compiles")
                    continue
                checked += 1
                errors = "\n".join(line for line in broken.stderr.splitlines() if re.search(r"\b(error|note):", line))
                problems += [f"{where}: does not say '{regex}' but\n{broken.stderr[:2000]}" for regex in wanted
                             if not re.search(regex, errors)]
    print("\n".join(problems) if problems else f"{checked} refusals say what they should")
    return 1 if problems or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
