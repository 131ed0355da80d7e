# syntax=docker/dockerfile:1
# One image for every role; the command says which: `api`, `scheduler`, `worker`, `notifier`, `migrate`, or any other.
# It runs as nobody in particular (10001), on a read-only root with a /tmp, and holds no compiler and no installer.

ARG PYTHON=3.13
ARG DEBIAN=bookworm
ARG NODE=22

# The web interface is the same on every machine, so it is built once, on the builder's own.
FROM --platform=$BUILDPLATFORM node:${NODE}-${DEBIAN}-slim AS interface
WORKDIR /build/ui
COPY ui/package.json ui/package-lock.json ./
RUN --mount=type=cache,target=/root/.npm npm install --no-save --ignore-scripts --no-audit --no-fund
COPY ui ./
RUN npm run --silent build -- --logLevel warn && node compress.mjs

# So is the documentation.
FROM --platform=$BUILDPLATFORM python:${PYTHON}-slim-${DEBIAN} AS manual
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore NO_MKDOCS_2_WARNING=1
WORKDIR /build
COPY requirements/docs.txt requirements/
RUN --mount=type=cache,target=/root/.cache/pip pip install --require-hashes -r requirements/docs.txt
COPY scripts/build_docs.py scripts/docs_finish.py scripts/docs_pages.py scripts/llms_pages.py scripts/
COPY mkdocs.yml ARCHITECTURE.md CONTRIBUTING.md SECURITY.md CHANGELOG.md ./
COPY ui/public ui/public
COPY examples examples
COPY deploy deploy
COPY docs docs
COPY src/drumline/_version.py src/drumline/
RUN python scripts/build_docs.py

FROM python:${PYTHON}-slim-${DEBIAN} AS package
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY requirements/build.txt requirements/
RUN --mount=type=cache,target=/root/.cache/pip pip install --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY scripts/hatch_build.py scripts/
COPY src src
COPY --from=interface /build/src/drumline/_ui src/drumline/_ui
COPY --from=manual /build/src/drumline/_docs src/drumline/_docs
RUN pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /wheels .

FROM python:${PYTHON}-slim-${DEBIAN} AS environment
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv --without-pip /opt/drumline
COPY requirements/image.txt /build/
RUN --mount=type=cache,target=/root/.cache/pip \
    pip --python /opt/drumline/bin/python install --require-hashes --only-binary :all: -r /build/image.txt
COPY --from=package /wheels /wheels
RUN pip --python /opt/drumline/bin/python install --no-cache-dir --no-deps --no-index /wheels/*.whl
COPY deploy/image /build/
RUN install -m 0755 /build/health.py /opt/drumline/bin/drumline-health \
    && /opt/drumline/bin/python /build/sbom.py > /opt/drumline/sbom.cdx.json \
    && /opt/drumline/bin/drumline version

FROM python:${PYTHON}-slim-${DEBIAN}
ARG VERSION=0.0.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Drumline" \
      org.opencontainers.image.description="A distributed task scheduler and job queue." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.documentation="https://drumline.readthedocs.io" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      io.drumline.sbom="/opt/drumline/sbom.cdx.json"
# Whatever could install or build something goes; `pip` removes itself last.
RUN groupadd --gid 10001 drumline \
    && useradd --uid 10001 --gid drumline --no-create-home --home-dir /tmp --shell /usr/sbin/nologin drumline \
    && install -d -o drumline -g drumline -m 0700 /var/lib/drumline \
    && rm -rf /usr/local/lib/python3*/ensurepip \
    && python -m pip uninstall --yes --quiet --root-user-action ignore pip
COPY --from=environment /opt/drumline /opt/drumline
ENV PATH=/opt/drumline/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    DRUMLINE_DATA=/var/lib/drumline \
    DRUMLINE_HOST=0.0.0.0 \
    DRUMLINE_PORT=8080 \
    DRUMLINE_LOG_FORMAT=json
WORKDIR /var/lib/drumline
VOLUME /var/lib/drumline
USER 10001:10001
EXPOSE 8080 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=8s --start-period=60s --retries=3 CMD ["drumline-health"]
ENTRYPOINT ["drumline"]
CMD ["--help"]
