# SPDX-License-Identifier: Apache-2.0
"""cable_test.py ONESEA BENCHMARK...: a benchmark that makes network namespaces leaves none when a signal ends it, at the
first step or later, even if removing them takes long; what a killed one had to leave, the next one removes."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77
NETNS = Path("/run/netns")


def can_make():
    """Whether this machine lets us make network namespaces."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("nft"):
        return False
    name = f"seatry{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "del", name], check=True)
    return made


def until(what, seconds, said):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, f"not within {seconds} s: {said}"
        time.sleep(0.005)
    return found


def namespaces(pid):
    return sorted(p.name for p in NETNS.glob(f"seabench{pid}[ab]"))


def inhabitants(names):
    return [pid for name in names
            for pid in subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout.split()]


class Benchmark:
    def __init__(self, command, path):
        environment = dict(os.environ, PATH=f"{path}:{os.environ['PATH']}")
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True)
        self.pid = self.process.pid

    def end(self, number):
        self.process.send_signal(number)
        said = self.process.communicate(timeout=30)[1]
        assert self.process.returncode in (128 + number, -number), f"status {self.process.returncode}: {said}"
        return said


def slow_ip(folder):
    """An `ip` that takes its time to remove a namespace, as a busy kernel does."""
    script = Path(folder) / "ip"
    script.write_text(f"#!/bin/sh\n[ \"$1 $2\" != 'netns del' ] || sleep 0.7\nexec {shutil.which('ip')} \"$@\"\n")
    script.chmod(0o755)


def test_signals(command, folder):
    for number in (signal.SIGINT, signal.SIGTERM):
        for wanted, pause in ((1, 0), (2, 0), (2, 1.2)):
            one = Benchmark(command, folder)
            until(lambda: len(namespaces(one.pid)) >= wanted, 10, "its namespaces are there")
            time.sleep(pause)
            said = one.end(number)
            left = namespaces(one.pid)
            assert not left, f"after {number!r} at {wanted} namespaces and {pause} s these are left: {left}; {said}"


def test_killed(command, folder):
    """Only the next one can remove what kill -9 leaves; it keeps its hands off what living processes have."""
    killed = Benchmark(command, folder)
    until(lambda: len(namespaces(killed.pid)) == 2 and inhabitants(namespaces(killed.pid)), 10, "a job runs in them")
    killed.end(signal.SIGKILL)
    names = namespaces(killed.pid)
    assert len(names) == 2, f"after a kill only {names}: this test proves nothing"
    until(lambda: not inhabitants(names), 15, f"nobody is in {names} any more")
    ours = f"seabench{os.getpid()}a"
    subprocess.run(["ip", "netns", "add", ours], check=True)
    try:
        heir = Benchmark(command, folder)
        until(lambda: len(namespaces(heir.pid)) == 2, 15, "the next one's namespaces are there")
        heir.end(signal.SIGTERM)
        assert not namespaces(killed.pid), "the next one did not remove what the killed one left"
        assert (NETNS / ours).exists(), "it removed a namespace of a living process"
        assert not namespaces(heir.pid)
    finally:
        subprocess.run(["ip", "netns", "del", ours], check=True)


def main(onesea, *benchmark):
    if not can_make():
        print("skipped: needs root, ip, nft and network namespaces")
        return SKIPPED
    command = [onesea, "bench", *benchmark]
    with tempfile.TemporaryDirectory() as folder:
        slow_ip(folder)
        test_signals(command, folder)
        test_killed(command, folder)
    return 0


sys.exit(main(*sys.argv[1:]))
