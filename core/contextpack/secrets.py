"""Files that hold credentials. By their names they are left out before anything reads them.

Of contents only private keys are known, in files that are neither code nor prose: those show
keys of tests and examples. Of names: source code about secrets (`secrets.py`,
`keystore.ts`), public keys and templates (`.env.example`) are no secrets. A backup or an editor's
file is judged by the name that it was made from: `id_rsa~` is `id_rsa`, `.env.example.bak` is
`.env.example`. Directories are not: what is in `.aws.bak/` is judged by its own name.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

# Emacs' autosave and lock files, LibreOffice's and Word's locks, Windows' copies.
_PREFIX = re.compile(r"(?:\.?#|\.~lock\.|~\$|copy of )(?=.)")
_TIME = (
    r"(?:19|20)\d\d[._-]?\d\d[._-]?\d\d"
    r"(?:[._t -]?\d\d[.:h_-]?\d\d(?:[.:m_-]?\d\d)?(?:[.,]\d{1,9})?[sz]?)?"
)
# A copy's mark, which stands at the end or before the extension (`secrets.bak.yml`). Words that
# code uses in names too (`password_new.txt`) are not among these.
_COPY = (
    r"[._-](?:bak|bac|bkp|backup|old|orig)[._-]?\d{0,3}"
    r"| (?:- )?(?:copy|backup|bak|old)(?: ?\(?\d{1,3}\)?)?"
    r"| \(\d{1,3}\)|\(\d{1,3}\)"
    r"|[._ -]" + _TIME
)
# Searched from the second character on. Each alternative starts with a sign: `re` is fast then.
_SUFFIX = re.compile(
    r"(?:"
    + _COPY
    # Emacs, Vim and many others; numbered ones; LibreOffice's lock.
    + r"|~|\.~\d{1,9}~|#|[._ -]{1,16}"
    # Words that say nothing of a copy without the dot. `diff3` and `patch` write `orig` and `rej`.
    + r"|\.(?:save[ds]?|sav|original|copy|prev|previous|tmp|temp|new|rej|disabled)[._-]?\d{0,3}"
    # Left by package managers beside a file that was edited.
    + r"|\.(?:dpkg|ucf|rpm|pac|apk)-?(?:old|new|orig|save|dist|bak|tmp)"
    # Rotated (`.1`), numbered at random before a rename (npm), seconds or milliseconds.
    + r"|[._-]\d{1,20}"
    r")\Z"
)
_BEFORE_EXTENSION = re.compile(rf"(?:{_COPY}|[._-]copy)(?=\.[a-z\d]{{1,12}}\Z)")
# Vim's and Kate's swap files and Vim's undo files; they put a dot (or `_`) before a name.
_SWAP = re.compile(r"(.+)\.(?:sw[g-px]|un~|kate-swp)")
MAX_AFFIXES = 8  # `.env.bak.bak2~` has three. Each takes a look at the whole name.

# Extensions of code and prose: a file about credentials, not one that holds them.
_ABOUT = re.compile(
    r".*\.(?:adoc|c|cc|cljs?|cpp|cs|cts|css|cxx|dart|erl|exs?|fs|go|h|hpp|hs|html?|java|jl|jsx?|kts?"
    r"|less|lua|mdx?|mjs|cjs|mm?|mts|nim|php|pl|proto|pub|pyi?|pyx|rb|rs|rst|scala|scss|sol|sql"
    r"|svelte|swift|tsx?|vb|vue|zig)"
)
# A part of the name that marks a template with placeholders in place of values.
_TEMPLATE = re.compile(
    r"(?:.*[._-])?(?:examples?|samples?|templates?|tmpl|tpl|dist|schema)(?:[._-].*)?"
)
_DATA = r"(?:ya?ml|toml|json5?|jsonc|ini|env|properties|txt|xml|cfg|conf|csv|plist)"


@dataclass(frozen=True, slots=True)
class _Group:
    """Names that hold one kind of credential. Patterns match the whole lower-case text."""

    rule: str
    name: re.Pattern[str] | None = None
    """Matched against the last part of the path."""
    path: re.Pattern[str] | None = None
    """Matched against the path with a `/` before it."""
    has_templates: bool = True
    """Whether an example of such a file is harmless."""


_GROUPS = (
    # Twelve-factor applications keep passwords and API keys there; direnv exports the same, and
    # Cloudflare's wrangler calls it `.dev.vars`.
    _Group(
        "environment file",
        name=re.compile(r"\.env|\.env[._-].+|.+\.env|\.envrc(?:\..+)?|\.dev\.vars(?:\..+)?"),
    ),
    # OpenSSH's default names, also with a host's name behind.
    _Group(
        "private key",
        name=re.compile(r"id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:[._-].*)?"),
        has_templates=False,
    ),
    # PEM and DER keys, PuTTY, PKCS #8 and #12, Java and Kerberos key stores, VPN profiles with
    # keys inside. A `.pem` may be a public certificate: no loss for a bundle of code.
    _Group(
        "key file",
        name=re.compile(
            r".*\.(?:pem|key|ppk|p8|pk8|p12|pkcs12|pfx|jks|jceks|bks|keystore|keytab|pvk|ovpn)"
            r"|(?:.*[._-])?(?:private|secret)[._-]?key(?:[._-].*)?\.(?:asc|gpg|pgp|der|txt)"
            r"|(?:private|secret)\.(?:asc|gpg|pgp)|secring(?:\..*)?"
        ),
        has_templates=False,
    ),
    # Password managers' databases, GnuPG's and the GNOME key ring.
    _Group(
        "password store",
        name=re.compile(r".*\.(?:kdbx?|keychain|keychain-db|keyring|agilekeychain|opvault)"),
        has_templates=False,
    ),
    # Tools that write a token or a password into a file of this name.
    _Group(
        "credentials of a tool",
        name=re.compile(
            r"[._]netrc|\.npmrc|\.pypirc|\.git-credentials|\.htpasswd|\.pgpass|pgpass\.conf"
            r"|\.my\.cnf|\.mylogin\.cnf|\.dockercfg|\.dockerconfigjson|\.boto|\.s3cfg"
            r"|\.passwd-s3fs|\.vault-token|\.terraformrc|terraform\.rc|rclone\.conf|kubeconfig"
            r"|.+\.kubeconfig|\.databrickscfg|\.esmtprc|\.msmtprc|\.fetchmailrc|\.smbcredentials"
            r"|application_default_credentials\.json|accesstokens\.json"
        ),
    ),
    # The same, where only the directory tells.
    _Group(
        "credentials of a tool",
        path=re.compile(
            r".*/(?:\.ssh/.+|\.gnupg/.+|\.aws/(?:credentials|config|.+/cache/.+)"
            r"|\.azure/.+|\.config/gcloud/.+|\.docker/config\.json|\.kube/(?:config|cache/.+)"
            r"|\.cargo/credentials(?:\.toml)?|\.gem/credentials|\.config/gh/hosts\.yml"
            r"|\.config/hub|\.composer/auth\.json|\.m2/settings(?:-security)?\.xml"
            r"|\.oci/config|\.password-store/.+)"
            r"|/auth\.json"  # Composer's, at the top only: below, it is a page's translations.
        ),
        has_templates=False,
    ),
    # Cloud consoles hand out key files under these names.
    _Group(
        "credentials file",
        name=re.compile(
            r"(?:.*[._-])?credentials?(?:[._-].*)?\." + _DATA + r"|\.?credentials?"
            r"|client[._-]?secrets?(?:[._-].*)?\.json|.*service[._-]?account.*\.json"
            r"|.*firebase-adminsdk.*\.json|\.?passwords?(?:\.(?:txt|csv|ini|ya?ml))?"
        ),
    ),
    # Rails, Streamlit, Home Assistant, Helm and Kubernetes values by convention.
    _Group(
        "secrets file",
        name=re.compile(
            r"(?:.*[._-])?secrets?(?:[._-](?:dev|development|local|prod|production|staging|test))?"
            r"\." + _DATA + r"|\.secrets?"
        ),
    ),
    # Terraform's state holds every resource's password in clear text; variables often do.
    _Group("terraform values", name=re.compile(r".*\.tfvars(?:\.json)?|.*\.tfstate(?:\..+)?")),
    # What was typed at a prompt, passwords on command lines included.
    _Group(
        "shell history",
        name=re.compile(r"\.(?:bash|zsh|sh|psql|mysql|rediscli|python|node_repl|irb)_history"),
        has_templates=False,
    ),
)

# PEM and OpenPGP armour, as it is or in a JSON string; headers may stand before the key itself.
# What has no key behind it speaks of one.
_KEY_MARK = "PRIVATE KEY"
_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,400}?"
    r"[A-Za-z0-9+/]{32}"
)

# What the last part of a path holds, before and after an affix is taken off, if it is to match a
# `name` above: most names have none of it, and are done. No dot, since an affix may stand there.
_HINT = re.compile(
    r"env|vars|id_|pem|key|ppk|p8|pk8|p12|pkcs12|pfx|jks|jceks|bks|pvk|ovpn|private|secr|kdb"
    r"|opvault|netrc|npmrc|pypirc|credential|htpasswd|pgpass|cnf|docker|boto|s3cfg|passwd|token"
    r"|terraform|rclone|databrickscfg|msmtprc|esmtprc|fetchmailrc|account|firebase|password"
    r"|kube|tfvars|tfstate|history"
)


def secret_rule(path: str) -> str | None:
    """Which kind of credential a file of this name holds, or None. Case does not matter."""
    path = path.lower()
    directory, slash, name = path.rpartition("/")
    # Affixes leave the extension of code as it is: most files need no second look.
    is_about = _ABOUT.fullmatch(name) is not None
    if (is_about or not _HINT.search(name)) and not is_telling_directory(directory + slash):
        return None
    for original in (name,) if is_about else _originals(name):
        group = _group(directory + slash, original)
        if group:
            return f"{group.rule}: {name if group.name else path}"
    return None


def key_rule(path: str, text: str) -> str | None:
    """Which line begins a private key in a file that is no code and no prose, or None.

    The rule never holds any of the key.
    """
    if _KEY_MARK not in text or is_about_name(path.rpartition("/")[2]):
        return None
    found = _KEY_BLOCK.search(text)
    if found is None:
        return None
    n_before = text.count("\n", 0, found.start())
    return f"private key: line {n_before + 1}"


def is_telling_directory(directory: str) -> bool:
    """Whether files may be secret for the directory that they are in, ending with `/`.

    In all others, `secret_rule` is the same for equal names. True for more than those that have
    such files: what tells is a hidden directory, and what lies at the top.
    """
    return not directory or directory.startswith(".") or "/." in directory


def is_about_name(name: str) -> bool:
    """Whether a file is code or prose by its extension, which stands behind the last dot.

    Such a file is secret only in a directory that tells.
    """
    return _ABOUT.fullmatch(name.lower()) is not None


def is_secret_name(path: str) -> bool:
    """Whether a file of this name holds credentials."""
    return secret_rule(path) is not None


def _group(directory: str, name: str) -> _Group | None:
    is_template = _TEMPLATE.fullmatch(name) is not None
    is_about = _ABOUT.fullmatch(name) is not None
    for group in _GROUPS:
        if group.has_templates and is_template:
            continue
        if group.name and not is_about and group.name.fullmatch(name):
            return group
        if (
            group.path
            and not name.endswith(".pub")
            and group.path.fullmatch("/" + directory + name)
        ):
            return group
    return None


def _originals(name: str) -> Iterable[str]:
    """The names that the file may be a backup or an editor's file of; its own if of none."""
    names = {name: None}
    for _ in range(MAX_AFFIXES):
        shorter = dict.fromkeys(one for each in names for one in _without_affix(each))
        if shorter == names:
            break
        names = shorter
    return names


def _without_affix(name: str) -> tuple[str, ...]:
    if swap := _SWAP.fullmatch(name):
        bare = swap[1]
        return (bare, bare[1:]) if bare[0] in "._" and len(bare) > 1 else (bare,)
    if prefix := _PREFIX.match(name):
        return (name[prefix.end() :],)
    if affix := _SUFFIX.search(name, 1) or _BEFORE_EXTENSION.search(name, 1):
        return (name[: affix.start()] + name[affix.end() :],)
    return (name,)
