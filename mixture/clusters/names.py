"""What domains and their folders are called, and which labels can be part of that."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote as percent

from mixture.clusters.options import Labels
from mixture.clusters.partitions import Read
from mixture.clusters.vectors import Vectors
from mixture.data.texts import Label, label_columns
from mixture.errors import ClusterError, Place
from mixture.names import DIGEST_MARK, HELD_OUT_ENDING, is_held_out, odd_character
from mixture.units import quote

DOCUMENTS = "documents"
_LONGEST_FOLDER = 255  # bytes that file systems take


def cell_folder(cluster: str, quality: str) -> str:
    """A domain's folder in the output; signs that a path or a pattern reads otherwise are percent-encoded."""
    return f"{DOCUMENTS}/{_folder('cluster', cluster)}/{_folder('quality', quality)}"


def _folder(kind: str, label: str) -> str:
    return f"{kind}={percent(label, safe='')}"


def domain_name(cluster: str, quality: str) -> str:
    """What a domain is called: `c03q4` of `c03` or `03` and `4`, else `web-high` of `web` and `high`."""
    if quality.isascii() and quality.isdigit():
        return f"c{cluster}q{quality}" if cluster[:1].isdigit() else f"{cluster}q{quality}"
    return f"{cluster}-{quality}"


def check_label(label: str, kind: str, read: Read) -> None:
    """Refuse a document's label that no text of a sources file, or no folder, can be.

    kind: `cluster` or `quality`. Errors: ClusterError `control-character`, `name-too-long`.
    """
    place = Place(file=read.file)
    odd = odd_character(label)
    if odd is not None:
        message = f"document {quote(read.id)}: the {kind} {quote(label)} holds the control character {quote(odd)}"
        hint = "labels are of visible characters"
        raise ClusterError(message, code="control-character", place=place, hint=hint, document=read.id)
    most = _LONGEST_FOLDER - len(_folder(kind, ""))
    if len(_folder(kind, label)) > _LONGEST_FOLDER:
        message = f"document {quote(read.id)}: the {kind} {quote(label)} is too long for a folder's name"
        hint = f"up to {most} letters and digits are right; any other sign is as long as three for each byte of it"
        raise ClusterError(message, code="name-too-long", place=place, hint=hint, document=read.id)


def check_labels(paths: Iterable[Path], labels: Labels, place: Place) -> None:
    """Refuse labels of the first look, at these paths, that can not be domains; place: of the sources file.

    Errors: ClusterError `labels-alike`, `reserved-name`; SpecError `integer-too-large`.
    """
    found: dict[tuple[str, str], None] = {}
    for path in paths:
        vectors = Vectors(path)
        # What is made collides with nothing: one of it stands for all.
        clusters = ["c00"] * vectors.rows if labels.cluster.is_made else vectors.column("cluster")
        qualities = ["0"] * vectors.rows if labels.quality.is_made else vectors.column("quality")
        found |= dict.fromkeys(zip(clusters, qualities, strict=True))
    owners: dict[str, tuple[str, str]] = {}
    for key in sorted(found):
        name = domain_name(*key)
        if name in owners:
            message = f"the labels {owners[name]} and {key} are both called {quote(name)}"
            hint = "give the clusters ids that differ in more"
            raise ClusterError(message, code="labels-alike", place=place, hint=hint)
        if is_held_out(name):
            message = f"the labels {key} make {quote(name)}, which is no domain to train on"
            hint = f"{HELD_OUT_ENDING} and {DIGEST_MARK} are reserved"
            raise ClusterError(message, code="reserved-name", place=place, hint=hint)
        owners[name] = key
    label_columns([{"cluster": Label(cluster, place), "quality": Label(quality, place)} for cluster, quality in found])
