"""The report: every section is there, no cell is, and it is the same page for the same facts."""

from __future__ import annotations

import dataclasses
import re
import string
from html.parser import HTMLParser

import polars as pl
import pytest

import shoal
from shoal.publish.draw import Bar, bars
from shoal.publish.report import page_of
from silent import said_by

ROWS = 60
VOID = {"meta", "rect", "br", "link", "img"}
SECTIONS = ["verdict", "questions", "columns", "risk", "loss", "verify", "limits", "repeat", "rules"]
RULES = ("GDPR, recital 26", "WP216", "ICO", "HIPAA", "EMA policy 0070", "ISO/IEC 27559", "NIST SP 800-188")


class Page(HTMLParser):
    """A page as tags with attributes, ids, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert not self.open, "every tag is closed"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words += data


def original() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"zqname{row}" for row in range(ROWS)],
            "age": [731900 + 7 * row % 97 for row in range(ROWS)],
            "city": [f"zqcity{string.ascii_lowercase[row % 5]}" for row in range(ROWS)],
            "ill": [f"zqill{row % 4}" for row in range(ROWS)],
            "note": [f"zqnote{row}" for row in range(ROWS)],
            "left": [f"zqleft{row}" for row in range(ROWS)],
        }
    )


CANARIES = ("zqname", "7319", "7320", "zqcity", "zqill", "zqnote", "zqleft")
PLAN = {"k": 5, "quasi": ["age", "city"], "sensitive": ["ill"], "identifier": ["name"]}


@pytest.fixture
def written(tmp_path):
    release = shoal.anonymize(original(), **PLAN, method="mondrian")
    return release, release.write(tmp_path / "out.csv")


def made(written, path=None, **words):
    _, files = written
    return shoal.report(files.table, files.certificate, path, **words)


def test_every_section_is_there_in_order_and_closed(written, tmp_path):
    made(written, tmp_path / "r.html", original=original(), receipt=written[1].receipt)
    page = Page((tmp_path / "r.html").read_text("utf-8"))
    assert [one for one in page.ids if one in SECTIONS] == SECTIONS
    assert all(rule in page.words for rule in RULES)
    assert "evidence for" in page.words
    assert "complies" not in page.words
    assert "SHA-256" in page.words
    assert page.words.count("to be filled in") == 6


def test_nothing_runs_and_nothing_is_asked_for(written):
    text = page_of(made(written, original=original()))
    page = Page(text)
    assert "://" not in text
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "a", "form", "object"}
    for _, attributes in page.tags:
        assert "style" not in attributes
        assert not any(name.startswith("on") or name in {"src", "href"} for name in attributes)
    policy = next(its["content"] for _, its in page.tags if "http-equiv" in its)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_no_cell_is_in_the_report(written, tmp_path):
    found = made(written, tmp_path / "r.html", original=original(), receipt=written[1].receipt)
    for text in ((tmp_path / "r.html").read_text("utf-8"), repr(found)):
        words = re.sub(r"[0-9a-f]{64}", "", text)  # fingerprints are random digits
        assert not [canary for canary in CANARIES if canary in words]
    assert any(canary in written[1].table.read_text("utf-8") for canary in CANARIES)  # the test can see


def test_the_same_facts_give_the_same_bytes(written, tmp_path):
    for name in ("one.html", "two.html"):
        made(written, tmp_path / name, original=original())
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_what_is_measured_is_what_risk_and_check_say(written):
    found = made(written, original=original())
    before = shoal.risk(original(), quasi=["age", "city"])
    now = shoal.risk(shoal.read_table(written[1].table).frame, quasi=["age", "city"])
    for mine, theirs in ((found.before, before), (found.now, now)):
        assert mine.total == theirs.records
        assert (mine.alone, mine.above) == (theirs.uniques, theirs.at_risk)
        assert mine.highest == theirs.prosecutor_highest
        assert mine.mean == pytest.approx(theirs.prosecutor_mean)
        assert mine.marketer == pytest.approx(theirs.marketer)
        assert sum(mine.bands) == mine.total
    verdict = shoal.check_table(
        shoal.read_table(written[1].table).frame, quasi=["age", "city"], sensitive=["ill"]
    )
    assert found.mixed[0].distinct == verdict.sensitive[0].distinct
    assert found.mixed[0].largest_share == pytest.approx(verdict.sensitive[0].largest_share)
    assert found.linkage.one_record == 0
    assert found.linkage.fewest >= 5


def test_the_sampling_share_lowers_the_journalist(written):
    told = shoal.Context(sampling=0.1, threshold=0.09)
    found = made(written, original=original(), context=told)
    known = shoal.risk(original(), quasi=["age", "city"], sampling=0.1, threshold=0.09)
    assert found.before.journalist == pytest.approx(known.journalist_highest)
    assert found.now.journalist < found.now.highest
    assert found.is_above
    words = Page(page_of(found)).words
    assert "Above the threshold." in words
    assert "needs classes of at least 12" in words


def test_answers_follow_what_is_found(tmp_path):
    frame = original().with_columns(pl.lit("same").alias("ill"))
    told = shoal.anonymize(frame, **PLAN, method="mondrian").report(tmp_path / "r.html")
    assert [one.answer for one in told.questions] == ["no", "to be judged", "yes"]
    assert told.mixed[0].certain == ROWS
    quiet = shoal.anonymize(frame, k=5, quasi=["age", "city"], identifier=["name"], method="mondrian")
    assert quiet.report(tmp_path / "r.html").questions[2].answer == "no"
    kept = shoal.anonymize(frame, **PLAN, keep=["note"], method="mondrian").report(tmp_path / "r.html")
    assert kept.alone_with_kept == ROWS
    assert kept.questions[0].answer == "to be judged"


def test_a_release_is_reported_as_its_files_are(tmp_path):
    frame = original()
    release = shoal.anonymize(frame, **PLAN, method="mondrian")
    found = shoal.report(release, path=tmp_path / "r.html", original=frame)
    assert found.holds
    assert found.utility is not None
    assert found == release.report(tmp_path / "again.html", original=frame)
    files = release.write(tmp_path / "out.csv")
    of_files = shoal.report(files.table, files.certificate, original=frame)
    assert (found.utility, found.linkage, found.before) == (
        of_files.utility,
        of_files.linkage,
        of_files.before,
    )
    with pytest.raises(shoal.PlanError, match="Give the certificate"):
        shoal.report(files.table)


def test_persons_are_told_by_the_certificate_alone(tmp_path):
    frame = original().with_columns(pl.Series("who", [f"zq{row // 2}" for row in range(ROWS)]))
    release = shoal.anonymize(frame, **PLAN, unit="who", method="mondrian")
    found = release.report(tmp_path / "r.html", original=frame)
    assert found.now.at_most
    assert found.now.highest == 0.2
    assert found.before.counted == "persons"
    assert found.before.total == ROWS // 2
    words = Page((tmp_path / "r.html").read_text("utf-8")).words
    assert "at most 20 %" in words
    assert "no release tells its persons" in words
    fewer = shoal.report(release.table[:3], release.certificate)
    assert fewer.now.highest == 1.0  # a class that lacks records may hold one person


@pytest.mark.parametrize(
    "words",
    [{"style": "centres", "method": "gather"}, {"style": "means"}, {"style": "suppress"}]
    + [{"cells": cells} for cells in ("bounds", "middle", "id")]
    + [{"withhold": 0.1}],
    ids=str,
)
def test_every_style_has_a_report(words, tmp_path):
    asked = {"method": "mondrian"} | words
    release = shoal.anonymize(original(), **PLAN, **asked)
    files = release.write(tmp_path / "out.csv")
    found = release.report(tmp_path / "r.html", original=original(), files=files)
    assert found.holds, found.failing
    assert found.now.smallest >= 5
    assert found.now.total == release.certificate.published
    page = Page((tmp_path / "r.html").read_text("utf-8"))
    assert not [canary for canary in CANARIES if canary in re.sub(r"[0-9a-f]{64}", "", page.words)]


@pytest.mark.parametrize("cells", ["text", "bounds"])
def test_the_trial_matches_places_by_their_two_columns(cells, tmp_path):
    frame = original().with_columns(
        pl.Series("lat", [50 + row % 11 / 7 for row in range(ROWS)]),
        pl.Series("lon", [8 + row % 13 / 7 for row in range(ROWS)]),
    )
    kinds = {"home": "place(lat, lon)"}
    release = shoal.anonymize(frame, k=5, quasi=["home"], kinds=kinds, cells=cells, method="mondrian")
    found = release.report(tmp_path / "r.html", original=frame)
    assert found.untried == ""
    assert found.linkage.found == ROWS
    assert found.before.total == ROWS


def test_a_claim_that_fails_is_said_first_and_loudly(written, tmp_path):
    table = written[1].table
    lines = table.read_text("utf-8").splitlines(keepends=True)
    table.write_text("".join(lines[:-3]), encoding="utf-8")
    found = made(written, tmp_path / "r.html")
    assert not found.holds
    page = Page((tmp_path / "r.html").read_text("utf-8"))
    words = " ".join(page.words.split())
    assert words.startswith("DOES NOT HOLD")  # the title
    assert words.partition("Anonymization report of out.csv Anonymization report ")[2].startswith(
        "DOES NOT HOLD: "
    )
    assert "Do not publish this table" in words.partition("Three questions")[0]
    assert "no" not in {one.answer for one in found.questions}


def test_a_release_that_lacks_a_column_is_reported_and_not_measured(written, tmp_path):
    files = written[1]
    shoal.read_table(files.table).frame.drop("city").write_csv(files.table)
    found = made(written, tmp_path / "r.html", original=original())
    assert found.now is None
    assert not found.holds
    assert "DOES NOT HOLD" in (tmp_path / "r.html").read_text("utf-8")


def test_an_original_that_does_not_fit_is_reported(written, tmp_path):
    found = made(written, tmp_path / "r.html", original=original().drop("city"))
    assert found.before is None
    assert not found.holds


def test_names_and_words_are_escaped(tmp_path):
    odd = "<script>alert(1)</script>\"'&"
    frame = original().rename({"city": odd})
    release = shoal.anonymize(frame, k=5, quasi=["age", odd], sensitive=["ill"], method="mondrian")
    release.report(tmp_path / "r.html", context=shoal.Context(purpose=odd, recipients="<b>"))
    text = (tmp_path / "r.html").read_text("utf-8")
    page = Page(text)
    assert not {tag for tag, _ in page.tags} & {"script", "b"}
    assert page.words.count(odd) > 3


def test_a_context_is_shown_and_a_strange_key_is_refused(written, tmp_path):
    file = tmp_path / "context.yaml"
    file.write_text("purpose: research\nrecipients: two groups\ndate: 2026-11-17\nassessor:\n")
    made(written, tmp_path / "r.html", context=file)
    words = Page((tmp_path / "r.html").read_text("utf-8")).words
    assert "two groups" in words
    assert "2026-11-17" in words
    assert words.count("to be filled in") == 3
    for text, told in (
        ("reason: x\n", "has the key 'reason', which no context has"),
        ("purpose: [a, b]\n", "'purpose', in line 1, must be one text"),
        ("threshold: often\n", "threshold is 'often'"),
        ("threshold: 1.5\n", "threshold is 1.5"),
        ("sampling: 0\n", "sampling is 0.0"),
        ("sampling: nan\n", "sampling is nan"),
        ("- purpose\n", "is no context"),
        ("purpose: a\npurpose: b\n", "stands twice"),
        ("purpose: !!python/object:os.system x\n", ""),
    ):
        file.write_text(text)
        (tmp_path / "r.html").unlink(missing_ok=True)
        if not told:
            made(written, context=file)  # a tag is no code: the text is text
            continue
        with pytest.raises(shoal.PlanError) as error:
            made(written, tmp_path / "r.html", context=file)
        assert told in said_by(error.value, *CANARIES)
        assert not (tmp_path / "r.html").exists()


def test_wrong_files_and_places_are_refused_with_nothing_written(written, tmp_path):
    _, files = written
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (folder := tmp_path / "folder.html").mkdir()
    for path in (tmp_path / "r.pdf", tmp_path / "no" / "r.html", folder):
        with pytest.raises(shoal.ShoalError) as error:
            made(written, path)
        said_by(error.value, *CANARIES)
    for release, certificate in (
        (files.table, files.receipt),
        (files.table, files.table),
        (files.table, tmp_path / "none.json"),
        (tmp_path / "none.csv", files.certificate),
        (files.table, 3),
    ):
        with pytest.raises(shoal.ShoalError) as error:
            shoal.report(release, certificate, tmp_path / "r.html")
        said_by(error.value, *CANARIES)
    with pytest.raises(shoal.PlanError, match=r"neither a file nor a shoal\.Context"):
        made(written, tmp_path / "r.html", context={"purpose": "x"})
    folder.rmdir()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_input_is_not_overwritten(written, tmp_path):
    page = tmp_path / "context.html"
    page.write_text("purpose: x\n")
    with pytest.raises(shoal.PlanError, match="one of the inputs"):
        made(written, page, context=page)
    assert page.read_text() == "purpose: x\n"


def test_a_report_that_cannot_be_made_leaves_the_old_one(written, tmp_path, monkeypatch):
    target = tmp_path / "r.html"
    made(written, target)
    then = target.read_bytes()
    monkeypatch.setattr("shoal.publish.report.page_of", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made(written, target)
    assert target.read_bytes() == then


def test_a_bar_is_as_long_as_its_share_and_says_its_number():
    drawn = bars([("a<b", [Bar(0.5, "50 %"), Bar(3.0, "many")])], label='"odd"')
    page = Page(drawn)
    lengths = [float(its["width"]) for tag, its in page.tags if tag == "rect"]
    assert lengths == [330.0, 165.0, 330.0, 330.0]
    assert page.words == "a<b50 %many"
    assert page.tags[0][1]["aria-label"] == '"odd"'


def test_a_notebook_shows_the_losses_drawn(written):
    release, _ = written
    page = Page(f"<div>{release._repr_html_()}</div>".replace("<hr>", ""))
    drawn = next(its for tag, its in page.tags if tag == "svg")
    for column in release.certificate.columns:
        assert f"{column.name} {100 * column.loss:.3g} %" in drawn["aria-label"]


def test_a_report_is_a_value_of_names_and_counts(written):
    found = made(written, original=original())
    assert dataclasses.is_dataclass(found)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.release = "other"


def test_what_the_controller_confirmed_is_told_and_the_rest_is_open(written, tmp_path):
    made(written, tmp_path / "r.html", context=shoal.Context(confirmed=["quasi", "private"]))
    words = Page((tmp_path / "r.html").read_text("utf-8")).words
    assert "☑ All quasi-identifiers are named. Confirmed." in words
    assert (words.count("☑"), words.count("☐")) == (2, 4)
    file = tmp_path / "context.yaml"
    for text in ("confirmed: [text, others]\n", "confirmed: text\n"):
        file.write_text(text)
        made(written, tmp_path / "r.html", context=file)
        assert "☑ No column holds free text." in (tmp_path / "r.html").read_text("utf-8")
    for text in ("confirmed: [all]\n", "confirmed: everything\n"):
        file.write_text(text)
        with pytest.raises(shoal.PlanError, match="names no question of ours"):
            made(written, context=file)
    with pytest.raises(shoal.PlanError, match="names no question of ours"):
        shoal.Context(confirmed="text")


def test_with_the_original_it_says_what_the_release_is_good_for(written, tmp_path):
    page = tmp_path / "report.html"
    with_it = made(written, page, original=original())
    assert with_it.utility is not None
    assert [one.name for one in with_it.utility.tables] == ["mondrian"]
    text = page.read_text("utf-8")
    assert "What it is still good for" in text
    assert not any(canary in text for canary in CANARIES)
    assert made(written, page).utility is None
    assert "What it is still good for" not in page.read_text("utf-8")
