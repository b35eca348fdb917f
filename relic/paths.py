"""Every path of the project, one comment each."""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent  # the helper package
ROOT = PACKAGE.parent  # the repository
NOTEBOOKS = ROOT / "notebooks"  # notebook sources, committed without outputs
PARAMS = ROOT / "params"  # profiles: overrides of notebook parameters
BOOK = ROOT / "book"  # sources of the book: Markdown, configuration, style
BUILD = BOOK / "_build"  # everything a build makes; deleting it loses no source
PROFILES = BUILD / "profiles"  # executed notebooks and their records, by profile
HTML = BUILD / "html"  # the published book
STAGE = BUILD / "stage"  # sources and executed notebooks, as Jupyter Book reads them
PDF = BUILD / "relic.pdf"  # the book, printed
LEXICON = PACKAGE / "data" / "lexicon.yml"  # the words of the embedded corpus
SCALE = PACKAGE / "auditing" / "scale.csv"  # what the papers' captioners score, for an audit
DATA_CHECK = PACKAGE / "commands" / "check.txt"  # the text of `relic data check`
ATTRIBUTES = PACKAGE / "data" / "attributes"  # one YAML file an attribute
CAPTIONERS = PACKAGE / "data" / "captioners.yml"  # the captioners and their files
OBJECTS = PACKAGE / "chapters" / "objects.yml"  # COCO's objects and the words for them
COLOURED = PACKAGE / "chapters" / "coloured.html"  # captions with their words marked
FORMS = PACKAGE / "chapters" / "gender_score" / "forms.yml"  # persons' words, set to another
PRIVACY = PACKAGE / "records" / "privacy.yml"  # what results/ may hold
BENCHMARKS = ROOT / "benchmarks"  # what `relic bench` and `relic calibrate` measure; not installed
PUBLISHED = PACKAGE / "records" / "published"  # the papers' numbers as tidy CSV
RESULTS = ROOT / "results"  # published run records
MANIFEST = PACKAGE / "data" / "upstream_manifest.csv"  # upstream's data files and their hashes

RUNS_SETTING = "RELIC_RUNS"  # environment variable that names the store of runs
DATA_SETTING = "RELIC_DATA"  # environment variable that names the directory of real captions
WORKERS_SETTING = "RELIC_WORKERS"  # environment variable: processes that train
EXTRAS_SETTING = "RELIC_EXTRAS"  # environment variable that names the directory of optional models


def _set(setting: str) -> Path | None:
    """The directory that an environment variable names, if it does."""
    value = os.environ.get(setting, "").strip()
    return Path(value).expanduser().resolve() if value else None


def real_data() -> Path | None:
    """Directory of the real captions, or None where RELIC_DATA is not set."""
    return _set(DATA_SETTING)


def runs() -> Path:
    """The store of runs: RELIC_RUNS, or `runs/` in the repository; installed without one, the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache").expanduser()
    return _set(RUNS_SETTING) or (ROOT if NOTEBOOKS.is_dir() else cache / "relic") / "runs"


def audit_runs() -> Path:
    """Runs of audits, kept apart from those of the claims."""
    return runs() / "audit"


def extras() -> Path:
    """Word vectors and language models that are not in the lock: RELIC_EXTRAS, or `extras/`."""
    return _set(EXTRAS_SETTING) or ROOT / "extras"
