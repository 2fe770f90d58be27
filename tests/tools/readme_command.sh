#!/usr/bin/env bash
# Prints the command that README.md gives under the comment `<!-- command: NAME -->`, so that checks run what people read.
#   readme_command.sh NAME
set -euo pipefail
cd "$(dirname "$0")/../.."
command=$(awk -v mark="<!-- command: $1 -->" '
  $0 == mark { found = 1; next }
  found && /^```/ { if (inside) exit; inside = 1; next }
  inside { print }' README.md)
[ -n "$command" ] || { echo "README.md has no command: $1" >&2; exit 1; }
printf '%s\n' "$command"
