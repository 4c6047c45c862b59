"""The Docker engine as the tests use it: is there one, build by build.sh, run as the platform runs."""

import fcntl
import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from places import ROOT

UPLOADED_GROUND_TRUTH = "/opt/ml/input/data/ground_truth"

# What the platform runs an evaluation with: no network, no privileges, bounded memory without swap, bounded processes,
# nothing writable but /output and /tmp.
PLATFORM_LIMITS = (
    "--network=none",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--read-only",
    "--tmpfs=/tmp",
    "--memory=4g",
    "--memory-swap=4g",
    "--pids-limit=256",
)


@dataclass(frozen=True)
class Run:
    """What is left of one run of the container."""

    exit_code: int
    stdout: str
    stderr: str
    output: Path

    @property
    def metrics(self) -> bytes:
        assert self.exit_code == 0, f"exit code {self.exit_code}:\n{self.stdout}\n{self.stderr}"
        return (self.output / "metrics.json").read_bytes()

    @property
    def sentence(self) -> str:
        """What the platform shows the participant: the last line of stderr that is not empty."""
        lines = [line for line in self.stderr.splitlines() if line.strip()]
        return lines[-1] if lines else ""


def why_no_engine() -> str | None:
    """None where a Docker engine answers, else what is missing."""
    if shutil.which("docker") is None:
        return "docker is not installed"
    if docker("version", check=False).returncode != 0:
        return "no Docker engine answers"
    return None


def docker(*arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    """One docker command; its output is part of the failure where it fails and `check` is set."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=600, check=False)
    assert not check or done.returncode == 0, f"docker {' '.join(arguments)}\n{done.stdout}{done.stderr}"
    return done


def build(*challenge: str, tree: Path = ROOT) -> str:
    """The tag that ./build.sh names in its last line. One build at a time: the next finds the layers of the first."""
    with (Path(gettempdir()) / "podium-build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [tree / "build.sh", *challenge],
            capture_output=True,
            text=True,
            timeout=1200,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1].removeprefix("Built ")


def evaluate(
    image: str,
    submission: Path,
    output: Path,
    *,
    ground_truth: Path | None = None,
    user: str | None = None,
    output_mode: int = 0o777,
    environment: Mapping[str, str] | None = None,
    memory: str | None = None,
) -> Run:
    """Score `submission` as the platform does: default entrypoint, no arguments, `output` mounted."""
    output.mkdir(parents=True)
    output.chmod(output_mode)
    options = [*PLATFORM_LIMITS, f"--volume={submission}:/input:ro", f"--volume={output}:/output"]
    if ground_truth is not None:
        options.append(f"--volume={ground_truth}:{UPLOADED_GROUND_TRUTH}:ro")
    if user is not None:
        options.append(f"--user={user}")
    if memory is not None:  # the last of an option given twice counts
        options += [f"--memory={memory}", f"--memory-swap={memory}"]
    options += [f"--env={name}={value}" for name, value in (environment or {}).items()]
    return _run(options, image, output)


def python(image: str, code: str, *, user: str = "podium") -> str:
    """The output of Python code inside the image, which has no shell; the code has to succeed."""
    return docker(
        "run", "--rm", "--network=none", f"--user={user}", "--entrypoint=python", image, "-P", "-c", code
    ).stdout


def _run(options: Sequence[str], image: str, output: Path) -> Run:
    name = f"podium-test-{uuid.uuid4().hex}"
    try:
        done = docker("run", f"--name={name}", *options, image, check=False)
    finally:
        docker("rm", "--force", name, check=False)  # also where the run was given up: a container outlives its client
    return Run(exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr, output=output)
