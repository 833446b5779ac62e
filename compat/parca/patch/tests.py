"""Prints what became of tests, from the output of go test -json, and exits with 1 if one failed or too few passed.

Tests of package query and of the stores' packages ask a store by its table, so these must be among them.
"""

import json
import sys

STORE = {
    "TestColumnQueryAPIQueryRangeEmpty", "TestColumnQueryAPIQueryRange", "TestColumnQueryAPIQuerySingle",
    "TestColumnQueryAPIQueryFgprof", "TestColumnQueryAPIQueryCumulative", "TestColumnQueryAPIQueryDiff",
    "TestColumnQueryAPITypes", "TestColumnQueryAPILabelNames", "TestColumnQueryAPILabelValues",
    "Test_LabelName_Error", "TestPGOE2e", "TestLabels",
}

ended, output = {}, {}
for line in open(sys.argv[1]):
    event = json.loads(line)
    key = event.get("Package", "") or event.get("ImportPath", ""), event.get("Test", "")
    if event["Action"] in ("output", "build-output"):
        output.setdefault(key, []).append(event["Output"])
    if event["Action"] in ("pass", "fail", "skip"):
        ended[key] = event["Action"]
tests = {key: how for key, how in ended.items() if key[1]}
failed = [key for key, how in ended.items() if how == "fail"]
for key in failed:
    print("".join(output.get(key, []))[:4000])
passed = {name for (_, name), how in tests.items() if how == "pass"}
print(len(passed), "passed; on a store:", ", ".join(sorted(STORE & passed)))
print("skipped by Parca:", ", ".join(name for (_, name), how in tests.items() if how == "skip"))
if missing := STORE - passed:
    print("not passed:", ", ".join(sorted(missing)))
if failed or missing:
    for (package, _), lines in output.items():
        if not package.startswith("github.com/parca-dev/parca/pkg"):
            print("".join(lines)[:2000])
    sys.exit(1)
