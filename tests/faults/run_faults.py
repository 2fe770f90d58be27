#!/usr/bin/env python3
"""Hurts running jobs and their surroundings, and checks that dtdebug still says what can be known, and never harms.

usage: run_faults.py --bin DIR --ranks PROGRAM [--case NAME]… [--verbose]

Each case is a function below; its docstring is what must hold. Exit status: 0 all hold, 1 not.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

WORLD = 4
TIMEOUT_S = 1.0
REPORT_LIMIT_S = TIMEOUT_S + 5
options = None


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


class Job:
    """WORLD processes of the rank program, their output, and their run directory."""

    def __init__(self, *arguments, steps=400, directory=None, prefix=(), preexec=None, world=WORLD, **environment):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtdebug-faults-"))
        self.directory = self.folder / "run" if directory is None else directory
        place = self.folder / "place"
        place.write_bytes(bytes(4096))
        self.lines = [[] for _ in range(world)]
        self.ranks = []
        self.readers = []
        self.step = [threading.Event() for _ in range(world)]
        for rank in range(world):
            env = {k: v for k, v in os.environ.items() if not k.startswith("DTDEBUG_")}
            env.update(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank), DTDEBUG_TIMEOUT=f"{TIMEOUT_S}s")
            if self.directory:
                env["DTDEBUG_DIR"] = str(self.directory)
            env.update(environment)
            process = subprocess.Popen([*prefix, str(options.ranks), str(place), str(steps), *arguments],
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                       env=env, preexec_fn=preexec, stdin=subprocess.DEVNULL)
            self.ranks.append(process)
            reader = threading.Thread(target=self.read, args=(rank,), daemon=True)
            reader.start()
            self.readers.append(reader)

    def read(self, rank):
        for line in self.ranks[rank].stdout:
            self.lines[rank].append(line.rstrip("\n"))
            if line.startswith(f"rank {rank} step 3"):
                self.step[rank].set()
        self.step[rank].set()

    def running(self):
        """Waits until every rank has made a few steps."""
        for event in self.step:
            require(event.wait(30), "a rank made no progress")

    def leader(self):
        locks = sorted(self.directory.glob("leader.lock.*"), key=lambda path: int(path.suffix[1:]))
        require(locks, "no leader")
        return int(locks[-1].read_text())

    def kill(self, rank, number=signal.SIGKILL):
        self.ranks[rank].send_signal(number)

    def report(self, limit=REPORT_LIMIT_S):
        """The report, once there is one."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            try:
                report = json.loads((self.directory / "report.json").read_text())
                if report.get("verdicts"):
                    return report
            except (OSError, ValueError):
                pass
            time.sleep(0.002)
        raise Failure(f"no report within {limit} s")

    def first(self, kind, ranks, limit=REPORT_LIMIT_S):
        report = self.report(limit)
        verdict = report["verdicts"][0]
        require(verdict["kind"] == kind and verdict["ranks"] == ranks,
                f"{verdict['kind']} of {verdict['ranks']}, expected {kind} of {ranks}")
        return report

    def offline(self):
        done = subprocess.run([str(options.bin / "dtdebug"), "report", str(self.directory), "--json"],
                              capture_output=True, text=True, timeout=60)
        return json.loads(done.stdout), done.returncode

    def wait(self, limit=30):
        """Exit codes of all ranks."""
        end = time.monotonic() + limit
        for process in self.ranks:
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise Failure("a rank did not end") from None
        for reader in self.readers:
            reader.join(5)
        return [process.returncode for process in self.ranks]

    def output(self):
        return "\n".join(f"[{rank}] {line}" for rank, lines in enumerate(self.lines) for line in lines)

    def close(self):
        for process in self.ranks:
            if process.poll() is None:
                process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def leader_killed():
    """The leader dies by SIGKILL in the middle of the job: another rank takes over and names it."""
    job = Job()
    yield job
    job.running()
    leader = job.leader()
    job.kill(leader)
    job.first("rank_crashed", [leader])


def coordinator_killed_in_the_middle_of_a_diagnosis():
    """The rank that has just asked all for their stacks dies by SIGKILL: the others report its death and the hang."""
    job = Job("hang-rank=3", "hang-step=10")
    yield job
    end = time.monotonic() + 20
    while not (job.directory / "freeze").exists():
        require(time.monotonic() < end, "no diagnosis began")
    coordinator = job.leader()
    job.kill(coordinator)
    end = time.monotonic() + REPORT_LIMIT_S
    while True:
        report = job.report()
        named = {(v["kind"], tuple(v["ranks"])) for v in report["verdicts"]}
        if ("rank_crashed", (coordinator,)) in named:
            break
        require(time.monotonic() < end, f"the death of rank {coordinator} is not reported: {named}")
        time.sleep(0.01)
    if coordinator != 3:
        require(("rank_stuck_host", (3,)) in named or any("rank_stuck_host" in json.dumps(v) for v in report["verdicts"]),
                f"the hang is not reported: {named}")


def leader_stopped():
    """A stopped leader keeps its lock: the others pass it over and name it."""
    job = Job()
    yield job
    job.running()
    leader = job.leader()
    job.kill(leader, signal.SIGSTOP)
    job.first("rank_stopped", [leader])
    require(job.leader() != leader, "nobody took over")
    job.kill(leader, signal.SIGCONT)
    require(job.wait() == [0] * WORLD, "the job did not go on after SIGCONT")


def all_but_one_killed():
    """The last one alive reports what became of the others."""
    job = Job()
    yield job
    job.running()
    for rank in (0, 1, 3):
        job.kill(rank)
    job.first("rank_crashed", [0, 1, 3])


def killed_as_it_stood(job, live):
    """Kills all ranks: the files alone must give the verdict of the live job. Returns the report made of the files."""
    for rank in range(WORLD):
        job.kill(rank)
    job.wait()
    dead, status = job.offline()
    for key in ("kind", "ranks", "with", "group", "seq", "site", "other_site"):
        require(dead["verdicts"][0].get(key) == live["verdicts"][0].get(key), f"{key} differs in the files")
    require(status == 11, f"exit status {status} of dtdebug report, expected 11")
    return dead


def killed_as_a_whole():
    """All ranks of a hung job die by SIGKILL: the files alone give the verdict that the live job gave."""
    job = Job("hang-rank=2", "hang-step=10")
    yield job
    dead = killed_as_it_stood(job, job.first("rank_stuck_host", [2]))
    require("sit_in_the_loader" in json.dumps(dead), "no stack of the stuck rank in the files")


def killed_after_one_had_ended():
    """One rank ends early, the others wait and are killed: the files do not blame those killed."""
    job = Job("return-rank=3", "hang-step=10")
    yield job
    killed_as_it_stood(job, job.first("missing_call", [3]))


def abort_on_hang():
    """DTDEBUG_ON_HANG=abort ends every rank with the status of the verdict's class; the files say the same."""
    job = Job("hang-rank=1", "hang-step=10", DTDEBUG_ON_HANG="abort")
    yield job
    job.first("rank_stuck_host", [1])
    codes = job.wait()
    require(codes == [11] * WORLD, f"exit codes {codes}")
    dead, _ = job.offline()
    require(dead["verdicts"][0]["kind"] == "rank_stuck_host" and dead["verdicts"][0]["ranks"] == [1],
            f"offline {dead['verdicts'][0]['kind']}")


def hold_on_hang():
    """DTDEBUG_ON_HANG=hold keeps the processes and says how to attach a debugger."""
    job = Job("hang-rank=1", "hang-step=10", DTDEBUG_ON_HANG="hold")
    yield job
    job.first("rank_stuck_host", [1])
    end = time.monotonic() + 5
    while job.output().count("gdb -p") < WORLD:
        require(time.monotonic() < end, "no gdb line of every rank")
        time.sleep(0.01)
    require(all(process.poll() is None for process in job.ranks), "a rank ended")


def clean_end_leaves_nothing():
    """A job without a fault ends with nothing left of it, in the default place too."""
    job = Job(steps=20, directory=False)
    yield job
    codes = job.wait()
    require(codes == [0] * WORLD, f"exit codes {codes}")
    said = [line for line in job.output().splitlines() if "run directory" in line]
    require(said, "the run directory is not printed")
    directory = said[0].rsplit("run directory ", 1)[1]
    require(not os.path.exists(directory), f"{directory} is left")
    require("rank_" not in job.output() and "mismatch" not in job.output(), "a report of a clean run")


def children_are_not_ranks():
    """Data loaders are forked, run code with macros in it, and end by exit(): the rank is not confused."""
    job = Job("fork-children", steps=24, DTDEBUG_KEEP="1")
    yield job
    codes = job.wait()
    require(codes == [0] * WORLD, f"exit codes {codes}: {job.output()[-500:]}")
    dead, status = job.offline()
    require(status == 0 and not dead["verdicts"], f"a verdict: {dead['verdicts'][:1]}")
    require(len(list(job.directory.glob("rank-*.dtbb"))) == WORLD, "black boxes are missing")


def exit_in_the_middle():
    """A rank that calls exit(3) is named, with its exit code, before the launcher can react."""
    job = Job("exit-rank=2", "hang-step=10")
    yield job
    report = job.first("rank_exited", [2])
    require("3" in report["verdicts"][0]["reason"], "the exit code is not told")


def blocked_signals():
    """Threads that block every signal cannot give their stacks: they are listed with their kernel state, the verdict
    stands."""
    job = Job("hang-rank=0", "hang-step=10", "block-signals")
    yield job
    job.first("rank_stuck_host", [0])
    text = (job.directory / "report.txt").read_text()
    require("did not answer" in text, "the report does not say whose stacks are missing")


def request_by_signal():
    """SIGUSR2 to any rank prints what there is to see, though nothing is wrong, and the job goes on."""
    for rank in range(WORLD):
        job = Job(steps=400)
        yield job
        job.running()
        for other in range(WORLD):
            job.kill(other, signal.SIGSTOP) if other != rank else None
        job.kill(rank, signal.SIGUSR2)
        for other in range(WORLD):
            job.kill(other, signal.SIGCONT) if other != rank else None
        codes = job.wait()
        require(codes == [0] * WORLD, f"exit codes {codes}")


def request_by_macro():
    """DT_DIAGNOSE on every rank prints the table once or more; the job goes on to its clean end."""
    job = Job("ask-step=5", steps=200)
    yield job
    codes = job.wait()
    require(codes == [0] * WORLD, f"exit codes {codes}")
    require("all ranks" in job.output(), "no answer to the request")


def unusable_directory(make, expected):
    job = Job(steps=20, directory=make())
    yield job
    codes = job.wait()
    require(codes == [0] * WORLD, f"exit codes {codes}")
    for rank in range(WORLD):
        said = [line for line in job.lines[rank] if "dtdebug:" in line]
        require(any(expected in line for line in said), f"rank {rank} does not say why it is off: {said}")
        require(len(said) <= 2, f"rank {rank} says it more than once: {said}")


def directory_under_a_file():
    """The run directory cannot be made: said once, the job runs."""
    handle, path = tempfile.mkstemp(prefix="dtdebug-faults-")
    os.close(handle)
    try:
        yield from unusable_directory(lambda: pathlib.Path(path) / "run", "off: cannot make")
    finally:
        os.unlink(path)


def read_only_directory():
    """A read-only file system: said once, the job runs."""
    yield from unusable_directory(lambda: pathlib.Path("/proc/dtdebug"), "off: cannot make")


def file_size_limit():
    """ulimit -f below the size of a black box would send SIGXFSZ to the trainer: said once, the job runs."""
    job = Job(steps=20, preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
    yield job
    codes = job.wait()
    require(codes == [0] * WORLD, f"exit codes {codes}")
    require(all(any("off:" in line for line in lines) for lines in job.lines), "not said by every rank")


def no_more_files():
    """ulimit -n leaves no descriptor for dtdebug: the job runs."""
    job = Job(steps=20, preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (7, 7)))
    yield job
    codes = job.wait()
    require(codes == [0] * WORLD, f"exit codes {codes}: {job.output()[-800:]}")


def in_own_mounts(mounts):
    return ("unshare", "--mount", "sh", "-c", mounts + ' && exec "$@"', "sh")


def mounts_allowed():
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


def disk_full():
    """A full disk: said once, the job runs. (Needs the right to mount.)"""
    if not mounts_allowed():
        print("    left out: this user may not mount")
        return
    with tempfile.TemporaryDirectory(prefix="dtdebug-faults-") as folder:
        job = Job(steps=20, directory=pathlib.Path(folder) / "disk" / "run",
                  prefix=in_own_mounts(f"mkdir -p {folder}/disk && mount -t tmpfs -o size=64k none {folder}/disk"))
        yield job
        codes = job.wait()
        require(codes == [0] * WORLD, f"exit codes {codes}: {job.output()[-500:]}")
        require(all(any("off:" in line and "No space" in line for line in lines) for lines in job.lines),
                f"not said by every rank: {job.output()[-800:]}")


def no_proc():
    """Without /proc a hang is still explained, and the report says what is missing. (Needs the right to mount.)"""
    if not mounts_allowed():
        print("    left out: this user may not mount")
        return
    job = Job("hang-rank=3", "hang-step=10", prefix=in_own_mounts("mount -t tmpfs none /proc"))
    yield job
    report = job.report()
    verdict = report["verdicts"][0]
    require(3 in verdict["ranks"], f"{verdict['kind']} of {verdict['ranks']}")
    require("/proc" in (job.directory / "report.txt").read_text(), "the report does not say that /proc is missing")


CASES = [leader_killed, coordinator_killed_in_the_middle_of_a_diagnosis, leader_stopped, all_but_one_killed,
         killed_as_a_whole, killed_after_one_had_ended, abort_on_hang, hold_on_hang, clean_end_leaves_nothing,
         children_are_not_ranks, exit_in_the_middle, blocked_signals, request_by_signal, request_by_macro,
         directory_under_a_file, read_only_directory, file_size_limit, no_more_files, disk_full, no_proc]


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--ranks", required=True, type=pathlib.Path)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    failed = 0
    for case in CASES:
        if options.case and case.__name__ not in options.case:
            continue
        jobs = []
        start = time.monotonic()
        try:
            for job in case():
                jobs.append(job)
            result = "ok"
        except Exception as failure:  # whatever it is, the jobs must be ended, and the other cases must run
            result = f"FAIL: {failure}" if isinstance(failure, Failure) else f"FAIL: {failure!r}"
            failed += 1
        print(f"{case.__name__:50} {time.monotonic() - start:6.2f} s  {result}", flush=True)
        if result != "ok" and options.verbose:
            for job in jobs:
                print("    " + "\n    ".join(job.output().splitlines()[-60:]))
        for job in jobs:
            job.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
