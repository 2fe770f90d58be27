#!/usr/bin/env python3
"""Checks that the #include lines of the library keep the order of its layers.

usage: check_layers.py INCLUDE_DTDEBUG_DIR | --self-test

A folder may include itself and the folders before it in LAYERS; some see less (ONLY). Third-party headers and heavy
standard headers are allowed in few places. Every violation is printed as the edge `file:line: from -> to: rule`.
Exit status: 0 clean, 1 violations, 2 wrong usage.
"""
import pathlib
import re
import sys
import tempfile

LAYERS = ["core", "os", "blackbox", "world", "record", "check",  # what record.hpp brings in
          "model", "diagnose", "schedule", "report", "stacks", "store", "watch", "repro", "adapt"]
LIGHT = set(LAYERS[:6])
ONLY = {folder: {"core", "model"} for folder in ("diagnose", "schedule", "report")}
HEAVY = {"algorithm", "any", "chrono", "codecvt", "condition_variable", "deque",
         "filesystem", "format", "forward_list", "fstream", "functional", "future", "iomanip", "ios",
         "iostream", "istream", "iterator", "list", "locale", "map", "memory", "memory_resource", "mutex", "numeric",
         "optional", "ostream", "queue", "random", "regex", "set", "shared_mutex", "sstream", "stack", "stdexcept",
         "streambuf", "string", "string_view", "system_error", "thread", "tuple", "unordered_map", "unordered_set",
         "valarray", "variant", "vector"}
# What a third-party header is recognised by, and the places that may include it.
THIRD_PARTY = [
    ("fmt", r"fmt/", r"(report|watch)/"),
    ("Boost.Stacktrace", r"boost/stacktrace", r"stacks/"),
    ("Boost.Asio", r"boost/asio", r"store/"),
    ("MPI", r"mpi\.h$", r"adapt/"),
    ("NCCL", r"nccl\.h$", r"adapt/"),
    ("CUDA", r"cuda", r"adapt/"),
    ("Torch", r"(torch|ATen|c10)/", r"adapt/"),
    ("Boost", r"boost/", r"(stacks|store)/"),
]
# The entry headers beside the folders: what each may bring in (§2 of the design).
ENTRY_LIGHT = {"record.hpp"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path):
    return path.split("/")[0] if "/" in path else ""


def edge_problem(source, kind, target):
    """Why the file `source` (relative to include/dtdebug) may not include `target`, or None."""
    source_folder = folder_of(source)
    if kind == '"':
        return "headers of the library are included as <dtdebug/folder/file.hpp>"
    if target.startswith("dtdebug/"):
        target = target[len("dtdebug/"):]
        target_folder = folder_of(target)
        if source_folder and not target_folder:
            return "a layer does not include an entry header"
        if not source_folder:
            if source in ENTRY_LIGHT and target_folder and target_folder not in LIGHT:
                return "a light entry header brings in the layers up to check/ only"
            return None
        if target_folder not in LAYERS:
            return f"unknown layer {target_folder}/"
        if source_folder in ONLY and target_folder != source_folder and target_folder not in ONLY[source_folder]:
            return f"{source_folder}/ sees only itself, core/ and model/"
        if LAYERS.index(target_folder) > LAYERS.index(source_folder):
            return f"{target_folder}/ is above {source_folder}/"
        return None
    if source_folder in LIGHT and target in HEAVY:
        return f"<{target}> is too heavy for what record.hpp brings in"
    for name, pattern, allowed in THIRD_PARTY:
        if re.match(pattern, target):
            return None if re.match(allowed, source) else f"{name} is allowed only in {allowed}"
    return None


def check(root):
    problems = []
    files = sorted(root.rglob("*.hpp"))
    edges = 0
    for file in files:
        source = file.relative_to(root).as_posix()
        folder = folder_of(source)
        if folder and folder not in LAYERS:
            problems.append(f"{file}:1: folder {folder}/ is not a layer")
        text = file.read_text()
        if "#pragma once" not in text:
            problems.append(f"{file}:1: no #pragma once")
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            edges += 1
            kind, target = match.groups()
            if target.startswith("dtdebug/") and not (root.parent / target).exists():
                problems.append(f"{file}:{number}: {source} -> {target}: no such file")
            why = edge_problem(source, kind, target)
            if why:
                problems.append(f"{file}:{number}: {source} -> {target}: {why}")
    return problems, len(files), edges


PLANTED = [  # file, line, what must be said (None: legal)
    ("core/a.hpp", "#include <dtdebug/os/b.hpp>", "os/ is above core/"),
    ("core/a.hpp", "#include <cstdint>", None),
    ("record/a.hpp", "#include <vector>", "too heavy"),
    ("model/a.hpp", "#include <vector>", None),
    ("report/a.hpp", "#include <dtdebug/diagnose/b.hpp>", "sees only itself"),
    ("diagnose/a.hpp", "#include <dtdebug/os/b.hpp>", "sees only itself"),
    ("report/a.hpp", "#include <fmt/format.h>", None),
    ("stacks/a.hpp", "#include <fmt/format.h>", "fmt is allowed only"),
    ("stacks/a.hpp", "#include <boost/stacktrace.hpp>", None),
    ("watch/a.hpp", "#include <boost/stacktrace.hpp>", "Boost.Stacktrace is allowed only"),
    ("watch/a.hpp", "#include <mpi.h>", "MPI is allowed only"),
    ("adapt/a.hpp", "#include <mpi.h>", None),
    ("core/a.hpp", '#include "b.hpp"', "are included as"),
    ("watch/a.hpp", "#include <dtdebug/dtdebug.hpp>", "does not include an entry header"),
    ("record.hpp", "#include <dtdebug/watch/b.hpp>", "light entry header"),
    ("dtdebug.hpp", "#include <dtdebug/watch/b.hpp>", None),
    ("extra/a.hpp", "#include <cstdint>", "is not a layer"),
]


def self_test():
    for path, line, expected in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder) / "dtdebug"
            for name in (path, "os/b.hpp", "diagnose/b.hpp", "watch/b.hpp", "core/b.hpp", "dtdebug.hpp"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("#pragma once\n")
            (root / path).write_text(f"#pragma once\n{line}\n")
            problems, _, _ = check(root)
            right = (not problems) if expected is None else (len(problems) == 1 and expected in problems[0])
            if not right:
                sys.exit(f"self-test: {path} with {line}: expected {expected!r}, got {problems}")
    print(f"{len(PLANTED)} planted cases judged as they should be")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    problems, files, edges = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) if problems else f"{files} headers, {edges} includes, every edge points down")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
