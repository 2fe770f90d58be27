#!/usr/bin/env python3
"""Reports as they are written agree with docs/report.schema.json, and that with docs/SCHEMA.md and the vocabulary.

usage: check_schema.py --root DIR --writer PROGRAM

Exit status: 0 they agree, 1 not, 77 there is no Python module jsonschema.
"""
import argparse
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("left out: no Python module jsonschema (Debian: python3-jsonschema)")
    sys.exit(77)


def keys_of(schema):
    """Every key that the schema knows."""
    found = set()
    if isinstance(schema, dict):
        found |= set(schema.get("properties", {})) if isinstance(schema.get("properties"), dict) else set()
        for value in schema.values():
            found |= keys_of(value)
    elif isinstance(schema, list):
        for value in schema:
            found |= keys_of(value)
    return found


def keys_in(value):
    if isinstance(value, dict):
        return set(value) | set().union(*map(keys_in, value.values()), set())
    return set().union(*map(keys_in, value), set()) if isinstance(value, list) else set()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--writer", required=True)
    options = parser.parse_args()
    problems = []
    schema = json.loads((options.root / "docs/report.schema.json").read_text())
    document = (options.root / "docs/SCHEMA.md").read_text()
    validator = jsonschema.Draft7Validator(schema)
    validator.check_schema(schema)

    reports = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.writer, folder], check=True, stdout=subprocess.DEVNULL)
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            text = path.read_bytes().decode("utf-8")  # strict: any byte that is not UTF-8 is an error
            reports[path.name] = json.loads(text, parse_constant=lambda word: problems.append(f"{path.name}: {word}"))
            hidden = {c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029\u202e")}
            if hidden:
                problems.append(f"{path.name}: has {sorted(map(hex, map(ord, hidden)))} as they are")
    for name, report in reports.items():
        problems += [f"{name}: {'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(report)]
        for number, verdict in enumerate(report["verdicts"]):
            if not verdict.get("consequence_of", -1) < number:
                problems.append(f"{name}: verdict {number} is a consequence of a later one")
    kinds = [v["kind"] for r in reports.values() for v in r["verdicts"]]
    if len(reports) < 10 or len(set(kinds)) < 7:
        problems.append(f"only {len(reports)} reports of {sorted(set(kinds))} were written")

    # A schema that accepts anything proves nothing.
    good = next(r for r in reports.values() if r["verdicts"])
    for what, spoil in (("an unknown key", lambda r: r.update(more=1)),
                        ("an unknown key of a verdict", lambda r: r["verdicts"][0].update(more=1)),
                        ("an unknown kind", lambda r: r["verdicts"][0].update(kind="mismatch")),
                        ("no kind", lambda r: r["verdicts"][0].pop("kind")),
                        ("a null", lambda r: r["verdicts"][0].update(group=None)),
                        ("an unknown key of a rank", lambda r: r["ranks"][0].update(more=1)),
                        ("another schema", lambda r: r.update(schema="dtdebug.report/2"))):
        bad = copy.deepcopy(good)
        spoil(bad)
        if validator.is_valid(bad):
            problems.append(f"the schema accepts {what}")

    # The vocabulary is said four times: in the code, in the diagnosis, in the schema, in the document.
    in_schema = set(schema["definitions"]["verdict"]["properties"]["kind"]["enum"])
    table = (options.root / "include/dtdebug/report/exit_class.hpp").read_text()
    in_code = set(re.findall(r'\{"(\w+)", exit_class::', table)) | {"undetermined"}
    if in_schema != in_code:
        problems.append(f"kinds of the schema and of exit_class.hpp differ: {sorted(in_schema ^ in_code)}")
    problems += [f"docs/SCHEMA.md does not explain {kind}" for kind in in_code if document.count(f"`{kind}`") < 2]
    used = {kind for path in (options.root / "include/dtdebug/diagnose").glob("*.hpp")
            for kind in re.findall(r'kind = "(\w+)"', path.read_text())}
    problems += [f"the diagnosis says {kind}, which is not of the vocabulary" for kind in sorted(used - in_code)]
    statuses = dict(re.findall(r"^  (\w+) = (\d+),$", table, re.M))
    for family, status in statuses.items():
        row = re.search(rf"^\| {status} \|([^|]*)\|([^|]*)\|$", document, re.M)
        members = set(re.findall(rf'\{{"(\w+)", exit_class::{family}\}}', table)) | \
            ({"undetermined"} if family == "undetermined" else set())
        if row is None or set(re.findall(r"`(\w+)`", row.group(2))) != members:
            problems.append(f"docs/SCHEMA.md and exit_class.hpp differ in status {status}, {family}")
    problems += [f"docs/SCHEMA.md does not mention the key {key}" for key in sorted(keys_of(schema)) if f"`{key}`" not in document]
    never = keys_of(schema) - set().union(*map(keys_in, reports.values()))
    print("\n".join(problems) if problems else
          f"{len(reports)} reports with {len(set(kinds))} kinds agree with the schema; keys that none has: {sorted(never)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
