"""schemathesis tries the API by its own OpenAPI document: what the document allows is answered as it says, what it does
not is refused, and nothing breaks."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis: make peers")

from schemathesis.config import SchemathesisConfig

from lisax.serve.api import CALLS
from lisax.serve.app import create

HOST = {"host": "localhost"}


@pytest.fixture
def api(page):
    config = SchemathesisConfig.from_dict({"base-url": "http://localhost"})
    return schemathesis.openapi.from_asgi("/openapi.json", create(page), config=config, headers=HOST)


BY_ITS_RULES = settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],  # to shrink what fails would take minutes
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("mode", schemathesis.GenerationMode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("call", [*(call.name for call in CALLS), "indexes"])
def test_the_api_is_what_its_document_says(api, call, mode):
    """Statuses, types and fields of answers; inputs that the document allows (positive) and that it does not."""
    if call == "indexes" and mode is schemathesis.GenerationMode.NEGATIVE:
        return  # it has no input
    operation = api[f"/v1/{call}"]["GET" if call == "indexes" else "POST"]
    statuses = set()

    @BY_ITS_RULES
    @given(case=operation.as_strategy(generation_mode=mode))
    def tried(case):
        response = case.call(headers=HOST)
        case.validate_response(response)
        statuses.add(response.status_code)

    tried()
    assert statuses & ({200} if mode is schemathesis.GenerationMode.POSITIVE else {422, 415, 400})


def test_every_table_that_the_document_allows_is_read(api):
    """Uneven rows, empty cells and headers, control characters; alone, several, and beside texts."""
    cases = api["/v1/verify"]["POST"].as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE)

    @BY_ITS_RULES
    @given(case=cases.filter(lambda case: "'table': {" in str(case.body)))
    def tried(case):
        case.body.pop("tier", None)  # these models have none
        assert case.call_and_validate(headers=HOST).status_code == 200

    tried()
