"""Runs a command, sends it SIGTERM as soon as FILE has LINES lines, and exits with its exit code; complains when it
takes more than a minute to end.

usage: interrupt.py FILE LINES COMMAND...
"""

import os
import signal
import subprocess
import sys
import time

path, lines, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
process = subprocess.Popen(command)
while process.poll() is None:
    if os.path.exists(path) and open(path).read().count("\n") >= lines:
        process.send_signal(signal.SIGTERM)
        break
    time.sleep(0.01)
try:
    sys.exit(process.wait(timeout=60))
except subprocess.TimeoutExpired:
    process.kill()
    sys.exit("still running a minute after SIGTERM")
