FROM python:3.12-slim
RUN useradd --system --create-home reaper
COPY . /src
RUN pip install --no-cache-dir /src && rm -rf /src
USER reaper
ENTRYPOINT ["reaper"]
