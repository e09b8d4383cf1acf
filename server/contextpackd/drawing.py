"""Pictures of graphs, drawn by Graphviz where it is installed."""

import subprocess

from contextpackd.errors import DrawingProblem

# `dot` takes seconds for some thousand edges and never ends for many more.
TIMEOUT_SECONDS = 60.0


def svg(dot_text: str) -> str:
    """The picture of a graph in Graphviz' language. Raises `DrawingProblem`."""
    try:
        done = subprocess.run(
            ["dot", "-Tsvg"],
            input=dot_text.encode("utf-8", "replace"),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise DrawingProblem(
            "Graphviz' dot is not installed; --format dot needs none"
        ) from error
    except subprocess.TimeoutExpired as error:
        reason = (
            f"dot did not end within {TIMEOUT_SECONDS:.0f} seconds; name paths and a --depth"
        )
        raise DrawingProblem(reason) from error
    if done.returncode != 0:
        raise DrawingProblem(done.stderr.decode("utf-8", "replace").strip().partition("\n")[0])
    return done.stdout.decode("utf-8")
