"""The core runs without touching the world: no file, no process, no network, no clock file."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]

SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from harness.cases import read_cases
cases = [c for f in sorted((Path(sys.argv[1]) / "cases").glob("*.md")) for c in read_cases(f)]
for case in cases:
    case.actual()  # Loads the vocabulary, codecs, and whatever else Python imports late.

def audit(event, arguments):
    if event.partition(".")[0] in ("open", "os", "socket", "subprocess", "shutil", "tempfile"):
        raise SystemExit(f"{event}: {arguments}")

sys.addaudithook(audit)
for case in cases:
    assert case.actual() == case.expected, case.name
print(len(cases))
"""


def test_every_case_runs_under_an_audit_hook() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(TESTS)], capture_output=True, text=True, check=False
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert int(done.stdout) > 20
