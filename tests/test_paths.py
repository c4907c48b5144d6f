"""The folders that are not Python are found where a checkout and where a wheel has them, and nowhere else."""

from pathlib import Path

import pytest

from app.paths import resource_dir


def test_a_wheel_has_the_folder_inside_the_package(tmp_path: Path) -> None:
    (tmp_path / "app" / "templates").mkdir(parents=True)
    (tmp_path / "templates").mkdir()
    assert resource_dir("templates", package=tmp_path / "app") == tmp_path / "app" / "templates"


def test_a_checkout_has_it_beside_pyproject(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert resource_dir("templates", package=tmp_path / "app") == tmp_path / "templates"


def test_a_folder_of_the_same_name_in_site_packages_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "static").mkdir()
    with pytest.raises(FileNotFoundError, match="static folder is missing"):
        resource_dir("static", package=tmp_path / "app")
