"""A substitute for a cluster of Elasticsearch or OpenSearch, over HTTP or as a client.

It speaks what our client asks for as the servers are documented: which mappings, settings and search bodies each family
takes, its errors, and how it scores. Words are scored as by Lucene (the `english` analyser, BM25 with document lengths of
one byte), vectors are all compared.
"""

import contextlib
import functools
import itertools
import json
import math
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

import numpy as np

from lisax.text import lucene

ELASTICSEARCH, OPENSEARCH = "elasticsearch", "opensearch"
HOST = "http://host:9200"
VECTORS = {ELASTICSEARCH: "dense_vector", OPENSEARCH: "knn_vector"}
BODY = {"query", "size", "sort", "_source", "docvalue_fields", "track_total_hits", "track_scores", "search_after"}
BODY |= {"collapse", "knn"}
WINDOW, TERMS = 10_000, 65_536


class Refused(Exception):
    def __init__(self, reason, kind="illegal_argument_exception"):
        super().__init__(reason)
        self.answer = {"error": {"type": kind, "reason": reason, "root_cause": []}, "status": 400}


@functools.lru_cache(None)
def analysed(text):
    """The terms of the analyser `english`."""
    return tuple(filter(None, map(lucene.term, lucene.words(text))))


class Cluster:
    """A server of a family and a major version. Elasticsearch refuses clients of a newer version and of the one before
    the last."""

    def __init__(self, family=ELASTICSEARCH, version=None):
        self.family, self.version = family, version or (8 if family == ELASTICSEARCH else 2)
        self.indices, self.meta, self.settings, self.aliases, self.requests = {}, {}, {}, {}, []
        self.fields = {}  # the mapped fields of each index
        self.kept = {}  # what searches have computed
        self.busy = 0  # tries of 'd' that are rejected
        self.parts = []  # what comes instead of whole answers to queries
        self.failures = []  # (action, status, whether the request is done all the same); status 0: no answer
        self.is_away = False  # the server does not answer at all

    def handle(self, method, path, lines, parameters=None):
        self.requests.append((method, path, lines))
        name, _, action = path.strip("/").partition("/")
        failure = next((one for one in self.failures if one[0] == action), None)
        if self.is_away:
            return 0, {}
        if failure is None:
            return self.tried(method, name, action, lines, parameters or {})
        self.failures.remove(failure)
        if failure[2]:
            self.tried(method, name, action, lines, parameters or {})
        return failure[1], {"error": {"reason": "failing", "root_cause": []}, "status": failure[1]}

    def tried(self, *request):
        try:
            return self.answered(*request)
        except Refused as error:
            return 400, error.answer

    def answered(self, method, name, action, lines, parameters):
        if name == "_alias":
            index = self.aliases.get(action)
            return (200, {index: {"aliases": {action: {}}}}) if index else (404, {"error": "alias missing"})
        if name == "_aliases":
            for act in lines[0]["actions"]:
                for verb, given in act.items():
                    if verb == "add":
                        self.aliases[given["alias"]] = given["index"]
                    else:
                        del self.indices[given["index"]]
            return 200, {"acknowledged": True}
        name = self.aliases.get(name, name)
        if method == "HEAD":
            return (200 if name in self.indices else 404), {}
        if method == "PUT" and not action:
            self.create(name, **lines[0])
            return 200, {"acknowledged": True, "index": name}
        if method == "DELETE":
            del self.indices[name]
            return 200, {"acknowledged": True}
        documents = self.indices.get(name)
        if documents is None:
            return 404, {"error": {"reason": "no such index", "root_cause": []}, "status": 404}
        if action == "_settings":
            self.settings[name] |= lines[0]["index"]
            return 200, {"acknowledged": True}
        if action == "_mapping" and method == "GET":
            return 200, {name: {"mappings": {"_meta": self.meta[name], "properties": self.fields[name]}}}
        if action == "_mapping":
            self.meta[name] = lines[0]["_meta"]
            return 200, {"acknowledged": True}
        if action == "_count":
            query = lines[0]["query"] if lines else {"match_all": {}}
            return 200, {"count": len(Search(self, name).scores(query)), "_shards": {}}
        if action == "_mget":
            return 200, {"docs": [{"_id": id, "_source": documents[id]} for id in lines[0]["ids"]]}
        if action == "_bulk":
            items = [self.store(name, head["create"]["_id"], body) for head, body in zip(lines[::2], lines[1::2])]
            return 200, {"errors": any(item["status"] > 201 for item in items), "items": [{"create": i} for i in items]}
        if action == "_msearch":
            answers = [self.answer(name, head, body, parameters) for head, body in zip(lines[::2], lines[1::2])]
            if self.parts:
                answers[0] = {"hits": {"hits": []}, "status": 200} | self.parts.pop()
            return 200, {"responses": answers}
        return 200, {"_shards": {}}

    def create(self, name, settings, mappings):
        if "index.knn" in settings and self.family == ELASTICSEARCH:
            raise Refused("unknown setting [index.knn] please check that any required plugins are installed")
        known = {"keyword", "long", "text", VECTORS[self.family]}
        for field, mapping in mappings["properties"].items():
            if mapping["type"] not in known:
                raise Refused(
                    f"Failed to parse mapping [_doc]: No handler for type [{mapping['type']}] declared on field [{field}]",
                    "mapper_parsing_exception",
                )
            if mapping["type"] == "text" and mapping["similarity"] not in settings["similarity"]:
                raise Refused(f"Unknown Similarity type [{mapping['similarity']}] for field [{field}]")
        self.indices[name], self.meta[name] = {}, mappings["_meta"]
        self.settings[name], self.fields[name] = dict(settings), mappings["properties"]

    def store(self, name, id, body):
        documents = self.indices[name]
        assert len(id.encode()) <= 512, "id is too long"
        if id == "d" and self.busy:
            self.busy -= 1
            return {"_id": id, "status": 429, "error": {"type": "rejected"}}
        if "boom" in body.get("text", ""):
            return {"_id": id, "status": 400, "error": {"reason": "boom"}}
        for field, mapping in self.fields[name].items():
            dims = mapping.get("dims", mapping.get("dimension"))
            if dims and field in body and (len(body[field]) != dims or not any(body[field])):
                return {"_id": id, "status": 400, "error": {"reason": f"[{field}] has another number of dimensions"}}
        if id in documents:
            return {"_id": id, "status": 409, "error": {"type": "version_conflict_engine_exception"}}
        documents[id] = body
        return {"_id": id, "status": 201}

    def answer(self, name, head, body, parameters):
        try:
            return {"status": 200, "timed_out": False, "hits": {"hits": self.hits(name, head | parameters, body)}}
        except Refused as error:
            return error.answer

    def hits(self, name, parameters, body):
        if unknown := body.keys() - BODY:
            raise Refused(f"unknown key [{unknown.pop()}]", "parsing_exception")
        size, search = body.get("size", 10), Search(self, name)
        if size > WINDOW:
            raise Refused(f"Result window is too large, from + size must be less than or equal to: [{WINDOW}]")
        if "knn" in body:
            if self.family == OPENSEARCH:
                raise Refused("Unknown key for a START_OBJECT in [knn].", "parsing_exception")
            if "search_type" in parameters:
                raise Refused(
                    "cannot set [search_type] when using [knn] search, since the search type is determined automatically"
                )
            scores = search.nearest(**body["knn"])
        else:
            scores = search.scores(body.get("query", {"match_all": {}}))
        sort = body.get("sort", [{"_score": "desc"}])
        by_score = any("_score" in one for one in sort)
        found = sorted(scores, key=lambda id: search.key(id, scores[id], sort))
        if after := body.get("search_after"):
            found = [id for id in found if search.key(id, scores[id], sort) > search.after(after, sort)]
        if collapse := body.get("collapse"):
            first = {}
            for id in found:
                first.setdefault(search.values(id, collapse["field"])[0], id)
            found = list(first.values())
        shows = by_score or body.get("track_scores", False)
        return [search.hit(id, scores[id] if shows else None, body, sort) for id in found[:size]]


class Search:
    """Searches of an index."""

    def __init__(self, cluster, name):
        self.family, self.documents = cluster.family, cluster.indices[name]
        self.fields, self.settings = cluster.fields[name], cluster.settings[name]
        self._kept = cluster.kept

    def of_all(self, field, computed):
        """What is computed of all documents, again after some were added."""
        known = self._kept.get((id(self.documents), field))
        if known is None or known[0] is not self.documents or known[1] != len(self.documents):
            known = self._kept[id(self.documents), field] = self.documents, len(self.documents), computed()
        return known[2]

    def postings(self, field):
        """(number of texts, their mean length, {term: {_id: (count, length)}})"""
        texts = {id: analysed(row[field]) for id, row in self.documents.items() if row.get(field)}
        lengths = lucene.kept_lengths(np.array(list(map(len, texts.values())), np.int64)).tolist()
        found = {}
        for length, (id, terms) in zip(lengths, texts.items()):
            for term, count in Counter(terms).items():
                found.setdefault(term, {})[id] = count, length
        return len(texts), sum(map(len, texts.values())) / max(1, len(texts)), found

    def holding(self, field):
        """{value: the documents that have it}"""
        found = {}
        for id in self.documents:
            for value in self.values(id, field):
                found.setdefault(value, []).append(id)
        return found

    def matrix(self, field):
        """({_id: row}, the vectors of length 1)"""
        rows = {id: row[field] for id, row in self.documents.items() if field in row}
        vectors = np.array(list(rows.values()), np.float32)
        return dict(zip(rows, itertools.count())), vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)

    def scores(self, query):
        """{_id: score} of the documents that a query finds."""
        ((kind, given),) = query.items()
        if kind == "match_all":
            return dict.fromkeys(self.documents, 1.0)
        if kind == "bool":
            found = [self.scores(one) for one in given["filter"]]
            return {id: 0.0 for id in min(found, key=len) if all(id in one for one in found)}
        if kind in ("terms", "term"):
            ((field, values),) = given.items()
            values = values if kind == "terms" else [values]
            if len(values) > TERMS:
                raise Refused(f"The number of terms [{len(values)}] used in the Terms Query request has exceeded")
            holding = self.of_all(field, lambda: self.holding(field))
            return dict.fromkeys(itertools.chain.from_iterable(holding.get(value, ()) for value in values), 1.0)
        if kind == "match":
            ((field, text),) = given.items()
            return self.by_words(field, text)
        if kind == "script_score":
            return self.scripted(self.scores(given["query"]), given["script"])
        if kind == "knn" and self.family == OPENSEARCH:
            ((field, wanted),) = given.items()
            return self.nearest(field, wanted["vector"], wanted["k"], wanted["k"])
        raise Refused(f"unknown query [{kind}]", "parsing_exception")

    def by_words(self, field, text):
        if "boom" in text.split():
            raise Refused("boom")
        if field not in self.fields:
            return {}
        bm25 = self.settings["similarity"][self.fields[field]["similarity"]]
        texts, average, postings = self.of_all(field, lambda: self.postings(field))
        scores = Counter()
        for term in analysed(text):
            holding = postings.get(term, {})
            idf = math.log(1 + (texts - len(holding) + 0.5) / (len(holding) + 0.5))
            for id, (count, length) in holding.items():
                norm = bm25["k1"] * (1 - bm25["b"] + bm25["b"] * length / average)
                scores[id] += (bm25["k1"] + 1) * idf * count / (count + norm)
        return scores

    def nearest(self, field, query_vector, k, num_candidates):
        """The nearest vectors, all of which are compared: (1 + cosine) / 2 is the score of both families."""
        if self.fields.get(field, {}).get("type") != VECTORS[self.family]:
            if self.family == OPENSEARCH:
                raise Refused(f"failed to create query: Field '{field}' is not knn_vector type.")
            raise Refused("failed to create query: [knn] queries are only supported on [dense_vector] fields")
        if not k <= num_candidates <= WINDOW:
            raise Refused(f"[num_candidates] cannot be less than [k] or exceed [{WINDOW}]")
        if self.family == OPENSEARCH and not self.settings.get("index.knn"):
            return {}  # as the server does
        cosines = self.cosines(field, query_vector, self.documents)
        best = sorted(cosines, key=lambda id: -cosines[id])[:k]
        return {id: (1 + cosines[id]) / 2 for id in best}

    def cosines(self, field, vector, ids):
        mapping = self.fields[field]
        if len(vector) != mapping.get("dims", mapping.get("dimension")):
            raise Refused("the query vector has a different number of dimensions than the index vectors")
        rows, vectors = self.of_all(field, lambda: self.matrix(field))
        products = vectors @ (np.array(vector, np.float32) / np.linalg.norm(vector))
        return {id: float(products[rows[id]]) for id in ids if id in rows}

    def scripted(self, found, script):
        if self.family == OPENSEARCH:
            assert (script["lang"], script["source"]) == ("knn", "knn_score")
            assert script["params"]["space_type"] == "cosinesimil"
            field, vector = script["params"]["field"], script["params"]["query_value"]
        else:
            assert script.get("lang", "painless") == "painless"
            parts = re.fullmatch(r"cosineSimilarity\(params\.(\w+), '(\w+)'\) \+ 1\.0", script["source"])
            field, vector = parts[2], script["params"][parts[1]]
        if field not in self.fields:
            raise Refused(f"No field found for [{field}] in mapping", "script_exception")
        return {id: 1 + cosine for id, cosine in self.cosines(field, vector, found).items()}

    def values(self, id, field):
        """The values that are kept for sorting and filtering."""
        if field not in self.fields or field not in self.documents[id]:
            return []
        if self.fields[field]["type"] == "text":
            raise Refused(f"Text fields are not optimised for operations that require per-document field data: {field}")
        value = self.documents[id][field]
        return sorted(set(value)) if isinstance(value, list) else [value]

    def key(self, id, score, sort):
        parts = []
        for one in sort:
            ((field, order),) = one.items()
            value = score if field == "_score" else self.values(id, field)[0]
            parts.append(-value if order == "desc" else value)
        return parts

    @staticmethod
    def after(values, sort):
        assert all(order == "asc" for one in sort for order in one.values())
        return values

    def hit(self, id, score, body, sort):
        row, wanted = self.documents[id], body.get("_source", True)
        hit = {"_id": id, "_score": score}
        if wanted:
            hit["_source"] = row if wanted is True else {name: row[name] for name in wanted if name in row}
        if found := {name: values for name in body.get("docvalue_fields", ()) if (values := self.values(id, name))}:
            hit["fields"] = found
        if "sort" in body:
            hit["sort"] = [score if "_score" in one else self.values(id, next(iter(one)))[0] for one in sort]
        return hit


class Failed(Exception):
    def __init__(self, status):
        self.status_code = status


class Indices:
    def __init__(self, call, found):
        self._call, self._found = call, found

    def exists(self, index):
        return self._found(index)

    def exists_alias(self, name):
        return self._found(f"_alias/{name}")

    def create(self, index, body):
        return self._call("PUT", index, [body])

    def delete(self, index):
        return self._call("DELETE", index)

    def get_mapping(self, index):
        return self._call("GET", f"{index}/_mapping")

    def put_mapping(self, index, body):
        return self._call("PUT", f"{index}/_mapping", [body])

    def put_settings(self, index, body):
        return self._call("PUT", f"{index}/_settings", [body])

    def refresh(self, index):
        return self._call("POST", f"{index}/_refresh")

    def get_alias(self, name):
        return self._call("GET", f"_alias/{name}")

    def update_aliases(self, body):
        return self._call("POST", "_aliases", [body])


class Elasticsearch:
    """A client object with the calls that both official clients have."""

    def __init__(self, cluster):
        self._cluster, self.indices = cluster, Indices(self._call, self._found)

    def _call(self, method, path, body=None, **parameters):
        status, answer = self._cluster.handle(method, path, json.loads(json.dumps(body or [])), parameters)
        if status == 0:
            raise ConnectionError("no answer")
        if status >= 400:
            raise Failed(status)
        return answer

    def _found(self, path):
        try:
            return bool(self._call("HEAD", path)) or True
        except Failed:
            return False

    def count(self, index, body=None):
        return self._call("POST", f"{index}/_count", body and [body])

    def mget(self, index, body):
        return self._call("POST", f"{index}/_mget", [body])

    def bulk(self, index, body):
        return self._call("POST", f"{index}/_bulk", body)

    def msearch(self, index, body, **parameters):
        return self._call("POST", f"{index}/_msearch", body, **parameters)


class OpenSearch(Elasticsearch):
    pass


def stand_in(cluster):
    """A client of a cluster in this process."""
    return {ELASTICSEARCH: Elasticsearch, OPENSEARCH: OpenSearch}[cluster.family](cluster)


@contextlib.contextmanager
def answering(family=ELASTICSEARCH, version=None):
    """A cluster and the URL at which it answers."""
    cluster = Cluster(family, version)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self):
            cluster.authorization = self.headers.get("Authorization")
            content = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            speaks = re.search(r"compatible-with=(\d+)", self.headers.get("Accept", ""))
            if speaks and int(speaks[1]) not in (cluster.version, cluster.version - 1):
                reason = f"A compatible version is required, given {speaks[1]}"
                error = {"type": "media_type_header_exception", "reason": reason}
                status, answer = 400, {"error": error, "status": 400}
            else:
                asked = urlparse(self.path)
                parameters = {name: values[-1] for name, values in parse_qs(asked.query).items()}
                lines = [json.loads(line) for line in content.splitlines()]
                status, answer = cluster.handle(self.command, asked.path, lines, parameters)
            if status == 0:
                self.close_connection = True
                return
            body = b"" if self.command == "HEAD" else json.dumps(answer).encode()
            self.send_response(status)
            if cluster.family == ELASTICSEARCH:
                self.send_header("X-Elastic-Product", "Elasticsearch")
            self.send_header("Content-Type", self.headers.get("Accept", "application/json").split(",")[0])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = respond

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield cluster, f"{'opensearch+' * (family == OPENSEARCH)}http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def fill(corpus, of, model=None, name="wiki", **options):
    """The address of an index of a corpus's folder, in the cluster that `HOST` is connected to."""
    from lisax.corpora import open_folder
    from lisax.predict.retriever import open_encoder
    from lisax.retrieval.cluster import fill_cluster

    at, encoder = f"{HOST}/{name}", None if model is None else open_encoder(model)
    fill_cluster(open_folder(corpus), of, at, corpus_print=[1], encoder=encoder, **options)
    return at
