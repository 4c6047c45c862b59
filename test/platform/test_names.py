"""Case names from file names."""

import pytest

from podium.platform.names import case_of, is_ignored_file


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


@pytest.mark.parametrize(
    ("name", "beside"),
    [("README", True), ("License.h5", True), ("run.LOG", True), ("a.nii.gz.md5", True), ("a.h5", False), ("a", False)],
)
def test_what_lies_beside_predictions(name: str, beside: bool) -> None:
    assert is_ignored_file(name) is beside
