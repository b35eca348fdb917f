"""What a data directory holds, what it lacks, and what that disables."""

from dataclasses import asdict, dataclass, field
from pathlib import Path

from relic.attribute import known_attributes
from relic.data.corpus import HUMAN_CAPTIONS, Corpus
from relic.data.fetch import git_blob_sha1, manifest
from relic.data.human import coco_files, read_coco
from relic.data.upstream import PARTS, captioner_files, directory_fingerprint, load_real
from relic.errors import RelicError

EXPECTED = {  # the papers' counts
    "gender": {"Male": 7466, "Female": 3314},
    "race": {"Light": 9873, "Dark": 1096},
    "age": {"old": 4603, "young": 2435},
}
DISABLES = {  # what an absent file or directory costs, by the beginning of its path
    "bias_data/Human_Ann/gender": "gender LIC_D on all images, and with `upstream` splits",
    "bias_data/Human_Ann/race": "race LIC_D on all images, and with `upstream` splits",
    "bias_data/model_vocab/": "LIC_D aligned to that captioner's vocabulary",
    "bias_data/": "these captions",
    "age_data/age_dataset.pkl": "everything on age, and human captions of 7,038 images",
    "age_data/": "",
    "age_annotations/": "the age annotators' agreement",
    "visual_context": "the Gender Score with objects by image",
    "gender_score": "gender-object distances on COCO's training objects",
    "coco": "human captions from COCO's annotation files",
}


@dataclass
class AttributeReport:
    """One attribute: images, labels, human captions, captioners."""

    attribute: str
    images: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    expected: dict[str, int] = field(default_factory=dict)
    with_human_captions: int = 0
    with_human_captions_by_label: dict[str, int] = field(default_factory=dict)
    with_fewer_than_five: int = 0
    captioners: list[str] = field(default_factory=list)
    missing_captioners: list[str] = field(default_factory=list)
    error: str = ""

    @property
    def as_expected(self) -> bool:
        """Do the label counts equal the papers'?"""
        return self.labels == self.expected


@dataclass
class DataReport:
    """The whole of `relic data check`."""

    directory: str
    fingerprint: str
    attributes: list[AttributeReport]
    missing: list[dict]  # path, disables
    modified: list[str]  # other bytes than upstream's
    coco: dict[str, int]  # annotation file -> images with captions
    errors: list[str]

    @property
    def usable(self) -> bool:
        """Is there at least one attribute to work on, and no broken file?"""
        return any(a.images for a in self.attributes) and not self.errors

    def as_dict(self) -> dict:
        """Plain values, for --json."""
        return asdict(self) | {"usable": self.usable}


def check(directory: Path) -> DataReport:
    """Read everything once and compare it with upstream's manifest and the papers' counts."""
    directory = Path(directory).expanduser()
    if not directory.is_dir():
        raise RelicError(
            f"{directory} is not a directory",
            expected="a directory with bias_data/ and age_data/",
            mend="relic data fetch DIR, with a directory of your choice",
        )
    listed = manifest()
    present = listed["local"].map(lambda name: (directory / name).is_file())
    missing = [*listed["local"][~present], *(p for p in PARTS[3:] if not (directory / p).is_dir())]
    modified = [
        row.local
        for row in listed[present].itertuples()
        if _sha1(directory / row.local) != row.git_blob_sha1
    ]
    attributes = [_attribute(directory, name) for name in known_attributes()]
    errors, coco = [a.error for a in attributes if a.error], {}
    for file in coco_files(directory):
        try:
            coco[file.name] = len(read_coco(file))
        except RelicError as error:
            errors.append(str(error))
    return DataReport(
        directory=str(directory),
        fingerprint=directory_fingerprint(directory),
        attributes=attributes,
        missing=[{"path": name, "disables": _disables(name)} for name in missing],
        modified=modified,
        coco=coco,
        errors=list(dict.fromkeys(errors)),
    )


def _sha1(file: Path) -> str:
    """The file's hash, or nothing where it cannot be read: whoever needs the file says why."""
    try:
        return git_blob_sha1(file)
    except OSError:
        return ""


def _attribute(directory: Path, name: str) -> AttributeReport:
    report = AttributeReport(name, expected=EXPECTED[name])
    known = [files["name"] for files in captioner_files().values() if name in files]
    try:
        corpus: Corpus = load_real(directory, name)
    except RelicError as error:
        absent = not any((directory / part).is_dir() for part in ("bias_data", "age_data"))
        report.missing_captioners = known
        report.error = "" if absent or error.found.endswith(f"labelled with {name}") else str(error)
        return report
    report.images, report.labels = len(corpus.labels), corpus.label_counts()
    report.with_human_captions = len(corpus.covered)
    report.with_human_captions_by_label = corpus.label_counts(corpus.covered)
    report.with_fewer_than_five = int((corpus.depth < HUMAN_CAPTIONS).sum())
    report.captioners = [corpus.display_names[key] for key in corpus.captioners]
    report.missing_captioners = [name for name in known if name not in report.captioners]
    return report


def _disables(path: str) -> str:
    return next(text for start, text in DISABLES.items() if path.startswith(start))


def as_text(report: DataReport) -> str:
    """The report as a person reads it."""
    found = any(a.images for a in report.attributes) or report.coco
    lines = [
        report.directory,
        f"fingerprint {report.fingerprint}" if found else "no captions found",
        "",
    ]
    for a in report.attributes:
        if a.error or not a.images:
            lines.append(f"{a.attribute:7} {'broken, see below' if a.error else 'no captions'}")
            continue
        counts = ", ".join(f"{name} {n:,}" for name, n in a.labels.items())
        verdict = "as in the papers" if a.as_expected else "the papers have " + ", ".join(
            f"{name} {n:,}" for name, n in a.expected.items()
        )  # fmt: skip
        covered = ", ".join(f"{name} {n:,}" for name, n in a.with_human_captions_by_label.items())
        lines += [
            f"{a.attribute:7} {a.images:,} images ({counts}): {verdict}",
            f"        {a.with_human_captions:,} with human captions ({covered}); "
            f"{a.with_fewer_than_five:,} of them with fewer than {HUMAN_CAPTIONS} of their own",
            f"        {len(a.captioners)} captioners: {', '.join(a.captioners)}",
        ]
        if a.missing_captioners:
            lines.append(f"        missing captioners: {', '.join(a.missing_captioners)}")
    if report.coco:
        files = ", ".join(f"{name} ({n:,} images)" for name, n in report.coco.items())
        lines += ["", f"COCO annotations: {files}"]
    for title, items in (
        (
            "missing",
            [f"{m['path']}: disables {m['disables']}" for m in report.missing if m["disables"]],
        ),
        ("other bytes than upstream's (relic data fetch DIR --replace)", report.modified),
        ("broken", report.errors),
    ):
        if items:
            lines += ["", f"{title}:", *(f"  {item}" for item in items)]
    if report.missing:
        lines += ["", f"relic data fetch {report.directory} gets upstream's missing files"]
    return "\n".join(lines)
