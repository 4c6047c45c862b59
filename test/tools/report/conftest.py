"""What the tests in a real browser share."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser


@pytest.fixture
def close_pages(browser: Browser) -> Iterator[None]:
    yield
    for context in browser.contexts:
        context.close()
