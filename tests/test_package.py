"""The package says one version, starts as `attn`, and needs nothing but what it names."""

import re
from importlib.metadata import entry_points, requires, version

import attn_cli


def test_the_version_is_in_one_place():
    assert version("attn-cli") == attn_cli.__version__


def test_the_package_brings_one_program():
    assert [script.value for script in entry_points(group="console_scripts", name="attn")] == ["attn_cli.__main__:run"]


def test_four_libraries_are_needed_to_run_it():
    needed = [text for text in requires("attn-cli") or [] if "extra ==" not in text]
    assert {re.split(r"[^\w-]", text)[0].lower() for text in needed} == {"typer", "numpy", "rich", "pyyaml"}
