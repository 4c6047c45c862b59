"""Case names from file names."""

import pytest

from podium.platform.jobs import case_of


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("A003.nii.gz", "A003"),
        ("csv_0007.mha", "csv_0007"),
        ("folder/csv_0007.MHA", "csv_0007"),
        ("1.2.840.7", "1.2.840.7"),
        ("1.2.840.7.mha", "1.2.840.7"),
        ("sub050__LH_Par_L_DtP.hdf5", "sub050__LH_Par_L_DtP"),
        ("plain", "plain"),
        (".mha", ".mha"),
        ("mu\u0308ller.mha", "m\u00fcller"),
    ],
)
def test_case_of(name: str, case: str) -> None:
    assert case_of(name) == case
