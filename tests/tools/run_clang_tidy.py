#!/usr/bin/env python3
"""Runs clang-tidy over all headers of the library: one source per folder that includes all its headers.

usage: run_clang_tidy.py [--jobs N] [--include-dir DIR]… [FOLDER…]

Without FOLDER all folders and the entry headers. Headers of adapt/ are looked at when their library is among the
--include-dir. Exit status: 0 clean, 1 findings.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--include-dir", action="append", default=[])
    parser.add_argument("folders", nargs="*")
    options = parser.parse_args()
    include = ROOT / "include"
    flags = ["-std=c++17", "-DDTDEBUG", f"-I{include}"]
    flags += [f"-isystem{d}" for d in options.include_dir]

    def reachable(header):
        third_party = re.findall(r'^\s*#\s*include\s*<((?:mpi|nccl|cuda\w*)\.h|torch/[^>]*)>', header.read_text(), re.M)
        return all(any((pathlib.Path(d) / name).exists() for d in options.include_dir) for name in third_party)

    groups = {}
    for header in sorted((include / "dtdebug").rglob("*.hpp")):
        relative = header.relative_to(include).as_posix()
        parts = relative.split("/")
        folder = parts[1] if len(parts) > 2 else "entry"
        if reachable(header) and not relative.endswith("_hooks.hpp"):
            groups.setdefault(folder, []).append(relative)
    if options.folders:
        groups = {f: h for f, h in groups.items() if f in options.folders}

    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def tidy(folder):
            source = pathlib.Path(name) / f"all_{folder}.cpp"
            source.write_text("".join(f"#include <{h}>\n" for h in groups[folder]) + "int main() { return 0; }\n")
            return subprocess.run(["clang-tidy", "--quiet", f"--config-file={ROOT / '.clang-tidy'}", str(source), "--", *flags],
                                  capture_output=True, text=True)
        results = dict(zip(groups, pool.map(tidy, groups)))
    bad = {f: r for f, r in results.items() if r.returncode != 0}
    seen = set()
    for folder, result in bad.items():
        for block in re.split(r"\n(?=\S+:\d+:\d+: (?:error|warning))", "\n" + result.stdout):
            if block.strip() and block not in seen:
                seen.add(block)
                print(block.strip())
        if not result.stdout.strip():
            print(f"{folder}: {result.stderr.strip()}")
    print(f"clang-tidy: {len(groups)} folders, {len(bad)} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
