#!/usr/bin/env python3
"""Runs the MPI trainer with each of its bugs and checks the first verdict of report.json.

usage: run_trainer_bugs.py --bin DIR [--variant macros|hooks] [--mpi openmpi|mpich] [--bug NAME]… [--repeat N]
                           [--timeout S] [--keep]

Expected source lines are found by the comments `// bug: NAME` and `// call: NAME` in the trainer: the line itself where
the comment trails code, else the statement below it. The latency runs from the last line of progress before the bug
strikes to the time stamp of report.json. Then the launcher and what is left of the job are killed, and `dtdebug report`
must find the same in the files. The launcher of MPICH answers the first death with SIGKILL for all, within
milliseconds: there the files alone must do. Exit status: 0 all as expected, 1 not, 77 no MPI launcher.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

RANKS = 4
CULPRIT = 3
STRIKE = 10  # the bug strikes in this step, counted from 0; the trainer prints steps from 1
OTHERS = [0, 1, 2]
CONTRADICTION_LIMIT = 1.0   # seconds from the strike to the report
HANG_LIMIT = 5.0            # seconds beyond DTDEBUG_TIMEOUT
ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "examples" / "mpi_trainer"


class Expectation:
    """What the first verdict must say. `site` and `other` are comments in the trainer; `stack` is a function that a
    captured stack must show; `arguments` are further options of the trainer."""

    def __init__(self, kinds, site=None, other=None, stack=None, fast=False, arguments=(), bug=None, at_end=False,
                 launcher_kills=False):
        self.kinds = kinds.split("|") if kinds else []
        self.launcher_kills = launcher_kills  # the launcher may end the job before a report can be out
        self.at_end = at_end  # what counts is the report after the job has ended by itself
        self.site, self.other, self.stack, self.fast, self.arguments, self.bug = site, other, stack, fast, arguments, bug


CASES = {
    "none": Expectation(""),
    "slow": Expectation("", arguments=("--slow-ms", "1000")),
    "skip-allreduce": Expectation("missing_call", other="call: gradient", fast=True),
    "wrong-op": Expectation("op_mismatch", site="bug: wrong-op", other="call: gradient", fast=True),
    "wrong-redop": Expectation("redop_mismatch", site="call: gradient", other="call: gradient", fast=True),
    "wrong-count": Expectation("count_mismatch", site="call: metrics", other="call: metrics", fast=True),
    "long-count": Expectation("count_mismatch", site="call: metrics", other="call: metrics", fast=True,
                              launcher_kills=True),
    "wrong-dtype": Expectation("dtype_mismatch", site="bug: wrong-dtype", other="call: samples", fast=True),
    "wrong-root": Expectation("root_mismatch", site="call: learning rate", other="call: learning rate", fast=True),
    "swap-order": Expectation("order_mismatch", site="call: metrics", other="call: learning rate", fast=True),
    # Nobody goes on after the barrier, so the records allow both readings.
    "extra-barrier": Expectation("extra_call|op_mismatch", site="bug: extra-barrier", fast=True),
    "wrong-group": Expectation("wrong_group", site="call: gradient", other="call: gradient", fast=True),
    # The macros also record the decision that led to it.
    "uneven-data": Expectation("missing_call|decision_divergence", other="call: data left"),
    "die": Expectation("rank_crashed", other="call: samples", launcher_kills=True),
    "segv": Expectation("rank_crashed", other="call: samples"),
    "exit": Expectation("rank_exited", other="call: samples"),
    "stop": Expectation("rank_stopped", other="call: samples"),
    "stuck-loader": Expectation("rank_stuck_host", other="call: samples", stack="find_next_record"),
    "stuck-lock": Expectation("rank_stuck_host", other="call: samples", stack="loader::next"),
    "too-slow": Expectation("rank_slow", other="call: samples", arguments=("--slow-ms", "5000"), bug="slow",
                            at_end=True),
}


def find_lines(comment):
    """The lines (file name, first, last) of the statement that a comment of the trainer marks."""
    for file in sorted(SOURCES.glob("*.cpp")):
        lines = file.read_text().splitlines()
        for i, line in enumerate(lines):
            if not line.rstrip().endswith("// " + comment):
                continue
            if not line.strip().startswith("//"):
                return file.name, i + 1, i + 1
            last = i + 1
            while not lines[last].rstrip().endswith(";"):
                last += 1
            return file.name, i + 2, last + 1
    sys.exit(f"no comment '// {comment}' in {SOURCES}")


def is_at(site, comment):
    """Whether "file:line" is the statement that the comment marks."""
    match = re.match(r"(?:.*/)?([^/:]+):(\d+)", site or "")
    if not match:
        return False
    name, first, last = find_lines(comment)
    return match.group(1) == name and first <= int(match.group(2)) <= last


def processes_of(run_dir):
    """Processes of this run, known by their environment: launchers put ranks into process groups of their own."""
    wanted = f"DTDEBUG_DIR={run_dir}".encode()
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def end_all(run_dir, job):
    job.kill()
    for pid in processes_of(run_dir):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    job.wait()
    deadline = time.monotonic() + 5
    while processes_of(run_dir) and time.monotonic() < deadline:
        time.sleep(0.02)


def read_report(run_dir):
    try:
        report = json.loads((run_dir / "report.json").read_text())
    except (OSError, ValueError):
        return None
    return report if report.get("verdicts") else None


class Job:
    """One run of the trainer; its output is read by a thread that notes when the last step before the bug was over."""

    def __init__(self, options, case, run_dir):
        suffix = {"macros": "", "hooks": "_hooks"}[options.variant] + ("_mpich" if options.mpi == "mpich" else "")
        expectation = CASES[case]
        command = [options.launcher, "-n", str(RANKS), str(options.bin / ("mpi_trainer" + suffix)), "--log-every", "1",
                   "--checkpoint", str(run_dir / "checkpoint"), *expectation.arguments]
        if case != "none":
            command += ["--bug", expectation.bug or case, "--bug-rank", str(CULPRIT), "--step", str(STRIKE)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DTDEBUG_")}
        environment.update(DTDEBUG_DIR=str(run_dir), DTDEBUG_TIMEOUT=f"{options.timeout}s",
                           OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
                           OMPI_MCA_btl_vader_single_copy_mechanism="none")
        self.command = command
        self.lines = []
        self.strike = None
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace", env=environment, cwd=run_dir, stdin=subprocess.DEVNULL)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line)
            if re.match(rf"(\[[\d,]+\]<\w+>:)?step +{STRIKE}  training", line):
                self.strike = time.time()


def judge(case, report, options):
    """Differences between the first verdict and the expectation."""
    expectation = CASES[case]
    first = report["verdicts"][0]
    wrong = []
    if first.get("kind") not in expectation.kinds:
        wrong.append(f"kind {first.get('kind')}")
    if first.get("ranks") != [CULPRIT]:
        wrong.append(f"ranks {first.get('ranks')}")
    if expectation.site and not is_at(first.get("site"), expectation.site):
        wrong.append(f"site {first.get('site')}, expected {':'.join(map(str, find_lines(expectation.site)[:2]))}")
    # The call that was skipped stands in the verdict that is folded under a decision.
    calls = next((v for v in report["verdicts"] if v.get("kind") == "missing_call"), first)
    first = calls if first.get("kind") == "decision_divergence" else first
    if expectation.other and not is_at(first.get("other_site"), expectation.other):
        wrong.append(f"other_site {first.get('other_site')}, expected {':'.join(map(str, find_lines(expectation.other)[:2]))}")
    if expectation.stack and expectation.stack not in json.dumps(report):
        wrong.append(f"no stack with {expectation.stack}")
    return wrong


def run(case, options):
    """Returns (ok, kind, latency or None, remarks)."""
    expectation = CASES[case]
    run_dir = pathlib.Path(tempfile.mkdtemp(prefix=f"dtdebug-{case}-"))
    job = Job(options, case, run_dir)
    start = time.monotonic()
    limit = start + 60 + options.timeout
    report = None
    ended = None
    try:
        while time.monotonic() < limit:
            report = read_report(run_dir)
            if report and not expectation.at_end:
                break
            if job.strike and expectation.kinds and time.time() - job.strike > 2 * options.timeout + HANG_LIMIT + 5:
                break
            if job.process.poll() is not None:
                ended = ended or time.monotonic()
                if time.monotonic() - ended > 1.0:  # a rank that outlives the launcher may still write
                    report = read_report(run_dir)
                    break
            time.sleep(0.005)
        written = (run_dir / "report.json").stat().st_mtime if report else None
        status = job.process.poll()
        remarks = []
        kind, latency = "-", None
        if report:
            kind = report["verdicts"][0].get("kind")
        if not expectation.kinds:
            if report:
                remarks.append("a report although nothing was wrong")
            elif status != 0:
                remarks.append(f"ended with status {status}")
            elif list(run_dir.glob("*.dtbb")):
                remarks.append("black boxes left after a clean end")
        elif report:
            remarks += judge(case, report, options)
            if job.strike:
                latency = written - job.strike
                allowed = CONTRADICTION_LIMIT if expectation.fast else options.timeout + HANG_LIMIT
                if latency > allowed * options.patience and not expectation.at_end:
                    remarks.append(f"late: {latency:.2f} s, allowed {allowed:.0f} s")
            else:
                remarks.append(f"did not get to step {STRIKE}")
        elif not (expectation.launcher_kills and options.mpi == "mpich" and status is not None):
            remarks.append("no report" + (f", job ended with status {status}" if status is not None else ""))
    finally:
        end_all(run_dir, job.process)
    if expectation.kinds and not expectation.at_end:
        found, problem = offline(run_dir, options)
        kind = found["verdicts"][0].get("kind") + " (files)" if found and not report else kind
        remarks += ["in the files: " + what for what in (judge(case, found, options) if found else [problem])]
    job.reader.join(5)
    if remarks and options.verbose:
        print(" ".join(job.command))
        print("".join("    " + line for line in job.lines[-40:]))
    if options.keep:
        remarks.append(str(run_dir)) if remarks else None
    else:
        shutil.rmtree(run_dir, ignore_errors=True)
    return not [r for r in remarks if r != str(run_dir)], kind, latency, remarks


def offline(run_dir, options):
    """What `dtdebug report` finds in the files of the dead job: (report, None) or (None, what went wrong)."""
    done = subprocess.run([str(options.bin / "dtdebug"), "report", str(run_dir), "--json"], capture_output=True, text=True,
                          timeout=60)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return None, f"status {done.returncode}, {done.stderr.strip()}"
    return (report, None) if report.get("verdicts") else (None, "no verdict")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=lambda path: pathlib.Path(path).resolve())  # runs have folders of their own
    parser.add_argument("--variant", choices=["macros", "hooks"], default="macros")
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi")
    parser.add_argument("--bug", action="append", choices=list(CASES), default=[])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=3, help="DTDEBUG_TIMEOUT in seconds")
    parser.add_argument("--patience", type=float, default=1, help="factor on allowed latencies (sanitizers)")
    parser.add_argument("--keep", action="store_true", help="keep the run directories of failures")
    parser.add_argument("--verbose", action="store_true", help="print the output of failures")
    options = parser.parse_args()
    names = ["mpirun.mpich"] if options.mpi == "mpich" else ["mpirun.openmpi", "mpirun"]
    options.launcher = next((path for path in map(shutil.which, names) if path), None)
    if not options.launcher:
        print(f"no launcher of {options.mpi}")
        return 77

    failed = 0
    print(f"{'bug':16} {'verdict':24} {'latency':>9}  {options.variant}, {options.mpi}, timeout {options.timeout} s")
    for case in options.bug or CASES:
        for _ in range(options.repeat):
            ok, kind, latency, remarks = run(case, options)
            failed += not ok
            shown = f"{latency:7.2f} s" if latency is not None else "-"
            print(f"{case:16} {kind:24} {shown:>9}  {'ok' if ok else 'FAIL: ' + '; '.join(remarks)}", flush=True)
    print(f"{failed} of {len(options.bug or CASES) * options.repeat} not as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
