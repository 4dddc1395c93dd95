"""Runs a training that saves into FOLDER after every step, and kills it while it saves; TIMES times, each time going on
from what is there.

usage: kill.py FOLDER TIMES COMMAND...

The moment is one that matters: as soon as the folder of an unfinished checkpoint is there, or a few steps later.
"""

import glob
import os
import subprocess
import sys
import time

folder, times, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
for attempt in range(times):
    resume = ["--resume", folder] if os.path.exists(f"{folder}/LATEST") else []
    before = len(glob.glob(f"{folder}/step-*"))
    process = subprocess.Popen([*command, "--save", folder, "--save-every", "1", *resume])
    deadline = time.monotonic() + 60
    # At least one more checkpoint each time, so that the runs get on.
    while process.poll() is None and time.monotonic() < deadline:
        done = glob.glob(f"{folder}/step-" + "[0-9]" * 6)
        partial = glob.glob(f"{folder}/*.partial")
        if len(done) > before and partial:
            break
    process.kill()
    process.wait()
    print(f"killed with {sorted(map(os.path.basename, glob.glob(folder + '/*')))[-3:]}")
