"""The methods section of a ranking's report: prose for a paper, every setting, and whose methods they are."""

from podium.ranking.result import Ranking
from podium.report.exhibit import Table
from podium.report.settings_table import settings_table
from podium.report.words import figure, percent

REFERENCES = (
    "Wiesenfarth M, Reinke A, Landman BA, et al. Methods and open-source toolkit for analyzing and visualizing "
    "challenge results. Scientific Reports 11, 2369 (2021).",
    "Maier-Hein L, Eisenmann M, Reinke A, et al. Why rankings of biomedical image analysis competitions should be "
    "interpreted with care. Nature Communications 9, 5217 (2018).",
    "Efron B. Bootstrap methods: another look at the jackknife. The Annals of Statistics 7, 1-26 (1979).",
    "Wilcoxon F. Individual comparisons by ranking methods. Biometrics Bulletin 1, 80-83 (1945).",
    "Holm S. A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, "
    "65-70 (1979).",
    "Kendall MG. The treatment of ties in ranking problems. Biometrika 33, 239-251 (1945).",
)

CALIBRATION_REFERENCES = (
    "Angelopoulos AN, Duchi JC, Zrnic T. PPI++: Efficient prediction-powered inference. arXiv:2311.01453 (2023).",
)


def ranking_settings(ranking: Ranking) -> Table:
    """The challenge's settings and those of the ranking itself."""
    methods = ranking.methods
    return settings_table(
        ranking.settings,
        {
            "ranking scheme": ranking.deciding.title,
            "bootstrap replicates": figure(methods.bootstraps),
            "seed": str(methods.seed),
            "confidence": percent(methods.confidence),
            "significance level": f"{methods.alpha:g}",
            "quantile of aggregate-then-rank": f"{methods.quantile:g}",
            "Podium": methods.podium_version,
            "Python": methods.python_version,
            "NumPy": methods.numpy_version,
            "SciPy": methods.scipy_version,
        },
    )
