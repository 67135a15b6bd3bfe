"""What notebooks show: guesses, commentaries, tables, pictures, the shop."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest

from zkkit import notebook
from zkkit.bench.gate.figures import GateResults
from zkkit.bench.shop import picture, words
from zkkit.bench.shop.run import Sale
from zkkit.notebook import prediction
from zkkit.steps import Children, Get, Script, Together, Wait

Make = Callable[..., GateResults]


@pytest.fixture
def guesses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "guesses.json"
    monkeypatch.setenv("ZKKIT_GUESSES", str(file))
    return file


def typing(*answers: str) -> Callable[[str], str]:
    left: Iterator[str] = iter(answers)
    return lambda question: next(left)


def nobody(question: str) -> str:
    raise EOFError


def test_a_guess_is_kept(guesses: Path) -> None:
    """Who has guessed is not asked again, unless that is wanted."""
    first = prediction.predict("fires", "How many?", default=3, ask=typing("1,275"))
    assert (first.value, first.own) == (1275, True)
    assert prediction.predict("fires", "How many?", default=3, ask=nobody) == first
    changed = prediction.predict("fires", "How many?", default=3, again=True, ask=typing("50"))
    assert changed.value == 50
    assert json.loads(guesses.read_text()) == {"fires": 50}


def test_nobody_at_the_keyboard(guesses: Path) -> None:
    """Unattended, the default stands in, says so, and is not kept as anybody's guess."""
    guess = prediction.predict("fires", "How many?", default=3, ask=nobody)
    assert (guess.value, guess.own) == (3, False)
    assert "Nobody typed" in repr(guess)
    assert not guesses.exists()


def test_what_is_no_number_is_asked_for_again(guesses: Path) -> None:
    """A word, a fraction or a negative number is no guess."""
    guess = prediction.predict("fires", "?", default=3, ask=typing("many", "-4", "2.5", " 12 "))
    assert guess.value == 12


@pytest.mark.parametrize("rubbish", ["", "{", "[1]", '{"fires": "many"}'])
def test_a_broken_file_of_guesses_is_no_obstacle(guesses: Path, rubbish: str) -> None:
    """Whatever is in the file, a guess can be made."""
    guesses.write_text(rubbish)
    assert prediction.predict("fires", "?", default=3, ask=typing("7")).value == 7


@pytest.mark.parametrize(("own", "word"), [(True, "Your guess"), (False, "The guess")])
def test_the_guess_stands_beside_law_and_measurement(
    make_document: Make, own: bool, word: str
) -> None:
    """The line below the picture has all three numbers; the picture can be drawn."""
    guess = prediction.Guess("fires", 77, own)
    document = make_document({2: 3, 8: 33})
    said = prediction.finding(document, guess)
    assert f"{word} for the herd: 77" in said
    assert "herd fired 33 (law: at most 36)" in said
    assert "sequential fired 8 (law: exactly 8)" in said
    assert prediction.png(document, guess).startswith(b"\x89PNG")


def sample(stock: int) -> str:
    left = stock - 1
    return str(left)


@pytest.fixture
def annotated(tmp_path: Path) -> notebook.Annotated:
    notes = tmp_path / "notes.toml"
    notes.write_text('[sample]\n"left =" = "take one"\n"return" = "tell <all>"\n')
    return notebook.Annotated(sample, notes)


def test_notes_stand_with_their_lines(annotated: notebook.Annotated) -> None:
    """The source is the real one, and each note is with the line it names."""
    assert ("    left = stock - 1", "take one") in annotated.rows
    assert "tell &lt;all&gt;" in annotated._repr_html_()
    assert "return str(left)    # tell <all>" in repr(annotated)


def test_annotated_code_needs_no_room_beside_it(annotated: notebook.Annotated) -> None:
    """Each note stands above its line, so that on a narrow page neither squeezes the other; long
    lines are broken between words; and a page without styles has code and notes in order."""
    html = annotated._repr_html_()
    assert "<table" not in html and "white-space: pre-wrap; word-break: normal" in html
    bare = unescape(re.sub(r"<[^>]+>", "", html)).splitlines()
    assert bare == [
        "def sample(stock: int) -> str:",
        "take one",
        "    left = stock - 1",
        "tell <all>",
        "    return str(left)",
    ]
    code = re.findall(r"<pre[^>]*>(.*?)</pre>", html, re.DOTALL)
    assert "\n".join(map(unescape, code)) == inspect.getsource(sample).rstrip()


def test_a_note_without_its_line_is_an_error(tmp_path: Path) -> None:
    """When the code has changed, its commentary must not go on as if it had not."""
    notes = tmp_path / "notes.toml"
    notes.write_text('[sample]\n"right =" = "take one"\n')
    with pytest.raises(notebook.NoSuchLine, match="right ="):
        notebook.Annotated(sample, notes)


def small_script() -> Script[str]:
    yield from Together(Get("/a"), Children("/b"))
    yield from Get("/a", watch=True)
    yield from Wait()
    return "done"


def test_a_script_is_played_by_hand() -> None:
    """What it asks for and what we answer stand side by side, up to its end."""
    shown = notebook.played(small_script(), {"both": (1, 2), "set": None, "fired": None})
    assert list(shown.rows) == [
        ("Get /a, Children /b", "both"),
        ("Get /a, with a watch", "set"),
        ("Wait", "fired"),
        ("(it ends, and gives done)", ""),
    ]


def test_tables_are_text_and_html() -> None:
    """A table is aligned text for a terminal, and HTML with nothing unescaped for a page."""
    shown = notebook.RichTable(("who", "fires"), [("<herd>", "36")])
    assert repr(shown).splitlines()[2] == "<herd>     36"
    assert "&lt;herd&gt;" in shown._repr_html_()


def test_a_picture_carries_its_words() -> None:
    """Whoever does not see the picture gets its finding as alt text."""
    data, metadata = notebook.RichPicture(b"png", "nine woke")._repr_mimebundle_()
    assert data["text/plain"] == metadata["image/png"]["alt"] == "nine woke"
    assert "nine" in notebook.Folded("nine\nwoke")._repr_html_()


def test_the_small_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """ZKKIT_SMALL chooses the small number."""
    monkeypatch.delenv("ZKKIT_SMALL", raising=False)
    assert notebook.scale(100, small=20) == 100
    monkeypatch.setenv("ZKKIT_SMALL", "1")
    assert notebook.scale(100, small=20) == 20


def test_servers_that_run_already(zk_hosts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """ZKKIT_HOSTS names the servers; they tell their version, and stop() leaves them alone."""
    monkeypatch.setenv("ZKKIT_HOSTS", zk_hosts)
    servers = notebook.servers()
    assert servers.hosts == zk_hosts
    servers.stop()
    facts = servers.describe()
    assert facts.size == 3
    assert facts.zookeeper[0].isdigit()
    assert "3 x ZooKeeper" in repr(notebook.stated(servers))


def sale(way: str, sold: int, fires: int | None = 5, *, left: int = 0) -> Sale:
    return Sale(way, 10, 100, 5, sold, left, 0.5, 0.75, fires)


def test_the_shop_in_a_line_and_in_words() -> None:
    """Who oversells is named with the number, who does not is too; unknown fires are unknown."""
    sales = [sale("none", 100), sale("in-process", 50), sale("herd", 10), sale("sequential", 10)]
    assert words.finding(sales) == (
        "No lock oversells 90, threading.Lock oversells 40; "
        "HerdLock and ReentrantLock sell exactly 10"
    )
    assert "threading.Lock: 50 sold of 10 in stock" in words.words(sales)
    assert words.cells(sale("herd", 10, None))[-1] == "?"
    assert picture.png(sales).startswith(b"\x89PNG")


def test_a_shop_that_never_sold_out_is_not_said_to_have() -> None:
    """Where the shelf says 9 in the end nothing was sold out; the last sale has a time all the
    same."""
    row = dict(zip(words.HEADERS, words.cells(sale("none", 100, left=9)), strict=True))
    assert (row["shelf says"], row["last sale after"]) == ("9", "0.50 s")
    assert not any("sold out" in header for header in words.HEADERS)
