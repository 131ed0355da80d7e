"""Bodies of other servers are decompressed one layer deep and up to a limit, and read in three charsets."""

import gzip
import tracemalloc
import zlib

import pytest

from drumline.core.content_encoding import BodyDecoder, text_of
from drumline.core.errors import Invalid
from tests.harness.cost import within

TEXT = b"hello " * 1000


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        (None, TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("X-GZIP ", gzip.compress(TEXT, mtime=0)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
    ],
    ids=["none", "identity", "gzip", "x-gzip", "deflate", "raw deflate"],
)
def test_one_layer_is_undone_piece_by_piece(encoding: str | None, data: bytes) -> None:
    decoder = BodyDecoder(encoding, most=10_000)

    for start in range(0, len(data), 7):
        decoder.feed(data[start : start + 7])

    assert (decoder.body, decoder.is_cut) == (TEXT, False)


@pytest.mark.parametrize("encoding", ["gzip, gzip", "gzip,deflate", "br", "zstd", "x" * 100_000])
def test_several_layers_and_others_are_refused(encoding: str) -> None:
    with pytest.raises(Invalid) as refused:
        BodyDecoder(encoding, most=1000)

    assert len(str(refused.value)) < 300


def test_a_small_body_that_becomes_a_large_one_is_cut() -> None:
    bomb = gzip.compress(bytes(200_000_000), compresslevel=9)
    decoder = BodyDecoder("gzip", most=64_000)
    tracemalloc.start()

    within(1, lambda: decoder.feed(bomb))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (len(decoder.body), decoder.is_cut) == (64_000, True)
    assert peak < 2_000_000


def test_what_is_not_compressed_as_it_says_is_refused() -> None:
    with pytest.raises(Invalid, match="cannot be decompressed"):
        BodyDecoder("gzip", most=1000).feed(b"plain text")


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("text/plain; charset=UTF-8", "é"),
        ('text/plain; charset="utf-8"; x=y', "é"),
        ("text/plain", "é"),
        ("text/plain; charset=iso-8859-1", "Ã©"),
        ("text/plain; charset=us-ascii", "\ufffd\ufffd"),
        ("text/plain; charset=utf-16", "é"),
        ("text/plain; charset=idna", "é"),
    ],
)
def test_three_charsets_are_read_and_all_others_are_utf_8(type_: str, text: str) -> None:
    assert text_of("é".encode(), type_) == text


@pytest.mark.parametrize("charset", ["punycode", "idna", "utf-7", "unicode_escape", "hex", "zlib", "rot13"])
def test_no_charset_takes_long(charset: str) -> None:
    within(0.5, lambda: text_of(b"a-" * 32_000, f"text/plain; charset={charset}"))


def test_a_refusal_names_the_header_and_what_is_read() -> None:
    with pytest.raises(Invalid) as refused:
        BodyDecoder(" BR ", most=1)

    assert str(refused.value) == "Content-Encoding: is 'br'; gzip, deflate and identity are read"
    with pytest.raises(Invalid) as refused:
        BodyDecoder("x" * 101, most=1)
    assert str(refused.value) == f"Content-Encoding: is {'x' * 100!r}; gzip, deflate and identity are read"


@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_exactly_as_much_as_is_kept_is_not_cut(encoding: str | None) -> None:
    def fed(count: int, most: int) -> tuple[bytes, bool]:
        data = b"x" * count
        decoder = BodyDecoder(encoding, most=most)
        decoder.feed(data if encoding is None else gzip.compress(data, mtime=0))
        return decoder.body, decoder.is_cut

    assert fed(9, 9) == (b"x" * 9, False)
    assert fed(10, 9) == (b"x" * 9, True)
    assert fed(0, 9) == (b"", False)


def test_a_body_that_was_cut_stays_cut() -> None:
    decoder = BodyDecoder(None, most=2)

    for piece in (b"ab", b"c", b""):
        decoder.feed(piece)

    assert (decoder.body, decoder.is_cut) == (b"ab", True)


def test_what_follows_a_compressed_body_is_left_out() -> None:
    decoder = BodyDecoder("gzip", most=100)

    decoder.feed(gzip.compress(b"whole", mtime=0))
    decoder.feed(b"more")

    assert (decoder.body, decoder.is_cut) == (b"whole", False)


def test_deflate_that_breaks_off_in_the_middle_is_refused_with_its_field() -> None:
    stored = zlib.compress(bytes(1000), level=0)
    decoder = BodyDecoder("deflate", most=100_000)
    decoder.feed(stored[:-4])

    with pytest.raises(Invalid) as refused:
        decoder.feed(b"\xff" * 4)

    assert str(refused.value).startswith("body: cannot be decompressed: Error ")
    with pytest.raises(Invalid, match=r"^body: cannot be decompressed: Error "):
        BodyDecoder("deflate", most=100).feed(b"plain text")


@pytest.mark.parametrize("name", ["utf8", "iso8859-1", "latin-1", "latin1", "ascii", "LATIN-1"])
def test_charsets_are_known_by_their_other_names(name: str) -> None:
    expected = {"utf8": "é", "ascii": "\ufffd\ufffd"}.get(name, "Ã©")

    assert text_of("é".encode(), f"text/plain; CharSet='{name}' ; x=y") == expected


def test_a_charset_far_into_the_type_is_not_looked_for() -> None:
    assert text_of("é".encode(), "x" * 985 + "charset=latin-1") == "Ã©"
    assert text_of("é".encode(), "x" * 986 + "charset=latin-1") == "é"
