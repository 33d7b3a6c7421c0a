"""`assistant_only_loss` with a chat template that does not mark the assistant's turns.

## What it does
With `assistant_only_loss=True`, checks for `{% generation %}` in the model's chat template, and whether TRL has a
marked version of that template.

## Why is this bad
TRL compares the whole text of the template with those it knows. For any other it raises ValueError,
`not training-compatible`, after the model is loaded; a single changed space is enough.

## Fix safety
The fix is unsafe: without `assistant_only_loss` the model also learns the questions. The alternative is a template
with the marks around what the assistant says, including its end-of-turn token, in a file that `chat_template_path`
names.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.models.base_models import base_of, writes_as_saved
from holdfast.catalog.models.chat_templates import is_mended, marks_assistant
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Remove

ONLY, TEMPLATE = "train.assistant_only_loss", "train.chat_template_path"


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report a template in which TRL cannot mark the assistant's turns."""
    if job.get("method", None) != "sft" or job.get(ONLY, default=False) is not True:
        return
    base, template = base_of(job, model), model.chat_template
    if base is None or template is None or not writes_as_saved(job, base) or job.get(TEMPLATE, None) is not None:
        return
    if not marks_assistant(template) and is_mended(api, template) is False:
        fix = Fix("learn from whole conversations", (Remove(ONLY),), safe=False) if job.kind != "command" else None
        fault = (
            f"the chat template of {base.name} has no `{{% generation %}}`, "
            f"and trl {api.versions['trl']} has no marked template to take its place: name one in `chat_template_path`"
        )
        yield Finding(ONLY, fault, fix)


JOB = """
method: sft
model: acme/chat
dataset: trl-lib/Capybara
train:
  max_length: 2048
"""
MASKED = JOB + "  assistant_only_loss: true\n"
SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", assistant_only_loss=True)
trainer = SFTTrainer(model="acme/chat", args=args, train_dataset=rows)
"""
PLAIN = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
MARKED = PLAIN.replace(
    "{{ message.content }}<|im_end|>", "{% generation %}{{ message.content }}<|im_end|>{% endgeneration %}"
)


def _written(template: str) -> dict[str, object]:
    return {
        "model": ModelFacts(
            files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}), chat_template=template
        )
    }


RULE = Rule(
    code="MOD122",
    name="unmarked-chat-template",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, `get_training_chat_template`, and its templates by their SHA-256. Tried on a tiny model with ChatML, Llama 3.1's, and "
        "Qwen3's with a newline more: ValueError; with the marks, with Qwen3's, Qwen2.5's, Llama 3's, Gemma's and Phi 3's: they train."
    ),
    bad=(
        Case(job=MASKED, facts=_written(PLAIN), at=ONLY, fixed=JOB),
        Case(script=SCRIPT, facts=_written(PLAIN), at=ONLY, fixed=SCRIPT.replace(", assistant_only_loss=True", "")),
    ),
    good=(
        Case(job=MASKED, facts=_written(MARKED)),
        Case(job=JOB, facts=_written(PLAIN)),
        Case(job=MASKED + "  chat_template_path: chat.jinja\n", facts=_written(PLAIN)),
        Case(script=SCRIPT, facts=_written(PLAIN), versions={"trl": "1.8.0"}),
    ),
    kinds=ANY_KIND,
)
