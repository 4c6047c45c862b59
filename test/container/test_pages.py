"""The commands of the pages that need Docker, as they stand there."""

from pathlib import Path

import pytest
from documented import AT_HAND, NEEDS_DOCKER, blocks, commands, project_copy, run_page
from places import ROOT

pytestmark = pytest.mark.container

PAGES = [
    page
    for page in AT_HAND
    if any(NEEDS_DOCKER.search(command) for block in blocks(ROOT / page) for command in commands(block))
]


@pytest.mark.usefixtures("carotid_image")  # its layers are those of every other image
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_as_they_stand_there(page: str, tmp_path: Path) -> None:
    run_page(project_copy(tmp_path), page, with_docker=True)
