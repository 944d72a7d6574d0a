"""The official client of an Elasticsearch or OpenSearch cluster, and its errors in words.

`pip install lisax[elastic]` or `lisax[opensearch]` (for a URL `opensearch+https://…`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from lisax.errors import LisaxError

TIMEOUT = 60.0  # seconds between two bytes of an answer
OPENSEARCH = "opensearch+"


class Unreachable(LisaxError):
    """A cluster does not answer, or not with all of its parts; it may do so later."""


def connect(url: str, environment: Mapping[str, str] = os.environ, timeout: float = TIMEOUT) -> Any:
    """The official client for a cluster at `http(s)://…` (Elasticsearch) or `opensearch+http(s)://…`.

    `LISAX_CLUSTER_API_KEY`, or `LISAX_CLUSTER_USER` with `LISAX_CLUSTER_PASSWORD`, and `LISAX_CLUSTER_CA` (a file of
    certificates) are read from the environment, since secrets do not belong on a command line. So is
    `LISAX_CLUSTER_AWS`, a region (`eu-west-1`, or `eu-west-1/aoss` of OpenSearch Serverless): requests to OpenSearch are
    then signed with the credentials that boto3 finds. `timeout`: seconds for an answer to begin.
    """
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise LisaxError(
            "keep the password out of the cluster's URL: set LISAX_CLUSTER_USER and "
            "LISAX_CLUSTER_PASSWORD in the environment"
        )
    key, user, password, certificates = (
        environment.get(f"LISAX_CLUSTER_{name}") for name in ("API_KEY", "USER", "PASSWORD", "CA")
    )
    if bool(user) != bool(password):
        raise LisaxError("LISAX_CLUSTER_USER and LISAX_CLUSTER_PASSWORD go together: one of them is not set")
    # `ElasticIndex` retries requests itself, because it knows which ones may be sent twice.
    options: dict[str, Any] = {"max_retries": 0} | ({"ca_certs": certificates} if certificates else {})
    if url.startswith(OPENSEARCH):
        try:
            from opensearchpy import OpenSearch
        except ImportError:
            raise LisaxError("OpenSearch's client is not installed: `pip install 'lisax[opensearch]'`") from None
        if region := environment.get("LISAX_CLUSTER_AWS"):
            options["http_auth"] = _aws_signer(*region.split("/"))
        elif key:
            options["headers"] = {"Authorization": f"ApiKey {key}"}
        elif user:
            options["http_auth"] = (user, password)
        return OpenSearch(url.removeprefix(OPENSEARCH), timeout=timeout, **options)
    try:
        from elasticsearch import Elasticsearch
    except ImportError:
        raise LisaxError("Elasticsearch's client is not installed: `pip install 'lisax[elastic]'`") from None
    if key:
        options["api_key"] = key
    elif user:
        options["basic_auth"] = (user, password)
    return Elasticsearch(url, request_timeout=timeout, **options)


def _aws_signer(region: str, service: str = "es") -> Any:
    from opensearchpy import Urllib3AWSV4SignerAuth

    try:
        import boto3
    except ImportError:
        raise LisaxError("LISAX_CLUSTER_AWS needs boto3: `pip install 'lisax[aws]'`") from None
    credentials = boto3.Session().get_credentials()
    if credentials is None:
        raise LisaxError("LISAX_CLUSTER_AWS: boto3 finds no AWS credentials")
    return Urllib3AWSV4SignerAuth(credentials, region, service)


def status_of(error: Exception) -> int | None:
    """The HTTP status of either client's error; OpenSearch's is 'N/A' without a response."""
    status = getattr(error, "status_code", None) or getattr(getattr(error, "meta", None), "status", None)
    return status if isinstance(status, int) else None


def is_transport(error: Exception) -> bool:
    """Whether either client reports that the cluster is unreachable or timed out."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, (ConnectionError, TimeoutError)) or bool(names & {"TransportError", "ConnectionError"})


def is_tls(error: Exception) -> bool:
    return bool({kind.__name__ for kind in type(error).__mro__} & {"TlsError", "SSLError"})


def said(error: Exception, status: int | None) -> str:
    if type(error).__name__ == "UnsupportedProductError":
        return "the server is not Elasticsearch; OpenSearch's URL begins with opensearch+http:// or opensearch+https://"
    if is_tls(error):
        return f"no trusted TLS connection ({error}); LISAX_CLUSTER_CA names a file of certificates to trust"
    reason = str(getattr(error, "body", "") or getattr(error, "info", "") or "media_type")  # HEAD has no body
    if status in (400, 406) and "media_type" in reason:
        return f"the server does not speak the client's version ({status}): install the client of the server's major version"
    if status in (401, 403):
        return (
            f"access denied ({status}): set LISAX_CLUSTER_API_KEY, or LISAX_CLUSTER_USER and "
            "LISAX_CLUSTER_PASSWORD, in the environment"
        )
    if status == 404:
        return "there is no such index; `lisax index cluster` makes one"
    if status is None:
        return f"the cluster cannot be reached ({error})"
    return f"{error}"
