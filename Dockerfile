# The evaluation container. The first stage makes the Python environment; the second holds that environment, the code
# and the ground truth, and nothing else. What changes most often comes last, so a change of code rebuilds in seconds.
FROM python:3.11 AS environment
RUN python3 -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH \
    PIP_NO_CACHE_DIR=1
WORKDIR /build
COPY requirements.lock install-torch.sh ./
ARG TORCH_INDEX
RUN ./install-torch.sh /opt/venv/bin/python
RUN pip install --quiet --no-deps --require-hashes --only-binary :all: --requirement requirements.lock
# Headers, tests and installers: a third of the environment, none of it read while scoring. torch refuses to start
# without torch_shm_manager, so that one stays.
RUN cd /opt/venv/lib/python3.11/site-packages \
 && rm -rf torch/include torch/share torch/test \
 && find torch/bin -mindepth 1 ! -name torch_shm_manager -delete \
 && find . -type d -name tests -prune -exec rm -rf {} + \
 && find . -name '*.a' -delete \
 && pip uninstall --quiet --yes setuptools pip
# The code is read from /opt/app wherever a command starts; -P keeps the working folder from standing in for it.
RUN echo /opt/app > /opt/venv/lib/python3.11/site-packages/podium.pth \
 && printf '#!/bin/sh\nexec /opt/venv/bin/python -P -m podium "$@"\n' > /opt/venv/bin/podium \
 && chmod 755 /opt/venv/bin/podium

# WordNet, for METEOR with synonyms: Debian's package, less what is not read.
FROM python:3.11-slim AS wordnet
RUN apt-get update --quiet=2 \
 && DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends wordnet-base \
 && find /usr/share/wordnet -mindepth 1 ! -name 'index.*' ! -name 'data.*' ! -name '*.exc' -delete

FROM python:3.11-slim
RUN useradd --uid 1000 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin podium
COPY --from=environment /opt/venv /opt/venv
COPY --from=wordnet /usr/share/wordnet /usr/share/wordnet
# The root file system is read-only and the user may be one without a name or a home (monai asks for the name as it is
# imported): both are given here, and bytecode is compiled while the image is built.
ENV PATH=/opt/venv/bin:$PATH \
    HOME=/tmp \
    USER=podium \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# A trimmed environment that no longer starts fails the build, not the first submission.
RUN python -c "import cc3d, isal.isal_zlib, torch, monai.metrics, sklearn.metrics, skimage.morphology, scipy.ndimage, scipy.stats, SimpleITK, h5py, pydantic, rich"
WORKDIR /opt/app
COPY evaluate.py ./
COPY podium ./podium
RUN python -m compileall -q --invalidation-mode unchecked-hash podium \
 && python -c "from podium.readers.wordnet import find_wordnet; assert 'large' in find_wordnet().synonyms('big')"
COPY ground-truth ./ground-truth
ARG PODIUM_CHALLENGE=""
ARG PODIUM_VERSION="unversioned"
# How the platform runs the image: "exec" starts it once per submission, "invoke" as a web server.
ARG PODIUM_API="exec"
ENV PODIUM_CHALLENGE=$PODIUM_CHALLENGE \
    PODIUM_API=$PODIUM_API
LABEL org.grand-challenge.api-method=$PODIUM_API \
      org.opencontainers.image.title="Podium evaluation" \
      org.opencontainers.image.description="Scores submissions to medical-imaging challenges on Grand Challenge" \
      org.opencontainers.image.version=$PODIUM_VERSION \
      org.opencontainers.image.licenses="Apache-2.0"
USER podium
ENTRYPOINT ["python", "/opt/app/evaluate.py"]
