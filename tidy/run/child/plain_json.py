"""JSON of plain data, written without `json`: a script may have a json.py of its own."""

from __future__ import annotations

from _json import encode_basestring_ascii as _text  # what `json` itself has for it

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def json_text(value: Any) -> str:
    """The JSON, in ASCII, of dicts, lists, tuples, texts, numbers, booleans and None.

    Raises:
        TypeError: something else is in it.
    """
    if isinstance(value, dict):
        pairs = [f"{_text(str(key))}: {json_text(each)}" for key, each in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join([json_text(each) for each in value])}]"
    return _text(value) if isinstance(value, str) else _number(value)


def _number(value: Any) -> str:
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if not isinstance(value, (int, float)):
        raise TypeError(f"no JSON of {type(value).__name__}")
    return int.__repr__(value) if isinstance(value, int) else float.__repr__(value)
