"""relic.attribution.coloured: marked captions are escaped and can be read without colour."""

import re

from relic.attribution.coloured import Coloured, show, word_html

EVIL = "<script>alert('x')</script>"


def card(**other) -> Coloured:
    told = {
        "whose": "NIC+", "image": "12", "true": "Male", "predicted": "Female", "confidence": 0.74,
        "score": -1.755, "words": ["a", "dog", "&", EVIL], "values": [0.0, 0.5, -0.2, -0.8],
    }  # fmt: skip
    return Coloured(**(told | other))


def test_text_from_captions_is_escaped_everywhere():
    evil = card(whose=EVIL, image=EVIL, true=EVIL, predicted=EVIL)
    text = show([evil], (EVIL, EVIL), EVIL).data
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 10  # caption, 4 in the legend, 5 in the card
    assert ">&amp;<sup>" in text


def test_directions_and_strengths_can_be_read_without_colour():
    text = re.sub(r"<[^>]+>", "", show([card()], ("Male", "Female"), "").data)
    assert "a dog++ &amp;− &lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;−−" in text
    assert "towards Female++ towards Female+ towards Male− towards Male−−" in text


def test_a_card_tells_labels_probability_and_score():
    text = re.sub(r"<[^>]+>", "", show([card()], ("Male", "Female"), "").data)
    assert "image 12 · true Male · predicted Female (0.74, wrong) · attribution score −1.75" in text


def test_a_word_carries_its_number():
    assert word_html("cat", -0.3) == '<span class="zero faint" title="−0.30">cat<sup>−</sup></span>'
    assert 'class="one strong" title="+0.45"' in word_html("cat", 0.45)
