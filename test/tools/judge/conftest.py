"""A scripted server, and two small teams to judge with it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.judge.scripted_server import ScriptedServer

from podium.cli.main import main

REFERENCES = {
    "A1": "Tooth 46 is missing. No open bite.",
    "A2": "Deep bite. Class II molar relationship on the right. Tooth 38 is impacted.",
    "A3": "The sinuses are normal. Mild crowding.",
}
ALPHA = {
    "A1": "No open bite. Tooth 46 is missing.",
    "A2": "Deep bite. Tooth 28 is impacted.",
    "A3": "The sinuses are normal.",
}
BETA = {"A1": "Tooth 46 is missing.", "A2": "", "A3": "Mild crowding. Severe wear. Deep bite."}
TOML = (
    'kind = "reports"\ntitle = "T"\nversion = "1"\nper_case = "{per_case}"\n'
    "[reports]\nremove_normal_findings = false\n[reports.judge]\n{judge}"
)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


class Desk:
    """An organiser's folder: ground truth, two submissions, the cache, the results."""

    def __init__(self, root: Path, url: str, capfd: pytest.CaptureFixture[str] | None = None) -> None:
        self.root, self.url, self.capfd = root, url, capfd
        self.cache = root / "answers.sqlite"
        self.output = root / "judged"
        self.write_truth()
        self.write_team("alpha", ALPHA)
        self.write_team("beta", BETA)

    def write_truth(self, *, per_case: str = "full", judge: str = "") -> None:
        references = self.root / "truth/references"
        references.mkdir(parents=True, exist_ok=True)
        (self.root / "truth/challenge.toml").write_text(TOML.format(per_case=per_case, judge=judge))
        for case, text in REFERENCES.items():
            (references / f"{case}.txt").write_text(text)

    def write_team(self, name: str, texts: dict[str, str]) -> Path:
        folder = self.root / "teams" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "reports.json").write_text(json.dumps(texts))
        return folder

    def arguments(self, *more: str | Path, teams: tuple[str, ...] = ("alpha", "beta")) -> list[str]:
        fixed = ["--references", self.root / "truth", "--model", "judge-1", "--base-url", self.url]
        fixed += ["--cache", self.cache, "--output", self.output]
        return ["judge", *(str(self.root / "teams" / team) for team in teams), *map(str, fixed), *map(str, more)]

    def run(self, *more: str | Path, teams: tuple[str, ...] = ("alpha", "beta")) -> int:
        return main(self.arguments(*more, teams=teams))

    def said(self) -> tuple[list[str], str]:
        """The lines on stdout, and the last line on stderr."""
        assert self.capfd is not None
        out, err = self.capfd.readouterr()
        return out.splitlines(), (err.strip().splitlines() or [""])[-1]

    def bytes(self, team: str) -> bytes:
        return (self.output / team / "metrics.json").read_bytes()

    def metrics(self, team: str) -> dict[str, Any]:
        return json.loads(self.bytes(team))

    def rows(self, team: str) -> dict[str, Any]:
        return {row["case"]: row for row in self.metrics(team)["results"]}


def edit_metrics(folder: Path, team: str, edit: Callable[[dict[str, Any]], object]) -> None:
    """Change a team's metrics.json in a folder of results."""
    path = folder / team / "metrics.json"
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def last_error(capfd: pytest.CaptureFixture[str]) -> str:
    return capfd.readouterr().err.strip().splitlines()[-1]


def prepare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("PODIUM_JUDGE_ATTEMPTS", "3")


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A run of both teams in which nothing went wrong; for reading only."""
    server = ScriptedServer()
    desk = Desk(tmp_path_factory.mktemp("undisturbed"), server.url)
    with pytest.MonkeyPatch.context() as monkeypatch:
        prepare_environment(monkeypatch)
        assert desk.run() == 0
    server.close()
    return desk


@pytest.fixture
def desk(
    tmp_path: Path, server: ScriptedServer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Desk:
    prepare_environment(monkeypatch)
    return Desk(tmp_path, server.url, capfd)
