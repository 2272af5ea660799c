"""What a shell does itself: sets, declares and reads variables, and tests values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import eq, ge, gt, le, lt, ne

from mixture.formats.shell.lexer import ASSIGNMENT, Word
from mixture.formats.shell.variables import IDENTIFIER, WILDCARDS, Missing, Value, Variables, is_known, may_be_several

DECLARATIONS = ("export", "local", "readonly", "declare", "typeset")
_LOCAL = ("local", "declare", "typeset")
_COMPARES = {"-eq": eq, "-ne": ne, "-lt": lt, "-le": le, "-gt": gt, "-ge": ge}
_SET_NAMES = re.compile(
    r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)", re.ASCII
)


def forget_set(variables: Variables, text: str) -> None:
    """Makes all unknown that an expression of integers or a script sets."""
    variables.forget(name for names in _SET_NAMES.findall(text) for name in names if name)


def assign(variables: Variables, word: Word) -> None:
    """`NAME=VALUE`, `NAME+=VALUE`, `NAME[0]=VALUE` or a list."""
    match = ASSIGNMENT.match(word.text)
    if match is None:
        return
    name, index, plus = match.groups()
    listed = None if word.items is None else variables.words(Word(item, word.place) for item in word.items)
    text = "" if listed is not None else variables.text(word.text[match.end() :], word.place)
    before = variables.value(name)
    known = () if isinstance(before, Missing) else before
    if word.items is not None and listed is not None:
        value: Value = (*known, *listed) if plus else tuple(listed)
        if any(item.startswith("[") for item in word.items):
            value = Missing.UNKNOWN
    elif index is not None and not (index.isdigit() and int(index) <= len(known)):
        value = Missing.UNKNOWN
    else:
        at = int(index or 0)
        value = (*known[:at], ("".join(known[at : at + 1]) if plus else "") + text, *known[at + 1 :])
    if before is Missing.UNKNOWN and (plus or index is not None):
        value = Missing.UNKNOWN
    variables.set(name, value, word.place)


def declare(variables: Variables, words: Sequence[Word]) -> None:
    """`export`, `local` and their like, with values or without."""
    options = "".join(word.text for word in words[1:] if word.text.startswith(("-", "+")))
    is_local = bool(variables.frames) and words[0].text in _LOCAL and "g" not in options
    for word in words[1:]:
        name = IDENTIFIER.match(word.text)
        if name is None:
            continue
        if is_local:
            variables.declare_local(name[0])
        if ASSIGNMENT.match(word.text) is None:
            if is_local:
                variables.set(name[0], Missing.UNSET, word.place)
            continue
        assign(variables, word)
        if "n" in options or "A" in options or "i" in options:
            variables.set(name[0], Missing.UNKNOWN, word.place)


def read(variables: Variables, words: Sequence[Word]) -> None:
    """`read`, from a text that is given with it or from elsewhere."""
    texts = [word.text for word in words]
    end = texts.index("<<<") if "<<<" in texts else len(texts)
    names = [text for text in texts[1:end] if IDENTIFIER.fullmatch(text)]
    line = variables.text(texts[end + 1], words[0].place).split("\n")[0] if end + 1 < len(texts) else "$"
    if texts[1:end] == ["-ra", *names] and len(names) == 1 and not may_be_several(line):
        separator = variables.layers[-1].get("IFS") if len(variables.layers) > 1 else None
        by = None if separator is None or isinstance(separator, Missing) else separator[0] or None
        variables.set(names[0], tuple(line.split(by)), words[0].place)
        return
    variables.forget(names)


def test_of(variables: Variables, words: Sequence[Word]) -> bool | None:
    """Whether a test of known values holds."""
    is_pattern = words[0].text == "[["
    values = [variables.text(word.text, word.place) for word in words[1:]]
    if words[0].text != "test":
        values = values[:-1]
    if not all(map(is_known, values)):
        return None
    match values:
        case ["-z", text]:
            return not text
        case ["-n", text] | [text]:
            return bool(text)
        case [a, "=" | "==" | "!=" as operator, b] if not (is_pattern and WILDCARDS.search(b)):
            return (a == b) != (operator == "!=")
        case [a, operator, b] if operator in _COMPARES and a.isdigit() and b.isdigit():
            return bool(_COMPARES[operator](int(a), int(b)))
    return None
