"""What is served: mixtures of folders and published bundles, stores, conditions."""

from mixture.api.registry.builtin import FEW_FOLDERS, BuiltinMixtures
from mixture.api.registry.bundles import CONDITION_SECONDS, AmendmentAsked, amended_bundle, make_bundle, weight_sets
from mixture.api.registry.conditions import Conditions
from mixture.api.registry.folders import mixture_files
from mixture.api.registry.library import LoadedMixture
from mixture.api.registry.log_watch import LogWatch
from mixture.api.registry.overviews import overview_of
from mixture.api.registry.published import load_kept
from mixture.api.registry.start_report import left_out, overview, renamed, swept
from mixture.api.registry.stores import Stores

__all__ = [
    "AmendmentAsked",
    "BuiltinMixtures",
    "CONDITION_SECONDS",
    "Conditions",
    "FEW_FOLDERS",
    "LoadedMixture",
    "LogWatch",
    "Stores",
    "amended_bundle",
    "left_out",
    "load_kept",
    "make_bundle",
    "mixture_files",
    "overview",
    "overview_of",
    "renamed",
    "swept",
    "weight_sets",
]
