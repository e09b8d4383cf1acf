r"""PHP: classes through Composer's autoloading, and files that are required by path.

A `use` of a class is looked up as Composer does: PSR-4 prefixes, longest first, then PSR-0, then
the files in `classmap` and `files` that declare it. Of equal prefixes that of the nearest
`composer.json` above the importer comes first. A name that exactly one file of the workspace
declares is that file's, whoever loads it; of functions and constants there is no other way. A
relative path is looked up beside the file, then from the nearest `composer.json`, then from the
root: PHP would start from the directory that it runs in.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from contextpack.model import Import, ImportKind, Path
from contextpack.resolve.target import External, Resolution
from contextpack.resolve.tree import Tree, joined, parent

_CONFIG = "composer.json"
# A `composer.json` of more characters is not written by people; reading it costs seconds.
MAX_CONFIG_CHARACTERS = 1 << 20
MAX_PREFIXES = 1000  # Of one file. Symfony's largest has some 20.

# Classes that PHP itself brings are named without a namespace.
_STANDARD_ENDINGS = ("Exception", "Error", "Iterator", "Interface", "Object", "Access", "Able")
_STANDARD_NAMES = """
ArrayAccess ArrayIterator ArrayObject BackedEnum Closure Collator Countable CURLFile
DateInterval DatePeriod DateTime DateTimeImmutable DateTimeInterface DateTimeZone
Directory DirectoryIterator DOMAttr DOMDocument DOMElement DOMNode DOMNodeList DOMText
DOMXPath Error Exception FilesystemIterator Generator IntlDateFormatter Iterator
IteratorAggregate JsonSerializable Locale MessageFormatter mysqli Normalizer
NumberFormatter PDO PDOStatement Phar PharData RecursiveDirectoryIterator Redis Reflection
ReflectionClass ReflectionEnum ReflectionFunction ReflectionMethod ReflectionNamedType
ReflectionObject ReflectionParameter ReflectionProperty Reflector ResourceBundle
Serializable SimpleXMLElement SoapClient SoapServer SplFileInfo SplFileObject
SplFixedArray SplHeap SplMaxHeap SplMinHeap SplObjectStorage SplPriorityQueue SplQueue
SplStack SplSubject SplObserver SplTempFileObject SQLite3 stdClass Stringable Throwable
Transliterator Traversable UnitEnum WeakMap WeakReference XMLReader XMLWriter ZipArchive
Attribute ReturnTypeWillChange AllowDynamicProperties SensitiveParameter Override Fiber
"""
_STANDARD = frozenset(_STANDARD_NAMES.split())


@dataclass(frozen=True, slots=True)
class Prefix:
    """One PSR-4 or PSR-0 entry."""

    name: str
    r"""With its closing backslash (PSR-4); empty for the fallback."""
    directories: tuple[Path, ...]
    package: Path
    """The directory of its `composer.json`."""
    is_psr4: bool


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the PHP imports of one workspace."""

    paths: frozenset[Path]
    declared: Mapping[str, tuple[Path, ...]]
    prefixes: Mapping[str, tuple[Prefix, ...]]
    """By the first part of the name; fallbacks stand under the empty string."""
    scanned: tuple[Path, ...]
    """The files and directories of `classmap` and `files`."""
    packages: frozenset[Path]
    """Directories with a `composer.json`."""

    def resolve(self, path: Path, found: Import) -> Resolution:
        """The file that an import loads."""
        match found.kind:
            case ImportKind.DYNAMIC:
                return Resolution(external=External.DYNAMIC)
            case ImportKind.REQUIRE:
                return self._required(path, found)
            case _:
                return self._used(path, found)

    def _required(self, path: Path, found: Import) -> Resolution:
        specifier = found.specifier
        own = parent(path)
        if specifier.startswith("/") or "://" in specifier:
            return Resolution(external=External.OUTSIDE)
        bases = (own,) if found.level else dict.fromkeys((own, self._package(own), ""))
        candidates = [joined(base, specifier) for base in bases]
        for candidate in candidates:
            if candidate is not None and candidate in self.paths:
                return Resolution((candidate,))
        if "vendor" in specifier.split("/"):
            return Resolution(external=External.PACKAGE)
        is_outside = all(candidate is None for candidate in candidates)
        return Resolution(external=External.OUTSIDE if is_outside else External.MISSING)

    def _used(self, path: Path, found: Import) -> Resolution:
        name = found.specifier
        known = self.declared.get(name, ())
        is_class = found.names == ("class",)
        candidates = self._autoloaded(path, name) if is_class else []
        for candidate in candidates:
            if candidate in self.paths:
                return Resolution((candidate,))
        scanned = [file for file in known if self._is_scanned(file)]
        for files in (scanned, known):
            if len(files) == 1:
                return Resolution((files[0],))
        if known:
            return Resolution(external=External.AMBIGUOUS)
        if candidates:
            return Resolution(external=External.MISSING)
        is_standard = "\\" not in name and (
            not is_class or name in _STANDARD or name.endswith(_STANDARD_ENDINGS)
        )
        return Resolution(
            external=External.STANDARD_LIBRARY if is_standard else External.PACKAGE
        )

    def _autoloaded(self, path: Path, name: str) -> list[Path]:
        """Where Composer would look, best first; fallbacks are tried and prove nothing."""
        matching = [
            prefix
            for head in (name.partition("\\")[0], name.partition("_")[0], "")
            for prefix in self.prefixes.get(head, ())
            if name.startswith(prefix.name)
        ]
        matching.sort(
            key=lambda prefix: (
                not prefix.is_psr4,
                -len(prefix.name),
                not _is_below(path, prefix.package),
                -len(prefix.package) if _is_below(path, prefix.package) else 0,
                prefix.package,
            )
        )
        result: list[Path] = []
        for prefix in dict.fromkeys(matching):
            relative = _psr4(name, prefix.name) if prefix.is_psr4 else _psr0(name)
            for directory in prefix.directories:
                at = _below(directory, relative)
                if prefix.name or at in self.paths:
                    result.append(at)
        return result

    def _is_scanned(self, file: Path) -> bool:
        return any(_is_below(file, at) or file == at for at in self.scanned)

    def _package(self, directory: Path) -> Path:
        while directory and directory not in self.packages:
            directory = parent(directory)
        return directory


def resolver(tree: Tree) -> Resolver:
    """The resolver for a workspace of these files."""
    prefixes: dict[str, list[Prefix]] = {}
    scanned = set[Path]()
    packages = set[Path]()
    for path, text in sorted(tree.configs.items()):
        if not is_config(path):
            continue
        packages.add(parent(path))
        for section in _sections(text):
            for prefix in _prefixes(parent(path), section):
                head = prefix.name.partition("\\")[0]
                if not prefix.is_psr4:
                    head = head.partition("_")[0]
                prefixes.setdefault(head, []).append(prefix)
            for key in ("classmap", "files"):
                at = [joined(parent(path), name) for name in _texts(section.get(key))]
                scanned.update(one for one in at if one is not None)
    return Resolver(
        paths=tree.paths,
        declared=tree.declared.get("php", {}),
        prefixes={head: tuple(found) for head, found in prefixes.items()},
        scanned=tuple(sorted(scanned)),
        packages=frozenset(packages),
    )


def names_of(path: Path) -> frozenset[str]:
    """The names by which imports mean a file: its own, and that of a class in it."""
    name = path.rpartition("/")[2]
    return frozenset({name, name.removesuffix(".php")})


def keys_of(found: Import) -> frozenset[str]:
    """The name of the file, or a class's full name (as declared) and its last part (as a file).

    PSR-0 makes directories of underscores too, so that the part behind the last one counts.
    """
    if found.kind is not ImportKind.STATIC:
        return frozenset({found.specifier.rpartition("/")[2]})
    last = found.specifier.rpartition("\\")[2]
    return frozenset({found.specifier, last, last.rpartition("_")[2]})


def is_config(path: Path) -> bool:
    """Whether resolution wants to read this file's text."""
    return path.rpartition("/")[2] == _CONFIG


def _sections(text: str) -> Iterator[Mapping[str, object]]:
    """The `autoload` and `autoload-dev` of a configuration; none of a broken one."""
    if len(text) > MAX_CONFIG_CHARACTERS:
        return
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict):
        for key in ("autoload", "autoload-dev"):
            if isinstance(section := document.get(key), dict):
                yield section


def _prefixes(directory: Path, section: Mapping[str, object]) -> Iterator[Prefix]:
    for key in ("psr-4", "psr-0"):
        entries = section.get(key)
        if not isinstance(entries, dict):
            continue
        for name, written in list(entries.items())[:MAX_PREFIXES]:
            at = [joined(directory, one) for one in _texts(written)]
            directories = tuple(one for one in at if one is not None)
            if directories:
                yield Prefix(str(name).lstrip("\\"), directories, directory, key == "psr-4")


def _texts(value: object) -> list[str]:
    found = value if isinstance(value, list) else [value]
    return [one for one in found if isinstance(one, str)]


def _psr4(name: str, prefix: str) -> Path:
    return name[len(prefix) :].replace("\\", "/").lstrip("/") + ".php"


def _psr0(name: str) -> Path:
    namespace, separator, last = name.rpartition("\\")
    return (
        namespace.replace("\\", "/")
        + ("/" if separator else "")
        + last.replace("_", "/")
        + ".php"
    )


def _is_below(path: Path, directory: Path) -> bool:
    return not directory or path.startswith(directory + "/")


def _below(directory: Path, name: str) -> Path:
    return f"{directory}/{name}" if directory else name
