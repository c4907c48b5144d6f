"""`inferprice llm`: shows what a language model is made of, and adds one to the operator's own table."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.commands.shared import now, text_table
from app.domain.query_error import QueryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.llms.facts import Llm
    from app.domain.llms.profile import Attention, LlmProfile
    from app.settings import Settings

_MOST_NEAR = 3

BESIDE = click.option(
    "--quantization",
    "beside",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    help="The hf_quant_config.json that NVIDIA's repacks keep beside the config.",
)


@click.group()
def llm() -> None:
    """Language models: parameters by part, caches and states, from config.json or the table of models."""


@llm.command()
@click.argument("what", metavar="ID|CONFIG.JSON")
@BESIDE
@click.option("--format", "shape", type=click.Choice(["table", "json"]), default="table")
@click.pass_obj
def show(settings: Settings, /, what: str, beside: Path | None, shape: str) -> None:
    """Show a known model, or the one a config.json describes: what its parts are and when they are read."""
    llm_id, profile = subject_profile(settings, what, beside=beside)
    about = _about(known_llms(settings)[llm_id]) if llm_id else {"config_source": what}
    if shape == "json":
        click.echo(
            json.dumps({**about, **_figures(profile), **asdict(profile)}, ensure_ascii=False, indent=2)
        )
    else:
        click.echo(_table(profile, about))


@llm.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--id", "llm_id", required=True, help="ORG/NAME, as the model is called on its hub.")
@click.option(
    "--source", required=True, help="Where the config was read: an address, with a date or revision."
)
@click.option("--licence", default="", help="Licence of the weights; unknown by default.")
@BESIDE
@click.pass_obj
def add(
    settings: Settings, /, config: Path, llm_id: str, source: str, licence: str, beside: Path | None
) -> None:
    """Add the model of CONFIG to llms.csv in the home folder, which is read beside the packaged table.

    A row with the id of a packaged one goes before it. To change a row, edit the file or take the row out.
    """
    from app.domain.llms.facts import LLMS_FILE, Llm, is_llm_id  # noqa: PLC0415 - keeps --help quick

    if not is_llm_id(llm_id):
        raise click.UsageError(f"--id: '{llm_id}' is not right: use ORG/NAME, as in openai/gpt-oss-20b")
    if llm_id in known_llms(settings):
        raise click.UsageError(
            f"--id: '{llm_id}' is in the table already: see `inferprice llm show {llm_id}`"
        )
    made = Llm(
        id=llm_id,
        name=llm_id.partition("/")[2],
        profile=_profile(config, beside),
        params_in_files=None,
        params_source="",
        difference="",
        licence=licence.strip(),
        config_source=source.strip(),
        as_of=now().date(),
    )
    path = settings.home / LLMS_FILE
    _append(path, made)
    click.echo(f"{llm_id} ({made.profile.family}, {made.profile.params_text:,} parameters) is now in {path}.")


def subject_profile(settings: Settings, what: str, *, beside: Path | None) -> tuple[str, LlmProfile]:
    """Return the id and the profile of a known model, or an empty id and what a config.json describes."""
    found = subject(settings, what)
    return ("", _profile(found, beside)) if isinstance(found, Path) else (found.id, found.profile)


def subject(settings: Settings, what: str, *, name: str = "ID|CONFIG.JSON") -> Llm | Path:
    """Return the known model or the file that a word names; raises UsageError, by `name`, for another."""
    known = known_llms(settings)
    if what in known:
        return known[what]
    if _is_file(Path(what)):
        return Path(what)
    raise click.UsageError(f"{name}: '{what}' is neither a known model nor a file: use {_near(what, known)}")


def _near(what: str, known: Mapping[str, Llm]) -> str:
    """Return the ids that have the text in them, else those spelled most like it, else what an id is."""
    holding = [one for one in known if what.casefold() in one.casefold()]
    near = holding or get_close_matches(what, known)
    return " or ".join(near[:_MOST_NEAR]) or "an id of the table, as in openai/gpt-oss-20b"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name longer than any file's
        return False


def known_llms(settings: Settings) -> Mapping[str, Llm]:
    """Return the models of both tables; raises UsageError when the operator's cannot be read."""
    from app.domain.llms.facts import LLMS_FILE, load_llms  # noqa: PLC0415 - keeps --help quick

    own = settings.home / LLMS_FILE
    try:
        return load_llms(own)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"The models in {own} cannot be read: {error}") from error


def _profile(path: Path, beside: Path | None) -> LlmProfile:
    from app.domain.llms.configs import read_config  # noqa: PLC0415 - keeps --help quick

    quantization = read_document(beside) if beside else None
    try:
        return read_config(read_document(path), quantization=quantization)
    except QueryError as error:
        raise click.UsageError(f"{path}: {error}") from error


def read_document(path: Path) -> Mapping[str, Any]:
    """Return the object of a JSON file; raises UsageError when it cannot be read."""
    from app.domain.llms.configs.document import MOST_BYTES, parse_document  # noqa: PLC0415 - same

    try:
        with path.open("rb") as file:
            return parse_document(file.read(MOST_BYTES + 1), name=path.name)
    except QueryError as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read: {error.strerror or error}") from error


def _append(path: Path, made: Llm) -> None:
    """Write the operator's table anew with one row more, so that a full disk leaves the old one whole."""
    from app.domain.llms.facts import LLM_COLUMNS, llm_cells, parse_llms  # noqa: PLC0415 - keeps --help quick

    text = io.StringIO()
    writer = csv.DictWriter(text, LLM_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerow(llm_cells(made))
    try:
        kept = list(parse_llms(text.getvalue().splitlines()).values()) == [made]
    except ValueError as error:
        raise click.UsageError(f"A row of the table cannot hold this: {error}") from error
    if not kept:
        raise click.UsageError("A row of the table holds one line of text without '|' in a cell; say it so.")
    row = text.getvalue().partition("\n")[2] if path.exists() else text.getvalue()
    try:
        _write(path, row)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {error.strerror or error}") from error


def _write(path: Path, row: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    half = path.with_name(f"{path.name}.{os.getpid()}")
    half.write_text(f"{before.rstrip()}\n{row}" if before else row, encoding="utf-8")
    half.replace(path)


def _about(known: Llm) -> dict[str, Any]:
    """Return what a row says beside the profile, and what its files hold that the profile does not."""
    return {
        "id": known.id,
        "name": known.name,
        "licence": known.licence or None,
        "config_source": known.config_source,
        "as_of": known.as_of.isoformat(),
        "params_in_files": known.params_in_files,
        "params_source": known.params_source or None,
        "params_not_in_parts": known.params_unexplained,
        "difference": known.difference or ("none" if known.params_unexplained == 0 else None),
    }


def _figures(profile: LlmProfile) -> dict[str, int]:
    return {
        "params_text": profile.params_text,
        "params_always": profile.params_always,
        "params_routed": profile.params_routed,
        "params_active": profile.params_active,
    }


def _table(profile: LlmProfile, about: Mapping[str, Any]) -> str:
    """Return three tables, one below the other: the model, its parts and its layers."""
    of = {
        **about,
        "family": profile.family,
        **_figures(profile),
        "hidden": profile.hidden,
        "vocab": profile.vocab,
        "layers": profile.layers,
        "experts": f"{profile.experts_per_token} of {profile.experts} in {profile.moe_layers} layers"
        if profile.experts
        else "none",
        "max_context": profile.max_context,
        "native_dtype": profile.native_dtype or None,
        "quant_method": profile.quant_method or "none stated",
        "tied_head": "yes" if profile.tied_head else "no",
    }
    facts = [[name, _shown(value)] for name, value in of.items()]
    notes = [["note", note] for note in profile.notes]
    return "\n\n".join(
        [
            text_table([("Model", False), ("", False)], facts + notes),
            text_table(
                [("Part", False), ("Parameters", True), ("Read in decoding", False)],
                [[part.name, f"{part.params:,}", part.read.replace("_", " ")] for part in profile.parts],
            ),
            _layers(profile),
        ]
    )


def _layers(profile: LlmProfile) -> str:
    names = ["Layers", "Query heads", "Key heads", "Key size", "Value size", "Window tokens"]
    names += ["Latent values", "Index layers", "Tokens to an entry", "State bytes"]
    lines = [
        [
            group.kind,
            str(group.layers),
            *map(str, (group.q_heads, group.kv_heads, group.head_dim_k, group.head_dim_v)),
            *map(_or_none, (group.window, _latent(group), group.indexer_layers, group.compress_ratio)),
            "-",
        ]
        for group in profile.attention
    ]
    states = [
        ["recurrent", str(group.layers), *["-"] * 8, f"{group.state_bytes:,}"] for group in profile.recurrent
    ]
    return text_table([("Kind", False), *((name, True) for name in names)], lines + states)


def _latent(group: Attention) -> int:
    return group.kv_lora_rank + group.rope_head_dim if group.kind == "mla" else 0


def _or_none(number: int | None) -> str:
    return str(number) if number else "-"


def _shown(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else str(value)
