#!/usr/bin/env python3
"""A program of which one part is on and the other off works, whichever comes first, or does not link; it never lies.

usage: check_mixed.py --include DIR COMPILER…

mixed/on.cpp and mixed/off.cpp are linked in both orders at -O0 (where inline functions stay functions) and -O2, and the
program checks that just the part that is on records. With -DMIXED_TYPES a type of the library crosses the border: the
linker must refuse. Exit status: 0 all hold, 1 not.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "mixed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", required=True)
    parser.add_argument("compilers", nargs="+")
    options = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DTDEBUG_")}
        environment.update(DTDEBUG_DIR=str(folder / "run"), RANK="0", WORLD_SIZE="1")

        def build(compiler, level, part, *define):
            target = folder / f"{part}.o"
            subprocess.run([compiler, "-std=c++17", level, *define, "-I", options.include, "-c", str(HERE / f"{part}.cpp"),
                            "-o", str(target)], check=True)
            return str(target)

        for compiler in options.compilers:
            for level in ("-O0", "-O2"):
                parts = [build(compiler, level, "on", "-DDTDEBUG"), build(compiler, level, "off")]
                for order in (parts, parts[::-1]):
                    where = f"{compiler} {level}, {' before '.join(pathlib.Path(p).stem for p in order)}"
                    program = str(folder / "program")
                    linked = subprocess.run([compiler, *order, "-o", program], capture_output=True, text=True)
                    if linked.returncode != 0:
                        problems.append(f"{where}: does not link\n{linked.stderr}")
                        continue
                    ran = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60)
                    if ran.returncode != 0:
                        problems.append(f"{where}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}")
            parts = [build(compiler, "-O0", "on", "-DDTDEBUG", "-DMIXED_TYPES"), build(compiler, "-O0", "off", "-DMIXED_TYPES")]
            linked = subprocess.run([compiler, *parts, "-o", str(folder / "program")], capture_output=True, text=True)
            if linked.returncode == 0 or "directory_length" not in linked.stderr:
                problems.append(f"{compiler}: a type of the part that is on passes for one of the part that is off\n{linked.stderr}")
    print("\n".join(problems) if problems else f"mixed programs work or do not link, with {', '.join(options.compilers)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
