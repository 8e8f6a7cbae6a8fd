"""Settings that make editors check and complete case files: the YAML language server's, as VS Code keeps them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli import schemas
from agenteval_cli.caches import ignored_folder
from agenteval_cli.config import FILE_NAME, Config
from agenteval_cli.errors import IncompleteError
from agenteval_cli.writing import put

FOLDER = ".agenteval/schemas"
SETTINGS = ".vscode/settings.json"


class Installed(msgspec.Struct, frozen=True):
    """What was written, the settings, and the settings file that was left alone because it is not plain JSON."""

    made: list[str]
    settings: dict[str, Any]
    left_alone: str | None


def installed(root: Path, config: Config) -> Installed:
    """Copy the schemas and merge the settings into those that are there. Raises IncompleteError."""
    settings = settings_for(config)
    try:
        made = [_copied(root, name) for name in ("case", "config", "fixture", "retired")]
        left_alone = _merged(root / SETTINGS, settings)
    except OSError as error:
        raise IncompleteError(f"cannot write to {root}: {error.strerror}") from error
    return Installed(made + ([] if left_alone else [SETTINGS]), settings, left_alone)


def settings_for(config: Config) -> dict[str, Any]:
    """The language server's settings: which schema is for which files."""
    return {
        "yaml.schemas": {
            f"./{FOLDER}/case.schema.json": [f"{config.cases}/**/*.yaml", f"!{config.cases}/retired.yaml"],
            f"./{FOLDER}/retired.schema.json": f"{config.cases}/retired.yaml",
            f"./{FOLDER}/fixture.schema.json": f"{config.fixtures}/**/*.yaml",
            f"./{FOLDER}/config.schema.json": FILE_NAME,
        },
        "yaml.yamlVersion": "1.2",
    }


def _copied(root: Path, name: str) -> str:
    target = f"{FOLDER}/{name}.schema.json"
    ignored_folder((root / target).parent)
    shutil.copyfile(schemas.folder() / f"{name}.schema.json", root / target)
    return target


def _merged(path: Path, settings: dict[str, Any]) -> str | None:
    """Add the settings to the file; its name where it cannot be changed without losing what is in it."""
    try:
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError:
        return SETTINGS
    after = {**before, **settings, "yaml.schemas": {**before.get("yaml.schemas", {}), **settings["yaml.schemas"]}}
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, json.dumps(after, indent=2, ensure_ascii=False).encode() + b"\n")
    return None
