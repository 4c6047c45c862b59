# The evaluation container. Stages make the Python environment, the few files of the system that Python needs, and the
# compiled code; the image holds these and the ground truth, and nothing else: no shell, no package manager. What changes
# most often comes last, so a change of code rebuilds in seconds.
#
# BASE is Debian with Python 3.11; name a digest to pin it: --build-arg BASE=python:3.11@sha256:...
ARG BASE=python:3.11

FROM $BASE AS environment
# Bytecode is not checked against the time of its source, since all times are the same in an exported image. A fixed hash
# seed makes it the same in every build.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONHASHSEED=0 \
    PIP_NO_CACHE_DIR=1 \
    PIP_COMPILE=0
RUN python3 -m venv /opt/venv
WORKDIR /build
COPY scripts/requirements.lock scripts/install-torch.sh ./
ARG TORCH_INDEX
RUN PIP_REPORT=/build/torch.json ./install-torch.sh /opt/venv/bin/python
RUN pip install --quiet --no-deps --require-hashes --only-binary :all: --report packages.json --requirement requirements.lock
# What only [outputs] with "report" needs: ./build.sh --with report.
COPY scripts/requirements-dev.lock ./
ARG WITH=""
RUN [ "$WITH" != report ] || { sed -n '/^vl-convert-python==/,/[^\\]$/p' requirements-dev.lock > with.lock \
 && pip install --quiet --no-deps --require-hashes --only-binary :all: --report with.json --requirement with.lock; }
# Headers, tests, compilers of models and installers: a third of the environment, none of it read while scoring. torch
# refuses to start without torch_shm_manager, so that one stays.
RUN cd /opt/venv/lib/python3.11/site-packages \
 && pip uninstall --quiet --yes setuptools sympy mpmath \
 && rm -rf torch/include torch/share torch/test torch/csrc torch/_inductor torch/lib/*test*.so \
 && rm -rf torch/testing/_internal/*/ torch/testing/_internal/common_methods_invocations.py torch/testing/_internal/py312* \
 && find torch/bin -mindepth 1 ! -name torch_shm_manager -delete \
 && find . -type d -name tests -prune -exec rm -rf {} + \
 && find . '(' -name '*.a' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h' -o -path './torch/*.pyi' ')' -delete \
 && pip uninstall --quiet --yes pip \
 && find . -name __pycache__ -prune -exec rm -rf {} + \
 && python -m compileall -q --invalidation-mode unchecked-hash . \
 && find /opt/venv/bin -mindepth 1 ! -name 'python*' -delete
# The code is read from /opt/app wherever a command starts; -P keeps modules of the working folder from replacing it.
RUN echo /opt/app > /opt/venv/lib/python3.11/site-packages/podium.pth \
 && printf '#!/opt/venv/bin/python -P\nimport sys\n\nfrom podium.cli import main\n\nsys.exit(main())\n' > /opt/venv/bin/podium \
 && chmod 755 /opt/venv/bin/podium

FROM environment AS root
# WordNet, for METEOR with synonyms: Debian's package, less what is not read.
RUN apt-get update --quiet=2 \
 && DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends wordnet-base \
 && find /usr/share/wordnet -mindepth 1 ! -name 'index.*' ! -name 'data.*' ! -name '*.exc' -delete
COPY image/root.py ./
RUN python3 root.py /srv/root

FROM environment AS application
WORKDIR /opt/app
COPY evaluate.py ./
COPY podium ./podium
# Of the tools an evaluation needs only the declared outputs, and the result pages for other platforms.
RUN rm -rf podium/tools/arena podium/tools/batch podium/tools/freehand.py podium/tools/judge podium/tools/preparation \
      podium/tools/simulation \
 && python -m compileall -q --invalidation-mode unchecked-hash podium
COPY image/sbom.py /build/
COPY --from=root /srv/root/var/lib/dpkg/status /build/
ARG BASE
ARG BASE_DIGEST="unknown"
ARG PODIUM_VERSION="unversioned"
RUN python /build/sbom.py --base $BASE --digest $BASE_DIGEST --version $PODIUM_VERSION --debian /build/status \
    /build/torch.json /build/packages.json $(find /build -name with.json) > /opt/sbom.cdx.json

FROM scratch
COPY --from=root /srv/root /
COPY --from=environment /opt/venv /opt/venv
# The root file system is read-only and the user may be one without a name or a home (monai asks for the name as it is
# imported): both are given here, and bytecode is compiled while the image is built.
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/tmp \
    USER=podium \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# A trimmed environment that no longer starts fails the build, not the first submission.
RUN ["python", "-c", "import cc3d, isal.isal_zlib, torch, monai.metrics, sklearn.metrics, skimage.morphology, scipy.ndimage, scipy.stats, SimpleITK, h5py, nacl.public, pydantic, rich, ssl, sqlite3"]
WORKDIR /opt/app
COPY --from=application /opt/app ./
COPY --from=application /opt/sbom.cdx.json /opt/
RUN ["python", "-c", "from podium.readers.wordnet import find_wordnet; assert 'large' in find_wordnet().synonyms('big')"]
COPY ground-truth ./ground-truth
ARG PODIUM_CHALLENGE=""
ARG PODIUM_VERSION="unversioned"
ARG BASE
ARG BASE_DIGEST="unknown"
# How the platform runs the image: "exec" starts it once per submission, "invoke" as a web server.
ARG PODIUM_API="exec"
ENV PODIUM_CHALLENGE=$PODIUM_CHALLENGE \
    PODIUM_API=$PODIUM_API
LABEL org.grand-challenge.api-method=$PODIUM_API \
      org.opencontainers.image.title="Podium evaluation" \
      org.opencontainers.image.description="Scores submissions to medical-imaging challenges on Grand Challenge" \
      org.opencontainers.image.version=$PODIUM_VERSION \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name=$BASE \
      org.opencontainers.image.base.digest=$BASE_DIGEST
USER podium
ENTRYPOINT ["python", "/opt/app/evaluate.py"]
