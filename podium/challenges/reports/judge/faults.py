"""Why a question has no answer, in words that can be counted, and which faults end a run.

No word of the server's is repeated: some servers quote the key they refuse.
"""

import socket
import ssl

import openai

BROKE_SCHEMA = "answer not in the requested form"
_TEMPORARY = frozenset((408, 409, 425, 429))
_QUOTA = "insufficient_quota"


def connection_fault(error: openai.APIConnectionError) -> str:
    """Which step of reaching the server failed; the SDK keeps that in the chain of causes alone."""
    if isinstance(error, openai.APITimeoutError):
        return "no answer in time"
    cause: BaseException | None = error
    while cause is not None:
        match cause:
            case ConnectionRefusedError():
                return "connection refused"
            case socket.gaierror():
                return "unknown host name"
            case ssl.SSLError():
                return "no secure connection"
        cause = cause.__cause__ or cause.__context__
    return "connection broken"


def status_fault(error: openai.APIStatusError) -> str:
    """By the status; where access is denied it says so."""
    return "access denied (status 403)" if error.status_code == 403 else f"status {error.status_code}"


def is_temporary(error: openai.APIStatusError) -> bool:
    """Whether asking again may help."""
    return error.status_code in _TEMPORARY or error.status_code >= 500


def final_fault(error: openai.APIStatusError, *, has_answered: bool) -> str | None:
    """What is wrong with every further question too; None where it may be this question alone.

    403 is either: a key without access, or a server that does not like one report. A server that has answered before
    is not stopped by a single report.
    """
    if _QUOTA in (error.code, error.type):
        return f"The quota of the key for the judge's server is used up (status {error.status_code})."
    problem = {
        401: "refuses the key",
        402: "asks for payment: the account has no credit left",
        403: None if has_answered else "denies this key access to the model",
        404: "knows no such model or address",
    }.get(error.status_code)
    return f"The judge's server {problem} (status {error.status_code})." if problem else None
