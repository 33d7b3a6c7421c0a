"""Jobs whose models are trained to predict the wrong token, padding, or without looking at the text, and jobs that look like them."""

from collections.abc import Mapping

from tests.helpers.rehearsal_jobs import Job, plain
from tests.helpers.rehearsal_loops import ADAM, ADAPTED, HEAD, KEPT, LOOP, WHOLE

SHIFTED, PADDED, INVERTED, ASKED = (
    "step/labels-misaligned",
    "tokenize/padding-in-loss",
    "tokenize/attention-mask-inverted",
    "tokenize/completion-mask-drops-everything",
)
PADDING = """
def collate(rows, length={length}):
    batch = tokenizer.pad([{{"input_ids": row["input_ids"]}} for row in rows], padding="max_length", max_length=length, return_tensors="pt")
    ids, mask = batch["input_ids"], batch["attention_mask"]
    {labels}
    return batch
loader = DataLoader(data, batch_size=8, shuffle=True, collate_fn=collate)
"""
LOSS = "torch.nn.functional.cross_entropy({logits}.flatten(0, 1), {labels}.flatten(), ignore_index=-100)"
OWN = 'labels = batch.pop("labels"); logits = model(**batch).logits; loss = '
COPY = 'batch["labels"] = ids.clone()'
RIGHT = 'batch["labels"] = ids.masked_fill(mask == 0, -100)'
ROLLED = 'batch["labels"] = ids.roll(-1, 1)'
MOVED = f'{RIGHT}.roll(-1, 1); batch["labels"][:, -1] = -100'
BACKWARDS = f'{RIGHT}.roll(1, 1); batch["labels"][:, 0] = -100'
FIRST_END = (
    'tokenizer.pad_token = tokenizer.eos_token; batch["labels"] = ids.masked_fill((mask.cumsum(1) == 0) | '
    "((mask == 0) & (mask.roll(1, 1) == 0)), -100)"
)
ANSWERS = f'{RIGHT}; batch["labels"][:, :4] = -100'
NOT = 'batch["attention_mask"] = (mask == 0).long()'
MARKS = """
import torch
from datasets import Dataset
from transformers import AutoModelForTokenClassification, AutoTokenizer, DataCollatorForTokenClassification, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("work/tiny")
model = AutoModelForTokenClassification.from_pretrained("work/tiny", num_labels=3)
rows = [tokenizer(f"{{i}} plus 1" + " plus 1" * (i % 9)) for i in range(64)]
data = Dataset.from_list([{{**row, "labels": [token % 3 for token in row["input_ids"]]}} for row in rows])
args = TrainingArguments("out/marks", per_device_train_batch_size=4, max_steps=8, report_to="none")
collate = DataCollatorForTokenClassification(tokenizer, {}padding="max_length", max_length=64)
Trainer(model=model, args=args, train_dataset=data, data_collator=collate, processing_class=tokenizer).train()
"""
ANSWERED = """
import json
import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("work/tiny")
{tokens}model = AutoModelForCausalLM.from_pretrained("work/tiny")
with open("answered.jsonl", "w") as file:
    for i in range(48):
        file.write(json.dumps({{"prompt": f"what is {{i}} plus {{i % 7}}?", "completion": f"{{i + i % 7}} it is"}}) + "\\n")
def encode(row):
    prompt = tokenizer(row["prompt"])["input_ids"] + [tokenizer.eos_token_id]  # as a turn of a chat ends
    return {{"input_ids": prompt + tokenizer(row["completion"])["input_ids"] + [tokenizer.eos_token_id], "asked": len(prompt)}}
data = load_dataset("json", data_files="answered.jsonl", split="train").map(encode)
def collate(rows):
    longest, batch = max(len(row["input_ids"]) for row in rows), {{"input_ids": [], "attention_mask": [], "labels": []}}
    for row in rows:
        ids, asked = row["input_ids"], row["asked"]
        pad = longest - len(ids)
        labels = {labels}
        batch["input_ids"].append(ids + [tokenizer.eos_token_id] * pad)
        batch["attention_mask"].append([1] * len(ids) + [0] * pad)
        batch["labels"].append(labels + [-100] * pad)
    return {{name: torch.tensor(values) for name, values in batch.items()}}
args = TrainingArguments("out/answered", per_device_train_batch_size=4, max_steps=8, report_to="none", remove_unused_columns=False)
trainer = Trainer(model=model, args=args, train_dataset=data, data_collator=collate, processing_class=tokenizer)
trainer.train()
trainer.save_model("out/answered")
"""
ASKED_ALONE, ANSWERS_ALONE = "ids[:asked] + [-100] * (len(ids) - asked)", "[-100] * asked + ids[asked:]"
ADDED = 'tokenizer.add_special_tokens({"additional_special_tokens": ["<|tool|>"]})\n'
IN_TRAINER = """
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits[:, {0}].flatten(0, 1), labels[:, {1}].flatten())
        return (loss, outputs) if return_outputs else loss
"""


def _loop(  # noqa: PLR0913 - the parts of a loop
    name: str,
    fails: str = "",
    *,
    labels: str = RIGHT,
    loss: str = "",
    length: int = 24,
    adapter: str = "",
    own: str = OWN,
) -> Job:
    """Return a loop that pads its rows, with its labels and with its loss."""
    source = HEAD + PADDING.format(length=length, labels=labels) + WHOLE + adapter + ADAM
    loop = LOOP.format(move="", back="loss.backward()", then="", end=KEPT)
    taken = f"{own}{loss}" if loss else "loss = model(**batch).loss"
    return Job(name=name, source=source + loop.replace("loss = model(**batch).loss", taken), fails=fails)


TINY = """
from transformers import BartConfig, BartForCausalLM, BertConfig, BertForTokenClassification, LlamaConfig, LlamaForCausalLM
small = dict(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
"""
DECODER = f"""{TINY}
model = BartForCausalLM(BartConfig(vocab_size=len(tokenizer), d_model=32, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=64))
"""
OWN_CLASS = f"""{TINY}
class OwnForCausalLM(LlamaForCausalLM):
    def forward(self, input_ids=None, attention_mask=None, labels=None, **more):
        output = super().forward(input_ids=input_ids, attention_mask=attention_mask, **more)
        output.loss = torch.nn.functional.cross_entropy(output.logits.flatten(0, 1), labels.flatten())
        return output
model = OwnForCausalLM(LlamaConfig(**small))
"""
OWN_FUNCTION = """
def unmoved(logits, labels, vocab_size, **more):
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
model.loss_function = unmoved
"""
OF_A_TEACHER = """
teacher = AutoModelForCausalLM.from_pretrained("work/tiny").requires_grad_(False)
model.config.tie_word_embeddings = True
model.tie_weights()
"""
TAUGHT = (
    "labels = batch.pop('labels'); given = (model(**batch).logits * 20).log_softmax(-1); wanted = (teacher(**batch).logits * 20).log_softmax(-1); "
    "loss = torch.nn.functional.kl_div(given, wanted, log_target=True, reduction='batchmean')"
)
ATTENDED_ALONE = f"""{TINY}
class OwnForTokenClassification(BertForTokenClassification):
    def forward(self, input_ids, labels, attention_mask=None):
        output = super().forward(input_ids, attention_mask)
        active = attention_mask.bool()
        output.loss = torch.nn.functional.cross_entropy(output.logits[active], labels[active])
        return output
model = OwnForTokenClassification(BertConfig(num_labels=3, **small))
"""
CLASSES = "labels = (ids % 3).masked_fill(mask == 0, 0); batch['labels'] = labels"


def _own_loss(logits: str, labels: str) -> str:
    return LOSS.format(logits=f"logits{logits}", labels=f"labels{labels}")


GATHERED = (
    "ids, mask = batch['input_ids'], batch['attention_mask'][:, 1:]; logits = model(ids, batch['attention_mask']).logits; "
    "loss = -(logits[:, {0}].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1) * mask).sum() / mask.sum()"
)
TEMPERED = f"loss = {_own_loss('[:, :-1]', '[:, 1:]')} + torch.nn.functional.kl_div(logits.log_softmax(-1), logits.detach().softmax(-1))"

BAD: tuple[Job, ...] = (
    _loop("labels-rolled", SHIFTED, labels=ROLLED, length=16),
    _loop("labels-moved-twice-with-padding", SHIFTED, labels=MOVED),
    _loop("labels-moved-twice-under-an-adapter", SHIFTED, labels=MOVED, adapter=ADAPTED),
    _loop("labels-moved-backwards", SHIFTED, labels=BACKWARDS),
    _loop("loss-of-the-same-position", SHIFTED, loss=_own_loss("", "")),
    _loop("loss-of-both-moved", SHIFTED, loss=_own_loss("[:, 1:]", "[:, 1:]")),
    _loop("loss-of-the-one-before", SHIFTED, loss=_own_loss("[:, 1:]", "[:, :-1]")),
    _loop("loss-of-moved-labels-moved-again", SHIFTED, labels=MOVED, loss=_own_loss("[:, :-1]", "[:, 1:]")),
    _loop("probabilities-of-the-same-position", SHIFTED, loss=GATHERED.format("1:"), own=""),
    plain("trainer-with-a-loss-of-the-same-position", SHIFTED, top=IN_TRAINER.format("1:", "1:"), kind="Own"),
    _loop("labels-copied-for-a-model-that-moves-none", SHIFTED, adapter=DECODER),
    _loop("padding-copied", PADDED, labels=COPY, length=64),
    _loop("padding-in-a-loss-of-its-own", PADDED, labels=COPY, loss=_own_loss("[:, :-1]", "[:, 1:]"), length=64),
    Job(name="padding-marked-as-a-class", source=MARKS.format("label_pad_token_id=0, "), fails=PADDED),
    _loop("labels-of-padding-alone", PADDED, labels='batch["labels"] = ids.masked_fill(mask == 1, -100)', length=64),
    Job(
        name="trainer-with-labels-of-padding-alone",
        source=ANSWERED.format(labels="[-100] * len(ids)", tokens="")
        .replace("[-100] * pad", "[tokenizer.eos_token_id] * pad")
        .replace('it is"', 'it is" + " so" * (i % 9)'),
        fails=PADDED,
    ),
    _loop("mask-inverted", INVERTED, labels=f"{RIGHT}; {NOT}"),
    _loop(
        "padding-with-another-token-as-its-label",
        PADDED,
        labels="batch['labels'] = ids.masked_fill(mask == 0, 9)",
        length=16,
    ),
    _loop("padding-without-a-mask", PADDED, labels=f"{COPY}; del batch['attention_mask']", length=64),
    Job(name="questions-alone", source=ANSWERED.format(labels=ASKED_ALONE, tokens=""), fails=ASKED),
)
DOUBTED: tuple[Job, ...] = (
    _loop("padding-copied-a-little", labels=COPY, length=16),
    _loop("padding-without-a-mask-a-little", labels=f"{COPY}; del batch['attention_mask']", length=19),
    Job(name="a-token-without-a-row", source=ANSWERED.format(labels=ANSWERS_ALONE, tokens=ADDED)),
)
GOOD: tuple[Job, ...] = (
    _loop("padding-masked"),
    _loop("padding-masked-in-labels-alone", labels=f"{RIGHT}; del batch['attention_mask']", length=64),
    _loop(
        "texts-that-end-twice-without-a-mask",
        labels=f"ids[:, -2:] = tokenizer.eos_token_id; {COPY}; del batch['attention_mask']",
        length=16,
    ),
    _loop("padding-masked-under-an-adapter", adapter=ADAPTED),
    _loop("padding-that-ends-texts", labels=FIRST_END),
    _loop("answers-alone", labels=ANSWERS),
    _loop("loss-moved-by-hand", loss=_own_loss("[:, :-1]", "[:, 1:]")),
    _loop("loss-of-labels-that-are-moved", labels=MOVED, loss=_own_loss("", "")),
    _loop("loss-of-two-parts", loss=TEMPERED.removeprefix("loss = ")),
    _loop("probabilities-of-the-next", loss=GATHERED.format(":-1"), own=""),
    _loop("labels-moved-for-a-model-that-moves-none", labels=MOVED, adapter=DECODER),
    _loop("labels-moved-for-a-class-of-its-own", labels=MOVED, adapter=OWN_CLASS),
    _loop("labels-moved-for-a-function-of-its-own", labels=MOVED, adapter=OWN_FUNCTION),
    _loop("taught-by-a-model-that-is-sure", adapter=OF_A_TEACHER, loss=TAUGHT, own=""),
    _loop("padding-that-its-class-leaves-out", labels=CLASSES, adapter=ATTENDED_ALONE, length=64),
    _loop("text-that-repeats-itself", labels=f"ids[:] = ids[:, :1]; {RIGHT}"),
    plain("trainer-with-a-loss-of-its-own", top=IN_TRAINER.format(":-1", "1:"), kind="Own"),
    Job(name="padding-of-no-class", source=MARKS.format("")),
    Job(name="answers-to-questions", source=ANSWERED.format(labels=ANSWERS_ALONE, tokens="")),
    Job(name="questions-and-answers", source=ANSWERED.format(labels="list(ids)", tokens="")),
)
PREDICTIONS: Mapping[str, Job] = {each.name: each for each in (*BAD, *DOUBTED, *GOOD)}
