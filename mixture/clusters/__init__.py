"""Text to clusters by quality: embed, cluster, title, score. `cluster` in run.py is the whole of it."""

from mixture.clusters.embed import TFIDF, Embedder
from mixture.clusters.engine import Engine, Processes
from mixture.clusters.options import LEVELS, ClusterOptions
from mixture.clusters.ray_engine import Ray
from mixture.clusters.run import ClusterProgress, ClusterReport, ClusterStage, cluster

__all__ = [
    "ClusterOptions",
    "ClusterProgress",
    "ClusterReport",
    "ClusterStage",
    "Embedder",
    "Engine",
    "LEVELS",
    "Processes",
    "Ray",
    "TFIDF",
    "cluster",
]
