"""Files as they were at a git revision."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mixture.errors import MixtureError
from mixture.units import quote

_FOUND = re.compile(rb"[0-9a-f]{40,64} (blob|tree) (\d+)\n")
_ELSEWHERE = re.compile(rb"(?:symlink|dangling|loop|notdir) (\d+)\n")


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision as git names it (`HEAD~1`, a tag, a commit), of the repository that holds a folder."""

    name: str
    folder: Path

    def path(self, text: str) -> str:
        """The path from the repository's top: one that begins with `./` or `../` counts from the folder, as in git."""
        if not text.startswith(("./", "../")):
            return text
        return os.path.normpath(self.prefix() + text)

    def prefix(self) -> str:
        """The folder from the repository's top, with a slash behind it; empty at the top."""
        return os.fsdecode(self._git(["rev-parse", "--show-prefix"])).removesuffix("\n")

    def read(self, paths: Sequence[str]) -> dict[str, bytes | None]:
        """The bytes of files by path from the repository's top; None of a folder. What is not there is left out.

        Links inside the repository are followed. Raises MixtureError: `unknown-revision`, and those of git itself,
        `git-missing`, `not-a-repository`, `git-failed`.
        """
        asked = [f"{self.name}^{{tree}}", *(f"{self.name}:{path}" for path in paths)]
        if any("\n" in line for line in asked):
            raise self.error(f"{quote(self.name)} and its paths are of one line", code="unknown-revision")
        wanted = "".join(f"{line}\n" for line in asked)
        tree, *files = _objects(
            self._git(["cat-file", "--batch", "--follow-symlinks"], os.fsencode(wanted)), len(asked)
        )
        if tree is None:
            hint = "a file, or a commit, branch or tag, such as HEAD~1, is right here"
            raise self.error(f"git knows no revision {quote(self.name)}", code="unknown-revision", hint=hint)
        found = zip(paths, files, strict=True)
        return {path: held[1] if held[0] == b"blob" else None for path, held in found if held is not None}

    def error(self, message: str, *, code: str, hint: str | None = None) -> MixtureError:
        """An error about this revision."""
        return MixtureError(message, code=code, hint=hint, revision=self.name, folder=str(self.folder))

    def _git(self, arguments: Sequence[str], given: bytes = b"") -> bytes:
        command = ["git", "-C", str(self.folder), *arguments]
        try:
            done = subprocess.run(
                command, input=given, capture_output=True, check=False, env=os.environ | {"LC_ALL": "C"}
            )
        except OSError as error:
            raise self.error(f"git can not be run: {error.strerror or error}", code="git-missing") from error
        if done.returncode == 0:
            return done.stdout
        said = os.fsdecode(done.stderr).strip().splitlines()
        if any("not a git repository" in line for line in said):
            message = f"{self.folder.resolve()} is in no git repository"
            raise self.error(message, code="not-a-repository", hint="a spec or lock file is right here too")
        raise self.error(f"git: {said[0] if said else f'exit {done.returncode}'}", code="git-failed")


def _objects(output: bytes, count: int) -> list[tuple[bytes, bytes] | None]:
    """Kind and bytes of each object that `git cat-file --batch` was asked for; None of what is not there."""
    found: list[tuple[bytes, bytes] | None] = []
    place = 0
    while len(found) < count:
        there, elsewhere = _FOUND.match(output, place), _ELSEWHERE.match(output, place)
        head = there or elsewhere
        if head is None:
            place = output.index(b"\n", place) + 1
            found.append(None)
            continue
        end = head.end() + int(head[head.lastindex or 1])
        found.append((there[1], output[there.end() : end]) if there else None)
        place = end + 1
    return found
