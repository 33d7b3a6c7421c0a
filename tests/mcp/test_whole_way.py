"""An agent takes a job from its data to a report on Hugging Face Jobs, with the SDK's own client, real training and the loopback Hub."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.helpers.hub import loopback_hub
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = [pytest.mark.train, pytest.mark.long, pytest.mark.timeout(900)]
PATIENCE_S = 600.0
WHERE = {"backend": "hf-jobs", "hardware": "a10g-large", "timeout": "49m"}
ROWS = "".join(
    json.dumps({"conversations": [{"from": "human", "value": f"{n}+1="}, {"from": "gpt", "value": str(n + 1)}]}) + "\n"
    for n in range(40)
)
SCRIPT = """\
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

{mapping}
rows = load_dataset("json", data_files="rows.jsonl", split="train")
rows = rows.map(rewrite, remove_columns=rows.column_names)
settings = SFTConfig(
    output_dir="out", max_seq_length=64, max_steps=4, save_steps=2, logging_steps=1, bf16=False, use_cpu=True, report_to="none"
)
trainer = SFTTrainer(model="tiny", args=settings, train_dataset=rows)
trainer.train()
trainer.save_model()
"""


def test_an_agent_goes_the_whole_way(tiny: Path, tmp_path: Path) -> None:  # noqa: PLR0915 - each step rests on the last
    """Inspect, check, fix, rehearse, confirm, run, logs, report; and the progress of the rehearsal on the way."""
    (tmp_path / "rows.jsonl").write_text(ROWS)
    shutil.copytree(tiny, tmp_path / "tiny")
    said: list[str] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        said.append(message or f"{progress} of {total}")

    async def conversation(client: Client) -> None:
        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(name, arguments, progress_callback=on_progress)
            assert not result.is_error, result.content
            answer: dict[str, Any] = result.structured_content
            return answer

        seen = await call("inspect", data="rows.jsonl", method="sft", offline=True)
        mapping = seen["methods"]["sft"]["mapping"]
        (tmp_path / "train.py").write_text(SCRIPT.format(mapping=mapping))

        checked = await call("check", targets=["train.py"], offline=True)
        assert "ARG101" in {each["code"] for each in checked["targets"][0]["findings"]}
        fixed = await call("check", targets=["train.py"], offline=True, fix=True)
        assert fixed["verdict"] == "pass", fixed

        rehearsed = await call("rehearse", target="train.py", here=True, offline=True)
        assert rehearsed["verdict"] == "pass", json.dumps(rehearsed["failure"])
        assert said

        wanted = {"target": "train.py", "set": {"where": WHERE}}
        asked = (await call("run", **wanted))["needs_confirmation"]
        assert asked["will"] == ["use hf-jobs, which costs money: at most about $1.50"]
        assert not (tmp_path / "runs").exists()
        run = (await call("run", **wanted, confirmation=asked["confirmation"]))["run"]
        while (shown := await call("show", run=run))["stage"] in ("queued", "running"):
            pass
        assert shown["stage"] == "succeeded", shown
        assert shown["metrics"]["train_loss"] > 0
        assert "hf-jobs" in json.dumps(shown["attempts"])
        assert "train_loss" in (await call("logs", run=run))["stdout"]
        (report,) = (await client.read_resource(f"holdfast://reports/{run}")).contents
        assert run in report.text  # type: ignore[union-attr]  # it is text

    async def main() -> None:
        command = ["-P", "-m", "holdfast", "mcp", "--folder", str(tmp_path)]
        with loopback_hub() as hub, anyio.fail_after(PATIENCE_S):
            hub.jobs.network |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
            variables = {**quiet_environment(), **hub.variables, "HF_HUB_OFFLINE": "0"}
            server = StdioServerParameters(command=sys.executable, args=command, env=variables)
            async with Client(stdio_client(server)) as client:
                await conversation(client)

    anyio.run(main)
