#!/usr/bin/env python3
"""Compiles every header of the library alone, and all of them next to hostile macros.

usage: check_headers.py --compiler CXX --include DIR [--library NAME=INCLUDE_DIR]… [--jobs N]

1. Each header alone, with -DDTDEBUG and without, warnings as errors.
2. After all system and third-party headers: macros that other libraries define (X11, termios, complex.h, Windows ports,
   syslog, Torch), then all headers of the library. A name of ours that collides is a compile error.
Headers that need a library which is not there are skipped and named. Exit status: 0 clean, 1 not.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FLAGS = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
# Third-party headers that may be missing: a header of ours that includes one is skipped when its library was not given.
NEEDS = {"mpi.h": "openmpi", "nccl.h": "nccl", "cuda.h": "cuda", "cuda_runtime_api.h": "cuda", "cuda_runtime.h": "cuda",
         "torch/torch.h": "torch"}
POISON = """\
I _Complex_I small near far interface major(x) minor(x) makedev(x) B0 B50 B9600 ECHO TAB0 CR0 VT0 BS0 FF0 NL0 None Bool
Status Success True False Always Above Below Unsorted Convex Complex Nonconvex CurrentTime Display Font Window Visual
KeyPress Button1 linux unix i386 sparc DEBUG INFO WARNING ERROR OK FAIL TRACE TRUE FALSE BOOL BYTE VOID NO_ERROR
IN OUT INOUT OPTIONAL DELETE DIFFERENCE CHECK(x) ASSERT(x) LOG(x) VLOG(x) REQUIRE(x) likely(x) unlikely(x) LIKELY(x)
UNLIKELY(x) STR(x) STRINGIFY(x) CONCAT(a,b) ARRAY_SIZE(x) MIN(a,b) MAX(a,b) ABS(x) PAGE_SIZE BLOCK_SIZE
BARRIER SUM PROD RANK SIZE COMM WORLD ROOT TAG N M K T1 T2 E1 PI""".split()

INCLUDE = re.compile(r'^\s*#\s*include\s*<([^>]+)>', re.M)


def compile_text(compiler, flags, text, folder, name):
    source = folder / f"{name}.cpp"
    source.write_text(text)
    done = subprocess.run([compiler, *FLAGS, *flags, str(source)], capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--include", required=True, type=pathlib.Path)
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8))
    options = parser.parse_args()

    libraries = {}
    for entry in options.library:
        name, _, path = entry.partition("=")
        libraries.setdefault(name, []).append(path)
    flags = ["-I", str(options.include)]
    for paths in libraries.values():
        for path in paths:
            flags += ["-isystem", path]

    headers = {h.relative_to(options.include).as_posix(): h.read_text()
               for h in sorted((options.include / "dtdebug").rglob("*.hpp"))}

    def needs(header, seen):
        """Libraries that a header needs, through all that it includes."""
        if header in seen:
            return set()
        seen.add(header)
        found = set()
        for target in INCLUDE.findall(headers.get(header, "")):
            if target in NEEDS:
                found.add(NEEDS[target])
            found |= needs(target, seen) if target in headers else set()
        return found

    skipped = {h: sorted(missing) for h in headers if (missing := needs(h, set()) - set(libraries))}
    tested = [h for h in headers if h not in skipped]
    # A header that defines the functions of a library for the whole program cannot share a source with others' calls.
    # So it is with off.hpp, whose macros stand for those of record.hpp.
    poisoned = [h for h in tested if not h.endswith(("_hooks.hpp", "/off.hpp"))]

    problems = []
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(name)
        jobs = {}
        for mode, define in (("on", ["-DDTDEBUG"]), ("off", [])):
            for number, header in enumerate(tested):
                if mode == "off" and "/" in header[len("dtdebug/"):]:
                    continue  # the layers are only reached when on; off concerns the entry headers
                text = f"#include <{header}>\n#include <{header}>\nint main() {{ return 0; }}\n"
                jobs[pool.submit(compile_text, options.compiler, flags + define, text, folder, f"{mode}{number}")] = \
                    f"{header} alone, {mode}"
        outside = sorted({t for h in poisoned for t in INCLUDE.findall(headers[h]) if not t.startswith("dtdebug/")})
        lines = ["#if __has_include(<%s>)\n#include <%s>\n#endif" % (t, t) for t in outside]
        for macro in POISON:
            bare = macro.split("(")[0]
            lines.append(f"#undef {bare}\n#define {macro} dtdebug_must_not_use_this_name +-*/")
        lines += [f"#include <{h}>" for h in poisoned]
        jobs[pool.submit(compile_text, options.compiler, flags + ["-DDTDEBUG"], "\n".join(lines) + "\nint main() {}\n",
                         folder, "poisoned")] = "all headers next to hostile macros"
        for job in concurrent.futures.as_completed(jobs):
            if job.result() is not None:
                problems.append(f"{jobs[job]}:\n{job.result()}")

    for header, missing in skipped.items():
        print(f"skipped {header}: no {', '.join(missing)}")
    print("\n\n".join(problems) if problems else f"{len(tested)} headers compile alone and next to {len(POISON)} macros")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
