"""Selection-quality adapter: answers a benchmark's `{"root","query","budget"}` lines by `batch`.

The benchmark counts what is shown as `path:start-end`, the lines, a newline, for each range; so
the items of a pack, with their ranges, are the answer. Usage:

    python tests/benchmarks/packbench_adapter.py [--option JSON]
"""

import json
import subprocess
import sys


def main() -> None:
    options = json.loads(sys.argv[2]) if sys.argv[1:2] == ["--option"] else {}
    batch = subprocess.Popen(
        [sys.executable, "-m", "contextpackd", "batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert batch.stdin is not None
    assert batch.stdout is not None
    for line in sys.stdin:
        asked = json.loads(line)
        request = {
            "root": asked["root"],
            "query": asked["query"],
            "budgetTokens": int(asked["budget"]),
            **options,
        }
        batch.stdin.write(json.dumps(request) + "\n")
        batch.stdin.flush()
        answer = json.loads(batch.stdout.readline())
        items = [{"path": i["path"], "ranges": i["ranges"]} for i in answer.get("items", [])]
        print(json.dumps({"items": items}), flush=True)
    batch.stdin.close()
    batch.wait()


main()
