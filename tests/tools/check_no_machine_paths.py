#!/usr/bin/env python3
"""Finds absolute paths of one developer's machine in the project's files.

usage: check_no_machine_paths.py PROJECT_DIR

Only folders that differ between machines count (home folders, work folders, mounts).
Exit status: 0 none found, 1 found (each printed as file:line: path).
"""
import pathlib
import re
import subprocess
import sys

TEXT = {".hpp", ".cpp", ".h", ".c", ".py", ".sh", ".md", ".txt", ".cmake", ".sched", ".json", ".yml", ".yaml", ""}
PATH = re.compile(r"(?<![\w.~})*-])/(work|home|root|mnt|srv|scratch|Users|workspace)/[\w.+-]+")


def files(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed.returncode == 0:
        return [root / line for line in listed.stdout.splitlines()]
    builds = [cache.parent for cache in root.rglob("CMakeCache.txt")]
    return [p for p in root.rglob("*") if p.is_file() and not any(build in p.parents for build in builds)]


def main():
    root = pathlib.Path(sys.argv[1])
    found = []
    for file in sorted(files(root)):
        if file.suffix not in TEXT or not file.is_file() or file.resolve() == pathlib.Path(__file__).resolve():
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            for match in PATH.finditer(line):
                found.append(f"{file.relative_to(root)}:{number}: {match.group(0)}")
    print("\n".join(found) if found else "no path of a single machine in any file")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
