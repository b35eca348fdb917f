"""relic.whole: a file is there whole, or as it was."""

import pytest

from relic.whole import write_whole


def test_what_fails_leaves_the_old_file_and_no_other(tmp_path):
    file = tmp_path / "new" / "x.txt"
    write_whole(file, "old")

    def half(part):
        part.write_text("ha")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_whole(file, half)
    assert file.read_text() == "old"
    assert list(file.parent.iterdir()) == [file]
