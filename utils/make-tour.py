#!/usr/bin/env python3
"""Makes the fenced blocks of docs/tour.md and docs/distributions.md from what the tools really print.

A comment above a fence says what the fence shows; prose is left alone:
  <!-- dump FILE [--block TEXT] [--keep REGEX] [--cut REGEX]... -->   an excerpt of the tour model's --dump-dir
  <!-- run COMMAND -->                                                output of a shell command
  <!-- file PATH -->                                                  a file of docs/tour
--block: from the line that holds TEXT to the end of its region. --keep: other lines become one "…".
--cut: matching text becomes "…". Commands run where tiny/ holds the tour's model, recipe and plan.

usage: utils/make-tour.py [--check] [--bin FOLDER]       --check: compare only, exit 1 if anything differs
"""
import argparse
import difflib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["docs/tour.md", "docs/distributions.md"]
MODEL = "gpt --layers 2 --embed 64 --heads 4 --vocab 256 --max-seq 16 --no-bias"
WIDTH = 116
FENCE = re.compile(r"(<!-- (dump|run|file) (.*?) -->\n```\w*\n)(.*?)(^```$)", re.S | re.M)


def indent(line):
    return len(line) - len(line.lstrip())


def block(lines, text):
    """The lines of the operation whose first line holds `text`."""
    start = next((i for i, line in enumerate(lines) if text in line), None)
    if start is None:
        raise SystemExit(f"make-tour: nothing in the dump holds '{text}'")
    if not lines[start].rstrip().endswith(("{", ",")):
        return lines[start : start + 1]
    end = next(i for i in range(start + 1, len(lines)) if lines[i].strip().startswith("}") and indent(lines[i]) == indent(lines[start]))
    return lines[start : end + 1]


def keep(lines, pattern):
    kept = []
    for i, line in enumerate(lines):
        if i in (0, len(lines) - 1) or re.search(pattern, line):
            kept.append(line)
        elif kept[-1].strip() != "…":
            kept.append(" " * indent(line) + "…")
    return kept


def shorten(line, cuts):
    for pattern in cuts:
        line = re.sub(pattern, "…", line)
    line = re.sub("…+", "…", line)
    return line if len(line) <= WIDTH else line[: WIDTH - 1].rstrip() + "…"


class Tour:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        tiny = self.folder / "tiny"
        tiny.mkdir()
        for name in ("recipe.yaml", "plan.yaml"):
            shutil.copy(ROOT / "docs/tour" / name, tiny)
        for path in (ROOT / "docs/tour").glob("*.mlir"):
            shutil.copy(path, self.folder)
        self.run(f"stretto model {MODEL} -o tiny/model.mlir")
        self.run("stretto compile tiny --stop-after program --dump-dir dump")

    def run(self, command, check=True):
        done = subprocess.run(command, shell=True, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if check and done.returncode:
            raise SystemExit(f"make-tour: {command}\n{done.stdout}")
        return done.stdout.splitlines()

    def dump(self, arguments):
        parser = argparse.ArgumentParser(prog="dump")
        parser.add_argument("file")
        parser.add_argument("--block")
        parser.add_argument("--keep")
        parser.add_argument("--cut", action="append", default=[])
        options = parser.parse_args(shlex.split(arguments))
        lines = (self.folder / "dump" / options.file).read_text().splitlines()
        if options.block:
            lines = block(lines, options.block)
        if options.keep:
            lines = keep(lines, options.keep)
        lines = [line[indent(lines[0]) :] for line in lines]
        return [shorten(line, options.cut) for line in lines]

    def fence(self, match):
        head, kind, argument, _, tail = match.groups()
        if kind == "dump":
            lines = self.dump(argument)
        elif kind == "run":
            lines = [shorten(line, []) for line in self.run(argument, check=False)]
        else:
            lines = (self.folder / argument).read_text().splitlines()
        return head + "".join(line.rstrip() + "\n" for line in lines) + tail


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    parser.add_argument("--bin", default=str(ROOT / "build/bin"), help="where the tools are")
    options = parser.parse_args()
    os.environ["PATH"] = os.path.abspath(options.bin) + os.pathsep + os.environ["PATH"]
    differs = False
    with tempfile.TemporaryDirectory() as folder:
        tour = Tour(folder)
        for name in PAGES:
            page = ROOT / name
            old = page.read_text()
            new = FENCE.sub(tour.fence, old)
            if old == new:
                continue
            differs = True
            if options.check:
                sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), name, "what the tools print"))
            else:
                page.write_text(new)
                print(f"made {name}")
    if differs and options.check:
        print("run utils/make-tour.py and read whether the prose still fits")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
