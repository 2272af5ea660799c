"""Text to clusters by quality: embed, cluster, title, score. `cluster` in run.py is the whole of it."""

from mixture.clusters.embed import TFIDF
from mixture.clusters.engine import Engine, Processes
from mixture.clusters.options import ClusterOptions
from mixture.clusters.ray_engine import Ray
from mixture.clusters.run import ClusterProgress, ClusterReport, ClusterStage, cluster

__all__ = [
    "ClusterOptions",
    "ClusterProgress",
    "ClusterReport",
    "ClusterStage",
    "Engine",
    "Processes",
    "Ray",
    "TFIDF",
    "cluster",
]
