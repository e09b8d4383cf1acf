"""Names that hold credentials, and their neighbours that do not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack import secrets
from contextpack.secrets import (
    is_about_name,
    is_secret_name,
    is_telling_directory,
    key_rule,
    secret_rule,
)

SECRET = [
    ".env",
    ".env.local",
    ".env.production",
    "config/.env.staging",
    "prod.env",
    ".ENV",
    "docker/app.env",
    ".envrc",
    ".env-prod",
    ".dev.vars",
    ".dev.vars.production",
    "id_rsa",
    "deploy/id_ed25519",
    "id_ecdsa_sk",
    "id_rsa_github",
    "id_dsa.bak",
    "keys/server.key",
    "server.pem",
    "a.ppk",
    "a.p12",
    "a.pfx",
    "AuthKey_123.p8",
    "debug.keystore",
    "release.jks",
    "krb5.keytab",
    "home.ovpn",
    "vault.kdbx",
    "private-key.asc",
    "my_secret_key.gpg",
    "secring.gpg",
    "config/master.key",
    "example.key",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".pgpass",
    ".my.cnf",
    ".dockercfg",
    ".s3cfg",
    ".boto",
    ".vault-token",
    ".terraformrc",
    "rclone.conf",
    "kubeconfig",
    "prod.kubeconfig",
    ".aws/credentials",
    "home/.aws/config",
    ".ssh/config",
    ".ssh/known_hosts",
    ".docker/config.json",
    ".kube/config",
    ".gnupg/trustdb.gpg",
    ".cargo/credentials.toml",
    ".config/gcloud/x.db",
    ".config/gh/hosts.yml",
    "auth.json",
    "credentials",
    "credentials.json",
    "db-credentials.yml",
    "aws_credentials.csv",
    "client_secret_1.json",
    "service-account.json",
    "my-service_account-prod.json",
    "serviceAccountKey.json",
    "a-firebase-adminsdk-x.json",
    "passwords.txt",
    "secrets.yml",
    "secrets.yaml",
    "secret.json",
    "config/secrets.toml",
    "app.secrets.json",
    "secrets.prod.yaml",
    ".streamlit/secrets.toml",
    ".secrets",
    "terraform.tfvars",
    "prod.auto.tfvars",
    "x.tfvars.json",
    "terraform.tfstate",
    "terraform.tfstate.backup",
    ".bash_history",
    ".psql_history",
]

HARMLESS = [
    ".env.example",
    ".env.sample",
    "config/.env.template",
    ".env.dist",
    ".env.local.example",
    ".dev.vars.example",
    "example.env",
    "env.py",
    ".env.d.ts",
    "env.d.ts",
    "environment.yml",
    "environment.ts",
    "id_rsa.pub",
    ".ssh/id_ed25519.pub",
    "keys.py",
    "keyboard.ts",
    "keystore.ts",
    "private_key.go",
    "key.md",
    "monkey.txt",
    "secrets.py",
    "Secrets.java",
    "secret_store.rs",
    "secrets.md",
    "docs/secrets.rst",
    "test_secrets.py",
    "secretary.json",
    "credentials.py",
    "credentials.example.json",
    "CredentialsProvider.kt",
    "credentials.tsx",
    "secrets.yml.example",
    "secrets.example.toml",
    "terraform.tfvars.example",
    "main.tf",
    "variables.tf",
    "locales/en/auth.json",
    "passwords.php",
    "password_reset.html",
    "npmrc",
    "config.json",
    "docker/config.json",
    "aws/credentials.go",
    "kube/config.ts",
    ".gitignore",
    ".editorconfig",
    ".github/workflows/ci.yml",
    "package.json",
    "service-account.md",
    "sa.json",
]

# What editors, people and package managers make of a name.
AFFIXES = [
    "{}~", "{}.~1~", "#{}#", ".#{}", "{}.swp", "{}.swo", ".{}.swp", "_{}.swp", ".{}.un~",
    ".~lock.{}#", "{}.bak", "{}.bak2", "{}.bak.1", "{}.bak~", "{}_bak", "{}-backup", "{}.old",
    "{}.old.bak", "{}.orig", "{}.save", "{}.save.1", "{}.tmp", "{}.dpkg-old", "{}.rpmsave",
    "{}.copy", "{} copy", "{} copy 2", "{} - Copy", "{} - Copy (2)", "Copy of {}", "{} (1)",
    "{}.1", "{}.1700000000", "{}.20240131", "{}-2024-01-31", "{}.20240131120000",
    "{}.2024-01-31T12:00:00Z", "{}.2024-01-31_12-00-00", "{}.bak.20240131",
]  # fmt: skip


def with_affix(path: str, affix: str) -> str:
    directory, slash, name = path.rpartition("/")
    return directory + slash + affix.format(name)


@pytest.mark.parametrize("path", SECRET)
def test_a_secret_by_name(path: str) -> None:
    assert is_secret_name(path)
    assert is_secret_name(path.upper())
    assert is_secret_name("deep/er/" + path) or path == "auth.json"


@pytest.mark.parametrize("path", HARMLESS)
def test_not_a_secret_by_name(path: str) -> None:
    assert secret_rule(path) is None


@pytest.mark.parametrize("affix", AFFIXES)
def test_a_backup_is_judged_by_the_name_that_it_was_made_from(affix: str) -> None:
    secrets = [with_affix(path, affix) for path in SECRET]
    assert [] == [path for path in secrets if not is_secret_name(path)]
    # `.npmrc.swp` is the swap file of both `npmrc` and `.npmrc`.
    harmless = [with_affix(path, affix) for path in HARMLESS if path != "npmrc"]
    assert [] == [path for path in harmless if is_secret_name(path)]


@pytest.mark.parametrize(
    "path",
    [
        "secrets.bak.yml", "secrets-old.yaml", "secrets_backup_2.json", "credentials copy.json",
        "credentials (1).json", "passwords - Copy (2).txt", ".aws/credentials-20240131",
        ".docker/config.old.json", ".env.", ".env_", ".env..bak",
    ],
)  # fmt: skip
def test_a_copy_may_keep_its_extension(path: str) -> None:
    assert is_secret_name(path)


@pytest.mark.parametrize(
    "path",
    [
        "password_new.txt", "keystore.old.ts", "secrets (1).py", "credentials copy.go",
        "notes.bak", "copy.md", "old", "~", "#", ".~", "(1)", ".swp", "..swp", "_.swp", "",
    ],
)  # fmt: skip
def test_an_affix_alone_makes_no_secret(path: str) -> None:
    assert secret_rule(path) is None


@pytest.mark.parametrize(
    "part", [".", "~", "#", ".x.swp", ".old", " copy", ".20240101", "2024"]
)
def test_a_name_of_affixes_only_is_judged_at_once(part: str) -> None:
    # Stripping them one by one, or backing off between them, would take minutes.
    secret_rule(part * 20_000)


def test_a_rule_names_the_kind_and_the_name() -> None:
    assert secret_rule("a/id_rsa") == "private key: id_rsa"
    assert secret_rule("home/.aws/config") == "credentials of a tool: home/.aws/config"
    assert secret_rule("a/id_rsa.bak~") == "private key: id_rsa.bak~"
    assert secret_rule(".aws/config.old") == "credentials of a tool: .aws/config.old"


NAMES = st.sampled_from([group.name for group in secrets._GROUPS if group.name]).flatmap(
    lambda pattern: st.from_regex(pattern, fullmatch=True)
)


@given(name=NAMES, affix=st.sampled_from(("", "~", ".bak", ".old.1", "#", ".2024-01-31")))
def test_a_name_without_a_hint_is_no_secret(name: str, affix: str) -> None:
    # What is quick must not say less than what is thorough.
    stem, dot, extension = name.lower().rpartition(".")
    assert secrets._HINT.search(name.lower() + affix)
    assert secrets._HINT.search(stem + affix + dot + extension)


@given(name=st.one_of(NAMES, st.text(min_size=1)), directory=st.text())
def test_only_a_telling_directory_makes_a_difference(name: str, directory: str) -> None:
    name, directory = name.replace("/", "."), f"{directory}/"
    if not is_telling_directory(directory):
        assert secret_rule(directory + name) == secret_rule("a/" + name)
        if is_about_name(name):
            assert secret_rule(directory + name) is None


# Put together here, so that no scanner takes this file for one with keys.
DASHES, WHAT = "-" * 5, "PRIVATE KEY"
BODY = "MIIEowIBAAKCAQEA" * 4
KEY = f"{DASHES}BEGIN RSA {WHAT}{DASHES}\n{BODY}\n{DASHES}END RSA {WHAT}{DASHES}\n"
HEADED = KEY.replace(BODY, f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{BODY}")


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        ("deploy.txt", f"the key\n\n{KEY}", "private key: line 3"),
        ("notes", KEY.replace("RSA ", ""), "private key: line 1"),
        ("notes", KEY.replace("RSA ", "OPENSSH "), "private key: line 1"),
        (
            "notes",
            KEY.replace("RSA ", "PGP ").replace(WHAT, f"{WHAT} BLOCK"),
            "private key: line 1",
        ),
        ("notes", HEADED, "private key: line 1"),
        ("account.json", json.dumps({"private_key": KEY}), "private key: line 1"),
        # Code and prose show keys of tests and examples.
        ("test_tls.py", KEY, None),
        ("tls.md", KEY, None),
        ("notes", KEY.replace("PRIVATE", "PUBLIC"), None),
        ("notes", f"begins with {DASHES}BEGIN {WHAT}{DASHES} and has no more\n", None),
    ],
)
def test_private_keys_are_known_by_what_is_in_a_file(
    path: str, text: str, rule: str | None
) -> None:
    assert rule == key_rule(path, text)
