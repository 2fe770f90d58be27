#!/usr/bin/env python3
"""Runs every schedule of the corpus through `dtdebug COMMAND --check`.

usage: check_cases.py --command "dtdebug simulate" [--jobs N] [--expect-at-least N] FOLDER_OR_FILE…

Exit status: 0 all expectations of all files hold, 1 not.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shlex
import subprocess
import sys
import time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--expect-at-least", type=int, default=1, help="fewer files than this mean that some were lost")
    parser.add_argument("where", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    files = sorted(f for where in options.where for f in (where.glob("*.sched") if where.is_dir() else [where]))
    if len(files) < options.expect_at_least:
        sys.exit(f"{len(files)} schedules found, at least {options.expect_at_least} expected")

    def check(file):
        start = time.monotonic()
        try:
            done = subprocess.run([*shlex.split(options.command), str(file), "--check"], capture_output=True, text=True,
                                  errors="replace", timeout=120, stdin=subprocess.DEVNULL)
            return done.returncode, done.stdout + done.stderr, time.monotonic() - start
        except subprocess.TimeoutExpired:
            return -1, "no end within 120 s\n", time.monotonic() - start

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for file, (status, output, seconds) in zip(files, pool.map(check, files)):
            if status != 0:
                failed += 1
                print(f"{file.name}: status {status} after {seconds:.1f} s\n    " + "\n    ".join(output.splitlines()[-20:]))
    print(f"{len(files) - failed} of {len(files)} schedules hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
