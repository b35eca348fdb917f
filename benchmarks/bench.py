"""Ratios of our way to the plain way of doing the same work, measured in one run.

The plain way is upstream's, written by us: captions padded to 64, the frozen encoder run at every epoch.
Long plain work is timed on a part and multiplied up; the unit says so.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from tqdm import tqdm

from benchmarks.audit import audit_cost, audit_growth, audit_report
from relic import paths
from relic.data.load import load_corpus
from relic.data.planted import planted_corpus
from relic.errors import RelicError
from relic.measure.runs import Outcome, Store, describe, prepare
from relic.measure.sweep import sweep

CAPTIONER = {True: "planted_none", False: "oscar"}  # embedded corpus, real captions


def measure(only: str = "") -> pd.DataFrame:
    """All measurements, or one; printed as they come and saved beside the build."""
    if only and only not in MEASUREMENTS:
        raise RelicError(f"no measurement {only!r}", expected=", ".join(MEASUREMENTS))
    import torch

    torch.set_num_threads(1)
    rows = []
    for name, function in MEASUREMENTS.items():
        if only in ("", name):
            tqdm.write(f"measuring {name}", file=sys.stderr)
            rows += [
                {"name": name, "ours": a, "plain": b, "ratio": b / a, "unit": unit}
                for a, b, unit in function()
            ]
    table = pd.DataFrame(rows)
    paths.BUILD.mkdir(parents=True, exist_ok=True)
    table.to_csv(paths.BUILD / "bench.csv", index=False)
    return table


def _corpus():
    return load_corpus("gender", "auto")


def _captions(classifier: str):
    corpus = _corpus()
    return prepare(corpus, describe(corpus, CAPTIONER[corpus.synthetic], classifier))


def _cpu(function, times: int = 1) -> float:
    """CPU seconds of a call, the least of `times`."""
    seconds = []
    for _ in range(times):
        started = time.process_time()
        function()
        seconds.append(time.process_time() - started)
    return min(seconds)


def bert_ft_step():
    """One training step of BERT-ft on 64 captions."""
    import torch

    from relic.measure.classifiers.bert import (
        MINILM,
        batches,
        cls_states,
        head,
        load_encoder,
        optimizer,
        padded,
        word_pieces,
    )
    from relic.measure.classifiers.device import deterministic

    material = _captions("bert-ft")
    rows = word_pieces(MINILM, material.train)
    lengths = np.array([len(row) for row in rows])
    encoder, classes = load_encoder(MINILM).train(), torch.tensor(material.train_classes)
    top = head(encoder.config.hidden_size)
    steps, loss = optimizer([encoder, top], 1e-5), torch.nn.CrossEntropyLoss()

    def step(batch, width=0, learn=True):
        value = loss(
            top(cls_states(encoder, *padded([rows[i] for i in batch], width))), classes[batch]
        )
        if learn:
            steps.zero_grad(set_to_none=True)
            value.backward()
            steps.step()
        return value.item()

    picked = [b for b in batches(lengths, np.random.default_rng(0)) if len(b) == 64][:12]
    encoder.eval()  # without dropout the two must agree
    gap = max(abs(step(b, learn=False) - step(b, 64, learn=False)) for b in picked[:3])
    if gap > 1e-5:
        raise RelicError(f"the loss differs by {gap:.1e} from that of captions padded to 64")
    encoder.train()
    deterministic(0)
    step(picked[0])
    ours, plain = (np.median([_cpu(lambda b=b, w=w: step(b, w)) for b in picked]) for w in (0, 64))
    return [(ours, plain, "CPU s a step of 64 captions")]


def bert_pre_seeds():
    """BERT-pre, ten seeds of one captioner: features once, or every epoch with dropout."""
    import torch

    from relic.measure.classifiers import bert as enc
    from relic.measure.classifiers.bert import Pretrained

    material, epochs, seeds = _captions("bert-pre"), 20, 10
    texts, classes = material.train, material.train_classes
    enc._frozen.clear()

    def once():
        for seed in range(seeds):
            Pretrained("5e-5x20").fit(texts, classes, seed).logits(material.test)

    ours = _cpu(once)
    rows = enc.word_pieces(enc.MINILM, texts)
    model = enc.load_encoder(enc.MINILM).train()
    part = rows[: 64 * 6]

    def padded_pass():
        with torch.no_grad():
            for i in range(0, len(part), 64):
                enc.cls_states(model, *enc.padded(part[i : i + 64], 64))

    passes = epochs * seeds
    plain = _cpu(padded_pass, 2) * len(rows) / len(part) * passes
    every = _cpu(lambda: enc.features(model, rows), 2) * passes
    return [
        (ours, plain, "CPU s, dropout off; plain from 6 batches"),
        (
            every,
            plain,
            "CPU s of encoder passes, dropout on; plain from 6 batches, ours from one pass",
        ),
    ]


def linear_table():
    """The whole gender table: nine captioners, ten seeds, LIC_M and five LIC_D: 540 fits, from raw files."""
    command = [
        sys.executable, "-m", "relic.cli", "sweep", "--attribute", "gender", "--classifier", "linear",
        "--seeds", "paper", "--again", "--captions", "both", "--workers", "2", "--store",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        started = time.time()
        subprocess.run([*command, directory], check=True, stdout=subprocess.DEVNULL, cwd=paths.ROOT)
        took = time.time() - started
        frame = Store(directory).frame()
    return [
        (
            took,
            frame["seconds"].sum(),
            f"wall s with 2 workers against CPU s of the {len(frame)} fits alone",
        )
    ]


def lstm():
    """LSTM: bucketed against packed batches, and against this machine's matrix multiplication."""
    import torch

    from relic.measure.classifiers.lstm import LSTM

    material, seconds = _captions("lstm"), {"bucketed": [], "packed": []}
    for epochs in (0, 1, 1, 1):  # the first call tokenizes and warms up
        for batching, times in seconds.items():
            model = LSTM(batching=batching)
            model.epochs = epochs
            took = _cpu(lambda m=model: m.fit(material.train, material.train_classes, 0))
            times += [took] * epochs
    parts = {batching: min(times) for batching, times in seconds.items()}
    tokens = sum(len(row) for row in model._sequences(material.train))
    flops = 3 * tokens * 2 * (2 * 4 * 256 * (100 + 256) + 2 * 4 * 256 * (512 + 256))
    a, b = torch.randn(704, 512), torch.randn(512, 1024)
    product = _cpu(lambda: [a @ b for _ in range(100)], 3) / 100
    ideal = flops / (2 * 704 * 512 * 1024 / product)
    return [
        (parts["bucketed"], parts["packed"], "CPU s an epoch, bucketed against packed"),
        (
            parts["bucketed"],
            ideal,
            "CPU s an epoch against the same FLOPs at 704x512x1024 multiplications' speed",
        ),
    ]


def workers():
    """The same two LSTM trainings by one worker process, and by two with one each."""
    script = (
        "import torch, sys; torch.set_num_threads(1)\n"
        "from benchmarks.bench import _captions\nfrom relic.measure.classifiers.lstm import LSTM\n"
        "m = _captions('lstm'); c = LSTM(); c.epochs = 4; print('ready', flush=True); input()\n"
        "for seed in range(int(sys.argv[1])): c.fit(m.train[:1500], m.train_classes[:1500], seed)\n"
        "print('done', flush=True)"
    )
    took = {}
    for number in (1, 2):
        started = [_started(script, 2 // number) for _ in range(number)]
        begin = time.time()
        for process in started:
            process.stdin.write("\n")
            process.stdin.flush()
        for process in started:
            process.stdout.readline()
        took[number] = time.time() - begin
        for process in started:
            process.wait()
    return [(took[2], took[1], "wall s for the same work, two worker processes against one")]


def _started(script: str, trainings: int) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(trainings)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=paths.ROOT,
    )  # fmt: skip
    process.stdout.readline()
    return process


def store():
    """Asking a sweep for 10,000 finished runs."""
    from dataclasses import replace

    corpus = planted_corpus("gender", images=600)
    run = describe(corpus, "planted_none", "linear")
    runs = [replace(run, seed=seed) for seed in range(10_000)]
    images = pd.DataFrame(
        {"image_id": range(60), "y": 0, "p": 0.5, "seen_raw": False, "seen_masked": False}
    )
    with tempfile.TemporaryDirectory() as directory:
        filled = Store(Path(directory))
        written = time.time()
        for run in runs:
            filled.put(Outcome(run, {"score": 25.0}, images))
        written = time.time() - written
        asked = time.time()
        sweep(corpus, runs, filled, progress=False)
        asked = time.time() - asked
    return [(asked, written, "wall s to ask for 10,000 finished runs against writing them")]


def attribution():
    """Integrated gradients over a whole test set: few steps, or 500."""
    from relic.chapters.attribution import BRIEF, PAIR
    from relic.chapters.gradients import REFERENCE, STEPS, attribute
    from relic.measure.classifiers.base import classifier

    corpus, rows = _corpus(), []
    captioner = PAIR[corpus.synthetic][0]
    for name, steps in STEPS.items():
        model = classifier(name, recipe=BRIEF[name])
        material = prepare(corpus, describe(corpus, captioner, name, split="upstream"))
        model.fit(material.train[:900], material.train_classes[:900], 0)
        texts, exact = material.test, []
        part = list(dict.fromkeys(texts))[:6]

        def with_many_steps(model=model, part=part, exact=exact):
            exact += list(attribute(model, part, "logit", REFERENCE)["score"])

        attribute(model, texts[:1], "logit", steps)  # warms up
        plain = _cpu(with_many_steps)
        plain *= sum(map(len, map(str.split, texts))) / sum(map(len, map(str.split, part)))
        ours = _cpu(lambda m=model, t=texts, s=steps: attribute(m, t, "logit", s))
        apart = np.abs(attribute(model, part, "logit", steps)["score"] - exact).mean()
        gap = 100 * apart / np.abs(exact).mean()
        unit = f"CPU s, {name}, {len(texts)} captions of {captioner} with {steps} steps"
        unit += f" against {REFERENCE}, from {len(part)}, whose scores differ by {gap:.2g} %"
        rows.append((ours, plain, unit))
    return rows


def gender_score():
    """Gender Score of 5,000 captions, language-model probabilities cached: together, or one by one."""
    from relic.chapters.gender_score.models import MINILM, NGRAM, SentenceEncoder, load_prior
    from relic.chapters.gender_score.score import score_captions
    from relic.chapters.gender_score.tables import lic_study

    corpus, part = _corpus(), 60
    study = lic_study(corpus)
    captions = pd.concat(study.captions.values()).iloc[:5000]
    with tempfile.TemporaryDirectory() as empty, patch.dict(os.environ, RELIC_RUNS=empty):
        prior, encoder = load_prior(NGRAM, corpus.human["caption"]), SentenceEncoder(MINILM)
        encoder.compute(["a warm-up"])
        score_captions(captions, study.contexts, prior, _Zeros())  # it keeps what it said
        scored = []
        ours = _cpu(lambda: scored.append(score_captions(captions, study.contexts, prior, encoder)))
        again = _cpu(lambda: score_captions(captions, study.contexts, prior, encoder))
        single, plain = _OneByOne(encoder), []

        def one_by_one():
            for i in range(0, len(captions), len(captions) // part):
                one = captions.iloc[i : i + 1]
                plain.append(score_captions(one, study.contexts, prior, single))

        took = _cpu(one_by_one) / len(plain) * len(captions)
    rows = pd.concat(plain)["score"].to_numpy()
    gap = np.nanmax(np.abs(rows - scored[0]["score"].to_numpy()[:: len(captions) // part]))
    if gap > 1e-4:
        raise RelicError(f"scores differ by {gap:.1e} from those of captions one by one")
    return [
        (ours, took, f"CPU s for {len(captions):,} captions with MiniLM; plain from {len(plain)}"),
        (again, ours, "CPU s of a second call against the first"),
    ]


class _OneByOne:
    """An encoder that embeds every text on its own and remembers nothing."""

    def __init__(self, encoder):
        self.name, self._encoder = encoder.name, encoder

    def encode(self, texts):
        return np.concatenate([self._encoder.compute([text]) for text in texts])


class _Zeros:
    """No similarity at all: costs nothing."""

    name = "none"

    def encode(self, texts):
        return np.zeros((len(texts), 1))


def intervals():
    """CPU of an interval of LIC at equal coverage and width: ten splits (ours) against the others.

    One synthetic corpus of race size, five human captions. `relic calibrate intervals` says how wide
    each is once 95 % of them hold; its CPU counts by the square of that width over that of ten splits.
    """
    from benchmarks.intervals import PLANTED, by_split
    from relic.chapters import calibration as study
    from relic.records.tables import read_table

    corpus = planted_corpus("gender", images=3550, captioners=PLANTED)
    names = corpus.captioners
    by_split(corpus, names, 1)  # captions are read and masked once
    cpu = {n: _cpu(lambda n=n: by_split(corpus, names, n)) for n in study.SPLITS}
    summary = study.summary(study.held(read_table("calibration", "intervals")))
    widths = summary.set_index("interval")["width at 95 %"]
    shared = study.OURS.removeprefix("10 ")
    others = {3: f"3 {shared}", 40: f"40 {shared}"}
    return [
        (
            cpu[10],
            cpu[n] * (widths[name] / widths[study.OURS]) ** 2,
            f"CPU s of an interval at equal coverage and width, ten splits and {name}",
        )
        for n, name in others.items()
    ]


MEASUREMENTS = {
    "intervals": intervals,
    "bert_ft_step": bert_ft_step,
    "bert_pre_seeds": bert_pre_seeds,
    "linear_table": linear_table,
    "lstm": lstm,
    "workers": workers,
    "store": store,
    "attribution": attribution,
    "gender_score": gender_score,
    "audit": audit_report,
    "audit_cost": audit_cost,
    "audit_growth": audit_growth,
}
