#!/bin/sh
# Joins delivered parts and unpacks them: sh unpack.sh <folder with archives.txt and parts> <target folder>. May be run
# after each delivery. Unpacks each archive that is complete and not unpacked yet, and removes its parts. Exits with 3
# while parts are missing.
set -eu
parts=$1
target=$2
mkdir -p "$target"
missing=0
while read -r sha256 count name; do
  [ -e "$target/.$name.done" ] && continue
  have=$(find "$parts" -maxdepth 1 -name "$name.[0-9][0-9][0-9]" | wc -l)
  if [ "$have" -lt "$count" ]; then
    echo "$name: $have of $count parts"
    missing=3
    continue
  fi
  find "$parts" -maxdepth 1 -name "$name.[0-9][0-9][0-9]" | sort | xargs cat > "$target/$name"
  if ! echo "$sha256  $target/$name" | sha256sum -c --quiet -; then
    rm -f "$target/$name"
    echo "$name: its parts are damaged; deliver them again" >&2
    exit 1
  fi
  tar -xzf "$target/$name" -C "$target"
  find "$parts" -maxdepth 1 -name "$name.[0-9][0-9][0-9]" -exec rm -f {} +
  rm -f "$target/$name"
  touch "$target/.$name.done"
  echo "$name: unpacked"
done < "$parts/archives.txt"
exit $missing
