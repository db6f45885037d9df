# reaper, locked and without root: docker build -t reaper .
# A change of the source reuses every layer up to the last copy of each stage, and the packages of the result.

FROM python:3.13.7-slim-bookworm AS packages
COPY deploy/requirements.lock /build/requirements.lock
RUN python -m venv --without-pip /opt/reaper
RUN pip --python /opt/reaper/bin/python install --no-cache-dir --no-deps --require-hashes -r /build/requirements.lock

FROM packages AS wheel
COPY deploy/build.lock /build/build.lock
RUN python -m venv /opt/build
RUN /opt/build/bin/pip install --no-cache-dir --no-deps --require-hashes -r /build/build.lock
COPY pyproject.toml README.md CHANGELOG.md LICENSE /build/source/
COPY migrations /build/source/migrations
COPY sql /build/source/sql
COPY reaper /build/source/reaper
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /build/wheels /build/source
RUN pip --python /opt/reaper/bin/python install --no-deps --no-index --find-links /build/wheels --target /opt/app pg-reaper

FROM python:3.13.7-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin reaper
ENV PATH=/opt/app/bin:/opt/reaper/bin:/usr/local/bin:/usr/bin:/bin PYTHONPATH=/opt/app PYTHONUNBUFFERED=1
COPY --from=packages /opt/reaper /opt/reaper
COPY --from=wheel /opt/app /opt/app
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["reaper"]
CMD ["--help"]
