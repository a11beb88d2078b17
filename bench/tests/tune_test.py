# SPDX-License-Identifier: Apache-2.0
"""tune_test.py ONESEA PROGRAM: `onesea tune --quick` with one turn writes a profile that a job of PROGRAM loads, keeps the old
one, touches only what it measured, and prints nothing but JSON if that was asked for. No figure is compared."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

onesea, program = sys.argv[1:3]


def no_room():
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def run(*words, status=0, preexec_fn=None, **env):
    done = subprocess.run([onesea, *words], capture_output=True, text=True, timeout=150, env=os.environ | env, preexec_fn=preexec_fn)
    assert done.returncode == status, f"{words} gave {done.returncode}: {done.stderr}"
    return done


with tempfile.TemporaryDirectory() as folder:
    home = {"XDG_CONFIG_HOME": folder}
    file = Path(folder) / "onesea" / "profile.json"

    plan = run("tune", "--dry-run", **home).stdout
    assert f"would write {file}" in plan and "net (section loopback)" in plan, plan
    plan = [json.loads(line) for line in run("tune", "--dry-run", "--json", "--path", "net,net", **home).stdout.splitlines()]
    assert [line["tune"] for line in plan] == ["plan", "profile"] and plan[-1]["file"] == str(file), plan
    assert plan[0]["path"] == "net" and plan[0]["jobs"] > 9 and 65000 in plan[0]["parameters"]["fragment"], plan
    assert not file.exists(), "--dry-run wrote something"
    for hosts in ("a", "a,", "a,b,c", "a,a"):
        assert "two machines" in run("tune", "--dry-run", "--host", hosts, status=125, **home).stderr
    run("tune", "--dry-run", "--host", "a:1,b:1", **home)

    first = run("tune", "--quick", "--runs", "1", "--json", "--out", folder + "/out", **home)
    lines = [json.loads(line) for line in first.stdout.splitlines()]
    choices = {(c["path"], c["parameter"]): c for c in lines if c["tune"] == "choice"}
    # On a busy machine --quick leaves out the last ones, and says so.
    wanted = {("shm", "window"), ("net", "fragment"), ("net", "batch"), ("net", "eager")}
    assert wanted <= set(choices) or "the time of --quick is over" in first.stderr, choices
    assert ("shm", "window") in choices, choices
    profile = json.loads(file.read_text())
    assert profile["onesea_profile"] == 1 and profile["about"]["host"], profile
    for (path, name), choice in choices.items():
        assert profile[choice["section"]][name] == choice["chosen"], (path, name)
    assert lines[-1]["values"]["loopback"] == profile["loopback"]
    pictures = list(Path(folder, "out").glob("*.svg"))
    assert "tune-shm-window.svg" in {p.name for p in pictures}, pictures
    for picture in pictures:
        xml.etree.ElementTree.parse(picture)

    # A job loads it, also after values have been set that no measurement chose.
    profile["ethernet"]["batch"] = 64
    profile["shm"]["window"] = 65536
    file.write_text(json.dumps(profile))
    job = run("run", "-n", "2", "--nodes", "2", program, "3", "70000", ONESEA_LOG="info", **home)
    assert f"profile {file}" in job.stderr and "window 65536" in job.stderr, job.stderr

    text = run("tune", "--quick", "--runs", "1", "--path", "net", "--only", "batch", **home).stdout
    assert "net batch: " in text and f"{file} is written" in text, text
    again = json.loads(file.read_text())
    assert again["ethernet"]["batch"] == 64 and again["shm"]["window"] == 65536, "it touched what it did not measure"
    assert json.loads(Path(str(file) + ".old").read_text()) == profile, "the old one is not kept"

    # What it prints is lost and that is told; the profile is written all the same.
    for words in (["--help"], ["--dry-run"], ["--quick", "--runs", "1", "--path", "shm", "--only", "eager", "--profile", folder + "/full.json"]):
        with open("/dev/full", "w") as full:
            lost = subprocess.run([onesea, "tune", *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=150, env=os.environ | home)
        assert lost.returncode == 1 and "stdout cannot be written" in lost.stderr, (words, lost)
    assert Path(folder, "full.json").exists(), "what was measured is lost too"

    file.write_text("{")
    broken = run("tune", "--quick", "--runs", "1", "--path", "shm", "--only", "eager", **home)
    assert "kept as" in broken.stderr and Path(str(file) + ".old").read_text() == "{", broken.stderr
    run("run", "true", **home)

    for option in ("--profile", "--out"): # before minutes of measuring
        told = run("tune", option, "/dev/null/x", status=125, **home)
        assert "/dev/null/x" in told.stderr and not told.stdout, told
    for place in (("--profile", folder + "/y.json"), ("--out", folder + "/out")): # by a limit as by a full disk
        told = run("tune", *place, status=125, preexec_fn=no_room, **home)
        assert place[1] in told.stderr and not told.stdout, told
    assert not Path(folder, "y.json.part").exists()
    assert "fragmnt" in run("tune", "--only", "fragmnt", status=125).stderr
    assert "there is no batch on the path shm" in run("tune", "--only", "batch", "--path", "shm", status=125, **home).stderr
    told = run("tune", "--unknown", status=125).stderr
    assert told.startswith("onesea tune: ") and "--unknown" in told and "onesea tune --help" in told, told
    assert "--host" in run("tune", "--help").stdout
    elsewhere = run("tune", "--quick", "--runs", "1", "--path", "shm", "--only", "eager", "--profile", folder + "/x.json", **home)
    assert Path(folder, "x.json").exists(), elsewhere.stdout
