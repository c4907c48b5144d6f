# InferPrice in a container: no Node, no compiler, no root, and a root file system that may be read-only.

FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv /opt/inferprice
COPY requirements.txt ./
RUN /opt/inferprice/bin/pip install --require-hashes -r requirements.txt
# The wheel's build brings Node for itself and drops it again; the lock file's hashes hold either way.
COPY . .
RUN /opt/inferprice/bin/pip wheel --no-deps --wheel-dir /wheels . \
    && /opt/inferprice/bin/pip install --no-deps --no-index /wheels/*.whl

FROM python:3.11-slim-bookworm
COPY --from=build /opt/inferprice /opt/inferprice
# /data holds the database of a single-process set-up and the archive of fetched pages.
RUN useradd --system --uid 10001 --user-group --no-create-home inferprice \
    && install -d -o inferprice -g inferprice /data
ENV PATH=/opt/inferprice/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    INFERPRICE_HOME=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["inferprice"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
