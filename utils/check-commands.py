#!/usr/bin/env python3
"""Checks that every command that README.md and docs/*.md name exists, with every option.

Commands are lines of fenced blocks, and `code` in the text, that start with one of our tools, ./gpt (any executable that
`stretto compile` made) or utils/…. Options are looked up in the tool's --help; a script's in its text.
usage: utils/check-commands.py [--bin FOLDER]
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = re.compile(r"(stretto|stretto-opt|stretto-interpret|stretto-runner|\./gpt|utils/[\w.-]+)(?:\s+(.*))?$")


def commands(text):
    """Every command of a page, as (line number, tool, rest)."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
            continue
        if line.lstrip().startswith("<!--"):
            continue
        for piece in [line] if fenced else re.findall(r"`([^`]+)`", line):
            # Columns: the space after tool and subcommand is for the eye, later space ends the command.
            piece = re.sub(r"^(stretto\s+\S+|\S+)\s+", lambda m: " ".join(m[1].split()) + " ", piece.strip())
            match = COMMAND.match(re.split(r"\s{2,}|\s#|[;>]|\s\|", piece)[0].strip())
            if match:
                yield number, match[1], match[2] or ""


class Checker:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.texts = {}
        self.failures = 0

    def help(self, *words):
        if words not in self.texts:
            done = subprocess.run([str(self.folder / words[0]), *words[1:], "--help"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.texts[words] = done.stdout if done.returncode == 0 else None
        return self.texts[words]

    def reference(self, tool, rest):
        """The text that must name every option, or None when the command does not exist."""
        if tool.startswith("utils/"):
            script = ROOT / tool
            return script.read_text() if script.exists() else None
        if tool == "./gpt":
            return self.help("stretto-runner")
        if tool != "stretto":
            return self.help(tool)
        word = re.match(r"[a-z|]+", rest)
        if not word:  # `stretto COMMAND …`, `stretto`
            return self.help("stretto")
        texts = [self.help("stretto", name) for name in word[0].split("|")]
        if word[0] == "train":  # hands the rest to the executable
            texts.append(self.help("stretto-runner"))
        return None if None in texts else "\n".join(texts)

    def check(self, page, number, tool, rest):
        text = self.reference(tool, rest)
        where = f"{page}:{number}"
        if text is None:
            return self.complain(f"{where}: there is no `{tool} {rest.split(' ')[0]}`")
        for option in re.findall(r"(?:^|[\s\[(])(--?[A-Za-z][\w-]*)", rest):
            if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text):
                self.complain(f"{where}: `{tool}` has no option {option}: {rest}")
        for path in re.findall(r"(?:examples|docs|test|utils)/[\w./-]+", rest):
            if not (ROOT / path).exists():
                self.complain(f"{where}: {path} does not exist")

    def complain(self, text):
        print("check-commands:", text)
        self.failures += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=str(ROOT / "build/bin"), help="where the tools are")
    checker = Checker(parser.parse_args().bin)
    seen = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "examples/README.md"]:
        for number, tool, rest in commands(page.read_text()):
            seen += 1
            checker.check(page.relative_to(ROOT), number, tool, rest)
    print(f"{seen} commands, {checker.failures} wrong")
    return 1 if checker.failures or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
