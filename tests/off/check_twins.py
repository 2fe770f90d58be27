#!/usr/bin/env python3
"""Off, a program with every macro compiles to the code of its hand-stripped twin.

usage: check_twins.py --include DIR --twin NAME [--library-include DIR]… COMPILER…

Compares the disassembly with relocations, every section that is loaded, and the symbols of twins/NAME.cpp and
twins/NAME_stripped.cpp at -O1 and -O2. At -O0, where a compiler owes nobody equality, and at the others: no symbol and
no string of dtdebug. Exit status: 0 equal, 1 not.
"""
import argparse
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def loaded_parts(path):
    """What of an object file ends up in a process, as text: code, data, relocations, symbols."""
    def body(*flags):
        return output_of("objdump", *flags, str(path)).split("\n", 3)[3]  # the first lines name the file
    sections = [line.split() for line in output_of("objdump", "-h", "-w", str(path)).splitlines()]
    kept = [s[1] for s in sections if len(s) > 7 and s[0].isdigit() and "ALLOC" in s and s[1] != ".comment"]
    sizes = [f"{s[1]} {s[2]}" for s in sections if len(s) > 7 and s[0].isdigit() and "ALLOC" in s]
    data = "".join(body("-s", "-j", name) for name in dict.fromkeys(kept) if name not in (".bss", ".tbss"))
    symbols = output_of("nm", "-C", str(path))
    return {"sections": "\n".join(sizes), "code": body("-d", "-r", "-C"), "data": data, "symbols": symbols}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", required=True)
    parser.add_argument("--twin", required=True)
    parser.add_argument("--library-include", action="append", default=[])
    parser.add_argument("compilers", nargs="+")
    options = parser.parse_args()
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-I", options.include]
    flags += [f"-isystem{directory}" for directory in options.library_include]
    problems = []
    compared = 0
    with tempfile.TemporaryDirectory() as folder:
        for compiler in options.compilers:
            for level in ("-O0", "-O1", "-O2"):
                where = f"{options.twin}, {compiler} {level}"
                objects = []
                for name in (options.twin, options.twin + "_stripped"):
                    # One file name for both: compilers derive names of functions from it.
                    source = pathlib.Path(folder) / name / "twin.cpp"
                    source.parent.mkdir(exist_ok=True)
                    source.write_text((HERE / "twins" / f"{name}.cpp").read_text())
                    # The stripped twin has variables that only macros look at.
                    lenient = ["-Wno-unused-variable", "-Wno-unused-parameter"] if name.endswith("_stripped") else []
                    done = subprocess.run([compiler, *flags, *lenient, level, "-c", str(source), "-o",
                                           str(source.with_suffix(".o"))], capture_output=True, text=True)
                    if done.returncode != 0:
                        problems.append(f"{where}: {name}.cpp does not compile:\n{done.stderr}")
                        break
                    objects.append(source.with_suffix(".o"))
                if len(objects) < 2:
                    continue
                named = [line for line in output_of("nm", "-C", str(objects[0])).splitlines() if "dtdebug" in line.lower()]
                strings = re.findall(rb"[\x20-\x7e]*dtdebug[\x20-\x7e]*", objects[0].read_bytes(), re.I)
                problems += [f"{where}: symbol {line}" for line in named]
                problems += [f"{where}: string {text.decode()}" for text in strings if not named]
                if level == "-O0":
                    continue
                ours, twin = map(loaded_parts, objects)
                compared += 1
                for part in ours:
                    if ours[part] != twin[part]:
                        diff = list(difflib.unified_diff(twin[part].splitlines(), ours[part].splitlines(), "stripped",
                                                         "with macros", lineterm="", n=2))[:40]
                        problems.append(f"{where}: {part} differ\n" + "\n".join(diff))
    if compared == 0:
        problems.append(f"{options.twin}: nothing was compared")
    print("\n".join(problems) if problems else f"{options.twin}: equal to its twin with {', '.join(options.compilers)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
