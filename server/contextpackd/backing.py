"""What stands behind the roots of a process: the engine, watches, and editors' open buffers."""

import time
from pathlib import Path

from contextpack import model
from contextpackd import reader
from contextpackd.overlay import Buffer, Overlay
from contextpackd.reader import buffer_of
from contextpackd.roots import Backing, Edit
from contextpackd.workspace import Engine, Workspace, engine


class Shown:
    """The buffers of each root, as its workspace gets them. One thread a root."""

    def __init__(self) -> None:
        self._overlays: dict[Path, Overlay] = {}
        self._buffers: dict[Path, dict[model.Path, reader.Buffer]] = {}

    def edit(self, workspace: Workspace, edit: Edit) -> None:
        """Let a workspace see the buffer that is on top of a file now."""
        path = Path(edit.file).relative_to(workspace.root).as_posix()
        overlay = self._overlays.setdefault(workspace.root, Overlay())
        buffers = self._buffers.setdefault(workspace.root, {})
        if edit.text is None:
            overlay.close(edit.owner, path)
        else:
            overlay.put(edit.owner, path, Buffer(edit.version, edit.text))
        seen = overlay.seen.get(path)
        if seen is None:
            buffers.pop(path, None)
        else:
            buffers[path] = buffer_of(seen.text, time.time_ns() / 1e9)
        workspace.set_buffers(buffers)

    def close(self, workspace: Workspace) -> None:
        """Keep what is known for the next process, and forget the root."""
        self._overlays.pop(workspace.root, None)
        self._buffers.pop(workspace.root, None)
        workspace.close()


def backing(shared: Engine | None = None) -> Backing:
    """Workspaces that are watched and see open buffers, on the user's engine by default."""
    used = shared or engine()
    shown = Shown()
    return Backing(
        make=lambda root: Workspace(root, used, watches=True),
        edit=shown.edit,
        close=shown.close,
        cache=used.store.info,
        end=used.close,
    )
