"""The loop of scripts/search-bench: one fuzz run per fault and route, and a table of what it took.

Through the Python module only arrays on the CPU are drawn: faults of other devices are sought in C.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

SECONDS, RUNS = 20, 200_000
# A life has rare steps that cost as much as a thousand others.
LIFE_SECONDS, LIFE_RUNS = 60, 10_000_000

parser = argparse.ArgumentParser(prog="scripts/search-bench")
parser.add_argument("targets")
parser.add_argument("exporters")
parser.add_argument("--only", metavar="NAME")
parser.add_argument("--plain", action="store_true")
options = parser.parse_args()

sys.path.insert(0, options.exporters)
import dlpack_reference  # noqa: E402


def search(fault, rule, grade, route):
    """(runs, seconds) until the rule speaks; None if it does not."""
    if route == "c":
        target = "c_abi"
        library = os.path.abspath(os.path.join(options.exporters, "libdlpack_reference.so"))
        backend = f"c:{library}?fault={fault}"
    else:
        target = "lifecycle" if route == "life" else "dunder_dlpack"
        backend = f"py:dlpack_reference:{fault}"
    seconds, runs = (LIFE_SECONDS, LIFE_RUNS) if route == "life" else (SECONDS, RUNS)
    environment = dict(
        os.environ,
        DLPACK_FUZZ_BACKEND=backend,
        DLPACK_FUZZ_PYTHONPATH=options.exporters,
        DLPACK_FUZZ_WANTED=f"{rule}:{grade}",
        DLPACK_FUZZ_PLAIN_MUTATION="1" if options.plain else "",
    )
    with tempfile.TemporaryDirectory() as corpus:
        run = subprocess.run(
            [
                os.path.join(options.targets, target),
                f"-runs={runs}",
                f"-max_total_time={seconds}",
                "-seed=1",
                "-max_len=4096",
                "-detect_leaks=0",
                f"-artifact_prefix={corpus}/",
                corpus,
            ],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
        )
    found = re.search(r"^found .* in (\d+) runs and ([\d.]+) s", run.stdout, re.M)
    if found:
        return int(found[1]), float(found[2])
    if run.returncode != 0:
        print(f"{fault} ({route}): the target ended with {run.returncode}\n{run.stderr[-2000:]}", file=sys.stderr)
    return None


def main():
    names = [fault for fault, *_ in dlpack_reference.faults()]
    if options.only and options.only not in names:
        sys.exit(f"search-bench: no fault is named {options.only}; there are {', '.join(names)}")
    missed = []
    print("| fault | rule | route | runs | seconds |\n|---|---|---|---:|---:|", flush=True)
    for fault, rule, grade, routes, _ in dlpack_reference.faults():
        if options.only not in (None, fault):
            continue
        for route in ["c", "python"] if routes == "both" else [routes]:
            found = search(fault, rule, grade, route)
            if found is None:
                missed.append(f"{fault} ({route})")
            runs, seconds = found or ("-", "-")
            runs = f"{runs:,}" if found else runs
            print(f"| {fault} | {rule} | {route} | {runs} | {seconds} |", flush=True)
    if missed:
        print(f"\nnot found: {', '.join(missed)}", flush=True)
        sys.exit(1)


main()
