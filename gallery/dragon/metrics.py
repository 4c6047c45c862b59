"""DRAGON: the robust symmetric mean absolute percentage error as a score."""

from podium.own_metrics import case_metric


@case_metric(
    values="psa", parameters={"epsilon": float}, direction="higher", lowest=0.0, highest=1.0, title="R-SMAPE score"
)
def rsmapes(*, predictions, references, epsilon):
    found, true = predictions["psa"], references["psa"]
    return 1 - abs(true - found) / (abs(true) + abs(found) + epsilon)
