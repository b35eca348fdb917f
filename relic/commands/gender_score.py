"""`relic gender-score`: objects of images, scores of captions."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

app = Typer(help="The Gender Score of any captioner's captions.", no_args_is_help=True)
Model = Annotated[str, Option(help="Hub name or directory; - for none.")]


@app.command()
def objects(
    images: Annotated[list[Path], Argument(help="Image files whose names end with an id.")],
    out: Annotated[Path, Option(help="CSV file; an existing one is continued.")],
    resnet: Model = "microsoft/resnet-152",
    clip: Model = "openai/clip-vit-base-patch32",
    detector: Model = "facebook/detr-resnet-50",
    clip_labels: Annotated[
        Path | None, Option(help="File with a label a line; COCO's classes by default.")
    ] = None,
    threshold: Annotated[float, Option(help="Least probability of a label.")] = 0.2,
    agreement: Annotated[float, Option(help="Cosine from which two labels agree.")] = 0.5,
) -> None:
    """See which objects are in images: `image_id, label, probability, source`."""
    from relic.chapters.gender_score.images import see_objects

    models = {"resnet": resnet, "clip": clip, "detector": detector}
    models = {kind: name for kind, name in models.items() if name != "-"}
    labels = clip_labels.read_text(encoding="utf-8").splitlines() if clip_labels else ()
    frame = see_objects(images, out, models, filter(None, labels), threshold, agreement)
    count = int(frame["label"].notna().sum())
    print(f"{count} objects of {frame['image_id'].nunique()} images in {out}")


@app.command()
def score(
    captions: Annotated[Path, Argument(help="Captions in COCO's results format (JSON).")],
    objects: Annotated[Path, Option(help="CSV of objects by image.")],
    lm: Annotated[
        str, Option(help="n-gram, gemma3-270m, a hub name, a directory, a GGUF file.")
    ] = "n-gram",
    encoder: Annotated[
        str, Option(help="Sentence encoder or file of word vectors.")
    ] = "all-MiniLM-L6-v2",
    human: Annotated[
        Path | None, Option(help="COCO caption annotations; the n-gram model is fitted on them.")
    ] = None,
    csv: Annotated[Path | None, Option(help="Also a row a caption, to this file.")] = None,
) -> None:
    """Score captions by image id and print the means."""
    from relic.auditing.readers import read_captions, read_human, read_objects
    from relic.chapters.gender_score.models import load_encoder, load_prior
    from relic.chapters.gender_score.score import contexts, ratio_to_men, score_captions

    texts = read_captions(captions).frame.set_index("image_id")["caption"]
    seen = contexts(read_objects(objects).frame)
    prior = load_prior(lm, read_human(human).frame["caption"] if human else [])
    close = load_encoder(encoder, [*texts, *seen["context"]])
    scores = score_captions(texts, seen, prior, close)
    if csv:
        scores.to_csv(csv)
    print(f"language model: {prior.name}\nencoder: {close.name}")
    print(f"captions with objects: {len(scores)} of {len(texts)}")
    for gender, part in scores.groupby("gender"):
        mean, spread = part["score"].mean(), part["score"].std()
        print(f"{gender}: {len(part)} captions, mean score {mean:.4f}, SD {spread:.4f}")
    both = scores[["score_man", "score_woman"]].dropna()
    ratio = f"{ratio_to_men(*both.mean()):.4f} ({len(both)} captions)"
    print(f"ratio to men, person set to man and woman: {ratio}")
