"""Annotations as a SARIF 2.1.0 log, which code scanning takes.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..cache import digest_of
from ..explain import Description, described
from ..output import plural
from .annotations import Annotation, source_path
from .fixes import NEWLINES, fix

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_FINGERPRINT = "nkiMigrate/v1"
_SHOWN = 1000
"""Characters of a full description: GitHub takes 1024 (docs.github.com, "SARIF support for code scanning")."""
_NUMBER = re.compile(r"(?<!\w)\d+")


def log(command: str, annotations: Sequence[Annotation]) -> str:
    """The log of one run. A file on which the tool failed is a result and a notification of the invocation."""
    codes = sorted({annotation.code for annotation in annotations})
    driver = {
        "name": "nki-migrate",
        "version": version("nki-migrate"),
        "rules": [_rule(described(code), code) for code in codes],
    }
    failures = [annotation for annotation in annotations if annotation.failed]
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"nki-migrate/{command}/"},
        "columnKind": "unicodeCodePoints",
        "newlineSequences": list(NEWLINES),
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [
            {
                "executionSuccessful": not failures,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": item.message}, "locations": [_location(item)]}
                    for item in failures
                ],
            }
        ],
        "results": [
            _result(annotation, codes.index(annotation.code)) | {"partialFingerprints": {_FINGERPRINT: fingerprint}}
            for annotation, fingerprint in zip(annotations, _fingerprints(annotations), strict=True)
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _fingerprints(annotations: Sequence[Annotation]) -> Iterator[str]:
    """What each result is known by in the next run: its file, code and words, and which of several alike it is.

    Lines move, and counts change, while a result stays what it is: numbers are no part of it.
    """
    alike: Counter[str] = Counter()
    for each in annotations:
        known = "\n".join((source_path(each.path), each.code, _NUMBER.sub("", f"{each.title}\n{each.message}")))
        alike[known] += 1
        yield digest_of(f"{known}\n{alike[known]}".encode(errors="surrogateescape"))


def _rule(description: Description | None, code: str) -> dict[str, Any]:
    if description is None:
        return {"id": code}
    return {
        "id": code,
        "name": description.name,
        "shortDescription": {"text": description.summary},
        "fullDescription": {"text": _beginning(description)},
        "help": {"text": f"nki-migrate explain {code}\n\n{description.text}"},
    }


def _beginning(description: Description) -> str:
    """The first sentences of a rule's text, as far as code scanning shows them; all of it is its help."""
    text = "\n\n".join([description.summary, *description.text.split("\n\n")[2:]])
    whole = re.match(r".*\.(?=\s)", text[:_SHOWN], re.DOTALL)
    return text if len(text) <= _SHOWN or whole is None else whole[0]


def _result(annotation: Annotation, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": annotation.code,
        "ruleIndex": index,
        "level": annotation.severity,
        "message": {"text": f"{annotation.title}: {annotation.message}"},
        "locations": [_location(annotation)],
    }
    if annotation.edits:
        files = plural(len(annotation.edits), "file")
        result["fixes"] = [fix(f"what nki-migrate rewrite writes, in {files}", annotation.edits, _artifact)]
    if annotation.related is not None:
        other = annotation.related
        result["relatedLocations"] = [
            {
                "id": 0,
                "physicalLocation": _place(other.file, other.line, 0),
                "message": {"text": f"before: {other.what}"},
            }
        ]
    return result


def _location(annotation: Annotation) -> dict[str, Any]:
    return {"physicalLocation": _place(annotation.path, annotation.line, annotation.column)}


def _place(path: str, line: int, column: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(path)}
    if line:
        place["region"] = {"startLine": line, **({"startColumn": column} if column else {})}
    return place


def _artifact(path: str) -> dict[str, str]:
    """A file below the root by its relative URI, any other by its absolute one."""
    known = source_path(path)
    if os.path.isabs(known):
        return {"uri": Path(known).as_uri()}
    return {"uri": quote(os.fsencode(known)), "uriBaseId": _ROOT}
