#!/usr/bin/env bash
# VGG-19 in one stage of four workers: each reads its share of every layer and
# no more, and peaks where the plan says, far below what one rank takes. The
# output is that of one rank.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"
. "$ISO_SOURCE_DIR/tests/support/vgg.sh"

$NPY_TOOL random x.npy 1 2 3 224 224
run_vgg 1
run_vgg 4 --workers 4
compare_with_plan
$ISOTOME inspect vgg.h5 | awk '$1 == "bytes" {print $2}' >bytes.txt
awk 'FNR == NR {model = $1; next}
     $1 >= 0.3 * model {print $1 " bytes of " model " are 30 % or more"; exit 1}
     {sum += $1}
     END {if (sum < model) {print "some weights are read by nobody"; exit 1}}' \
    bytes.txt four.txt || fail "the share of each rank"
fullest_under 0.45
