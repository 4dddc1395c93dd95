#!/usr/bin/env bash
# Checks the sources without building: format, file sizes, mirrors, READMEs, and that what the docs name exists.
# (Commands and options in the docs are checked by a test, utils/check-commands.py: it needs the tools.)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
failures=0
complain() { echo "check: $*"; failures=$((failures + 1)); }
warn() { echo "check: warning: $*"; }

mapfile -t sources < <(git ls-files '*.cpp' '*.h' | grep -v '^test/fixtures/')
format=clang-format-14
command -v $format >/dev/null || format=clang-format
mapfile -t unformatted < <($format --dry-run "${sources[@]}" 2>&1 | grep 'warning:' | cut -d: -f1 | sort -u)
for file in "${unformatted[@]}"; do complain "$file is not formatted; run $format -i $file"; done

while read -r lines file; do
  if [ "$file" = total ]; then continue; fi
  if [ "$lines" -gt 800 ]; then complain "$file has $lines lines; split it (500 is the aim, 800 the end)"
  elif [ "$lines" -gt 500 ]; then warn "$file has $lines lines; look for the seam (500 is the aim, 800 the end)"; fi
done < <(git ls-files '*.cpp' '*.h' '*.td' '*.py' '*.sh' '*.fbs' '*.cmake' | xargs wc -l)

# include/ mirrors lib/: every public header has its room.
while read -r header; do
  room=$(dirname "${header#include/stretto/}")
  [ -d "lib/$room" ] || complain "$header has no room in lib/"
done < <(git ls-files 'include/stretto/*.h')

# Every room has a README of at most 40 lines that says which test to run.
while read -r room; do
  readme=$(dirname "$room")/README.md
  if [ ! -f "$readme" ]; then complain "$(dirname "$room") has no README.md"; continue; fi
  [ "$(wc -l <"$readme")" -le 40 ] || complain "$readme is longer than 40 lines"
  grep -qE '^(- )?Tests?: ' "$readme" || complain "$readme names no test"
done < <(git ls-files 'lib/*/CMakeLists.txt' 'runtime/src/*/CMakeLists.txt')
while read -r binary; do
  git grep -qE "stretto_unittest\($binary( |\$)" -- 'test/unit/*' || complain "a README names $binary, which no CMakeLists.txt builds"
done < <(git ls-files '*README.md' 'docs/*.md' | xargs grep -ohE 'build/test/unit/[A-Za-z]+Tests' | xargs -rn1 basename | sort -u)

# Every pass is used by a test.
while read -r pass; do
  git grep -qE "(-|,|\"|\()$pass\b" -- test lib/Driver || complain "no test runs the pass $pass"
done < <(git ls-files '*Passes.td' | xargs grep -ohE 'Pass<"[a-z0-9-]+"' | cut -d'"' -f2)

# Paths in backticks in the docs exist.
while IFS=: read -r file path; do
  [ -e "$path" ] || compgen -G "$path" >/dev/null || complain "$file names $path, which does not exist"
done < <(git ls-files '*.md' | xargs grep -oE '`(docs|examples|include|lib|runtime|test|tools|utils)/[A-Za-z0-9_./*-]+`' | tr -d '`' | sort -u)

while read -r script; do bash -n "$script" || complain "$script does not parse"; done < <(git ls-files '*.sh' .ci/run)
while read -r script; do [ -x "$script" ] || complain "$script is not executable"; done < <(git ls-files 'utils/*.sh' 'utils/*.py' .ci/run)
[ "$failures" -eq 0 ] && echo "check: fine"
exit $((failures > 0))
