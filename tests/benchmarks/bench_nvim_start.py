"""What the Neovim plugin costs at start-up: the time of its one file, by Neovim's own clock.

Run by hand: `python tests/benchmarks/bench_nvim_start.py [NVIM]`. Prints the median over starts,
beside that of all of Neovim's start and of the plugins that come with it.
"""

import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PLUGIN = Path(__file__).parents[2] / "editors" / "nvim"
N_STARTS = 30

_SOURCED = re.compile(r"^\d+\.\d+ +\d+\.\d+ +(\d+\.\d+): sourcing (.+)$", re.MULTILINE)
_LAST = re.compile(r"^(\d+\.\d+) +\d+\.\d+: --- NVIM STARTED ---$", re.MULTILINE)


def start(nvim: str, log: Path) -> tuple[float, float, float]:
    """Milliseconds of our file, of the median of the other plugins' files, and of all."""
    log.unlink(missing_ok=True)
    before = f"set runtimepath^={PLUGIN}"
    command = [
        nvim,
        "--headless",
        "--clean",
        "--startuptime",
        str(log),
        "--cmd",
        before,
        "+qall",
    ]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    text = log.read_text()
    by_file = {file: float(own) for own, file in _SOURCED.findall(text)}
    ours = by_file.pop(str(PLUGIN / "plugin" / "contextpack.lua"))
    others = [own for file, own in by_file.items() if "/plugin/" in file]
    last = _LAST.search(text)
    assert last is not None, text
    return ours, statistics.median(others), float(last[1])


def main() -> None:
    """Start Neovim some times and print the medians."""
    nvim = sys.argv[1] if len(sys.argv) > 1 else "nvim"
    with tempfile.TemporaryDirectory() as folder:
        times = [start(nvim, Path(folder) / "log") for _ in range(N_STARTS)]
    ours, other, everything = (statistics.median(column) for column in zip(*times, strict=True))
    print(
        f"plugin/contextpack.lua {ours:.3f} ms, {ours / everything:.1%} of {everything:.1f} ms"
    )
    print(f"{ours / other:.1f} times the median of Neovim's own plugins ({other:.3f} ms)")


if __name__ == "__main__":
    main()
