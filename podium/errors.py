"""Every error Podium raises on purpose, and what each one costs.

PodiumError
├── SubmissionError      the submission as a whole is unusable              exit 1
├── Refused              one file cannot be accepted, in words for its author
│   │                    (costs its case; a refused reference becomes a GroundTruthError)
│   └── ReaderDied           reading it ended its process, perhaps by no fault of the file: its case is tried again
└── OrganiserError       something on the organiser's side is wrong         exit 2
    ├── GroundTruthError     a reference is missing, broken or contradictory
    ├── ConfigurationError   challenge.toml is wrong; the message names key and line
    ├── UsageError           the command line is wrong
    ├── StorageError         files behind a URL cannot be reached
    └── MachineError         the machine ends processes, which no other case would survive better

Messages are complete sentences, and since the platform shows the last line of stderr to participants whatever went
wrong, each must bear that: they name what was submitted or published, never a reference's content, a hidden case or a
path of the container. What only the organiser may know goes into `detail`, which is printed to the log (stdout).
"""


class PodiumError(Exception):
    """Base of all errors with a message meant for people."""

    exit_code = 2

    def __init__(self, message: str, *, detail: str | None = None) -> None:
        super().__init__(message)
        self.detail = detail


class SubmissionError(PodiumError):
    """The submission cannot be scored at all; the message tells its author how to fix it."""

    exit_code = 1


class Refused(PodiumError):
    """One file is not acceptable; the message names it as its author does and says what to send instead."""

    exit_code = 1


class ReaderDied(Refused):
    """The process that read one file ended, by the file's fault or because it was killed."""


class OrganiserError(PodiumError):
    """Ground truth, configuration or command line are wrong: nothing is scored until that is fixed."""


class GroundTruthError(OrganiserError):
    """A reference is missing, unreadable or contradicts the configuration."""


class ConfigurationError(OrganiserError):
    """challenge.toml is wrong."""


class UsageError(OrganiserError):
    """The command line is wrong."""


class StorageError(OrganiserError):
    """What lies behind a URL is not there, may not be used or does not answer."""


class MachineError(OrganiserError):
    """Processes are killed faster than they can be replaced."""
