"""relic.chapters.gender_score.images: real loading code, on small models and pictures made on the spot."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from relic.auditing.readers import read_objects
from relic.chapters.gender_score import images
from relic.chapters.gender_score.images import COLUMNS, agreed, image_id, see_objects
from relic.chapters.gender_score.score import contexts, surest
from relic.errors import RelicError

IMAGENET = {0: "tench, Tinca tinca", 1: "laptop, laptop computer", 2: "person", 3: "tabby cat"}


@pytest.fixture(scope="session")
def models(tmp_path_factory) -> dict[str, str]:
    """A ResNet, a CLIP and a DETR of a few thousand random weights, saved as transformers does."""
    import torch
    from transformers import (  # fmt: skip
        CLIPConfig,
        CLIPImageProcessorPil,
        CLIPModel,
        CLIPProcessor,
        CLIPTokenizer,
        DetrConfig,
        DetrForObjectDetection,
        DetrImageProcessorPil,
        ResNetConfig,
        ResNetForImageClassification,
    )
    from transformers.models.convnext.image_processing_pil_convnext import (
        ConvNextImageProcessorPil,
    )

    root = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    resnet = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], id2label=IMAGENET)
    ResNetForImageClassification(resnet).save_pretrained(root / "resnet")
    ConvNextImageProcessorPil(size={"shortest_edge": 32}).save_pretrained(root / "resnet")

    letters = [chr(code) for code in range(97, 123)]
    words = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    tokenizer = CLIPTokenizer(vocab={word: i for i, word in enumerate(words)}, merges=[])
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}  # fmt: skip
    clip = CLIPConfig(
        text_config=small | {"vocab_size": len(words), "max_position_embeddings": 77, "eos_token_id": 1},
        vision_config=small | {"image_size": 32, "patch_size": 16},
        projection_dim=8,
    )  # fmt: skip
    CLIPModel(clip).save_pretrained(root / "clip")
    size = {"shortest_edge": 32}
    processor = CLIPImageProcessorPil(size=size, crop_size={"height": 32, "width": 32})
    CLIPProcessor(image_processor=processor, tokenizer=tokenizer).save_pretrained(root / "clip")

    backbone = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=["stage2"]
    )
    detr = DetrConfig(
        backbone_config=backbone, use_timm_backbone=False, backbone=None, use_pretrained_backbone=False,
        d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=16, decoder_ffn_dim=16, num_queries=4, id2label=IMAGENET,
    )  # fmt: skip
    DetrForObjectDetection(detr).save_pretrained(root / "detector")
    DetrImageProcessorPil(size={"shortest_edge": 32, "longest_edge": 64}).save_pretrained(
        root / "detector"
    )
    return {kind: str(root / kind) for kind in images.KINDS}


@pytest.fixture
def pictures(tmp_path):
    """Five pictures of noise, of different shapes."""
    rng, files = np.random.default_rng(0), []
    for number, shape in enumerate([(40, 50), (60, 30), (32, 32), (45, 80), (33, 47)], 1):
        file = tmp_path / f"COCO_val2014_{number:012d}.png"
        Image.fromarray(rng.integers(0, 255, (*shape, 3), dtype=np.uint8)).save(file)
        files.append(file)
    return files


def test_three_models_see_objects_in_batches(models, pictures, tmp_path, monkeypatch):
    """Agreement -1 keeps all: each model gives its own labels, without persons, best first."""
    out = tmp_path / "objects.csv"
    asked = {"models": models, "threshold": 0.0, "agreement": -1, "clip_labels": ("cat", "kite")}
    monkeypatch.setattr(images, "BATCH", 2)
    frame = see_objects(pictures, out, **asked)
    assert frame["image_id"].unique().tolist() == [1, 2, 3, 4, 5]
    by_model = {kind: frame[frame["source"] == place] for kind, place in models.items()}
    assert set(by_model["resnet"]["label"]) == {"tench", "laptop", "tabby cat"}
    assert set(by_model["clip"]["label"]) == {"cat", "kite"}
    assert set(by_model["detector"]["label"]) <= {"tench", "laptop", "tabby cat"}
    assert not by_model["detector"].empty
    assert by_model["clip"].groupby("image_id")["probability"].sum().tolist() == pytest.approx([1] * 5)  # fmt: skip
    pd.testing.assert_frame_equal(pd.read_csv(out), frame)
    assert len(contexts(read_objects(out).frame, threshold=0)) == 5


def test_it_continues_where_it_was(models, pictures, tmp_path, monkeypatch):
    asked = {"models": {"resnet": models["resnet"]}, "threshold": 0.99}
    out = tmp_path / "objects.csv"
    first = see_objects(pictures[:3], out, **asked)
    assert first["source"].tolist() == [images.NOTHING] * 3  # nothing sure: done all the same
    opened = []
    real = images._open
    monkeypatch.setattr(images, "_open", lambda file: opened.append(file) or real(file))
    assert see_objects(pictures, out, **asked)["image_id"].tolist() == [1, 2, 3, 4, 5]
    assert opened == pictures[3:]
    monkeypatch.setattr(images, "_seer", None)  # a third call loads no model
    assert len(see_objects(pictures, out, **asked)) == 5
    with pytest.raises(RelicError, match="empty object"):
        read_objects(out)


def test_other_settings_do_not_mix(models, pictures, tmp_path):
    out = tmp_path / "objects.csv"
    see_objects(pictures[:1], out, models={"resnet": models["resnet"]})
    assert json.loads((tmp_path / "objects.csv.json").read_text())["threshold"] == 0.2
    with pytest.raises(RelicError, match="other settings: threshold"):
        see_objects(pictures, out, models={"resnet": models["resnet"]}, threshold=0.1)
    (tmp_path / "objects.csv.json").write_text("{cut")  # nobody knows the settings any more
    with pytest.raises(RelicError, match="other settings: models"):
        see_objects(pictures, out, models={"resnet": models["resnet"]})


@pytest.mark.parametrize(
    ("models", "expected"),
    [({"resnet": "/nowhere"}, "cannot be loaded"), ({"vgg": "x"}, "models vgg")],
)
def test_missing_weights_are_said(models, expected, pictures, tmp_path):
    with pytest.raises(RelicError, match=expected):
        see_objects(pictures, tmp_path / "objects.csv", models=models)


def test_a_file_that_is_no_image(models, tmp_path):
    file = tmp_path / "7.png"
    file.write_text("no image")
    with pytest.raises(RelicError, match=r"7\.png cannot be read"):
        see_objects([file], tmp_path / "o.csv", models={"resnet": models["resnet"]})
    with pytest.raises(RelicError, match="no image id"):
        image_id("picture.png")


class Letters:
    """An encoder of hand-made vectors: labels that begin alike are alike."""

    def encode(self, texts):
        return np.array([[text[0] == "a", text[0] == "b"] for text in texts], dtype=float)


def rows(*seen) -> pd.DataFrame:
    return pd.DataFrame([(1, *each) for each in seen], columns=COLUMNS)


def test_the_vote_by_hand():
    seen = rows(("apple", 0.9, "resnet"), ("bat", 0.3, "resnet"), ("ant", 0.5, "clip"))
    assert agreed(seen, Letters()).tolist() == [True, False, True]
    assert agreed(seen[:1], Letters()).tolist() == [False]  # nobody says the same
    assert agreed(seen[:0], Letters()).tolist() == []


def test_surest_takes_persons_out_first():
    """The three surest of each model; a detector may see several of a kind."""
    pairs = [("man", 0.9), ("cat", 0.5), ("cat", 0.6), ("dog", 0.1), ("cap", 0.3), ("hat", 0.3)]
    seen = rows(
        *((*pair, "detector") for pair in pairs), ("vase", 0.2, "clip"), ("bat", 0.4, "detector")
    )
    kept = surest(seen, 0.2, by="source")
    assert kept["label"].tolist() == ["vase", "cat", "bat", "cap"]
    assert kept["probability"].tolist() == [0.2, 0.6, 0.4, 0.3]
    assert surest(seen[:1], 0.2, by="source").empty
