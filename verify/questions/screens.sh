#!/usr/bin/env bash
# Draws the questions as a browser shows them: bash verify/questions/screens.sh FOLDER [CHROMIUM]
set -euo pipefail
[[ $# -ge 1 ]] || { echo "give a folder for the pictures: screens.sh FOLDER [CHROMIUM]" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd) browser=${2:-chromium}
cd "$(dirname "$0")/.."
go test ./questions -run TestQuestions -count 1 -args -screens "$folder"
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT

# sheet NAME WIDTH HEIGHT COLUMNS PAGE... draws pages side by side, each in a frame of that size. A window of Chromium is
# wider than a phone.
sheet() {
  local name=$1 width=$2 height=$3 columns=$4 rows
  shift 4
  rows=$((($# + columns - 1) / columns))
  {
    printf '<style>body{margin:0;background:#888;width:%dpx}iframe{border:0;margin:4px;width:%dpx;height:%dpx;background:#fff}</style>' \
      $((columns * (width + 8))) "$width" "$height"
    printf '<iframe src="file://%s"></iframe>' "$@"
  } >"$profile/$name.html"
  "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$profile/of-chromium" \
    --window-size=$((columns * (width + 8))),$((rows * (height + 8))) --screenshot="$folder/$name.png" "file://$profile/$name.html" >/dev/null 2>&1
  echo "$folder/$name.png"
}

for kind in list page; do
  pages=("$folder/$kind"-*.html)
  for ((i = 0; i < ${#pages[@]}; i += 10)); do
    sheet "$kind-phone-$((i / 10 + 1))" 390 844 5 "${pages[@]:i:10}"
    sheet "$kind-desktop-$((i / 10 + 1))" 1280 800 2 "${pages[@]:i:10}"
  done
done
