"""What the selection finds of the code that questions on the fixtures are about."""

from pathlib import Path

from contextpack.request import Request
from harness.memory import packed, snapshot_of
from harness.recall import recall, tasks

FIXTURES = Path(__file__).parents[2] / "fixtures"

# A tenth of a workspace: what is shown has to be chosen.
BUDGET_TOKENS = 450

# How many of the 82 lines and of the 17 files the bundles show today; no fewer may become of it.
N_LINES_FOUND = 79
N_FILES_FOUND = 17


def texts(workspace: str) -> dict[str, str]:
    root = FIXTURES / workspace
    files = [file for file in sorted(root.rglob("*")) if file.is_file() and file.name != ".env"]
    return {file.relative_to(root).as_posix(): file.read_text("utf-8") for file in files}


def test_bundles_show_no_less_of_the_code_that_questions_are_about() -> None:
    asked = tasks(FIXTURES / "recall" / "questions.jsonl")
    places = {task.place: texts(task.place) for task in asked}
    made = {place: snapshot_of(files) for place, files in places.items()}
    found = [
        recall(task, packed(places[task.place], request, made[task.place]))
        for task in asked
        for request in (Request(query=task.query, budget_tokens=BUDGET_TOKENS),)
    ]
    assert sum(one.n_lines for one in found) >= N_LINES_FOUND
    assert sum(one.n_files for one in found) >= N_FILES_FOUND
