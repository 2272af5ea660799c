"""What is served: mixtures of folders and published bundles, stores, conditions."""

from api.registry.builtin import FEW_FOLDERS, BuiltinMixtures
from api.registry.bundles import CONDITION_SECONDS, AmendmentAsked, amended_bundle, make_bundle, weight_sets
from api.registry.conditions import Conditions
from api.registry.folders import mixture_files
from api.registry.library import LoadedMixture
from api.registry.log_watch import LogWatch
from api.registry.overviews import overview_of
from api.registry.published import load_kept
from api.registry.start_report import left_out, overview, renamed, swept
from api.registry.stores import Stores

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
