"""What the server and the command line refuse, each with one line for people."""


class DaemonError(Exception):
    """A request that cannot be answered as asked. The message is one line, made from fields."""


class RootProblem(DaemonError):
    """A directory that cannot be a root, and what to do about it."""

    def __init__(self, root: str, reason: str) -> None:
        super().__init__(f"root {root} {reason}")
        self.root = root
        self.reason = reason


class GitUnavailable(DaemonError):
    """Git could not answer for a repository; the caller walks without it."""

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(f"git cannot read {folder}: {reason}")
        self.folder = folder
        self.reason = reason


class OptionProblem(DaemonError):
    """An option whose value cannot be, named as the caller wrote it."""

    def __init__(self, option: str, problem: str, value: object = None) -> None:
        got = (
            ""
            if value is None or "got" in problem or repr(value) in problem
            else f", got {value!r}"
        )
        super().__init__(f"{option} {problem}{got}")
        self.option = option
        self.problem = problem


class Superseded(DaemonError):
    """The files kept changing while they were read; asking again helps."""

    def __init__(self, root: str) -> None:
        super().__init__(f"files below {root} kept changing while they were read; ask again")
        self.root = root


class OutputProblem(DaemonError):
    """A file that a result cannot be written to."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"cannot write {file}: {reason}; nothing was changed")
        self.file = file
        self.reason = reason


class InputProblem(DaemonError):
    """Standard input, or a file in its place, that cannot be read as what it should be."""

    def __init__(self, reason: str, source: str = "standard input") -> None:
        super().__init__(f"{source} {reason}")
        self.reason = reason


class LineProblem(DaemonError):
    """A line of questions that is none."""


class BundleProblem(DaemonError):
    """A file that is no bundle, or not one that can be asked again."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file} {reason}")
        self.file = file
        self.reason = reason


class DrawingProblem(DaemonError):
    """A picture that cannot be drawn here."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"cannot draw the graph: {reason}")
        self.reason = reason


class CacheProblem(DaemonError):
    """What is kept between runs and cannot be removed."""

    def __init__(self, directory: str, reason: str) -> None:
        super().__init__(f"cannot clear {directory}: {reason}")
        self.directory = directory
        self.reason = reason


class Stopped(DaemonError):
    """Work that was given up because nobody waits for it any more."""

    def __init__(self, root: str) -> None:
        super().__init__(f"the work on {root} was stopped")
        self.root = root


class FieldProblem(DaemonError):
    """A field of a request's object that cannot be."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field} {problem}")
        self.field = field
        self.problem = problem


class SettingsProblem(DaemonError):
    """A setting that cannot be; the previous value stays."""

    def __init__(self, source: str, key: str, problem: str) -> None:
        super().__init__(f"{source}: settings key `{key}` {problem}")
        self.source = source
        self.key = key
        self.problem = problem
