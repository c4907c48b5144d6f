"""Finds templates/, static/ and migrations/, in a checkout or in an installed wheel."""

from pathlib import Path

HERE = Path(__file__).resolve().parent


def templates_dir() -> Path:
    """Give the folder of page templates."""
    return resource_dir("templates", package=HERE)


def static_dir() -> Path:
    """Give the folder of the files browsers fetch, with the built third-party ones in vendor/."""
    return resource_dir("static", package=HERE)


def migrations_dir() -> Path:
    """Give the folder Alembic runs from: env.py and versions/."""
    return resource_dir("migrations", package=HERE)


def resource_dir(name: str, *, package: Path) -> Path:
    """Give the folder `name` that belongs to the code in `package`.

    A wheel carries it inside the package. A checkout has it one level up, beside pyproject.toml: without that
    file it would be some other package's folder of the same name in site-packages.

    Raises:
        FileNotFoundError: it is in neither place.
    """
    inside = package / name
    if inside.is_dir():
        return inside
    beside = package.parent / name
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    raise FileNotFoundError(
        f"InferPrice's {name} folder is missing: it is neither {inside} nor {beside} of a checkout. "
        "Install InferPrice again, or run it from a whole checkout."
    )
