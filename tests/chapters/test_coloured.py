"""relic.chapters.attribution.coloured: marked captions are escaped and can be read without colour."""

import re

import pandas as pd

from relic.chapters.attribution.coloured import show, word_html

EVIL = "<script>alert('x')</script>"


def card(**other) -> pd.DataFrame:
    row = {"captioner": "nic_plus", "y": 0, "p": 0.74, "score": -1.755}
    words = {"caption": f"a dog & {EVIL}", "attributions": "0.0 0.5 -0.2 -0.8"}
    return pd.DataFrame([row | words | other])


def test_text_from_captions_is_escaped_everywhere():
    text = show(card(captioner=EVIL), (EVIL, EVIL), EVIL)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 10  # caption, 4 in the legend, 5 in the card
    assert ">&amp;<sup>" in text


def test_directions_and_strengths_can_be_read_without_colour():
    text = re.sub(r"<[^>]+>", "", show(card(), ("Male", "Female"), ""))
    assert "a dog++ &amp;− &lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;−−" in text
    assert "towards Female++ towards Female+ towards Male− towards Male−−" in text


def test_a_card_has_labels_probability_and_score():
    text = re.sub(r"<[^>]+>", "", show(card(), ("Male", "Female"), ""))
    assert "NIC+ true Male · predicted Female (0.74, wrong) · attribution Male (−1.75)" in text
    right = re.sub(r"<[^>]+>", "", show(card(p=0.1), ("Male", "Female"), ""))
    assert "predicted Male (0.90) ·" in right


def test_a_word_carries_its_number():
    assert word_html("cat", -0.3) == '<span class="zero faint" title="−0.30">cat<sup>−</sup></span>'
    assert 'class="one strong" title="0.45"' in word_html("cat", 0.45)
