#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A report on paper: a page of heft evaluate becomes a PDF with its text and pictures. Other input is
# refused.
#
#   tests/report_pdf_test.sh HEFT REPOSITORY
set -euo pipefail
heft="$1" print="$2/scripts/report-pdf"
command -v chromium >/dev/null || {
  echo "skipped: chromium, which prints reports, is not installed"
  exit 0
}
folder="$(mktemp -d)"
trap 'rm -rf -- "$folder"' EXIT
cd "$folder"
fail() {
  echo "report_pdf_test: $*" >&2
  exit 1
}

for k in 1 2 3 4 5 6; do
  echo "p$k p$k a$k 0.$((k + 3))"
  echo "p$k p$((k % 6 + 1)) b$k 0.$k"
done >scores.txt
"$heft" evaluate scores.txt --replicates 10 --quiet --report page.html >/dev/null
"$print" page.html out/report.pdf
[[ "$(head -c 5 out/report.pdf)" == %PDF- ]] || fail "that is no PDF"
# The PDF contains the pictures: some twenty kilobytes of paths and fonts.
(($(stat -c %s out/report.pdf) > 20000)) || fail "the PDF is too small to hold the pictures"

for wrong in "nowhere.html out.pdf" "page.html page.html" "page.html"; do
  # shellcheck disable=SC2086  # words
  if "$print" $wrong 2>message; then fail "taken: $wrong"; fi
  grep -q "^error: " message || fail "no reason for $wrong: $(cat message)"
done
if "$heft" evaluate scores.txt --report page.pdf 2>message; then fail "a page was written as a PDF"; fi
grep -q scripts/report-pdf message || fail "it does not say what makes a PDF: $(cat message)"
