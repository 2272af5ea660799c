"""What is made of the receipts: the overview, and sources that can be ingested."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixture.clusters.embed import shown_name
from mixture.clusters.model import Model, label_order
from mixture.clusters.names import cell_folder, domain_name
from mixture.clusters.options import ClusterOptions, Labels
from mixture.clusters.quality import ABOUT, FEATURES
from mixture.clusters.titles import ranked, titles, top_terms, usual_forms
from mixture.clusters.write import SCORE, SOURCE
from mixture.data.ingest import Sources
from mixture.planning.catalog import (
    MOST_TYPICAL,
    OVERVIEW,
    Overview,
    OverviewCluster,
    OverviewDomain,
    OverviewMade,
    OverviewQuality,
    OverviewSource,
    QualityFeature,
)


@dataclass(slots=True)
class Totals:
    """The receipts of all partitions, added up in their order."""

    digest: str
    dropped: Counter[str] = field(default_factory=Counter)
    sources: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    cells: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    typical: dict[tuple[str, str], list[tuple[float, str]]] = field(default_factory=lambda: defaultdict(list))
    titled: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    phrases: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def documents(self) -> int:
        return sum(cell["documents"] for cell in self.cells.values())

    @property
    def bytes(self) -> int:
        return sum(cell["bytes"] for cell in self.cells.values())

    def cluster_documents(self, cluster: str) -> int:
        """Documents of a cluster, of all levels."""
        return sum(cell["documents"] for (name, _), cell in self.cells.items() if name == cluster)


def add_up(receipts: Sequence[Path]) -> Totals:
    """Read the receipts. The digest is over theirs, which are over (source, id, cluster, quality) of each document."""
    whole = hashlib.sha256()
    totals = Totals("")
    for path in receipts:
        receipt: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        whole.update(receipt["digest"].encode())
        totals.dropped.update(receipt["dropped"])
        for name, (documents, size) in receipt["sources"].items():
            totals.sources[name][0] += documents
            totals.sources[name][1] += size
        for cell in receipt["cells"]:
            key = (cell["cluster"], cell["quality"])
            totals.cells[key].update(documents=cell["documents"], bytes=cell["bytes"])
            near = [*totals.typical[key], *((cosine, name) for cosine, name in cell["typical"])]
            totals.typical[key] = sorted(near, key=lambda one: (-one[0], one[1]))[:MOST_TYPICAL]
        totals.titled.update(receipt["titled"])
        totals.forms.update(receipt["forms"])
        for cluster, counted in receipt["phrases"].items():
            totals.phrases[cluster].update(counted)
    totals.digest = whole.hexdigest()
    return totals


def domain_names(totals: Totals, model: Model) -> dict[tuple[str, str], str]:
    """The domains in order of cluster and level."""
    place = {cluster: number for number, cluster in enumerate(model.ids)}
    order = sorted(totals.cells, key=lambda key: (place[key[0]], label_order(key[1])))
    return {key: domain_name(*key) for key in order}


def make_overview(totals: Totals, model: Model, options: ClusterOptions, labels: Labels) -> Overview:
    """The overview of what was made."""
    ranks = ranked(totals.phrases, totals.titled)
    sizes = {cluster: totals.cluster_documents(cluster) for cluster in model.ids}
    largest_first = sorted(model.ids, key=lambda cluster: (-sizes[cluster], cluster))
    named = titles(ranks, largest_first, forms=usual_forms(totals.forms, totals.phrases))
    return Overview(
        clusters=tuple(
            OverviewCluster(
                id=cluster,
                title=named[cluster],
                terms=tuple(top_terms(ranks.get(cluster, []))),
                documents=sizes[cluster],
            )
            for cluster in model.ids
        ),
        domains=tuple(
            OverviewDomain(domain=name, typical=tuple(identity for _, identity in totals.typical[key]))
            for key, name in domain_names(totals, model).items()
        ),
        quality=_quality(model),
        made=_made(totals, model, options, labels),
    )


def _quality(model: Model) -> OverviewQuality | None:
    if model.levels is None:
        return None
    whole = sum(feature.weight for feature in FEATURES)
    features = tuple(
        QualityFeature(name=feature.name, about=feature.about, weight=round(feature.weight / whole, 6))
        for feature in FEATURES
    )
    return OverviewQuality(features=features, cut_offs=model.levels, about=ABOUT)


def _made(totals: Totals, model: Model, options: ClusterOptions, labels: Labels) -> OverviewMade:
    if labels.cluster.is_made:
        method = f"spherical k-means, merged by Ward's rule, floor {float(options.floor):.4%} of documents"
    else:
        method = f"labels as they are, from the {labels.cluster.origin.value} {labels.cluster.name!r}"
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in sorted(totals.dropped.items()))
    return OverviewMade(
        method=method,
        embedding=shown_name(options.embed) if labels.cluster.is_made else None,
        k=len(model.ids),
        k_train=len(model.fine) or None,
        seed=options.seed,
        documents=totals.documents,
        bytes=totals.bytes,
        sources=tuple(
            OverviewSource(name=name, documents=documents, bytes=size)
            for name, (documents, size) in sorted(totals.sources.items())
        ),
        date=options.date,
        digest=totals.digest,
        notes=f"left out: {left_out}" if left_out else "",
    )


def sources_text(totals: Totals, model: Model, overview: Overview, sources: Sources, labels: Labels) -> str:
    """The sources file of what was made: a domain a cell, with its labels."""
    named = {cluster.id: cluster.title for cluster in overview.clusters}
    scored = [SCORE] if labels.quality.is_made else []
    attributes = sorted({SOURCE, *scored, *sources.attributes})
    lines = [
        "# Made by `mixture cluster`. To a token store: mixture ingest sources.yaml -o STORE",
        f"overview: {OVERVIEW}",
        "domains:",
    ]
    for (cluster, quality), name in domain_names(totals, model).items():
        fields = {
            "files": [f"{cell_folder(cluster, quality)}/*.parquet"],
            "text": "text",
            "id": "id",
            "attributes": attributes,
            "labels": {"cluster": cluster, "quality": quality, "title": named[cluster]},
        }
        lines.append(f"  {json.dumps(name)}: {json.dumps(fields)}")  # JSON is YAML 1.2
    return "\n".join(lines) + "\n"
