"""The built-in model is whole, whichever process makes it."""

import json
from pathlib import Path

import pytest

from holdfast.catalog.models.builtin_models import MADE
from tests.helpers.forked import fork
from tests.helpers.sampling import sampled
from tests.helpers.tiny import quiet_environment

pytestmark = pytest.mark.train
MAKE = """
import json, sys
from pathlib import Path
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
from holdfast.catalog.builtin import tiny_chat
dist.init_process_group("fake", rank=int(sys.argv[2]), world_size=2, store=FakeStore())
folder = tiny_chat.make(Path(sys.argv[1]), [f"{number} plus {number}" for number in range(100)])
print(json.dumps(sorted(path.name for path in folder.iterdir())))
"""


@pytest.mark.parametrize("rank", sampled([0, 1], 2))
def test_each_process_makes_a_whole_model(rank: int, tmp_path: Path) -> None:
    """Transformers 5.23 saves models in the first process of a group alone; another may be the first to finish."""
    made = fork(["-c", MAKE, str(tmp_path), str(rank)], Path.cwd(), quiet_environment())
    assert made.exit_code == 0, made.stderr
    assert set(json.loads(made.stdout)) == MADE
