"""All pairs of calls that write: see test_old_snapshots."""

import pytest
from test_old_snapshots import PARTS, Matrix, run_all_pairs


@pytest.mark.proof
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_all_pairs(matrix: Matrix, part: int) -> None:
    run_all_pairs(matrix, "waits", part)
