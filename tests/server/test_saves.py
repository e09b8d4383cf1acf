"""What is saved of roots: all parts or none, and only what changed is written."""

from pathlib import Path

import pytest

from contextpackd.saves import Saves
from harness.stores import DAY, NOW

ROOT = Path("/home/someone/project")
PARTS = {"survey": b"s" * 100, "index": b"i" * 1000, "twin": b"s" * 100, "empty": b""}


@pytest.fixture
def saves(tmp_path: Path) -> Saves:
    return Saves(tmp_path / "roots")


def files(saves: Saves) -> dict[str, Path]:
    """The files of the one save that there is."""
    (save,) = (save for folder in saves.directory.iterdir() for save in folder.iterdir())
    return {file.name: file for file in save.iterdir()}


def test_all_parts_come_back(saves: Saves) -> None:
    assert saves.write(ROOT, PARTS, NOW)
    assert (PARTS, False) == saves.read(ROOT, PARTS)
    assert ({"twin": PARTS["twin"]}, False) == saves.read(ROOT, ["twin", "no such"])
    assert ({}, False) == saves.read(ROOT / "below", PARTS)


def test_a_save_replaces_all_parts(saves: Saves) -> None:
    saves.write(ROOT, PARTS, NOW)
    assert saves.write(ROOT, {"other": b"o"}, NOW)
    assert ({"other": b"o"}, False) == saves.read(ROOT, [*PARTS, "other"])
    assert {"0", "manifest"} == set(files(saves))


def test_the_same_parts_are_not_saved_again(saves: Saves) -> None:
    saves.write(ROOT, PARTS, NOW)
    before = files(saves)
    assert not saves.write(ROOT, dict(PARTS), NOW + DAY)
    assert before == files(saves)
    # The same bytes under another name are another save.
    assert saves.write(ROOT, {f"{name}2": data for name, data in PARTS.items()}, NOW)
    assert saves.read(ROOT, ["index2"]) == ({"index2": PARTS["index"]}, False)


def test_what_did_not_change_is_not_written_again(saves: Saves) -> None:
    saves.write(ROOT, PARTS, NOW)
    before = {name: file.stat().st_ino for name, file in files(saves).items()}
    changed = PARTS | {"survey": b"t" * 100}
    saves.write(ROOT, changed, NOW)
    after = {name: file.stat().st_ino for name, file in files(saves).items()}
    assert {"1", "2", "3"} == {name for name in before if before[name] == after[name]}
    assert (changed, False) == saves.read(ROOT, PARTS)


def test_a_damaged_part_is_absent_and_written_again(saves: Saves) -> None:
    saves.write(ROOT, PARTS, NOW)
    files(saves)["1"].write_bytes(b"j" * 1000)
    whole = {name: data for name, data in PARTS.items() if name != "index"}
    assert (whole, True) == saves.read(ROOT, PARTS)
    assert ({}, False) == saves.read(ROOT, PARTS)
    assert saves.write(ROOT, PARTS, NOW)
    assert (PARTS, False) == saves.read(ROOT, PARTS)


@pytest.mark.parametrize("content", [b"", b"00000000\n{}", b"{}", bytes(2 << 20)])
def test_a_damaged_manifest_is_no_save(saves: Saves, content: bytes) -> None:
    saves.write(ROOT, PARTS, NOW)
    files(saves)["manifest"].write_bytes(content)
    assert [None] == [saved.root for saved in saves.roots()]
    assert ({}, True) == saves.read(ROOT, PARTS)
    assert saves.write(ROOT, PARTS, NOW)
    assert (PARTS, False) == saves.read(ROOT, PARTS)


def test_the_save_of_another_root_is_not_taken(saves: Saves) -> None:
    saves.write(ROOT, PARTS, NOW)
    (folder,) = saves.directory.iterdir()
    saves.write(ROOT / "other", {"index": b"1"}, NOW)
    (other,) = set(saves.directory.iterdir()) - {folder}
    next(folder.iterdir()).rename(other / "000000000009-moved")
    assert ({}, True) == saves.read(ROOT / "other", ["index"])


def test_the_longest_unused_come_first(saves: Saves) -> None:
    for n in range(3):
        saves.write(ROOT / str(n), PARTS, NOW + n)
    saves.read(ROOT / "0", ["empty"])
    saves.stamp(NOW + DAY, DAY)
    assert [str(ROOT / str(n)) for n in (0, 1, 2)] == [saved.root for saved in saves.roots()]
    saves.read(ROOT / "0", ["empty"])
    saves.stamp(NOW + DAY + 1, DAY)
    assert [str(ROOT / str(n)) for n in (1, 2, 0)] == [saved.root for saved in saves.roots()]
