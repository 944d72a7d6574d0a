# The page and the API, on CPUs, with the checker that ships:
#   docker build -t lisax .
#   docker run -v "$PWD/pages:/pages:ro" -v lisax:/data lisax index documents --corpus /pages --out /data/index
#   docker run -p 127.0.0.1:8765:8765 -v lisax:/data lisax        # prints the address with its token
# Another model is mounted and named: … -v "$PWD/models:/models:ro" lisax serve --model /models/verifier --index …
FROM python:3.12-slim AS build
# Some packages have no wheel for every machine. What only builds them needs no version.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY requirements.txt pyproject.toml README.md LICENSE ./
COPY tasks tasks
COPY gin_configs gin_configs
COPY lisax lisax
RUN python -m venv /opt/lisax && /opt/lisax/bin/pip install --no-cache-dir --constraint requirements.txt ".[opensearch,redis]"
ENV LISAX_CACHE=/opt/lisax/cache
RUN /opt/lisax/bin/lisax models get minilm

FROM python:3.12-slim
RUN useradd --uid 10001 --create-home lisax && install --directory --owner lisax --mode 0700 /data
COPY --from=build /opt/lisax /opt/lisax
ENV PATH=/opt/lisax/bin:$PATH LISAX_CACHE=/opt/lisax/cache NUMBA_CACHE_DIR=/tmp/numba PYTHONUNBUFFERED=1
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8765
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=2m CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/readyz', timeout=4)"]
ENTRYPOINT ["lisax"]
CMD ["serve", "--host", "0.0.0.0", "--index", "/data/index", "--state", "/data/state", "--log-json"]
