"""What a reader of an audit must know before its numbers: each caution with its own number."""

from relic.auditing.details import copied_share, masked_share, unknown_share
from relic.auditing.inputs import Audited
from relic.auditing.measure import Measured
from relic.data.corpus import HUMAN_CAPTIONS

SMALL_TEST = 300  # test images; the papers have 662 (gender) and 220 (race)
UNBALANCED = 0.25  # the rarer class's share below which most of the common class is not used
UNKNOWN_WORDS = 15  # percent of human words outside the captioner's vocabulary
FEW_WORDS = 5  # percent of captions with a masked word
COPIED = 5  # percent of captions that are human ones
COVERED = 0.5  # share of the captions that have a label and human captions


def cautions(audited: Audited, measured: Measured) -> list[str]:
    """Sentences, the gravest first; empty when nothing stands out."""
    return [
        *_size(audited, measured),
        *_captions(audited),
        *_coverage(audited),
    ]


def _size(audited: Audited, measured: Measured) -> list[str]:
    found, lic, labels = [], measured.lic, audited.corpus.labels.loc[audited.images]
    tested, seeds = int(lic["n_test"].min()), int(lic["n_seeds"].min())
    if audited.corpus.synthetic:
        found.append("These captions are synthetic: the numbers say nothing about any captioner.")
    if tested < SMALL_TEST:
        worst = lic["detectable"].max()
        least = f" A LIC below {worst:.1f} would often go unseen (80 % power)." if worst == worst else ""  # fmt: skip
        found.append(f"Small test set: {tested} images a split (the papers have 662 for gender, 220 for race).{least}")  # fmt: skip
    if seeds < 3:
        found.append(f"{seeds} split{'s' * (seeds != 1)}: {'no interval' if seeds < 2 else 'a very wide interval'}; ten are usual.")  # fmt: skip
    share = float(labels.mean())
    if share < UNBALANCED:
        first, second = audited.corpus.attribute.classes
        found.append(
            f"Unbalanced: {second} has {100 * share:.0f} % of the images. The classes are balanced by leaving "
            f"out {first} images, so {int(2 * labels.sum()):,} of {len(labels):,} images are used."
        )
    if audited.captions_an_image < HUMAN_CAPTIONS:
        found.append(f"{audited.captions_an_image} human captions an image instead of {HUMAN_CAPTIONS}: LIC_D varies more.")  # fmt: skip
    return found


def _captions(audited: Audited) -> list[str]:
    """What the captions themselves warn of, each caution once with the captioners it is about."""
    found, about, names = [], audited.corpus.attribute, audited.corpus.captioners
    masked, unknown, copied = (
        {name: measure(audited, name) for name in names}
        for measure in (masked_share, unknown_share, copied_share)
    )
    none = ", ".join(name for name in names if masked[name] == 0)
    if not about.masked_words:
        found.append(f"No words are masked for {about.name}: captions that state it outright count as leakage.")  # fmt: skip
    elif none:
        found.append(
            f"{none}: no masked word found in any caption. Is it another language, were the captions masked "
            f"before, or is {about.name} never named?"
        )
    few = _which(masked, lambda share: 0 < share < FEW_WORDS)
    if about.masked_words and few:
        found.append(f"Few captions hold a masked word: {few}.")
    small = _which(unknown, lambda share: share > UNKNOWN_WORDS)
    if small:
        found.append(
            f"Vocabulary much smaller than the human one: so many human words become unknown: {small}. "
            f"That can lower LIC_D and so raise LIC. Compare with --vocabulary none."
        )
    same = _which(copied, lambda share: share > COPIED)
    if same:
        found.append(
            f"Captions that equal a human caption of the same image to the letter: {same}."
        )
    return found


def _which(shares: dict[str, float], wanted) -> str:
    return ", ".join(f"{name} {share:.0f} %" for name, share in shares.items() if wanted(share))


def _coverage(audited: Audited) -> list[str]:
    rows = audited.coverage[audited.coverage["with both"] < COVERED * audited.coverage["captions"]]
    told = ", ".join(
        f"{row['captioner']} {row['with both']:,} of {row['captions']:,}"
        for row in rows.to_dict("records")
    )
    if not told:
        return []
    return [
        f"Few captions have a label and human captions: {told}. The result speaks for those only."
    ]
