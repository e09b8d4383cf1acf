"""Names of files that hold credentials. Such files are left out before anything reads them.

Only the name is judged here, never the content. Source code about secrets (`secrets.py`,
`keystore.ts`), public keys and templates (`.env.example`) are no secrets.
"""

import re
from dataclasses import dataclass

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
    # Twelve-factor applications keep passwords and API keys there; direnv exports the same.
    _Group("environment file", name=re.compile(r"\.env|\.env[._-].+|.+\.env|\.envrc(?:\..+)?")),
    # OpenSSH's default names, also with a host's name or `.bak` behind.
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


def secret_rule(path: str) -> str | None:
    """Which kind of credential a file of this name holds, or None. Case does not matter."""
    path = path.lower()
    name = path.rpartition("/")[2]
    is_template = _TEMPLATE.fullmatch(name) is not None
    is_about = _ABOUT.fullmatch(name) is not None
    for group in _GROUPS:
        if group.has_templates and is_template:
            continue
        if group.name and not is_about and group.name.fullmatch(name):
            return f"{group.rule}: {name}"
        if group.path and not name.endswith(".pub") and group.path.fullmatch("/" + path):
            return f"{group.rule}: {path}"
    return None


def is_secret_name(path: str) -> bool:
    """Whether a file of this name holds credentials."""
    return secret_rule(path) is not None
