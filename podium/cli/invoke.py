"""`podium invoke`: what a container runs that was built with `--api invoke`, one evaluation per `POST /invoke`."""

import argparse
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from podium.cli.arguments import BAKED_GROUND_TRUTH, Verbs, add_verb, chosen_challenge, end
from podium.cli.evaluate import add_options, evaluate_submission
from podium.errors import UsageError
from podium.execution.prefork import Prefork

if TYPE_CHECKING:
    from podium.cli.evaluation_server import EvaluationServer

PORT = 4743


def add_verbs(verbs: Verbs) -> None:
    summary = "evaluate whenever a web request asks for it: GET /health, POST /invoke"
    parser = add_verb(verbs, "invoke", _invoke, summary)
    add_options(parser)
    parser.add_argument("--port", type=int, default=PORT, metavar="N", help="where to listen [%(default)s]")


def _invoke(options: argparse.Namespace) -> int:
    from podium.cli.main import carry_out  # that module lists this command

    def warm_up() -> None:
        server.server_close()  # the copy of this process: only one listens
        _import_packages(options)

    with _listen(options.port) as server:
        evaluator = Prefork(warm_up=warm_up, job=lambda: carry_out(evaluate_submission, options))
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            evaluator.wait_until_warm()
            server.evaluate = evaluator.run
            print(f"Ready: POST /invoke on port {server.server_address[1]} starts an evaluation.", flush=True)
            evaluator.join()
        except EOFError:
            pass  # said below
        finally:
            server.shutdown()
            evaluator.stop()
    return end("The process that starts the evaluations has ended, perhaps because memory ran out.", 2)


def _import_packages(options: argparse.Namespace) -> None:
    """Before the first evaluation, which then does not spend its time on it."""
    from podium.challenges.format import locate_ground_truth
    from podium.evaluation import import_packages

    with suppress(Exception):  # whatever is wrong, every evaluation says it as it would without a server
        ground_truth = locate_ground_truth(options.ground_truth, beside=BAKED_GROUND_TRUTH)
        import_packages(ground_truth, challenge=chosen_challenge(options))


def _listen(port: int) -> "EvaluationServer":
    from podium.cli.evaluation_server import EvaluationServer

    try:
        return EvaluationServer(("0.0.0.0", port))  # noqa: S104  (the platform calls from outside)
    except (OSError, OverflowError) as error:
        raise UsageError(f"The server cannot listen on port {port}: {error}.") from None
