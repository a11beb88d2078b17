# SPDX-License-Identifier: Apache-2.0
"""output_test.py ONESEA NAME [FLAG]...: `onesea bench NAME --quick --json --out DIR FLAG...` ends in time, prints nothing but well-formed
lines with all fields, covers what it must, and writes its pictures. No figure is compared with a threshold: a test
machine may be as slow as it likes."""

import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from pathlib import Path

FIELDS = ["bench", "case", "path", "target", "secure", "bytes", "ranks", "metric", "median", "min", "max", "p99", "runs",
          "machine", "trained", "against"]
METRICS = {"latency_us", "rate_mops", "bandwidth_gbs", "time_s", "memory_bytes"}
# --quick leaves out what there is no time for: a busy machine must not make it so here.
# `start` asks for nothing in particular and would go on to jobs of many ranks.
ENOUGH = ["--runs", "1", "--seconds", "120"]
LIMIT_SECONDS = 170


def check_figure(line, name):
    figure = json.loads(line)
    assert list(figure) == FIELDS, f"fields are {list(figure)}"
    assert figure["bench"] == name and figure["metric"] in METRICS, line
    secure = figure["case"].split("_")[0] if name == "cipher" else "auth"
    assert re.search(r"processors?, .*Linux [\d.]+$", figure["machine"]) and isinstance(figure["trained"], bool), line
    assert figure["path"] in ("shm", "net", "cable") and figure["secure"] == secure, line
    assert 0 < figure["min"] <= figure["median"] <= figure["max"] and figure["p99"] > 0 and figure["runs"] >= 1, line
    for rival in figure["against"]:
        assert rival["kind"] in ("floor", "peer", "own") and rival["median"] > 0, line
        assert math.isclose(rival["ratio"], figure["median"] / rival["median"], rel_tol=1e-3), line
        # With one run, as here, there is one turn.
        one = figure["runs"] == 1 and rival.get("turn_ratio", rival["ratio"])
        assert not one or math.isclose(one, rival["ratio"], rel_tol=1e-3), line
    return figure


def check_coverage(figures, name, path):
    seen = {(f["case"], f["path"], f["target"], f["metric"]) for f in figures}
    if name == "rma":
        for case in ("put_fence", "get", "fetch_add", "cas", "am"):
            assert (case, path, "waiting", "latency_us") in seen, f"{case} over {path} is missing from {sorted(seen)}"
        for figure in figures:
            assert any(r["kind"] == "floor" for r in figure["against"]), f"no floor beside {figure}"
        if path == "cable":
            assert {f["path"] for f in figures} == {path}, "something else was measured too"
            sizes = {f["bytes"] for f in figures if f["case"] == "get" and f["metric"] == "bandwidth_gbs"}
            assert sizes >= {8, 65536, 1 << 20, 64 << 20}, f"get is measured at {sorted(sizes)} bytes"
            streams = [f for f in figures if f["metric"] == "bandwidth_gbs"]
            assert all({"udp_stream_gso", "tcp_stream"} <= {r["name"] for r in f["against"]} for f in streams)
    elif name == "mmp":
        for case, metric in (("pingpong", "latency_us"), ("stream", "bandwidth_gbs")):
            assert (case, path, "waiting", metric) in seen, f"{case} over {path} is missing from {sorted(seen)}"
        for figure in figures:
            beside = {r["name"] for r in figure["against"]}
            if figure["case"] == "pingpong":
                assert beside & {"udp_pingpong", "memory_pingpong"}, f"no floor beside {figure}"
            if figure["case"] == "stream":
                assert beside & {"udp_stream_gso", "memcpy"} and "put" in beside, f"no floor beside {figure}"
            if figure["case"] in ("is_s", "is_a", "cg_s", "cg_a"):
                assert figure["metric"] == "time_s" and figure["ranks"] >= 1, figure
    elif name == "dsm":
        for case in ("read", "write", "write_fence", "write_b"):
            for path in ("shm", "net"):
                assert (case, path, "waiting", "latency_us") in seen, f"{case} over {path} is missing from {sorted(seen)}"
        assert all([r["name"] for r in f["against"]] == ["dsm_tcp", "dsm_udp"] for f in figures), "a figure stands alone"
        lost = [r["lost_percent"] for f in figures for r in f["against"] if "lost_percent" in r]
        assert lost and all(0 <= percent <= 100 for percent in lost), f"lost WRITEs: {lost}"
    elif name == "acp":
        assert ("copy", "net", "waiting", "bandwidth_gbs") in seen, f"copy is missing from {sorted(seen)}"
        for case in ("malloc", "free", "push_back_list", "get8"):
            for path, target in (("shm", "local"), ("shm", "waiting"), ("net", "waiting")):
                assert (case, path, target, "latency_us") in seen, f"{case} on {target} {path} is missing from {sorted(seen)}"
        for f in figures:
            if f["case"] in ("malloc", "free", "push_back_list"):
                assert "get8" in {r["name"] for r in f["against"]}, f"a call stands alone: {f}"
        cases = {f["case"] for f in figures}
        assert cases >= {"init", "talk", "tables", "registration_100000", "churn_before", "churn_after"}, sorted(cases)
        assert max(f["ranks"] for f in figures) == 1_000_000, "the job of a million is missing"
    elif name == "cipher":
        cases = {"auth_seal", "auth_open", "encrypt_seal", "encrypt_open"}
        wanted = {(case, "latency_us", size) for case in cases for size in (64, 256, 1024, 1472, 4096, 61440)}
        wanted |= {(case, "bandwidth_gbs", 61440) for case in cases}
        measured = [(f["case"], f["metric"], f["bytes"]) for f in figures]
        assert sorted(measured) == sorted(wanted), sorted(measured)
        for f in figures:
            kinds = {r["name"]: r["kind"] for r in f["against"]}
            assert (kinds["memcpy"], kinds["aegis_128l"], kinds["aegis_128x4"]) == ("floor", "own", "own"), f
            peer = "sodium_poly1305" if f["secure"] == "auth" else "sodium_chacha20_poly1305"
            assert kinds[peer] == "peer" and all(r["version"] for r in f["against"] if r["kind"] == "peer"), f
    elif name == "loss":
        for share in ("0", "0.1", "1", "5"):
            assert (f"loss_{share}", "net", "waiting", "bandwidth_gbs") in seen, f"{share} % is missing from {sorted(seen)}"
        assert all(f["against"] for f in figures), "a figure stands alone"
    else:
        assert {f["case"] for f in figures} & {"init", "plain"}, seen


def check_patterns(figures, stderr):
    wanted = [("one", 2), *((case + what, ranks) for case, ranks in (("both", 2), ("out", 8), ("in", 8))
                            for what in ("", "_slowest"))]
    assert [(f["case"], f["ranks"], f["bytes"]) for f in figures] == [(*w, 1 << 20) for w in wanted], figures
    own = lambda case: {} if case == "one" else {"mean_pair" if "slowest" in case else "one_pair": "own"}
    for f in figures:
        assert (f["path"], f["target"], f["metric"]) == ("net", "waiting", "bandwidth_gbs"), f
        beside = {r["name"]: r["kind"] for r in f["against"]}
        peers = {name for name, kind in beside.items() if kind == "peer"}
        assert beside == {"tcp": "floor", "udp": "floor", **own(f["case"]), **dict.fromkeys(peers, "peer")}, f
        assert f["against"][0]["version"].startswith("room "), f
        check_peers(f, peers, stderr, f"{f['case'].split('_')[0]} of 1 MB")


def check_peers(figure, beside, stderr, what):
    """One that is not installed or failed is told of on stderr."""
    for peer in ("mpich", "openmpi"):
        assert peer in beside or f"{peer} is left out" in stderr or f"  {peer} {what}" in stderr, figure


def check_collectives(figures, stderr, flags):
    sizes = {"exchange": (8, 4096), "barrier": (0,), "allgather": (1024,), "allreduce": (8, 8192),
             "reduce_scatter": (1024,), "scan": (8,), "alltoall": (1024,), "alltoallv": (1024,),
             "broadcast": (8, 65536), "neighbors": (8, 4096), "allgatherv": (1024,), "gatherv": (1024,),
             "scatterv": (1024,), "exscan": (8,)}
    wanted = [(case, path, ranks, size) for case in sizes
              for path in (("cable",) if "cable" in flags else ("net", "shm"))
              for ranks in ((2,) if case == "exchange" else (2, 4)) for size in sizes[case]]
    assert [(f["case"], f["path"], f["ranks"], f["bytes"]) for f in figures] == wanted, figures
    floors = {"net": "half_udp_pingpong", "cable": "half_udp_pingpong", "shm": "half_memory_pingpong"}
    for f in figures:
        assert (f["target"], f["metric"]) == ("waiting", "latency_us"), f
        beside = {r["name"]: r["kind"] for r in f["against"]}
        floor = [name for name, kind in beside.items() if kind == "floor"]
        has_floor = f["case"] == "exchange" and (f["path"] != "cable" or f["bytes"] <= 1472)
        assert floor == ([floors[f["path"]]] if has_floor else []), f
        if "--no-peers" not in flags:
            check_peers(f, [name for name, kind in beside.items() if kind == "peer"], stderr, f"{f['path']}@")


def check_part(onesea):
    """One case alone, without other software: nothing else is shown, though the stream of one pair is measured. The
    table says of each figure which sockets its floor is of."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([onesea, "bench", "patterns", "--quick", "--out", folder, "--no-peers", "--case", "both",
                                 *ENOUGH], capture_output=True, text=True, timeout=60)
        lines = (Path(folder) / "patterns.json").read_text().splitlines()
    figures = [check_figure(line, "patterns") for line in lines]
    for version, cases in re.findall("  sockets with (.*): (.*)", result.stdout):
        taken = [f"{f['case']} of 1 MB" for f in figures if f["against"][0]["version"] == version]
        assert cases == (", ".join(taken) or "nowhere"), result.stdout
    assert result.stdout.count("  sockets with ") == 2, result.stdout
    beside = [(f["case"], [r["name"] for r in f["against"]]) for f in figures]
    assert result.returncode == 0, result.stderr
    assert beside == [("both", ["tcp", "udp", "one_pair"]), ("both_slowest", ["tcp", "udp", "mean_pair"])], beside


def check_haste(onesea):
    """A job of a million processes does not fit into four seconds: the rest is measured all the same."""
    result = subprocess.run([onesea, "bench", "acp", "--quick", "--json", "--no-peers", "--seconds", "4"],
                            capture_output=True, text=True, timeout=60)
    figures = [check_figure(line, "acp") for line in result.stdout.splitlines()]
    assert result.returncode == 0 and {"copy", "get8"} & {f["case"] for f in figures}, (result.stderr, figures)


def check_no_room(onesea, name):
    """A folder that takes no byte, here by a limit as elsewhere by a full disk, is told before anything is measured."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([onesea, "bench", name, "--out", folder], capture_output=True, text=True, timeout=20,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)))
        assert result.returncode == 125 and folder in result.stderr and not result.stdout, f"no room: {result}"
        assert not os.listdir(folder), "something is left"


def can_make_namespaces():
    """Whether this machine lets us make network namespaces."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("nft"):
        return False
    name = f"seatry{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "del", name], check=True)
    return made


def main(onesea, name, *flags):
    if (name == "loss" or "cable" in flags) and not can_make_namespaces():
        print("skipped: needs root, ip, nft and network namespaces")
        sys.exit(77)
    path = "cable" if "cable" in flags else "net"
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        enough = [] if name == "start" else ENOUGH
        result = subprocess.run([onesea, "bench", name, "--quick", "--json", "--out", folder, *enough, *flags],
                                capture_output=True, text=True, timeout=LIMIT_SECONDS)
        seconds = time.monotonic() - begin
        print(result.stderr)
        assert result.returncode == 0, f"exit code {result.returncode}"
        figures = [check_figure(line, name) for line in result.stdout.splitlines()]
        if name == "collectives":
            check_collectives(figures, result.stderr, flags)
        elif name == "patterns":
            check_patterns(figures, result.stderr)
        else:
            check_coverage(figures, name, path)
        assert (Path(folder) / f"{name}.json").read_text() == result.stdout
        pictures = list(Path(folder).glob("*.svg"))
        assert pictures, "no picture"
        for picture in pictures:
            xml.etree.ElementTree.parse(picture)
    for wrong in (["--case", "nothing"], ["--path", "air"], ["--runs", "0"], ["--secure", "maybe"], ["--unknown"],
                  ["--seconds", "5"], ["--out", "/dev/null/x"]): # before anything is measured
        result = subprocess.run([onesea, "bench", name, *wrong], capture_output=True, text=True, timeout=20)
        assert result.returncode == 125 and not result.stdout, f"{wrong}: exit code {result.returncode}"
        assert result.stderr.startswith(f"onesea bench {name}: "), f"{wrong}: {result.stderr}"
    check_no_room(onesea, name)
    with open("/dev/full", "w") as full:
        result = subprocess.run([onesea, "bench", name, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=20)
        assert result.returncode == 1 and "stdout cannot be written" in result.stderr, f"lost help: {result}"
        result = subprocess.run([onesea, "bench", name, "--unknown"], stdout=subprocess.PIPE, stderr=full, timeout=20)
        assert result.returncode == 125, f"words that nobody takes: exit code {result.returncode}"
    if name == "acp":
        check_haste(onesea)
    if name == "patterns":
        check_part(onesea)
    print(f"{len(figures)} figures in {seconds:.1f} s")


main(*sys.argv[1:])
