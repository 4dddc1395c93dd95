#!/usr/bin/env bash
# Checks the sources without building: format, file sizes, mirrors, READMEs, and that what the docs name exists.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
failures=0
complain() { echo "check: $*"; failures=$((failures + 1)); }

mapfile -t sources < <(git ls-files '*.cpp' '*.h' | grep -v '^test/fixtures/')
formatted=$(clang-format --dry-run "${sources[@]}" 2>&1 | grep -c 'warning:')
[ "$formatted" -eq 0 ] || complain "$formatted places are not formatted; run clang-format -i \$(git ls-files '*.cpp' '*.h')"

while read -r lines file; do
  [ "$file" = total ] || [ "$lines" -le 800 ] || complain "$file has $lines lines; split it (500 is the aim, 800 the end)"
done < <(git ls-files '*.cpp' '*.h' '*.td' '*.py' '*.sh' '*.fbs' | xargs wc -l)

# Every public header of a room has its room; every room has a README of at most 40 lines.
while read -r header; do
  [ -d "lib/$(dirname "${header#include/stretto/}")" ] || complain "$header has no room in lib/"
done < <(git ls-files 'include/stretto/*.h')
while read -r room; do
  readme=$(dirname "$room")/README.md
  if [ ! -f "$readme" ]; then complain "$(dirname "$room") has no README.md"
  elif [ "$(wc -l <"$readme")" -gt 40 ]; then complain "$readme is longer than 40 lines"; fi
done < <(git ls-files 'lib/*/CMakeLists.txt' 'runtime/src/*/CMakeLists.txt')

# Paths in backticks in the docs exist.
while IFS=: read -r file path; do
  [ -e "$path" ] || compgen -G "$path" >/dev/null || complain "$file names $path, which does not exist"
done < <(git ls-files '*.md' | xargs grep -oE '`(docs|examples|include|lib|runtime|test|tools|utils)/[A-Za-z0-9_./*-]+`' | tr -d '`' | sort -u)

git ls-files 'utils/*.sh' | while read -r script; do bash -n "$script"; done || complain "a script does not parse"
[ "$failures" -eq 0 ] && echo "check: fine"
exit $((failures > 0))
