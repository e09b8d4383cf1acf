"""The store under 50 000 facts, against plain work on the same bytes, in one process.

    python tests/benchmarks/bench_store.py [--files N] [--rounds N] [--seconds]

Prints ratios, the better of several rounds each: machines are noisy, and a ratio of one run
holds better than its parts. A file's outline has about 1 KB and its terms about 2.5 KB, cut out
of this project's own sources, so that they compress about as source does.
"""

import argparse
import hashlib
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from contextpackd.entries import FactsKey, StoredFacts
from contextpackd.saves import size_of
from contextpackd.store import Store

OUTLINE_BYTES, TERMS_BYTES = 1024, 2560
BATCH = 500
ROW_ROUNDS = 200
SAVED_BYTES = 64 << 20


def corpus() -> bytes:
    root = Path(__file__).parents[2]
    return b"".join(file.read_bytes() for file in sorted(root.rglob("*.py")))


def made(n_files: int) -> dict[FactsKey, StoredFacts]:
    source = corpus()
    result = {}
    for n in range(n_files):
        start = n * 7919 % (len(source) - OUTLINE_BYTES - TERMS_BYTES)
        middle = start + OUTLINE_BYTES
        digest = hashlib.blake2b(b"%d" % n, digest_size=20).hexdigest()
        key = FactsKey("recipe-1", "python", digest)
        result[key] = StoredFacts(source[start:middle], source[middle : middle + TERMS_BYTES])
    return result


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def batches(facts: dict[FactsKey, StoredFacts]) -> Iterator[list[tuple[FactsKey, StoredFacts]]]:
    items = iter(facts.items())
    while batch := list(islice(items, BATCH)):
        yield batch


def measured(facts: dict[FactsKey, StoredFacts], folder: Path) -> dict[str, float]:
    keys = list(facts)
    n_bytes = sum(stored.size_bytes for stored in facts.values())
    plain = folder / "plain"
    result = {}

    def write_plainly() -> None:
        plain.write_bytes(b"".join(part for stored in facts.values() for part in stored))

    store = Store.opened(folder / "store")

    def write() -> None:
        for batch in batches(facts):
            store.keep_facts(batch)

    def one_row() -> None:
        for key in keys[:ROW_ROUNDS]:
            store.keep_facts([(key, facts[key])])

    def compress() -> None:
        packed.extend(
            (zlib.compress(stored.outline, 1), zlib.compress(stored.terms, 1))
            for stored in facts.values()
        )

    def checksums() -> None:
        for stored in facts.values():
            zlib.crc32(stored.outline)
            zlib.crc32(stored.terms)

    packed: list[tuple[bytes, bytes]] = []
    result["plain write"] = seconds(write_plainly)
    result["plain read"] = seconds(plain.read_bytes)
    result["write"] = seconds(write)
    result["one row"] = seconds(one_row) / ROW_ROUNDS
    store.close()
    result["size"] = size_of(folder / "store") / n_bytes
    store = Store.opened(folder / "store")
    result["facts"] = seconds(lambda: store.facts_of(keys))
    assert store.facts_of(keys) == facts
    assert (0, None) == (store.n_writes, store.problem)
    result["checksums"] = seconds(checksums)
    result["compress"] = seconds(compress)
    result["decompress"] = seconds(lambda: [list(map(zlib.decompress, one)) for one in packed])
    result["compressed size"] = sum(len(o) + len(t) for o, t in packed) / n_bytes
    parts = {
        "survey": bytes(SAVED_BYTES // 8),
        "index": corpus() * (SAVED_BYTES // len(corpus())),
    }
    changed = parts | {"survey": b"1" + parts["survey"]}
    result["plain save"] = seconds(
        lambda: [(folder / name).write_bytes(data) for name, data in parts.items()]
    )
    result["save"] = seconds(lambda: store.save_root(folder, parts))
    result["save of one part"] = seconds(lambda: store.save_root(folder, changed))
    result["plain load"] = seconds(lambda: [(folder / name).read_bytes() for name in parts])
    result["load"] = seconds(lambda: store.saved_parts(folder, parts))
    assert store.saved_parts(folder, parts) == changed
    store.close()
    return result


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=50_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument(
        "--seconds", action="store_true", help="print what they were made of"
    )
    asked = arguments.parse_args()
    facts = made(asked.files)
    rounds = []
    for _ in range(asked.rounds):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(measured(facts, Path(folder)))
    best = {name: min(one[name] for one in rounds) for name in rounds[0]}
    print(
        f"{asked.files} facts: written in {best['write'] / best['plain write']:.1f} times a plain"
        f" write, read in {best['facts'] / best['plain read']:.1f} times a plain read;"
        f" checksums are {best['checksums'] / best['facts']:.0%} of that;"
        f" a row by itself costs {best['one row'] / best['write'] * asked.files:.1f} times one in a"
        f" batch; {best['size']:.2f} bytes on disk a byte"
    )
    print(
        f"zlib 1 would leave {best['compressed size']:.2f} of the bytes, add"
        f" {best['compress'] / best['write']:.1f} times the time of writing and"
        f" {best['decompress'] / best['facts']:.1f} times that of reading"
    )
    print(
        f"a save costs {best['save'] / best['plain save']:.1f} times plain files, one with an"
        f" eighth changed {best['save of one part'] / best['plain save']:.1f}; loading"
        f" {best['load'] / best['plain load']:.1f} times"
    )
    if asked.seconds:
        for name, value in best.items():
            print(f"{name:20} {value:9.4f}")


if __name__ == "__main__":
    main()
